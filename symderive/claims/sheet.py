"""Reverse-mode derivatives of what is computed over whole arrays: the tape of :mod:`symderive.claims.tape`, by arrays.

Each operation on a recorded array notes its operands and how an adjoint flows back to each. It knows the forward only.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from symderive.check.grid_math import GridMath, Value
from symderive.check.grid_numbers import GridNumbers, Unsupported
from symderive.claims.compare import finite
from symderive.claims.sheet_matrices import ways_back
from symderive.claims.tape import PARTIALS, descending

Back = Callable[[np.ndarray], np.ndarray]
_serial = itertools.count()


class Leaf:
    """A recorded array: its plain ``value``, and its operands with the way in which an adjoint flows to each."""

    __slots__ = ("label", "parents", "serial", "value")

    def __init__(self, value: np.ndarray, parents: tuple[tuple[Leaf, Back], ...] = (), label: Any = None) -> None:
        self.value = value
        self.parents = parents
        self.label = label
        self.serial = next(_serial)


def _value(a: Value) -> np.ndarray:
    return a.value if isinstance(a, Leaf) else a


class Sheet(GridMath):
    """The operations on arrays, recorded. What is not a :class:`Leaf` is a constant."""

    def __init__(self, numbers: GridNumbers) -> None:
        super().__init__(numbers)
        self.add = self._add
        self.sub = self._sub
        self.mul = self._mul
        self.div = self._div
        self.neg = self._neg
        self.power = self._power

    def record(self, value: np.ndarray, *parts: tuple[Value, Back]) -> Value:
        """``value``, with the ways back to those operands that are recorded."""
        parents = tuple((a, back) for a, back in parts if isinstance(a, Leaf))
        return Leaf(value, parents) if parents else value

    def by(self, partial: Callable[[], Value]) -> Back:
        """The way back through a partial derivative, entry by entry."""
        return lambda g: self.numbers.flow(g, partial())

    def through(self, others: Sequence[np.ndarray], x: np.ndarray) -> Back:
        """The way back to one factor of a product, through the ``others``."""
        return lambda g: self.numbers.flow_through(g, others, x.shape)

    # What a math offers

    def plain(self, a: Value) -> np.ndarray:
        """The array itself."""
        return _value(a)

    def stop(self, a: Value) -> Value:
        """The array as a constant."""
        return _value(a)

    def define(self, a: Value) -> Leaf:
        """An array of its own for a tensor."""
        return Leaf(_value(a), ((a, _same),) if isinstance(a, Leaf) else ())

    def tag(self, a: Value, label: Any) -> Value:
        """The same array, findable by a label."""
        return Leaf(a.value, ((a, _same),), label) if isinstance(a, Leaf) else a

    def _add(self, a: Value, b: Value) -> Value:
        return self.record(self.numbers.add(_value(a), _value(b)), (a, _same), (b, _same))

    def _sub(self, a: Value, b: Value) -> Value:
        return self.record(self.numbers.sub(_value(a), _value(b)), (a, _same), (b, self.numbers.neg))

    def _neg(self, a: Value) -> Value:
        return self.record(self.numbers.neg(_value(a)), (a, self.numbers.neg))

    def _mul(self, a: Value, b: Value) -> Value:
        x, y = _value(a), _value(b)
        return self.record(self.numbers.mul(x, y), (a, self.through([y], x)), (b, self.through([x], y)))

    def _div(self, a: Value, b: Value) -> Value:
        """d(a / b) = da / b - (a / b) db / b."""
        n, x, y = self.numbers, _value(a), _value(b)
        value = n.div(x, y)
        return self.record(
            value, (a, self.by(lambda: n.div(1, y))), (b, self.by(lambda: n.neg(n.div(value, y))))
        )  # fmt: skip

    def _power(self, a: Value, b: Value) -> Value:
        """d(a ** b) = b a ** (b - 1) da + a ** b log(a) db."""
        n, x, y = self.numbers, _value(a), _value(b)
        value = n.power(x, y)
        return self.record(
            value,
            (a, self.by(lambda: n.mul(y, n.power(x, n.sub(y, 1))))),
            (b, self.by(lambda: n.mul(value, n.functions["log"](x)))),
        )

    def function(self, name: str) -> Callable[..., Value] | None:
        """A primitive; the other functions are computed, and so differentiated, by their definitions."""
        code = self.numbers.functions.get(name)
        if code is None or name in ("floor", "round"):
            return None if code is None else (lambda a: code(_value(a)))
        if name not in PARTIALS:
            return None
        partial = PARTIALS[name]

        def call(a: Value) -> Value:
            x = _value(a)
            value = code(x)
            return self.record(value, (a, self.by(lambda: partial(self.numbers, x, value))))  # type: ignore[arg-type]

        return call

    def choose(self, condition: np.ndarray, a: Value, b: Value) -> Value:
        """An adjoint flows to the branch taken."""
        n = self.numbers
        value = n.where(condition, _value(a), _value(b))
        return self.record(
            value, (a, lambda g: n.where(condition, g, 0)), (b, lambda g: n.where(condition, 0, g))
        )  # fmt: skip

    def shared(self, best: np.ndarray, values: Sequence[Value]) -> Value:
        """An adjoint flows to all that tie, in equal parts."""
        n = self.numbers
        tied = [n.compare("==", _value(v), best) for v in values]
        count = np.sum([np.broadcast_to(t, best.shape) for t in tied], axis=0, dtype=object)
        ways = [(v, lambda g, t=t: n.where(t, n.div(g, n.array(count)), 0)) for v, t in zip(values, tied, strict=True)]
        return self.record(best, *ways)

    def total(self, a: Value, axes: Sequence[int]) -> Value:
        """The adjoint of a sum is the same for every term."""
        x = _value(a)
        return self.record(self.numbers.sum_over(x, axes), (a, lambda g: np.broadcast_to(g, _front(g, x) + x.shape)))

    def contract(self, factors: Sequence[Value], shape: Sequence[int], axes: Sequence[int]) -> Value:
        """The adjoint flows to each factor through the others."""
        plain = [_value(a) for a in factors]
        value = self.numbers.contract(plain, shape, axes)
        ways = [(a, self.through([*plain[:n], *plain[n + 1 :]], plain[n])) for n, a in enumerate(factors)]
        return self.record(value, *ways)

    def matrix(self, op: str, a: Value, *right: Value) -> Value:
        """An adjoint flows by the rule of the function. Raises :class:`Unsupported` where there is no value."""
        operands = (a, *right)
        plain = tuple(_value(o) for o in operands)
        value = self.numbers.matrix(op, *plain)
        if not all(map(finite, value.flat)) or (op == "det" and (value == 0).any()):
            raise Unsupported
        backs = (_one_by_one(back, value) for back in ways_back(self.numbers, op, value, plain))
        return self.record(value, *zip(operands, backs, strict=True))

    def broadcast(self, a: Value, shape: Sequence[int]) -> Value:
        """What is read several times gets the sum of the adjoints, in the sweep."""
        return self.record(np.broadcast_to(_value(a), tuple(shape)), (a, _same))

    def rearranged(self, a: Value, order: Sequence[int], extents: Sequence[int], shape: Sequence[int]) -> Value:
        """Back in the old order; what was cut off gets nothing."""
        x = _value(a)
        value = super().rearranged(x, order, extents, shape)

        def back(g: np.ndarray) -> np.ndarray:
            front = _front(g, value)
            if not extents:
                return g.reshape(front + x.shape)
            into = self.numbers.array(np.zeros(front + x.shape, dtype=int))
            axes = [*range(len(front)), *(len(front) + o for o in order)]
            moved = g.reshape([*front, *(extents[o] for o in order)]).transpose(np.argsort(axes))
            into[(slice(None),) * len(front) + tuple(slice(n) for n in extents)] = moved
            return into

        return self.record(value, (a, back))

    def reshaped(self, a: Value, shape: Sequence[int]) -> Value:
        """Back in the old shape."""
        x = _value(a)
        value = x.reshape(tuple(shape))
        return self.record(value, (a, lambda g: g.reshape(_front(g, value) + x.shape)))

    def gather(self, a: Value, at: tuple[np.ndarray, ...]) -> Value:
        """An entry gets the sum of the adjoints of all that read it."""
        x = _value(a)
        value = super().gather(x, at)

        def back(g: np.ndarray) -> np.ndarray:
            front = _front(g, value)
            places = [p.reshape(p.shape + (1,) * value.ndim) for p in np.ix_(*map(range, front))]
            return self.numbers.scatter_product([g], g.shape, tuple(np.broadcast_arrays(*places, *at)), front + x.shape)

        return self.record(value, (a, back))

    def scatter(
        self, factors: Sequence[Value], full: Sequence[int], at: tuple[np.ndarray, ...], shape: Sequence[int]
    ) -> Value:
        """A term gets the adjoint of what it was added to."""
        plain = [_value(a) for a in factors]
        value = self.numbers.scatter_product(plain, full, at, shape)
        backs = (self.through([*plain[:n], *plain[n + 1 :]], a) for n, a in enumerate(plain))

        def read(g: np.ndarray) -> np.ndarray:
            return g[(slice(None),) * (g.ndim - value.ndim) + at]

        return self.record(value, *((a, lambda g, b=b: b(read(g))) for a, b in zip(factors, backs, strict=True)))

    # The sweep

    def reverse(self, seeds: Iterable[tuple[Value, np.ndarray]], cut: Callable[[Leaf], bool] | None = None) -> Adjoints:
        """The derivatives of ``sum weight * array`` over ``seeds`` by every recorded array.

        Weights with more axes than their array, at their front, are many weights, for each of which there is one
        derivative. Nothing flows back beyond an array that ``cut`` holds for.
        """
        return Adjoints(self.numbers, seeds, cut)


class Adjoints:
    """The derivatives of one number by recorded arrays, None for what it does not depend on.

    Each is computed when it is first asked for, from those of what was made of its array: what nobody asks for, the
    gradient of a large weight say, costs nothing.
    """

    def __init__(
        self, numbers: GridNumbers, seeds: Iterable[tuple[Value, np.ndarray]], cut: Callable[[Leaf], bool] | None
    ) -> None:
        self.numbers = numbers
        self.known: dict[Leaf, np.ndarray | None] = {}
        self.seeds: dict[Leaf, list[np.ndarray]] = {}
        self.front: tuple[int, ...] = ()
        for node, weight in seeds:
            if isinstance(node, Leaf):
                self.seeds.setdefault(node, []).append(weight)
                self.front = _front(weight, node.value)
        self.uses: dict[Leaf, list[tuple[Leaf, Back]]] = {}
        for node in descending(self.seeds):
            for parent, back in () if cut is not None and cut(node) else node.parents:
                self.uses.setdefault(parent, []).append((node, back))

    def __getitem__(self, node: Leaf) -> np.ndarray | None:
        needed, stack = {node}, [node]
        while stack:
            for user, _ in self.uses.get(stack.pop(), ()):
                if user not in self.known and user not in needed:
                    needed.add(user)
                    stack.append(user)
        for one in sorted(needed - self.known.keys(), key=lambda value: -value.serial):
            self.known[one] = self._summed(one)
        return self.known[node]

    def _summed(self, node: Leaf) -> np.ndarray | None:
        """What the seeds give an array, and what flows to it from all that uses it."""
        total: np.ndarray | None = None
        flows = ((back, self.known[user]) for user, back in self.uses.get(node, ()))
        for change in (*self.seeds.get(node, ()), *(back(g) for back, g in flows if g is not None)):
            part = _shrunk(self.numbers, change, self.front, node.value.shape)
            total = part if total is None else np.asarray(self.numbers.add(total, part))
        return total


def _same(g: np.ndarray) -> np.ndarray:
    return g


def _one_by_one(back: Back, value: np.ndarray) -> Back:
    """A way back that takes one adjoint, of many."""

    def call(g: np.ndarray) -> np.ndarray:
        front = _front(g, value)
        found = np.stack([back(one) for one in g.reshape(-1, *value.shape)])
        return found.reshape(front + found.shape[1:])

    return call


def _front(g: np.ndarray, value: np.ndarray) -> tuple[int, ...]:
    """The extents of the axes that there are before those of a value in its adjoints, one for each of many seeds."""
    return g.shape[: g.ndim - value.ndim]


def _shrunk(numbers: GridNumbers, g: Any, front: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    """An adjoint summed over the axes, behind those at its front, along which its array was broadcast."""
    g = np.asarray(g)
    whole = front + shape
    if g.shape == whole:
        return g
    first = len(front)
    extra = g.ndim - len(whole)
    if extra > 0:
        g = numbers.sum_over(g, range(first, first + extra)).reshape(front + g.shape[first + extra :])
    axes = [x for x, (own, wanted) in enumerate(zip(g.shape, whole, strict=True)) if own != wanted]
    return np.broadcast_to(numbers.sum_over(g, [x for x in axes if whole[x] == 1]), whole)
