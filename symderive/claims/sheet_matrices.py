"""How adjoints flow back through functions of matrices, in whole arrays; see :mod:`symderive.claims.sheet`.

Of a stack of matrices A (the first axis), with G the adjoint of the result: Giles, *Collected matrix derivative results
for forward and reverse mode algorithmic differentiation* (2008), sections 2.2 and 2.3; for Cholesky's factor Murray,
*Differentiation of the Cholesky decomposition* (2016), equation 10.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symderive.check.grid_numbers import GridNumbers

Back = Callable[[np.ndarray], np.ndarray]


def ways_back(numbers: GridNumbers, op: str, value: np.ndarray, operands: tuple[np.ndarray, ...]) -> list[Back]:
    """For each operand of a function of matrices with a finite ``value``, how an adjoint of that flows to it."""
    return _WAYS[op](numbers, value, *operands)


def _turned(a: np.ndarray) -> np.ndarray:
    return a.swapaxes(-1, -2)


def _product(numbers: GridNumbers, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The matrix products of two stacks."""
    (count, rows, inner), columns = a.shape, b.shape[2]
    found = numbers.contract([a[..., None], b[:, None]], (count, rows, inner, columns), (2,))
    return found.reshape(count, rows, columns)


def _inverse(numbers: GridNumbers, value: np.ndarray, a: np.ndarray) -> list[Back]:
    """-B.T G B.T, where B is the inverse."""
    turned = _turned(value)
    return [lambda g: np.asarray(numbers.neg(_product(numbers, _product(numbers, turned, g), turned)))]


def _determinant(numbers: GridNumbers, value: np.ndarray, a: np.ndarray) -> list[Back]:
    """G det(A) A^-T."""
    return [lambda g: _over(numbers, np.asarray(numbers.mul(g, value)), a)]


def _logdet(numbers: GridNumbers, value: np.ndarray, a: np.ndarray) -> list[Back]:
    """G A^-T."""
    return [lambda g: _over(numbers, g, a)]


def _over(numbers: GridNumbers, g: np.ndarray, a: np.ndarray) -> np.ndarray:
    return np.asarray(numbers.flow(g[:, None, None], _turned(numbers.matrix("inv", a))))


def _solve(numbers: GridNumbers, value: np.ndarray, a: np.ndarray, b: np.ndarray) -> list[Back]:
    """To b flows h = A^-T G, to A -outer(h, x)."""

    def to_right(g: np.ndarray) -> np.ndarray:
        return numbers.matrix("solve", _turned(a), g)

    def to_matrix(g: np.ndarray) -> np.ndarray:
        return np.asarray(numbers.neg(numbers.flow(to_right(g)[..., None], value[:, None])))

    return [to_matrix, to_right]


def _cholesky(numbers: GridNumbers, value: np.ndarray, a: np.ndarray) -> list[Back]:
    """The symmetric part of L^-T P L^-1, where P is the lower triangle of L.T G with half of its diagonal."""
    n = value.shape[1]
    lower = np.tril(np.ones((n, n), dtype=bool))
    diagonal = np.eye(n, dtype=bool)

    def half(m: np.ndarray) -> np.ndarray:
        return np.asarray(numbers.div(m, 2))

    def back(g: np.ndarray) -> np.ndarray:
        inner = _product(numbers, _turned(value), numbers.where(lower, g, 0))
        inner = numbers.where(lower, numbers.where(diagonal, half(inner), inner), 0)
        inverse = numbers.matrix("inv", value)
        whole = _product(numbers, _product(numbers, _turned(inverse), inner), inverse)
        return half(np.asarray(numbers.add(whole, _turned(whole))))

    return [back]


_WAYS: dict[str, Callable[..., list[Back]]] = {
    "inv": _inverse,
    "det": _determinant,
    "logdet": _logdet,
    "solve": _solve,
    "cholesky": _cholesky,
}
