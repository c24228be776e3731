"""Scalar expressions (sizes, constants, exact numbers) as Python text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce

import sympy
from sympy import Expr, Rational, S, Symbol, fraction, together

from symderive.algebra.nodes import FloorDiv, Mod
from symderive.algebra.reading import one_root
from symderive.emit.precedence import Level, Text, fill
from symderive.errors import InternalError
from symderive.lower.shapes import Shape
from symderive.spec.sizes import BATCH_SIZE

_FUNCTIONS = ("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "erf")


@dataclass
class Numbers:
    """Writes scalar expressions. ``spell`` names a symbol, ``function`` is the format of a call, as ``math.{}``."""

    spell: Callable[[Symbol], str]
    function: str = "math.{}"
    infinity: str = "math.inf"
    pi: str = "math.pi"
    renamed: Mapping[str, str] = field(default_factory=lambda: {"asin": "asin", "acos": "acos", "atan": "atan"})

    def text(self, value: Expr, whole: bool = False) -> Text:
        """``value`` as text; ``whole`` writes divisions that are known to leave no rest as ``//``."""
        if value.is_Rational:
            return rational(value)
        if value.is_Symbol:
            return Text(self.spell(value))
        if value.is_Add:
            return reduce(add, (self.text(t, whole) for t in value.as_ordered_terms()))
        if value.is_Mul:
            return self._product(value, whole)
        if value.is_Pow:
            return self._power(value, whole)
        return self._call(value, whole)

    def _product(self, value: Expr, whole: bool) -> Text:
        coefficient, rest = value.as_coeff_Mul()
        if coefficient.is_negative:
            return negate(self.text(-value, whole))
        top, bottom = fraction(value)
        if not whole:
            top, bottom = one_root(top, bottom)
        if bottom != 1:
            return fill("{0} // {1}" if whole else "{0} / {1}", self.text(top, whole), self.text(bottom, whole))
        coefficient, rest = top.as_coeff_Mul()
        factors = [f for f in (coefficient, *rest.as_ordered_factors()) if f != 1]
        return reduce(lambda a, b: fill("{0} * {1}", a, b), (self.text(f, whole) for f in factors))

    def _power(self, value: Expr, whole: bool) -> Text:
        base, exponent = value.as_base_exp()
        if exponent == S.Half:
            return Text(f"{self.function.format('sqrt')}({self.text(base).text})")
        if exponent.is_number and exponent.is_negative:
            return fill("{0} // {1}" if whole else "{0} / {1}", Text("1"), self.text(1 / value, whole))
        return fill("{0} ** {1}", self.text(base, whole), self.text(exponent))

    def _call(self, value: Expr, whole: bool) -> Text:
        if value is S.Infinity or value is S.NegativeInfinity:
            return Text(self.infinity) if value is S.Infinity else negate(Text(self.infinity))
        if value is S.Pi:
            return Text(self.pi)
        if value is S.Exp1:
            return Text(f"{self.function.format('exp')}(1)")
        if isinstance(value, sympy.floor):
            top, bottom = fraction(together(value.args[0]))
            return fill("{0} // {1}", self.text(top, True), self.text(bottom, True))
        if isinstance(value, FloorDiv | Mod | sympy.Mod):
            spelling = "{0} // {1}" if isinstance(value, FloorDiv) else "{0} % {1}"
            return fill(spelling, *(self.text(a, True) for a in value.args))
        if isinstance(value, sympy.Max | sympy.Min):
            name = "max" if isinstance(value, sympy.Max) else "min"
            return Text(f"{name}({', '.join(self.text(a, whole).text for a in value.args)})")
        in_python = self.function.startswith("math.")
        if isinstance(value, sympy.log) and in_python and any(s.is_integer for s in value.free_symbols):
            return self._log_of_size(*fraction(value.args[0]))
        name = type(value).__name__
        if name in _FUNCTIONS:
            return Text(f"{self.function.format(name)}({self.text(value.args[0]).text})")
        raise InternalError(f"no spelling for the number {value}: add one to emit/numbers.py")

    def _log_of_size(self, top: Expr, bottom: Expr) -> Text:
        """The log of a product of sizes, any of which may be 0, where Python's log raises."""
        if bottom != 1:
            return self.text(sympy.log(top) - sympy.log(bottom))
        size = self.text(top).at(Level.UNARY)
        return Text(
            f"({self.function.format('log')}({self.text(top).text}) if {size} else {self.text(-S.Infinity).text})"
        )


def reciprocal(value: Expr) -> Expr | None:
    """The d for which ``value`` is written as 1 / d."""
    if value.is_Rational:
        return 1 / value if value.p == 1 and value.q > 1 else None
    top, bottom = one_root(*fraction(value))
    return bottom if top == 1 and bottom != 1 else None


def shape_text(shape: Shape) -> str:
    """A shape as a comment prints it: ``[..., N, H // 2]``."""
    numbers = Numbers(lambda symbol: symbol.name)
    entries = ("..." if e == BATCH_SIZE else numbers.text(e, whole=True).text for e in shape)
    return f"[{', '.join(entries)}]"


def rational(value: Rational) -> Text:
    """An exact number: an integer, a short decimal where that is exact, else a quotient."""
    if value.is_negative:
        return negate(rational(-value))
    if value.is_Integer:
        return Text(str(int(value)))
    decimal = _decimal(value)
    if decimal is not None:
        return Text(decimal)
    return fill("{0} / {1}", Text(str(value.p)), Text(str(value.q)))


def _decimal(value: Rational) -> str | None:
    """``value`` in at most 12 significant digits, if that is exactly it."""
    text = f"{float(value):.12g}"
    if Rational(text) != value:
        return None
    mantissa, exponent, power = text.partition("e")
    return f"{mantissa}e{int(power)}" if exponent else text


def _minus(text: Text) -> str | None:
    """What follows the minus sign that a product or a negation starts with."""
    if text.text.startswith("-") and text.level in (Level.PRODUCT, Level.UNARY):
        return text.text[1:]
    return None


def negate(a: Text) -> Text:
    """``-a``; of a product, the sign goes to its first factor."""
    if (positive := _minus(a)) is not None:
        return Text(positive, Level.PRODUCT)
    if a.level == Level.PRODUCT and not _rounds(a.text):
        return Text(f"-{a.text}", Level.PRODUCT)
    return fill("-{0}", a)


def _rounds(text: str) -> bool:
    """Whether a product has a ``//`` or ``%`` outside of brackets, which a sign in front would change."""
    while (outer := re.sub(r"\([^()]*\)|\[[^\[\]]*\]", "", text)) != text:
        text = outer
    return "//" in text or "%" in text


def add(a: Text, b: Text) -> Text:
    """``a + b``, with the sign of a negative one taken into the operator."""
    if (positive := _minus(b)) is not None:
        return Text(f"{a.at(Level.SUM)} - {positive}", Level.SUM)
    if (positive := _minus(a)) is not None and b.level > Level.SUM:
        return Text(f"{b.at(Level.SUM)} - {positive}", Level.SUM)
    return fill("{0} + {1}", a, b)


def subtract(a: Text, b: Text) -> Text:
    """``a - b``, with the sign of a negative ``b`` taken into the operator."""
    if (positive := _minus(b)) is not None:
        return Text(f"{a.at(Level.SUM)} + {positive}", Level.SUM)
    return fill("{0} - {1}", a, b)
