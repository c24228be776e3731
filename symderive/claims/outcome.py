"""A side of a claim against the truth at one point: which entry is wrong, or has no value."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from symderive.check.exact import EXACT, Exact
from symderive.claims.bench import Sides
from symderive.claims.compare import equal, finite, vanishes
from symderive.claims.lines import ClaimError
from symderive.claims.points import Point
from symderive.record import record


@record
class Outcome:
    """A side against the truth at one point: the first ``wrong`` entry, the first ``undefined`` one, what was decided.

    An entry is undefined where the claim has no finite value though the truth has. ``open`` counts the entries at which
    the forward itself has no derivative.
    """

    point: Point
    sides: Sides | None
    wrong: tuple[int, ...] | None = None
    undefined: tuple[int, ...] | None = None
    decided: int = 0
    open: int = 0
    error: ClaimError | None = None

    @property
    def holds(self) -> bool:
        """Whether the claim is equal here."""
        return self.error is None and self.wrong is None and self.undefined is None

    @property
    def failed(self) -> bool:
        """Whether it has a value here that is not the true one."""
        return self.wrong is not None


def compared(point: Point, sides: Sides, again: Callable[[], Sides]) -> Outcome:
    """Entry by entry. ``again`` gives the sides with more digits, for a difference that may be rounding."""
    wrong = undefined = finer = None
    decided = still_open = 0
    for at in np.ndindex(*sides.true.shape):
        claimed, true = sides.claimed[at], sides.true[at]
        if not finite(true):
            still_open += 1
            continue
        decided += 1
        if not finite(claimed):
            undefined = undefined or at
        elif wrong is None and not equal(claimed, true):
            if _exact(claimed, true):
                wrong = at
                continue
            finer = finer or again()
            if not _rounding(sides, finer, at):
                wrong = at
    return Outcome(point, sides, wrong, undefined, decided, still_open)


def _exact(*numbers: Any) -> bool:
    """Whether numbers are rational, so that they differ where they differ."""
    return all(isinstance(n, int | Fraction) for n in numbers)


def _rounding(sides: Sides, finer: Sides, at: tuple[int, ...]) -> bool:
    """Whether the difference of an entry goes away with more digits."""
    coarse = EXACT.lift(sides.claimed[at]) - EXACT.lift(sides.true[at])
    base = finer_domain()
    return vanishes(coarse, base.lift(finer.claimed[at]) - base.lift(finer.true[at]))


_FINER: list[Exact] = []


def finer_domain() -> Exact:
    """Numbers with more than twice as many digits."""
    if not _FINER:
        _FINER.append(Exact(2 * EXACT.digits + 20))
        _FINER[0].name = "finer"
    return _FINER[0]
