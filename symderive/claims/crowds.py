"""Points of very many entries, at which the branches of a claim meet in all sorts of ways.

Of boxes that overlap, few are such that one begins before the other; a point of a few boxes may have none. In floats a
crowd takes hardly longer than a few. Where a claim fails in one, it is halved again and again, along each of its axes,
down to a point of a few entries at which the claim fails still; exact numbers decide there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Expr, Symbol

from symderive.check import sample
from symderive.check.floats import FLOAT
from symderive.check.oracle import extent_of, shape_of
from symderive.claims.lines import FAULTS, ClaimError
from symderive.claims.outcome import Outcome
from symderive.claims.points import Point, Points
from symderive.claims.reach import few_derivatives, fits, smooth
from symderive.claims.world import Sizes
from symderive.errors import SymderiveError
from symderive.spec import model
from symderive.spec.sizes import BATCH_SIZE

if TYPE_CHECKING:
    from symderive.claims.court import Court
    from symderive.claims.trial import Trial

MOST_WORK = 20_000
"""Multiplications of a forward in a crowd."""

LARGEST = 4096
SCALES = (1.0, 3.0)
TRIES = 3
"""Of drawing a crowd away from all kinks."""

GRID = 2**20
"""The denominator of the numbers, which floats have exactly."""

STRUCTURED = frozenset({"simplex", "one_hot", "spd", "symmetric", "rows"})
"""What entries of an input are together, so that a part of it need not be."""


def in_crowds(trial: Trial) -> Outcome | None:
    """Where a claim fails that holds at single points; only of what has branches that is asked."""
    if smooth(trial):
        return None
    for crowd in crowds(trial.court):
        if few_derivatives(trial, crowd.sizes) and _fails(trial, crowd):
            small = _narrowed(trial, crowd)
            if trial.court.points.smooth(small) and (outcome := trial.at(small)).wrong is not None:
                return outcome
    return None


def crowds(court: Court) -> list[Point]:
    """The crowds of a spec, made once for all claims."""
    if ("crowds",) not in court.remembered:
        court.remembered["crowds",] = list(_made(court.points))
    return court.remembered["crowds",]


def _made(points: Points) -> Iterator[Point]:
    names = [n for n in points.chooser.free if n in _plain(points.spec)]
    rng = np.random.default_rng(points.seed + 2)
    for chosen, scale in zip(dict.fromkeys((tuple(names), tuple(names[:1]))), SCALES, strict=False):
        sizes = _crowded(points, chosen)
        drawn = (_drawn(points, sizes, rng, scale) for _ in range(TRIES)) if sizes else ()
        yield from itertools.islice(filter(points.smooth, drawn), 1)


def _plain(spec: model.Spec) -> set[str]:
    """The sizes that are just lengths of axes, none of which holds what its entries are together."""
    composite: set[Expr] = set().union(*(i.index.free_symbols for i in spec.inputs if i.index is not None))
    extents = [*itertools.chain(*spec.shapes.values(), *(e.ranges.values() for e in spec.equations))]
    for extent in (*extents, *spec.indices.values()):
        composite |= set() if isinstance(extent, Symbol) else extent.free_symbols
    for tensor in spec.inputs:
        if STRUCTURED & set(tensor.assume):
            composite |= set().union(*(e.free_symbols for e in tensor.shape))
    return {str(e) for e in extents if isinstance(e, Symbol) and e not in composite}


def _crowded(points: Points, names: tuple[str, ...]) -> Sizes | None:
    """Sizes as large as is cheap; None where that is not large."""
    first = points.plan[0]
    extent = LARGEST
    while names and extent > 2 * max(first[n] for n in names):  # type: ignore[type-var, operator]
        sizes = {**first, **{n: extent + k for k, n in enumerate(names)}}
        if fits(points, sizes, MOST_WORK) and points.chooser.regular(sizes):
            return sizes
        extent //= 2
    return None


def _drawn(points: Points, sizes: Sizes, rng: np.random.Generator, scale: float) -> Point:
    """A point of numbers that floats have exactly; what has a structure is exact anyhow."""
    whole, floats = sample.Draw(rng, exact=True, scale=scale), sample.Draw(rng, scale=scale)
    inputs = {}
    for tensor in points.spec.inputs:
        draw = whole if STRUCTURED & set(tensor.assume) else floats
        classes = None if tensor.index is None else extent_of(tensor.index, sizes)
        values = sample.draw_input(tensor, shape_of(tensor.shape, sizes), classes, draw)
        inputs[tensor.name] = np.round(values * GRID) / GRID if values.dtype == float else values
    return points.complete(sizes, inputs, draw=floats)


def _fails(trial: Trial, point: Point) -> bool:
    """Whether floats say that a claim fails at a point, by more than they round."""
    try:
        return not trial.court.new_bench(point, FLOAT).agrees(trial.line, trial.node)
    except (ClaimError, SymderiveError, *FAULTS):
        return False


# From many to few


def _narrowed(trial: Trial, crowd: Point) -> Point:
    """A part of a crowd, as small as points are, at which a claim fails still; in exact numbers."""
    point, first = crowd, trial.court.points.main[0]
    for name in (n for n in crowd.sizes if crowd.sizes[n] != first.sizes[n]):
        while (extent := _extent(point, name)) > (least := _extent(first, name)):
            half = max(least, (extent + 1) // 2)
            rows = slice(0, half), slice(extent - half, extent)
            halves = (_part(trial.spec, point, name, r) for r in rows)
            if (failing := next((h for h in halves if _fails(trial, h)), None)) is None:
                break
            point = failing
    return replace(point, inputs=_exact(point.inputs), upstreams=_exact(point.upstreams))


def _extent(point: Point, name: str) -> int:
    extent = point.sizes[name]
    assert isinstance(extent, int)
    return extent


def _part(spec: model.Spec, point: Point, name: str, rows: slice) -> Point:
    """The point with only some of the entries along all axes of one size."""

    def cut(array: np.ndarray, shape: Sequence[Expr]) -> np.ndarray:
        axes: list[Any] = [rows if str(extent) == name else slice(None) for extent in shape if extent != BATCH_SIZE]
        place = (..., *axes)
        return np.asarray(array[place])

    inputs = {i.name: cut(point.inputs[i.name], i.shape) for i in spec.inputs}
    upstreams = {n: cut(a, spec.shapes[n]) for n, a in point.upstreams.items()}
    return replace(point, sizes={**point.sizes, name: rows.stop - rows.start}, inputs=inputs, upstreams=upstreams)


def _exact(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    exact = np.frompyfunc(lambda v: Fraction(v) if v % 1 else int(v), 1, 1)
    return {n: np.asarray(exact(a), dtype=object) if a.dtype == float else a for n, a in arrays.items()}
