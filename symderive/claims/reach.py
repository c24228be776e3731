"""Points out of the ordinary, where a claim may fail that holds at all others: larger sizes, other scales, ties.

A claim that is smooth, of a smooth forward, holds everywhere if it holds around a point, so only its sizes are in
question: ``(5 - N) / 6`` is ``1 / N`` where N is 2 or 3. One with branches may leave them far out, or at ties.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from symderive.check.objects import objects
from symderive.check.oracle import extent_of, shape_of
from symderive.check.sample import is_free
from symderive.claims.points import FAR, SIDE, Point, Points
from symderive.claims.trees import tensor_of
from symderive.claims.weight import MOST, weight
from symderive.claims.world import Sizes, is_jacobian, shape_named
from symderive.spec import model, syntax
from symderive.spec.functions import FUNCTIONS

if TYPE_CHECKING:
    from symderive.claims.court import Court
    from symderive.claims.trial import Trial

MOST_WORK = 40_000
"""Multiplications of a forward at larger sizes."""

MOST_DERIVATIVES = 60
"""Entries that ``D(y[i], x[k])`` differentiates there."""

MOST_SWEPT = 40_000
"""Multiplications that the sweeps for them go through, one for each entry."""

MATRICES = 8
"""How many times as much a sweep through an inverse takes as what is counted of it."""

TRIES = 3
"""Of drawing a point away from kinks, of which large sizes have many."""

LARGE = ((17, 19, 23, 29, 31, 37), (11, 13, 17, 19, 23, 29), (8, 11, 7, 13, 9, 12), (6, 7, 5, 8, 9, 10), (5, 4, 6, 7))
"""Larger sizes, of which the first two that are cheap enough are taken."""

CALMER = Fraction(1, 8)
"""By how much numbers are scaled at larger sizes: an exponential of a sum of many squares leaves nothing."""

SCALES = tuple(Fraction(10) ** (s * e) for e in (3, 6, 12, 25) for s in (1, -1))
APART = (Fraction(10) ** 6, Fraction(1, 10**6))
"""By how much all inputs are scaled, and one of them alone."""


# Branches


def branches(node: syntax.Node) -> bool:
    """Whether what a node gives may be on one branch or another."""
    match node:
        case syntax.Call(function=name) | syntax.Method(name=name) | syntax.Binder(op=name):
            return name in _CHOOSING or (name in FUNCTIONS and bool(FUNCTIONS[name].kinks))
        case syntax.Binary(op="**", right=exponent):
            return not (isinstance(exponent, syntax.Number) and exponent.value.denominator == 1)
        case syntax.Binary(op=op):
            return op in ("//", "%")
    return isinstance(node, syntax.Compare | syntax.Logical)


_CHOOSING = ("where", "max", "min", "amax", "amin", "clamp", "argmax", "argmin", "sqrt", "rsqrt")


def smooth(trial: Trial) -> bool:
    """Whether neither the forward nor a claim, with the helpers so far, has branches."""
    if sum(p.note == SIDE for p in trial.court.points.main) > 1:
        return False
    sides = [trial.node, *(s for h in trial.court.helpers for s in h.statement.sides[:1])]
    return not any(branches(n) for side in sides for n in side.walk())


# Points


def reaching(trial: Trial) -> Iterator[Point]:
    """Points at which to look, if only in floats."""
    yield from larger(trial)
    if not smooth(trial):
        yield from far(trial.court)


def larger(trial: Trial) -> list[Point]:
    """Points at larger sizes."""
    return [p for p in _kept(trial.court, "sizes", _larger) if few_derivatives(trial, p.sizes)]


def far(court: Court) -> list[Point]:
    """Points at other scales, and at ties."""
    return _kept(court, "scales", _scaled)


def few_derivatives(trial: Trial, sizes: Sizes) -> bool:
    """Whether a side, with the helpers so far, goes through few entries, and differentiates few.

    Each of those takes a sweep of its own.
    """
    if weight(trial, sizes) > MOST:
        return False
    sides = [trial.node, trial.line.statement.left]
    sides += [s for h in trial.court.helpers for s in h.statement.sides[:1]]
    jacobians = [n for s in sides for n in s.walk() if is_jacobian(n)]
    names = {tensor_of(n.arguments[0]) for n in jacobians}
    shapes = {n: shape_named(trial.spec, n) or () for n in names}
    entries = sum(math.prod(shape_of(s, sizes)) for s in shapes.values())
    work = trial.court.points.chooser.work(sizes) * (MATRICES if trial.court.points.chooser.matrices else 1)
    return entries <= MOST_DERIVATIVES and entries * work <= MOST_SWEPT


def _kept(court: Court, key: str, make: Any) -> list[Point]:
    """Points that are made once for all claims."""
    if (key,) not in court.remembered:
        court.remembered[key,] = court.points.smooth_ones([*make(court.points)])
    return court.remembered[key,]


def _larger(points: Points) -> Iterator[Point]:
    names = points.chooser.names
    if not names:
        return
    pools = itertools.chain.from_iterable(
        (p[: len(names)], p[: len(names)][::-1]) for p in LARGE if len(p) >= len(names)
    )
    fitting = [s for pool in pools if fits(points, s := dict(zip(names, pool, strict=True)))]
    chosen = [*fitting[:2], *fitting[2:][-1:]]  # the last, where there are many derivatives
    chosen += list(itertools.islice((s for s in _squares(names) if fits(points, s)), 1))
    found = [_calmer(points, points.point({**points.plan[0], **sizes}, TRIES)) for sizes in chosen]
    yield from found
    yield from alike_ids(points.spec, found[-1]) if found else ()


def _calmer(points: Points, point: Point) -> Point:
    """A point with smaller numbers, of which sums of many are such that floats can tell what is computed of them."""
    plain = [i.name for i in points.spec.inputs if is_free(i)]
    smaller = {n: objects(point.inputs[n]) * CALMER for n in plain}
    calmer = replace(point, inputs={**point.inputs, **smaller})
    return calmer if points.smooth(calmer) else point


def alike_ids(spec: model.Spec, point: Point) -> Iterator[Point]:
    """The point with the first, and the last, of all class ids throughout, and of its zeros and ones."""
    last = {i.name: extent_of(i.index, point.sizes) - 1 for i in spec.inputs if i.index is not None}
    last |= {i.name: 1 for i in spec.inputs if i.boolean or "binary" in i.assume}
    hot = [i.name for i in spec.inputs if "one_hot" in i.assume]
    for at in (0, -1) if last or hot else ():
        ids = {n: np.full_like(point.inputs[n], at and largest) for n, largest in last.items()}
        rows = {n: np.eye(np.shape(point.inputs[n])[-1], dtype=int)[at] for n in hot}
        alike = {n: objects(np.broadcast_to(row, np.shape(point.inputs[n]))) for n, row in rows.items()}
        yield replace(point, inputs={**point.inputs, **ids, **alike})


def _squares(names: list[str]) -> Iterator[dict[str, int]]:
    """All sizes equal, and not those of the main points."""
    yield from (dict.fromkeys(names, n) for n in (7, 5, 4) if len(names) > 1)


def fits(points: Points, sizes: Sizes, most: int = MOST_WORK) -> bool:
    """Whether a forward at those sizes is cheap enough."""
    if points.chooser.matrices:  # computed number by number, and slowly
        most //= 40
    return points.chooser.valid(sizes) and points.chooser.work(sizes) <= most


def _scaled(points: Points) -> Iterator[Point]:
    """The first point with its inputs, or its upstreams, at other scales, and at ties."""
    first = points.main[0]
    free = [i.name for i in points.spec.inputs if _unbounded(i)]
    for factor in SCALES[:2] if points.chooser.matrices else SCALES:
        yield _with(first, {n: objects(first.inputs[n]) * factor for n in free})
    alone = free[:4] if len(free) > 1 and not points.chooser.matrices else ()
    for name, factor in itertools.product(alone, APART):
        yield _with(first, {name: objects(first.inputs[name]) * factor})
    for factor in (*APART, Fraction(10) ** 25):
        upstreams = {n: objects(a) * factor for n, a in first.upstreams.items() if np.ndim(a)}
        if upstreams:
            yield replace(first, upstreams={**first.upstreams, **upstreams}, note=FAR)
    yield from _tied(points, first)


def _tied(points: Points, first: Point) -> Iterator[Point]:
    """Entries that are all equal, and inputs of one shape that are."""
    plain = [i for i in points.spec.inputs if is_free(i)]
    values = {i.name: objects(first.inputs[i.name]) for i in plain if np.size(first.inputs[i.name])}
    yield _with(first, {n: np.full(a.shape, a.flat[0], dtype=object) for n, a in values.items()})
    by_shape: dict[tuple[int, ...], np.ndarray] = {}
    yield _with(first, {n: by_shape.setdefault(a.shape, a) for n, a in values.items()})


def _with(point: Point, inputs: Mapping[str, Any]) -> Point:
    return replace(point, inputs={**point.inputs, **inputs}, note=FAR)


def _unbounded(tensor: model.Input) -> bool:
    """Whether an input may be any number of its sign."""
    allowed = {"positive", "nonnegative", "nonzero", "symmetric", "spd"}
    return tensor.is_real and not tensor.range and not set(tensor.assume) - allowed
