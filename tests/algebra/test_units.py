"""Axes of length 1: their index is 0, and what broadcasts is read whole."""

from __future__ import annotations

import pytest

from symderive import api
from symderive.algebra.derive import derive
from symderive.lower import lower
from symderive.spec import loads
from tests.algebra.test_textbook import index_forms
from tests.algebra.test_values import assert_true

HEAD = (
    "name: op\nsizes: {N: 3, J: 4}\nindices: {n: N, r: 1}\n"
    "inputs: {x: [N, J], b: [1, J], s: [N, 1], c: [1], w: [J, 1], W: [1, J], m: [2, J]}\nforward: |\n"
)
BROADCAST = "y[n, j] = (x[n, j] + b[0, j]) * s[n, 0] + c[0]"
WINDOW = "y[n] = sum[j, r](x[n + r, j] * w[j, r])"
ONE_OUTPUT = "z[n, o] = sum[j](x[n, j] * W[o, j])"
ONE_OF_TWO = "y[n, j] = x[n, j] * m[0, j]"
SHIFTED = "y[n] = max[r](x[n + r, 2 * r]) * sum[o : o < 1](s[n, o] * (1 + o))"

FORMS = [
    (BROADCAST, "dx[n, j] = dy[n, j] * s[n, 0]", "dx = dy * s"),
    (BROADCAST, "db[r, j] = sum[n](dy[n, j] * s[n, 0])", "db = s.T @ dy"),
    (BROADCAST, "ds[n, r] = sum[j](dy[n, j] * (b[0, j] + x[n, j]))", "ds = (dy * (x + b)).sum(-1, keepdim=True)"),
    (BROADCAST, "dc[r] = sum[n, j](dy[n, j])", "dc = dy.sum()[None]"),
    (WINDOW, "dx[n, j] = dy[n] * w[j, 0]", "dx = w[:, 0] * dy[:, None]"),
    (WINDOW, "dw[j, r] = sum[n](x[n, j] * dy[n])", "dw = (dy @ x)[:, None]"),
    (ONE_OUTPUT, "dx[n, j] = sum[o](dz[n, o] * W[o, j])", "dx = dz @ W"),
    (ONE_OF_TWO, "dm[i, j] = delta(i, 0) * sum[n](dy[n, j] * x[n, j])", None),
]


@pytest.mark.parametrize(("forward", "index", "array"), FORMS, ids=[f[1].partition("[")[0] for f in FORMS])
def test_the_gradient_of(forward, index, array):
    text = f"{HEAD}  {forward}\n"
    assert index in index_forms(text)
    if array is not None:
        gradients = api.derive(api.loads(text)).gradients
        assert array in [g.array for g in gradients.values()]


def test_it_is_a_step_of_its_own():
    gradients = derive(loads(f"{HEAD}  {BROADCAST}\n")).gradients
    assert "unit_axis" in [s.rule for s in gradients["b"].steps]
    assert "unit_axis" not in [s.rule for s in gradients["x"].steps]


@pytest.mark.parametrize("forward", [BROADCAST, WINDOW, ONE_OUTPUT, ONE_OF_TWO, SHIFTED])
def test_the_gradient_is_the_true_one(forward):
    assert_true(derive(loads(f"{HEAD}  {forward}\n")))


def test_no_index_of_a_longer_axis_is_taken_for_0():
    assert "delta(i, 0)" in index_forms(f"{HEAD}  {ONE_OF_TWO}\n")[-1]


def test_a_matrix_with_one_entry_is_one():
    text = "name: op\nsizes: {}\ninputs: {A: {shape: [1, 1], assume: spd}}\nforward: |\n"
    derivation = derive(loads(f"{text}  L[i, j] = cholesky[i, j](A[i, j])\n"))
    assert_true(derivation)
    assert lower(derivation.backward).outputs == ("dA",)
