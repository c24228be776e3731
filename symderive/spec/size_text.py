"""SymPy size expressions -> the text that a spec would write, which reads back as an equal expression."""

from __future__ import annotations

from fractions import Fraction

from sympy import Add, Expr, Integer, Mod, Mul, Pow, Rational, Symbol, floor

from symderive.spec import syntax as s
from symderive.spec.format import to_text
from symderive.spec.model import Shape
from symderive.spec.sizes import BATCH_SIZE


def shape_text(shape: Shape) -> str:
    """A shape as a spec writes it: ``[..., H - R + 1, 3]``."""
    return f"[{', '.join(size_text(e) for e in shape)}]"


def size_text(expression: Expr) -> str:
    """A size expression as a spec writes it: ``H - R + 1``, ``D // 2``."""
    return "..." if expression == BATCH_SIZE else to_text(size_syntax(expression))


def size_syntax(expression: Expr) -> s.Node:
    """The syntax tree of a size expression."""
    if isinstance(expression, Symbol):
        return s.Name(expression.name)
    if isinstance(expression, Integer):
        number = s.Number(Fraction(abs(int(expression))))
        return number if expression >= 0 else s.Unary("-", number)
    if isinstance(expression, Add):
        return _sum(expression)
    if isinstance(expression, Mul):
        return _product(expression)
    if isinstance(expression, floor):
        above, below = expression.args[0].together().as_numer_denom()
        return s.Binary("//", size_syntax(above), size_syntax(below))
    if isinstance(expression, Mod):
        return s.Binary("%", size_syntax(expression.args[0]), size_syntax(expression.args[1]))
    if isinstance(expression, Pow):
        return s.Binary("**", size_syntax(expression.args[0]), size_syntax(expression.args[1]))
    if isinstance(expression, Rational):
        return s.Binary("/", size_syntax(Integer(expression.p)), size_syntax(Integer(expression.q)))
    raise TypeError(f"a size expression does not hold {type(expression).__name__}")


def _sum(expression: Expr) -> s.Node:
    terms = [(t.could_extract_minus_sign(), t) for t in expression.as_ordered_terms()]
    lead = next((n for n, (minus, _) in enumerate(terms) if not minus), 0)
    terms.insert(0, terms.pop(lead))
    total = size_syntax(terms[0][1])
    for minus, term in terms[1:]:
        total = s.Binary("-" if minus else "+", total, size_syntax(-term if minus else term))
    return total


def _product(expression: Expr) -> s.Node:
    if expression.could_extract_minus_sign():
        return s.Unary("-", size_syntax(-expression))
    factors = [size_syntax(f) for f in expression.as_ordered_factors()]
    product = factors[0]
    for factor in factors[1:]:
        product = s.Binary("*", product, factor)
    return product
