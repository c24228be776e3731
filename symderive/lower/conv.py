"""Convolutions and their adjoints, recognised among the factors of a sum of products."""

from __future__ import annotations

from sympy import Expr

from symderive.algebra.nodes import Index
from symderive.lower.axes import Labelled
from symderive.lower.context import Lowering


def recognised(factors: list[Expr], masks: list[Expr], bound: list[Index], ctx: Lowering) -> Labelled | None:
    """The sum of ``factors`` over ``bound`` as a convolution, or None where it is none."""
    return None
