"""Quotients over one denominator, and the factors of ``abs``."""

from __future__ import annotations

from sympy import Add, Expr, Mul, Pow, S

from symderive.algebra import nodes
from symderive.algebra.terms import cost, terms


def value_times_sign(expression: Expr) -> Expr:
    """``x sign(x) = abs(x)``."""
    if not expression.is_Mul:
        return expression
    parts = list(expression.args)
    for sign in [f for f in parts if isinstance(f, nodes.Apply) and f.function == "sign"]:
        (value,) = sign.arguments
        if value in parts:
            parts.remove(value)
            parts[parts.index(sign)] = nodes.Apply("abs", value)
    return Mul(*parts) if len(parts) < len(expression.args) else expression


def complement_of_quotient(expression: Expr) -> Expr:
    """``c - c a / (a + b) = c b / (a + b)``: what is left of a whole, without the cancellation."""
    if not expression.is_Add or len(expression.args) != 2:
        return expression
    for whole, part in (expression.args, expression.args[::-1]):
        for below in [f for f in Mul.make_args(part) if isinstance(f, Pow) and f.base.is_Add and f.exp is S.NegativeOne]:
            numerator = part / below
            left = Add(*(whole * t for t in terms(below.base)), numerator)
            if cost(left * below) < cost(expression):
                return left * below
    return expression
