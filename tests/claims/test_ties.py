"""On a kink of the forward a claim is judged where the forward has a derivative all the same."""

from __future__ import annotations

import pytest

from symderive import spec as specs
from symderive.claims import judge_text
from symderive.claims.court import Court
from symderive.spec.claims import parse_lines

DATA = """
name: data
sizes: {N: 3}
inputs:
  x: [N]
  k: {shape: [N], assume: nonnegative}
  t: [N]
forward: |
  y[n] = where(k[n] == 0, x[n]**2, x[n]) + where(t[n] > 0, x[n], 2 * x[n]) + abs(t[n]) * x[n]
"""

PIECES = """
name: pieces
sizes: {{N: 3}}
inputs:
  x: [N]
forward: |
  z[n] = {}
"""

SMOOTH = PIECES.format("x[n] * abs(x[n])")
SOFTPLUS = PIECES.format("max(x[n], 0) + log(1 + exp(-abs(x[n])))")
KINKED = PIECES.format("abs(x[n])")


def judged(text, claim):
    (result,) = judge_text(specs.loads(text), claim)
    return result


REGRESSION = """
name: regression
sizes: {N: 4, K: 2}
inputs:
  X: {shape: [N, K], grad: false}
  y: {shape: [N], grad: false}
  w: [K]
forward: |
  r[n] = y[n] - sum[k](X[n, k] * w[k])
  L = mean[n](abs(r[n]))
"""


@pytest.mark.parametrize("seed", range(6))
def test_no_value_on_a_kink_is_none_by_an_entry_that_is_not_on_it_either(seed):
    """``r`` is 0, and an entry of X, too: there is a derivative by its entry of w, not by the others."""
    text = "dw = -X.T @ (r / abs(r)) / N"
    statements, _ = parse_lines(text)
    (result,) = Court(specs.loads(REGRESSION), statements, text, seed=seed).results()
    assert result.verdict == "right"


RIGHT = "dx = dy * (where(k == 0, 2 * x, 1) + where(t > 0, 1, 2) + abs(t))"


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (RIGHT, "right"),
        (RIGHT.replace("t > 0, 1, 2", "t <= 0, 2, 1"), "right"),
        (RIGHT.replace("t > 0", "t >= 0"), "wrong"),
        (RIGHT.replace("where(k == 0, 2 * x, 1)", "1"), "wrong"),
        (RIGHT.replace("2 * x", "x"), "wrong"),
        (RIGHT.replace("abs(t)", "t**2 / abs(t)"), "conditional"),
        ("dt = dy * sign(t) * x", "right"),
        ("dt = dy * where(t > 0, x, -x)", "right"),
    ],
)
def test_a_kink_in_data_is_none_for_the_tensor_of_the_claim(claim, verdict):
    assert judged(DATA, claim).verdict == verdict


@pytest.mark.parametrize(
    ("claim", "verdict", "detail"),
    [
        ("dx = 2 * dz * abs(x)", "right", ""),
        ("dx = 2 * dz * x * sign(x)", "right", "a kink, and nothing"),
        ("dx = 2 * dz * x**2 / abs(x)", "conditional", ""),
        ("dx = dz * where(x == 0, 5, 2 * abs(x))", "wrong", ""),
        ("dx = dz * (2 * abs(x) + where(x > 0, 0, where(x < 0, 0, 5)))", "right", "the claim gives"),
    ],
)
def test_pieces_that_meet_smoothly(claim, verdict, detail):
    result = judged(SMOOTH, claim)
    assert result.verdict == verdict
    assert detail in result.detail


def test_a_convention_in_one_piece_is_noted():
    result = judged(SOFTPLUS, "dx = dz * (where(x > 0, 1, 0) - sign(x) * exp(-abs(x)) / (1 + exp(-abs(x))))")
    assert result.verdict == "right"
    assert result.detail.startswith("on a kink where the forward has a derivative all the same the claim gives")


@pytest.mark.parametrize("claim", ["dx = dz * sign(x)", "dx = dz * x / abs(x)", "dx = dz * where(x == 0, 5, sign(x))"])
def test_where_there_is_no_derivative_anything_will_do(claim):
    assert judged(KINKED, claim).verdict == "right"


SCALAR = """
name: scalar
sizes: {D: 2}
inputs:
  L: [D, D]
  q: []
forward: |
  z[i] = sum[j : j <= i](L[i, j])
  y = sum[i](log(abs(L[i, i]))) + log(abs(q))
output: [z, y]
"""


def test_where_the_forward_has_no_value_nothing_is_decided():
    result = judged(SCALAR, "dL[i, j] = delta(i, j) * dy * sign(L[i, i]) / abs(L[i, i]) + where(j <= i, dz[i], 0)")
    assert result.verdict == "right"


def test_a_kink_in_a_scalar_is_looked_for_on_both_sides():
    assert judged(SCALAR, "dq = dy / abs(q)").verdict == "wrong"


BRANCHES = """
name: branches
sizes: {N: 4}
inputs:
  x: [N]
  k: {shape: [N], grad: false}
  t: {shape: [N], grad: false}
forward: |
  y[i] = where(k[i] == 0, x[i]**2, x[i])
  z[i] = abs(x[i]) * x[i]
  w[i] = max(x[i], k[i])
  u[i] = where(k[i] <= 1, 2 * y[i], y[i])
  v[i] = where(t[i] < 1/2, x[i]**2, x[i])
  L = sum[i](y[i] + z[i] + w[i] + u[i]**2 + v[i])
"""


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("y = x", "wrong"),
        ("y = where(k == 0, x * x, x)", "right"),
        ("w = where(x > k, x, k)", "right"),
        ("w = where(x == k, 7, max(x, k))", "wrong"),
        ("z = where(x > 0, x**2, -x**2)", "right"),
        ("z = x**3 / abs(x)", "conditional"),
        ("z = where(x == 0, 1, x * abs(x))", "wrong"),
        ("u[i] = where(k[i] < 1, 2 * y[i], y[i])", "wrong"),
    ],
)
def test_a_tensor_has_a_value_on_every_kink(claim, verdict):
    assert judged(BRANCHES, claim).verdict == verdict


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("D(y[i], x[j]) = delta(i, j) * where(k[i] == 0, 2 * x[i], 1)", "right"),
        ("D(y[i], x[j]) = delta(i, j)", "wrong"),
        ("D(z[i], x[j]) = delta(i, j) * 2 * abs(x[i])", "right"),
        ("D(z[i], x[j]) = delta(i, j) * where(x[i] == 0, 3, 2 * abs(x[i]))", "wrong"),
        ("D(w[i], x[j]) = delta(i, j) * where(x[i] >= k[i], 1, 0)", "right"),
        ("D(u[i], y[j]) = delta(i, j) * where(k[i] <= 1, 2, 1)", "right"),
        ("D(u[i], y[j]) = delta(i, j) * where(k[i] < 1, 2, 1)", "wrong"),
        ("D(dv[i], x[j]) = 0", "right"),
    ],
)
def test_an_entry_of_a_jacobian_is_one_where_data_choose(claim, verdict):
    assert judged(BRANCHES, claim).verdict == verdict


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("dy = 1 + where(k <= 1, 4, 2) * u", "right"),
        ("dy = 1 + where(k < 1, 4, 2) * u", "wrong"),
        ("dx = dy * where(k == 0, 2 * x, 1) + 2 * abs(x) + where(x > k, 1, 0) + where(t < 1/2, 2 * x, 1)", "right"),
        ("dx = dy * where(k == 0, 2 * x, 1) + 2 * abs(x) + where(x > k, 1, 0) + where(t <= 1/2, 2 * x, 1)", "wrong"),
    ],
)
def test_a_border_of_data_has_one_right_side(claim, verdict):
    assert judged(BRANCHES, claim).verdict == verdict


def test_a_chain_of_helpers_is_not_judged_on_kinks():
    results = judge_text(specs.loads(KINKED), "h = sign(x) = where(x > 0, 1, -1)\ndx = dz * h")
    assert [r.verdict for r in results] == ["right", "right"]
