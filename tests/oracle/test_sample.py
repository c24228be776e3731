from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sympy import Integer

from symderive import spec as specs
from symderive.check import grid_watch, sample
from symderive.check.kinks import nearest, sides
from tests.oracle.helpers import spec_of

SIZES = {"N": 3, "K": 5}


def rng():
    return np.random.default_rng(7)


def drawn(properties, exact, shape=("N", "N")):
    spec = spec_of("y[i, j] = x[i, j]", {"x": (list(shape), properties)})
    return sample.draw_inputs(spec, SIZES, sample.Draw(rng(), exact))["x"]


HOLDS = {
    "positive": lambda x: (x > 0).all(),
    "nonnegative": lambda x: (x >= 0).all(),
    "nonzero": lambda x: (x != 0).all(),
    "unit": lambda x: ((x > 0) & (x < 1)).all() and (x != x[0, 0]).any(),
    "binary": lambda x: ((x == 0) | (x == 1)).all(),
    "one_hot": lambda x: (x.sum(-1) == 1).all() and ((x == 0) | (x == 1)).all(),
    "simplex": lambda x: (x > 0).all() and (abs(x.sum(-1) - 1) < 1e-15).all(),
    "symmetric": lambda x: (x == x.T).all() and (x != x[0, 0]).any(),
    "spd": lambda x: (x == x.T).all() and (np.linalg.eigvalsh(x.astype(float)) > 0).all(),
}


@pytest.mark.parametrize("exact", [False, True], ids=["float", "exact"])
@pytest.mark.parametrize("assume", sorted(sample.ASSUMPTIONS))
def test_assumptions_hold(assume, exact):
    x = drawn({"assume": (assume,)}, exact)
    assert HOLDS[assume](x)
    assert {type(v) for v in x.ravel().tolist()} <= ({Fraction, int} if exact else {float})


def test_assumptions_combine():
    x = drawn({"assume": ("symmetric", "positive")}, True)
    assert HOLDS["symmetric"](x)
    assert HOLDS["positive"](x)


@pytest.mark.parametrize("exact", [False, True], ids=["float", "exact"])
def test_ranges_class_ids_and_booleans(exact):
    x = drawn({"range": (Fraction(-1, 2), Fraction(1, 4))}, exact)
    assert ((x > -0.5) & (x < 0.25)).all()
    x = drawn({"index": Integer(4)}, exact, ("N", "K"))
    assert x.dtype.kind == "i"
    assert x.max() <= 3
    assert drawn({"boolean": True}, exact).dtype == bool


def test_targets_are_not_normalised_and_upstreams_are_random():
    spec = spec_of("y[i, j] = x[i, j]", {"x": ["N", "K"]})
    draw = sample.Draw(rng(), exact=True)
    assert all(abs(row.sum() - 1) > 1e-3 for row in sample.draw_inputs(spec, SIZES, draw)["x"])
    upstream = sample.draw_upstreams(spec, SIZES, draw)["dy"]
    assert upstream.shape == (3, 5)
    assert len(set(upstream.flat)) > 3


def test_batch_axes_are_drawn():
    spec = spec_of("y[..., k] = x[..., k]", {"x": ["...", "K"]})
    assert sample.draw_inputs(spec, SIZES | {"...": (2, 4)}, sample.Draw(rng()))["x"].shape == (2, 4, 5)


@pytest.mark.parametrize("exact", [False, True], ids=["float", "exact"])
def test_away_from_kinks(exact):
    spec = spec_of("y[i, j] = relu(x[i, j]) + sqrt(abs(x[i, j] - 1))", {"x": ["N", "K"]})
    point = sample.away_from_kinks(spec, SIZES, rng(), exact=exact)
    kinks, finite = sample.passed(spec, SIZES, point)
    assert finite
    assert nearest(kinks) >= sample.MARGIN


def test_a_kink_that_cannot_be_avoided_is_soon_taken_for_one(monkeypatch):
    spec = spec_of("y[i, j] = max(x[i, j], x[i, j]) + relu(x[i, j])", {"x": ["N", "K"]})
    seen = []
    real = sample.passed
    monkeypatch.setattr(sample, "passed", lambda *given: seen.append(real(*given)) or seen[-1])
    kinks, finite = real(spec, SIZES, sample.away_from_kinks(spec, SIZES, rng()))
    assert finite
    assert min(k.distance for k in kinks if k.kind == "relu") >= sample.MARGIN
    assert sample.UNAVOIDABLE <= len(seen) < 2 * sample.UNAVOIDABLE


def test_what_could_not_be_avoided_is_not_avoided_again(monkeypatch):
    spec = spec_of("y[i, j] = max(x[i, j], x[i, j]) + relu(x[i, j])", {"x": ["N", "K"]})
    drawn = []
    real = sample.draw_inputs
    monkeypatch.setattr(sample, "draw_inputs", lambda *given: drawn.append(1) or real(*given))
    left = sample.Unavoided()
    counts = []
    for sizes in (SIZES, SIZES, {name: n + 1 for name, n in SIZES.items()}):
        drawn.clear()
        point = sample.away_from_kinks(spec, sizes, rng(), unavoided=left)
        assert min(k.distance for k in sample.passed(spec, sizes, point)[0] if k.kind == "relu") >= sample.MARGIN
        counts.append(len(drawn))
    assert counts[0] >= sample.UNAVOIDABLE > max(counts[1:])


def test_a_log_of_anything_is_sampled_where_it_is_finite():
    spec = spec_of("y[i, j] = log(x[i, j])", {"x": ["N", "K"]})
    assert sample.passed(spec, SIZES, sample.away_from_kinks(spec, SIZES, rng()))[1]


HUBER = "e[i] = y[i] - t[i]\nL = sum[i](where(abs(e[i]) <= d, e[i]**2 / 2, d * (abs(e[i]) - d / 2)))"


@pytest.mark.parametrize("d", [Fraction(1), Fraction(1, 100), Fraction(50)])
@pytest.mark.parametrize("exact", [False, True], ids=["float", "exact"])
def test_every_side_of_every_kink_is_visited(d, exact):
    spec = spec_of(HUBER, {"y": ["N"], "t": ["N"]}, constants={"d": d})
    found = sample.every_side(spec, SIZES, rng(), exact=exact)
    assert not found.missed
    seen = set()
    for point in found.points:
        seen |= sides(sample.passed(spec, SIZES, point)[0])
    border = next(s for s in {site for site, _ in seen} if (s, 1) in seen and (s, -1) in seen)
    assert border is not None


def test_a_side_that_cannot_be_reached_is_reported():
    spec = spec_of("y[i] = where(x[i]**2 < -1, 1, x[i])", {"x": ["N"]})
    assert [k.kind for k in sample.every_side(spec, SIZES, rng()).missed] == ["compare"]


@pytest.mark.parametrize(
    "text",
    [
        "y[i] = relu(x[i])",
        "y[i] = max(x[i], c)",
        "y = max[i](x[i])",
        "y[i] = clamp(x[i], -c, c)",
        "y[i] = sign(x[i] - c)",
    ],
)
def test_points_at_kinks(text):
    spec = spec_of(text, {"x": ["N"]}, constants={"c": Fraction(1, 3)})
    points = sample.at_kinks(spec, SIZES, rng(), exact=True)
    assert points
    assert all(nearest(sample.passed(spec, SIZES, p)[0]) == 0 for p in points)


def test_smooth_forwards_have_no_points_at_kinks():
    spec = spec_of("y[i] = exp(x[i]) / x[i]", {"x": ["N"]})
    assert sample.at_kinks(spec, SIZES, rng()) == ()
    assert len(sample.every_side(spec, SIZES, rng()).points) == 1


def test_a_pole_of_what_is_an_integer_at_some_places_is_watched_over_whole_arrays():
    spec = specs.loads(
        "name: counted\nsizes: {N: 8, T: 6}\ninputs: {x: [N, T], m: {shape: [N, T], assume: binary, grad: false}}\n"
        "forward: |\n  n[i] = max(1, sum[t](m[i, t]))\n  y[i] = sum[t](m[i, t]*relu(x[i, t])) / n[i]\n"
    )
    sizes = {"N": 8, "T": 6}
    point = sample.draw_inputs(spec, sizes, sample.Draw(rng()))
    kinks, finite = grid_watch.passed(spec, sizes, point, spec.constants)
    assert finite
    assert {k.kind for k in kinks} == {"max", "relu", "pole"}
    assert min(k.distance for k in kinks if k.is_pole) == max(1, point["m"].sum(1).min())


def test_what_a_function_with_a_kink_is_applied_to_is_watched_once():
    spec = specs.loads(
        "name: nested\nsizes: {N: 64}\ninputs: {x: [N]}\nforward: 'y[i] = relu(1 - abs(relu(x[i]) - 1/2))'\n"
    )
    kinks, _ = grid_watch.passed(spec, {"N": 64}, sample.draw_inputs(spec, {"N": 64}, sample.Draw(rng())), {})
    assert len({k.site for k in kinks}) == 3
