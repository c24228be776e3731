"""Arithmetic of plain numbers inside expressions: what divides by zero, or is too large to work with, is an error."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction

from symderive.spec import syntax as s

MAX_BITS = 1400
"""Of a numerator or denominator: some 400 digits, as many as a number may be written with."""

_PLAIN: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


def fold(node: s.Node) -> Fraction | None:
    """The value of an expression of numbers alone, None of any other. Raises ``ValueError`` where it has none."""
    if isinstance(node, s.Number):
        return node.value
    if isinstance(node, s.Unary):
        value = fold(node.operand)
        return None if value is None else -value if node.op == "-" else value
    if not isinstance(node, s.Binary):
        return None
    left, right = fold(node.left), fold(node.right)
    if right is not None and right == 0 and node.op in ("/", "//", "%"):
        raise ValueError("a division by zero")
    if left is None or right is None:
        return None
    if node.op in _PLAIN:
        return _short(_PLAIN[node.op](left, right))
    if node.op == "/":
        return _short(left / right)
    return _power(left, right) if node.op == "**" else None


def _short(value: Fraction) -> Fraction:
    if _bits(value) > MAX_BITS:
        raise ValueError("this number is too large")
    return value


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _power(base: Fraction, exponent: Fraction) -> Fraction | None:
    """A whole power; one of a fraction stays as it is written."""
    if base == 0 and exponent < 0:
        raise ValueError("a division by zero")
    if base not in (0, 1, -1) and (_bits(base) - 1) * abs(exponent) > MAX_BITS:
        raise ValueError("this number is too large")
    return base ** int(exponent) if exponent.denominator == 1 else None
