"""The sizes at which a wrong claim would be right: a remark about it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symderive.check.floats import FLOAT
from symderive.claims.assumed import Assumed
from symderive.claims.compare import finite, same
from symderive.claims.conditions import (
    EQUAL,
    FEW_DIGITS,
    Condition,
    alike,
    all_stretched,
    at_value,
    rarely_wrong,
    stretched,
)  # fmt: skip
from symderive.claims.needed import promising
from symderive.claims.points import Point
from symderive.claims.refuting import is_multiple, refuted

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

OTHER_VALUES = (2, 3, 4, 5)
"""Of a size at one value of which a wrong claim is right: at which it may be right, too."""

MOST_SAID = 3
"""Alternatives in a remark: more of them tell nobody what the claim has in common with the truth."""


def where_only(trial: Trial, failed: Point) -> str:
    """A sentence on the sizes at which a claim is right that is wrong at a point: 1, 2, or two that are equal."""
    names = () if is_multiple(trial) or rarely_wrong(trial) else trial.court.points.chooser.names
    ones = _without_which_none(trial, names)
    if ones is None:
        alone, both = [], []
    else:
        alone = [at_value(n, 1) for n in names if ones <= {n}]
        both = [_at_one(a, b) for a, b in itertools.combinations(names, 2) if ones <= {a, b}]
    alikes = [alike(a, b) for a, b in itertools.combinations(names, 2)]
    for family in (alone, alikes, both, [at_value(n, 2) for n in names]):
        if held := [] if refuted(trial, family) else [c for c in family if _seems_right(trial, c, failed)]:
            return _sentence(trial, held, failed) if len(held) <= MOST_SAID else ""
    return ""


def _without_which_none(trial: Trial, names: Sequence[str]) -> set[str] | None:
    """The sizes that must be 1, as the claim fails where all others are; None where it fails although all are 1."""
    ones = [at_value(n, 1) for n in names]
    if refuted(trial, ones, 1):
        return None
    if len(ones) < 3:
        return set()
    return {n for n in names if refuted(trial, [c for c in ones if c.about != n], 1)}


def _at_one(a: str, b: str) -> Condition:
    """That two sizes are 1."""
    return replace(at_value(a, 1), text=f"{a} = {b} = 1", assumed=Assumed(sizes=((a, 1), (b, 1))))


def _sentence(trial: Trial, held: Sequence[Condition], failed: Point) -> str:
    """What is said of conditions on sizes under which a claim seems to be right, and of other values of one of them."""
    texts, only = [], True
    for condition in held:
        values = []
        if len(condition.assumed.sizes) == 1:
            ((name, value),) = condition.assumed.sizes
            more = (v for v in OTHER_VALUES if v != value)
            values = [str(v) for v in more if _seems_right(trial, at_value(name, v), failed)]
        texts.append(" or ".join(", ".join((condition.text, *values)).rsplit(", ", 1)))
        only &= not values
    where = " or ".join(texts)
    return f"It holds only where {where}." if only else f"It holds where {where}, but not in general."


def widened(trial: Trial, condition: Condition, failed: Point) -> Condition | None:
    """A condition on one size that holds, for what the claim seems to be right at: from a size on, or at that value.

    None where it is right at other values that are not all from one on.
    """
    if len(condition.assumed.sizes) != 1:
        return condition
    ((name, value),) = condition.assumed.sizes

    def seems(number: int) -> bool:
        return _seems_right(trial, at_value(name, number), failed)

    larger = [seems(value + n) for n in (1, 2)]
    if not any(larger):
        return condition
    least = next(n for n in range(value - 1, -1, -1) if n == 0 or not seems(n)) + 1
    return replace(condition, text=f"{name} >= {least}") if all(larger) else None


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
    """Points of certain sizes, the last of them made of those at which claims fail: this one did, or others may."""
    court, points = trial.court, trial.court.points
    drawn = court.remembered.setdefault(("of sizes", condition.text), [])
    sized = [condition.sized(sizes, n) for n, sizes in enumerate(points.plan[:2])]
    if condition.assumed.equal:
        sized.append(condition.sized(points.plan[0], len(EQUAL) - 1))  # where windows have more than one place
    valid = [s for s in sized if points.chooser.does(s)]
    for n, sizes in enumerate(valid):
        if n == len(drawn):
            drawn.append(points.point(sizes))
        yield drawn[n]
    sizes = condition.sized(failed.sizes)
    if not points.chooser.does(sizes):
        return
    sides = (stretched(trial.spec, p.inputs, sizes) for p in points.main if p.note)
    for inputs in itertools.chain(all_stretched(trial.spec, failed.inputs, sizes), sides):
        point = points.complete(sizes, inputs, failed.note)
        if points.smooth(point):
            yield point
