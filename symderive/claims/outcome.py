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

MOST_DIGITS = 4000
"""Numbers that still cancel with so many digits are left undecided."""

ZERO_DIGITS = 620
"""Digits with which what is 0 is taken for 0: ``1 - al`` may be as small as 1e-156, where ``al`` is 1 with fewer."""

_LADDER = (140, 300, 620, 1260, 2540, MOST_DIGITS)
"""Digits that are computed with, so that entries that need about as many share what is computed."""


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


def compared(point: Point, sides: Sides, again: Callable[[Exact], Sides], most: int = MOST_DIGITS) -> Outcome:
    """Entry by entry. ``again`` gives the sides in other numbers, for a difference that may be rounding."""
    wrong = undefined = None
    decided = still_open = 0
    known = {EXACT.digits: sides}
    for at in np.ndindex(*sides.true.shape):
        claimed, true = sides.claimed[at], sides.true[at]
        if not finite(true):
            still_open += 1
            continue
        decided += 1
        start = EXACT.digits if finite(claimed) else None
        if start is None and undefined is None:
            start = _defined(known, at, again, most)
        if start is None and point.has_large_numbers and not _certain(true):
            decided, still_open = decided - 1, still_open + 1
        elif start is None:
            undefined = undefined or at
        elif wrong is None and not (start == EXACT.digits and equal(claimed, true)):
            differs = _exact(claimed, true) or _differ(known, at, again, most, start)
            if differs and _cancelled(known[max(known)], at) and point.has_large_numbers:
                differs = None
            if differs:
                wrong = at
            elif differs is None:
                decided, still_open = decided - 1, still_open + 1
    return Outcome(point, sides, wrong, undefined, decided, still_open)


def differing(outcome: Outcome, at: tuple[int, ...], again: Callable[[Exact], Sides]) -> bool:
    """Whether the sides differ at one entry, where they have values at all."""
    assert outcome.sides is not None
    claimed, true = outcome.sides.claimed[at], outcome.sides.true[at]
    if not (finite(claimed) and finite(true)) or equal(claimed, true):
        return False
    return _exact(claimed, true) or bool(_differ({EXACT.digits: outcome.sides}, at, again, MOST_DIGITS))


def _exact(*numbers: Any) -> bool:
    """Whether numbers are rational, so that they differ where they differ."""
    return all(isinstance(n, int | Fraction) for n in numbers)


def _defined(known: dict[int, Sides], at: tuple[int, ...], again: Callable[[Exact], Sides], most: int) -> int | None:
    """With how many digits a claim has a value that has none with few, as where it divides by ``1 - tanh(100)**2``.

    With most digits first: what has no value then has none with fewer.
    """
    steps = [n for n in _LADDER if n <= min(most, ZERO_DIGITS)]

    def has_value(digits: int) -> bool:
        if digits not in known:
            known[digits] = again(with_digits(digits))
        return finite(known[digits].claimed[at])

    if not steps or _certain(known[EXACT.digits].true[at]) or not has_value(steps[-1]):
        return None
    return next(n for n in steps if has_value(n))


def _differ(
    known: dict[int, Sides], at: tuple[int, ...], again: Callable[[Exact], Sides], most: int, start: int = EXACT.digits
) -> bool | None:
    """Whether two entries differ that seem to: with more digits, a difference vanishes or stays.

    There must be enough digits to see a number as small as ``1 - sigmoid(1000)`` beside 1. Where few digits agreed by
    luck, more do not make the difference much smaller, but let it be seen that the numbers agree.
    """
    digits = start
    before = _pair(known[digits], at, digits)
    while True:
        least = max(2 * digits + 20, _leading_zeros(before) + EXACT.digits)
        if least > most:
            return None
        digits = next(n for n in _LADDER if n >= least)
        if digits not in known:
            known[digits] = again(with_digits(digits))
        after = _pair(known[digits], at, digits)
        if vanishes(before[0] - before[1], after[0] - after[1]) or equal(*after):
            return False
        if _apart(before, after, digits) and (digits >= ZERO_DIGITS or not _cancelled(known[digits], at)):
            return True
        before = after


def _apart(before: tuple[Any, Any], after: tuple[Any, Any], digits: int) -> bool:
    """Whether two numbers are known well enough to be told apart: each stays with more digits, or one is 0.

    A number that shrinks as digits are added is 0, and the other is not where it stays, far above what is left of it.
    """
    kept = [n for n in (0, 1) if not (vanishes(before[n], after[n]) and abs(after[n]) <= _STEADY * abs(after[1 - n]))]
    enough = _leading_zeros(tuple(after[n] for n in kept)) + EXACT.digits <= digits
    return bool(kept) and enough and all(_steady(before[n], after[n]) for n in kept)


def _certain(number: Any) -> bool:
    """Whether a number cannot be what is left of others that cancelled: a rational one that is not 0."""
    return _exact(number) and bool(number)


def _cancelled(sides: Sides, at: tuple[int, ...]) -> bool:
    """Whether one of two entries is a 0 that may be what digits have left of a number: no rational one."""
    return any(not n and not _exact(n) for n in (sides.claimed[at], sides.true[at]))


def _pair(sides: Sides, at: tuple[int, ...], digits: int) -> tuple[Any, Any]:
    base = with_digits(digits)
    return base.lift(sides.claimed[at]), base.lift(sides.true[at])


def _leading_zeros(numbers: tuple[Any, ...]) -> int:
    """How many digits behind the point are zero in the smallest of some numbers that is not 0."""
    sizes = [abs(n) for n in numbers if n]
    return max(0, -int(EXACT.context.log10(min(sizes)))) if sizes else 0


def _steady(before: Any, after: Any) -> bool:
    return bool(abs(after - before) <= _STEADY * max(abs(after), abs(before)))


_STEADY = 1e-10

_WITH_DIGITS = {EXACT.digits: EXACT}


def with_digits(digits: int) -> Exact:
    """Exact numbers, of so many digits where they are not rational."""
    if digits not in _WITH_DIGITS:
        _WITH_DIGITS[digits] = Exact(digits)
        _WITH_DIGITS[digits].name = f"exact to {digits} digits"
    return _WITH_DIGITS[digits]
