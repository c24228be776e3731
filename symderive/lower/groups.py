"""Reductions over the entries that an integer tensor puts into one group: ``max[e : t[e] == i](f[e])``.

A group's sum is a scatter (``scatter.py``); what reads the group of an entry, ``sum[j : t[j] == t[e]](f[j])``, is
reduced once a group and then read at ``t[e]``. No mask of pairs of entries is made.
"""

from __future__ import annotations

from dataclasses import replace

from sympy import Expr, Mul, S, oo

from symderive.algebra import nodes
from symderive.algebra.nodes import Access, Index, LogSumExp, Where
from symderive.lower import contraction, plan
from symderive.lower.access import read
from symderive.lower.axes import Labelled, relabel, spread
from symderive.lower.context import Lowering
from symderive.lower.integers import same
from symderive.lower.product import Product
from symderive.record import record


@record
class Group:
    """``Eq(place, goal)``: entry ``of`` is in the group ``place``, and ``goal`` says which one is reduced.

    ``label`` is the axis of the groups; it is the goal itself where every group is wanted.
    """

    of: Index
    place: Access
    goal: Expr
    label: Index
    mask: Expr

    def entry(self, expression: Expr) -> Expr:
        """An expression with the group of the entry for the group that is reduced, as the mask allows."""
        return expression.xreplace({self.goal: self.place})

    def reads_no_other(self, expression: Expr, ctx: Lowering) -> bool:
        """Whether it is a matter of the entry alone, not of where the group is read."""
        return not ctx.free(expression) & ctx.free(self.goal)


def group_of(mask: Expr, k: Index, ctx: Lowering) -> Group | None:
    """``t[k] == i`` for every i that t may hold, or ``t[k] == t[e]``."""
    if not isinstance(mask, nodes.Eq) or k.is_batch:
        return None
    for place, goal in (mask.args, mask.args[::-1]):
        if not isinstance(place, Access) or ctx.free(place) != {k} or k in ctx.free(goal):
            continue
        count = ctx.ranges.get(place.tensor)
        if count is None or place.atoms(Access) != {place}:
            continue
        if isinstance(goal, Index) and not goal.is_batch and same(goal.extent, count):
            return Group(k, place, goal, goal, mask)
        if not isinstance(goal, Access) or not ctx.free(goal) or ctx.ranges.get(goal.tensor) != count:
            continue
        if count.free_symbols <= ctx.sizes and ctx.number(count) <= ctx.bulk((k, *ctx.free(goal))):
            return Group(k, place, goal, Index("~", count).fresh(), mask)
    return None


def reduced(op: str, body: Expr, k: Index, ctx: Lowering) -> Labelled | None:
    """``max[k : t[k] == i](f[k])``, a min or a logsumexp, by groups; ``body`` is -inf (inf) where the mask fails."""
    if not isinstance(body, Where) or body.args[2] != (oo if op == "amin" else -oo):
        return None
    test, inner, neutral = body.args
    conditions = test.args if isinstance(test, nodes.And) else (test,)
    for group in (group_of(c, k, ctx) for c in conditions):
        if group is None:
            continue
        rest = nodes.And(*(c for c in conditions if c != group.mask))
        entries = group.entry(Where(rest, inner, neutral))
        if group.reads_no_other(entries, ctx):
            value = spread(ctx.graph, (found := ctx.lower(entries)), dict.fromkeys((*found.axes, k)))
            return _read(_grouped(op, value, group, ctx), group, ctx)
    return None


def _grouped(op: str, value: Labelled, group: Group, ctx: Lowering) -> Labelled:
    """The reduction over the axis of the entries; the axis of the groups takes its place."""
    index, axis = ctx.graph.cast(ctx.lower(group.place).node, "integer"), value.position(group.of)
    node = plan.Grouped(op, ctx.graph.cast(value.node, "real"), index, axis, group.label.extent)
    known = Labelled(ctx.graph.intern(node), value.axes)
    return known if op == "softmax" else relabel(known, group.of, group.label)


def _read(value: Labelled, group: Group, ctx: Lowering) -> Labelled:
    """What there is for each group, where it is wanted."""
    return value if group.goal == group.label else read(value, {group.label: group.goal}, ctx)


def normalised(body: Expr, norm: LogSumExp, ctx: Lowering) -> Labelled | None:
    """``exp(z[e] - logsumexp[j : t[j] == t[e]](z[j]))``, ``body`` being z[e]: a softmax within each group."""
    if len(norm.bound) != 1:
        return None
    inner, (k,) = norm.open()
    if not isinstance(inner, Where) or inner.args[2] != -oo or (group := group_of(inner.args[0], k, ctx)) is None:
        return None
    for entry in ctx.free(group.goal):
        own = {k: entry}
        if entry.extent == k.extent and group.place.xreplace(own) == group.goal and inner.args[1].xreplace(own) == body:
            value = spread(ctx.graph, (found := ctx.lower(body)), dict.fromkeys((*found.axes, entry)))
            return _grouped("softmax", value, replace(group, of=entry, place=group.goal), ctx)
    return None


def summed(product: Product, ctx: Lowering) -> Labelled | None:
    """``sum[j : t[j] == t[e]](f[j])``: the sum of each group, read at the group of e."""
    bound = set(product.bound)
    inside = [f for f in product.factors if ctx.free(f) & bound]
    masks = [m for m in product.masks if ctx.free(m) & bound]
    for mask, k in ((m, k) for m in masks for k in product.bound):
        group = group_of(mask, k, ctx)
        if group is None or group.goal == group.label:
            continue
        factors, others = ([group.entry(e) for e in some if e != mask] for some in (inside, masks))
        if all(group.reads_no_other(e, ctx) for e in (*factors, *others)):
            part = Product(list(product.bound), S.One, factors, [nodes.Eq(group.place, group.label), *others])
            value = _read(contraction.sum_of_product(part, ctx), group, ctx)
            whole = nodes.Sum.over(Where(nodes.And(*masks), Mul(*inside), S.Zero), product.bound)
            ctx.remember(whole, value)
            outside = [f for f in product.factors if f not in inside]
            guards = [m for m in product.masks if m not in masks]
            return contraction.plain_sum(Product([], product.number, [whole, *outside], guards), ctx)
    return None
