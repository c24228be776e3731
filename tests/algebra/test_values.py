"""A derived gradient is the true one, and stays it whatever the author calls things."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sympy import Rational

from symderive.algebra.build import build_program
from symderive.algebra.derive import Sweep, derive, spec_letters
from symderive.algebra.forward import stable_program
from symderive.algebra.simplify import simplify
from symderive.spec import load, loads
from tests.algebra.programs import PROGRAMS
from tests.algebra.values import truth_and_derived

CATALOGUE = sorted(Path("derivations").glob("*.yaml"))


def assert_true(derivation, seed=0):
    true, derived = truth_and_derived(derivation, seed)
    for name, value in true.items():
        np.testing.assert_allclose(derived[name], value, rtol=1e-8, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_derived_gradient_is_the_true_one(name):
    assert_true(derive(loads(PROGRAMS[name], name=name)))


@pytest.mark.parametrize("path", CATALOGUE, ids=lambda p: p.stem)
def test_the_catalogue_is_derived_right(path):
    assert_true(derive(load(path)), seed=1)


def test_a_wrong_gradient_is_seen():
    derivation = derive(loads(PROGRAMS["funcs"], name="funcs"))
    own = derivation.backward.equations[-1]
    wrong = replace(own, right=own.right * Rational(1001, 1000))
    backward = replace(derivation.backward, equations=(*derivation.backward.equations[:-1], wrong))
    with pytest.raises(AssertionError, match="dx"):
        assert_true(replace(derivation, backward=backward))


RENAMED = {"x": "zeta", "w": "alpha", "y": "out", "K": "Bb", "N": "Zz", "i": "q", "j": "a", "k": "u", "n": "b"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_names_do_not_change_the_result(name):
    text = PROGRAMS[name]
    renamed = re.sub(r"\b[A-Za-z]\b", lambda m: RENAMED.get(m[0], m[0]), text)
    costs = [_shape_of_result(loads(t, name=name)) for t in (text, renamed)]
    assert costs[0] == costs[1]


def _shape_of_result(spec):
    """What does not depend on names: how many equations there are, and of how many operations each."""
    from symderive.algebra.terms import cost

    derivation = derive(spec)
    return sorted(cost(e.right) for e in derivation.display.equations), len(derivation.saved)


@pytest.mark.parametrize("name", PROGRAMS)
def test_simplifying_twice_changes_nothing(name):
    spec = loads(PROGRAMS[name], name=name)
    forward = stable_program(build_program(spec))
    sweep = Sweep(forward, spec.wrt, spec_letters(spec, forward))
    for equation in derive(spec).backward.equations:
        again = simplify(equation.right, sweep.knowledge).expression
        assert simplify(again, sweep.knowledge).expression == again
