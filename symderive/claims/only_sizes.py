"""The sizes at which alone a wrong claim would be right: a remark about it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symderive.check.floats import FLOAT
from symderive.claims.assumed import Assumed
from symderive.claims.compare import finite, same
from symderive.claims.conditions import (
    FEW_DIGITS,
    Condition,
    alike,
    all_stretched,
    at_value,
    is_multiple,
    rarely_wrong,
    refuted,
)  # fmt: skip
from symderive.claims.needed import promising
from symderive.claims.points import Point

if TYPE_CHECKING:
    from symderive.claims.trial import Trial


def where_only(trial: Trial, failed: Point) -> str:
    """The sizes at which alone a claim is right that is wrong at a point: at 1, at 2, or where two are equal."""
    names = () if is_multiple(trial) or rarely_wrong(trial) else trial.court.points.chooser.names
    pairs = list(itertools.combinations(names, 2))
    families = (
        [at_value(n, 1) for n in names],
        [alike(a, b) for a, b in pairs],
        [replace(at_value(a, 1), text=f"{a} = {b} = 1", assumed=Assumed(sizes=((a, 1), (b, 1)))) for a, b in pairs],
        [at_value(n, 2) for n in names],
    )
    for family in families:
        held = [] if refuted(trial, family) else [c.text for c in family if _seems_right(trial, c, failed)]
        if held:
            return " or ".join(held)
    return ""


def _seems_right(trial: Trial, condition: Condition, failed: Point) -> bool:
    """Whether the claim holds at some points of certain sizes, and the truth is not just 0 there.

    That is enough for a remark about a claim that is wrong.
    """
    points: list[Point] = []
    for point in _of_sizes(trial, condition, failed):
        if not promising(trial, point, keep=True):
            return False
        points.append(point)
    if not any(np.any(trial.court.bench(p, FLOAT).truth(trial.line)[0]) for p in points):
        return False
    told = False
    for point in points:
        outcome = trial.at(point, digits=FEW_DIGITS)
        if not outcome.holds:
            return False
        told |= outcome.sides is not None and any(finite(v) and not same(v, 0) for v in outcome.sides.true.flat)
    return told


def _of_sizes(trial: Trial, condition: Condition, failed: Point) -> Iterator[Point]:
    """Points of certain sizes, the last of them made of the point at which the claim failed."""
    court, points = trial.court, trial.court.points
    drawn = court.remembered.setdefault(("of sizes", condition.text), [])
    sized = [condition.sized(sizes, n) for n, sizes in enumerate(points.plan[:2])]
    valid = [s for s in sized if points.chooser.does(s)]
    for n, sizes in enumerate(valid):
        if n == len(drawn):
            drawn.append(points.point(sizes))
        yield drawn[n]
    sizes = condition.sized(failed.sizes)
    for inputs in all_stretched(trial.spec, failed.inputs, sizes) if points.chooser.does(sizes) else ():
        point = points.complete(sizes, inputs, failed.note)
        if points.smooth(point):
            yield point
