"""What array form says with a mask: entries at one position, entries of groups."""

from __future__ import annotations

from sympy import Expr, S

from symderive.lower import plan as p


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
