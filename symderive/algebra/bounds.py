"""What is certain about integer expressions: their extreme values, and conditions that always hold."""

from __future__ import annotations

from functools import lru_cache

from sympy import Add, Expr, Mul, S, expand

from symderive.algebra.nodes import Access, And, Condition, Eq, FloorDiv, Index, Le, Lt, Mod, Not, Or
from symderive.spec.sizes import BATCH_SIZE


def always(condition: Expr) -> bool | None:
    """True (False) where a condition on indices and sizes holds at every size (at none), None where neither is sure."""
    if condition is S.One or condition is S.Zero:
        return condition is S.One
    if isinstance(condition, Lt | Le) and all(a.is_integer for a in condition.args):
        return _order(condition)
    if isinstance(condition, Lt | Le) and not condition.atoms(Access, Index):
        return _order_of_constants(condition)
    if isinstance(condition, Not):
        inner = always(condition.args[0])
        return None if inner is None else not inner
    if isinstance(condition, Eq) and all(a.is_integer for a in condition.args):
        a, b = condition.args
        return False if positive(a - b - 1) or positive(b - a - 1) else None
    if isinstance(condition, And | Or):
        return _several(condition)
    return None


def _several(condition: Expr) -> bool | None:
    decisive = isinstance(condition, Or)
    verdicts = [always(c) for c in condition.args]
    if decisive in verdicts:
        return decisive
    return None if None in verdicts else not decisive


def _order(condition: Condition) -> bool | None:
    a, b = condition.args
    strict = int(isinstance(condition, Lt))
    if positive(b - a - strict):
        return True
    return False if positive(a - b - 1 + strict) else None


def _order_of_constants(condition: Condition) -> bool | None:
    """Two scalars of constants and sizes, by what is known of the sign of their difference."""
    difference = condition.args[1] - condition.args[0]
    if difference.is_positive or (isinstance(condition, Le) and difference.is_nonnegative):
        return True
    return False if difference.is_negative or (isinstance(condition, Lt) and difference.is_nonpositive) else None


@lru_cache(maxsize=4096)
def positive(expression: Expr) -> bool:
    """Whether an integer expression of indices and sizes is certainly not negative.

    Every index is put at the end of its range where the expression is least, and every size N is written 1 + n: if
    no coefficient of the polynomial that is left is negative, the expression is not.
    """
    least = lowest(expression)
    if least is None:
        return False
    sizes = {s: s + 1 for s in least.free_symbols if s.is_positive}
    least = expand(least.xreplace(sizes))
    return all(_term_not_negative(t) for t in Add.make_args(least))


def _term_not_negative(term: Expr) -> bool:
    coefficient, rest = term.as_coeff_Mul()
    return coefficient >= 0 and all(f.is_nonnegative for f in Mul.make_args(rest))


def lowest(expression: Expr) -> Expr | None:
    """A lower bound in terms of sizes, or None where the expression is not affine in its indices."""
    total: Expr = S.Zero
    for term in Add.make_args(expand(expression)):
        coefficient, rest = term.as_coeff_Mul()
        bounds = extremes(rest)
        if bounds is None:
            return None
        total += coefficient * (bounds[0] if coefficient > 0 else bounds[1])
    return total


def extremes(factor: Expr) -> tuple[Expr, Expr] | None:
    """The least and the greatest value of one term without its number; None where it is not known."""
    if isinstance(factor, Index):
        return S.Zero, factor.extent - 1
    if not factor.atoms(Index) and not factor.atoms(Access):
        return factor, factor
    if isinstance(factor, Mod) and factor.args[1].is_positive:
        return S.Zero, factor.args[1] - 1
    if isinstance(factor, FloorDiv) and factor.args[1].is_positive:
        return _quotient(factor)
    if isinstance(factor, Mul):
        return _product(factor)
    return None


def _quotient(factor: Expr) -> tuple[Expr, Expr] | None:
    value, divisor = factor.args
    low, high = lowest(value), lowest(-value)
    if low is None or high is None or not positive(low):
        return None
    least = FloorDiv(low, divisor)
    most = FloorDiv(-high, divisor)
    return (least if least.is_Integer else S.Zero), most


def _product(factor: Expr) -> tuple[Expr, Expr] | None:
    """A size times an index, the only product with indices that is bounded here."""
    scale: Expr = S.One
    rest: list[Expr] = []
    for f in factor.args:
        if f.atoms(Index) or f.atoms(Access):
            rest.append(f)
        else:
            scale *= f
    if len(rest) != 1 or not scale.is_positive:
        return None
    inner = extremes(rest[0])
    return None if inner is None else (scale * inner[0], scale * inner[1])


def plain_comparison(condition: Expr) -> Expr:
    """``0 <= i - H`` as ``H <= i``: an index on one side, what has none on the other."""
    if not isinstance(condition, Lt | Le):
        return condition
    difference = expand(condition.args[1] - condition.args[0])
    varying = [t for t in Add.make_args(difference) if t.atoms(Index, Access)]
    rest = difference - Add(*varying)
    if len(varying) != 1:
        return condition
    if varying[0].could_extract_minus_sign():
        return condition.func(-varying[0], rest)
    return condition.func(-rest, varying[0])


def in_range(position: Expr, extent: Expr) -> list[Expr]:
    """The conditions under which ``0 <= position < extent`` that are not certain."""
    if extent == BATCH_SIZE:
        return []
    if isinstance(position, Access):
        return []
    offset, varying = position.as_coeff_Add()
    conditions = [Le(-offset, varying), Lt(position, extent)]
    return [c for c in conditions if always(c) is not True]


def holds_somewhere(condition: Expr, indices: tuple[Index, ...]) -> bool:
    """Whether ``t_k = t_e`` is all that a condition asks of an index k, which holds at k = e."""
    if not isinstance(condition, Eq) or len(indices) != 1:
        return False
    (k,) = indices
    return any(
        isinstance(read, Access) and isinstance(i, Index) and i.extent == k.extent and read.xreplace({k: i}) == given
        for read, given in (condition.args, condition.args[::-1])
        for i in given.atoms(Index)
    )
