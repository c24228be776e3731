"""Comparing arrays: what is judged, what is wrong, and the words for it."""

from __future__ import annotations

import numpy as np
import pytest

from symderive.check.compare import compare

T = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])


def test_within_the_bound_is_right_and_beyond_is_wrong():
    got = T.copy()
    got[1, 2] += 0.5
    assert compare(got, T, 0.5).ok
    made = compare(got, T, 0.4)
    assert (made.ok, made.wrong, made.max_abs_error, made.bound) == (False, 1, 0.5, 0.4)
    assert made.detail.startswith("1 of 9 entries are wrong; [1, 2] is 6.5, should be 6 to within 0.4")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_wrong_where_the_truth_is(bad):
    got = T.copy()
    got[0, 0] = bad
    made = compare(got, T, 1e300)
    assert made.wrong == 1
    assert made.max_abs_error == np.inf
    assert "not finite" in made.detail


def test_infinite_truth_is_met_exactly_and_nan_is_not_judged():
    true = np.array([np.inf, -np.inf, np.nan, 1.0])
    assert compare(np.array([np.inf, -np.inf, 5.0, 1.0]), true, 0.0).ok
    assert compare(np.array([np.inf, np.inf, 5.0, 1.0]), true, 0.0).wrong == 1
    assert compare(true, true, 0.0).judged == 3


def test_without_a_bound_nothing_is_judged():
    made = compare(T, T + 1, np.inf)
    assert made.undecided
    assert not made.ok
    assert compare(np.zeros(0), np.zeros(0), 0.0).ok


def test_a_bound_that_zeros_would_meet_is_vacuous():
    assert compare(T, T, 100.0).vacuous
    assert not compare(T, T, 5.0).vacuous
    assert not compare(0 * T, 0 * T, 5.0).vacuous


def test_shapes_must_agree():
    assert compare(T, T[:2], 1.0).detail == "shape [3, 3], should be [2, 3]"
    assert not compare(T[:, :1], T, 1e9).ok


def test_plain_patterns_are_named():
    assert "each is 1.001 times" in compare(1.001 * T, T, 1e-9).detail
    assert compare(0 * T, T, 1e-9).detail.endswith("(each is 0)")
    assert "rounding of float32" in compare(np.float32(T / 3).astype(float), T / 3, 1e-15).detail
    assert "each is -1 times" in compare(-T, T, 1e-9).detail
    assert "transpose" in compare(T.T, T, 1e-9).detail


def test_places_of_chosen_entries_are_those_of_the_whole():
    where = np.array([[7, 3], [2, 9]])
    assert "[2, 9] is 5" in compare(np.array([1.0, 5.0]), np.array([1.0, 2.0]), 0.1, where).detail
