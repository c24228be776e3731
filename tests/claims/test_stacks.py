"""Forwards, gradients, derivatives and kinks of many points at once: those of each point alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from symderive import spec as specs
from symderive.check import grid_watch, passing, sample, stacked
from symderive.check.floats import FLOAT
from symderive.claims import stacks
from symderive.claims.points import Point, Points
from symderive.claims.stacks import Stack
from symderive.claims.world import random_upstreams
from tests.claims.trials import trial_of

CATALOGUE = Path(__file__).parents[2] / "derivations"
NAMES = (
    "attention",
    "conv1d",
    "cross_entropy",
    "graph_attention_edges",
    "huber",
    "log_det",
    "max_pool1d",
    "nt_xent",
    "ppo_clip",
    "prod",
    "ridge_solve",
    "weight_norm",
)
COUNT = 5


def drawn(name):
    """A spec, and random points of the same sizes, near kinks or not."""
    spec = specs.load(CATALOGUE / f"{name}.yaml")
    points = Points(spec)
    sizes = points.plan[0]
    draw = sample.Draw(np.random.default_rng(5), exact=True)
    inputs = [sample.draw_inputs(spec, sizes, draw) for _ in range(COUNT)]
    return spec, [Point(sizes, own, random_upstreams(spec, sizes, draw.entries)) for own in inputs]


def near(a, b):
    return np.allclose(np.asarray(a, dtype=float), np.asarray(b, dtype=float), 1e-12, 1e-12, equal_nan=True)


@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients_are_those_of_each_point(name):
    spec, points = drawn(name)
    stack = Stack(spec, points)
    real = {i.name for i in spec.inputs if i.is_real} | {e.tensor for e in spec.equations}
    for row, point in enumerate(points):
        world = point.world(spec, FLOAT)
        for tensor in spec.shapes:
            assert near(stack.value(tensor, row), world.values[tensor]), tensor
            if tensor in real:
                assert near(stack.gradient(tensor, row), world.gradient(tensor)), tensor


@pytest.mark.parametrize("name", ["attention", "conv1d", "cross_entropy", "huber", "weight_norm"])
def test_derivatives_are_those_of_each_point(name):
    spec, points = drawn(name)
    stack = Stack(spec, points)
    output, tensor = spec.outputs[0], spec.wrt[0]
    for row, point in enumerate(points):
        world = point.world(spec, FLOAT)
        assert near(stack.derivatives(output, tensor, row), world.derivatives(output, tensor))
        assert near(stack.second(tensor, tensor, row), world.second(f"d{tensor}", tensor))


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("log_det", "ridge_solve")])
def test_kinks_are_those_of_each_point(name):
    spec, points = drawn(name)
    inputs = [passing.as_floats(p.inputs) for p in points]
    together = grid_watch.passed_together(spec, points[0].sizes, inputs, spec.constants)
    for own, (kinks, finite) in zip(inputs, together, strict=True):
        expected, whether = grid_watch.passed(spec, points[0].sizes, own, spec.constants)
        assert finite == whether
        assert [(k.site, k.kind, k.span, k.side, k.moves) for k in kinks] == [
            (k.site, k.kind, k.span, k.side, k.moves) for k in expected
        ]
        assert near([k.distance for k in kinks], [k.distance for k in expected])


def test_a_point_where_the_forward_has_no_value_is_told_from_the_others():
    spec = specs.loads("name: op\nsizes: {N: 3}\ninputs: {x: [N]}\nforward: 'y[i] = log(x[i])'\n")
    inputs = [{"x": np.array([1.0, 2.0, s])} for s in (3.0, -1.0, 2.0)]
    assert [f for _, f in passing.passed_by_each(spec, {"N": 3}, inputs)] == [True, False, True]


def test_points_are_computed_together_where_they_are_alike(monkeypatch):
    spec, points = drawn("huber")
    made = []
    monkeypatch.setattr(stacks, "Stack", lambda spec, points: made.append(len(points)) or Stack(spec, points))
    trial = trial_of(spec, f"d{spec.wrt[0]} = 0")
    stacks.prepare(trial.court, points)
    assert made == [COUNT]
    worlds = [trial.court.bench(p, FLOAT).world for p in points]
    assert [w.stacked[1] for w in worlds] == [*range(COUNT)]
    stacks.prepare(trial.court, points)  # all of them known
    assert made == [COUNT]


def test_few_points_and_batches_are_computed_one_by_one():
    assert not stacked.can_be({"N": 3}, stacked.FEWEST - 1)
    assert not stacked.can_be({"...": (2,), "N": 3}, COUNT)
    assert stacked.can_be({"N": 3}, stacked.FEWEST)


def test_points_before_a_fault_have_their_turn():
    trial = trial_of(*_square())
    point = trial.court.points.main[0]

    def candidates():
        yield point, True
        raise stacks.NotJudged("too large")

    seen = []
    with pytest.raises(stacks.NotJudged, match="too large"):
        seen.extend(stacks.together(trial.court, candidates()))
    found = stacks.together(trial.court, candidates())
    assert next(found) == (point, True)


def _square():
    spec = specs.loads("name: op\nsizes: {N: 3}\ninputs: {x: [N]}\nforward: 'y[i] = x[i]**2'\n")
    return spec, "dx = 2*x*dy"
