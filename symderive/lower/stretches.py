"""Expressions that are made of pieces, each on a stretch of an axis: computed piece by piece, and put side by side.

``where(i < H, f(i), 0) + pad(y[i - H])`` over an axis of 2 H entries is f on the first half and y on the second;
``delta(i, 0) f + delta(i, 1) g`` is f and g stacked. Nothing is masked, and each piece reads just what it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

from sympy import Add, Expr, Mul, Pow, S

from symderive.algebra.nodes import And, Condition, Eq, Index, Le, Lt, Not, Pad, Sum, Where
from symderive.algebra.rules.branches import certain_condition
from symderive.algebra.terms import transform
from symderive.lower import plan
from symderive.lower.axes import Labelled, arrange, shape_of, spread, without
from symderive.lower.context import Lowering
from symderive.lower.integers import affine, at_least, in_range, same, simplify_size
from symderive.record import record

MOST = 8
"""An expression of more pieces is masked."""


@record
class Stretch:
    """The entries ``low <= i < high`` of an axis."""

    low: Expr
    high: Expr

    @property
    def length(self) -> Expr:
        """How many entries it has."""
        return simplify_size(self.high - self.low)

    def meets(self, other: Stretch) -> bool | None:
        """Whether they share an entry; None where that depends on sizes."""
        if at_least(self.low, other.high) or at_least(other.low, self.high):
            return False
        return True if self.equals(other) else None

    def equals(self, other: Stretch) -> bool:
        """Whether they are the same."""
        return same(self.low, other.low) and same(self.high, other.high)


Stretches = list[Stretch]
"""Where an expression may be other than 0, in pieces."""


class _UnknownError(Exception):
    """The order of two ends depends on the sizes."""


@dataclass
class _Axis:
    """The axis along which an expression is looked at."""

    index: Index
    ctx: Lowering
    whole: Stretch = field(init=False)

    def __post_init__(self) -> None:
        self.whole = Stretch(S.Zero, self.index.extent)

    def has(self, e: Expr) -> bool:
        return self.index in self.ctx.free(e)

    def both(self, a: Stretches, b: Stretches) -> Stretches:
        """What two sets of pieces share."""
        result: Stretches = []
        for p in a:
            for q in b:
                low, high = _larger(p.low, q.low), _smaller(p.high, q.high)
                if at_least(high, low + 1):
                    _add(result, Stretch(low, high))
                elif not at_least(low, high):
                    raise _UnknownError
        return result

    def of(self, e: Expr) -> Stretches:
        """The pieces of an expression; the whole axis where nothing is known."""
        if not self.has(e):
            return [self.whole]
        if isinstance(e, Add):
            return self.all_of(e.args)
        if isinstance(e, Mul):
            return reduce(self.both, (self.of(f) for f in e.args))
        if isinstance(e, Pow) and e.exp.is_positive:
            return self.of(e.base)
        if isinstance(e, Where):
            return self.where(*e.args)
        if isinstance(e, Condition):
            return self.condition(e)
        if isinstance(e, Sum):
            return self.of(e.body)
        if isinstance(e, Pad) and e.args[1] is S.Zero:
            shape = self.ctx.tensors[e.args[0].tensor].shape
            return reduce(self.both, map(self.position, e.args[0].indices, shape), [self.whole])
        return [self.whole]

    def all_of(self, parts: Sequence[Expr]) -> Stretches:
        """The pieces of a sum."""
        found: Stretches = []
        for part in parts:
            for stretch in self.of(part):
                _add(found, stretch)
        return found

    def where(self, condition: Expr, a: Expr, b: Expr) -> Stretches:
        """``where(c, a, b)`` is a where c holds, and b elsewhere."""
        taken = self.condition(condition) if self.has(condition) else [self.whole]
        found = self.both(taken, self.of(a))
        if b is S.Zero:
            return found
        other = self.complement(taken) if self.has(condition) else [self.whole]
        for stretch in self.both(other, self.of(b)):
            _add(found, stretch)
        return found

    def complement(self, taken: Stretches) -> Stretches:
        """What a condition leaves; the whole axis where it is not a single stretch."""
        if len(taken) != 1 or taken[0].equals(self.whole):
            return [self.whole]
        (stretch,) = taken
        ends = Stretch(S.Zero, stretch.low), Stretch(stretch.high, self.whole.high)
        return [s for s in ends if not same(s.low, s.high)]

    def condition(self, e: Expr) -> Stretches:
        """Where a condition on the index alone holds."""
        if isinstance(e, And):
            return reduce(self.both, (self.condition(c) if self.has(c) else [self.whole] for c in e.args))
        if isinstance(e, Not) and isinstance(e.args[0], Lt | Le):
            a, b = e.args[0].args
            return self.condition(Le(b, a) if isinstance(e.args[0], Lt) else Lt(b, a))
        if not isinstance(e, Eq | Lt | Le):
            return [self.whole]
        form = affine(e.args[1] - e.args[0])
        if form is None or form.indices != (self.index,) or abs(form.terms[0][1]) != 1:
            return [self.whole]
        rising, constant = form.terms[0][1] == 1, form.constant
        if isinstance(e, Eq):
            place = -constant if rising else constant
            return self.both([self.whole], [Stretch(place, place + 1)])
        strict = int(isinstance(e, Lt))
        half = Stretch(strict - constant, self.whole.high) if rising else Stretch(S.Zero, constant + 1 - strict)
        return self.both([self.whole], [half])

    def position(self, place: Expr, extent: Expr) -> Stretches:
        """Where a padded access is in range."""
        form = affine(place) if self.has(place) else None
        if form is None or form.indices != (self.index,) or abs(form.terms[0][1]) != 1:
            return [self.whole]
        constant = form.constant
        if form.terms[0][1] == 1:
            return self.both([self.whole], [Stretch(-constant, extent - constant)])
        return self.both([self.whole], [Stretch(constant - extent + 1, constant + 1)])


def _larger(a: Expr, b: Expr) -> Expr:
    if at_least(a, b):
        return simplify_size(a)
    if at_least(b, a):
        return simplify_size(b)
    raise _UnknownError


def _smaller(a: Expr, b: Expr) -> Expr:
    return simplify_size(b) if simplify_size(a) == _larger(a, b) else simplify_size(a)


def _add(found: Stretches, stretch: Stretch) -> None:
    if not any(stretch.equals(s) for s in found):
        found.append(stretch)


# --- whole equations


def lowered(e: Expr, axes: Sequence[Index], ctx: Lowering) -> Labelled | None:
    """The array of an expression that is made of pieces along one of its axes, or None where it is not."""
    if not e.atoms(Pad, Condition):
        return None
    for index in axes:
        if not index.is_batch and index in ctx.free(e) and (found := _along(e, index, axes, ctx)) is not None:
            return found
    return None


def _along(e: Expr, index: Index, axes: Sequence[Index], ctx: Lowering) -> Labelled | None:
    axis = _Axis(index, ctx)
    pieces: Stretches = []
    dense: list[Expr] = []
    parts: list[tuple[Expr, Stretches]] = []
    try:
        for term in Add.make_args(e):
            found = axis.of(term)
            if any(s.equals(axis.whole) for s in found):
                dense.append(term)
                continue
            parts.append((term, found))
            for stretch in found:
                _add(pieces, stretch)
    except _UnknownError:
        return None
    if not _worth_it(pieces, [t for t, _ in parts], axis):
        return None
    pieces = _in_order(pieces)
    terms = [Add(*(t for t, own in parts if any(s.equals(piece) for s in own))) for piece in pieces]
    value = _side_by_side(pieces, terms, axis, axes)
    return value if not dense else ctx.combine("add", ctx.lower(Add(*dense)), value)


def _worth_it(pieces: Stretches, terms: Sequence[Expr], axis: _Axis) -> bool:
    """Whether the pieces lie side by side, and are more than one padded tensor."""
    if not pieces or len(pieces) > MOST:
        return False
    if any(p is not q and p.meets(q) is not False for p in pieces for q in pieces):
        return False
    return len(pieces) > 1 or any(axis.has(c) for t in terms for c in t.atoms(Condition))


def _in_order(pieces: Stretches) -> Stretches:
    return sorted(pieces, key=lambda p: sum(at_least(p.low, q.high) for q in pieces))


def _side_by_side(pieces: Stretches, terms: Sequence[Expr], axis: _Axis, axes: Sequence[Index]) -> Labelled:
    graph, index = axis.ctx.graph, axis.index
    values = [_piece(term, piece, axis, axes) for term, piece in zip(terms, pieces, strict=True)]
    place = tuple(axes).index(index) - len(axes)
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1 and first.length == 1:
        items = tuple(plan.At(first.low) if i == index else None for i in axes if not i.is_batch)
        return Labelled(graph.intern(plan.Place(values[0], shape_of(axes), items)), tuple(axes))
    values = [graph.expand(v, [place]) if p.length == 1 else v for p, v in zip(pieces, values, strict=True)]
    parts: list[plan.Node] = []
    for n, (piece, value) in enumerate(zip(pieces, values, strict=True)):
        if n and not same(pieces[n - 1].high, piece.low):
            gap = simplify_size(piece.low - pieces[n - 1].high)
            parts.append(graph.full(tuple(gap if i == index else i.extent for i in axes), S.Zero))
        parts.append(value)
    node = parts[0] if len(parts) == 1 else graph.intern(plan.Concat(tuple(parts), place))
    before, after = first.low, simplify_size(axis.whole.high - last.high)
    if before is not S.Zero or after is not S.Zero:
        widths = tuple((before, after) if i == index else (S.Zero, S.Zero) for i in axes if not i.is_batch)
        node = graph.intern(plan.Pad(node, widths))
    return Labelled(node, tuple(axes))


def _piece(e: Expr, piece: Stretch, axis: _Axis, axes: Sequence[Index]) -> plan.Node:
    """The expression on one stretch, in the full shape of that; without the axis where the stretch is one entry."""
    ctx, index = axis.ctx, axis.index
    single = piece.length == 1
    own = Index("~", piece.length).fresh()
    e = e.xreplace({index: piece.low if single else own + piece.low})
    e = transform(e, lambda x: _decided(x, ctx))
    hint = tuple(own if i == index else i for i in axes)
    wanted = without(hint, [own]) if single else hint
    outer, ctx.hint = ctx.hint, wanted
    value = ctx.lower(e)
    value = spread(ctx.graph, arrange(ctx.graph, value, wanted), wanted)
    ctx.hint = outer
    return ctx.graph.cast(value.node, "real")


def _decided(e: Expr, ctx: Lowering) -> Expr:
    """Conditions that always hold on a stretch, and accesses that stay in range there."""
    if isinstance(e, Pad):
        access = e.args[0]
        shape = ctx.tensors[access.tensor].shape
        inside = all(
            (isinstance(p, Index) and p.is_batch) or in_range(p, n, ctx.ranges)
            for p, n in zip(access.indices, shape, strict=True)
        )
        return access if inside else e
    return certain_condition(e)
