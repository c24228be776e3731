"""Sums as lists of terms, products as powers of factors: the small change of the index algebra."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, reduce
from math import gcd

from sympy import Add, Expr, Mul, Pow, Rational, S
from sympy.functions.elementary.exponential import exp as Exp

from symderive.algebra.nodes import Access, Binder, Index, Where, indices_in

Powers = dict[Expr, Expr]


def terms(expression: Expr) -> tuple[Expr, ...]:
    """The terms of a sum; of anything else, itself."""
    return Add.make_args(expression)


def factors(expression: Expr) -> tuple[Expr, ...]:
    """The factors of a product; of anything else, itself."""
    return Mul.make_args(expression)


def powers(expression: Expr) -> tuple[Rational, Powers]:
    """A product as a number times powers, ``{base: exponent}``; an exponential is a base of its own.

    A sum that is a factor gives its number away, ``2 a - 2 b = 2 (a - b)``, so that equal factors look equal.
    """
    number: Rational = S.One
    result: Powers = {}
    for factor in factors(expression):
        if factor.is_Rational:
            number *= factor
            continue
        base, exponent = factor, S.One
        if isinstance(factor, Pow) and not isinstance(factor, Exp) and factor.exp.is_Rational:
            base, exponent = factor.base, factor.exp
        if base.is_Add and exponent.is_Integer:
            inside, rest = primitive(base)
            number, base = number * inside**exponent, rest
        result[base] = result.get(base, S.Zero) + exponent
    return number, result


def product(number: Expr, parts: Powers) -> Expr:
    """The inverse of :func:`powers`."""
    return Mul(number, *(b**e for b, e in parts.items()))


def content(expression: Expr) -> tuple[Rational, tuple[Expr, ...]]:
    """The greatest number that divides every term (a denominator only if all have it), and the terms without it.

    SymPy multiplies a number into a sum (``2*(a + b)`` becomes ``2*a + 2*b``); whoever prints a sum takes it out
    again. The number is negative where every term is.
    """
    parts = terms(expression)
    numbers = [t.as_coeff_Mul()[0] for t in parts]
    if len(parts) < 2 or not all(n.is_Rational and n for n in numbers):
        return S.One, parts
    top = reduce(gcd, (abs(int(n.p)) for n in numbers))
    bottoms = {int(n.q) for n in numbers}
    common = Rational(top, bottoms.pop() if len(bottoms) == 1 else 1)
    if all(n < 0 for n in numbers):
        common = -common
    return common, tuple(t / common for t in parts)


def primitive(expression: Expr) -> tuple[Rational, Expr]:
    """A sum as a number times a sum without one; of a sum and its negative, both give the same."""
    number, parts = content(expression)
    rest = Add(*parts) if number != 1 else expression
    if not tensors(rest):
        return number, rest
    constant, varying = rest.as_coeff_Add()
    negative = constant < 0 if constant and not varying.is_Add else rest.could_extract_minus_sign()
    return (-number, -rest) if negative else (number, rest)


def transform(expression: Expr, rule: Callable[[Expr], Expr], memo: dict[Expr, Expr] | None = None) -> Expr:
    """Apply ``rule`` to every subexpression, children first.

    Under a binder the rule meets its bound indices, which are as good as free ones there: no other binder in reach has
    the same. Where the body changes, the binder is made anew, so that its levels stay canonical. ``memo`` may be kept
    for as long as the rule means the same.
    """
    memo = {} if memo is None else memo
    if expression in memo:
        return memo[expression]
    if isinstance(expression, Index):
        return expression
    if not expression.args:
        result = rule(expression)
    elif isinstance(expression, Binder):
        result = rule(_under(expression, rule, memo))
    else:
        args = [transform(a, rule, memo) if isinstance(a, Expr) else a for a in expression.args]
        unchanged = all(a is b for a, b in zip(args, expression.args, strict=True))
        result = rule(expression if unchanged else expression.func(*args))
    memo[expression] = result
    return result


def _under(binder: Binder, rule: Callable[[Expr], Expr], memo: dict[Expr, Expr]) -> Expr:
    body = transform(binder.body, rule, memo)
    at = tuple(transform(a, rule, memo) for a in binder.at)
    if body is binder.body and at == binder.at:
        return binder
    fresh = {i: i.fresh() for i in binder.bound}
    return type(binder).over(body.xreplace(fresh), fresh.values(), at)


def transform_opened(expression: Expr, rule: Callable[[Expr], Expr]) -> Expr:
    """Apply ``rule`` everywhere, with fresh indices in place of bound ones: for rules that bring in binders."""
    if isinstance(expression, Binder):
        body, opened = expression.open()
        at = tuple(transform_opened(a, rule) for a in expression.at)
        return rule(type(expression).over(transform_opened(body, rule), opened, at))
    if isinstance(expression, Index) or not expression.args:
        return rule(expression)
    args = [transform_opened(a, rule) if isinstance(a, Expr) else a for a in expression.args]
    return rule(expression.func(*args))


class Pass:
    """Rules applied at every node, children first; what they made of an expression is remembered."""

    LIMIT = 20_000

    def __init__(self, *rules: Callable[[Expr], Expr]) -> None:
        self.rules = rules
        self._memo: dict[Expr, Expr] = {}

    def __call__(self, expression: Expr) -> Expr:
        """The rewritten expression."""
        if len(self._memo) > self.LIMIT:
            self._memo.clear()
        return transform(expression, self._at_node, self._memo)

    def _at_node(self, expression: Expr) -> Expr:
        for rule in self.rules:
            expression = rule(expression)
        return expression


def substitute(expression: Expr, mapping: dict[Index, Expr]) -> Expr:
    """Put expressions in place of free indices; nothing is captured."""
    if not mapping:
        return expression
    if any(v.atoms(Binder) for v in mapping.values()) and expression.atoms(Binder):
        # a binder that comes to stand inside another must be numbered below it
        return transform_opened(expression, lambda e: mapping.get(e, e) if isinstance(e, Index) else e)
    return expression.xreplace(mapping)


@lru_cache(maxsize=65536)
def tensors(expression: Expr) -> frozenset[str]:
    """The names of the tensors that it reads."""
    inside = frozenset[str]().union(*(tensors(a) for a in expression.args if a.args or isinstance(a, Access)))
    return inside | {expression.tensor} if isinstance(expression, Access) else inside


@lru_cache(maxsize=65536)
def cost(expression: Expr) -> int:
    """How much there is to read and to compute: operations and operands, reductions and divisions weighing more."""
    if isinstance(expression, Index) or not expression.args:
        return 0 if expression.is_Number and abs(expression) == 1 else 1
    if isinstance(expression, Access):
        return 2 if expression.indices else 1
    inner = sum(cost(a) for a in expression.args if isinstance(a, Expr) and not isinstance(a, Index))
    if isinstance(expression, Binder):
        return inner + 4
    if isinstance(expression, Where):
        return inner + 2
    return inner + len(expression.args) - 1


def depends(expression: Expr, indices: Iterable[Index]) -> bool:
    """Whether any of the free indices stands in it."""
    return not indices_in(expression).isdisjoint(indices)


_EXACT = frozenset(("abs", "sign", "relu"))
"""Functions whose value needs no rounding."""


def is_rounded_once(body: Expr) -> bool:
    """Whether an expression of tensor entries is rounded once at most, however it is computed."""
    return _roundings(body) <= 1


def _roundings(e: Expr) -> int:
    if isinstance(e, Access) or not e.args:
        return 0
    inner = sum(_roundings(a) for a in e.args if isinstance(a, Expr))
    if isinstance(e, Add | Mul):
        signs = sum(a == -1 for a in e.args)
        return inner + len(e.args) - 1 - signs
    if isinstance(e, Binder | Pow) or (hasattr(e, "function") and e.function not in _EXACT) or e.is_Function:
        return inner + (1 if e.is_Pow and e.exp == 2 else 2)
    return inner
