"""Claims that are wrong only where random numbers do not come: tiny values, far branches, other constants."""

from __future__ import annotations

import numpy as np
import pytest

from symderive import spec as specs
from symderive.check.exact import EXACT, Exact
from symderive.claims import judge_text
from symderive.claims.bench import Sides
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
