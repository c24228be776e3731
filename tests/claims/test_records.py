"""By arrays and by entries: the same values, the same gradients, the same kinks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from symderive import spec as specs
from symderive.check import grid_watch, sample
from symderive.check.exact import EXACT
from symderive.check.oracle import Evaluator
from symderive.claims.compare import same
from symderive.claims.points import Points
from symderive.claims.records import ByArrays, ByEntries, Record, Setting

CATALOGUE = Path(__file__).parents[2] / "derivations"
NAMES = ("attention", "conv1d", "cross_entropy", "huber", "layer_norm", "max_pool1d", "prod", "logcumsumexp")


def setting(name):
    spec = specs.load(CATALOGUE / f"{name}.yaml")
    point = Points(spec).main[0]
    real = {i.name for i in spec.inputs if i.is_real}
    return spec, point, Setting(spec.equations, point.inputs, real, point.sizes, EXACT, spec.constants)


@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients_are_the_same(name):
    spec, point, made = setting(name)
    arrays, entries = ByArrays(made), ByEntries(made)
    first, second = arrays.sweep(point.upstreams), entries.sweep(point.upstreams)
    plain = ByArrays(made, recorded=False), ByEntries(made, recorded=False)
    for tensor in spec.shapes:
        values = entries.value(tensor)
        assert all(map(same, arrays.value(tensor).flat, values.flat)), tensor
        assert all(map(same, way.value(tensor).flat, values.flat) for way in plain), tensor
        if tensor in made.real or tensor not in point.inputs:
            assert all(map(same, first(tensor).flat, second(tensor).flat)), tensor


TIES = """
name: ties
sizes: {N: 2}
inputs:
  x: [N, 4]
output: [a, b, c, d]
forward: |
  a[n] = max[k](x[n, k])
  b[n] = min[k](x[n, k])
  c[n] = max(x[n, 0], x[n, 1])
  d[n] = clamp(x[n, 2], 1, 5)
"""


@pytest.mark.parametrize("way", [ByArrays, ByEntries])
def test_what_ties_shares_the_gradient_and_a_clamp_passes_it_at_its_ends(way):
    spec = specs.loads(TIES)
    x = np.array([[3, 3, 1, 3], [1, 2, 5, 1]], dtype=object)
    made = way(Setting(spec.equations, {"x": x}, {"x"}, {"N": 2}, EXACT, {}))
    by = {n: made.sweep({n: np.array([6, 6], dtype=object)})("x").tolist() for n in spec.outputs}
    assert by == {
        "a": [[2, 2, 0, 2], [0, 0, 6, 0]],
        "b": [[0, 0, 6, 0], [3, 0, 0, 3]],
        "c": [[3, 3, 0, 0], [0, 6, 0, 0]],
        "d": [[0, 0, 6, 0], [0, 0, 6, 0]],
    }


@pytest.mark.parametrize("name", ["huber", "max_pool1d", "smooth_l1", "triplet"])
def test_kinks_are_the_same(name):
    spec, point, _ = setting(name)
    floats = sample.as_floats(point.inputs)
    kinks, finite = grid_watch.passed(spec, point.sizes, floats, spec.constants)
    evaluator = Evaluator.of(spec, floats, point.sizes, watch=True)
    assert finite == all(np.isfinite(evaluator.tensor(n)).all() for n in spec.outputs)
    assert min(k.distance for k in kinks) == pytest.approx(min(k.distance for k in evaluator.kinks))


def test_a_function_of_matrices_goes_by_entries():
    for recorded in (True, False):
        for name, way in (("log_det", ByEntries), ("softmax", ByArrays)):
            record = Record(setting(name)[2], recorded)
            assert record.value("y").size
            assert isinstance(record.way, way)
