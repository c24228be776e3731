"""Integer expressions in index positions: affine forms, ranges, and what is known of sizes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from sympy import Add, Expr, Integer, Max, Mul, S, expand, floor

from symderive.algebra.nodes import (
    Access,
    ArgMax,
    ArgMin,
    Clamp,
    Condition,
    FloorDiv,
    Index,
    Mod,
    Node,
)
from symderive.record import record


@record
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
        return None if expression.atoms(Node) else Affine((), expression)
    if expression.atoms(Node):
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


def radix(form: Affine) -> list[Index] | None:
    """The indices of ``(a * D + b) * E + c`` from the outermost, where each runs over its whole digit."""
    terms = sorted(form.terms, key=lambda t: (t[1] is not S.One, len(t[1].args), str(t[1])))
    reach: Expr = S.One
    digits: list[Index] = []
    while terms:
        found = next((t for t in terms if same(t[1], reach)), None)
        if found is None:
            return None
        terms.remove(found)
        digits.insert(0, found[0])
        reach = reach * found[0].extent
    return digits


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
    difference = expand(without_floors(difference))
    shifted = expand(difference.xreplace({s: s + 1 for s in difference.free_symbols if s.is_positive}))
    return all(t.is_nonnegative for t in Add.make_args(shifted))


def without_floors(expression: Expr) -> Expr:
    """A lower bound without floors: ``(n - q + 1) / q <= floor(n / q) <= n / q`` for integers n and q."""
    changes: dict[Expr, Expr] = {}
    for found in expression.atoms(floor):
        inner = found.args[0]
        sign = sign_of(expression.coeff(found))
        if sign is None:
            continue
        denominator = inner.as_numer_denom()[1]
        if sign < 0:
            changes[found] = inner
        elif denominator.is_Integer:
            changes[found] = inner - 1 + 1 / denominator
    return expression.xreplace(changes) if changes else expression


Ranges = Mapping[str, Expr]
"""The number of classes of each integer tensor."""


def in_range(place: Expr, extent: Expr, ranges: Ranges) -> bool:
    """Whether an integer expression is known to lie in 0..extent - 1."""
    bounds = extremes(place, ranges)
    return bounds is not None and at_least(bounds[0], S.Zero) and at_least(extent - 1, bounds[1])


def extremes(e: Expr, ranges: Ranges) -> tuple[Expr, Expr] | None:
    """Bounds of an integer expression in terms of sizes, or None where none are known."""
    if isinstance(e, Index):
        return S.Zero, e.extent - 1
    if isinstance(e, Access):
        return (S.Zero, ranges[e.tensor] - 1) if e.tensor in ranges else None
    if isinstance(e, ArgMax | ArgMin):
        return S.Zero, e.bound[0].extent - 1
    if isinstance(e, Condition):
        return S.Zero, S.One
    if not e.atoms(Index, Node):
        return e, e
    if isinstance(e, Add):
        parts = [extremes(a, ranges) for a in e.args]
        return None if None in parts else (Add(*(p[0] for p in parts)), Add(*(p[1] for p in parts)))  # type: ignore[index]
    if isinstance(e, Mul):
        return _scaled(e, ranges)
    if isinstance(e, Mod):
        return (S.Zero, e.args[1] - 1) if e.args[1].is_positive else None
    if isinstance(e, FloorDiv):
        inner = extremes(e.args[0], ranges)
        if inner is None or not e.args[1].is_positive:
            return None
        return floor(inner[0] / e.args[1]), floor(inner[1] / e.args[1])
    if isinstance(e, Clamp) and not any(a.atoms(Index, Node) for a in e.args[1:]):
        return e.args[1], e.args[2]
    return None


def _scaled(e: Mul, ranges: Ranges) -> tuple[Expr, Expr] | None:
    outside = [a for a in e.args if not a.atoms(Index, Node)]
    inside = [a for a in e.args if a.atoms(Index, Node)]
    scale = Mul(*outside)
    sign = sign_of(scale)
    bounds = extremes(inside[0], ranges) if len(inside) == 1 else None
    if bounds is None or sign is None:
        return None
    low, high = scale * bounds[0], scale * bounds[1]
    return (low, high) if sign >= 0 else (high, low)


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
