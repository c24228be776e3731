"""Which expressions are integers to the evaluator of entries: of those no kinks are recorded."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from symderive.check.closures import TAG
from symderive.check.grid_numbers import Unsupported
from symderive.spec import syntax

if TYPE_CHECKING:
    from symderive.check.grid_watch import WatchedGrid

_ZERO = Fraction(0)
_KEEP = ("abs", "square", "stop", TAG)
_PICK = {"where": slice(1, 3), "max": slice(None), "min": slice(None), "clamp": slice(None)}
_MIXED = ("relu", "leaky_relu")
_WHOLE_BINDERS = ("any", "all", "argmax", "argmin")
_PICKING_BINDERS = ("max", "min", "prod")


def is_whole(grid: WatchedGrid, node: syntax.Node) -> bool:
    """Whether all values are integers. Raises :class:`Unsupported` where some are and some are not."""
    match node:
        case syntax.Number(value=value):
            return value.denominator == 1
        case syntax.Batch() | syntax.Compare() | syntax.Logical() | syntax.Not():
            return True
        case syntax.Name(id=name):
            number = grid.scalars.get(name)
            return name in grid.index or name in grid.whole_tensors or (number is not None and number == int(number))
        case syntax.Access(tensor=name):
            if name in grid.mixed_tensors:
                raise Unsupported
            return name in grid.whole_tensors
        case syntax.Unary(operand=operand):
            return is_whole(grid, operand)
        case syntax.Binary(op=op, left=left, right=right):
            return op in ("+", "-", "*", "//", "%") and is_whole(grid, left) and is_whole(grid, right)
        case syntax.Call():
            return _call(grid, node)
        case syntax.Binder(op=op, body=body):
            return op in _WHOLE_BINDERS or (op in _PICKING_BINDERS and is_whole(grid, body))
    return False


def _call(grid: WatchedGrid, node: syntax.Call) -> bool:
    if node.function == "delta":
        return True
    if node.function == "pad":
        return _same(grid, [node.arguments[0], *(node.arguments[1:] or (syntax.Number(_ZERO),))])
    if node.function in _PICK:
        return _same(grid, node.arguments[_PICK[node.function]])
    if node.function in _KEEP:
        return is_whole(grid, node.arguments[0])
    if node.function in _MIXED and is_whole(grid, node.arguments[0]):
        raise Unsupported
    return False


def _same(grid: WatchedGrid, nodes: Sequence[syntax.Node]) -> bool:
    found = {is_whole(grid, n) for n in nodes}
    if len(found) > 1:
        raise Unsupported
    return found.pop()
