"""What tells at once that a claim is right under no condition, or under none of a kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from symderive.check.exact import EXACT
from symderive.check.floats import FLOAT
from symderive.check.objects import floats
from symderive.claims.compare import close_where_finite, finite, same
from symderive.claims.lines import ClaimError
from symderive.claims.points import Point

if TYPE_CHECKING:
    from symderive.claims.conditions import Condition
    from symderive.claims.trial import Trial

POINTS_TOGETHER = 2
"""At which all conditions of one kind are tried at once."""

MOST_WORK = 20_000
"""Multiplications of a forward at sizes that a condition has."""


def refuted(trial: Trial, conditions: list[Condition], count: int = POINTS_TOGETHER) -> bool:
    """Whether a claim fails where several conditions hold together, so that none of them makes it right.

    That is tried at ``count`` points.
    """
    if len(conditions) < 2:
        return False
    texts = " and ".join(c.text for c in conditions)
    sizes = {name: value for c in conditions for name, value in c.sized({}).items() if isinstance(value, int)}
    points = (_together(trial, (texts, n), conditions, sizes) for n in range(count))
    return any(p is not None and _differs(trial, p) for p in points)


def _differs(trial: Trial, point: Point) -> bool:
    """Whether floats see a difference where both sides have a value; where one has none, nothing is said."""
    try:
        sides = trial.court.bench(point, FLOAT).sides(trial.line, trial.node)
    except ClaimError:
        return False
    claimed = floats(sides.claimed)
    known = np.isfinite(claimed)
    return not close_where_finite(claimed[known], sides.true[known])


def _together(
    trial: Trial, key: tuple[str, int], conditions: list[Condition], sizes: Mapping[str, int]
) -> Point | None:
    """A point at which conditions hold together; none where no such point was found, or it takes too long there.

    The second of them has smaller numbers, of which what saturates leaves more.
    """
    points = trial.court.points
    if key not in trial.court.remembered:
        wanted = {**points.plan[0], **sizes}
        trial.court.remembered[key] = []
        if points.chooser.does(wanted, MOST_WORK):

            def change(*drawn: Any) -> None:
                for condition in conditions:
                    condition.applied(*drawn)

            point = points.under(wanted, change, scale=0.5 ** key[1])
            trial.court.remembered[key] = [] if point is None else [point]
    return next(iter(trial.court.remembered[key]), None)


def is_multiple(trial: Trial) -> bool:
    """Whether a claim is the truth times one number at all points, of whatever sizes: no condition makes it right.

    Where that is 1, it fails at rare points only, which a condition may exclude.
    """
    ratio: Any = None
    for sides in (trial.at(p).sides for p in trial.court.points.main):
        if sides is None:
            return False
        for claimed, true in zip(sides.claimed.flat, sides.true.flat, strict=True):
            if not finite(true):
                continue
            if not finite(claimed) or (true == 0) != (claimed == 0):
                return False
            if true != 0:
                ratio = EXACT.div(claimed, true) if ratio is None else ratio
                if not same(claimed, EXACT.mul(ratio, true)):
                    return False
    return ratio not in (None, 1)
