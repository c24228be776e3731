"""Size expressions: SymPy integers over the symbols of named sizes."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import floor as floor_of

from sympy import Add, Expr, Integer, Mod, Mul, Pow, Rational, Symbol, expand, floor

BATCH_SIZE = Symbol("...", integer=True, nonnegative=True)
"""The extent of the index ``...``: the product of all leading batch axes."""


def size(name: str) -> Symbol:
    """The symbol of a named size, a positive integer."""
    return Symbol(name, integer=True, positive=True)


def same_size(a: Expr, b: Expr) -> bool:
    """Whether two size expressions are equal at all sizes, as far as expanding them shows."""
    return a == b or expand(a - b) == 0


def size_value(expression: Expr, sizes: Mapping[str, int]) -> int:
    """The value of a size expression at given sizes. Raises KeyError for a size that is not given.

    ``...`` is read under the name ``"..."`` as a number. A division by zero raises ZeroDivisionError.
    """
    value = _value(expression, sizes)
    if isinstance(value, Fraction):
        if value.denominator != 1:
            raise ValueError(f"{expression} is not an integer at {dict(sizes)}")
        return value.numerator
    return value


def _value(expression: Expr, sizes: Mapping[str, int]) -> int | Fraction:
    if isinstance(expression, Symbol):
        return sizes[expression.name]
    if isinstance(expression, Integer):
        return int(expression)
    if isinstance(expression, Rational):
        return Fraction(int(expression.p), int(expression.q))
    values = [_value(a, sizes) for a in expression.args]
    if isinstance(expression, Add):
        return sum(values)
    if isinstance(expression, Mul):
        product: int | Fraction = 1
        for value in values:
            product *= value
        return product
    if isinstance(expression, floor):
        return floor_of(values[0])
    if isinstance(expression, Mod):
        return values[0] % values[1]
    if isinstance(expression, Pow):
        return Fraction(values[0]) ** int(values[1])
    raise TypeError(f"a size expression does not hold {type(expression).__name__}")
