"""Reading tensors at integer expressions: slices, flips, rolls, windows, reshapes; index arrays for all the rest.

``read`` substitutes integer expressions for axes of an array. Each axis is brought into the simplest of these forms,
in this order; whatever is left is read by index arrays (``gather.py``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sympy import Add, Expr, Mul, S, floor

from symderive.algebra import nodes
from symderive.algebra.nodes import Access, Clamp, FloorDiv, Index, Le, Mod, Pad, Where
from symderive.errors import UnsupportedError
from symderive.lower import gather, plan
from symderive.lower.axes import Labelled, shape_of
from symderive.lower.context import Lowering, lower_node
from symderive.lower.integers import Affine, affine, at_least, in_range, positive_part, radix, same, simplify_size


@lower_node.register
def lower_access(e: Access, ctx: Lowering) -> Labelled:
    """``x[i, k]``."""
    value, places = _tensor(e, ctx)
    return read(value, places, ctx)


@lower_node.register
def lower_pad(e: Pad, ctx: Lowering) -> Labelled:
    """``pad(x[f], v)``: entries of v around x where the range is known from f, else a mask."""
    access, fill = e.args
    assert isinstance(access, Access)
    shape = ctx.tensors[access.tensor].shape
    guards: list[Expr] = []
    positions: list[Expr] = []
    for place, extent in zip(access.indices, shape, strict=True):
        form = affine(place)
        if form is None and (quotient := _quotient(place)) is not None:
            form = affine(quotient[0])
        bounded = form is not None and form.least is not None and ctx.is_scalar(fill)
        if (isinstance(place, Index) and place.is_batch) or bounded or in_range(place, extent, ctx.ranges):
            positions.append(place)
            continue
        guards += [Le(S.Zero, place), Le(place, extent - 1)]
        positions.append(Clamp(place, S.Zero, extent - 1))
    inner = Access(access.args[0], *positions)
    if guards:
        return ctx.lower(Where(nodes.And(*guards), Pad(inner, fill), fill))
    value, places = _tensor(inner, ctx)
    return read(value, places, ctx, fill)


def _tensor(e: Access, ctx: Lowering) -> tuple[Labelled, dict[Index, Expr]]:
    """The tensor with an axis label of its own for each position, and what stands there."""
    ref = ctx.tensors[e.tensor]
    axes: list[Index] = []
    places: dict[Index, Expr] = {}
    for extent, place in zip(ref.shape, e.indices, strict=True):
        if extent == plan.BATCH_SIZE:
            if not isinstance(place, Index) or not place.is_batch:
                raise UnsupportedError(f"batch axes of {e.tensor!r} are read at {place}, not as a whole")
            axes.append(place)
        else:
            axes.append(Index("~", extent).fresh())
            places[axes[-1]] = place
    return Labelled(ref, tuple(axes)), places


@dataclass
class _Reading:
    """An array under way: its axes, and for each axis that still has to be substituted, the expression."""

    node: plan.Node
    axes: list[Index]
    todo: dict[Index, Expr]
    ctx: Lowering
    fill: Expr | None = None
    flipped: list[Index] = field(default_factory=list)
    names: dict[Index, Index] = field(default_factory=dict)

    def axis(self, label: Index) -> int:
        """The number of an axis, from the end."""
        return self.axes.index(label) - len(self.axes)

    @property
    def plain(self) -> list[Index]:
        """The axes behind the batch."""
        return [i for i in self.axes if not i.is_batch]

    def named(self, index: Index) -> Index:
        """A label of its own for an axis that ``index`` runs over, so that an index can stand twice."""
        label = index.fresh()
        self.names[label] = index
        return label


def read(value: Labelled, places: dict[Index, Expr], ctx: Lowering, fill: Expr | None = None) -> Labelled:
    """``value`` with integer expressions substituted for some of its axes; out of range it is ``fill``."""
    if _all_plain(places):
        return Labelled(value.node, tuple(places.get(i, i) for i in value.axes))  # type: ignore[misc]
    reading = _Reading(value.node, list(value.axes), dict(places), ctx, fill)
    _merge_quotients(reading)
    _roll(reading)
    _stretch(reading)
    _tile(reading)
    forms = _forms(reading)
    _pad(reading, forms)
    _slice(reading, forms)
    for label, form in forms.items():
        if len(form.terms) > 1:
            _split(reading, label, form)
    _flip(reading)
    return gather.gathered(reading.node, reading.axes, reading.names, reading.todo, ctx)


def _all_plain(places: dict[Index, Expr]) -> bool:
    found = list(places.values())
    return len(set(found)) == len(found) and all(
        isinstance(p, Index) and same(p.extent, label.extent) for label, p in places.items()
    )


# --- x[e // D, e % D]


def _merge_quotients(r: _Reading) -> None:
    """``x[e // D, e % D]`` reads the two axes, laid out in a row, at e."""
    for high, quotient in list(r.todo.items()):
        if not isinstance(quotient, FloorDiv):
            continue
        inner, width = quotient.args
        for low, rest in list(r.todo.items()):
            if isinstance(rest, Mod) and rest.args == (inner, width) and same(low.extent, width):
                joined = Index("~", simplify_size(high.extent * low.extent)).fresh()
                order = [i for i in r.axes if i not in (high, low)]
                at = min(r.axes.index(high), r.axes.index(low))
                line = [*order[:at], high, low, *order[at:]]
                _permute(r, line)
                r.axes = [*order[:at], joined, *order[at:]]
                r.node = r.ctx.graph.reshape(r.node, shape_of(r.axes))
                del r.todo[high], r.todo[low]
                r.todo[joined] = inner
                break


def _permute(r: _Reading, line: list[Index]) -> None:
    r.node = r.ctx.graph.permute(r.node, [r.axis(i) for i in line if not i.is_batch])
    r.axes = line


# --- x[(i + c) % N]


def _roll(r: _Reading) -> None:
    """``x[(i + c) % N]`` with N the extent of x is x rolled by -c; ``x[(c - i) % N]`` is flipped first."""
    for label, place in list(r.todo.items()):
        if not isinstance(place, Mod) or not same(place.args[1], label.extent):
            continue
        form = affine(place.args[0])
        if form is not None and len(form.terms) > 1 and _fills(form, label):
            if form.constant is not S.Zero:
                r.node = r.ctx.graph.intern(plan.Roll(r.node, -form.constant, r.axis(label)))
            r.todo[label] = place.args[0] - form.constant
            continue
        if form is None or len(form.terms) != 1:
            continue
        ((index, step),) = form.terms
        if step not in (S.One, S.NegativeOne) or not at_least(label.extent, index.extent):
            continue
        shift = -form.constant if step is S.One else form.constant + 1
        if step is S.NegativeOne:
            r.node = r.ctx.graph.intern(plan.Flip(r.node, (r.axis(label),)))
        if shift is not S.Zero:
            r.node = r.ctx.graph.intern(plan.Roll(r.node, shift, r.axis(label)))
        r.todo[label] = index


def _fills(form: Affine, label: Index) -> bool:
    """Whether its indices are the digits of the numbers of an axis."""
    return radix(form) is not None and same(prod_of(i.extent for i in form.indices), label.extent)


# --- affine positions


def _forms(r: _Reading) -> dict[Index, Affine]:
    """The affine positions, with every coefficient made positive by reading that axis backwards."""
    forms: dict[Index, Affine] = {}
    for label, place in list(r.todo.items()):
        form = affine(place)
        if form is None or form.least is None or not (len(form.terms) < 2 or _splits(form, label, r)):
            continue
        terms, constant = [], form.constant
        for index, step in form.terms:
            name = r.named(index)
            if step.is_negative:
                r.flipped.append(name)
                constant += step * (index.extent - 1)
                step = -step  # noqa: PLW2901
            terms.append((name, step))
        forms[label] = Affine(tuple(terms), simplify_size(constant))
        del r.todo[label]
    return forms


def _splits(form: Affine, label: Index, r: _Reading) -> bool:
    return len(form.terms) == 2 or radix(form) is not None


def _pad(r: _Reading, forms: dict[Index, Affine]) -> None:
    """Entries of the fill on both sides, as many as the positions reach out of range.

    Also where nothing is said of a fill, unless the positions are known to stay in range: a gradient may read outside
    under a condition that fails there.
    """
    wide: dict[Index, Affine] = dict(forms)
    for label, place in r.todo.items():
        form = affine(place)
        if form is not None and form.least is not None:
            wide[label] = form
    widths: dict[Index, tuple[Expr, Expr]] = {}
    for label, form in wide.items():
        assert form.least is not None
        assert form.greatest is not None
        before = positive_part(-form.least)
        reach = form.greatest - (label.extent - 1)
        after = positive_part(reach)
        if not after.is_Atom and at_least(before, reach):
            after = before
        if before is S.Zero and after is S.Zero:
            continue
        widths[label] = before, after
        shifted = Affine(form.terms, simplify_size(form.constant + before))
        if label in forms:
            forms[label] = shifted
        else:
            r.todo[label] = r.todo[label] + before
    if widths:
        zero = (S.Zero, S.Zero)
        r.node = r.ctx.graph.intern(plan.Pad(r.node, tuple(widths.get(i, zero) for i in r.plain), r.fill or S.Zero))
        for label, (before, after) in widths.items():
            grown = Index("~", label.extent + before + after).fresh()
            _rename(r, label, grown)
            if label in forms:
                forms[grown] = forms.pop(label)
            else:
                r.todo[grown] = r.todo.pop(label)


def _rename(r: _Reading, old: Index, new: Index) -> None:
    r.axes[r.axes.index(old)] = new


def _slice(r: _Reading, forms: dict[Index, Affine]) -> None:
    """Constant positions and ``s * i + c`` are one slice; of longer forms, the stretch that they read."""
    items: dict[Index, plan.Item] = {}
    for label, form in forms.items():
        if not form.terms:
            items[label] = plan.At(form.constant)
            continue
        if len(form.terms) == 1:
            step, length = form.terms[0][1], form.terms[0][0].extent
        elif form.constant is S.Zero and _fits(r, label, form):
            continue
        else:
            reach = sum((c * (i.extent - 1) for i, c in form.terms), S.One)
            step, length = S.One, simplify_size(reach)
        whole = form.constant is S.Zero and step is S.One and same(length, label.extent)
        if not whole:
            items[label] = plan.Span(form.constant, length, step)
    r.node = r.ctx.graph.slice(r.node, [items.get(i) for i in r.plain])
    for label, form in list(forms.items()):
        item = items.get(label)
        if not form.terms:
            r.axes.remove(label)
        elif len(form.terms) == 1:
            _rename(r, label, form.terms[0][0])
        elif isinstance(item, plan.Span):
            cut = Index("~", item.length).fresh()
            _rename(r, label, cut)
            forms[cut] = forms.pop(label)


def _window(r: _Reading, form: Affine) -> tuple[Index, Expr, Index, Expr, Expr]:
    """The index that counts windows and its step, the one inside a window, its step, and the size of a window."""
    (outer, step), (inner, dilation) = sorted(form.terms, key=lambda t: -r.ctx.extent(t[0]))
    return outer, step, inner, dilation, simplify_size(dilation * (inner.extent - 1) + 1)


def _fits(r: _Reading, label: Index, form: Affine) -> bool:
    """Whether the axis as it is holds just the windows, or the digits, that are read."""
    if radix(form) is not None:
        return same(prod_of(i.extent for i, _ in form.terms), label.extent)
    outer, step, _, _, size = _window(r, form)
    return same(floor((label.extent - size) / step) + 1, outer.extent)


def prod_of(extents: Iterable[Expr]) -> Expr:
    """The product of extents."""
    return Mul(*extents)


def _split(r: _Reading, label: Index, form: Affine) -> None:
    """An axis read at a sum of several indices: a reshape where they are its digits, else windows."""
    digits = radix(form)
    at = r.axes.index(label)
    if digits is not None:
        r.axes[at : at + 1] = digits
        r.node = r.ctx.graph.reshape(r.node, shape_of(r.axes))
        return
    outer, step, inner, dilation, size = _window(r, form)
    windows = r.ctx.graph.intern(plan.Unfold(r.node, r.axis(label), size, step))
    r.axes[at] = outer
    r.axes.append(inner)
    if dilation is not S.One:
        windows = r.ctx.graph.slice(
            windows, [plan.Span(S.Zero, inner.extent, dilation) if i == inner else None for i in r.plain]
        )
    r.node = windows


# --- x[i // D], x[i % D]


def _quotient(place: Expr) -> tuple[Expr, Expr, Expr] | None:
    """``(f, D, c)`` where the position is ``f // D + c`` with one index in f, of coefficient 1 or -1."""
    quotients = [t for t in Add.make_args(place) if isinstance(t, FloorDiv)]
    if len(quotients) != 1:
        return None
    inner, width = quotients[0].args
    offset = place - quotients[0]
    form = affine(inner)
    if form is None or len(form.terms) != 1 or abs(form.terms[0][1]) != 1 or (offset + width).atoms(Index, Access):
        return None
    return (inner, width, offset) if width.is_positive else None


def _stretch(r: _Reading) -> None:
    """``x[f // D]`` is x with each entry repeated D times, read at f; where f runs over most of that."""
    for label, place in list(r.todo.items()):
        found = _quotient(place)
        if found is None:
            continue
        inner, width, offset = found
        form = affine(inner)
        assert form is not None
        index = form.terms[0][0]
        whole = same(label.extent * width, index.extent)
        if not whole and r.ctx.number(label.extent * width) > 2 * r.ctx.extent(index):
            continue
        longer = _repeated(r, label, width, inside=True)
        del r.todo[label]
        r.todo[longer] = simplify_size(inner + width * offset)


def _tile(r: _Reading) -> None:
    """``x[i % D]`` is the whole axis again and again, where i runs over all of that."""
    for label, place in list(r.todo.items()):
        if not isinstance(place, Mod) or not isinstance(place.args[0], Index):
            continue
        index, width = place.args
        times = index.extent / width
        if not times.is_integer or not same(label.extent * times, index.extent) or not same(label.extent, width):
            continue
        longer = _repeated(r, label, times, inside=False)
        del r.todo[label]
        r.todo[longer] = index


def _repeated(r: _Reading, label: Index, times: Expr, inside: bool) -> Index:
    """An axis with each entry (``inside``), or the whole axis, so many times; gives its new label."""
    extra, longer = Index("~", times).fresh(), Index("~", simplify_size(label.extent * times)).fresh()
    at = r.axes.index(label)
    pair = [label, extra] if inside else [extra, label]
    line = [*r.axes[:at], *pair, *r.axes[at + 1 :]]
    node = r.ctx.graph.expand(r.node, [line.index(extra) - len(line)])
    node = r.ctx.graph.broadcast(node, shape_of(line))
    r.axes[at] = longer
    r.node = r.ctx.graph.reshape(node, shape_of(r.axes))
    return longer


def _flip(r: _Reading) -> None:
    if r.flipped:
        r.node = r.ctx.graph.intern(plan.Flip(r.node, tuple(sorted(r.axis(i) for i in r.flipped))))
