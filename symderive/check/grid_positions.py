"""Expressions of indices, sizes and whole constants in NumPy's integers: positions, and conditions on indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from symderive.check.grid_numbers import COMPARISONS
from symderive.spec import syntax

if TYPE_CHECKING:
    from symderive.check.grid import Grid

LARGEST = 2**40
"""Of a number here; larger ones are left to arithmetic without a limit."""

Bounded = tuple[np.ndarray, int]
"""Integers, and a number that none of them exceeds in absolute value."""

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "//": np.floor_divide,
    "%": np.mod,
    **COMPARISONS,
}
_BOUNDS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a + 1,  # of a negative number rounded down
    "%": lambda a, b: b,
}


def integers(grid: Grid, node: syntax.Node) -> np.ndarray | None:
    """The values of an expression that holds only indices and whole numbers; None for any other."""
    found = _bounded(grid, node) if node.positional else None
    return None if found is None else found[0]


def index_of(node: syntax.Node) -> str | None:
    """The index that an index position is, if it is just one."""
    if isinstance(node, syntax.Batch):
        return syntax.BATCH
    return node.id if isinstance(node, syntax.Name) else None


def _bounded(grid: Grid, node: syntax.Node) -> Bounded | None:
    found: Bounded | None = _RULES[type(node)](grid, node)
    return None if found is None or found[1] > LARGEST else found


def _all(grid: Grid, nodes: Sequence[syntax.Node]) -> list[Bounded] | None:
    found = []
    for node in nodes:
        if (value := _bounded(grid, node)) is None:
            return None
        found.append(value)
    return found


def _constant(grid: Grid, value: Any) -> Bounded | None:
    if value != int(value) or abs(value) > LARGEST:
        return None
    return np.full((1,) * grid.rank, int(value), dtype=np.int64), abs(int(value))


def _number(grid: Grid, node: syntax.Number) -> Bounded | None:
    return _constant(grid, node.value)


def _name(grid: Grid, node: syntax.Name) -> Bounded | None:
    if node.id in grid.index:
        return grid.index[node.id], grid.ranges[node.id]
    return _constant(grid, grid.scalars[node.id]) if node.id in grid.scalars else None


def _batch(grid: Grid, node: syntax.Batch) -> Bounded | None:
    return grid.index[syntax.BATCH], grid.ranges[syntax.BATCH]


def _unary(grid: Grid, node: syntax.Unary) -> Bounded | None:
    operand = _bounded(grid, node.operand)
    return operand if operand is None or node.op == "+" else (-operand[0], operand[1])


def _binary(grid: Grid, node: syntax.Binary) -> Bounded | None:
    if node.op not in _BOUNDS or (values := _all(grid, (node.left, node.right))) is None:
        return None
    (a, most_a), (b, most_b) = values
    most = _BOUNDS[node.op](most_a, most_b)
    if most > LARGEST or (node.op in ("//", "%") and (b == 0).any()):
        return None
    return _OPERATIONS[node.op](a, b), most


def _compare(grid: Grid, node: syntax.Compare) -> Bounded | None:
    if (values := _all(grid, node.operands)) is None:
        return None
    tests = [_OPERATIONS[op](a, b) for op, (a, _), (b, _) in zip(node.ops, values, values[1:], strict=False)]
    return _joined(np.logical_and, tests)


def _logical(grid: Grid, node: syntax.Logical) -> Bounded | None:
    if (values := _all(grid, node.operands)) is None:
        return None
    return _joined(np.logical_and if node.op == "and" else np.logical_or, [a != 0 for a, _ in values])


def _joined(join: Callable[[Any, Any], Any], tests: list[np.ndarray]) -> Bounded:
    return reduce(join, tests).astype(np.int64), 1


def _not(grid: Grid, node: syntax.Not) -> Bounded | None:
    operand = _bounded(grid, node.operand)
    return None if operand is None else ((operand[0] == 0).astype(np.int64), 1)


def _call(grid: Grid, node: syntax.Call) -> Bounded | None:
    return _compare(grid, syntax.Compare(("==",), node.arguments))  # a delta


_RULES: dict[type[syntax.Node], Callable[[Grid, Any], Bounded | None]] = {
    syntax.Number: _number,
    syntax.Name: _name,
    syntax.Batch: _batch,
    syntax.Unary: _unary,
    syntax.Binary: _binary,
    syntax.Compare: _compare,
    syntax.Logical: _logical,
    syntax.Not: _not,
    syntax.Call: _call,
}
