"""A softmax that the backward needs and whose normaliser the forward has computed is not computed twice.

A cross-entropy computes ``logsumexp z`` and its gradient ``softmax z``. The forward then computes
``logp = log_softmax z`` instead, reads its own entries from it and saves it in place of z; the softmax is
``exp(logp)``.

Under ``torch.compile`` this matters twice: Inductor (PyTorch 2.13, one thread, dynamic shapes) was seen to leave a
softmax without its normaliser in a compiled backward, where the exponential is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from sympy import Add, Expr
from sympy.functions.elementary.exponential import exp as Exp

from symderive.algebra.nodes import Access, Binder, Index, LogSumExp
from symderive.algebra.program import Equation, Program
from symderive.algebra.recognise import Definition
from symderive.algebra.terms import tensors, transform

Names = Callable[[str], tuple[Index, ...]]
"""The named indices of a tensor's axes."""


def share_normalisers(forward: Program, backward: Program, names: Names, taken: set[str]) -> tuple[Program, Program]:
    """The two programs with log-softmaxes that both compute made a tensor of the forward.

    Only where that saves no more: what the softmax was computed from must not be needed by the backward otherwise.
    """
    for candidate in _candidates(forward, names, taken):
        equation = next((e for e in forward.equations if _same(e, candidate)), candidate)
        value = Access(equation.tensor, *equation.indices)
        logp = Definition(frozenset(equation.indices), equation.right, value)
        p = Definition(frozenset(equation.indices), Exp(equation.right), Exp(value))
        shared = _rewritten(backward, p)
        after = _read(shared)
        if equation.tensor in after and not tensors(equation.right) & after:
            if equation not in forward.equations:
                forward = _with(forward, equation, logp)
            backward = shared
            taken = taken | {equation.tensor}
    return forward, backward


def _same(equation: Equation, candidate: Equation) -> bool:
    """Whether an equation is the candidate under another name."""
    if equation.shape != candidate.shape:
        return False
    return equation.right.xreplace(dict(zip(equation.indices, candidate.indices, strict=True))) == candidate.right


def _with(forward: Program, equation: Equation, definition: Definition) -> Program:
    """The forward with one more equation before the first that can use it."""
    place = next(n for n, e in enumerate(forward.equations) if _mentions(e, equation))
    rewritten = _rewritten(forward, definition).equations
    return replace(forward, equations=(*rewritten[:place], equation, *rewritten[place:]))


def _read(program: Program) -> set[str]:
    return set().union(*(tensors(e.right) for e in program.equations))


def _candidates(forward: Program, names: Names, taken: set[str]) -> Iterator[Equation]:
    """``logp = f - logsumexp f`` for every normaliser of the forward that spans the axes of one tensor."""
    seen: set[Expr] = set()
    for equation in forward.equations:
        for normaliser in sorted(equation.right.atoms(LogSumExp), key=str):
            found = _log_softmax(normaliser, names)
            if found is not None and found[1] not in seen:
                seen.add(found[1])
                yield Equation(_free_name(taken), *found)


def _log_softmax(normaliser: LogSumExp, names: Names) -> tuple[tuple[Index, ...], Expr] | None:
    """The free indices and the right side of ``f - logsumexp f``, in the named indices of f's widest tensor."""
    body, opened = normaliser.open()
    if len(opened) != 1 or body.atoms(Binder):
        return None
    places = body.atoms(Index)
    whole = [a for a in body.atoms(Access) if set(a.indices) == places and len(a.indices) == len(places)]
    if not whole or opened[0] not in places:
        return None
    widest = min(whole, key=str)
    named = names(widest.tensor)
    mapping = dict(zip(widest.indices, named, strict=True))
    own = body.xreplace(mapping)
    return named, own - LogSumExp.over(own, [mapping[opened[0]]])


def _free_name(taken: set[str]) -> str:
    return next(n for n in ("logp", *(f"logp{k}" for k in range(2, 99))) if n not in taken)


def _mentions(equation: Equation, candidate: Equation) -> bool:
    """Whether an equation of the forward has the candidate's normaliser in it."""
    return bool(equation.right.atoms(LogSumExp)) and tensors(candidate.right) <= tensors(equation.right)


def _rewritten(program: Program, definition: Definition) -> Program:
    """The program with a definition put to use."""

    def rule(node: Expr) -> Expr:
        if type(node) is not type(definition.pattern):
            return node
        found = definition.match(node)
        if found is None and isinstance(node, Add):
            found = _negative(definition, node)
        return node if found is None else found

    return replace(program, equations=tuple(replace(e, right=transform(e.right, rule)) for e in program.equations))


def _negative(definition: Definition, node: Add) -> Expr | None:
    """``logsumexp f - f_t = -logp[t]``."""
    found = definition.match(Add(*(-t for t in node.args)))
    return None if found is None else -found
