"""Products of matrices are written with as few transposes as there can be."""

from __future__ import annotations

import pytest

from symderive.api import derive, loads

SPEC = """
name: sandwich
sizes: {N: 3, K: 4}
inputs:
  H: [N, K]
  P: [K, K]
forward: |
  S[i, j] = sum[k, l](H[i, k] * P[k, l] * H[j, l])
"""


@pytest.mark.parametrize(
    ("gradient", "form"), [("P", "dP = H.T @ (dS @ H)"), ("H", "dH = dS.T @ (H @ P) + dS @ (H @ P.T)")]
)
def test_a_transposed_product_is_the_product_of_the_transposes(gradient, form):
    assert derive(loads(SPEC)).gradients[gradient].array == form
