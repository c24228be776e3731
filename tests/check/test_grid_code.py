"""The code of expressions gives what their rules give, at whatever sizes and constants they are met again."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from symderive import spec as specs
from symderive.check import grid_code, sample
from symderive.check.exact import EXACT
from symderive.check.floats import FLOAT
from symderive.check.grid import Grid
from symderive.check.grid_math import GridMath
from symderive.check.grid_numbers import numbers_over
from symderive.check.oracle import Evaluator
from symderive.claims import records
from symderive.claims.records import ByArrays, Setting

FORWARD = """
  u[n, d] = x[n, d] * w[d] - c / D + n
  v[n] = sum[d](where(d < n, u[n, d], 0)) + E[t[n], 0] * x[n, D - 1]
  s = mean[n](v[n])
  r = s - 2 * s + k
  y[n, d] = relu(u[n, d]) + r * delta(n, d) + exp(-u[n, d] / 8) ** 2 + sum[e : e > d](x[n, e])
"""
SPEC = specs.loads(
    "name: op\nsizes: {N: 3, D: 2, V: 4}\nconstants: {c: 0.5, k: 3}\n"
    "inputs: {x: [N, D], w: [D], E: [V, D], t: {shape: [N], index: V}}\nforward: |" + FORWARD
)
PLACES = (
    ({"N": 3, "D": 2, "V": 4}, {"c": Fraction(1, 2), "k": Fraction(3)}),
    ({"N": 2, "D": 4, "V": 3}, {"c": Fraction(1, 2), "k": Fraction(3)}),
    ({"N": 3, "D": 2, "V": 4}, {"c": Fraction(2), "k": Fraction(-1)}),
)


def values(inputs, sizes, constants, base):
    setting = Setting(SPEC.equations, inputs, {"x", "w", "E"}, sizes, base, constants)
    way = ByArrays(setting)
    gradient = way.sweep({"y": np.ones((sizes["N"], sizes["D"]), dtype=int)})
    return [way.value(e.tensor) for e in SPEC.equations], [gradient(n) for n in ("x", "w", "E")]


@pytest.mark.parametrize("base", [EXACT, FLOAT])
def test_a_forward_met_again_is_what_it_is_entry_by_entry(base):
    rng = np.random.default_rng(3)
    for _ in range(4):  # by rules, then by code made for the first sizes, then by that code
        for sizes, constants in PLACES:
            inputs = sample.draw_inputs(SPEC, sizes, sample.Draw(rng, exact=base is EXACT))
            found, gradients = values(inputs, sizes, constants, base)
            one_by_one = Evaluator(SPEC.equations, inputs, sizes, base, constants)
            for equation, array in zip(SPEC.equations, found, strict=True):
                expected = np.array(one_by_one.tensor(equation.tensor), dtype=float)
                assert np.allclose(array.astype(float), expected, 1e-13, 1e-13), equation.tensor
            grid_code.BOOK.codes.clear()
            by_rules = values(inputs, sizes, constants, base)[1]
            assert all(
                np.allclose(a.astype(float), b.astype(float), 1e-13, 1e-13)
                for a, b in zip(gradients, by_rules, strict=True)
            )
            for _ in range(2):
                values(inputs, sizes, constants, base)


def test_code_is_made_when_an_expression_is_met_again():
    equation, (sizes, constants) = SPEC.equations[0], PLACES[0]
    book = grid_code.Book()
    inputs = sample.draw_inputs(SPEC, sizes, sample.Draw(np.random.default_rng(0)))
    codes, place = book.of(equation, (Grid, GridMath, "test")), book.place(sizes, constants)
    made = []
    for _ in range(3):
        grid = Grid(
            GridMath(numbers_over(FLOAT)),
            codes.ranges_at(place, sizes),
            lambda name, _: inputs[name],
            {**sizes, **constants},
            codes=codes,
            place=place,
        )
        grid.evaluate(equation.right, equation.indices)
        made.append(sum(code is not None for _, code in codes.known.values()))
    assert made[0] == 0 < made[1] == made[2]


def test_a_book_does_not_grow_without_end(monkeypatch):
    book = grid_code.Book()
    monkeypatch.setattr(grid_code, "MOST_PLACES", 3)
    monkeypatch.setattr(grid_code, "MOST_EQUATIONS", 2)
    for n in range(10):
        book.place({"N": n}, {})
        assert len(book.places) <= 3
    for equation in SPEC.equations:
        book.of(equation, (Grid, GridMath, "test"))
        assert len(book.codes) <= 2


def test_what_is_computed_after_a_book_was_cleared_is_of_its_own_place(monkeypatch):
    """Tensors are computed when they are asked for: meanwhile others may have taken all places."""
    monkeypatch.setattr(grid_code, "MOST_PLACES", 2)
    monkeypatch.setattr(grid_code, "BOOK", grid_code.Book())
    monkeypatch.setattr(records, "BOOK", grid_code.BOOK)
    sizes, constants = PLACES[0]
    inputs = sample.draw_inputs(SPEC, sizes, sample.Draw(np.random.default_rng(1)))
    ways = [ByArrays(Setting(SPEC.equations, inputs, set(), sizes, FLOAT, constants)) for _ in range(3)]
    for k in range(4):
        other = {**constants, "k": Fraction(k + 7)}
        for _ in range(3):
            ByArrays(Setting(SPEC.equations, inputs, set(), sizes, FLOAT, other)).value("y")
        expected = Evaluator(SPEC.equations, inputs, sizes, FLOAT, constants).tensor("y")
        way = ways.pop() if ways else ByArrays(Setting(SPEC.equations, inputs, set(), sizes, FLOAT, constants))
        assert np.allclose(way.value("y"), np.array(expected, dtype=float), 1e-13, 1e-13)
