"""Gradients that are 0 are known to be, also where the sum that vanishes stands among others."""

from __future__ import annotations

from symderive import api

COVARIANCE = """
name: covariance
sizes: {N: 4, D: 3}
inputs: {z: [N, D]}
forward: |
  m[d] = mean[n](z[n, d])
  c[i, j] = sum[n]((z[n, i] - m[i]) * (z[n, j] - m[j])) / (N - 1)
  L = sum[i, j : i != j](c[i, j]**2) / D
"""


def test_what_is_centred_receives_nothing_through_its_mean():
    equations = api.derive(api.loads(COVARIANCE)).equations()
    assert not any(line.startswith("dm[") or "dm[" in line for line in equations), equations
    assert any(line.startswith("dz[") for line in equations)
