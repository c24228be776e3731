"""Branches, comparisons and quotients come out as one would write them."""

from __future__ import annotations

import pytest

from tests.algebra.test_textbook import index_forms, op

FORMS = [
    (
        "where(x[n, k] <= -1, -1, where(x[n, k] >= 1, 1, x[n, k]))",
        "dx[n, k] = where(x[n, k] > -1 and x[n, k] < 1, dy[n, k], 0)",
    ),
    (
        "where(x[n, k] > 2, x[n, k] - 2, where(x[n, k] < -2, x[n, k] + 2, 0))",
        "dx[n, k] = where(x[n, k] > 2 or x[n, k] < -2, dy[n, k], 0)",
    ),
    (
        "where(x[n, k] <= 0, 0, where(x[n, k] >= 3, x[n, k], x[n, k]**2 / 3))",
        "dx[n, k] = where(x[n, k] <= 0, 0, dy[n, k] * where(x[n, k] >= 3, 1, 2 * x[n, k] / 3))",
    ),
    (
        "where(x[n, k] >= 3, 2 * x[n, k], where(x[n, k] > 1, x[n, k]**2, 0))",
        "dx[n, k] = dy[n, k] * where(x[n, k] >= 3, 2, where(x[n, k] > 1, 2 * x[n, k], 0))",
    ),
    ("relu(1 - x[n, k])**2", "dx[n, k] = -2 * dy[n, k] * relu(1 - x[n, k])"),
    ("x[n, k] / (1 + abs(x[n, k]))", "dx[n, k] = dy[n, k] / (abs(x[n, k]) + 1)**2"),
    ("x[n, k] / (2 + x[n, k])", "dx[n, k] = 2 * dy[n, k] / (x[n, k] + 2)**2"),
    ("abs(x[n, k])**3", "dx[n, k] = 3 * dy[n, k] * x[n, k] * abs(x[n, k])"),
    ("log(abs(x[n, k]))", "dx[n, k] = dy[n, k] / x[n, k]"),
    ("log(abs(x[n, k]))**2", "dx[n, k] = 2 * dy[n, k] * log(abs(x[n, k])) / x[n, k]"),
    ("log(1 + abs(x[n, k]))", "dx[n, k] = dy[n, k] * sign(x[n, k]) / (abs(x[n, k]) + 1)"),
    ("1 / abs(x[n, k])", "dx[n, k] = -y[n, k]**2 * dy[n, k] * sign(x[n, k])"),
    ("1 / abs(x[n, k])**2", "dx[n, k] = -2 * dy[n, k] / x[n, k]**3"),
    ("0.044715 * x[n, k]**3", "dx[n, k] = 0.134145 * x[n, k]**2 * dy[n, k]"),
]


@pytest.mark.parametrize(("forward", "gradient"), FORMS, ids=[f for f, _ in FORMS])
def test_the_gradient_of(forward, gradient):
    assert index_forms(op("{x: [N, K]}", [f"y[n, k] = {forward}"])) == [gradient]


def test_only_what_may_leave_its_range_is_padded():
    text = "name: op\nsizes: {'...': [2], H: 3}\nindices: {h: H}\ninputs: {x: [..., 2*H]}\nforward: |\n"
    text += "  a[..., h] = x[..., h]\n  g[..., h] = sigmoid(x[..., H + h])\n  y[..., h] = a[..., h] * g[..., h]\n"
    gradient = index_forms(text)[-1]
    assert "x[..., i]" in gradient
    assert "pad(x[..., i])" not in gradient


def test_a_power_of_what_is_padded_needs_no_guard():
    text = "name: op\nsizes: {T: 5}\nindices: {h: T - 1}\ninputs: {x: [T]}\nforward: |\n"
    text += "  y[h] = x[h]**2 * x[h + 1]**3\n"
    assert "where" not in index_forms(text)[-1]


def test_a_constant_compared_with_indices_is_a_number():
    text = "name: op\nsizes: {T: 5, R: 3}\nconstants: {s: 2}\nindices: {q: s*(T - 1) + R}\ninputs: {x: [T], w: [R]}\n"
    text += "forward: |\n  y[q] = sum[t, r : s*t + r == q](x[t] * w[r])\n"
    assert index_forms(text) == ["dx[t] = sum[r](dy[2 * t + r] * w[r])", "dw[r] = sum[t](dy[2 * t + r] * x[t])"]
