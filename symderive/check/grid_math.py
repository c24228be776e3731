"""What an evaluator over whole arrays computes with: plain arrays here, recorded ones in a tape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from symderive.check.grid_numbers import GridNumbers

Value = Any
"""An array, or a recorded one."""


class GridMath:
    """The operations on arrays that carry no record."""

    def __init__(self, numbers: GridNumbers) -> None:
        self.numbers = numbers
        self.add, self.sub, self.mul, self.div = numbers.add, numbers.sub, numbers.mul, numbers.div
        self.neg, self.power = numbers.neg, numbers.power
        self.functions: Mapping[str, Callable[..., Value]] = numbers.functions
        self.pi = numbers.pi

    def shape(self, a: Value) -> tuple[int, ...]:
        """The extents of an array."""
        return np.shape(self.plain(a))

    def plain(self, a: Value) -> np.ndarray:
        """The array itself."""
        return a

    def stop(self, a: Value) -> Value:
        """The array, with no gradient."""
        return a

    def define(self, a: Value) -> Value:
        """An array of its own for a tensor, where a record is kept."""
        return a

    def tag(self, a: Value, label: Any) -> Value:
        """The same array, labelled where a record is kept."""
        return a

    def function(self, name: str) -> Callable[..., Value] | None:
        """The code of an element-wise function, None for one that is computed by its definition."""
        return self.functions.get(name)

    def choose(self, condition: np.ndarray, a: Value, b: Value) -> Value:
        """The branch taken, entry by entry."""
        return self.numbers.where(condition, a, b)

    def shared(self, best: np.ndarray, values: Sequence[Value]) -> Value:
        """``best``, the extremum of ``values``; those that tie have equal parts of its derivative."""
        return best

    def total(self, a: Value, axes: Sequence[int]) -> Value:
        """The sum over axes, which stay with extent 1."""
        return self.numbers.sum_over(a, axes)

    def contract(self, factors: Sequence[Value], shape: Sequence[int], axes: Sequence[int]) -> Value:
        """The sum over axes, which stay with extent 1, of a product of arrays that broadcast to a shape."""
        return self.numbers.contract(factors, shape, axes)

    def matrix(self, op: str, a: Value, *right: Value) -> Value:
        """A function of each matrix of a stack, and of the vectors that go with it."""
        return self.numbers.matrix(op, a, *right)

    def broadcast(self, a: Value, shape: Sequence[int]) -> Value:
        """The array in a larger shape."""
        wanted = tuple(shape)
        return a if a.shape == wanted else np.broadcast_to(a, wanted)

    def rearranged(self, a: Value, order: Sequence[int], extents: Sequence[int], shape: Sequence[int]) -> Value:
        """The first ``extents`` entries of each axis, with the axes in another order, in another shape."""
        if extents:
            if a.shape != tuple(extents):
                a = a[tuple(slice(n) for n in extents)]
            if [*order] != sorted(order):
                a = a.transpose(order)
        return a.reshape(tuple(shape))

    def reshaped(self, a: Value, shape: Sequence[int]) -> Value:
        """The same entries in another shape."""
        return a.reshape(tuple(shape))

    def gather(self, a: Value, at: tuple[Any, ...]) -> Value:
        """The entries at indices, one array for each axis, or a slice."""
        return a[at] if at else a

    def scatter(
        self, factors: Sequence[Value], full: Sequence[int], at: tuple[np.ndarray, ...], shape: Sequence[int]
    ) -> Value:
        """Zeros of a shape, to which a product of arrays that broadcast to ``full`` is added at indices.

        The indices, one array of the shape ``full`` for each axis, may repeat.
        """
        return self.numbers.scatter_product(factors, full, at, shape)

    # What an adjoint needs: see :class:`~symderive.check.grid_numbers.GridNumbers`

    def flow(self, adjoint: Value, partial: Value) -> Value:
        """``adjoint * partial``; what is exactly 0 does not flow, not even into NaN."""
        return self.numbers.flow(adjoint, partial)

    def flow_through(self, adjoint: Value, others: Sequence[Value], shape: Sequence[int]) -> Value:
        """An adjoint of a product times the ``others`` of its factors, summed to the shape of the one it flows to."""
        return self.numbers.flow_through(adjoint, others, shape)

    def restored(self, a: Value, order: Sequence[int], extents: Sequence[int], full: Sequence[int]) -> Value:
        """The opposite of ``rearranged`` of an array of the shape ``full``: zeros where that cut."""
        if not extents:
            return a.reshape(tuple(full))
        front = range(len(full) - len(order))
        into = self.numbers.array(np.zeros(tuple(full), dtype=int))
        axes = [*front, *(len(front) + o for o in order)]
        moved = a.reshape([*full[: len(front)], *(extents[o] for o in order)]).transpose(np.argsort(axes))
        into[(slice(None),) * len(front) + tuple(slice(n) for n in extents)] = moved
        return into
