"""Whether two numbers are the same: exactly for rationals, to 50 digits and more for others."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from symderive.check.exact import EXACT, RATIONAL
from symderive.check.objects import floats

DIGITS = 50
_TOLERANCE = EXACT.context.mpf(10) ** -DIGITS


def finite(a: Any) -> bool:
    """Whether a plain number is neither infinite nor NaN."""
    return type(a) in RATIONAL or bool(EXACT.context.isfinite(a))


def all_finite(a: np.ndarray) -> bool:
    """Whether an array has numbers only."""
    return bool(np.isfinite(a).all()) if a.dtype == float else all(map(finite, a.flat))


def same(a: Any, b: Any) -> bool:
    """Whether two plain numbers are equal; NaN equals NaN."""
    if type(a) in RATIONAL and type(b) in RATIONAL:
        return a == b
    if not (finite(a) and finite(b)):
        return bool(a == b) or (EXACT.is_nan(a) and EXACT.is_nan(b))
    x, y = EXACT.lift(a), EXACT.lift(b)
    return bool(abs(x - y) <= _TOLERANCE * max(1, abs(x), abs(y)))


def equal(a: Any, b: Any) -> bool:
    """Whether two plain numbers agree in all digits that count, however small they are.

    What cancels leaves a rest that this takes for a difference: see ``vanishes``.
    """
    if type(a) in RATIONAL and type(b) in RATIONAL:
        return a == b
    if not (finite(a) and finite(b)):
        return bool(a == b) or (EXACT.is_nan(a) and EXACT.is_nan(b))
    x, y = EXACT.lift(a), EXACT.lift(b)
    return bool(abs(x - y) <= _TOLERANCE * max(abs(x), abs(y)))


def vanishes(coarse: Any, fine: Any) -> bool:
    """Whether a difference was only rounding: computed with more than twice the digits, it all but disappears."""
    return bool(abs(fine) <= _TOLERANCE * abs(coarse))


COARSE = 1e-7
FINE = 1e-11
"""How near floats must be to be worth an exact comparison, and not to be worth one: neither decides anything."""


FAR_OFF = 1e-2
"""How far floats are apart that rounding alone has not parted, unless very much of them cancels."""


def close_floats(a: np.ndarray, b: np.ndarray, tolerance: float = COARSE) -> bool:
    """Whether two float arrays agree well enough to be worth an exact comparison."""
    if a.shape != b.shape:
        return False
    with np.errstate(all="ignore"):
        apart = np.abs(a - b)
        near = (apart <= tolerance * (1 + np.maximum(np.abs(a), np.abs(b)))) & (apart < np.inf)
    return bool((near | (a == b) | (np.isnan(a) & np.isnan(b))).all())


def close_in_scale(a: np.ndarray, b: np.ndarray, tolerance: float = COARSE) -> bool:
    """Whether two float arrays agree beside the largest number of the second, so that all may be very small."""
    scale = np.max(np.abs(b[np.isfinite(b)]), initial=0.0) or 1.0
    return close_floats(a / scale, b / scale, tolerance)


def close_where_finite(claimed: np.ndarray, true: np.ndarray, tolerance: float = COARSE) -> bool:
    """Whether two arrays of numbers agree about, in floats, where the second is finite.

    By the fine tolerance relative to what is there, so that small numbers must agree, too.
    """
    claimed, true = floats(claimed), floats(true)
    decided = np.isfinite(true)
    claimed, true = claimed[decided], true[decided]
    if tolerance != FINE:
        return close_floats(claimed, true, tolerance)
    largest = np.max(np.abs(true), initial=0.0)
    with np.errstate(all="ignore"):
        return bool((np.abs(claimed - true) <= FINE * (np.abs(true) + largest / 100)).all())


def differences(claimed: np.ndarray, true: np.ndarray) -> Iterator[tuple[int, ...]]:
    """The entries at which two arrays of equal shape differ."""
    for at in np.ndindex(*claimed.shape):
        if not same(claimed[at], true[at]):
            yield at


def shown(a: Any) -> float | int | str:
    """A plain number for a counterexample: an integer, a short fraction, or a float."""
    if isinstance(a, bool):
        return int(a)
    if isinstance(a, int):
        return a
    if isinstance(a, Fraction):
        if a.denominator == 1:
            return a.numerator
        return float(a)
    return float(a)
