"""What array form says with a mask: entries at one position, entries of groups."""

from __future__ import annotations

from sympy import Expr, S

from symderive.lower import plan as p

_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


def negated(node: p.Node) -> p.Node | None:
    """``x <= 0`` for ``not x > 0``, where ``node`` is a comparison."""
    if not isinstance(node, p.Map) or node.function not in _OPPOSITE:
        return None
    return p.Map(_OPPOSITE[node.function], node.args)


def by_group(node: p.Grouped) -> p.Node:
    """The entries of each group along an axis of their own, in front of theirs; the others are masked."""
    marks: p.Node = p.Map("eq", (node.index, p.Expand(p.Arange(node.count), (-1,))))
    behind = tuple(range(node.axis + 1, 0))
    value = node.value if node.axis == -len(node.value.shape) else p.Expand(node.value, (node.axis - 1,))
    neutral = S.Infinity if node.op == "amin" else S.NegativeInfinity
    return p.Map("where", (p.Expand(marks, behind) if behind else marks, value, p.Scalar(neutral)))


def only_at(position: Expr, part: p.Node, whole: p.Node, axis: int) -> p.Node:
    """What has one entry along an axis of ``whole``, at its position there, and zeros elsewhere."""
    test: p.Node = p.Map("eq", (p.Arange(whole.shape[axis]), p.Scalar(position)))
    behind = tuple(range(axis + 1, 0))
    return p.Map("where", (p.Expand(test, behind) if behind else test, part, p.Scalar(S.Zero)))
