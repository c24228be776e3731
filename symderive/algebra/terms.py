"""Sums as lists of terms, products as powers of factors: the small change of the index algebra."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, reduce
from math import gcd

from sympy import Add, Expr, Mul, Pow, Rational, S
from sympy.functions.elementary.exponential import exp as Exp

from symderive.algebra.nodes import Access, Binder, Index, Where

Powers = dict[Expr, Expr]


def terms(expression: Expr) -> tuple[Expr, ...]:
    """The terms of a sum; of anything else, itself."""
    return Add.make_args(expression)


def factors(expression: Expr) -> tuple[Expr, ...]:
    """The factors of a product; of anything else, itself."""
    return Mul.make_args(expression)


def powers(expression: Expr) -> tuple[Rational, Powers]:
    """A product as a number times powers, ``{base: exponent}``; an exponential is a base of its own."""
    number, result = S.One, {}
    for factor in factors(expression):
        if factor.is_Rational:
            number *= factor
            continue
        base, exponent = factor, S.One
        if isinstance(factor, Pow) and not isinstance(factor, Exp) and factor.exp.is_Rational:
            base, exponent = factor.base, factor.exp
        result[base] = result.get(base, S.Zero) + exponent
    return number, result


def product(number: Expr, parts: Powers) -> Expr:
    """The inverse of :func:`powers`."""
    return Mul(number, *(b**e for b, e in parts.items()))


def content(expression: Expr) -> tuple[Rational, tuple[Expr, ...]]:
    """The greatest number that divides every term of a sum, and the terms without it.

    SymPy multiplies a number into a sum (``2*(a + b)`` becomes ``2*a + 2*b``); whoever prints a sum takes it out
    again. The number is negative where every term is.
    """
    parts = terms(expression)
    numbers = [t.as_coeff_Mul()[0] for t in parts]
    if len(parts) < 2 or not all(n.is_Rational and n for n in numbers):
        return S.One, parts
    top = reduce(gcd, (abs(int(n.p)) for n in numbers))
    bottom = reduce(lambda a, b: a * b // gcd(a, b), (int(n.q) for n in numbers))
    common = Rational(top, bottom)
    if all(n < 0 for n in numbers):
        common = -common
    return common, tuple(t / common for t in parts)


def transform(expression: Expr, rule: Callable[[Expr], Expr], memo: dict[Expr, Expr] | None = None) -> Expr:
    """Apply ``rule`` to every subexpression, children first. Binders are opened, so a rule meets free indices only."""
    memo = {} if memo is None else memo
    if expression in memo:
        return memo[expression]
    if isinstance(expression, Index) or not expression.args:
        result = rule(expression) if not isinstance(expression, Index) else expression
    elif isinstance(expression, Binder):
        result = rule(_under(expression, rule))
    else:
        args = [a if not isinstance(a, Expr) else transform(a, rule, memo) for a in expression.args]
        unchanged = all(a is b for a, b in zip(args, expression.args, strict=True))
        result = rule(expression if unchanged else expression.func(*args))
    memo[expression] = result
    return result


def _under(binder: Binder, rule: Callable[[Expr], Expr]) -> Expr:
    body, opened = binder.open()
    new_body = transform(body, rule)
    at = tuple(transform(a, rule) for a in binder.at)
    if new_body is body and at == binder.at:
        return binder
    return type(binder).over(new_body, opened, at)


def substitute(expression: Expr, mapping: dict[Index, Expr]) -> Expr:
    """Put expressions in place of free indices; nothing is captured, since bound indices have no names."""
    return expression.xreplace(mapping) if mapping else expression


def tensors(expression: Expr) -> set[str]:
    """The names of the tensors that it reads."""
    return {a.tensor for a in expression.atoms(Access)}


@lru_cache(maxsize=65536)
def cost(expression: Expr) -> int:
    """How much there is to read and to compute: operations and operands, reductions and divisions weighing more."""
    if isinstance(expression, Index) or not expression.args:
        return 0 if expression.is_Number and abs(expression) == 1 else 1
    if isinstance(expression, Access):
        return 2
    inner = sum(cost(a) for a in expression.args if isinstance(a, Expr) and not isinstance(a, Index))
    if isinstance(expression, Binder):
        return inner + 4
    if isinstance(expression, Where):
        return inner + 2
    return inner + len(expression.args) - 1


def depends(expression: Expr, indices: Iterable[Index]) -> bool:
    """Whether any of the free indices stands in it."""
    found = expression.atoms(Index)
    return any(i in found for i in indices)
