"""Where a claim may fail that holds at the main points: far out, at zeros, past its own numbers, at its own borders.

Floats say where to look, exact numbers decide.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from symderive.check.floats import FLOAT
from symderive.check.objects import floats
from symderive.claims.coincidences import in_coincidences
from symderive.claims.compare import FAR_OFF, FINE, close_floats, close_in_scale, finite
from symderive.claims.crossing import straddling
from symderive.claims.crowds import in_crowds
from symderive.claims.lines import ClaimError, NotJudged
from symderive.claims.outcome import MOST_DIGITS, Outcome
from symderive.claims.points import FAR, Point
from symderive.claims.poles import at_poles
from symderive.claims.reach import larger, reaching
from symderive.claims.resizing import resized
from symderive.claims.stacks import together
from symderive.claims.ties import at_ties

if TYPE_CHECKING:
    from symderive.claims.trial import Trial


MOST_EXACT = 2000
"""Multiplications of all the forwards, next to borders of the claim, that are compared exactly in any case."""

DIGITS_FAR = 700
"""Of numbers far out, where all that is left of a claim may be 1e-2000: what takes more is left undecided there."""

LEAST = 20
"""What else there is to compute at a point, in such multiplications."""


def scouted(trial: Trial, roughly: bool = False) -> Outcome | None:
    """The first of many more points at which the claim is wrong; where there is none, at which it has no value.

    Of what is only one of many mends, floats that are far apart are enough: ``roughly``.
    """
    spent = 0
    undefined = None
    for point, close in together(trial.court, _candidates(trial)):
        spent += close and LEAST + trial.court.points.chooser.work(point.sizes)
        try:  # next to a border that the claim draws itself, a difference may be too small for floats
            if (not close or spent > MOST_EXACT) and trial.court.bench(point, FLOAT).agrees(
                trial.line, trial.node, FINE
            ):
                continue
        except ClaimError:
            continue
        if roughly and not close and point.note != FAR and _is_far_off(trial, point):
            return Outcome(point, None, wrong=())
        outcome = trial.at(point, digits=DIGITS_FAR if point.note == FAR else MOST_DIGITS)
        if outcome.wrong is None and is_singular(trial, outcome):
            continue
        if outcome.wrong is not None:
            return outcome
        if outcome.undefined is not None:
            undefined = undefined or outcome
    return in_crowds(trial) or in_coincidences(trial) or undefined or at_poles(trial) or at_ties(trial)


def _is_far_off(trial: Trial, point: Point) -> bool:
    """Whether floats are far apart somewhere where both sides have a value, and not just what rounding leaves of 0."""
    sides = trial.court.bench(point, FLOAT).sides(trial.line, trial.node)
    claimed, true = floats(sides.claimed), floats(sides.true)
    known = np.isfinite(claimed) & np.isfinite(true)
    claimed, true = claimed[known], true[known]
    return not (close_floats(claimed, true) or close_in_scale(claimed, true, FAR_OFF))


def _candidates(trial: Trial) -> Iterator[tuple[Point, bool]]:
    """The points, and whether each is next to a border of the claim."""
    points = trial.court.points
    yield from ((p, False) for p in itertools.chain(points.scouts, reaching(trial)))
    more, missed = resized(trial)
    yield from ((p, False) for p in more)
    for point, close in straddling(trial, [*more, *larger(trial)[:1]]):
        trial.beside.append(point)
        yield point, close
    if missed:
        raise NotJudged(missed)


def is_singular(trial: Trial, outcome: Outcome) -> bool:
    """Whether a claim has no value at all for want of an inverse, by which it writes the gradient of a determinant.

    Formulas with an inverse are meant for matrices that have one.
    """
    if outcome.sides is None or not trial.court.points.inverts or not trial.inverted():
        return False
    return not any(finite(c) for c in outcome.sides.claimed.flat)
