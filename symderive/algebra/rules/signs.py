"""Where a minus stands."""

from __future__ import annotations

from sympy import Add, Expr, Mul

from symderive.algebra.nodes import LogSumExp, Sum, Where
from symderive.algebra.terms import factors


def minus_into_sums(expression: Expr) -> Expr:
    """:func:`minus_into_sum` in every term and branch; what stands in conditions and functions stays as it is."""
    if isinstance(expression, Where):
        condition, a, b = expression.args
        return Where(condition, minus_into_sums(a), minus_into_sums(b))
    if isinstance(expression, Sum):
        body, opened = expression.open()
        changed = minus_into_sums(body)
        return expression if changed == body else Sum.over(changed, opened)
    if not isinstance(expression, Add | Mul):
        return expression
    args = [minus_into_sums(a) for a in expression.args]
    changed = expression if all(a is b for a, b in zip(args, expression.args, strict=True)) else expression.func(*args)
    return minus_into_sum(changed)


def minus_into_sum(expression: Expr) -> Expr:
    """``-f (a - b) = f (b - a)``, ``-sum_k f_k (a_k - b_k) = sum_k f_k (b_k - a_k)``, ``f (-a - b) = -f (a + b)``."""
    if not expression.is_Mul:
        return expression
    minus = [f for f in expression.args if f.is_Add and all(t.could_extract_minus_sign() for t in f.args)]
    if minus and not expression.atoms(LogSumExp):
        rest = [f for f in expression.args if f not in minus]
        expression = Mul((-1) ** len(minus), *rest, *(-f for f in minus))
    number = expression.as_coeff_Mul()[0]
    if not number.is_Rational or not number.is_negative:
        return expression
    for factor in reversed(expression.args):
        turned = _turned(factor)
        if turned is not None:
            rest = [f for f in expression.args if f is not factor and f is not number]
            return Mul(-number, *rest, turned)
    return expression


def _turned(factor: Expr) -> Expr | None:
    """The negative of a difference, or of a sum of products with one; a log-softmax is left as it is."""
    if factor.is_Add:
        mixed = any(t.could_extract_minus_sign() for t in factor.args)
        return -factor if mixed and not factor.atoms(LogSumExp) else None
    if isinstance(factor, Sum):
        body, opened = factor.open()
        for inner in factors(body):
            if inner.is_Add and (turned := _turned(inner)) is not None:
                return Sum.over(Mul(*(f for f in factors(body) if f is not inner), turned), opened)
    return None
