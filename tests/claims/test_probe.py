"""Borders of indices and sizes: at many sizes they are worth what they are on a bench of each."""

from __future__ import annotations

import numpy as np
import pytest

from symderive import spec as specs
from symderive.claims.borders import borders
from symderive.claims.probe import Hollow, Probe
from tests.claims.trials import trial_of

SPEC = specs.loads(
    "name: op\nsizes: {N: 3, D: 2, R: 2}\nconstants: {c: 4}\ninputs: {x: [N, D], w: [R], z: [N + R]}\n"
    "forward: |\n  y[n, d] = x[n, d]**2 + sum[r](w[r] * z[n + r])\n"
)
SIZES = ({"N": 3, "D": 2, "R": 4}, {"N": 2, "D": 5, "R": 1}, {"N": 6, "D": 6, "R": 2}, {"N": 1, "D": 1, "R": 1})


@pytest.mark.parametrize(
    ("text", "symbolic"),
    [
        ("dx[n, d] = where(n == d + 1, 2, 3) * x[n, d] * dy[n, d]", True),
        ("dx[i, k] = where(2 * i < N - k, 2, 3) * x[i, k] * dy[i, k]", True),
        ("dw[r] = sum[n, d : n >= r](z[n + r] * dy[n, d])", True),
        ("dz[m] = sum[n, d, r : n + r == m](w[r] * dy[n, d]) * where(m < N + R - c, 1, 1)", True),
        ("dx = where(sum[n : n < 2](n) > D, 2, 2) * x * dy", False),
    ],
)
def test_borders_are_those_of_a_bench(text, symbolic):
    trial = trial_of(SPEC, text)
    probe = Probe(trial)
    drawn = [b for b in borders(trial) if probe.is_sized(b)]
    assert drawn
    assert any(probe._symbolic(b) is not None for b in drawn) == symbolic
    for border in drawn:
        for sizes in SIZES:
            found, expected = probe.at_sizes(border, sizes), probe.values(border, Hollow(sizes, {}, {}))
            assert (found is None) == (expected is None)
            assert found is None or np.array_equal(found, expected), (border.node, sizes)
