"""Error bounds of the functions of matrices, computed by Gaussian elimination with partial pivoting or by Cholesky's.

Higham, *Accuracy and Stability of Numerical Algorithms*, theorems 9.3 and 14.1: the computed factors are exact for
``A + E`` with ``|E| <= gamma(n) |L| |U|``, and an inverse made of them has error at most ``|A^-1| E |A^-1|`` to first
order, once for the factors and twice for the triangular solves. Theorem 10.3: a computed Cholesky factor is exact for
``A + E`` with ``|E| <= gamma(n + 1) |L| |L^T|``, and ``dL = L Phi(L^-1 dA L^-T)`` says what that does to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lu

from symderive.check.uncertain import Arithmetic, Array, Uncertain
from symderive.lower.plan import MATRIX_OPS

SOLVES = 3
"""Backward errors of the size of ``gamma(n) |L| |U|`` in an inverse: one of the factors, two of the solves."""


def matrix_bound(arithmetic: Arithmetic, op: str, a: Uncertain) -> Uncertain:
    """``op`` of the square matrices in the last two axes of ``a``."""
    n = a.shape[-1]
    stack = a.shape[:-2]
    count = math.prod(stack)
    matrices = zip(a.value.reshape(count, n, n), a.error.reshape(count, n, n), strict=True)
    rows = [_row(arithmetic, op, matrix, error) for matrix, error in matrices]
    shape = a.shape if MATRIX_OPS[op] else stack
    value = np.array([r[0] for r in rows]).reshape(shape)
    error = np.array([r[1] for r in rows]).reshape(shape)
    return arithmetic.rounded(value, error)


def _row(arithmetic: Arithmetic, op: str, matrix: Array, error: Array) -> tuple[Any, Any]:
    """``op`` of one matrix; of one that is not finite nothing is known."""
    if not (np.isfinite(matrix).all() and np.isfinite(error).all()):
        unknown = np.full(matrix.shape if MATRIX_OPS[op] else (), np.nan)
        return unknown, np.full(unknown.shape, np.inf)
    return _RULES[op](arithmetic, matrix, error)


def _perturbed(arithmetic: Arithmetic, matrix: Array, error: Array, solves: int) -> Array:
    """What the matrix may seem to be off by: its own errors, and the backward error of elimination."""
    _, lower, upper = lu(matrix)
    growth = np.abs(lower) @ np.abs(upper)
    return error + solves * arithmetic.rounding.gamma(max(len(matrix), 1)) * np.max(growth, initial=0.0)


def _inverse(arithmetic: Arithmetic, matrix: Array, error: Array) -> tuple[Array, Array]:
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan), np.full_like(matrix, np.inf)
    moved = np.abs(inverse) @ _perturbed(arithmetic, matrix, error, SOLVES)
    return inverse, _resolvent(moved, moved @ np.abs(inverse))


def _resolvent(relative: Array, first: Array) -> Array:
    """The first-order change over ``1 - |A^-1 E|``: all higher orders of a Neumann series."""
    norm = float(np.max(relative.sum(axis=1), initial=0.0))
    return first / (1 - norm) if norm < 1 else np.full_like(first, np.inf)


def _relative_determinant(arithmetic: Arithmetic, matrix: Array, error: Array) -> float:
    """By how much the determinant may be off, relative to itself."""
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.inf
    moved = np.abs(inverse) @ _perturbed(arithmetic, matrix, error, 1)
    n = len(matrix)
    norm = float(np.max(moved.sum(axis=1), initial=0.0))
    return float(np.expm1(-n * np.log1p(-norm))) + arithmetic.rounding.gamma(n) if norm < 1 else np.inf


def _determinant(arithmetic: Arithmetic, matrix: Array, error: Array) -> tuple[Any, Any]:
    value = np.linalg.det(matrix)
    return value, abs(value) * _relative_determinant(arithmetic, matrix, error)


def _logdet(arithmetic: Arithmetic, matrix: Array, error: Array) -> tuple[Any, Any]:
    sign, value = np.linalg.slogdet(matrix)
    relative = _relative_determinant(arithmetic, matrix, error)
    terms = np.abs(np.log(np.abs(np.diag(lu(matrix)[2])))).sum() if len(matrix) else 0.0
    summed = arithmetic.rounding.gamma(max(len(matrix), 1)) * terms
    return (value if sign >= 0 else np.nan), (-np.log1p(-relative) if relative < 1 else np.inf) + summed


def _cholesky(arithmetic: Arithmetic, matrix: Array, error: Array) -> tuple[Array, Array]:
    try:
        lower = np.linalg.cholesky(matrix)
        inverse = np.abs(np.linalg.inv(lower))
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan), np.full_like(matrix, np.inf)
    moved = error + arithmetic.rounding.gamma(len(matrix) + 1) * (np.abs(lower) @ np.abs(lower.T))
    relative = inverse @ np.maximum(moved, moved.T) @ inverse.T
    norm = float(np.sqrt((relative**2).sum()))
    first = np.abs(lower) @ np.tril(relative)
    return lower, first / (1 - 2 * norm) if norm < 0.5 else np.where(np.tril(np.ones_like(first)), np.inf, 0.0)


def solve_bound(arithmetic: Arithmetic, form: str, a: Uncertain, b: Uncertain) -> Uncertain:
    """The x of ``a @ x = b``: ``|A^-1| (E |x| + error of b)``, and all higher orders."""
    vector = b.value.ndim == 1
    right = b.map(lambda v: v[:, None]) if vector else b
    stack = right.shape[:-2]
    a = a.map(lambda v: np.broadcast_to(v, (*stack, *v.shape[-2:])))
    count, n, columns = math.prod(stack), *right.shape[-2:]
    pieces = ([v.reshape(count, n, -1) for v in (part.value, part.error)] for part in (a, right))
    systems, sides = ([Uncertain(v, e) for v, e in zip(*piece, strict=True)] for piece in pieces)
    rows = [_solution(arithmetic, form, *row) for row in zip(systems, sides, strict=True)]
    value = np.array([r[0] for r in rows]).reshape(*stack, n, columns)
    error = np.array([r[1] for r in rows]).reshape(*stack, n, columns)
    return arithmetic.rounded(value.reshape(b.shape), error.reshape(b.shape))


def _solution(arithmetic: Arithmetic, form: str, a: Uncertain, right: Uncertain) -> tuple[Array, Array]:
    matrix, error = TRIANGLES[form](a.value), TRIANGLES[form](a.error)
    unknown = np.full_like(right.value, np.nan), np.full_like(right.value, np.inf)
    if not all(np.isfinite(v).all() for v in (matrix, error, right.value, right.error)):
        return unknown
    try:
        inverse = np.abs(np.linalg.inv(matrix))
        value = np.linalg.solve(matrix, right.value)
    except np.linalg.LinAlgError:
        return unknown
    if form == "general":
        perturbed = _perturbed(arithmetic, matrix, error, SOLVES)
    else:
        perturbed = error + arithmetic.rounding.gamma(max(len(matrix), 1)) * np.abs(matrix)
    return value, _resolvent(inverse @ perturbed, inverse @ (perturbed @ np.abs(value) + right.error))


TRIANGLES: dict[str, Callable[[Array], Array]] = {"general": np.asarray, "lower": np.tril, "upper": np.triu}
"""What a solver reads of a matrix."""

_RULES: dict[str, Callable[[Arithmetic, Array, Array], tuple[Any, Any]]] = {
    "inv": _inverse,
    "det": _determinant,
    "logdet": _logdet,
    "cholesky": _cholesky,
}
