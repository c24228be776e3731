"""Functions of matrices over whole arrays; see :mod:`symderive.check.grid`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderive.check.grid_math import Value
from symderive.check.grid_numbers import Unsupported
from symderive.spec import syntax
from symderive.spec.functions import kept

if TYPE_CHECKING:
    from symderive.check.grid import Grid


def matrix(grid: Grid, node: syntax.Binder) -> Value:
    """The function of the matrix of the body, and of the vectors behind it, for all values of the other indices."""
    row, column = (grid.axes[i] for i in node.indices)
    others = [axis for axis in range(grid.rank) if axis not in (row, column)]
    order = [*others, row, column]
    parts = [grid.value(part) for part in (node.body, *node.more)]
    stack = list(np.broadcast_shapes(*(grid.math.plain(part).shape for part in parts)))
    stack[row], stack[column] = (grid.ranges[i] for i in node.indices)
    if stack[row] != stack[column] or math.prod(stack) > grid.largest:
        raise Unsupported
    count = math.prod(stack[axis] for axis in others)

    def arranged(part: Value, vector: bool) -> Value:
        shape = [1 if vector and axis == column else n for axis, n in enumerate(stack)]
        ends = [stack[row]] if vector else [stack[row], stack[column]]
        return grid.math.rearranged(grid.math.broadcast(part, shape), order, shape, [count, *ends])

    value = grid.math.matrix(node.op, arranged(parts[0], False), *(arranged(part, True) for part in parts[1:]))
    stays = kept(node.op, node.indices)
    shape = [stack[axis] for axis in others] + [grid.ranges[i] if i in stays else 1 for i in node.indices]
    back = [order.index(axis) for axis in range(grid.rank)]
    return grid.math.rearranged(grid.math.reshaped(value, shape), back, shape, [shape[axis] for axis in back])
