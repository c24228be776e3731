"""Reverse-mode derivatives of what is computed over whole arrays: the tape of :mod:`symderive.claims.tape`, by arrays.

Each operation on a recorded array notes its operands and how an adjoint flows back to each. A sheet over a sheet gives
second derivatives. It knows the forward only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from symderive.check.grid_math import GridMath, Value
from symderive.check.grid_numbers import Unsupported
from symderive.claims.adjoints import Adjoints, Back, Leaf, front_of, whole
from symderive.claims.compare import all_finite
from symderive.claims.sheet_matrices import ways_back
from symderive.claims.tape import PARTIALS


class Sheet(GridMath):
    """The operations of the math ``below``, recorded. What is not a :class:`Leaf` of this sheet is a constant.

    Many adjoints at once, along axes at their front, may flow back over a sheet whose math below records nothing.
    """

    def __init__(self, below: GridMath) -> None:
        super().__init__(below.numbers)
        self.below = below
        self.add = self._add
        self.sub = self._sub
        self.mul = self._mul
        self.div = self._div
        self.neg = self._neg
        self.power = self._power
        self.functions = {n: self._function(n, code) for n, code in below.functions.items() if n in PARTIALS} | {
            n: self._flat(code) for n, code in below.functions.items() if n in ("floor", "round")
        }  # the others are computed, and so differentiated, by their definitions

    def leaf(self, value: Value) -> Leaf:
        """An array to differentiate by, here and below."""
        return Leaf(self, self.below.leaf(value) if isinstance(self.below, Sheet) else value)

    def owns(self, a: Value) -> bool:
        """Whether an array is recorded on this sheet."""
        return isinstance(a, Leaf) and a.home is self

    def lower(self, a: Value) -> Value:
        """The array in the math below."""
        return a.value if isinstance(a, Leaf) and a.home is self else a

    def record(self, value: Value, *parts: tuple[Value, Back]) -> Value:
        """``value``, with the ways back to those operands that are recorded."""
        value = whole(self, value)
        parents = tuple([part for part in parts if isinstance(part[0], Leaf) and part[0].home is self])
        return Leaf(self, value, parents) if parents else value

    def by(self, derivative: Callable[[], Value]) -> Back:
        """The way back through a partial derivative, entry by entry."""
        return lambda g: self.below.flow(g, derivative())

    def through(self, others: Sequence[Value], x: Value) -> Back:
        """The way back to one factor of a product, through the ``others``."""
        return lambda g: self.below.flow_through(g, others, self.below.shape(x))

    def _product(self, value: Value, factors: Sequence[Value]) -> Value:
        """The value of a product, of which something may have been summed: to each factor it flows by the others."""
        plain = [whole(self.below, self.lower(a)) for a in factors]
        ways = [(a, self.through([*plain[:n], *plain[n + 1 :]], plain[n])) for n, a in enumerate(factors)]
        return self.record(value, *ways)

    # What a math offers

    def plain(self, a: Value) -> np.ndarray:
        """The array itself."""
        return self.below.plain(self.lower(a))

    def stop(self, a: Value) -> Value:
        """The array as a constant, below, too."""
        return self.below.stop(self.lower(a))

    def define(self, a: Value) -> Leaf:
        """An array of its own for a tensor."""
        return Leaf(self, self.below.define(self.lower(a)), ((a, _same),) if self.owns(a) else ())

    def tag(self, a: Value, label: Any) -> Value:
        """The same array, findable by a label."""
        return Leaf(self, a.value, ((a, _same),), label) if self.owns(a) else a

    def _add(self, a: Value, b: Value) -> Value:
        return self.record(self.below.add(self.lower(a), self.lower(b)), (a, _same), (b, _same))

    def _sub(self, a: Value, b: Value) -> Value:
        return self.record(self.below.sub(self.lower(a), self.lower(b)), (a, _same), (b, self.below.neg))

    def _neg(self, a: Value) -> Value:
        return self.record(self.below.neg(self.lower(a)), (a, self.below.neg))

    def _mul(self, a: Value, b: Value) -> Value:
        return self._product(self.below.mul(self.lower(a), self.lower(b)), (a, b))

    def _div(self, a: Value, b: Value) -> Value:
        """d(a / b) = da / b - (a / b) db / b."""
        m, x, y = self.below, self.lower(a), self.lower(b)
        value = m.div(x, y)
        return self.record(
            value, (a, self.by(lambda: m.div(1, y))), (b, self.by(lambda: m.neg(m.div(value, y))))
        )  # fmt: skip

    def _power(self, a: Value, b: Value) -> Value:
        """d(a ** b) = b a ** (b - 1) da + a ** b log(a) db."""
        m, x, y = self.below, self.lower(a), self.lower(b)
        value = m.power(x, y)
        return self.record(
            value,
            (a, self.by(lambda: m.mul(y, m.power(x, m.sub(y, 1))))),
            (b, self.by(lambda: m.mul(value, m.functions["log"](x)))),
        )

    def _function(self, name: str, code: Callable[[Value], Value]) -> Callable[[Value], Value]:
        derivative = PARTIALS[name]

        def call(a: Value) -> Value:
            x = self.lower(a)
            value = code(x)
            return self.record(value, (a, self.by(lambda: derivative(self.below, x, value))))  # type: ignore[arg-type]

        return call

    def _flat(self, code: Callable[[Value], Value]) -> Callable[[Value], Value]:
        return lambda a: code(self.stop(a))

    def choose(self, condition: np.ndarray, a: Value, b: Value) -> Value:
        """An adjoint flows to the branch taken."""
        m = self.below
        value = m.choose(condition, self.lower(a), self.lower(b))
        return self.record(
            value, (a, lambda g: m.choose(condition, g, 0)), (b, lambda g: m.choose(condition, 0, g))
        )  # fmt: skip

    def shared(self, best: np.ndarray, values: Sequence[Value]) -> Value:
        """An adjoint flows to all that tie, in equal parts."""
        n, m = self.numbers, self.below
        tied = [n.compare("==", self.plain(v), best) for v in values]
        count = n.array(np.sum([np.broadcast_to(t, best.shape) for t in tied], axis=0, dtype=object))
        ways = [(v, lambda g, t=t: m.choose(t, m.div(g, count), 0)) for v, t in zip(values, tied, strict=True)]
        return self.record(m.shared(best, [self.lower(v) for v in values]), *ways)

    def total(self, a: Value, axes: Sequence[int]) -> Value:
        """The adjoint of a sum is the same for every term."""
        m, x = self.below, self.lower(a)
        value = m.total(x, axes)
        return self.record(value, (a, lambda g: m.broadcast(g, front_of(m, g, x) + m.shape(x))))

    def contract(self, factors: Sequence[Value], shape: Sequence[int], axes: Sequence[int]) -> Value:
        """The adjoint flows to each factor through the others, as often as an index takes a value in none of them."""
        plain = [self.lower(a) for a in factors]
        given = np.broadcast_shapes(*map(self.below.shape, plain))
        lone = {x for x in axes if given[x] != shape[x]}
        if lone:
            count = math.prod(shape[x] for x in lone)
            one = self.numbers.array(np.full((1,) * len(given), count))
            return self.contract([*factors, one], [1 if x in lone else n for x, n in enumerate(shape)], axes)
        return self._product(self.below.contract(plain, shape, axes), factors)

    def matrix(self, op: str, a: Value, *right: Value) -> Value:
        """An adjoint flows by the rule of the function. Raises :class:`Unsupported` where there is no value."""
        operands = (a, *right)
        below = tuple(map(self.lower, operands))
        value = self.below.matrix(op, *below)
        plain = self.below.plain(value)
        if not all_finite(plain) or (op == "det" and (plain == 0).any()):
            raise Unsupported
        backs = [partial(self._one_by_one, back, value) for back in ways_back(self.below, op, value, below)]
        return self.record(value, *zip(operands, backs, strict=True))

    def _one_by_one(self, back: Back, value: Value, g: Value) -> Value:
        """The way back of each of many adjoints, by one that takes one."""
        front = front_of(self.below, g, value)
        if not front:
            return back(g)
        found = np.stack([back(one) for one in g.reshape(-1, *self.below.shape(value))])
        return found.reshape(front + found.shape[1:])

    def broadcast(self, a: Value, shape: Sequence[int]) -> Value:
        """What is read several times gets the sum of the adjoints, in the sweep."""
        return self.record(self.below.broadcast(self.lower(a), shape), (a, _same))

    def rearranged(self, a: Value, order: Sequence[int], extents: Sequence[int], shape: Sequence[int]) -> Value:
        """Back in the old order; what was cut off gets nothing."""
        m, x = self.below, self.lower(a)
        value = m.rearranged(x, order, extents, shape)
        back = lambda g: m.restored(g, order, extents, front_of(m, g, value) + m.shape(x))  # noqa: E731
        return self.record(value, (a, back))

    def restored(self, a: Value, order: Sequence[int], extents: Sequence[int], full: Sequence[int]) -> Value:
        """In the new order again."""
        m, x = self.below, self.lower(a)
        value = m.restored(x, order, extents, full)

        def back(g: Value) -> Value:
            front = front_of(m, g, value)
            places = (*range(len(front)), *(len(front) + o for o in order))
            return m.rearranged(g, places, (*front, *extents) if extents else (), front + m.shape(x))

        return self.record(value, (a, back))

    def reshaped(self, a: Value, shape: Sequence[int]) -> Value:
        """Back in the old shape."""
        m, x = self.below, self.lower(a)
        value = m.reshaped(x, shape)
        return self.record(value, (a, lambda g: m.reshaped(g, front_of(m, g, value) + m.shape(x))))

    def gather(self, a: Value, at: tuple[Any, ...]) -> Value:
        """An entry gets the sum of the adjoints of all that read it."""
        m, x = self.below, self.lower(a)
        value = m.gather(x, at)

        def back(g: Value) -> Value:
            front = front_of(m, g, value)
            places = [p.reshape(p.shape + (1,) * len(m.shape(value))) for p in np.ix_(*map(range, front))]
            return m.scatter([g], m.shape(g), tuple(np.broadcast_arrays(*places, *at)), front + m.shape(x))

        return self.record(value, (a, back))

    def scatter(
        self, factors: Sequence[Value], full: Sequence[int], at: tuple[np.ndarray, ...], shape: Sequence[int]
    ) -> Value:
        """A term gets the adjoint of what it was added to."""
        m = self.below
        plain = [self.lower(a) for a in factors]
        value = m.scatter(plain, full, at, shape)
        backs = (self.through([*plain[:n], *plain[n + 1 :]], a) for n, a in enumerate(plain))

        def read(g: Value) -> Value:
            return m.gather(g, (slice(None),) * len(front_of(m, g, value)) + at)

        return self.record(value, *((a, lambda g, b=b: b(read(g))) for a, b in zip(factors, backs, strict=True)))

    def flow(self, adjoint: Value, partial: Value) -> Value:
        """A product."""
        return self._product(self.below.flow(self.lower(adjoint), self.lower(partial)), (adjoint, partial))

    def flow_through(self, adjoint: Value, others: Sequence[Value], shape: Sequence[int]) -> Value:
        """A product, of which something was summed."""
        factors = (adjoint, *others)
        first, *rest = map(self.lower, factors)
        return self._product(self.below.flow_through(first, rest, shape), factors)

    # The sweep

    def reverse(self, seeds: Iterable[tuple[Value, Value]], cut: Callable[[Leaf], bool] | None = None) -> Adjoints:
        """The derivatives of ``sum weight * array`` over ``seeds`` by every recorded array.

        Weights with more axes than their array, at their front, are many weights, for each of which there is one
        derivative. Nothing flows back beyond an array that ``cut`` holds for.
        """
        return Adjoints(self.below, ((a, w) for a, w in seeds if self.owns(a)), cut)


def _same(g: Value) -> Value:
    return g
