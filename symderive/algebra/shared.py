"""A value that forward and backward both compute is kept in place of what it is computed from, if it is smaller.

The backward of ``mean((y - t)**2)`` reads y and t, but nothing of them save ``y - t``, which the forward has computed:
one array is kept in place of two. Of ``where(e > 0, a, b)`` it reads the truth of ``e > 0``, a quarter of e.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from sympy import Add, Expr, Mul, S

from symderive.algebra.nodes import Access, And, Binder, Condition, Index, Le, Lt, Or
from symderive.algebra.program import Equation, Program
from symderive.algebra.recognise import Definition
from symderive.algebra.terms import tensors, transform

Names = Callable[[str], tuple[Index, ...]]
"""The named indices of a tensor's axes."""


def share_values(forward: Program, backward: Program, names: Names, taken: set[str]) -> tuple[Program, Program]:
    """The two programs with such values made tensors of the forward, one by one, then those that only pay together."""
    pair, together = (forward, backward), []
    for value in (*_candidates(forward, names), *_conditions(backward, forward, names)):
        made = _shared(pair, [value], taken)
        if _pays(made, pair):
            pair = made
        elif made[1] != pair[1]:
            together.append(value)
    made = _shared(pair, together, taken)
    return made if len(together) > 1 and _pays(made, pair) else pair


def _shared(pair: tuple[Program, Program], values: Iterable[Equation], taken: set[str]) -> tuple[Program, Program]:
    """Forward and backward with values in them written as tensors that the forward defines."""
    forward, backward = pair
    for value in values:
        equation = replace(value, tensor=_free_name(value.right, {*taken, *forward.shapes}))
        definition = Definition(frozenset(value.indices), value.right, Access(equation.tensor, *value.indices))
        backward, used = _rewritten(backward, definition), _rewritten(forward, definition).equations
        defined = [n + 1 for n, e in enumerate(used) if e.tensor in tensors(value.right)]
        place = next((n for n, e in enumerate(used) if e != forward.equations[n]), max(defined, default=0))
        forward = replace(forward, equations=(*used[:place], equation, *used[place:]))
    return forward, backward


def _pays(made: tuple[Program, Program], pair: tuple[Program, Program]) -> bool:
    """Whether what is kept instead takes fewer bytes: for each tensor that is new an old one of its shape is dropped.

    One more is dropped than is new, or a new one holds truth values.
    """
    new, dropped = made[1].read - pair[1].read, pair[1].read - made[1].read
    own = {e.tensor: e for e in made[0].equations}
    truth = any(isinstance(own[n].right, Condition) for n in new)
    left = Counter(_places(made[0], n) for n in new) - Counter(_places(pair[0], d) for d in dropped)
    return bool(new) and not left and (truth or len(dropped) > len(new))


def _places(program: Program, tensor: str) -> frozenset[tuple[Expr, int]]:
    """A shape whatever the order of its axes."""
    return frozenset(Counter(program.shapes[tensor]).items())


def _candidates(forward: Program, names: Names) -> Iterator[Equation]:
    """The sums and comparisons that are part of an equation of the forward, each in named indices."""
    for equation in forward.equations:
        parts = (p for p in _parts(equation.right, Add, Lt, Le) if p is not equation.right)
        yield from _distinct(parts, names)


def _conditions(backward: Program, forward: Program, names: Names) -> Iterator[Equation]:
    """The conditions of the backward made of comparisons that the forward makes, or of their opposites."""
    made = {c.right for c in _candidates(forward, names) if isinstance(c.right, Lt | Le)}
    made |= {(Le if isinstance(c, Lt) else Lt)(*reversed(c.args)) for c in made}
    for equation in backward.equations:
        own = (p for p in _parts(equation.right, And, Or) if tensors(p) <= forward.shapes.keys())
        yield from (c for c in _distinct(own, names) if c.right.atoms(Lt, Le) <= made)


def _distinct(parts: Iterable[Expr], names: Names) -> Iterator[Equation]:
    """The parts in named indices, each once."""
    found = (_in_names(part, names) for part in parts)
    yield from {e.right: e for e in found if e is not None}.values()


def _parts(expression: Expr, *kinds: type[Expr]) -> list[Expr]:
    """The parts of an expression that are of these kinds and read tensors, the widest first."""
    found: list[Expr] = []

    def note(node: Expr) -> Expr:
        if isinstance(node, kinds) and not node.atoms(Binder) and tensors(node):
            found.append(node)
        return node

    transform(expression, note)
    return found[::-1]


def _in_names(part: Expr, names: Names) -> Equation | None:
    """A part as an equation over the named indices of its widest tensor, if that has all its indices."""
    places, entries = part.atoms(Index), part.atoms(Access)
    if any(not isinstance(i, Index) for a in entries for i in a.indices):
        return None
    whole = [a for a in entries if set(a.indices) == places and len(a.indices) == len(places)]
    if not whole or not places:
        return None
    widest = min(whole, key=str)
    named = names(widest.tensor)
    right = part.xreplace(dict(zip(widest.indices, named, strict=True)))
    return Equation("", named, right)


def _free_name(value: Expr, taken: set[str]) -> str:
    stem = "mask" if isinstance(value, Condition) else "difference" if _has_minus(value) else "total"
    return next(n for n in (stem, *(f"{stem}{k}" for k in range(2, 99))) if n not in taken)


def _has_minus(value: Expr) -> bool:
    return any(term.could_extract_minus_sign() for term in value.args)


def _rewritten(program: Program, definition: Definition) -> Program:
    """The program with a definition put to use, also where a multiple of it stands there."""

    def rule(node: Expr) -> Expr:
        if type(node) is not type(definition.pattern):
            return node
        for factor, part in _multiples(node):
            if (found := definition.match(part)) is not None:
                return Mul(factor, found)
        return node

    return replace(program, equations=tuple(replace(e, right=transform(e.right, rule)) for e in program.equations))


def _multiples(node: Expr) -> Iterator[tuple[Expr, Expr]]:
    """The ways to write an expression as a number times a sum without a common one."""
    yield S.One, node
    if isinstance(node, Add):
        content, part = node.primitive()
        yield content, part
        yield -content, Add(*(-t for t in part.args))
