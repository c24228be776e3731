"""Reductions: sums go to the contraction, the others reduce an array; running ones are scans."""

from __future__ import annotations

from collections.abc import Callable

from sympy import Expr, Mul, S, log

from symderive.algebra import nodes
from symderive.algebra.nodes import Index
from symderive.lower import groups, plan
from symderive.lower.axes import Labelled, batch_first, spread
from symderive.lower.context import Lowering, lower_node
from symderive.lower.contraction import sum_of
from symderive.lower.integers import same
from symderive.lower.scan import NEUTRAL, reduce_axes, running, running_condition

_OPS: dict[type, str] = {
    nodes.Prod: "prod",
    nodes.Max: "amax",
    nodes.Min: "amin",
    nodes.LogSumExp: "logsumexp",
    nodes.Any: "any",
    nodes.All: "all",
    nodes.ArgMax: "argmax",
    nodes.ArgMin: "argmin",
}

_REPEATED: dict[str, Callable[[Labelled, Expr, Lowering], Labelled]] = {
    "prod": lambda v, n, ctx: ctx.combine("pow", v, Labelled(ctx.graph.scalar(n))),
    "logsumexp": lambda v, n, ctx: ctx.combine("add", v, Labelled(ctx.graph.scalar(log(n)))),
}
"""What n equal entries reduce to, where that is not the entry itself."""


@lower_node.register
def lower_sum(e: nodes.Sum, ctx: Lowering) -> Labelled:
    """``sum[k](...)``."""
    body, bound = e.open()
    return sum_of(body, bound, ctx)


def lower_reduction(e: nodes.Binder, ctx: Lowering) -> Labelled:
    """``prod``, ``max``, ``min``, ``logsumexp``, ``any``, ``all``, ``argmax``, ``argmin``."""
    op = _OPS[type(e)]
    body, bound = e.open()
    if op in plan.SCAN_OPS and (running := running_reduction(op, body, bound, ctx)) is not None:
        return running
    if op in plan.GROUP_OPS and len(bound) == 1 and (known := groups.reduced(op, body, bound[0], ctx)) is not None:
        return known
    if op == "prod" and (others := product_of_others(body, bound, ctx)) is not None:
        return others
    value = ctx.lower(body)
    if op.startswith("arg"):
        value = spread(ctx.graph, value, batch_first(dict.fromkeys((*value.axes, *bound))))
    reduced = reduce_axes(op, value, bound, ctx)
    missing = Mul(*(i.extent for i in bound if i not in value.axes))
    if missing is not S.One and op in _REPEATED:
        return _REPEATED[op](reduced, missing, ctx)
    return reduced


for _node in _OPS:
    lower_node.register(_node)(lower_reduction)


def running_reduction(op: str, body: Expr, bound: tuple[Index, ...], ctx: Lowering) -> Labelled | None:
    """``sum[k : k <= i](f[k])`` is a running sum of f, read at i; likewise for ``<``, for ``>=`` and the other ops."""
    if len(bound) != 1 or not isinstance(body, nodes.Where) or body.args[2] != NEUTRAL[op]:
        return None
    test, inner, neutral = body.args
    for condition in test.args if isinstance(test, nodes.And) else (test,):
        found = running_condition(condition, bound[0])
        rest = [c for c in test.args if c is not condition] if isinstance(test, nodes.And) else []
        masked = nodes.Where(nodes.And(*rest), inner, neutral)
        if found is None or found[0] in ctx.free(masked):
            continue
        value = ctx.lower(masked)
        if bound[0] in value.axes:
            return running(op, value, bound[0], found, ctx)
    return None


def product_of_others(body: Expr, bound: tuple[Index, ...], ctx: Lowering) -> Labelled | None:
    """``prod[k : k != i](f[k])`` is the running product before i times the one behind it: there is no division."""
    if len(bound) != 1 or not isinstance(body, nodes.Where):
        return None
    test, taken, inner = body.args
    if isinstance(test, nodes.Not):
        test, taken, inner = test.args[0], inner, taken
    if not isinstance(test, nodes.Eq) or taken is not S.One or not all(isinstance(a, Index) for a in test.args):
        return None
    k = bound[0]
    i = test.args[0] if test.args[1] == k else test.args[1]
    if k not in test.args or not same(i.extent, k.extent) or i in ctx.free(inner) or k.is_batch:
        return None
    value = ctx.lower(inner)
    if k not in value.axes:
        return None
    return ctx.combine("mul", *(running("prod", value, k, (i, reverse, True), ctx) for reverse in (False, True)))
