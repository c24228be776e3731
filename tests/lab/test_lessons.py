"""What is told of a mistake is what running it gave."""

from __future__ import annotations

import math

from symderive.report.lab.data import Accumulated, Factor, InPlace, NotScalar, Overflowed, Transposed
from symderive.report.lab.lessons import lesson


def told(mistake):
    title, sentences = lesson(mistake)
    return f"{title}. {' '.join(sentences)}"


def test_an_overflow_on_the_way_and_one_of_the_value_itself():
    way = told(Overflowed("float16", 1.0, ("L",), 3e4, 65504.0, True, 0.5))
    assert "which float16 could hold" in way
    assert "off by up to 0.5" in way
    value = told(Overflowed("float16", 10.0, ("L",), 1e6, 65504.0, False, math.nan))
    assert "could hold" not in value
    assert "multiplied by 10" in value
    assert "not finite either" in value


def test_no_overflow_is_told_as_none():
    text = told(Overflowed("float16", 1e4, (), 0.0, 65504.0, True, 0.0))
    assert "no output overflowed" in text
    assert "gives inf" not in text


def test_a_transpose_that_is_refused_and_one_that_is_not():
    refused = told(Transposed("W", (3, 2), "shapes cannot be multiplied", None, 3, "", 0.4, 1.2))
    assert "PyTorch refuses: “shapes cannot be multiplied”" in refused
    assert "off by 0.4" in refused
    assert "Check a gradient at sizes that differ" in refused
    silent = told(Transposed("W", (3, 2), "", 0.7, 3, "", 0.0))
    assert "refuses" not in silent
    assert "off by 0.7" in silent
    assert "the output is the same" in silent
    assert "Check a gradient" not in silent


def test_a_constant_that_scales_everything_something_or_nothing():
    assert "every gradient becomes 2 times" in told(Factor("a", "b", {"dx": 2.0, "dW": 2.0}))
    assert "nothing shows it" in told(Factor("a", "b", {"dx": 1.0}))
    mixed = told(Factor("a", "b", {"dx": 4.0, "dW": None}))
    assert "`dx` is 4 times the true one and `dW` is no multiple" in mixed


def test_what_accumulates():
    assert "every `.grad` is 2 times the gradient: `.grad` is added to" in told(Accumulated(2, {"dx": 2.0}))
    replaced = told(Accumulated(2, {"dx": 1.0}))
    assert "is 1 times" in replaced
    assert "added to" not in replaced


def test_a_change_in_place_that_is_noticed_and_one_that_is_not():
    assert "autograd notices, “modified”" in told(InPlace("x", "modified: at version 1", 3.0, 4.0))
    missed = told(InPlace("x", "", 0.0, 4.0))
    assert "raises nothing" in missed
    assert "same gradients as before" in missed


def test_no_upstream():
    assert "`y.backward()` raises “only for scalar outputs”" in told(NotScalar("y", "only for scalar outputs"))
