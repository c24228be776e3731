"""Where a function changes its sign."""

from __future__ import annotations

import math
from collections.abc import Callable

SLACK = 0.2
"""The part of what is left, times itself, by which a step keeps off the end that it comes near to."""


def bracketed(value: Callable[[int], float], steps: int, first: float, last: float) -> tuple[int, int]:
    """Two neighbours of the integers from 0 to ``steps`` of which only the lower one has a value of the first's sign.

    ``first`` and ``last`` are the values at both ends. By interpolation, truncation and projection: Oliveira and
    Takahashi, *An enhancement of the bisection method average performance preserving minmax optimality* (ACM TOMS 47,
    2020). It takes at most two steps more than halving does, and few where the function is smooth.
    """
    low, high = 0, steps
    most = steps.bit_length()
    while high - low > 1:
        width, half = high - low, (low + high) / 2
        reach = max(2.0**most - width / 2, 0.0)
        most -= 1
        middle = _interpolated(low, high, first, last)
        toward = math.copysign(1.0, half - middle)
        slack = SLACK * width * width / steps
        middle = middle + toward * slack if slack <= abs(half - middle) else half
        if abs(middle - half) > reach:
            middle = half - toward * reach
        at = min(max(round(middle), low + 1), high - 1)
        found = value(at)
        if found * first > 0:
            low, first = at, found
        else:
            high, last = at, found
    return low, high


def _interpolated(low: int, high: int, first: float, last: float) -> float:
    """Where a straight line through both ends is 0; the middle where that says nothing."""
    known = first * last <= 0 and math.isfinite(first - last) and first != last
    return low + (first / (first - last) if known else 0.5) * (high - low)
