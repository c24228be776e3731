"""Sizes at which what a claim says of indices and sizes alone decides otherwise: the 50 of ``where(i == 50, ...)``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symderive.claims.borders import Border, borders, of_forward
from symderive.claims.points import Point
from symderive.claims.probe import Probe
from symderive.claims.reach import TRIES, alike_ids, few_derivatives, fits
from symderive.claims.signs import Signs
from symderive.claims.world import Sizes
from symderive.spec import model, syntax
from symderive.spec.format import to_text

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

ALONE = 40
"""One size takes all values up to this."""

TOGETHER = (12, 6, 4)
"""Two, three and four sizes take all values up to these, together."""

LARGEST = 5000
"""The largest size that is looked at."""

MOST_SCANNED = 300_000
"""Entries of a border that are computed at such sizes."""

MOST_RESIZED = 10
"""Points at such sizes for one claim."""


def resized(trial: Trial) -> tuple[list[Point], str]:
    """Points at sizes at which borders of indices and sizes have signs that they have at no other.

    With them comes what cannot be judged because all such sizes are too large, or nothing. Of the borders of the
    forward, which are the same for every claim, sizes that are too large are left out.
    """
    court, probe = trial.court, Probe(trial)
    if ("resized",) not in court.remembered:
        court.remembered["resized",] = _resized(probe, of_forward(trial.spec))[0]
    found, missed = _resized(probe, borders(trial))
    return [*court.remembered["resized",], *found], missed


def _resized(probe: Probe, drawn: Sequence[Border]) -> tuple[list[Point], str]:
    trial = probe.trial
    points = trial.court.points
    usual = [p.sizes for p in points.main] + [p.sizes for p in trial.court.remembered.get(("sizes",), ())]
    found: dict[tuple[tuple[str, int | tuple[int, ...]], ...], list[Point]] = {}
    missed = ""
    first = points.plan[0]
    large = {**first, **{name: LARGEST - n for n, name in enumerate(points.chooser.names)}}
    for border in Signs(trial).of(filter(probe.is_sized, drawn)):
        if probe.is_number(border) or probe.is_fixed(border, first, large):
            continue
        seen = [v for s in usual if (v := probe.at_sizes(border, s)) is not None]
        for step, sign in _missing(border, seen):
            key = border.node, border.axis, border.step, step, sign, *seen[0].shape, trial.line.name
            if key not in trial.court.sized:
                trial.court.sized[key] = _where(probe, border, step, sign)
            sizes, reachable = trial.court.sized[key]
            if sizes is None and reachable:
                missed = f"where {to_text(border.node)} changes its sign, the sizes are too large to be computed with"
            elif sizes is not None and len(found) < MOST_RESIZED:
                found.setdefault(tuple(sizes.items()), _at(trial, sizes))
    return [p for alike in found.values() for p in alike], missed


def _at(trial: Trial, sizes: Sizes) -> list[Point]:
    """Points of some sizes, the same for all claims."""
    court, key = trial.court, ("resized", *sizes.items())
    if key not in court.remembered:
        point = court.points.point(sizes, TRIES)
        alike = [point, opposite(trial.spec, point), *alike_ids(trial.spec, point)]
        court.remembered[key] = court.points.smooth_ones(alike)
    return court.remembered[key]


def opposite(spec: model.Spec, point: Point) -> Point:
    """The point with all numbers that may have either sign of the other: what one ``relu`` hides, it shows."""
    free = {i.name for i in spec.inputs if i.is_real and not i.range and set(i.assume) <= {"nonzero", "symmetric"}}
    return replace(point, inputs={n: -a if n in free else a for n, a in point.inputs.items()})


def _missing(border: Border, seen: Sequence[np.ndarray]) -> Iterator[tuple[Fraction, int]]:
    """The signs that a border was not seen with; of one with steps, past the steps that it was seen between."""
    if not seen or not any(v.size for v in seen):
        return
    values = np.concatenate([v.ravel() for v in seen])
    if border.step is None:
        yield from ((Fraction(0), s) for s in border.signs if not (np.sign(values) == s).any())
        return
    low, high = (math.floor(n + float(border.step)) for n in (values.min(), values.max()))
    if low == high:
        yield from ((step - border.step, sign) for step, sign in ((low + 1, 1), (low, -1)))


def _where(probe: Probe, border: Border, step: Fraction, sign: int) -> tuple[Sizes | None, bool]:
    """The cheapest sizes at which a border has a sign; and whether it has it anywhere."""
    points = probe.trial.court.points
    reachable = False
    most = probe.entries + MOST_SCANNED
    for sizes, values in probe.over_sizes(border, _choices(probe, border)):
        if probe.entries > most:
            break
        if values is None or not values.size:
            continue
        signs = np.sign(values - float(step))
        if (signs == sign).any() or (border.step is not None and sign > 0 and (signs == 0).any()):
            if not (fits(points, sizes) and few_derivatives(probe.trial, sizes)):
                reachable = True
            elif points.chooser.regular(sizes):  # else there is nothing to compare with: 1 / (N - 1) at N = 1
                return sizes, True
    return None, reachable


def _choices(probe: Probe, border: Border) -> list[Sizes]:
    """Sizes to look at, the cheapest first: one after the other alone, and some of them together."""
    points = probe.trial.court.points
    names, first = points.chooser.names, points.plan[0]
    numbers = {int(n.value) for n in border.node.walk() if isinstance(n, syntax.Number) and n.value <= LARGEST}
    numbers |= {int(v) for v in probe.spec.constants.values() if 1 < v <= LARGEST}
    alone = {*range(1, ALONE), *(n + d for n in numbers for d in (-1, 0, 1, 2))}
    alone |= {2**n for n in range(6, 13)} | {2**n + 1 for n in range(6, 13)}
    found = [{n: value} for n in names for value in alone if 0 < value <= LARGEST + 2]
    for count, most in zip(range(2, 5), TOGETHER, strict=False):
        if len(names) >= count:
            for some in itertools.combinations(names, count) if count < len(names) else [tuple(names)]:
                found += [dict(zip(some, v, strict=True)) for v in itertools.product(range(1, most + 1), repeat=count)]
    chosen: list[Sizes] = [{**first, **sizes} for sizes in found[:MOST_CHOICES]]
    valid = [s for s in chosen if points.chooser.valid(s)]  # type: ignore[arg-type]
    return sorted(valid, key=points.chooser.work)


MOST_CHOICES = 900
