"""The bounds of the functions of matrices hold in float32, also of nearly singular matrices, and are not idle."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from symderive.check.linear import matrix_bound, solve_bound
from symderive.check.rounding import ROUNDING
from symderive.check.uncertain import Arithmetic, Uncertain

CONDITIONS = (1.0, 1e2, 1e4)


def spd(rng, n, condition):
    q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return ((q * np.geomspace(1, condition, n)) @ q.T).astype(np.float32)


def arithmetic():
    return Arithmetic(ROUNDING["float32"])


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("form", ["general", "lower", "upper"])
def test_a_solution_stays_within_its_bound(condition, form):
    rng = np.random.default_rng(0)
    for n in (1, 3, 20):
        a, b = spd(rng, n, condition), rng.standard_normal((n, 4)).astype(np.float32)
        if form == "general":
            computed = torch.linalg.solve(torch.tensor(a), torch.tensor(b)).numpy()
        else:
            a = np.linalg.cholesky(a) if form == "lower" else np.linalg.cholesky(a).T.copy()
            computed = torch.linalg.solve_triangular(torch.tensor(a), torch.tensor(b), upper=form == "upper").numpy()
        found = solve_bound(arithmetic(), form, Uncertain.exact(a), Uncertain.exact(b))
        error = np.abs(computed - np.linalg.solve(a.astype(float), b.astype(float)))
        assert (error <= found.error).all()
        assert (found.error < np.abs(found.value).max()).all()  # of what the condition number allows


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_factor_stays_within_its_bound(condition):
    rng = np.random.default_rng(1)
    for n in (1, 3, 20):
        a = spd(rng, n, condition)
        computed = torch.linalg.cholesky(torch.tensor(a)).numpy()
        found = matrix_bound(arithmetic(), "cholesky", Uncertain.exact(a))
        assert (np.abs(computed - np.linalg.cholesky(a.astype(float))) <= found.error).all()
        assert np.isfinite(found.error).all()


def test_an_error_of_the_matrix_moves_the_result():
    a, b = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0])
    for function in (
        lambda m: solve_bound(arithmetic(), "general", m, Uncertain.exact(b)),
        lambda m: matrix_bound(arithmetic(), "cholesky", m),
    ):
        off = 1e-3 * np.array([[1.0, 0.0], [0.0, 0.0]])
        found, moved = function(Uncertain(a, np.abs(off))), function(Uncertain.exact(a + off)).value
        assert (np.abs(moved - found.value) <= found.error).all()
        assert (np.abs(moved - found.value) > 1e-6).any()


def test_nothing_is_known_of_what_has_no_solution():
    singular = Uncertain.exact(np.array([[1.0, 2.0], [2.0, 4.0]]))
    assert np.isinf(solve_bound(arithmetic(), "general", singular, Uncertain.exact(np.ones(2))).error).all()
    assert np.isinf(matrix_bound(arithmetic(), "cholesky", Uncertain.exact(-np.eye(2))).error).any()
