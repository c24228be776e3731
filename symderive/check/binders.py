"""Reductions, normalisers and matrix functions, compiled to closures; see :mod:`symderive.check.closures`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from symderive.check.numbers import MATRIX_METHODS, Value
from symderive.spec import syntax
from symderive.spec.functions import MATRIX, NORMALISERS, kept

if TYPE_CHECKING:
    from symderive.check.closures import Closure, Compiler, Slots

_REDUCERS = {
    "sum": "total",
    "mean": "mean",
    "prod": "product",
    "max": "largest",
    "min": "smallest",
    "logsumexp": "logsumexp",
}


def binder(c: Compiler, node: syntax.Binder) -> Closure:
    """A reduction, normaliser or matrix function, remembered where it does not depend on all of the scope."""
    inner = c.scope | set(node.indices)
    rest = (names(c, node) & c.scope) - set(node.indices)
    body = c.compile(node.body, inner)
    condition = None if node.condition is None else c.compile(node.condition, inner)
    values = loop(c, node, body, condition)
    if node.op in MATRIX:
        right = [c.compile(operand, inner) for operand in node.more]
        whole = remembered(c, matrix(c, node, body, right), rest)
        return entry_of(c, kept(node.op, node.indices), whole)
    if node.op in NORMALISERS:
        normalise = c.domain.softmax if node.op == "softmax" else c.domain.log_softmax
        over = remembered(c, lambda e: normalise(values(e)), rest)
        return normaliser(c, node, body, condition, over)
    reduced = reduction(c, node, values)
    return remembered(c, reduced, rest) if rest != c.scope else reduced


def names(c: Compiler, node: syntax.Node) -> frozenset[str]:
    """The indices that an expression mentions."""
    found = {n.id for n in node.walk() if isinstance(n, syntax.Name)}
    if any(isinstance(n, syntax.Batch) for n in node.walk()):
        found.add(syntax.BATCH)
    for inner in node.walk():
        if isinstance(inner, syntax.Binder):
            found.update(inner.indices)
    return frozenset(found & set(c.slots))


def remembered(c: Compiler, closure: Closure, names: frozenset[str]) -> Closure:
    """The same closure, computed once for each value of the indices ``names``."""
    slots = [c.slots[n] for n in sorted(names)]
    memory: dict[tuple[int, ...], Value] = {}

    def call(e: Slots) -> Value:
        key = tuple([e[s] for s in slots])
        if key not in memory:
            memory[key] = closure(e)
        return memory[key]

    return call


def loop(c: Compiler, node: syntax.Binder, body: Closure, condition: Closure | None) -> Callable[[Slots], list[Value]]:
    """The values of the body over the bound indices, in order, where the condition holds."""
    slots = [c.slots[i] for i in node.indices]
    ranges = [range(c.ranges[i]) for i in node.indices]
    truth = c.domain.truth
    if len(slots) == 1 and condition is None:
        return _single(slots[0], ranges[0], body)

    def call(e: Slots) -> list[Value]:
        before = [e[s] for s in slots]
        values = []
        for at in itertools.product(*ranges):
            for slot, value in zip(slots, at, strict=True):
                e[slot] = value
            if condition is None or truth(condition(e)):
                values.append(body(e))
        for slot, value in zip(slots, before, strict=True):
            e[slot] = value
        return values

    return call


def reduction(c: Compiler, node: syntax.Binder, loop: Callable[[Slots], list[Value]]) -> Closure:
    """One number out of the values of the body."""
    truth = c.domain.truth
    if node.op in ("any", "all"):
        test = any if node.op == "any" else all
        return lambda e: test([truth(v) for v in loop(e)])
    watch = c.watch and c.watch.site(f"{node.op}[]", node.span)
    reduce: Callable[[list[Value]], Value]
    if node.op in ("argmax", "argmin"):
        op, first = (">" if node.op == "argmax" else "<"), c.domain.first
        reduce = lambda values: first(values, op)  # noqa: E731
    else:
        reduce = getattr(c.domain, _REDUCERS[node.op])
    if watch and node.op in ("max", "min", "argmax", "argmin"):
        return lambda e: reduce(watch.among(loop(e), largest=node.op.endswith("max")))
    return lambda e: reduce(loop(e))


def normaliser(c: Compiler, node: syntax.Binder, body: Closure, condition: Closure | None, over: Closure) -> Closure:
    """``softmax`` and ``log_softmax`` at the present value of the index: 0 and -inf where it does not qualify."""
    truth = c.domain.truth
    outside = c.domain.number(0) if node.op == "softmax" else c.domain.neg(c.domain.inf)

    def call(e: Slots) -> Value:
        if condition is not None and not truth(condition(e)):
            return outside
        return over(e)(body(e))

    return call


def matrix(c: Compiler, node: syntax.Binder, body: Closure, right: list[Closure]) -> Closure:
    """The matrix of the body, put through a function of matrices, with vectors over its rows behind it."""
    row, column = (c.slots[i] for i in node.indices)
    rows, columns = (range(c.ranges[i]) for i in node.indices)
    function = getattr(c.domain, MATRIX_METHODS[node.op])

    def at(e: Slots, r: int, c: int) -> Value:
        e[row], e[column] = r, c
        return body(e)

    def vector(e: Slots, closure: Closure) -> list[Value]:
        return [at_row(e, r, closure) for r in rows]

    def at_row(e: Slots, r: int, closure: Closure) -> Value:
        e[row] = r
        return closure(e)

    def call(e: Slots) -> Value:
        before = e[row], e[column]
        values = [[at(e, r, c) for c in columns] for r in rows]
        vectors = [vector(e, closure) for closure in right]
        e[row], e[column] = before
        return function(values, *vectors)

    return call


def entry_of(c: Compiler, indices: Sequence[str], whole: Closure) -> Closure:
    """The entry of a number, a vector or a matrix at the present values of its indices."""
    slots = [c.slots[i] for i in indices]

    def call(e: Slots) -> Value:
        value = whole(e)
        for slot in slots:
            value = value[e[slot]]
        return value

    return call if slots else whole


def _single(slot: int, values: range, body: Closure) -> Callable[[Slots], list[Value]]:
    def steps(e: Slots) -> Iterator[Value]:
        for value in values:
            e[slot] = value
            yield body(e)

    def call(e: Slots) -> list[Value]:
        before = e[slot]
        result = list(steps(e))
        e[slot] = before
        return result

    return call
