"""What a right claim leaves open: at a kink of the forward, where that has no derivative, it may say anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symderive.check import sample
from symderive.claims.borders import Border, borders
from symderive.claims.points import Point
from symderive.claims.probe import Probe
from symderive.spec.format import to_text

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

NEAR = 1e-9


def undecided(trial: Trial) -> str:
    """Where a claim draws a border on a kink of the forward, so that nothing was decided on it; nothing if nowhere."""
    drawn = borders(trial)
    if not drawn:
        return ""
    point, probe = trial.court.points.main[0], Probe(trial)
    kinks, finite = sample.passed(trial.spec, point.sizes, point.inputs)
    distances = [k.distance for k in kinks if k.moves and not k.is_pole and k.distance > 0] if finite else []
    for border in drawn if distances else ():
        if not probe.is_sized(border) and border.step is None and _lies_on(probe, border, point, distances):
            return f"where {to_text(border.node)} is 0 the forward has a kink, and nothing was decided"
    return ""


def _lies_on(probe: Probe, border: Border, point: Point, distances: list[float]) -> bool:
    """Whether a border is, at some entry, as far away as a kink is."""
    values = probe.values(border, point)
    if values is None or not values.size:
        return False
    gaps = np.abs(np.abs(values.ravel()[:, None]) - np.array(distances))
    return bool((gaps <= NEAR * np.array(distances)).any())
