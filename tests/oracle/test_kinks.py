from __future__ import annotations

import numpy as np
import pytest

from symderive.check.kinks import nearest, sides
from symderive.check.oracle import Evaluator
from tests.oracle.helpers import program


def kinks(text, inputs):
    inputs = {k: np.asarray(v) for k, v in inputs.items()}
    equations = program(text, {k: v.shape for k, v in inputs.items()})
    evaluator = Evaluator(equations, inputs, {}, watch=True)
    evaluator.tensors()
    return evaluator.kinks


CASES = [
    ("y[i] = relu(x[i])", [2.0, -0.5], {1, -1}, 0.5),
    ("y[i] = abs(x[i])", [2.0, 0.0], {1, 0}, 0.0),
    ("y[i] = max(x[i], 1.5)", [2.0, 0.0], {1, -1}, 0.5),
    ("y[i] = where(x[i] > 1, x[i], 0)", [2.0, 0.0], {1, -1}, 1.0),
    ("y[i] = clamp(x[i], -1, 1)", [0.25], {1, -1}, 0.75),
    ("y = max[i](x[i])", [1.0, 3.0, 2.5], {1}, 0.5),
    ("y = min[i](x[i])", [1.0, 3.0, 1.0], {0}, 0.0),
    ("y[i] = floor(x[i])", [1.75], {1}, 0.25),
    ("y[i] = round(x[i])", [1.75], {1}, 0.25),
    ("y[i] = 1 / x[i]", [0.25], {1}, 0.25),
    ("y[i] = log(x[i] - 1)", [1.5], {1}, 0.5),
    ("y[i] = x[i] ** 0.5", [0.5], {1}, 0.5),
]


@pytest.mark.parametrize(("text", "x", "expected_sides", "distance"), CASES)
def test_sides_and_distances(text, x, expected_sides, distance):
    found = kinks(text, {"x": x})
    assert {k.side for k in found} == expected_sides
    assert nearest(found) == distance


@pytest.mark.parametrize(
    "text", ["y[i] = exp(x[i]) ** 2", "y[i] = where(i < 1, x[i], 0)", "y[i] = where(t[i] == 1, x[i], 0)"]
)
def test_indices_and_smooth_functions_have_none(text):
    assert kinks(text, {"x": [1.0, 0.0], "t": [1, 0]}) == []


def test_ties_and_poles_are_no_sides():
    assert len(sides(kinks("y[i] = relu(x[i]) + 1 / x[i]", {"x": [1.0, 0.0, -2.0]}))) == 2
