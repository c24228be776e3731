"""A sum divided by the number of its terms is a mean."""

from __future__ import annotations

from sympy import Expr, Mul, S

from symderive.lower import plan
from symderive.lower.axes import Labelled
from symderive.lower.context import Lowering
from symderive.lower.plan import BATCH_SIZE, ROWS


def divided(value: Labelled, number: Expr, ctx: Lowering) -> Labelled:
    """``number * value``; a mean where ``value`` is a sum and ``number`` cancels its extent."""
    if isinstance(value.node, plan.Scalar):
        return Labelled(ctx.graph.scalar(number * value.node.value))
    if number is S.One:
        return value
    node = value.node
    if isinstance(node, plan.Reduce) and node.op == "sum":
        extents = [node.value.shape[a] for a in node.axes]
        count = Mul(*(BATCH_SIZE if e == ROWS else e for e in extents))
        rest = number * count
        if _cancels(count, rest):
            mean = ctx.graph.reduce("mean", node.value, node.axes)
            if node.keepdim:
                mean = ctx.graph.intern(plan.Reduce("mean", node.value, node.axes, True))
            return divided(Labelled(mean, value.axes), rest, ctx)
    above, below = number.as_numer_denom()
    if above is S.One:
        return ctx.combine("div", value, Labelled(ctx.graph.scalar(below)))
    scalar = Labelled(ctx.graph.scalar(number))
    return ctx.combine("mul", *((value, scalar) if isinstance(node, plan.MatMul) else (scalar, value)))


def _cancels(count: Expr, rest: Expr) -> bool:
    if not count.free_symbols:
        return count is not S.One and rest is S.One
    return not (count.free_symbols & rest.free_symbols)
