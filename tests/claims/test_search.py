"""The search for what is wrong: how far it goes is counted, not timed, and it does not look where nothing can be."""

from __future__ import annotations

import pytest

from symderive import spec as specs
from symderive.claims import conditions, desk, judge_text, reach
from symderive.claims.court import Court
from symderive.claims.trial import Trial
from symderive.spec.claims import parse_lines
from tests.claims.test_adversaries import SPECS

LAYER = specs.loads(
    "name: op\nsizes: {N: 2, K: 3, J: 5}\ninputs: {x: [N, K], W: [J, K], b: [J]}\n"
    "forward: |\n  s[i, j] = sum[k](x[i, k] * W[j, k]) + b[j]\n  y[i, j] = tanh(s[i, j])\n"
)
WRONG = (
    "dW = (dy * (1 - y)).T @ x",
    "dx = (dy * (1 + y**2)) @ W",
    "db = dy.sum(0)",
    "dW = 1.00000001 * ds.T @ x",
    "dx[i, k] = sum[j](dy[i, j] * x[i, k])",
)


def diagnosis(text, spec=LAYER):
    (result,) = judge_text(spec, text)
    return result.verdict, result.diagnosis.kind, result.diagnosis.sentence


@pytest.mark.parametrize("text", WRONG)
def test_what_is_said_does_not_depend_on_how_fast_a_machine_is(text, monkeypatch):
    expected = diagnosis(text)
    clock = iter(range(10**9))
    monkeypatch.setattr(desk.time, "thread_time", lambda: next(clock) * 1e-3)
    assert diagnosis(text) == expected


def test_a_search_that_is_given_up_says_so(monkeypatch):
    assert "given up" not in diagnosis(WRONG[-1])[2]
    monkeypatch.setattr(desk, "MOST_WORK", -1)
    assert diagnosis(WRONG[-1])[1] == "unknown"
    assert "given up" in diagnosis(WRONG[-1])[2]


def test_a_change_that_says_the_same_is_not_judged(monkeypatch):
    """Where a factor is 1 + 1e-8, floats take everything that is equal to the claim for the truth."""
    judged = []
    real = Trial.is_right
    monkeypatch.setattr(Trial, "is_right", lambda self: judged.append(self.node) or real(self))
    assert diagnosis("dx = 1.00000001 * (ds @ W)")[1] == "factor"
    assert len(judged) == 1


def test_no_condition_is_looked_for_under_which_three_times_the_truth_is_right(monkeypatch):
    tried = []
    alone, together = conditions.holds, conditions.refuted
    monkeypatch.setattr(conditions, "holds", lambda *a: tried.append(a[1].text) or alone(*a))
    monkeypatch.setattr(conditions, "refuted", lambda *a: tried.extend(c.text for c in a[1]) or together(*a))
    assert diagnosis("dx = 3 * ds @ W")[:2] == ("wrong", "factor")
    assert not tried
    assert diagnosis("dx = 3 * x + ds @ W")[0] == "wrong"
    assert "rows of x summing to 1" in tried


def test_derivatives_of_many_entries_are_not_taken():
    (statement,), _ = parse_lines("D(ds[i, j], W[p, q]) = 0")
    court = Court(LAYER, [statement], "")
    trial = Trial(court, court.lines[0], statement.sides[0])
    assert reach.few_derivatives(trial, {"N": 2, "K": 30, "J": 5})
    assert not reach.few_derivatives(trial, {"N": 20, "K": 30, "J": 5})


def test_sizes_that_are_too_large_to_be_computed_with_leave_a_claim_open():
    (result,) = judge_text(SPECS["form"], "dA[i, j] = x[i]*x[j]*where(N > 3000, 2, 1)")
    assert result.verdict is None
    assert "too large" in result.detail
