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
    """The two programs with such values made tensors of the forward."""
    for value in (*_candidates(forward, names), *_conditions(backward, forward, names)):
        equation = replace(value, tensor=_free_name(value.right, taken))
        definition = Definition(frozenset(value.indices), value.right, Access(equation.tensor, *value.indices))
        shared, used = _rewritten(backward, definition), _rewritten(forward, definition)
        if _pays(equation, _read(backward) - _read(shared), forward):
            defined = [n + 1 for n, e in enumerate(forward.equations) if e.tensor in tensors(value.right)]
            place = max(defined, default=0)
            equations = (*used.equations[:place], equation, *used.equations[place:])
            forward, backward, taken = replace(forward, equations=equations), shared, taken | {equation.tensor}
    return forward, backward


def _pays(equation: Equation, dropped: set[str], forward: Program) -> bool:
    """Whether keeping the value takes fewer bytes than what need not be kept for it."""
    whole = [t for t in dropped if Counter(forward.shapes[t]) == Counter(equation.shape)]
    return bool(whole) and (isinstance(equation.right, Condition) or len(dropped) > 1)


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


def _read(program: Program) -> set[str]:
    return set().union(*(tensors(e.right) for e in program.equations))


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
