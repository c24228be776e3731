"""Detours that are cut short as operations are put together."""

from __future__ import annotations

import pytest
from sympy import S

from symderive.api import derive, loads
from symderive.lower import plan as p
from symderive.lower.graph import Graph
from symderive.spec.sizes import BATCH_SIZE, size

N, K = size("N"), size("K")
FIRST = p.At(S.Zero)


def graph_with(**shapes):
    graph = Graph()
    return graph, *(graph.intern(p.Ref(name, tuple(map(S, shape)))) for name, shape in shapes.items())


def test_a_slice_of_an_axis_of_length_1_that_is_put_back_is_no_slice():
    graph, x = graph_with(x=(N, 1, K))
    assert graph.expand(graph.slice(x, (None, FIRST, None)), (-2,)) is x
    assert graph.expand(graph.slice(x, (None, FIRST, FIRST)), (-1,)) == p.Slice(x, (None, None, FIRST))


def test_a_slice_of_a_longer_axis_stays():
    graph, x = graph_with(x=(N, K))
    column = graph.slice(x, (None, FIRST))
    assert graph.expand(column, (-1,)) == p.Expand(column, (-1,))


def test_an_axis_comes_back_in_its_place_alone():
    graph, x = graph_with(x=(N, 1))
    column = graph.slice(x, (None, FIRST))
    assert graph.expand(column, (-2,)) == p.Expand(column, (-2,))
    assert graph.expand(column, (-3, -1)) == p.Expand(x, (-3,))


def test_in_front_an_axis_of_length_1_broadcasts():
    graph, x = graph_with(x=(1, K))
    row = graph.slice(x, (FIRST, None))
    assert graph.expand(row, (), in_front=1) is x
    assert graph.expand(row, ()) is row


def test_behind_the_batch_nothing_is_in_front():
    graph, x = graph_with(x=(BATCH_SIZE, 1, K))
    row = graph.slice(x, (FIRST, None))
    assert graph.expand(row, (), in_front=1) is row
    assert graph.expand(row, (-2,)) is x


def test_new_axes_are_put_in_at_once():
    graph, x = graph_with(x=(N,))
    assert graph.expand(graph.expand(x, (-1,)), (-3,)) == p.Expand(x, (-3, -1))
    assert graph.expand(graph.expand(x, (-2,)), (-1,)) == p.Expand(x, (-3, -1))


def test_a_product_with_a_column_that_becomes_a_matrix_is_one_of_matrices():
    graph, s, A = graph_with(s=(N, 1), A=(N, K))
    product = graph.intern(p.MatMul(graph.slice(s, (None, FIRST)), A))
    assert graph.expand(product, (-2,)) == p.MatMul(p.Permute(s, (-1, -2)), A)
    assert graph.expand(product, (-1,)) == p.Expand(product, (-1,))


@pytest.mark.parametrize("function", ["and", "or"])
def test_a_condition_is_said_once(function):
    graph, x = graph_with(x=(N,))
    a, b = (graph.map("lt", x, graph.scalar(n)) for n in (1, 2))
    both = graph.map(function, a, b)
    assert graph.map(function, a, a) is a
    assert graph.map(function, both, b) is both
    assert graph.map(function, b, both) is both
    assert both == p.Map(function, (a, b))


def test_a_branch_asks_for_no_condition_that_holds_there():
    graph, x, y = graph_with(x=(N,), y=(N,))
    a, b = (graph.map("lt", x, graph.scalar(n)) for n in (1, 2))
    zero = graph.scalar(0)
    inner = graph.map("where", a, x, y)
    assert graph.map("where", graph.map("and", a, b), inner, zero) == p.Map("where", (graph.map("and", a, b), x, zero))
    assert graph.map("where", b, inner, zero) == p.Map("where", (b, inner, zero))
    either = graph.map("or", a, b)
    assert graph.map("where", either, inner, zero) == p.Map("where", (either, inner, zero))


AVERAGE = """
name: average
sizes: {T: 4}
indices: {t: T}
inputs: {x: [T], a: {shape: [], assume: unit}}
forward: |
  y[t] = sum[s : s <= t]((1 - a) * a**(t - s) * x[s])
"""


def test_a_power_of_a_difference_is_no_quotient():
    arrays = [g.array for g in derive(loads(AVERAGE)).gradients.values()]
    power = "where(arange(T)[:, None] <= arange(T), a**(arange(T) - arange(T)[:, None]), 0)"
    assert arrays[0] == f"dx = {power} @ dy * (1 - a)"
    assert all("mask and mask" not in a and "1 / " not in a for a in arrays)


def test_a_power_that_is_negative_is_one():
    decay = AVERAGE.replace("a**(t - s)", "a**(-t - s)")
    assert "1 / a**" in derive(loads(decay)).gradients["x"].array
