"""Axes of length 1: their index is 0."""

from __future__ import annotations

from sympy import Expr, S

from symderive.algebra.nodes import Access, Binder, Index, MatrixBinder, Sum


def unit_axis(expression: Expr) -> Expr:
    """``delta(j, 0) = 1`` and ``t + j = t`` for an index j of an axis of length 1; so ``sum_j f_j = f_0``.

    In a place of its own, ``x[j]``, the index stays: there it names the axis. So does a sum over such places alone.
    """
    if isinstance(expression, Sum):
        return _without_units(expression)
    if isinstance(expression, Access | Binder) or not any(_is_free_unit(a) for a in expression.args):
        return expression
    return expression.func(*(S.Zero if _is_free_unit(a) else a for a in expression.args))


def _is_free_unit(expression: object) -> bool:
    return isinstance(expression, Index) and not expression.is_bound and expression.extent is S.One


def _without_units(expression: Sum) -> Expr:
    rows = {place for matrix in expression.body.atoms(MatrixBinder) for place in matrix.at}
    units = [i for i in expression.bound if i.extent is S.One and i not in rows and _counts(expression.body, i)]
    if not units:
        return expression
    body = expression.body.xreplace(dict.fromkeys(units, S.Zero))
    rest = {i: i.fresh() for i in expression.bound if i not in units}
    return Sum.over(body.xreplace(rest), rest.values())


def _counts(expression: Expr, index: Index) -> bool:
    """Whether the index stands in it as a number, and not only as a place of its own."""
    own = isinstance(expression, Access | Binder)
    return any(
        (a == index and not own) or (isinstance(a, Expr) and a.args and _counts(a, index)) for a in expression.args
    )
