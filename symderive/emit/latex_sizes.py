r"""Size expressions as syntax, so that a shape prints as every other formula does: :math:`\mathbb{R}^{N \times K}`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

from sympy import Add, Expr, Integer, Mul, Pow, Rational, Symbol, floor

from symderive.algebra.nodes import FloorDiv, Mod
from symderive.errors import UnsupportedError
from symderive.spec.sizes import BATCH_SIZE
from symderive.spec.syntax import Batch, Binary, Name, Node, Number, Unary

_OPERATORS: dict[type[Expr], str] = {FloorDiv: "//", Mod: "%"}


def size_syntax(extent: Expr) -> Node:
    """A size expression as a tree of the language; ``floor(D/2)`` is ``D // 2``."""
    if extent == BATCH_SIZE:
        return Batch()
    if isinstance(extent, Symbol):
        return Name(extent.name)
    if isinstance(extent, Rational):
        return _rational(extent)
    if isinstance(extent, Add):
        return _sum(extent)
    if isinstance(extent, Mul):
        return _product(extent)
    if isinstance(extent, Pow) and isinstance(extent.exp, Integer) and extent.exp > 0:
        return Binary("**", size_syntax(extent.base), Number(Fraction(int(extent.exp))))
    if isinstance(extent, floor):
        above, below = extent.args[0].as_numer_denom()
        return Binary("//", size_syntax(above), size_syntax(below))
    if type(extent) in _OPERATORS:
        return Binary(_OPERATORS[type(extent)], size_syntax(extent.args[0]), size_syntax(extent.args[1]))
    raise UnsupportedError(f"the size {extent} has no LaTeX")


def _rational(number: Rational) -> Node:
    above: Node = Number(Fraction(abs(int(number.p))))
    if number.q != 1:
        above = Binary("/", above, Number(Fraction(int(number.q))))
    return Unary("-", above) if number.p < 0 else above


def _sum(extent: Add) -> Node:
    terms = sorted(extent.as_ordered_terms(), key=lambda term: (term.is_number, term.could_extract_minus_sign()))
    whole = size_syntax(terms[0])
    for term in terms[1:]:
        minus = term.could_extract_minus_sign()
        whole = Binary("-" if minus else "+", whole, size_syntax(-term if minus else term))
    return whole


def _product(extent: Mul) -> Node:
    if extent.could_extract_minus_sign():
        return Unary("-", size_syntax(-extent))
    above, below = extent.as_numer_denom()
    factors = [size_syntax(factor) for factor in above.as_ordered_factors()]
    whole = reduce(lambda left, right: Binary("*", left, right), factors)
    return whole if below == 1 else Binary("/", whole, size_syntax(below))


def last_index(extent: Expr) -> Node:
    """The largest index of an axis, its extent less one."""
    return size_syntax(extent - 1)


def axes(shape: Sequence[Expr]) -> list[Node]:
    """The extents of a shape as syntax."""
    return [size_syntax(extent) for extent in shape]
