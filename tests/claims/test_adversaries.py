"""Claims that are wrong only where one does not look, and what in the judge it takes to see each of them.

Each defect that is planted in the judge lets one of them pass: nothing in it is there for nothing.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np
import pytest

from symderive import spec as specs
from symderive.check import sample
from symderive.claims import (
    bench,
    climbing,
    compare,
    crossing,
    judge_text,
    outcome,
    points,
    probe,
    reach,
    resizing,
    scouting,
    trial,
    world,
)
from symderive.claims.lines import ClaimError


def spec_of(forward, inputs="x: [N]", sizes="N: 3", constants=""):
    rows = "".join(f"  {row}\n" for row in forward.splitlines())
    constants = f"constants: {{{constants}}}\n" if constants else ""
    text = f"name: op\nsizes: {{{sizes}}}\n{constants}inputs: {{{inputs}}}\nforward: |\n{rows}"
    return specs.loads(text)


BOXES = """w[n] = max(0, min(c[n], C[n]) - max(a[n], A[n]))
h[n] = max(0, min(d[n], E[n]) - max(b[n], B[n]))
I[n] = w[n] * h[n]
U[n] = (c[n] - a[n]) * (d[n] - b[n]) + (C[n] - A[n]) * (E[n] - B[n]) - I[n]
L = sum[n](1 - I[n] / U[n])"""
SPECS = {
    "square": spec_of("y[i] = x[i]**2"),
    "product": spec_of("y[i] = x[i] * w[i]", "x: [N], w: [N]"),
    "mean": spec_of("y = mean[i](x[i])"),
    "sine": spec_of("y[i] = sin(x[i])"),
    "matmul": spec_of("y[i, j] = sum[k](x[i, k] * w[k, j])", "x: [N, K], w: [K, M]", "N: 3, K: 4, M: 5"),
    "rows": spec_of("y[n, d] = E[t[n], d]", "E: [C, D], t: {shape: [N], index: C}", "N: 3, C: 4, D: 5"),
    "huber": spec_of("L = sum[i](where(abs(e[i]) <= 400, e[i]**2 / 2, 400*abs(e[i]) - 80000))", "e: [N]"),
    "late": spec_of("y[i] = relu(x[i] - 3)"),
    "form": spec_of("q = sum[i, j](x[i] * A[i, j] * x[j])", "x: [N], A: [N, N]"),
    "norm": spec_of("y[..., d] = x[..., d] - mean[i](x[..., i])", "x: [..., D]", "D: 3"),
    "boxes": spec_of(BOXES, "a: [N], b: [N], c: [N], d: [N], A: [N], B: [N], C: [N], E: [N]"),
    "beyond": spec_of("y[i] = where(i >= 2*J, x[i], 0) + z[0]", "x: [N], z: [J]", "N: 3, J: 4"),
    "scaled": spec_of("y[i] = c * sin(x[i])", constants="c: 3"),
}

WRONG = [
    # far out
    ("square", "dx[i] = 2*x[i]*dy[i] + floor(abs(x[i])/1000)"),
    ("square", "dx[i] = dy[i] * where(x[i] > 1e9, 3*x[i], 2*x[i])"),
    ("square", "dx[i] = dy[i] * where(abs(x[i]) < 1e-12, 0, 2*x[i])"),
    ("square", "dx[i] = max(2*x[i], -1e7)*dy[i]"),
    ("square", "dx[i] = (sqrt((x[i] + 1e7)**2) - 1e7)*2*dy[i]"),
    ("square", "dx[i] = 2*x[i]*clamp(dy[i], -1e5, 1e5)"),
    ("product", "dx[i] = where(x[i] > 1e6*abs(w[i]), 2, 1)*w[i]*dy[i]"),
    ("huber", "de = e"),
    # next to a border, at a tie
    ("product", "dx[i] = where(abs(x[i] - w[i]) < 1e-6, 2, 1)*w[i]*dy[i]"),
    ("square", "dx[i] = sum[j](where(x[i] == x[j], dy[j]*2*x[j], 0))"),
    ("square", "dx[i] = where(abs(x[i] - 1.2345) < 1e-3, 3, 2)*x[i]*dy[i]"),
    ("late", "dx[i] = where(x[i] > 3.00001, dy[i], 0)"),
    ("matmul", "dx[i, k] = where(all[a, b](x[a, b] == x[0, 0]), 2, 1) * sum[j](dy[i, j]*w[k, j])"),
    # rounded, periodic
    ("square", "dx[i] = 2*round(1e12*x[i])/1e12*dy[i]"),
    ("square", "dx[i] = 2*x[i]*((1e12*dy[i])//1)/1e12"),
    ("square", "dx[i] = 2*x[i]*dy[i] + sin(480*pi*x[i])"),
    # sizes
    ("square", "dx[i] = 2*x[i]*dy[i] + i*(i-1)*(i-2)"),
    ("square", "dx[i] = where(i == 50, 3, 2)*x[i]*dy[i]"),
    ("square", "dx[i] = where(N % 7 == 0, 3, 2)*x[i]*dy[i]"),
    ("mean", "dx = ones(N)*(5 - N)/6"),
    ("matmul", "dx = dy @ w.T * where(N > 20, 2, 1)"),
    ("rows", "dE[v, d] = sum[n : t[n] == v](dy[n, d]) * where(v > 20, 2, 1)"),
    ("form", "dA[i, j] = x[i]*x[j] + (N-3)*(N-2)*A[i, j]"),
    ("matmul", "dx[i, k] = sum[j](dy[i, j]*w[k, j]) + where(N == K and K == M, 1, 0)"),
    ("square", "dx[i] = 2*x[i]*dy[i]*where(N == 1, 2, 1)"),
    ("square", "dx[i] = 2*x[i]*dy[i] + where(i*i == 841, 1, 0)"),
    ("square", "dx[i] = 2*x[i]*dy[i] + max(i - 300, 0) + floor(i/1000)"),
    ("square", "dx[i] = 2*x[i]*dy[i] + where(N % 2 == 0 and N % 3 == 0, 1, 0)"),
    ("square", "dx[i] = 2*x[i]*dy[i] + pad(x[2*i - 200])"),
    ("matmul", "dx[i, k] = sum[j](dy[i, j]*w[k, j])*where(N > M and M > K, 2, 1)"),
    ("matmul", "dx[i, k] = sum[j](dy[i, j]*w[k, j])*where(N*M == 64, 2, 1)"),
    ("matmul", "dx[i, k] = sum[j](dy[i, j]*w[k, j]) + 0**((N - K)**2 + (K - M)**2)"),
    ("square", "dx[i] = 2*x[i]*dy[i] + where(all[j](x[j] < 0) and N > 4, 1, 0)"),
    # class ids
    ("rows", "dE[v, d] = sum[n : t[n] == v](dy[n, d]) + where(all[n](t[n] == 0) and N > 3, 1, 0)"),
    ("rows", "dE[v, d] = sum[n : t[n] == v](dy[n, d]) + where(all[n](t[n] == C - 1), 1, 0)"),
    ("rows", "dE[v, d] = sum[n](where(t[n] == v and v < 100, dy[n, d], 0))"),
    # on a border, where two meet, where there is no value
    ("square", "dx[i] = 2*x[i]*dy[i]*where(x[i] == 17.123, 2, 1)"),
    ("square", "dx[i] = 2*x[i]*dy[i]*where(x[i] % 1 == 1/3, 2, 1)"),
    ("square", "dx[i] = 2*x[i]*dy[i] + where(dy[i] == 3*x[i] + 1/3, 1, 0)"),
    ("square", "dx[i] = 2*x[i]*dy[i] + where(sin(x[i]) > 0.999999, 1, 0)"),
    ("square", "dx[i] = 2*x[i]*dy[i] + floor(tanh(abs(x[i])/1e9) + 1e-30)"),
    ("square", "dx[i] = 2*x[i]*clamp(dy[i], -1e60, 1e60)"),
    ("square", "dx[i] = 2*x[i]*dy[i] + where(prod[j](x[j]) > 1e9, 1, 0)"),
    ("product", "dx[i] = w[i]*dy[i] + relu(x[i] - 30)*relu(w[i] - 30)*relu(dy[i] - 30)"),
    ("product", "dx[i] = w[i]*dy[i]*(x[i] - 2*w[i])/(x[i] - 2*w[i])"),
    ("product", "dx[i] = w[i]*dy[i] + acos(x[i]/1000) - acos(x[i]/1000)"),
    # small
    ("square", "dx[i] = 2*x[i]*dy[i]*(1 + 1e-30)"),
    ("square", "dx[i] = 2*x[i]*dy[i]*(1 + i*(i-1)*(i-2)*1e-11)"),
    ("sine", "dx[i] = cos(x[i])*dy[i]*(1 + 1e-8)"),
    ("sine", "dx[i] = cos(x[i])*dy[i]*(1 + 1e-47)"),
    ("square", "dx[i] = where(i == 5, 1 + 1e-8, 1)*2*x[i]*dy[i]"),
    # upstreams, batches, constants
    ("norm", "dx[..., d] = dy[..., d] - mean[i](dy[..., i]) + (dy[..., d] - 1)*0 + where(D == 3, 0, 1)"),
    ("scaled", "dx = 3*cos(x)*dy"),
    ("norm", "dx = dy"),
]

RIGHT = [
    ("square", "dx[i] = 2*x[i]*dy[i]*where(i < 100, 1, 1)"),
    ("square", "dx[i] = x[i]*dy[i]*where(N > 100, 2, 2)"),
    ("sine", "dx[i] = cos(x[i] % (2*pi))*dy[i]"),
    ("sine", "dx[i] = sin(x[i] + pi/2)*dy[i]"),
    ("product", "dx[i] = w[i]*dy[i] + (x[i]-w[i])*(x[i]+w[i]) - x[i]**2 + w[i]**2"),
    ("huber", "de = clamp(e, -400, 400)"),
    ("rows", "dE = one_hot(t, C).T @ dy"),
    ("scaled", "dx = c*cos(x)*dy"),
    ("late", "dx[i] = where(x[i] > 3, dy[i], 0)"),
    ("late", "dx[i] = where(x[i] > 3, dy[i], 0) + delta(i, 3*N)"),
    ("square", "dx[i] = 2*x[i]*dy[i]*where(clamp(sigmoid(x[i]), 0, 1) > 1, 3, 1)"),
    ("square", "dx[i] = 2*x[i]*dy[i]*max(abs(exp(x[i])), 0)/exp(x[i])"),
    ("square", "dx[i] = where(N >= 1, 2, 3)*x[i]*dy[i]"),
]


def passes(name, claim):
    (result,) = judge_text(SPECS[name], claim)
    return result.verdict == "right"


@pytest.mark.parametrize(("name", "claim"), WRONG)
def test_a_claim_that_is_wrong_somewhere_is_not_right(name, claim):
    assert not passes(name, claim)


@pytest.mark.parametrize(("name", "claim"), RIGHT)
def test_a_claim_that_is_right_everywhere_is(name, claim):
    assert passes(name, claim)


# Planted defects


def only_the_first_point(patch):
    real = points.Points.main
    first = cached_property(lambda self: real.func(self)[:1])
    first.__set_name__(points.Points, "main")
    patch.setattr(points.Points, "main", first)


def no_sides(patch):
    patch.setattr(sample, "every_side", lambda *a, **k: sample.Sides((), ()))


def no_scouts(patch):
    patch.setattr(trial, "scouted", lambda *a: None)


def nothing_far(patch):
    patch.setattr(reach, "_scaled", lambda points: iter(()))


def no_ties(patch):
    patch.setattr(reach, "_tied", lambda points, first: iter(()))


def no_larger_sizes(patch):
    patch.setattr(reach, "_larger", lambda points: iter(()))


def no_sizes_beyond(patch):
    patch.setattr(scouting, "resized", lambda trial: ([], ""))


def no_crowds(patch):
    patch.setattr(scouting, "in_crowds", lambda trial: None)


def no_sizes_of_the_forward(patch):
    patch.setattr(resizing, "of_forward", lambda spec: [])


def no_borders(patch):
    patch.setattr(scouting, "straddling", lambda trial, more: iter(()))


def no_moves(patch):
    patch.setattr(climbing.Climber, "reach", lambda *a: None)


def nothing_on_borders(patch):
    patch.setattr(crossing.Seeker, "_on", lambda *a: iter(()))


def borders_one_by_one(patch):
    patch.setattr(crossing, "together", lambda borders: iter(()))


def borders_in_one_place(patch):
    patch.setattr(crossing, "MOST_OTHERS", 0)


def no_ids_alike(patch):
    patch.setattr(reach, "alike_ids", lambda *a: iter(()))


def round_numbers(patch):
    patch.setattr(points, "ROUGH", 1600)


def floats_decide(patch):
    patch.setattr(outcome, "equal", lambda a, b: compare.close_floats(np.array(float(a)), np.array(float(b))))


def few_digits(patch):
    patch.setattr(compare, "_TOLERANCE", compare.EXACT.context.mpf(10) ** -15)


def coarse_scouts(patch):
    patch.setattr(scouting, "FINE", compare.COARSE)


def no_constants(patch):
    patch.setattr(trial.Trial, "constant", lambda self: None)


def no_squares(patch):
    patch.setattr(points.SizeChooser, "squares", lambda self: iter(()))
    patch.setattr(reach, "_squares", lambda names: iter(()))


def upstreams_of_zeros(patch):
    real = world.random_upstreams
    zeros = lambda *a: {n: np.zeros_like(v) for n, v in real(*a).items()}  # noqa: E731
    patch.setattr(points, "random_upstreams", zeros)


def sides_are_true(patch):
    real = bench.Bench.sides
    patch.setattr(bench.Bench, "sides", lambda *a: dataclasses.replace(s := real(*a), claimed=s.true))


def short_borders(patch):
    patch.setattr(crossing, "STEPS", 9)


def sizes_of_derivatives(patch):
    def left(self, border, bench):
        raise ClaimError("form", "")

    patch.setattr(probe.Probe, "_left", left)


FLOOR = "dx[i] = 2*x[i]*dy[i] + abs(x[i])//1000"
SMALL = "dx[i] = dy[i] * where(abs(x[i]) < 1e-12, 0, 2*x[i])"
WITHIN = (  # one more where the first box is inside of the second
    "da[n] = -I[n]/U[n]**2*(d[n] - b[n])"
    " + (1/U[n] + I[n]/U[n]**2)*where(w[n] > 0 and h[n] > 0 and a[n] > A[n], h[n], 0)"
    " + where(w[n] > 0 and h[n] > 0 and a[n] > A[n] and b[n] > B[n] and c[n] < C[n] and d[n] < E[n], 1, 0)"
)
DEFECTS = [
    (no_crowds, "boxes", WITHIN),
    (no_sizes_of_the_forward, "beyond", "dx[i] = 0"),
    (only_the_first_point, "huber", "de = e"),
    (no_scouts, "square", FLOOR),
    (nothing_far, "square", "dx[i] = (sqrt((x[i] + 1e7)**2) - 1e7)*2*dy[i]"),
    (no_ties, "matmul", "dx[i, k] = where(all[a, b](x[a, b] == x[0, 0]), 2, 1) * sum[j](dy[i, j]*w[k, j])"),
    (no_larger_sizes, "square", "dx[i] = 2*x[i]*dy[i] + i*(i-1)*(i-2)"),
    (no_sizes_beyond, "square", "dx[i] = where(i == 50, 3, 2)*x[i]*dy[i]"),
    (no_borders, "square", "dx[i] = where(abs(x[i] - 1.2345) < 1e-3, 3, 2)*x[i]*dy[i]"),
    (no_moves, "square", "dx[i] = 2*x[i]*clamp(dy[i], -1e60, 1e60)"),
    (nothing_on_borders, "square", "dx[i] = 2*x[i]*dy[i] + where(dy[i] == 3*x[i] + 1/3, 1, 0)"),
    (borders_one_by_one, "product", "dx[i] = w[i]*dy[i] + relu(x[i] - 30)*relu(w[i] - 30)*relu(dy[i] - 30)"),
    (no_ids_alike, "rows", "dE[v, d] = sum[n : t[n] == v](dy[n, d]) + where(all[n](t[n] == 0) and N > 3, 1, 0)"),
    (borders_in_one_place, "late", "dx[i] = D(y[i], x[i])*dy[i]*where(dy[i] < 70, 1, 2)"),
    (short_borders, "late", "dx[i] = where(y[i] > 1e-5, dy[i], 0)"),
    (round_numbers, "square", "dx[i] = 2*x[i]*((1e12*dy[i])//1)/1e12"),
    (floats_decide, "square", SMALL),
    (few_digits, "sine", "dx[i] = cos(x[i])*dy[i]*(1 + 1e-47)"),
    (coarse_scouts, "square", "dx[i] = 2*x[i]*dy[i]*(1 + i*(i-1)*(i-2)*1e-11)"),
    (no_constants, "scaled", "dx = 3*cos(x)*dy"),
    (no_squares, "matmul", "dx[i, k] = sum[j](dy[i, j]*w[k, j]) + 0**((N - K)**2 + (K - M)**2)"),
    (upstreams_of_zeros, "norm", "dx = dy"),
    (sides_are_true, "square", "dx[i] = 3*x[i]*dy[i]"),
    (no_sides, "huber", "de = e"),
    (sizes_of_derivatives, "mean", "D(y, x[i]) = where(i == 50, 3, 1)/N"),
]


@pytest.mark.parametrize(("plant", "name", "claim"), DEFECTS, ids=lambda f: getattr(f, "__name__", ""))
def test_a_defect_in_the_judge_lets_a_wrong_claim_pass(plant, name, claim, monkeypatch):
    assert not passes(name, claim)
    plant(monkeypatch)
    if plant is not no_crowds:  # in which much of this is seen, too
        no_crowds(monkeypatch)
    assert passes(name, claim)
