"""Claims that fail only where a class id, or an index, is a number and something else holds, too."""

from __future__ import annotations

import pytest

from symderive import spec as specs
from symderive.claims import coincidences, judge_text
from symderive.claims.coincidences import in_coincidences
from tests.claims.trials import trial_of

GATED = (
    "name: gated\nsizes: {N: 5, C: 6, K: 4}\n"
    "inputs: {x: [N], v: [C], q: [K], t: {shape: [N], index: C}, u: {shape: [N], index: K}, s: [N]}\n"
    "forward: 'L = sum[n](relu(x[n])*v[t[n]] + q[u[n]]*s[n])'\n"
)
CASES = (
    "t[n] == 3 and u[n] == 3",
    "t[n] == 5 and s[n] > 5",
    "u[n] == 3 and u[n] == t[n]",
    "t[n] == 4 and n == 3 and s[n] > 0",
)


def claim(condition):
    return f"dx[n] = where(x[n] > 0 and not ({condition}), v[t[n]], 0)"


def verdict(text):
    (result,) = judge_text(specs.loads(GATED), text)
    return result.verdict


@pytest.mark.parametrize("condition", CASES)
def test_a_class_is_met_with_what_else_must_hold(condition):
    assert verdict(claim(condition)) == "wrong"


def test_without_the_points_such_a_claim_passes(monkeypatch):
    monkeypatch.setattr(coincidences, "MOST_POINTS", 0)
    assert verdict(claim(CASES[0])) == "right"


def test_what_is_right_stays_so():
    assert verdict("dx[n] = where(x[n] > 0 and not (t[n] == 3 and u[n] == 3 and u[n] == 2), v[t[n]], 0)") == "right"
    assert verdict("dv[c] = sum[n : t[n] == c and not (c == 3 and n == 4 and n == 2)](relu(x[n]))") == "right"


def test_sizes_are_such_that_the_numbers_are_met():
    assert verdict("dv[c] = sum[n : t[n] == c and not (c == 4 and n == 4 and u[n] == 0)](relu(x[n]))") == "wrong"


def test_a_claim_of_no_such_conditions_is_not_tried_again():
    trial = trial_of(specs.loads(GATED), "dx[n] = where(x[n] > 0, v[t[n]], 0)")
    assert in_coincidences(trial) is None
    assert not trial.court.drawn
