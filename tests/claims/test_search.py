"""The search for what is wrong: how far it goes is counted, not timed, and it does not look where nothing can be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from symderive import spec as specs
from symderive.check.objects import objects
from symderive.claims import candidates, desk, jacobians, judge_text, reach, scouting, term_factors
from symderive.claims.borders import borders
from symderive.claims.court import Court
from symderive.claims.lines import ClaimError
from symderive.claims.parts import in_scope
from symderive.claims.points import Point
from symderive.claims.probe import Probe
from symderive.claims.trial import Trial
from symderive.spec.claims import parse_lines
from symderive.spec.format import to_text
from symderive.spec.parse import parse_expression
from tests.claims.test_adversaries import SPECS
from tests.claims.trials import trial_of

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
    alone, together = candidates.holds, candidates.refuted
    monkeypatch.setattr(candidates, "holds", lambda *a: tried.append(a[1].text) or alone(*a))
    monkeypatch.setattr(candidates, "refuted", lambda *a: tried.extend(c.text for c in a[1]) or together(*a))
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


def test_what_is_said_of_the_indices_of_a_claim_is_forgotten_where_a_name_gets_another_meaning():
    trial = trial_of(LAYER, "db[j] = sum[i](dy[i, j])")
    bench = trial.court.bench(trial.court.points.main[0])
    sums = bench.sides(trial.line, trial.node).claimed
    assert bench.said
    bench.put("dy", 2 * bench.tensors["dy"])
    assert (bench.sides(trial.line, trial.node).claimed == 2 * sums).all()
    bench.put("dy", bench.tensors["dy"][0])
    with pytest.raises(ClaimError, match="dy has 1 axis, and is given 2 indices"):
        bench.sides(trial.line, trial.node)


def test_no_index_is_put_where_one_of_another_extent_stands():
    trial = trial_of(LAYER, "dx[i, k] = sum[j](dy[i, j] * W[j, k])")
    bench_desk = desk.Desk(trial, trial.at(trial.court.points.main[0]), None)
    part = parse_expression("x[i, k]")
    found = [to_text(n) for n in in_scope(bench_desk, part, ["i", "k", "j"], trial.node)]
    assert found == ["x[i, k]"]
    assert [to_text(n) for n in in_scope(bench_desk, parse_expression("i < k"), ["i", "j"], trial.node)] == [
        "i < j",
        "j < i",
    ]


def test_a_border_of_sizes_is_worth_the_same_at_all_choices_at_once():
    trial = trial_of(LAYER, "m = N * K\ndb[j] = sum[i](dy[i, j]) / (m - 2)")
    probe = Probe(trial)
    (border,) = borders(trial)
    choices = [{"N": n, "K": k, "J": 2} for n in (1, 2, 5) for k in (1, 3)]
    once = list(probe.over_sizes(border, choices))
    assert [sizes for sizes, _ in once] == choices
    assert [v.tolist() for _, v in once] == [np.ravel(probe.at_sizes(border, s)).tolist() for s in choices]
    assert [v.item() for _, v in once] == [-1, 1, 0, 4, 3, 13]


def test_a_border_that_is_not_computed_over_all_sizes_at_once_is_computed_at_each():
    trial = trial_of(LAYER, "dW = (dy * (1 - y**2)).T @ x / (N - trace(eye(N)) + 1)")
    probe = Probe(trial)
    (border,) = borders(trial)
    once = list(probe.over_sizes(border, [{"N": 2, "K": 3, "J": 4}, {"N": 5, "K": 3, "J": 4}]))
    assert [np.ravel(v).tolist() for _, v in once] == [[1], [1]]


def test_a_formula_of_a_jacobian_that_nobody_would_read_is_not_looked_for(monkeypatch):
    claim = "D(ds[i, j], W[p, q]) = 0"
    assert trial_of(LAYER, claim).formula() is not None
    monkeypatch.setattr(jacobians, "LONGEST", 5)
    assert trial_of(LAYER, claim).formula() is None
    assert judge_text(LAYER, claim)[0].verdict == "wrong"


MASKS = specs.loads(
    "name: masks\nsizes: {N: 4}\ninputs: {x: [N], c: {shape: [N], index: 3}}\nforward: |\n"
    "  m[i, j] = where(c[i] == c[j] and i != j, 1, 0)\n  k[i] = sum[j](m[i, j])\n"
    "  y[i] = (sum[j](m[i, j] * x[j]) - x[i]) / max(k[i], 1)\n"
)


def test_what_the_forward_divides_by_may_be_lacking_in_a_term():
    trial = trial_of(MASKS, "dx[i] = sum[j](m[i, j] * dy[j] / max(k[j], 1)) - dy[i]")
    failed = next(o for p in trial.court.points.main if (o := trial.at(p)).failed)
    found = term_factors.lacking_in_a_term(desk.Desk(trial, failed, None))
    assert found is not None
    assert found.sentence == "The division of the term dy[i] by max(k[i], 1) is missing."


def test_a_product_of_all_that_a_claim_is_is_no_term_that_it_lacks():
    spec = specs.loads(
        "name: steps\nsizes: {J: 3}\ninputs: {W: [J, J], c: {shape: [J], grad: false}, x: [J]}\nforward: |\n"
        "  h[j] = tanh(x[j])\n  L = sum[j](c[j] * tanh(sum[k](W[j, k] * h[k])))\n"
    )
    claim = "d[k] = sum[j](W[j, k] * c[j] * (1 - tanh(sum[i](W[j, i] * h[i]))**2)) * (1 - h[k]**2)\ndh[k] = d[k]"
    (result,) = judge_text(spec, claim)
    assert result.verdict == "wrong"
    assert result.diagnosis.kind in ("factor", "other_variable")


def test_what_rounding_leaves_of_0_is_not_far_off():
    """In floats the sum is not 0, and so not what the claim makes of the same numbers in another order."""
    op = specs.loads("name: op\nsizes: {N: 4}\ninputs: {y: [N], b: []}\nforward: L = b * sum[n](y[n])\n")
    numbers = objects(np.array([Fraction(-4, 15), Fraction(-17, 15), Fraction(16, 15), Fraction(1, 3)]))
    point = Point({"N": 4}, {"y": numbers, "b": objects(1)}, {"L": objects(1)})
    close, apart = (trial_of(op, f"db = 2 * y.mean() * 2 + {rest}") for rest in ("0", "1/100"))
    assert not scouting._is_far_off(close, point)
    assert scouting._is_far_off(apart, point)
