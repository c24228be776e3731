"""What a right claim leaves open: at a kink of the forward, where that has no derivative, it may say anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symderive.check import sample
from symderive.claims.borders import Border, borders
from symderive.claims.points import Point
from symderive.claims.probe import Probe
from symderive.claims.signs import Signs
from symderive.spec.format import to_text

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

NEAR = 1e-9


def undecided(trial: Trial) -> str:
    """Where a claim draws a border on a kink of the forward, so that nothing was decided on it; nothing if nowhere."""
    drawn = [*Signs(trial).of(borders(trial))]  # max(1, x) is never 0
    if not drawn:
        return ""
    points, probe = trial.court.points, Probe(trial)
    away = [(p, _distances(trial, p)) for p in (points.main[0], points.rough)]  # at one of them by chance
    for border in drawn if all(distances for _, distances in away) else ():
        if probe.is_sized(border) or border.step is not None:
            continue
        if all(_lies_on(probe, border, point, distances) for point, distances in away):
            return f"where {to_text(border.node)} is 0 the forward has a kink, and nothing was decided"
    return ""


def _distances(trial: Trial, point: Point) -> list[float]:
    """How far away the kinks are that the forward passes at a point."""
    kinks, finite = sample.passed(trial.spec, point.sizes, point.inputs)
    return [k.distance for k in kinks if k.moves and not k.is_pole and k.distance > 0] if finite else []


def _lies_on(probe: Probe, border: Border, point: Point, distances: list[float]) -> bool:
    """Whether a border is, at some entry, as far away as a kink is."""
    values = probe.values(border, point)
    if values is None or not values.size:
        return False
    gaps = np.abs(np.abs(values.ravel()[:, None]) - np.array(distances))
    return bool((gaps <= NEAR * np.array(distances)).any())
