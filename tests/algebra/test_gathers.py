"""Sums that an integer tensor picks one term of, and sums that a real one does not."""

from __future__ import annotations

import pytest

from symderive.algebra.derive import derive
from symderive.api import Derivation
from symderive.spec import loads

EDGES = """
name: edges
sizes: {N: 4, E: 6, D: 3}
inputs:
  x: [N, D]
  w: [E]
  s: {shape: [E], index: N}
  t: {shape: [E], index: N}
forward: |
"""

CASES = [
    (
        EDGES + "  y[i, d] = x[i, d] + sum[e : t[e] == i](w[e] * x[s[e], d])",
        "dx[i, d] = dy[i, d] + sum[e : s[e] == i](dy[t[e], d] * w[e])",
    ),
    (
        EDGES + "  y[i, d] = x[i, d] + sum[e : t[e] == i](w[e] * x[s[e], d])",
        "dw[e] = sum[d](dy[t[e], d] * x[s[e], d])",
    ),
    (
        "name: r\nsizes: {N: 3, K: 4}\ninputs: {x: {shape: [N], grad: false}, f: [K], g: [N]}\n"
        "forward: |\n  y[n] = sum[k]((x[n] == k) * f[k] * g[n])",
        "dg[n] = dy[n] * sum[k]((k <= x[n] and x[n] <= k) * f[k])",
    ),
]


@pytest.mark.parametrize(("text", "line"), CASES)
def test_an_integer_tensor_picks_an_entry_and_a_real_one_does_not(text, line):
    equations = Derivation(derive(loads(text))).equations()
    assert line in equations, equations
