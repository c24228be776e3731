"""Kronecker deltas that are left: ``Eq(v, t[n])`` scatters, ``Eq(i, j)`` makes a diagonal, any other is a mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sympy import Expr, Mul, S

from symderive.algebra import nodes
from symderive.algebra.nodes import Access, Clamp, Eq, Index, Le
from symderive.lower import plan
from symderive.lower.axes import Labelled, align, arrange, batch_first, shape_of, spread, without
from symderive.lower.context import Lowering
from symderive.lower.integers import affine, at_least, same

if TYPE_CHECKING:
    from symderive.lower.contraction import Product


@dataclass(frozen=True)
class Target:
    """``Eq(index, place)``: what is multiplied by it goes to entry ``place`` of the axis ``index``."""

    index: Index
    place: Expr
    mask: Expr


def target_of(mask: Expr, bound: Sequence[Index], ctx: Lowering) -> Target | None:
    """The target of a delta: a free index on one side that the other side does not have."""
    if not isinstance(mask, Eq):
        return None
    sides = sorted(mask.args, key=lambda a: not isinstance(a, Index))
    for index, place in (sides, sides[::-1]):
        if not isinstance(index, Index) or index in bound or index.is_batch or not place.is_integer:
            continue
        inside = ctx.free(place)
        if inside and index not in inside and not (isinstance(place, Index) and not same(place.extent, index.extent)):
            return Target(index, place, mask)
    return None


def is_target(mask: Expr, bound: Sequence[Index], ctx: Lowering) -> bool:
    """Whether a condition is a delta that scatters; without a summed or a computed place it is a mask."""
    target = target_of(mask, bound, ctx)
    if target is None:
        return False
    return bool(ctx.free(target.place) & set(bound)) or isinstance(target.place, Access | Index)


def has_delta(e: Expr, ctx: Lowering) -> bool:
    """Whether a product or a ``where(c, a, 0)`` holds a delta that scatters."""
    return any(is_target(c, (), ctx) for c in _conditions(e))


def _conditions(e: Expr) -> list[Expr]:
    if isinstance(e, Mul):
        return [c for a in e.args for c in _conditions(a)]
    if isinstance(e, nodes.Where) and e.args[2] is S.Zero:
        return [*_conditions(e.args[0]), *_conditions(e.args[1])]
    if isinstance(e, nodes.And):
        return list(e.args)
    return [e] if isinstance(e, nodes.Condition) else []


def split_terms(terms: Sequence[Expr], ctx: Lowering) -> tuple[list[Expr], list[Expr]]:
    """The terms without and with a delta that scatters."""
    deltas = [t for t in terms if has_delta(t, ctx)]
    return [t for t in terms if t not in deltas], deltas


def lower_product(factors: Sequence[Expr], bound: Sequence[Index], ctx: Lowering) -> Labelled:
    """The product of ``factors``, which hold a delta, summed over ``bound``."""
    from symderive.lower.contraction import Product

    product = Product(list(bound))
    for factor in factors:
        product.add(factor, ctx)
    return scattered(product, ctx)


def add_onto(dense: Sequence[Expr], deltas: Sequence[Expr], ctx: Lowering) -> Labelled:
    """The dense terms with those that hold a delta scattered onto them."""
    from symderive.lower.contraction import Product
    from symderive.lower.elementwise import add_terms

    axes = batch_first(dict.fromkeys(i for t in (*dense, *deltas) for i in sorted_free(t, ctx)))
    base = spread(ctx.graph, add_terms(dense, ctx), axes) if dense else None
    if base is not None:
        base = Labelled(ctx.graph.cast(base.node, "real"), base.axes)
    for term in deltas:
        product = Product([])
        product.add(term, ctx)
        added = scattered(product, ctx, base)
        if base is not None and added.node is not base.node and not _has_base(added.node, base.node):
            added = ctx.combine("add", base, added)
        base = added
    assert base is not None
    return base


def sorted_free(e: Expr, ctx: Lowering) -> list[Index]:
    """The free indices of an expression in the order of the hint, then by name."""
    places = {index: n for n, index in enumerate(ctx.hint)}
    return sorted(ctx.free(e), key=lambda i: (places.get(i, len(places)), i.name, i.level))


def _has_base(node: plan.Node, base: plan.Node) -> bool:
    return isinstance(node, plan.IndexAdd | plan.ScatterAdd) and node.base is base


def scattered(product: Product, ctx: Lowering, base: Labelled | None = None) -> Labelled:
    """``sum[bound](number * factors)`` where the deltas among its masks say where each entry goes."""
    from symderive.lower.contraction import Product, plain_sum

    bound = product.bound
    targets: list[Target] = []
    masks: list[Expr] = []
    for mask in product.masks:
        target = target_of(mask, bound, ctx) if is_target(mask, bound, ctx) else None
        taken = {t.index for t in targets}
        if target is None or target.index in taken or ctx.free(target.place) & taken:
            masks.append(mask)
        else:
            targets.append(target)
    places = frozenset().union(*(ctx.free(t.place) for t in targets))
    targets = [t for t in targets if t.index not in places] or targets[:1]
    masks = [m for m in product.masks if m not in [t.mask for t in targets]]
    if any(i.is_batch and i not in bound for t in targets for i in ctx.free(t.place)) and len(targets) > 1:
        return plain_sum(product, ctx)
    solved = {t.index: t.place for t in targets}
    outside = [f for f in product.factors if not ctx.free(f) & set(bound) and ctx.free(f) & solved.keys()]
    inside = [substitute(f, solved) for f in product.factors if f not in outside]
    guards = [substitute(m, solved) for m in masks]
    diagonal = len(targets) == 1 and isinstance(targets[0].place, Index) and targets[0].place not in bound
    if diagonal or outside and not places & set(bound):
        inside, outside = [substitute(f, solved) for f in product.factors], []
    inner = Product(list(bound), product.number, inside, guards)
    result = (_diagonal if diagonal else _scatter)(inner, targets, None if outside else base, ctx)
    if outside:
        from symderive.lower.elementwise import multiply

        result = ctx.combine("mul", result, multiply(outside, ctx))
    return result


def substitute(e: Expr, solved: dict[Index, Expr]) -> Expr:
    """Integer expressions in place of free indices."""
    return e.xreplace(solved) if e.has(*solved) else e


def _diagonal(product: Product, targets: list[Target], base: Labelled | None, ctx: Lowering) -> Labelled:
    """``Eq(i, j) f(j)`` is a matrix with f on its diagonal."""
    from symderive.lower.contraction import sum_of_product

    row, column = targets[0].index, targets[0].place
    assert isinstance(column, Index)
    value = sum_of_product(product, ctx)
    if not value.axes and isinstance(value.node, plan.Scalar):
        eye = Labelled(ctx.graph.intern(plan.Eye(row.extent)), tuple(sorted_free(targets[0].mask, ctx)))
        return ctx.combine("mul", eye, value)
    value = spread(ctx.graph, value, (*without(value.axes, {column}), column))
    node = ctx.graph.intern(plan.DiagEmbed(ctx.graph.cast(value.node, "real")))
    pair = sorted_free(targets[0].mask, ctx)
    return Labelled(node, (*value.axes[:-1], *pair))


def _scatter(product: Product, targets: list[Target], base: Labelled | None, ctx: Lowering) -> Labelled:
    """The product's entries added up at the places of the targets."""
    from symderive.lower.contraction import Product, sum_of_product

    targets, guards = _guarded(targets, ctx)
    places = frozenset().union(*(ctx.free(t.place) for t in targets))
    moved = [i for i in product.bound if i in places]
    inner = Product(
        [i for i in product.bound if i not in places], product.number, product.factors, [*product.masks, *guards]
    )
    value = sum_of_product(inner, ctx)
    source = Labelled(ctx.graph.cast(value.node, "real"), value.axes)
    kept = [i for i in places if i not in moved]
    if not kept and (known := _placed(source, targets, ctx)) is not None:
        return known
    if not kept:
        return _index_add(source, targets, moved, base, ctx)
    if len(targets) == 1:
        return _scatter_add(source, targets[0], moved, kept, base, ctx)
    targets = [*targets, *(Target(i, i, S.One) for i in kept)]
    return _index_add(source, targets, [*moved, *kept], base, ctx)


def _guarded(targets: list[Target], ctx: Lowering) -> tuple[list[Target], list[Expr]]:
    """Targets whose places are in range, and the conditions under which they are."""
    safe: list[Target] = []
    guards: list[Expr] = []
    for target in targets:
        if in_range(target.place, target.index.extent, ctx):
            safe.append(target)
            continue
        last = target.index.extent - 1
        guards += [Le(S.Zero, target.place), Le(target.place, last)]
        safe.append(Target(target.index, Clamp(target.place, S.Zero, last), target.mask))
    return safe, guards


def in_range(place: Expr, extent: Expr, ctx: Lowering) -> bool:
    """Whether an integer expression is known to lie in 0..extent - 1."""
    if isinstance(place, Access):
        return place.tensor in ctx.ranges and same(ctx.ranges[place.tensor], extent)
    if isinstance(place, nodes.Mod):
        return at_least(extent, place.args[1])
    if isinstance(place, nodes.FloorDiv):
        inner = affine(place.args[0])
        if inner is None or inner.least is None or inner.greatest is None or not place.args[1].is_Integer:
            return False
        return at_least(inner.least, S.Zero) and at_least(extent * place.args[1] - 1, inner.greatest)
    form = affine(place)
    if form is None or form.least is None or form.greatest is None:
        return False
    return at_least(form.least, S.Zero) and at_least(extent - 1, form.greatest)


def _placed(source: Labelled, targets: list[Target], ctx: Lowering) -> Labelled | None:
    """Places ``s * h + c`` are a slice of the result: its entries are put there, and nothing is added up."""
    spans: dict[Index, tuple[Index, plan.Span]] = {}
    for target in targets:
        form = affine(target.place)
        if form is None or len(form.terms) != 1 or not form.terms[0][1].is_positive:
            return None
        ((h, step),) = form.terms
        if h in spans or h.is_batch:
            return None
        spans[h] = target.index, plan.Span(form.constant, h.extent, step)
    source = spread(ctx.graph, source, batch_first(dict.fromkeys((*source.axes, *spans))))
    axes = tuple(spans[i][0] if i in spans else i for i in source.axes)
    items = tuple(spans[i][1] if i in spans else None for i in source.plain)
    return Labelled(ctx.graph.intern(plan.Place(source.node, shape_of(axes), items)), axes)


def _places(axes: Sequence[Index], ctx: Lowering) -> list[Index]:
    hint = {index: n for n, index in enumerate(ctx.hint)}
    return list(batch_first(sorted(axes, key=lambda i: hint.get(i, len(hint)))))


def _index_add(
    source: Labelled, targets: list[Target], moved: list[Index], base: Labelled | None, ctx: Lowering
) -> Labelled:
    """Whole slices are added at places along adjacent axes."""
    goals = [t.index for t in targets]
    moved = list(batch_first(i for i in (*source.axes, *moved) if i in moved))
    moved = list(dict.fromkeys(moved))
    others = without(source.axes, moved)
    batch_moved = any(i.is_batch for i in moved)
    order = _places([*others, goals[0]], ctx)
    split = 0 if batch_moved else order.index(goals[0])
    rest = [i for i in order if i != goals[0]]
    axes = (*rest[:split], *goals, *rest[split:])
    source = spread(ctx.graph, source, (*rest[:split], *moved, *rest[split:]))
    arrays = [index_array(t.place, moved, ctx) for t in targets]
    by_index = dict(zip(goals, arrays, strict=True))
    plain = [i for i in axes if not i.is_batch]
    return _finished(
        axes,
        base,
        ctx,
        lambda into, onto: plan.IndexAdd(source.node, into, tuple(by_index.get(i) for i in plain), onto),
    )


def _finished(axes: Sequence[Index], base: Labelled | None, ctx: Lowering, make) -> Labelled:  # type: ignore[no-untyped-def]  # noqa: ANN001
    onto = None
    if base is not None and set(base.axes) == set(axes):
        onto = arrange(ctx.graph, base, axes).node
    node = ctx.graph.intern(make(shape_of(axes), onto))
    result = Labelled(node, tuple(axes))
    if base is not None and onto is None:
        return ctx.combine("add", base, result)
    return result


def index_array(place: Expr, axes: Sequence[Index], ctx: Lowering) -> plan.Node:
    """An integer expression as an array that broadcasts to ``axes``."""
    value = ctx.lower(place)
    if isinstance(value.node, plan.Scalar):
        return ctx.graph.full((), value.node.value, "integer")
    return ctx.graph.cast(align(ctx.graph, value, axes), "integer")


def _scatter_add(
    source: Labelled, target: Target, moved: list[Index], kept: list[Index], base: Labelled | None, ctx: Lowering
) -> Labelled:
    """Entries are added at places along one axis that vary along the others."""
    others = without(source.axes, moved)
    axes = _places(dict.fromkeys((*others, *kept, target.index)), ctx)  # type: ignore[arg-type]
    if base is not None and set(base.axes) == set(axes):
        axes = list(base.axes)
    at = axes.index(target.index)
    slot = list(batch_first(moved))
    line = (*axes[:at], *slot, *axes[at + 1 :])
    if any(i.is_batch for i in slot):
        raise _unsupported(target)
    source = spread(ctx.graph, source, line)
    index = spread(ctx.graph, _integers(target.place, ctx), line)
    shape = tuple(1 if i == target.index else i.extent for i in axes)
    if len(slot) != 1:
        extent = Mul(*(i.extent for i in slot))
        shape = tuple(extent if i == target.index else i.extent for i in axes)
        source_node, index_node = (ctx.graph.reshape(v.node, shape) for v in (source, index))
        if not slot:
            place = [at - len(axes)]
            source_node, index_node = (ctx.graph.expand(v.node, place) for v in (source, index))
    else:
        source_node, index_node = source.node, index.node
    return _finished(
        axes, base, ctx, lambda into, onto: plan.ScatterAdd(source_node, into, index_node, at - len(axes), onto)
    )


def _integers(place: Expr, ctx: Lowering) -> Labelled:
    value = ctx.lower(place)
    return Labelled(ctx.graph.cast(value.node, "integer"), value.axes)


def _unsupported(target: Target) -> Exception:
    from symderive.errors import UnsupportedError

    return UnsupportedError(f"cannot scatter at {target.place} along batch axes that are summed")

