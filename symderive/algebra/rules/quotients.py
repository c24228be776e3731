"""Quotients over one denominator, and the factors of ``abs``."""

from __future__ import annotations

from sympy import Add, Expr, Mul, Pow, S

from symderive.algebra import nodes
from symderive.algebra.terms import Powers, cost, factors, powers, product, terms


def value_times_sign(expression: Expr) -> Expr:
    """``x sign(x) = abs(x)``, ``abs(x) sign(x) = x``, and ``sign(x) / abs(x) = 1 / x``: neither has a value at 0."""
    if not expression.is_Mul:
        return expression
    for sign in [f for f in expression.args if isinstance(f, nodes.Apply) and f.function == "sign"]:
        (value,) = sign.arguments
        size = nodes.Apply("abs", value)
        for known, result in ((value, size), (size, value)):
            for factor in expression.args:
                base, exponent = factor.as_base_exp()
                if base != known or not exponent.is_Integer:
                    continue
                rest = (f for f in expression.args if f not in (sign, factor))
                if exponent > 0:
                    return value_times_sign(Mul(*rest, result, known ** (exponent - 1)))
                if known == size and exponent.is_odd:
                    return value_times_sign(Mul(*rest, value**exponent))
    return expression


def cleared_denominators(expression: Expr) -> Expr:
    """``a / (c (b/c + 1)) = a / (b + c)`` for a named constant c; a size stays with its sum, which is a mean."""
    if not expression.is_Mul and not expression.is_Pow:
        return expression
    number, parts = powers(expression)
    sums = [b for b, e in parts.items() if b.is_Add and e.is_Integer]
    below = {f.base for b in sums for t in b.args for f in factors(t) if isinstance(f, Pow) and f.exp.is_negative}
    best = expression
    for constant in sorted((c for c in below if c.is_Symbol and not c.is_integer), key=str):
        cleared: Powers = {}
        for base, exponent in parts.items():
            if base in sums and any((t * constant).as_independent(constant)[1] is S.One for t in base.args):
                cleared[constant] = cleared.get(constant, S.Zero) - exponent
                base = Add(*(t * constant for t in base.args))  # noqa: PLW2901
            cleared[base] = cleared.get(base, S.Zero) + exponent
        candidate = product(number, cleared)
        best = candidate if cost(candidate) < cost(best) else best
    return best


def complement_of_quotient(expression: Expr) -> Expr:
    """``c - c a / (a + b) = c b / (a + b)``: what is left of a whole, without the cancellation."""
    if not expression.is_Add or len(expression.args) != 2:
        return expression
    for whole, part in (expression.args, expression.args[::-1]):
        for below in [f for f in Mul.make_args(part) if isinstance(f, Pow) and f.base.is_Add and f.exp.is_Integer]:
            rest = whole / below / below.base
            if below.exp > 0 or below.base in (f.base for f in Mul.make_args(rest) if isinstance(f, Pow)):
                continue
            left = Add(part / below, *(rest * t for t in terms(below.base)))
            if cost(left * below) < cost(expression):
                return left * below
    return expression
