"""Reductions of arrays along labelled axes, and running ones."""

from __future__ import annotations

from sympy import Expr, S, oo

from symderive.algebra import nodes
from symderive.algebra.nodes import Index
from symderive.lower import plan
from symderive.lower.axes import Labelled, relabel, without
from symderive.lower.context import Lowering
from symderive.lower.integers import same

NEUTRAL: dict[str, Expr] = {"sum": S.Zero, "prod": S.One, "amax": -oo, "amin": oo, "logsumexp": -oo}
"""What an entry counts as that takes no part in a reduction."""


def reduce_axes(op: str, value: Labelled, gone: tuple[Index, ...], ctx: Lowering) -> Labelled:
    """``op`` over those of ``gone`` that are axes of ``value``."""
    axes = sorted(value.position(i) for i in gone if i in value.axes)
    return Labelled(ctx.graph.reduce(op, value.node, axes), without(value.axes, gone))


def running_condition(test: Expr, k: Index) -> tuple[Index, bool, bool] | None:
    """(i, reverse, strict) where ``test`` is ``k <= i``, ``k < i``, ``i <= k`` or ``i < k``; else None."""
    if not isinstance(test, nodes.Le | nodes.Lt):
        return None
    a, b = test.args
    if not isinstance(a, Index) or not isinstance(b, Index) or k not in (a, b) or a == b or k.is_batch:
        return None
    target = b if a == k else a
    return (target, target == a, isinstance(test, nodes.Lt)) if same(a.extent, b.extent) else None


def running(op: str, value: Labelled, k: Index, found: tuple[Index, bool, bool], ctx: Lowering) -> Labelled:
    """The running ``op`` along k; a strict one is shifted by an entry, the neutral element in front."""
    target, reverse, strict = found
    axis = value.position(k)
    node = ctx.graph.intern(plan.Scan(op, ctx.graph.cast(value.node, "real"), axis, reverse))
    if strict:
        rank = len(value.plain)
        shift = (S.Zero, S.One) if reverse else (S.One, S.Zero)
        widths = tuple(shift if a == axis else (S.Zero, S.Zero) for a in range(-rank, 0))
        padded = ctx.graph.intern(plan.Pad(node, widths, NEUTRAL[op]))
        start = S.One if reverse else S.Zero
        node = ctx.graph.slice(padded, [plan.Span(start, k.extent) if a == axis else None for a in range(-rank, 0)])
    return relabel(Labelled(node, value.axes), k, target)
