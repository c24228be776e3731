"""Expressions of indices, sizes and whole constants in NumPy's integers: positions, and conditions on indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from symderive.check.grid_numbers import COMPARISONS
from symderive.spec import syntax

if TYPE_CHECKING:
    from symderive.check.grid import Grid

LARGEST = 2**40
"""Of a number here; larger ones are left to arithmetic without a limit."""

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    **COMPARISONS,
}
_DIVISIONS: dict[str, Callable[[Any, Any], Any]] = {"//": np.floor_divide, "%": np.mod}


def integers(grid: Grid, node: syntax.Node) -> np.ndarray | None:
    """The values of an expression that holds only indices and whole numbers; None for any other."""
    rule = _RULES.get(type(node))
    found = None if rule is None else rule(grid, node)
    return None if found is None or (found.size and max(-int(found.min()), int(found.max())) > LARGEST) else found


def index_of(node: syntax.Node) -> str | None:
    """The index that an index position is, if it is just one."""
    if isinstance(node, syntax.Batch):
        return syntax.BATCH
    return node.id if isinstance(node, syntax.Name) else None


def _constant(grid: Grid, value: Any) -> np.ndarray | None:
    if value != int(value) or abs(value) > LARGEST:
        return None
    return np.full((1,) * grid.rank, int(value), dtype=np.int64)


def _number(grid: Grid, node: syntax.Number) -> np.ndarray | None:
    return _constant(grid, node.value)


def _name(grid: Grid, node: syntax.Name) -> np.ndarray | None:
    if node.id in grid.index:
        return grid.index[node.id]
    return _constant(grid, grid.scalars[node.id]) if node.id in grid.scalars else None


def _batch(grid: Grid, node: syntax.Batch) -> np.ndarray | None:
    return grid.index[syntax.BATCH]


def _unary(grid: Grid, node: syntax.Unary) -> np.ndarray | None:
    operand = integers(grid, node.operand)
    return None if operand is None else -operand if node.op == "-" else operand


def _binary(grid: Grid, node: syntax.Binary) -> np.ndarray | None:
    if node.op not in _OPERATIONS and node.op not in _DIVISIONS:
        return None
    a, b = integers(grid, node.left), None
    if a is not None:
        b = integers(grid, node.right)
    if a is None or b is None:
        return None
    if node.op in _DIVISIONS:
        return None if (b == 0).any() else _DIVISIONS[node.op](a, b)
    if node.op == "*" and float(np.abs(a).max(initial=0)) * float(np.abs(b).max(initial=0)) > LARGEST:
        return None
    return _OPERATIONS[node.op](a, b)  # type: ignore[no-any-return]


def _compare(grid: Grid, node: syntax.Compare) -> np.ndarray | None:
    values = []
    for operand in node.operands:
        if (value := integers(grid, operand)) is None:
            return None
        values.append(value)
    tests = [_OPERATIONS[op](a, b) for op, a, b in zip(node.ops, values, values[1:], strict=False)]
    return np.logical_and.reduce(np.broadcast_arrays(*tests)).astype(np.int64)


def _logical(grid: Grid, node: syntax.Logical) -> np.ndarray | None:
    values = []
    for operand in node.operands:
        if (value := integers(grid, operand)) is None:
            return None
        values.append(value != 0)
    join = np.logical_and if node.op == "and" else np.logical_or
    return join.reduce(np.broadcast_arrays(*values)).astype(np.int64)


def _not(grid: Grid, node: syntax.Not) -> np.ndarray | None:
    operand = integers(grid, node.operand)
    return None if operand is None else (operand == 0).astype(np.int64)


def _call(grid: Grid, node: syntax.Call) -> np.ndarray | None:
    if node.function != "delta":
        return None
    return _compare(grid, syntax.Compare(("==",), node.arguments))


_RULES: dict[type[syntax.Node], Callable[[Grid, Any], np.ndarray | None]] = {
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
