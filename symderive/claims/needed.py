"""Whether a condition is needed for a claim to be right, or just one of many places at which it is right anyway."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symderive.check.floats import FLOAT
from symderive.check.objects import objects
from symderive.claims.assumed import Assumed
from symderive.claims.compare import COARSE, FINE
from symderive.claims.lines import ClaimError
from symderive.claims.points import Point

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

STEP = Fraction(1, 128)
HAIR = Fraction(1, 2**24)
MOST_ENTRIES = 6
"""Of a tensor that leave a condition alone."""


def is_needed(trial: Trial, assumed: Assumed, points: Sequence[Point]) -> bool:
    """Whether all that is assumed is needed: of inputs, and of the upstreams that the claim mentions.

    The claim is right where it is assumed, as at the ``points``. It is needed if at one of them, what leaves it, to
    whichever side and however little, makes the claim fail. Else the condition only keeps away from the place at which
    the claim is wrong: ``e`` is ``clamp(e, -3, 3)`` where e is binary, and all around. A claim that names no upstream,
    and is right at one, is not right at others.
    """
    mentioned = trial.mentions()
    ones = [(f"d{n}", "ones") for n in assumed.ones if f"d{n}" in mentioned]
    for name, kind in (*assumed.inputs, *ones):
        if kind == "one_hot" and any(_holds_with_more_ones(trial, name, p) for p in points):
            return False
        if not any(_is_isolated(trial, name, kind, p) for p in points):
            return False
    return True


def _is_isolated(trial: Trial, name: str, kind: str, point: Point) -> bool:
    """Whether a claim fails at a point as soon as an entry leaves a condition, to either side."""
    values = _values(point, name)
    for number in trial.court.points.rng.permutation(values.size)[:MOST_ENTRIES]:
        mark = _mark(values.shape, int(number))
        for start in (np.where(mark, n, values) for n in (0, 1)) if kind == "binary" else (values,):
            if _fails_beside(trial, name, point, start, _away(kind, mark)):
                return True
    return False


def _fails_beside(trial: Trial, name: str, point: Point, values: np.ndarray, away: np.ndarray) -> bool:
    """Whether a claim fails on both sides of where it holds, seen in floats farther off, and exactly close to it."""
    farther = (_changed(point, name, values + s * STEP * away) for s in (1, -1))
    if any(promising(trial, p, tolerance=FINE) for p in farther):  # what saturates leaves small differences
        return False
    return not any(trial.at(_changed(point, name, values + s * HAIR * away), keep=False).holds for s in (1, -1))


def _away(kind: str, mark: np.ndarray) -> np.ndarray:
    """The direction in which an entry leaves a condition, and nothing else changes: a row, say, leaves its sum."""
    one = objects(mark.astype(int))
    if kind == "symmetric":
        return objects(one - one.swapaxes(-1, -2))
    return objects(one * 0 + one.sum(-1, keepdims=True)) if kind == "rows" else one


def _mark(shape: tuple[int, ...], number: int) -> np.ndarray:
    """Where in an array an entry is."""
    return np.asarray(np.arange(math.prod(shape)).reshape(shape) == number)


def _holds_with_more_ones(trial: Trial, name: str, point: Point) -> bool:
    """Whether a claim holds with any one more of the zeros of one-hot rows a one: it is not about one-hot rows."""
    values = _values(point, name)
    places = [n for n in trial.court.points.rng.permutation(values.size) if values.flat[n] == 0][:MOST_ENTRIES]
    return all(promising(trial, _changed(point, name, np.where(_mark(values.shape, n), 1, values))) for n in places)


def _values(point: Point, about: str) -> np.ndarray:
    """What a condition is about: an input, or an upstream."""
    return objects(point.inputs[about] if about in point.inputs else point.upstreams[about.removeprefix("d")])


def _changed(point: Point, about: str, values: np.ndarray) -> Point:
    """The point with other values of what a condition is about."""
    if about in point.inputs:
        return replace(point, inputs={**point.inputs, about: objects(values)})
    return replace(point, upstreams={**point.upstreams, about.removeprefix("d"): objects(values)})


def promising(trial: Trial, point: Point, *, keep: bool = False, tolerance: float = COARSE) -> bool:
    """Whether floats see no difference at a point."""
    bench = trial.court.bench if keep else trial.court.new_bench
    try:
        return bench(point, FLOAT).agrees(trial.line, trial.node, tolerance)
    except ClaimError:
        return False
