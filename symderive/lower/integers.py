"""Integer expressions in index positions: affine forms, ranges, and what is known of sizes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sympy import Expr, Integer, Max, S, expand

from symderive.algebra.nodes import Access, Binder, FloorDiv, Index, Mod, Pad


@dataclass(frozen=True)
class Affine:
    """``sum(coefficient * index) + constant``, the coefficients and the constant free of indices."""

    terms: tuple[tuple[Index, Expr], ...]
    constant: Expr

    @property
    def indices(self) -> tuple[Index, ...]:
        """The indices that it depends on."""
        return tuple(i for i, _ in self.terms)

    @property
    def least(self) -> Expr | None:
        """Its least value over all values of the indices, or None where a coefficient's sign is not known."""
        return self._bound(lower=True)

    @property
    def greatest(self) -> Expr | None:
        """Its greatest value over all values of the indices."""
        return self._bound(lower=False)

    def _bound(self, lower: bool) -> Expr | None:
        total = self.constant
        for index, coefficient in self.terms:
            sign = sign_of(coefficient)
            if sign is None:
                return None
            if (sign < 0) == lower:
                total += coefficient * (index.extent - 1)
        return simplify_size(total)


@lru_cache(maxsize=4096)
def affine(expression: Expr) -> Affine | None:
    """The affine form of an integer expression, or None where it has none."""
    if isinstance(expression, Index):
        return Affine(((expression, S.One),), S.Zero)
    if not expression.atoms(Index):
        return None if expression.atoms(Access) else Affine((), expression)
    if expression.atoms(Access, FloorDiv, Mod, Binder, Pad) & _with_indices(expression):
        return None
    expanded = expand(expression)
    terms: dict[Index, Expr] = {}
    constant: Expr = S.Zero
    for term in expanded.args if expanded.is_Add else (expanded,):
        inside = term.atoms(Index)
        if not inside:
            constant += term
            continue
        if len(inside) > 1:
            return None
        (index,) = inside
        coefficient = term.coeff(index, 1)
        if not coefficient or coefficient.atoms(Index) or coefficient * index != term:
            return None
        terms[index] = terms.get(index, S.Zero) + coefficient
    return Affine(tuple((i, c) for i, c in terms.items() if c is not S.Zero), constant)


def _with_indices(expression: Expr) -> set[Expr]:
    return {a for a in expression.atoms(Access, FloorDiv, Mod, Binder, Pad) if a.atoms(Index) or isinstance(a, Access)}


@lru_cache(maxsize=4096)
def simplify_size(expression: Expr) -> Expr:
    """A size expression with its products multiplied out."""
    return expression if expression.is_Atom else expand(expression)


def sign_of(expression: Expr) -> int | None:
    """The sign of a number or a size expression: 1 for at least 0 and not known to be 0; None where it is not known."""
    if expression is S.Zero:
        return 0
    if expression.is_nonnegative:
        return 1
    if expression.is_nonpositive:
        return -1
    return None


@lru_cache(maxsize=8192)
def same(a: Expr, b: Expr) -> bool:
    """Whether two size expressions are equal for all sizes."""
    return a == b or expand(a - b) is S.Zero


@lru_cache(maxsize=8192)
def at_least(a: Expr, b: Expr) -> bool:
    """Whether ``a >= b`` is known for all sizes of at least 1."""
    difference = expand(a - b)
    if difference.is_nonnegative:
        return True
    symbols = sorted(difference.free_symbols, key=str)
    shifted = expand(difference.xreplace({s: s + 1 for s in symbols if s.is_positive}))
    terms = shifted.args if shifted.is_Add else (shifted,)
    return all(t.is_nonnegative for t in terms)


def positive_part(expression: Expr) -> Expr:
    """``max(0, expression)``, without the maximum where the sign is known."""
    if at_least(expression, S.Zero):
        return simplify_size(expression)
    if at_least(S.Zero, expression):
        return S.Zero
    return Max(S.Zero, simplify_size(expression), evaluate=False)


def numeric(expression: Expr, sizes: dict[Expr, Integer]) -> float:
    """A size expression at the author's sizes, 8 where a size is not given; only for decisions on cost."""
    value = expression.xreplace(sizes)
    missing = {s: Integer(8) for s in value.free_symbols}
    return float(value.xreplace(missing)) if missing else float(value)
