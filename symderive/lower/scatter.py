"""Adding entries at computed places: what is left of deltas that a sum could not solve."""

from __future__ import annotations

from collections.abc import Sequence

from sympy import Expr, Mul, S

from symderive.algebra.nodes import Clamp, Index, Le
from symderive.algebra.terms import substitute
from symderive.lower import contraction, conv, plan
from symderive.lower.arithmetic import multiply, signed_terms, total
from symderive.lower.axes import Labelled, align, arrange, batch_first, shape_of, spread, without
from symderive.lower.context import Lowering
from symderive.lower.delta import Target, is_target, target_of
from symderive.lower.integers import Affine, affine, in_range, positive_part, radix, simplify_size
from symderive.lower.mean import divided
from symderive.lower.product import Product
from symderive.lower.shapes import same_shape


def lower_product(factors: Sequence[Expr], bound: Sequence[Index], ctx: Lowering) -> Labelled:
    """The product of ``factors``, which hold a delta, summed over ``bound``."""
    product = Product(list(bound))
    for factor in factors:
        product.add(factor, ctx)
    return scattered(product, ctx)


def add_onto(dense: Sequence[Expr], deltas: Sequence[Expr], ctx: Lowering) -> Labelled:
    """The dense terms with those that hold a delta scattered onto them."""
    axes = batch_first(dict.fromkeys(i for t in (*dense, *deltas) for i in sorted_free(t, ctx)))
    products = []
    for term in deltas:
        products.append(Product([]))
        products[-1].add(term, ctx)
    diagonals = [p for p in products if _is_diagonal(p, ctx)]
    scattering = [p for p in products if p not in diagonals]
    number, signed = signed_terms(dense, ctx)
    for product in diagonals:
        negative = bool(product.number.as_coeff_Mul()[0].is_negative)
        product.number = -product.number if negative else product.number
        signed.append((negative, 0, scattered(product, ctx)))
    if not signed and number is S.Zero:
        base = None
    else:
        base = spread(ctx.graph, total(signed, number, ctx), axes)
        base = Labelled(ctx.graph.cast(base.node, "real"), base.axes)
    for product in scattering:
        added = scattered(product, ctx, base)
        base = added
    assert base is not None
    return base


def _is_diagonal(product: Product, ctx: Lowering) -> bool:
    return any(isinstance(t.place, Index) for m in product.masks if (t := target_of(m, product.bound, ctx)) is not None)


def sorted_free(e: Expr, ctx: Lowering) -> list[Index]:
    """The free indices of an expression in the order of the hint, then by name."""
    places = {index: n for n, index in enumerate(ctx.hint)}
    return sorted(ctx.free(e), key=lambda i: (places.get(i, len(places)), i.name, i.level))


def scattered(product: Product, ctx: Lowering, base: Labelled | None = None) -> Labelled:
    """``sum[bound](number * factors)`` where the deltas among its masks say where each entry goes."""
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
    if _stays_a_mask(targets, bound, ctx):
        result = contraction.plain_sum(product, ctx)
        return result if base is None else ctx.combine("add", base, result)
    solved = {t.index: t.place for t in targets}
    outside = [f for f in product.factors if not ctx.free(f) & set(bound) and ctx.free(f) & solved.keys()]
    inside = [substitute(f, solved) for f in product.factors if f not in outside]
    guards = [substitute(m, solved) for m in masks]
    diagonal = len(targets) == 1 and isinstance(targets[0].place, Index) and targets[0].place not in bound
    if diagonal or (outside and not places & set(bound)):
        inside, outside = [substitute(f, solved) for f in product.factors], []
    inner = Product(list(bound), product.number, inside, guards)
    if diagonal:
        result = _diagonal(inner, targets, ctx)
        return result if base is None else ctx.combine("add", base, result)
    result = _scatter(inner, targets, None if outside else base, ctx)
    if outside:
        result = ctx.combine("mul", result, multiply(outside, ctx))
        return result if base is None else ctx.combine("add", base, result)
    return result


def _stays_a_mask(targets: list[Target], bound: Sequence[Index], ctx: Lowering) -> bool:
    """Whether batch axes stand in the way: they have no numbers of their own, and cannot be flattened and kept."""
    places = frozenset().union(*(ctx.free(t.place) for t in targets))
    kept = places - set(bound)
    return (len(targets) > 1 and any(i.is_batch for i in kept)) or (
        bool(kept) and any(i.is_batch for i in places & set(bound))
    )


def _diagonal(product: Product, targets: list[Target], ctx: Lowering) -> Labelled:
    """``Eq(i, j) f(j)`` is a matrix with f on its diagonal."""
    row, column = targets[0].index, targets[0].place
    assert isinstance(column, Index)
    value = contraction.sum_of_product(product, ctx)
    if not value.axes and isinstance(value.node, plan.Scalar):
        eye = Labelled(ctx.graph.intern(plan.Eye(row.extent)), tuple(sorted_free(targets[0].mask, ctx)))
        return ctx.combine("mul", eye, value)
    value = spread(ctx.graph, value, (*without(value.axes, {column}), column))
    node = ctx.graph.intern(plan.DiagEmbed(ctx.graph.cast(value.node, "real")))
    pair = sorted_free(targets[0].mask, ctx)
    return Labelled(node, (*value.axes[:-1], *pair))


def _scatter(product: Product, targets: list[Target], base: Labelled | None, ctx: Lowering) -> Labelled:
    """The product's entries added up at the places of the targets."""
    if not product.masks and (known := conv.scattered(targets, product.factors, product.bound, ctx)) is not None:
        known = divided(known, product.number, ctx)
        return known if base is None else ctx.combine("add", base, known)
    targets, guards, margins = _in_range(targets, ctx)
    places = frozenset().union(*(ctx.free(t.place) for t in targets))
    moved = [i for i in product.bound if i in places]
    inner = Product(
        [i for i in product.bound if i not in places], product.number, product.factors, [*product.masks, *guards]
    )
    value = contraction.sum_of_product(inner, ctx)
    node = ctx.graph.full((), value.node.value) if isinstance(value.node, plan.Scalar) else value.node
    source = Labelled(ctx.graph.cast(node, "real"), value.axes)
    kept = _places([i for i in places if i not in moved], ctx)
    onto = None if margins else base
    if not kept and (known := _placed(source, targets, moved, ctx)) is not None:
        result, onto = known, None
    elif not kept:
        result = _index_add(source, targets, moved, onto, ctx)
    elif len(targets) == 1:
        result = _scatter_add(source, targets[0], moved, onto, ctx)
    else:
        targets = [*targets, *(Target(i, i, S.One) for i in kept)]
        result = _index_add(source, targets, [*moved, *kept], onto, ctx)
    result = _trimmed(result, margins, ctx)
    return ctx.combine("add", base, result) if base is not None and onto is None else result


Margins = dict[Index, tuple[Index, Expr]]
"""For a target that is too long, the axis that is wanted and how many entries stand in front of it."""


def _in_range(targets: list[Target], ctx: Lowering) -> tuple[list[Target], list[Expr], Margins]:
    """Targets whose places are in range: longer ones where a place may leave it, else with conditions as guards."""
    safe: list[Target] = []
    guards: list[Expr] = []
    margins: Margins = {}
    for target in targets:
        index, place = target.index, target.place
        form = affine(place)
        if in_range(place, index.extent, ctx.ranges):
            safe.append(target)
        elif form is not None and form.least is not None and form.greatest is not None:
            before = positive_part(-form.least)
            after = positive_part(form.greatest - (index.extent - 1))
            longer = Index(index.name, simplify_size(index.extent + before + after), index.level)
            margins[longer] = index, before
            safe.append(Target(longer, place + before, target.mask))
        else:
            last = index.extent - 1
            guards += [Le(S.Zero, place), Le(place, last)]
            safe.append(Target(index, Clamp(place, S.Zero, last), target.mask))
    return safe, guards, margins


def _trimmed(value: Labelled, margins: Margins, ctx: Lowering) -> Labelled:
    if not margins:
        return value
    items = [plan.Span(margins[i][1], margins[i][0].extent) if i in margins else None for i in value.plain]
    return Labelled(ctx.graph.slice(value.node, items), tuple(margins[i][0] if i in margins else i for i in value.axes))


def _placed(source: Labelled, targets: list[Target], moved: list[Index], ctx: Lowering) -> Labelled | None:
    """Places that no two entries share, ``s * h + c`` or digits ``D * a + b``, are a slice of the result."""
    source = spread(ctx.graph, source, batch_first(dict.fromkeys((*source.axes, *moved))))
    spans: dict[Index, tuple[Index, plan.Span]] = {}
    for target in targets:
        form = affine(target.place)
        if form is None or any(i.is_batch or i in spans for i in form.indices):
            return None
        if len(form.terms) > 1:
            digits = radix(form)
            if digits is None:
                return None
            source, joined = _merged(source, digits, ctx)
            form = Affine(((joined, S.One),), form.constant)
        ((h, step),) = form.terms
        start = form.constant
        if step.is_negative:
            start, step = start + step * (h.extent - 1), -step
            source = Labelled(ctx.graph.intern(plan.Flip(source.node, (source.position(h),))), source.axes)
        if not step.is_positive:
            return None
        spans[h] = target.index, plan.Span(simplify_size(start), h.extent, step)
    axes = tuple(spans[i][0] if i in spans else i for i in source.axes)
    items = tuple(spans[i][1] if i in spans else None for i in source.plain)
    if same_shape(shape_of(axes), source.node.shape):
        return Labelled(source.node, axes)
    return Labelled(ctx.graph.intern(plan.Place(source.node, shape_of(axes), items)), axes)


def _merged(source: Labelled, digits: list[Index], ctx: Lowering) -> tuple[Labelled, Index]:
    """The axes ``digits`` as one axis, the last one running fastest."""
    joined = Index("~", simplify_size(Mul(*(i.extent for i in digits)))).fresh()
    at = source.axes.index(digits[0]) - sum(i in digits[1:] for i in source.axes[: source.axes.index(digits[0])])
    rest = without(source.axes, digits)
    line = (*rest[:at], *digits, *rest[at:])
    node = arrange(ctx.graph, source, line).node
    axes = (*rest[:at], joined, *rest[at:])
    return Labelled(ctx.graph.reshape(node, shape_of(axes)), axes), joined


def _places(axes: Sequence[Index], ctx: Lowering) -> list[Index]:
    hint = {(index.name, index.level): n for n, index in enumerate(ctx.hint)}
    return list(batch_first(sorted(axes, key=lambda i: (hint.get((i.name, i.level), len(hint)), i.name, i.level))))


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
    source: Labelled, target: Target, moved: list[Index], base: Labelled | None, ctx: Lowering
) -> Labelled:
    """Entries are added at places along one axis that vary along the others."""
    others = without(source.axes, moved)
    kept = ctx.free(target.place) - {*moved}
    axes = _places([*dict.fromkeys((*others, *kept, target.index))], ctx)
    if base is not None and set(base.axes) == set(axes):
        axes = list(base.axes)
    at = axes.index(target.index)
    slot = list(batch_first(moved))
    line = (*axes[:at], *slot, *axes[at + 1 :])
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
