"""Work that is not done twice, or for nothing."""

from __future__ import annotations

import sys

import pytest

from symderive.algebra import inline
from symderive.algebra.derive import derive, formulas, swept
from symderive.algebra.nodes import Access, Index, Lt, Max, indices_in
from symderive.algebra.simplify import of_at_most, simplify
from symderive.catalogue import spec_path
from symderive.errors import UnsupportedError
from symderive.spec import load
from symderive.spec.sizes import size


def test_nothing_is_looked_for_that_no_node_says(monkeypatch):
    n = Index("n", size("N"))
    entry = Access("x", n)
    nodes = [entry, Max.over(entry, [n]), Lt(entry, Access("y", n))]

    def ask(fact, node):
        pytest.fail(f"{fact} of {node} is looked for")

    monkeypatch.setattr(sys.modules["sympy.core.assumptions"], "_ask", ask)
    assert [node.is_positive for node in nodes] == [None, None, None]
    assert [node.is_extended_real for node in nodes] == [True, True, True]
    assert [node.is_integer for node in nodes] == [None, None, True]


def test_an_adjoint_that_did_not_pay_is_not_tried_again_where_nothing_changed(monkeypatch):
    tried = []
    simplify = inline.simplify
    monkeypatch.setattr(inline, "simplify", lambda e, known: (tried.append(e), simplify(e, known))[1])
    derive(load(spec_path("lstm")))
    assert len(tried) == len(set(tried))


def test_the_indices_in_an_expression_are_the_bound_ones_too():
    n, k = Index("n", size("N")), Index("k", size("K"))
    largest = Max.over(Access("x", n, k), [k])
    assert indices_in(largest) == {n, *largest.bound}


@pytest.mark.parametrize("name", ["attention", "cross_entropy", "layer_norm", "lstm", "max_pool1d"])
def test_formulas_alone_are_those_of_the_whole_derivation(name):
    spec = load(spec_path(name))
    assert formulas(spec).display == derive(spec).display


def test_what_is_longer_than_is_asked_for_is_not_simplified():
    n = Index("n", size("N"))
    expression = sum(Access(name, n) for name in "abcdefgh")
    assert simplify(expression, KNOWN).expression == expression
    with of_at_most(100):
        assert simplify(expression, KNOWN).expression == expression
        with of_at_most(10), pytest.raises(UnsupportedError, match="too long"):
            simplify(expression, KNOWN)
    assert simplify(expression, KNOWN).expression == expression


KNOWN = swept(load(spec_path("relu")))[0].knowledge
