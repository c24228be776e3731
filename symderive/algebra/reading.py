"""The order in which people write the factors and terms of a formula."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sympy
from sympy import Expr, Mul, Pow, S
from sympy.functions.elementary.exponential import exp as Exp

from symderive.algebra import nodes
from symderive.algebra.nodes import Access, And, Eq, Index, Not, Where
from symderive.algebra.terms import depends, factors
from symderive.spec.syntax import Binary, Node


def product_of(parts: list[Node]) -> Node:
    """``a * b * c``."""
    result = parts[0]
    for part in parts[1:]:
        result = Binary("*", result, part)
    return result


def fraction(parts: Iterable[Expr], order: Mapping[str, int]) -> tuple[list[Expr], list[Expr]]:
    """Factors above and below the line: scalars first, then in the order of the left side's indices."""
    above, below = [], []
    for factor in parts:
        if isinstance(factor, Pow) and not isinstance(factor, Exp) and factor.exp.is_number and factor.exp < 0:
            if factor.exp == sympy.Rational(-1, 2):
                above.append(factor)
            else:
                below.append(factor.base**-factor.exp)
        else:
            above.append(factor)
    above.sort(key=lambda f: _factor_order(f, order))
    below.sort(key=lambda f: _factor_order(f, order))
    return above, below


def one_root(top: Expr, bottom: Expr) -> tuple[Expr, Expr]:
    """A quotient of numbers with its square roots in one: ``sqrt(2 / pi)``, and ``1 / sqrt(2)`` for ``sqrt(2) / 2``."""
    roots = [[f for f in Mul.make_args(part) if f.is_Pow and f.exp == S.Half] for part in (top, bottom)]
    if not roots[0]:
        return top, bottom
    above, below = (Mul(*(f.base for f in own)) for own in roots)
    top, bottom = (
        Mul(*(f for f in Mul.make_args(part) if f not in own)) for part, own in zip((top, bottom), roots, strict=True)
    )
    if (bottom / above).is_Integer:
        return top, Mul(bottom / above, Pow(above * below, S.Half, evaluate=False), evaluate=False)
    return Mul(top, Pow(above / below, S.Half, evaluate=False), evaluate=False), bottom


def split_roots(number: Expr, parts: list[Expr]) -> tuple[Expr, tuple[list[Expr], list[Expr]], list[Expr]]:
    """The rational number in front of a product, the square roots above and below the line, and the other factors."""
    numbers = [p for p in parts if p.is_number and p.is_Pow and abs(p.exp) == S.Half]
    if not numbers:
        return number, ([], []), parts
    top, bottom = one_root(*sympy.fraction(Mul(number, *numbers)))
    split = [[f for f in Mul.make_args(part) if f != 1] for part in (top, bottom)]
    rational = [Mul(*(f for f in part if f.is_Rational)) for part in split]
    above, below = ([f for f in part if not f.is_Rational] for part in split)
    return rational[0] / rational[1], (above, below), [p for p in parts if p not in numbers]


def _factor_order(factor: Expr, order: Mapping[str, int]) -> tuple[int, int, int]:
    """Scalars, then by the first index of the left side that a factor holds; reductions after what is simpler."""
    first = min((order.get(i.name, len(order)) for i in factor.atoms(Index)), default=-1)
    if factor.is_number or not factor.atoms(Access):
        return 0, 0 if not factor.atoms(Index) else 1, 0
    kinds = (isinstance(factor, nodes.Sum), bool(factor.atoms(nodes.Binder)), factor.is_Add)
    return 1, first, next((3 - n for n, kind in enumerate(kinds) if kind), 0)


def by_appearance(body: Expr, bound: Iterable[Index], order: Mapping[str, int]) -> tuple[Index, ...]:
    """Bound indices in the order in which a reader of the body meets them."""
    met: dict[Index, int] = {}
    for factor in fraction(factors(body), order)[0]:
        for node in sympy.preorder_traversal(factor):
            if isinstance(node, Access):
                for part in (part for place in node.indices for part in sympy.preorder_traversal(place)):
                    if isinstance(part, Index):
                        met.setdefault(part, len(met))
    return tuple(sorted(bound, key=lambda i: met.get(i, len(met))))


def split_condition(body: Expr, neutral: Expr | None, opened: tuple[Index, ...]) -> tuple[Expr | None, Expr]:
    """The condition of a reduction: a ``where`` whose other branch is neutral, or deltas that are factors of a sum."""
    if neutral is None:
        return None, body
    conditions: list[Expr] = []
    if neutral is S.Zero:
        deltas = [f for f in factors(body) if isinstance(f, Eq) and depends(f, opened)]
        if deltas and body not in deltas:
            conditions += deltas
            body = Mul(*(f for f in factors(body) if f not in deltas))
    if isinstance(body, Where) and body.args[2] == neutral and depends(body.args[0], opened):
        conditions.append(body.args[0])
        body = body.args[1]
    elif isinstance(body, Where) and body.args[1] == neutral and depends(body.args[0], opened):
        conditions.append(Not(body.args[0]))
        body = body.args[2]
    return (And(*conditions), body) if conditions else (None, body)


def reading_order(term: Expr) -> tuple[int, int]:
    """Terms without a sum come first, numbers last, as people write them; else SymPy's order stays."""
    return (1 if term.is_number else 0, 1 if term.atoms(nodes.Binder) else 0)


def is_negative(term: Expr) -> bool:
    """Whether a term of a sum is subtracted: by its number, and by sums in it all terms of which are subtracted."""
    if not term.is_Mul:
        return bool(term.could_extract_minus_sign())
    number, _ = term.as_coeff_Mul()
    negative = bool(number.is_negative)
    for factor in factors(term):
        if factor.is_Add and all(t.could_extract_minus_sign() for t in factor.args):
            negative = not negative
    return negative
