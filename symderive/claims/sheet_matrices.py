"""How adjoints flow back through functions of matrices, in whole arrays; see :mod:`symderive.claims.sheet`.

Of a stack of matrices A (the first axis), with G the adjoint of the result: Giles, *Collected matrix derivative results
for forward and reverse mode algorithmic differentiation* (2008), sections 2.2 and 2.3; for Cholesky's factor Murray,
*Differentiation of the Cholesky decomposition* (2016), equation 10.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symderive.check.grid_math import GridMath, Value

Back = Callable[[Value], Value]


def ways_back(math: GridMath, op: str, value: Value, operands: tuple[Value, ...]) -> list[Back]:
    """For each operand of a function of matrices with a finite ``value``, how an adjoint of that flows to it."""
    return _WAYS[op](math, value, *operands)


def _turned(m: GridMath, a: Value) -> Value:
    count, rows, columns = shape = m.shape(a)
    return m.rearranged(a, (0, 2, 1), shape, (count, columns, rows))


def _product(m: GridMath, a: Value, b: Value) -> Value:
    """The matrix products of two stacks."""
    (count, rows, inner), columns = m.shape(a), m.shape(b)[2]
    factors = m.reshaped(a, (count, rows, inner, 1)), m.reshaped(b, (count, 1, inner, columns))
    return m.reshaped(m.contract(factors, (count, rows, inner, columns), (2,)), (count, rows, columns))


def _outer(m: GridMath, g: Value, a: Value) -> Value:
    """The products of all entries of two stacks of vectors, or of numbers and vectors, where the first is not 0."""
    count, columns = m.shape(a)
    return m.flow(m.reshaped(g, (count, -1, 1)), m.reshaped(a, (count, 1, columns)))


def _inverse(m: GridMath, value: Value, a: Value) -> list[Back]:
    """-B.T G B.T, where B is the inverse."""
    turned = _turned(m, value)
    return [lambda g: m.neg(_product(m, _product(m, turned, g), turned))]


def _determinant(m: GridMath, value: Value, a: Value) -> list[Back]:
    """G det(A) A^-T."""
    return [lambda g: _over(m, m.mul(g, value), a)]


def _logdet(m: GridMath, value: Value, a: Value) -> list[Back]:
    """G A^-T."""
    return [lambda g: _over(m, g, a)]


def _over(m: GridMath, g: Value, a: Value) -> Value:
    return m.flow(m.reshaped(g, (len(m.plain(a)), 1, 1)), _turned(m, m.matrix("inv", a)))


def _solve(m: GridMath, value: Value, a: Value, b: Value) -> list[Back]:
    """To b flows h = A^-T G, to A -outer(h, x)."""

    def to_right(g: Value) -> Value:
        return m.matrix("solve", _turned(m, a), g)

    return [lambda g: m.neg(_outer(m, to_right(g), value)), to_right]


def _cholesky(m: GridMath, value: Value, a: Value) -> list[Back]:
    """The symmetric part of L^-T P L^-1, where P is the lower triangle of L.T G with half of its diagonal."""
    n = m.shape(value)[1]
    lower = np.tril(np.ones((n, n), dtype=bool))
    diagonal = np.eye(n, dtype=bool)

    def half(a: Value) -> Value:
        return m.div(a, 2)

    def back(g: Value) -> Value:
        inner = _product(m, _turned(m, value), m.choose(lower, g, 0))
        inner = m.choose(lower, m.choose(diagonal, half(inner), inner), 0)
        inverse = m.matrix("inv", value)
        whole = _product(m, _product(m, _turned(m, inverse), inner), inverse)
        return half(m.add(whole, _turned(m, whole)))

    return [back]


_WAYS: dict[str, Callable[..., list[Back]]] = {
    "inv": _inverse,
    "det": _determinant,
    "logdet": _logdet,
    "solve": _solve,
    "cholesky": _cholesky,
}
