"""The sweep back over recorded arrays: the derivatives of one number, or of many, by each of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from symderive.check.grid_math import GridMath, Value
from symderive.claims.tape import descending

Back = Callable[[Value], Value]
_serial = itertools.count()


class Leaf:
    """A recorded array of the math ``home``: its ``value`` below, its operands, and how an adjoint flows to each."""

    __slots__ = ("home", "label", "parents", "serial", "value")

    def __init__(
        self, home: GridMath, value: Value, parents: tuple[tuple[Leaf, Back], ...] = (), label: Any = None
    ) -> None:
        self.home = home
        self.value = value
        self.parents = parents
        self.label = label
        self.serial = next(_serial)


class Adjoints:
    """The derivatives of one number by recorded arrays, in the math below; None for what it does not depend on.

    Each is computed when it is first asked for, from those of what was made of its array: what nobody asks for, the
    gradient of a large weight say, costs nothing.
    """

    def __init__(
        self, below: GridMath, seeds: Iterable[tuple[Value, Value]], cut: Callable[[Leaf], bool] | None
    ) -> None:
        self.below = below
        self.known: dict[Leaf, Value | None] = {}
        self.seeds: dict[Leaf, list[Value]] = {}
        self.front: tuple[int, ...] = ()
        for node, weight in seeds:
            if isinstance(node, Leaf):
                self.seeds.setdefault(node, []).append(weight)
                self.front = front_of(below, weight, node.value)
        self.uses: dict[Leaf, list[tuple[Leaf, Back]]] = {}
        for node in descending(self.seeds):
            for parent, back in () if cut is not None and cut(node) else node.parents:
                self.uses.setdefault(parent, []).append((node, back))

    def __getitem__(self, node: Leaf) -> Value | None:
        needed, stack = {node}, [node]
        while stack:
            for user, _ in self.uses.get(stack.pop(), ()):
                if user not in self.known and user not in needed:
                    needed.add(user)
                    stack.append(user)
        for one in sorted(needed - self.known.keys(), key=lambda value: -value.serial):
            self.known[one] = self._summed(one)
        return self.known[node]

    def _summed(self, node: Leaf) -> Value | None:
        """What the seeds give an array, and what flows to it from all that uses it."""
        total: Value | None = None
        flows = ((back, self.known[user]) for user, back in self.uses.get(node, ()))
        for change in (*self.seeds.get(node, ()), *(back(g) for back, g in flows if g is not None)):
            part = _shrunk(self.below, change, self.front, self.below.shape(node.value))
            total = part if total is None else whole(self.below, self.below.add(total, part))
        return total


def whole(math: GridMath, a: Value) -> Value:
    """What was computed, as an array: of arrays without axes NumPy makes a number."""
    return a if isinstance(a, np.ndarray | Leaf) else math.numbers.array(a)


def front_of(math: GridMath, g: Value, value: Value) -> tuple[int, ...]:
    """The extents of the axes that there are before those of a value in its adjoints, one for each of many seeds."""
    shape = math.shape(g)
    return shape[: len(shape) - len(math.shape(value))]


def _shrunk(math: GridMath, g: Value, front: tuple[int, ...], shape: Sequence[int]) -> Value:
    """An adjoint summed over the axes, behind those at its front, along which its array was broadcast."""
    g = whole(math, g)
    wanted, given = (*front, *shape), math.shape(g)
    if given == wanted:
        return g
    first = len(front)
    extra = len(given) - len(wanted)
    if extra > 0:
        given = front + given[first + extra :]
        g = math.reshaped(math.total(g, range(first, first + extra)), given)
    axes = [x for x, (own, n) in enumerate(zip(given, wanted, strict=True)) if own != n and n == 1]
    return math.broadcast(math.total(g, axes), wanted)
