"""A minus goes into a difference, but for those that the author wrote."""

from __future__ import annotations

import pytest

from tests.algebra.test_textbook import index_forms

HEAD = (
    "name: op\nsizes: {N: 3, D: 5}\ninputs: {x: [N, D], mu: [D], t: [N, D], g: [D]}\nconstants: {m: 1/5}\nforward: |\n"
)

FORMS = {
    "a sum of products with a difference": (
        "y[n, d] = g[d] * (x[n, d] - mu[d])",
        "dg[d] = sum[n](dy[n, d] * (x[n, d] - mu[d]))",
    ),
    "an error": (
        "L = sum[n, d](g[d] * (t[n, d] - x[n, d])**2)",
        "dx[n, d] = 2 * (x[n, d] - t[n, d]) * g[d]",
    ),
    "a condition stays as it is written": (
        "L = sum[n, d](relu(m - g[d] * (t[n, d] - x[n, d])))",
        "dx[n, d] = where(m - (t[n, d] - x[n, d]) * g[d] > 0, g[d], 0)",
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_signs(name):
    forward, gradient = FORMS[name]
    assert gradient in index_forms(f"{HEAD}  {forward}\n")


def test_a_named_rectifier_is_0_where_its_argument_is_negative():
    forms = index_forms(f"{HEAD}  h[n, d] = relu(1 - t[n, d] * x[n, d])\n  L = sum[n, d](h[n, d]**2)\n")
    assert "dx[n, d] = -2 * h[n, d] * t[n, d]" in forms


def test_a_delta_goes_under_the_condition_beside_it():
    forms = index_forms(
        "name: op\nsizes: {N: 3, C: 5}\nconstants: {skip: 0}\n"
        "inputs: {z: [N, C], t: {shape: [N], index: C}}\nforward: |\n"
        "  L = sum[n : t[n] != skip](logsumexp[c](z[n, c]) - z[n, t[n]])\n"
    )
    assert forms == ["dz[n, c] = where(t[n] != skip, softmax[c](z[n, c]) - delta(c, t[n]), 0)"]
