"""Claims that go through very many entries are judged at small sizes, and points of very many are made small again."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from symderive import spec as specs
from symderive.claims import crowds, judge_text, points, weight
from symderive.claims.court import Court
from symderive.claims.sizing import SmallSizes
from symderive.claims.weight import HEAVY
from tests.claims.trials import trial_of

KERNEL = specs.loads(
    "name: kernel\nsizes: {N: 2, C: 3, O: 4, H: 7, R: 2, S: 3}\n"
    "inputs: {x: [N, C, H, H], w: [O, C, R, S]}\nindices: {h: H - R + 1, v: H - S + 1}\n"
    "forward: |\n  z[n, o, h, v] = sum[c, r, s](x[n, c, h + r, v + s] * w[o, c, r, s])\n"
    "  L = sum[n, o, h, v](z[n, o, h, v]**2) / 2\n"
)
HESSIAN = (
    "D(dw[o, c, r, s], w[p, e, q, u]) = delta(o, p) * sum[n, h, v](x[n, c, h + r, v + s] * x[n, e, h + {0}, v + {1}])"
)
BOXES = specs.loads(
    "name: boxes\nsizes: {N: 3, K: 4}\ninputs: {a: [N], b: [N, K], c: [K]}\n"
    "forward: 'y[n, k] = relu(a[n] - b[n, k]) * relu(c[k])'\n"
)


def test_the_weight_of_a_claim_is_what_it_runs_over():
    sizes = {"N": 3, "K": 5}
    assert weight.weight(trial_of(BOXES, "da[n] = sum[k](dy[n, k])"), sizes) == 15
    assert weight.weight(trial_of(BOXES, "D(y[n, k], b[m, j]) = delta(n, m) * delta(k, j)"), sizes) == 225
    assert weight.weight(trial_of(BOXES, "h[n] = sum[k, m](b[m, k] * a[n])\nda[n] = h[n]"), sizes) == 45
    assert weight.weight(trial_of(BOXES, "da = dy.sum(1)"), sizes) == 0


def test_small_sizes_differ_somewhere_and_are_valid():
    chooser = SmallSizes(KERNEL)
    plan = chooser.plan()
    for a, b in itertools.combinations(chooser.names, 2):
        assert any(sizes[a] != sizes[b] for sizes in plan), (a, b)
    for name in chooser.names:
        assert name == "H" or len({sizes[name] for sizes in plan}) > 1
    assert all(chooser.valid(sizes, 2) for sizes in plan)


@pytest.mark.parametrize(("ends", "verdict"), [(("q", "u"), "right"), (("u", "q"), "invalid"), (("q", "s"), "wrong")])
def test_a_heavy_claim_is_judged_at_small_sizes(ends, verdict, monkeypatch):
    claim = HESSIAN.format(*ends)
    monkeypatch.setattr(points, "LARGE", 10**9)
    trial = trial_of(KERNEL, claim)
    assert max(weight.weight(trial, sizes) for sizes in trial.court.points.plan) > HEAVY
    judged = trial.court.trial(trial.line, trial.node)
    assert isinstance(judged.court.points.chooser, SmallSizes)
    assert judge_text(KERNEL, claim)[0].verdict == verdict


def test_what_fails_in_a_crowd_fails_at_few_entries_of_it():
    trial = trial_of(BOXES, "da[n] = sum[k](where(a[n] > b[n, k] or a[n] < -1, dy[n, k] * relu(c[k]), 0))")
    crowd = crowds.crowds(trial.court)[0]
    assert crowd.sizes["N"] * crowd.sizes["K"] > 1000
    small = crowds._narrowed(trial, crowd)
    assert {n: small.sizes[n] for n in "NK"} == {n: trial.court.points.main[0].sizes[n] for n in "NK"}
    assert trial.at(small).wrong is not None
    assert small.inputs["b"].shape == (small.sizes["N"], small.sizes["K"])
    assert {float(v) for v in small.inputs["b"].flat} <= set(np.ravel(crowd.inputs["b"]))


@pytest.mark.parametrize(
    ("inputs", "crowded"),
    [
        ("a: [N], p: [N]", {"N"}),
        ("a: [N], p: {shape: [N, K], assume: simplex}", set()),
        ("a: [N], p: {shape: [K], assume: simplex}", {"N"}),
        ("a: [N], p: [2*K]", {"N"}),
        ("a: [N], p: {shape: [N], index: K}, q: [K]", {"N"}),
    ],
)
def test_only_sizes_that_are_just_lengths_of_axes_are_those_of_a_crowd(inputs, crowded):
    sizes = "{N: 3, K: 2}" if "K" in inputs else "{N: 3}"
    spec = specs.loads(f"name: f\nsizes: {sizes}\ninputs: {{{inputs}}}\nforward: 'y[n] = relu(a[n])'\n")
    assert crowds._plain(spec) == crowded


def test_many_permutations_are_told_apart_before_each_is_judged(monkeypatch):
    claim = "D(dw[o, c, r, s], w[p, e, q, u]) = delta(o, p) * sum[n, h, v](x[n, c, h + r, v + s] * x[n, e, h, v])"
    looked = []
    real = Court.bench
    monkeypatch.setattr(Court, "bench", lambda *given: looked.append(given) or real(*given))
    assert judge_text(KERNEL, claim)[0].verdict == "wrong"
    assert len(looked) < 5000
