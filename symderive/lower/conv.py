"""Convolutions and their adjoints, recognised among the factors of a sum of products.

``sum over c, r of x[n, c, s h + d r - p] w[o, c, r]`` is a convolution: h is free, r is summed. With h summed and r
free it is the adjoint in the weight, and with a delta ``Eq(i, s h + d r - p)`` in place of x the adjoint in x.
"""

from __future__ import annotations

from collections.abc import Sequence

from sympy import Expr, Mul, S, floor

from symderive.algebra.nodes import Access, Index, Mod, Pad
from symderive.lower import access, plan
from symderive.lower.arithmetic import multiply
from symderive.lower.axes import Axes, Labelled, batch_first, shape_of, spread
from symderive.lower.context import Lowering
from symderive.lower.delta import Target
from symderive.lower.integers import affine, radix, same, simplify_size
from symderive.lower.plan import BATCH_SIZE, ROWS, Window
from symderive.record import record

_MOST = 3
"""Convolutions have up to this many spatial axes."""


@record
class Slide:
    """One spatial axis of ``extent``, read at ``stride * free + dilation * summed + start``."""

    free: Index
    stride: Expr
    summed: Index
    dilation: Expr
    start: Expr
    extent: Expr


def recognised(factors: list[Expr], masks: list[Expr], bound: list[Index], ctx: Lowering) -> Labelled | None:
    """The sum of ``factors`` over ``bound`` as a convolution, or None where it is none."""
    if masks or len(factors) < 2:
        return None
    for n, whole in enumerate(factors):
        factor = _by_digits(_unrolled(whole, ctx), ctx)
        slides = _slides(factor, bound, ctx)
        if slides and not _are_digits(factor, factors, bound, ctx):
            others = [f for m, f in enumerate(factors) if m != n]
            mirrored = [s.free for s in slides if s.stride.is_negative]
            if not mirrored:
                return _from_slides(factor, others, slides, bound, ctx)
            factor = factor.xreplace({i: i.extent - 1 - i for i in mirrored})
            found = _from_slides(factor, others, _slides(factor, bound, ctx) or [], bound, ctx)
            return found and _mirrored(found, mirrored, ctx)
    return None


def _mirrored(value: Labelled, along: list[Index], ctx: Lowering) -> Labelled:
    """An array with some of its axes read backwards."""
    axes = tuple(sorted(value.position(i) for i in along))
    return Labelled(ctx.graph.intern(plan.Flip(value.node, axes)), value.axes)


def _unrolled(e: Expr, ctx: Lowering) -> Expr:
    """A tensor read round and round, at ``(s h + d r + c) % N``, as one that is long enough to be read straight on."""
    if not isinstance(e, Access) or not any(isinstance(p, Mod) for p in e.indices):
        return e
    ref = ctx.tensors[e.tensor]
    labels = [Index("~", extent).fresh() for extent in ref.shape]
    long, places, straight = list(labels), dict(zip(labels, labels, strict=True)), list(e.indices)
    for n, (place, extent) in enumerate(zip(e.indices, ref.shape, strict=True)):
        form = affine(place.args[0]) if isinstance(place, Mod) and same(place.args[1], extent) else None
        if form is None or len(form.terms) != 2 or form.least is None or form.greatest is None:
            continue
        if same(form.terms[0][0].extent, form.terms[1][0].extent):
            continue  # a matrix whose rows are rotated: a product with it is what it says
        long[n] = Index("~", simplify_size(form.greatest - form.least + 1)).fresh()
        places[labels[n]] = Mod(long[n] + form.least, extent)
        straight[n] = place.args[0] - form.least
    if straight == list(e.indices):
        return e
    view = access.read(Labelled(ref, tuple(labels)), {k: v for k, v in places.items() if k is not v}, ctx)
    order = Labelled(view.node, view.axes)
    name = f"{e.tensor} at {tuple(places.values())}"
    ctx.tensors.setdefault(name, spread(ctx.graph, order, tuple(long)).node)
    return Access(name, *straight)


def _by_digits(e: Expr, ctx: Lowering) -> Expr:
    """A tensor whose axis is read at ``C*q + c``, digits that fill it, read at q and c of a view with an axis for each.

    So groups of channels are seen for what they are.
    """
    inner = e.args[0] if isinstance(e, Pad) and e.args[1] is S.Zero else e
    if not isinstance(inner, Access):
        return e
    places: list[Expr] = []
    shape: list[Expr] = []
    for place, extent in zip(inner.indices, ctx.tensors[inner.tensor].shape, strict=True):
        form = affine(place)
        digits = radix(form) if form is not None and len(form.terms) > 1 and form.constant is S.Zero else None
        if digits is not None and same(Mul(*(i.extent for i in digits)), extent):
            places += digits
            shape += [i.extent for i in digits]
        else:
            places.append(place)
            shape.append(extent)
    if len(places) == len(inner.indices) or all(isinstance(p, Index) for p in places):
        return e
    name = f"{inner.tensor} as {tuple(shape)}"
    ctx.tensors.setdefault(name, ctx.graph.reshape(ctx.tensors[inner.tensor], tuple(shape)))
    view = Access(name, *places)
    return Pad(view) if isinstance(e, Pad) else view


def _slides(e: Expr, bound: Sequence[Index], ctx: Lowering) -> list[Slide] | None:
    """The spatial axes of a tensor read at windows, every other axis plainly; None where it is something else."""
    inner = e.args[0] if isinstance(e, Pad) and e.args[1] is S.Zero else e
    if not isinstance(inner, Access):
        return None
    slides: list[Slide] = []
    plain: list[Expr] = []
    for place, extent in zip(inner.indices, ctx.tensors[inner.tensor].shape, strict=True):
        form = affine(place)
        if isinstance(place, Index):
            plain.append(place)
            continue
        if form is None or len(form.terms) != 2:
            return None
        inside = [t for t in form.terms if t[0] in bound]
        outside = [t for t in form.terms if t[0] not in bound]
        if len(inside) != 1 or not outside[0][1].is_nonzero or not inside[0][1].is_nonzero:
            return None
        slides.append(Slide(*outside[0], *inside[0], form.constant, extent))
    moving = [i for s in slides for i in (s.free, s.summed)]
    if len({*moving, *plain}) != len(moving) + len(plain) or len(slides) > _MOST:
        return None
    return slides


def _are_digits(factor: Expr, factors: Sequence[Expr], bound: Sequence[Index], ctx: Lowering) -> bool:
    """Whether windows lie side by side and fill the axes, and nothing else is summed: a reshape says that plainly."""
    inner = factor.args[0] if isinstance(factor, Pad) else factor
    assert isinstance(inner, Access)
    for place, extent in zip(inner.indices, ctx.tensors[inner.tensor].shape, strict=True):
        form = affine(place)
        if form is None or len(form.terms) != 2:
            continue
        if (
            form.constant is not S.Zero
            or radix(form) is None
            or not same(Mul(*(i.extent for i in form.indices)), extent)
        ):
            return False
    inside = {i for p in inner.indices for i in p.atoms(Index)}
    return not any(ctx.free(f) - inside for f in factors) and all(not isinstance(p, Index) for p in inner.indices)


@record
class _Roles:
    """The axes beside the spatial ones, by the operands that have them; shared ones are kept or summed."""

    first: Axes
    groups: Axes
    summed: Axes
    second: Axes


def _roles(a: frozenset[Index], b: frozenset[Index], bound: Sequence[Index]) -> _Roles | None:
    both, key = a & b, lambda i: (i.name, i.level)
    if any(i in bound for i in a ^ b):
        return None
    ordered = {i: sorted(part, key=key) for i, part in enumerate((a - b, both - {*bound}, both & {*bound}, b - a))}
    return _Roles(*(batch_first(ordered[n]) for n in range(4)))


def _from_slides(
    factor: Expr, others: list[Expr], slides: list[Slide], bound: list[Index], ctx: Lowering
) -> Labelled | None:
    rest = frozenset().union(*(ctx.free(o) for o in others))
    free, summed = {s.free for s in slides}, {s.summed for s in slides}
    roles = _roles(ctx.free(factor) - free - summed, rest - summed, bound)
    if not summed <= rest or free & rest or roles is None:
        return None
    if len(bound) != len(summed) + len(roles.summed) or _has_batch(roles.first, roles.groups, roles.second):
        return None
    other = multiply(others, ctx)
    backwards = [s for s in slides if s.dilation.is_negative]
    if backwards:
        whole = len(backwards) == len(slides) and isinstance(factor, Pad) and all(s.stride is S.One for s in slides)
        if whole and not _is_forward(other, roles):
            return _full(factor, other, slides, roles, ctx)
        node = ctx.graph.intern(plan.Flip(other.node, tuple(sorted(other.position(s.summed) for s in backwards))))
        other = Labelled(node, other.axes)
        slides = [_reversed(s) if s in backwards else s for s in slides]
        factor = _reread(factor, slides, ctx)
    if any(not s.dilation.is_positive for s in slides):
        return None
    if _runs_inside(slides, ctx):
        return _weight(factor, other, slides, roles, ctx)
    return _convolution(factor, other, slides, roles, ctx)


def _is_forward(weight: Labelled, roles: _Roles) -> bool:
    """Whether a weight has the layout of a convolution: the channels that are summed behind those that are made."""
    if not roles.second or not roles.summed:
        return False
    return max(map(weight.position, roles.second)) < min(map(weight.position, roles.summed))


def _has_batch(*parts: Axes) -> bool:
    return any(i.is_batch for part in parts for i in part)


def _runs_inside(slides: list[Slide], ctx: Lowering) -> bool:
    """Whether the free indices run inside windows and summed ones count those: there are more of what counts.

    Windows that lie side by side are counted by the index of the greater step, however few they are.
    """
    if all(same(s.stride, s.dilation * s.summed.extent) for s in slides):
        return False
    if all(same(s.dilation, s.stride * s.free.extent) for s in slides):
        return True
    return _count(slides, ctx, summed=True) > _count(slides, ctx, summed=False)


def _count(slides: list[Slide], ctx: Lowering, summed: bool) -> float:
    return ctx.bulk(s.summed if summed else s.free for s in slides)


def _reversed(s: Slide) -> Slide:
    return Slide(s.free, s.stride, s.summed, -s.dilation, s.start + s.dilation * (s.summed.extent - 1), s.extent)


def _reread(factor: Expr, slides: list[Slide], ctx: Lowering) -> Expr:
    """The tensor read at the slides' own expressions."""
    inner = factor.args[0] if isinstance(factor, Pad) else factor
    assert isinstance(inner, Access)
    at = iter(slides)
    places = []
    for place in inner.indices:
        if isinstance(place, Index):
            places.append(place)
        else:
            s = next(at)
            places.append(s.stride * s.free + s.dilation * s.summed + s.start)
    changed = Access(inner.args[0], *places)
    return Pad(changed, S.Zero) if isinstance(factor, Pad) else changed


# --- operands in the layout of a convolution


def _operand(value: Labelled, parts: Sequence[Axes], ctx: Lowering) -> plan.Node:
    """``value`` with one axis for each part, which are several axes joined, or an axis of extent 1."""
    line = [i for part in parts for i in part]
    whole = spread(ctx.graph, value, batch_first(line))
    if any(i.is_batch for i in line):
        return _batch_inside(whole, parts, ctx)
    node = ctx.graph.reshape(whole.node, tuple(_joined(p) for p in parts))
    return ctx.graph.cast(node, "real")


def _batch_inside(whole: Labelled, parts: Sequence[Axes], ctx: Lowering) -> plan.Node:
    rows = Index("~", ROWS).fresh()
    flat = Labelled(ctx.graph.reshape(whole.node, (ROWS, *whole.node.shape[1:])), (rows, *whole.axes[1:]))
    return _operand(flat, [tuple(rows if i.is_batch else i for i in part) for part in parts], ctx)


def _joined(part: Axes) -> Expr:
    return part[0].extent if len(part) == 1 else Mul(*(BATCH_SIZE if i.extent == ROWS else i.extent for i in part))


def _result(node: plan.Node, parts: Sequence[Axes], ctx: Lowering) -> Labelled:
    axes = tuple(i for part in parts for i in part)
    return Labelled(ctx.graph.reshape(node, shape_of(axes)), axes)


def _source(factor: Expr, slides: list[Slide], ctx: Lowering) -> tuple[Labelled, Axes, Window]:
    """The tensor that windows are taken of, its spatial axes, and the geometry.

    The padding is the convolution's own where it is the same on both sides, else the tensor is cut or padded first.
    """
    inner = factor.args[0] if isinstance(factor, Pad) else factor
    assert isinstance(inner, Access)
    exact = all(_symmetric(s, isinstance(factor, Pad)) for s in slides)
    at = iter(slides)
    space: list[Index] = []
    places: list[Expr] = []
    for place in inner.indices:
        if isinstance(place, Index):
            places.append(place)
            continue
        s = next(at)
        reach = simplify_size(s.stride * (s.free.extent - 1) + s.dilation * (s.summed.extent - 1) + 1)
        space.append(Index("~", s.extent if exact else reach).fresh())
        places.append(space[-1] if exact else space[-1] + s.start)
    tensor = Access(inner.args[0], *places)
    value = ctx.lower(tensor if exact or not isinstance(factor, Pad) else Pad(tensor, S.Zero))
    padding = tuple(-s.start if exact else S.Zero for s in slides)
    window = Window(tuple(s.stride for s in slides), padding, tuple(s.dilation for s in slides))
    return value, tuple(space), window


def _symmetric(s: Slide, padded: bool) -> bool:
    """Whether a convolution with padding ``-start`` makes just the windows that are read."""
    padding = -s.start
    if not padding.is_nonnegative or (padding is not S.Zero and not padded):
        return False
    most = floor((s.extent + 2 * padding - s.dilation * (s.summed.extent - 1) - 1) / s.stride) + 1
    return same(most, s.free.extent)


def _grouped(window: Window, groups: Axes) -> Window:
    return Window(window.stride, window.padding, window.dilation, Mul(*(i.extent for i in groups)))


def _convolution(factor: Expr, weight: Labelled, slides: list[Slide], roles: _Roles, ctx: Lowering) -> Labelled:
    value, space, window = _source(factor, slides, ctx)
    kernel = [(s.summed,) for s in slides]
    conv = plan.Conv(
        _operand(value, [roles.first, (*roles.groups, *roles.summed), *((i,) for i in space)], ctx),
        _operand(weight, [(*roles.groups, *roles.second), roles.summed, *kernel], ctx),
        _grouped(window, roles.groups),
    )
    out = [roles.first, (*roles.groups, *roles.second), *((s.free,) for s in slides)]
    return _result(ctx.graph.intern(conv), out, ctx)


def _weight(factor: Expr, source: Labelled, slides: list[Slide], roles: _Roles, ctx: Lowering) -> Labelled | None:
    """The adjoint in the weight: the summed index of a slide counts windows, the free one runs inside them."""
    turned = [Slide(s.summed, s.dilation, s.free, s.stride, s.start, s.extent) for s in slides]
    value, space, window = _source(factor, turned, ctx)
    kernel = tuple(s.free.extent for s in slides)
    groups = roles.groups
    conv = plan.ConvWeight(
        _operand(value, [roles.summed, (*groups, *roles.first), *((i,) for i in space)], ctx),
        _operand(source, [roles.summed, (*groups, *roles.second), *((s.summed,) for s in slides)], ctx),
        _grouped(window, groups),
        kernel,
    )
    out = [(*groups, *roles.second), roles.first, *((s.free,) for s in slides)]
    return _result(ctx.graph.intern(conv), out, ctx)


# --- the adjoint in the operand


def _full(factor: Expr, weight: Labelled, slides: list[Slide], roles: _Roles, ctx: Lowering) -> Labelled | None:
    """``sum over r of pad(y[i - d r + p]) w[r]`` adds each y[h], times w[r], at ``i = h + d r - p``."""
    inner = factor.args[0]
    assert isinstance(inner, Access)
    space = [Index("~", s.extent).fresh() for s in slides]
    at = iter(space)
    value = ctx.lower(Access(inner.args[0], *(p if isinstance(p, Index) else next(at) for p in inner.indices)))
    turned = [
        Slide(h, S.One, s.summed, -s.dilation, -s.start, s.free.extent) for s, h in zip(slides, space, strict=True)
    ]
    return _transposed((value, weight), turned, [s.free for s in slides], roles, ctx)


def scattered(targets: list[Target], factors: list[Expr], bound: list[Index], ctx: Lowering) -> Labelled | None:
    """The sum of ``factors`` times deltas ``Eq(i, s h + d r - p)`` as a transposed convolution, or None."""
    slides: list[Slide] = []
    for target in (targets := sorted(targets, key=lambda t: [*ctx.hint, t.index].index(t.index))):
        form = affine(target.place)
        if form is None or len(form.terms) != 2 or not all(i in bound and c.is_nonzero for i, c in form.terms):
            return None
        (window, stride), (inside, dilation) = sorted(form.terms, key=lambda t: bool(t[1].is_negative))
        if not stride.is_positive or not (dilation.is_positive or dilation.is_negative):
            return None
        slides.append(Slide(window, stride, inside, dilation, form.constant, target.index.extent))
    pair = _two_operands(slides, factors, ctx)
    if pair is None or len(slides) > _MOST:
        return None
    slides, source, weight = pair
    windows, kernel = {s.free for s in slides}, {s.summed for s in slides}
    has_source = frozenset().union(*(ctx.free(f) for f in source)) - windows
    has_weight = frozenset().union(*(ctx.free(f) for f in weight)) - kernel
    roles = _roles(has_source, has_weight, [*bound])
    if roles is None or _has_batch(roles.first, roles.groups, roles.second):
        return None
    if len(bound) != 2 * len(slides) + len(roles.summed):
        return None
    goals = [t.index for t in targets]
    kernel_value = multiply(weight, ctx)
    backwards = [s for s in slides if s.dilation.is_negative]
    if backwards:
        axes = tuple(sorted(kernel_value.position(s.summed) for s in backwards))
        kernel_value = Labelled(ctx.graph.intern(plan.Flip(kernel_value.node, axes)), kernel_value.axes)
        slides = [_reversed(s) if s in backwards else s for s in slides]
    return _transposed((multiply(source, ctx), kernel_value), slides, goals, roles, ctx)


def _two_operands(
    slides: list[Slide], factors: list[Expr], ctx: Lowering
) -> tuple[list[Slide], list[Expr], list[Expr]] | None:
    """Which index of each slide counts windows, and the factors with those and with the ones inside a window."""
    chosen = []
    for s in slides:
        swap = ctx.extent(s.free) < ctx.extent(s.summed) and s.dilation.is_positive
        chosen.append(Slide(s.summed, s.dilation, s.free, s.stride, s.start, s.extent) if swap else s)
    windows, kernel = {s.free for s in chosen}, {s.summed for s in chosen}
    weight = [f for f in factors if ctx.free(f) & kernel]
    source = [f for f in factors if not ctx.free(f) & kernel]
    has_weight = frozenset().union(*(ctx.free(f) for f in weight))
    has_source = frozenset().union(*(ctx.free(f) for f in source))
    if has_weight & windows or not windows <= has_source or not kernel <= has_weight:
        return None
    return chosen, source, weight


def _transposed(
    operands: tuple[Labelled, Labelled], slides: list[Slide], goals: list[Index], roles: _Roles, ctx: Lowering
) -> Labelled:
    """Each entry of a source spread over its window by a weight, read along ``goals``."""
    source, weight = operands
    exact = all(_symmetric(s, True) for s in slides)
    window = Window(
        tuple(s.stride for s in slides),
        tuple(-s.start if exact else S.Zero for s in slides),
        tuple(s.dilation for s in slides),
        Mul(*(i.extent for i in roles.groups)),
    )
    space = [
        s.extent if exact else simplify_size(s.stride * (s.free.extent - 1) + s.dilation * (s.summed.extent - 1) + 1)
        for s in slides
    ]
    conv = plan.ConvTranspose(
        _operand(source, [roles.first, (*roles.groups, *roles.summed), *((s.free,) for s in slides)], ctx),
        _operand(weight, [(*roles.groups, *roles.summed), roles.second, *((s.summed,) for s in slides)], ctx),
        window,
        tuple(space),
    )
    raw = [Index("~", extent).fresh() for extent in space]
    out = [roles.first, (*roles.groups, *roles.second), *((i,) for i in raw)]
    result = _result(ctx.graph.intern(conv), out, ctx)
    places = {r: g if exact else g - s.start for r, g, s in zip(raw, goals, slides, strict=True)}
    return access.read(result, places, ctx, S.Zero)  # type: ignore[arg-type]
