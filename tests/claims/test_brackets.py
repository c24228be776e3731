"""A change of sign is found between neighbours, in few steps where the function is smooth, and never in many."""

from __future__ import annotations

import math

import pytest

from symderive.claims.brackets import bracketed

STEPS = 2**48


@pytest.mark.parametrize(
    ("function", "most"),
    [
        (lambda t: t - 0.3, 9),
        (lambda t: 0.25 - t, 9),
        (lambda t: t * t - 0.3, 10),
        (lambda t: math.tanh(50 * (t - 0.71)), 13),
        (lambda t: t - 1e-14, 9),
        (lambda t: (1 - 1e-14) - t, 9),
        (lambda t: (t - 0.5) ** 3, 50),
        (lambda t: t**9 - 1e-9, 50),
        (lambda t: 1 if t > 0.4 else -1e-9, 50),
        (lambda t: max(t - 0.7, 0) - (t < 0.6), 50),
        (lambda t: math.inf if t > 0.9 else -1, 50),
        (lambda t: math.nan if t > 0.9 else -1, 50),
    ],
)
def test_the_sign_changes_between_two_neighbours(function, most):
    asked = []

    def value(step):
        asked.append(step)
        return float(function(step / STEPS))

    first = value(0)
    low, high = bracketed(value, STEPS, first, value(STEPS))
    assert high == low + 1
    assert value(low) * first > 0
    assert not value(high) * first > 0
    assert len(asked) - 4 <= most
