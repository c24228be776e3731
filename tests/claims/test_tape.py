from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from symderive.check.exact import EXACT
from symderive.check.floats import FLOAT
from symderive.check.oracle import Evaluator
from symderive.claims.tape import Tape
from symderive.spec.functions import FUNCTIONS
from tests.oracle.helpers import program


def gradient(text, values, domain=FLOAT):
    """The derivative of the last equation, a scalar, by each entry of x."""
    tape = Tape(domain)
    leaves = np.empty(len(values), dtype=object)
    leaves[:] = [tape.leaf(v) for v in values]
    equations = program(text, {"x": (len(values),)})
    evaluator = Evaluator(equations, {"x": leaves}, {}, tape)
    adjoints = tape.reverse([(evaluator.entry(equations[-1].tensor, ()), 1)])
    return [adjoints[node] for node in leaves]


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"floor", "round", "sign"}))
def test_derivatives_of_functions_agree_with_differences(name):
    for x in (0.3, 0.7):
        h = 1e-6
        values = [Evaluator(program(f"y = {name}(x[0])", {"x": (1,)}), {"x": [x + d]}, {}).entry("y") for d in (h, -h)]
        (slope,) = gradient(f"y = {name}(x[0])", [x])
        assert slope == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-7)


EXACT_ROWS = [
    ("y = x[0]**3 * x[1]", [Fraction(2), Fraction(1, 3)], [4, 8]),
    ("y = x[0] / x[1]", [Fraction(2), Fraction(3)], [Fraction(1, 3), Fraction(-2, 9)]),
    ("y = sum[i](x[i])**2", [Fraction(2), Fraction(3)], [10, 10]),
    ("y = prod[i](x[i])", [Fraction(0), Fraction(3)], [3, 0]),
    ("y = max[i](x[i])", [Fraction(2), Fraction(3)], [0, 1]),
    ("y = mean[i](x[i])", [Fraction(2), Fraction(3)], [Fraction(1, 2)] * 2),
    ("y = where(x[0] > 1, x[1], 1 / (x[0] - x[0]))", [Fraction(2), Fraction(3)], [0, 1]),
    ("y = stop(x[0]) * x[1]", [Fraction(2), Fraction(3)], [0, 2]),
    ("y = floor(x[0]) * x[1]", [Fraction(5, 2), Fraction(3)], [0, 2]),
    ("y = clamp(x[0], 0, 1) * x[1]", [Fraction(5, 2), Fraction(3)], [0, 1]),
    ("a[i] = x[i]\ny = sum[i](a[i] * x[i])", [Fraction(2), Fraction(3)], [4, 6]),
]


@pytest.mark.parametrize(("text", "values", "expected"), EXACT_ROWS)
def test_exact_derivatives(text, values, expected):
    assert gradient(text, values, EXACT) == expected


def test_a_tape_over_a_tape_gives_second_derivatives():
    inner = Tape(EXACT)
    outer = Tape(inner)
    base = inner.leaf(Fraction(3))
    x = outer.leaf(base)
    cube = outer.power(x, 3)
    first = outer.reverse([(cube, 1)])[x]
    assert inner.plain(first) == 27
    assert inner.reverse([(first, 1)])[base] == 18


def test_a_cut_stops_the_flow():
    tape = Tape(FLOAT)
    x = tape.leaf(2.0)
    tagged = tape.tag(x, "here")
    y = tape.add(tape.mul(tagged, 3.0), x)
    assert tape.reverse([(y, 1)])[x] == 4
    assert tape.reverse([(y, 1)], lambda n: n.label == "here")[x] == 1
