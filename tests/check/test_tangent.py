"""Differentiating the forward entry by entry: against autograd where it is smooth, by the conventions where not."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from symderive.check import sample, sizes
from symderive.check.devices import to_numpy, to_torch
from symderive.check.exact import Exact
from symderive.check.ops import run
from symderive.check.prepare import prepare
from symderive.check.tangent import true_gradients
from symderive.check.truth import as_floats
from symderive.spec import load, loads
from symderive.spec.functions import FUNCTIONS

CATALOGUE = sorted((Path(__file__).parents[2] / "derivations").glob("*.yaml"))


@pytest.mark.parametrize("path", CATALOGUE, ids=lambda p: p.stem)
def test_it_agrees_with_autograd_of_the_reference(path):
    subject = prepare(load(path))
    spec, rng = subject.spec, np.random.default_rng(1)
    extents = sizes.small(spec) | ({"...": (2,)} if sizes.has_batch(spec) else {})
    point = sample.away_from_kinks(spec, extents, rng)
    upstreams = sample.draw_upstreams(spec, extents, sample.Draw(rng))
    inputs = [to_torch(point[i.name], "float64", "cpu") for i in spec.inputs]
    given = [to_torch(upstreams[n], "float64", "cpu") for n in subject.upstreams]
    autograd = run(subject.reference_op(extents), inputs, given).gradients
    for name, true in true_gradients(spec, point, upstreams, extents).items():
        np.testing.assert_allclose(as_floats(true), to_numpy(autograd[name]), rtol=1e-9, atol=1e-12)


NAN = float("nan")


def gradient(forward, x, constants="{}"):
    spec = loads(
        f"name: one\nsizes: {{N: {len(x)}}}\nconstants: {constants}\ninputs: {{x: [N]}}\nforward: |\n  {forward}\n"
    )
    ones = np.ones(len(x)) if spec.shapes[spec.outputs[0]] else np.ones(())
    (true,) = true_gradients(spec, {"x": np.array(x, float)}, {f"d{spec.outputs[0]}": ones}, {"N": len(x)}).values()
    return list(as_floats(true))


@pytest.mark.parametrize(
    ("forward", "x", "expected"),
    [
        ("y[i] = relu(x[i])", [-1, 0, 2], [0, 0, 1]),
        ("y[i] = abs(x[i])", [-1, 0, 2], [-1, 0, 1]),
        ("y[i] = sign(x[i])", [-1, 0, 2], [0, 0, 0]),
        ("y[i] = max(x[i], 0)", [-1, 0, 2], [0, 0.5, 1]),
        ("y[i] = min(x[i], 0)", [-1, 0, 2], [1, 0.5, 0]),
        ("y[i] = clamp(x[i], 0, 2)", [-1, 0, 2, 3], [0, 1, 1, 0]),
        ("y = max[i](x[i])", [3, 1, 3, 3], [1 / 3, 0, 1 / 3, 1 / 3]),
        ("y = min[i](x[i])", [1, 1, 2], [0.5, 0.5, 0]),
        ("y[i] = where(x[i] > 0, log(x[i]), 0)", [-1, 0, 2], [0, 0, 0.5]),
        ("y[i] = stop(x[i]) * x[i]", [-1, 0, 2], [-1, 0, 2]),
        ("y = prod[i](x[i])", [2, 0, 3], [0, 6, 0]),
        ("y[i] = floor(x[i]) * x[i]", [-1.5, 2.5], [-2, 2]),
        ("y = x[argmax[i](x[i])]", [1, 5, 5], [0, 1, 0]),
        ("y[i] = sqrt(abs(x[i]))", [-4, 0, 4], [-0.25, NAN, 0.25]),
        ("y[i] = sqrt(square(x[i]))", [-4, 0, 4], [-1, NAN, 1]),
    ],
)
def test_conventions(forward, x, expected):
    assert gradient(forward, x) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("floor", "round", "sign")])
def test_every_function_is_differentiated_exactly(name):
    spec = loads(f"name: one\nsizes: {{N: 2}}\ninputs: {{x: [N]}}\nforward: |\n  y[i] = {name}(x[i])\n")
    h, x = Fraction(1, 10**12), [Fraction(1, 3), Fraction(5, 7)]
    exact = Exact(60)
    from symderive.check.oracle import Evaluator

    def value(point):
        return [exact.lift(v) for v in Evaluator.of(spec, {"x": np.array(point, object)}, {"N": 2}, exact).tensor("y")]

    up, down = value([v + h for v in x]), value([v - h for v in x])
    ones = {"dy": np.array([1, 1], object)}
    true = true_gradients(spec, {"x": np.array(x, object)}, ones, {"N": 2}, exact)["dx"]
    for a, b, slope in zip(up, down, true, strict=True):
        assert abs(float((a - b) / (2 * exact.lift(h)) - exact.lift(slope))) < 1e-20
