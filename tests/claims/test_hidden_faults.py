"""Claims that are wrong only where random numbers do not come: tiny values, far branches, other constants."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from symderive import spec as specs
from symderive.check.exact import EXACT, Exact
from symderive.claims import judge_text, outcome, points
from symderive.claims.bench import Sides
from symderive.claims.compare import close_floats, close_in_scale
from symderive.claims.outcome import compared


def spec_of(forward: str, inputs: str = "x: [N]", constants: str = "") -> specs.Spec:
    rows = "".join(f"  {row}\n" for row in forward.splitlines())
    constants = f"constants: {{{constants}}}\n" if constants else ""
    return specs.loads(f"name: op\nsizes: {{N: 3}}\n{constants}inputs: {{{inputs}}}\nforward: |\n{rows}")


def verdict(spec: specs.Spec, claim: str) -> tuple[str | None, str]:
    (result,) = judge_text(spec, claim)
    return result.verdict, (result.diagnosis.condition or "") if result.diagnosis else ""


def test_a_factor_is_seen_however_small_the_values():
    spec = spec_of("y[i] = c * sin(x[i])", constants="c: 1e-60")
    assert verdict(spec, "dx = c*cos(x)*dy") == ("right", "")
    assert verdict(spec, "dx = c*cos(x)*dy + c*(sin(x)**2 + cos(x)**2 - 1)") == ("right", "")
    assert verdict(spec, "dx = c*cos(x)*dy*(1 + 1e-8)") == ("wrong", "")
    assert verdict(spec, "dx = 2*c*cos(x)*dy") == ("wrong", "")


@pytest.mark.parametrize("branch", ["x[i] > 1000, 3*x[i]", "x[i] < -100, 2*x[i]*(1 + 1e-8)", "abs(x[i]) > 1e5, 0"])
def test_a_branch_of_the_claim_is_visited_however_far_it_is(branch):
    spec = spec_of("y[i] = x[i]**2")
    assert verdict(spec, f"dx[i] = dy[i] * where({branch}, 2*x[i])") == ("wrong", "")


def test_a_condition_that_only_keeps_away_from_the_fault_is_none():
    forward = "L = sum[i](where(abs(e[i]) <= d, e[i]**2 / 2, d*(abs(e[i]) - d/2)))"
    for size in (3, 1000):
        spec = spec_of(forward, "e: [N]", f"d: {size}")
        assert verdict(spec, "de = clamp(e, -d, d)") == ("right", "")
        assert verdict(spec, "de = e") == ("wrong", "")
        assert verdict(spec, "de = where(abs(e) <= d, e, d)") == ("wrong", "")
    spec = spec_of("y[i] = relu(x[i]) * abs(w[i])", "x: [N], w: [N]")
    assert verdict(spec, "dw[i] = dy[i]*where(x[i] > 1, x[i]*sign(w[i]), 0)") == ("wrong", "")


def test_a_constant_is_varied_on_every_side_of_a_kink():
    spec = spec_of("L = sum[i](where(abs(e[i]) <= d, e[i]**2 / 2, d*(abs(e[i]) - d/2)))", "e: [N]", "d: 3")
    assert verdict(spec, "de = where(e < -d, -3, where(e > d, 3, e))") == ("conditional", "d = 3")


def test_a_formula_with_an_inverse_is_meant_where_there_is_one():
    spec = spec_of("L = det[i, j](A[i, j])", "A: [N, N]")
    assert verdict(spec, "dA = det(A) * A.inv().T") == ("right", "")
    assert verdict(spec, "dA[i, j] = L * inv[j, i](A[j, i])") == ("right", "")
    assert verdict(spec, "dA = det(A) * A.inv()") == ("conditional", "A symmetric")
    assert verdict(spec, "dA = det(A) * A.inv().T * A / A") == ("conditional", "A without zeros")


def test_a_condition_is_not_found_at_the_identity_alone():
    spec = spec_of("L = logdet[i, j](A[i, j])", "A: {shape: [N, N], assume: spd}")
    assert verdict(spec, "dA = 2*A.inv() - diag(diag(A.inv()))") == ("wrong", "")


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("dx[i] = 1 / 0", "invalid"),
        ("dx[i] = x[i] * 9**9**9**9", "invalid"),
        ("dx[i] = x[i] ** (10**9)", "wrong"),
        ("dx[i] = 2*x[i]*dy[i] / (x[i] - x[i])", "wrong"),
        ("dx[i] = dy[i] * log(-x[i]**2)", "wrong"),
        ("dx[i] = 2*x[i]**2*dy[i] / x[i]", "conditional"),
    ],
)
def test_a_claim_without_a_value_is_not_right_on_a_condition(claim, expected):
    assert verdict(spec_of("y[i] = x[i]**2"), claim)[0] == expected


def test_a_helper_without_a_value_is_refused():
    first, second = judge_text(spec_of("y[i] = x[i]**2"), "a[i] = 9**9**9**9 * x[i]\ndx[i] = a[i]")
    assert (first.verdict, second.verdict) == ("invalid", None)


def test_upstreams_of_ones_may_be_needed_together():
    spec = specs.loads(
        "name: op\nsizes: {N: 3}\ninputs: {x: [N], w: [N]}\noutput: [a, b]\n"
        "forward: |\n  a[i] = x[i] * w[i]\n  b[i] = exp(a[i])\n"
    )
    assert verdict(spec, "dx = w*(da + db*b)") == ("right", "")
    assert verdict(spec, "dx = w*(1 + b)") == ("conditional", "da = db = 1")
    assert verdict(spec, "dx = w*(1 + db*b)") == ("conditional", "da = 1")
    assert verdict(spec, "dx = w*(2 + b)")[0] == "wrong"


def test_an_element_wise_op_has_no_cross_terms_to_miss():
    spec = spec_of("y[i] = where(x[i] > 1, 7*x[i], 5*x[i])")
    (result,) = judge_text(spec, "dx[i] = dy[i] * where(x[i] > 1, 7.00000001, 5)")
    assert result.verdict == "wrong"
    assert result.diagnosis.kind != "missing_cross_terms"


def test_sizes_reach_past_the_numbers_that_a_claim_compares_with():
    spec = spec_of("y[i] = x[i]**2")
    assert verdict(spec, "dx[i] = where(i == 5, 3, 2) * x[i] * dy[i]") == ("wrong", "")
    assert verdict(spec, "dx[i] = (2 + delta(i, 9)) * x[i] * dy[i]") == ("wrong", "")
    assert verdict(spec, "dx[i] = where(i < 7, x[i] + x[i], 2*x[i]) * dy[i]")[0] == "right"


@pytest.mark.parametrize(("relative", "wrong"), [("1e-95", False), ("1e-45", True)])
def test_numbers_that_agreed_by_luck_are_not_different(relative, wrong):
    """With 60 digits they happened to agree to 93; with 140 they agree to no more, relative to their size to 95."""

    def sides(numbers: Exact) -> Sides:
        number = numbers.context.mpf
        fine = numbers.digits > EXACT.digits
        rest = number("1e-46") * (number(relative) if fine else number("4e-47"))
        true = np.array([number("1e-46")], object)
        return Sides(true + rest, true)

    assert (compared(None, sides(EXACT), sides).wrong is not None) == wrong


TRANSMITTANCE = specs.loads(
    "name: transmittance\nsizes: {B: 2, S: 4}\n"
    "inputs: {z: [B, S], dl: {shape: [B, S], assume: positive, grad: false}}\nforward: |\n"
    "  al[b, i] = 1 - exp(-softplus(z[b, i]) * dl[b, i])\n  s[b] = prod[j](1 - al[b, j])\n"
)
RATE = "dal[b, i] = -ds[b] * s[b] * exp(softplus(z[b, i]) * dl[b, i])"
QUOTIENT = "dal[b, i] = -ds[b] * s[b] / (1 - al[b, i])"


@pytest.mark.parametrize("claim", [RATE, QUOTIENT])
def test_a_number_that_is_lost_beside_1_is_not_0(claim, monkeypatch):
    """Far out, ``1 - al`` is 1e-156 and less: with 50 digits ``al`` is 1."""
    assert verdict(TRANSMITTANCE, claim) == ("right", "")
    assert verdict(TRANSMITTANCE, claim.replace("-ds", "-2 * ds"))[0] == "wrong"
    assert verdict(TRANSMITTANCE, f"{claim} * where(z[b, i] > 30, 2, 1)")[0] == "wrong"
    monkeypatch.setattr(outcome, "ZERO_DIGITS", 0)
    monkeypatch.setattr(points, "LARGE_NUMBER", 10**30)
    assert verdict(TRANSMITTANCE, claim)[0] != "right"


def test_what_is_small_throughout_is_compared_beside_what_is_small():
    tiny, other = np.array([1e-12, 0]), np.array([2e-12, 0])
    assert close_floats(tiny, other)
    assert not close_in_scale(tiny, other)
    assert close_in_scale(tiny, tiny + 1e-20)
    assert close_in_scale(0 * tiny, 0 * tiny)
    assert not close_in_scale(tiny, 0 * tiny + 1)


def test_an_exponential_of_an_enormous_number_is_out_of_reach():
    """``exp`` of 2**5000 takes log 2 to 5000 digits; of ``exp(1e25)``, which a claim meets far out, to 1e25."""
    exp, power = EXACT.functions["exp"], EXACT.power
    assert EXACT.is_nan(exp(2**5000))
    assert EXACT.is_nan(exp(exp(10**25)))
    assert EXACT.is_nan(power(exp(1), exp(10**25)))
    assert not EXACT.is_nan(exp(-(2**1000)))
    assert EXACT.is_nan(exp(EXACT.nan))
    assert isinstance(power(Fraction(3, 2), 5000), Fraction)  # of a power the bound is another one
    spec = spec_of("y[i] = exp(-exp(x[i]))")
    assert verdict(spec, "dx = -dy * y * exp(x)") == ("right", "")
    assert verdict(spec, "dx = -dy * y * exp(x) * where(x > 5, 2, 1)")[0] == "wrong"
    assert verdict(spec, "dx = -dy * y")[0] == "wrong"


DEEP = specs.loads("""
name: deep
sizes: {N: 4, K: 3, J: 5}
inputs:
  x: [N, K]
  u: [K, J]
  w: [J]
forward: |
  h[n, j] = sum[k](x[n, k] * u[k, j])
  z[n] = sum[j](h[n, j] * w[j])
  a[n] = tanh(z[n])
""")


def test_what_numbers_that_are_not_large_make_may_be_large(monkeypatch):
    """No input is, but products of three of them are: ``1 - a**2`` has some hundred zeros behind the point."""
    claim = "dz = da * (1 - a**2)**2 / (1 - a**2)"
    assert verdict(DEEP, claim) == ("right", "")
    monkeypatch.setattr(outcome, "ZERO_DIGITS", 140)
    assert verdict(DEEP, claim)[0] != "right"
