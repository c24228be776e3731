"""Whether something else is worth what a claim is: exactly, where floats cannot tell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symderive.check.exact import EXACT
from symderive.check.numbers import Domain
from symderive.claims.bench import Sides
from symderive.claims.desk import Desk
from symderive.claims.outcome import compared
from symderive.claims.points import Point


def worth_the_claim(desk: Desk, other: Callable[[Point, Domain], np.ndarray]) -> bool:
    """Whether what is computed at a point is the claim, at the desk's points and where that fails: it is not the truth.

    Raises :class:`ClaimError` where the claim has no value.
    """
    points = {id(p): p for p in (desk.outcome.point, *desk.points)}
    return all(_are_equal(desk, point, other) for point in points.values())


def _are_equal(desk: Desk, point: Point, other: Callable[[Point, Domain], np.ndarray]) -> bool:
    def sides(base: Domain) -> Sides:
        claimed = desk.court.bench(point, base).sides(desk.line, desk.node).claimed
        return Sides(claimed, np.reshape(other(point, base), claimed.shape))

    desk.spend(desk.node)
    return compared(point, sides(EXACT), sides).holds
