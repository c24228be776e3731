"""Kinks of what class ids and sizes alone decide: they have two sides, and no input comes near them."""

from __future__ import annotations

import numpy as np

from symderive import spec as specs
from symderive.check import grid_watch, passing, sample
from symderive.check.kinks import Kink, nearest
from symderive.check.moving import fixed_places, marked
from symderive.errors import NOWHERE

MASKED = specs.loads(
    "name: masked\nsizes: {N: 4, M: 12}\ninputs: {x: [N, M], c: {shape: [N], index: 3}}\nforward: |\n"
    "  m[i, j] = where(c[i] == c[j] and i != j, 1, 0)\n"
    "  k[i] = sum[j](m[i, j])\n"
    "  y[i, d] = where(k[i] > 0, sum[j](m[i, j] * relu(x[j, d])) / max(k[i], 1), 0)\n"
)
SIZES = {"N": 4, "M": 12}


def text_of(spec, span):
    return spec.text.splitlines()[span.line - 1][span.column - 1 : span.end_column - 1]


def test_what_no_real_input_moves_is_fixed():
    fixed = {text_of(MASKED, span) for span in fixed_places(MASKED)}
    assert {"k[i] > 0", "max(k[i], 1)"} <= fixed
    assert not any(text.startswith("relu") for text in fixed)


def test_what_stands_at_a_place_that_moves_and_at_one_that_does_not_moves():
    twice = specs.loads(
        "name: twice\nsizes: {N: 3}\ninputs: {x: [N], c: {shape: [N], index: 3}}\n"
        "forward: 'y[n] = max(x[n] * c[n], c[n]) + max(c[n], 1) * x[n]'\n"
    )
    assert {text_of(twice, span) for span in fixed_places(twice)} == {"max(c[n], 1)"}


def test_a_tie_of_class_ids_is_no_kink_and_both_its_sides_are_visited():
    point = {"x": np.ones((4, 12)) / 3, "c": np.array([0, 0, 1, 2])}
    kinks, finite = sample.passed(MASKED, SIZES, point)
    ties = [k for k in kinks if not k.distance]
    assert finite
    assert ties
    assert not any(k.moves for k in ties)
    assert nearest(kinks) == 1 / 3
    seen = {k.side for p in every_side() for k in sample.passed(MASKED, SIZES, p)[0] if k.kind == "compare"}
    assert {0, 1} <= seen or {-1, 1} <= seen


def every_side():
    return sample.every_side(MASKED, SIZES, np.random.default_rng(0)).points


def test_a_point_away_from_kinks_is_found_at_once(monkeypatch):
    """Every draw has a class of one or of two, where ``max(k, 1)`` or ``k > 0`` is at its border."""
    drawn = []
    real = sample.draw_inputs
    monkeypatch.setattr(sample, "draw_inputs", lambda *a, **k: drawn.append(1) or real(*a, **k))
    sample.away_from_kinks(MASKED, {"N": 2, "M": 2}, np.random.default_rng(0), exact=True)
    assert len(drawn) < 6
    drawn.clear()
    monkeypatch.setattr(grid_watch, "fixed_places", lambda spec: frozenset())
    monkeypatch.setattr(passing, "marked", lambda spec, kinks: list(kinks))
    sample.away_from_kinks(MASKED, {"N": 2, "M": 2}, np.random.default_rng(0), exact=True)
    assert len(drawn) == 40


def test_of_a_mask_that_is_not_whole_kinks_are_found_over_whole_arrays():
    point = {"x": np.ones((4, 12)) / 3, "c": np.array([0, 0, 1, 2])}
    kinks, _ = grid_watch.passed(MASKED, SIZES, point, {})
    assert {k.kind for k in kinks if k.moves} == {"relu", "pole"}


def test_a_pole_that_nothing_moves_stays_one():
    pole, tie = (Kink(0, kind, next(iter(fixed_places(MASKED))), 0, 0.0) for kind in ("pole", "max"))
    assert [k.moves for k in marked(MASKED, [pole, tie])] == [True, False]
    assert marked(MASKED, [Kink(0, "max", NOWHERE, 0, 0.0)])[0].moves
