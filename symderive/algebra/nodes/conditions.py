"""Conditions, worth 0 or 1, and the branches that they choose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from sympy import Expr, S
from sympy.printing.str import StrPrinter

from symderive.algebra.nodes.entries import Node


class Condition(Node):
    """An expression that is 0 or 1."""

    is_nonnegative = True
    is_integer = True
    symbol: ClassVar[str] = ""

    def _sympystr(self, printer: StrPrinter) -> str:
        return "(" + f" {self.symbol} ".join(printer._print(a) for a in self.args) + ")"


def _truth(value: bool) -> Expr:
    return S.One if value else S.Zero


class Lt(Condition):
    """``a < b``."""

    symbol = "<"

    def __new__(cls, a: Expr, b: Expr) -> Expr:
        if a.is_Number and b.is_Number:
            return _truth(bool(a < b))
        return Expr.__new__(cls, a, b)


class Le(Condition):
    """``a <= b``."""

    symbol = "<="

    def __new__(cls, a: Expr, b: Expr) -> Expr:
        if a.is_Number and b.is_Number:
            return _truth(bool(a <= b))
        return Expr.__new__(cls, a, b)


class Eq(Condition):
    """``a == b``; of integers it is the Kronecker delta."""

    symbol = "=="

    def __new__(cls, a: Expr, b: Expr) -> Expr:
        if a.is_integer and b.is_integer:
            if (difference := a - b).is_Number:
                return _truth(difference is S.Zero)
        elif a.is_Number and b.is_Number:
            return _truth(a == b)
        if b.sort_key() < a.sort_key():
            a, b = b, a
        return Expr.__new__(cls, a, b)


class And(Condition):
    """All of several conditions."""

    symbol = "and"

    def __new__(cls, *conditions: Expr) -> Expr:
        flat = _flatten(cls, conditions)
        if S.Zero in flat:
            return S.Zero
        flat.discard(S.One)
        return _several(cls, flat, S.One)


class Or(Condition):
    """Any of several conditions."""

    symbol = "or"

    def __new__(cls, *conditions: Expr) -> Expr:
        flat = _flatten(cls, conditions)
        if S.One in flat:
            return S.One
        flat.discard(S.Zero)
        return _several(cls, flat, S.Zero)


def _flatten(cls: type[Condition], conditions: Iterable[Expr]) -> set[Expr]:
    flat: set[Expr] = set()
    for condition in conditions:
        flat.update(condition.args if isinstance(condition, cls) else (condition,))
    return flat


def _several(cls: type[Condition], flat: set[Expr], neutral: Expr) -> Expr:
    if len(flat) < 2:
        return next(iter(flat), neutral)
    return Expr.__new__(cls, *sorted(flat, key=lambda c: c.sort_key()))


class Not(Condition):
    """The negation of a condition; ``a != b`` is ``Not(Eq(a, b))``."""

    symbol = "not"

    def __new__(cls, condition: Expr) -> Expr:
        if condition.is_Number:
            return _truth(condition is S.Zero)
        if isinstance(condition, Not):
            return condition.args[0]
        if isinstance(condition, Lt | Le) and all(a.is_integer for a in condition.args):
            a, b = condition.args
            return Le(b, a) if isinstance(condition, Lt) else Lt(b, a)
        return Expr.__new__(cls, condition)

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"(not {printer._print(self.args[0])})"


class Where(Node):
    """``where(c, a, b)``: a where the condition holds, else b; a branch not taken never contributes.

    A branch that is 0 or infinite, as a mask has, is the second one; else the condition is no negation.
    """

    def __new__(cls, condition: Expr, a: Expr, b: Expr) -> Expr:
        if condition is S.One or a == b:
            return a
        if condition is S.Zero:
            return b
        flip = isinstance(condition, Not) and b not in _MASKS
        if flip or (a in _MASKS and b not in _MASKS):
            condition, a, b = Not(condition), b, a
        return Expr.__new__(cls, condition, a, b)


_MASKS = (S.Zero, S.Infinity, S.NegativeInfinity)
