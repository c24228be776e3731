"""By arrays and by entries: the same values, the same gradients, the same kinks."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from symderive import spec as specs
from symderive.check import grid_watch, passing
from symderive.check.exact import EXACT
from symderive.check.oracle import Evaluator
from symderive.claims import records
from symderive.claims.compare import same
from symderive.claims.points import Points
from symderive.claims.records import ByArrays, ByEntries, Record, Setting
from symderive.claims.regular import has_values
from symderive.claims.world import World

CATALOGUE = Path(__file__).parents[2] / "derivations"
NAMES = ("attention", "conv1d", "cross_entropy", "huber", "layer_norm", "max_pool1d", "prod", "logcumsumexp")
MATRICES = ("cholesky", "determinant", "log_det", "matrix_inverse", "ridge_solve", "solve")


def setting(name):
    spec = specs.load(CATALOGUE / f"{name}.yaml")
    point = Points(spec).main[0]
    real = {i.name for i in spec.inputs if i.is_real}
    return spec, point, Setting(spec.equations, point.inputs, real, point.sizes, EXACT, spec.constants)


@pytest.mark.parametrize("name", NAMES + MATRICES)
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


@pytest.mark.parametrize("name", [*NAMES, *MATRICES, "max_pool2d", "graph_attention_edges"])
def test_derivatives_of_many_entries_at_once_are_those_of_each(name):
    spec, _, made = setting(name)
    output, tensor = spec.outputs[0], spec.wrt[0]
    found, expected = (way.derivatives(output, tensor) for way in (ByArrays(made), ByEntries(made)))
    assert found.shape == expected.shape
    assert all(map(same, found.flat, expected.flat))


def test_few_at_once_make_the_same(monkeypatch):
    made = setting("softmax")[2]
    whole = ByArrays(made).derivatives("y", "z")
    monkeypatch.setattr(records, "MOST_AT_ONCE", 20)
    assert all(map(same, ByArrays(made).derivatives("y", "z").flat, whole.flat))


@pytest.mark.parametrize("name", [*NAMES, *MATRICES, "max_pool2d", "rms_norm", "gru_cell", "upsample_nearest"])
def test_second_derivatives_are_those_of_a_tape_over_a_tape(name):
    spec, point, _ = setting(name)
    world = point.world(spec, EXACT)
    for numerator, denominator in itertools.product(spec.wrt, repeat=2):
        found = world.second(f"d{numerator}", denominator)
        expected = world.twin.plain(world.twin.jacobian(world.twin.gradient(numerator), denominator))
        assert found.shape == expected.shape
        assert all(map(same, found.flat, expected.flat)), (numerator, denominator)


@pytest.mark.parametrize(("x", "known"), [([1, 4], True), ([0, 4], False)])
def test_second_derivatives_that_are_not_finite_are_left_to_entries(x, known):
    spec = specs.loads("name: f\nsizes: {N: 2}\ninputs: {x: [N]}\nforward: 'y[n] = sqrt(x[n])'\n")
    record = Record(Setting(spec.equations, {"x": np.array(x, dtype=object)}, {"x"}, {"N": 2}, EXACT, {}))
    found = record.second({"y": np.array([32, 32])}, "x", "x")
    assert known == (found is not None)
    assert not known or found.tolist() == [[-8, 0], [0, -1]]


def test_ties_share_second_derivatives_over_either_way():
    spec = specs.loads("name: f\nsizes: {N: 2}\ninputs: {x: [N], z: [N]}\nforward: 'y[n] = z[n] * min(x[n], 2*x[n])'\n")
    inputs = {"x": np.array([0, 1], dtype=object), "z": np.array([3, 5], dtype=object)}
    world = World(spec, {"N": 2}, inputs, {"y": np.array([1, 1], dtype=object)})
    expected = [[Fraction(3, 2), 0], [0, 1]]
    assert world.second("dz", "x").tolist() == expected
    assert world.twin.plain(world.twin.jacobian(world.twin.gradient("z"), "x")).tolist() == expected


def test_an_index_of_no_factor_counts_in_the_gradient():
    spec = specs.loads(
        "name: f\nsizes: {N: 2, K: 5}\ninputs: {a: [N], b: [N], c: [K]}\nindices: {k: K}\n"
        "forward: 'y[n] = sum[k](a[n] * b[n])'\n"
    )
    inputs = {"a": np.array([2, 3], dtype=object), "b": np.array([7, 11], dtype=object), "c": np.zeros(5, dtype=int)}
    made = Setting(spec.equations, inputs, {"a", "b"}, {"N": 2, "K": 5}, EXACT, {})
    for way in (ByArrays(made), ByEntries(made)):
        assert way.sweep({"y": np.array([1, 2])})("a").tolist() == [35, 110]


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
    floats = passing.as_floats(point.inputs)
    kinks, finite = grid_watch.passed(spec, point.sizes, floats, spec.constants)
    evaluator = Evaluator.of(spec, floats, point.sizes, watch=True)
    assert finite == all(np.isfinite(evaluator.tensor(n)).all() for n in spec.outputs)
    assert min(k.distance for k in kinks) == pytest.approx(min(k.distance for k in evaluator.kinks))


STACKS = """
name: stacks
sizes: {S: 2, N: 3, M: 2}
inputs:
  A: [S, N, N]
  B: [N, M]
output: [c, d, e]
forward: |
  c[k, s, j] = solve[i, j](A[s, i, j], B[i, k])
  d[s] = det[j, i](A[s, i, j])
  e[i, s] = sum[j](inv[i, j](A[s, i, j]) * B[j, 0])
"""


@pytest.mark.parametrize("rows", [[[2, 1, 0], [1, 3, 1], [1, 1, 4]], [[0, 1, 0], [2, 0, 1], [0, 1, 4]]])
def test_matrices_in_stacks_with_their_vectors(rows):
    spec = specs.loads(STACKS)
    inputs = {
        "A": np.array([rows, (np.array(rows) + np.eye(3, dtype=int)).tolist()], dtype=object),
        "B": np.array([[1, 2], [3, 5], [7, 1]], dtype=object),
    }
    made = Setting(spec.equations, inputs, {"A", "B"}, {"S": 2, "N": 3, "M": 2}, EXACT, {})
    arrays, entries = ByArrays(made), ByEntries(made)
    for output in spec.outputs:
        value = entries.value(output)
        assert arrays.value(output).tolist() == value.tolist()
        seeds = {output: np.arange(1, value.size + 1, dtype=object).reshape(value.shape)}
        for name in inputs:
            assert arrays.sweep(seeds)(name).tolist() == entries.sweep(seeds)(name).tolist(), (output, name)


@pytest.mark.parametrize("equation", ["y[i, j] = inv[i, j](X[i, j])", "y = det[i, j](X[i, j])"])
def test_at_a_singular_matrix_entries_are_asked(equation):
    spec = specs.loads(f"name: f\nsizes: {{N: 2}}\ninputs: {{X: [N, N]}}\nforward: '{equation}'\n")
    for x, way in (([[1, 2], [2, 4]], ByEntries), ([[1, 2], [2, 5]], ByArrays)):
        record = Record(Setting(spec.equations, {"X": np.array(x, dtype=object)}, {"X"}, {"N": 2}, EXACT, {}))
        assert record.value("y").size
        assert isinstance(record.way, way)


@pytest.mark.parametrize(("sizes", "has"), [({"N": 3, "K": 2}, True), ({"N": 2, "K": 3}, False)])
@pytest.mark.parametrize("entry", ["X[n, a] * X[n, b]", "exp(X[n, a]) * exp(X[n, b])"])
def test_a_forward_has_values_where_its_matrices_are_not_singular(sizes, has, entry):
    forward = f"G[a, b] = inv[a, b](sum[n]({entry}))\n  f[a] = G[a, a]"
    spec = specs.loads(f"name: f\nsizes: {{N: 3, K: 2}}\ninputs: {{X: [N, K]}}\nforward: |\n  {forward}\n")
    assert has_values(spec, sizes) == has


def test_what_a_condition_leaves_out_is_on_no_kink(monkeypatch):
    """``x[0]`` is in no term of the sum, however near 0 it is."""
    spec = specs.loads(
        "name: f\nsizes: {N: 6}\ninputs: {x: [N], w: [N]}\nforward: 'y[i] = sum[j : j > i](relu(x[j]) * w[i])'\n"
    )
    point = {"x": np.array([1e-9, 1, 2, 3, 4, 5]), "w": np.ones(6)}

    def near():
        return min(k.distance for k in grid_watch.passed(spec, {"N": 6}, point, {})[0])

    assert near() == 1
    monkeypatch.setattr(grid_watch.WatchedGrid, "ahead", True)
    assert near() == 1e-9
