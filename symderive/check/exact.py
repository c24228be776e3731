"""Exact arithmetic: rationals as long as they last, numbers of many digits where a function is transcendental."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath
from mpmath import libmp

from symderive.check.numbers import COMPARISONS, Domain, Value

RATIONAL = frozenset((int, Fraction, bool))
"""The types of rationals: a look-up takes a tenth of the time of ``isinstance``, which asks abstract classes."""

_NEAREST = libmp.round_nearest


def _is_rational(a: Value) -> bool:
    return type(a) in RATIONAL


MOST_BITS = 100_000
"""Of an exact power; a longer one is a number of as many digits as the others."""


LONGEST = 10**1000
"""Of an integer that is written out."""

LONGEST_ARGUMENT = 4000
"""Binary digits before the point of a number of which an exponential is computed; of a longer one there is no value."""

MOST_KNOWN = 4000
"""Values of a function that are kept."""


def _bits(a: Value) -> int:
    """How long a rational is; 0 for 0, 1 and -1, whose powers stay as short."""
    return 0 if a in (0, 1, -1) else max(a.numerator.bit_length(), a.denominator.bit_length())


def _ratio(top: int, bottom: int) -> Fraction:
    """The fraction of two numbers without a common factor, made without looking for one."""
    result = object.__new__(Fraction)
    result._numerator, result._denominator = top, bottom  # type: ignore[attr-defined]
    return result


def rational(top: int, bottom: int) -> Fraction | int:
    """A quotient of integers, of which the second is positive; an integer where it is whole."""
    common = math.gcd(top, bottom)
    return top // common if common == bottom else _ratio(top // common, bottom // common)


def _parts(a: Any) -> tuple[int, int]:
    """The numerator and the denominator of a rational: of a fraction without its properties, written in Python."""
    return (a._numerator, a._denominator) if type(a) is Fraction else (int(a), 1)  # type: ignore[attr-defined]


def _product(top: int, bottom: int, upper: int, lower: int) -> Fraction:
    """``top / bottom * (upper / lower)``, sooner than Python's own, which looks at types first."""
    if (common := math.gcd(top, lower)) > 1:
        top, lower = top // common, lower // common
    if (common := math.gcd(upper, bottom)) > 1:
        upper, bottom = upper // common, bottom // common
    return _ratio(top * upper, bottom * lower)


def _sum(top: int, bottom: int, upper: int, lower: int) -> Fraction:
    """``top / bottom + upper / lower``, likewise."""
    if bottom == lower:
        top = top + upper
    else:
        top, bottom = top * lower + upper * bottom, bottom * lower
    common = math.gcd(top, bottom)
    return _ratio(top // common, bottom // common) if common > 1 else _ratio(top, bottom)


def as_float(a: Value) -> float:
    """A number in float64: the nearest one for a rational."""
    if type(a) is not Fraction:
        return float(a)
    top, bottom = _parts(a)
    return top / bottom


def rational_total(values: Sequence[Fraction | int]) -> Fraction:
    """The sum of rationals, over one common denominator."""
    bottom = math.lcm(*{v.denominator for v in values})
    return Fraction(sum(v.numerator * (bottom // v.denominator) for v in values), bottom)


def _root(value: int) -> int | None:
    root = math.isqrt(value)
    return root if root * root == value else None


class Exact(Domain):
    """Rationals as long as they last, then ``mpmath`` numbers of ``digits`` digits."""

    name = "exact"

    def __init__(self, digits: int = 60) -> None:
        self.context = mpmath.MPContext()
        self.context.dps = digits
        self.bits = self.context.prec
        self.digits = digits
        self.real = self.context.mpf
        self.inf = self.context.inf
        self.nan = self.context.nan
        self.pi = +self.context.pi
        self.functions = {name: self._function(name) for name in _MP_RANGE} | {
            "sqrt": self._sqrt,
            "floor": self._floor,
            "round": self._round,
            "abs": abs,
        }

    def number(self, value: Fraction | int) -> Fraction | int:
        """Rationals are numbers of this domain."""
        return value

    def lift(self, a: Value) -> Any:
        """A number as one of ``mpmath``."""
        return a if type(a) is self.real else self._made(self._raw(a))

    def _raw(self, a: Value) -> Any:
        """A number in the form that ``mpmath`` computes with inside."""
        if type(a) is self.real:
            return a._mpf_
        if type(a) is not Fraction:
            return self.context.mpf(a)._mpf_
        top, bottom = _parts(a)
        if bottom & (bottom - 1):
            return libmp.from_rational(top, bottom, self.bits, _NEAREST)
        return libmp.from_man_exp(top, 1 - bottom.bit_length(), self.bits, _NEAREST)

    def _made(self, raw: Any) -> Any:
        """The number of such a form; its constructor would look at types first."""
        result = object.__new__(self.real)
        result._mpf_ = raw
        return result

    def scaled(self, whole: int, exponent: int, denominator: int) -> Any:
        """``whole * 2**exponent / denominator``, of many digits."""
        if denominator == 1:
            return self._made(libmp.from_man_exp(whole, exponent, self.bits, _NEAREST))
        return self._made(libmp.mpf_shift(libmp.from_rational(whole, denominator, self.bits, _NEAREST), exponent))

    def add(self, a: Value, b: Value) -> Value:
        """The sum, a rational if both are."""
        if type(a) in RATIONAL:
            if type(b) in RATIONAL:
                return a + b if type(a) is type(b) is int else _sum(*_parts(a), *_parts(b))
            if not a:
                return b
        elif type(b) in RATIONAL and not b:
            return a
        return self._made(libmp.mpf_add(self._raw(a), self._raw(b), self.bits, _NEAREST))

    def sub(self, a: Value, b: Value) -> Value:
        """The difference, a rational if both are."""
        if type(a) in RATIONAL and type(b) in RATIONAL:
            if type(a) is type(b) is int:
                return a - b
            top, bottom = _parts(b)
            return _sum(*_parts(a), -top, bottom)
        return self._made(libmp.mpf_sub(self._raw(a), self._raw(b), self.bits, _NEAREST))

    def mul(self, a: Value, b: Value) -> Value:
        """The product, a rational if both are; an exact 0 times anything finite is an exact 0."""
        if type(a) is self.real and type(b) is self.real:  # what claims compute most
            return self._made(libmp.mpf_mul(a._mpf_, b._mpf_, self.bits, _NEAREST))
        if type(a) in RATIONAL:
            if type(b) in RATIONAL:
                return a * b if type(a) is type(b) is int else _product(*_parts(a), *_parts(b))
            a, b = b, a
        if type(b) in RATIONAL:
            if b == 1:
                return a
            if not b and self.context.isfinite(a):
                return 0
        return self._made(libmp.mpf_mul(self._raw(a), self._raw(b), self.bits, _NEAREST))

    def div(self, a: Value, b: Value) -> Value:
        """The quotient, a rational if both are."""
        if not b:
            if not a or self.is_nan(a):
                return self.nan
            return self.inf if a > 0 else -self.inf
        if type(a) in RATIONAL:
            if type(b) in RATIONAL:
                top, bottom = _parts(b)
                return _product(*_parts(a), *((bottom, top) if top > 0 else (-bottom, -top)))
            if not a and self.context.isfinite(b):
                return 0
        return self._made(libmp.mpf_div(self._raw(a), self._raw(b), self.bits, _NEAREST))

    def total(self, values: Sequence[Value]) -> Value:
        """The sum, the rational part of it over one denominator."""
        rationals = [v for v in values if type(v) in RATIONAL]
        if len(rationals) == len(values):
            return rational_total(rationals) if len(rationals) > 1 else rationals[0] if rationals else 0
        total = self._raw(rational_total(rationals)) if rationals else libmp.fzero
        for value in values:
            if type(value) not in RATIONAL:
                total = libmp.mpf_add(total, self._raw(value), self.bits, _NEAREST)
        return self._made(total)

    def is_nan(self, a: Value) -> bool:
        """Whether a number is NaN."""
        return type(a) not in RATIONAL and bool(a != a)  # noqa: PLR0124

    def neg(self, a: Value) -> Value:
        """The negative."""
        return -a

    def power(self, a: Value, b: Value) -> Value:
        """Exact for a whole exponent, and for one of halves of a square; NaN where it is not real."""
        if not _is_rational(b):
            return self._real_power(a, b)
        if b == int(b):
            if a == 0 and b < 0:
                return self.inf
            if not _is_rational(a) or _bits(a) * abs(b) > MOST_BITS:
                return self.lift(a) ** int(b)
            return Fraction(a) ** int(b)
        if b * 2 == int(b * 2):
            return self.power(self._sqrt(a), int(b * 2))
        return self._real_power(a, b)

    def compare(self, op: str) -> Callable[[Value, Value], bool]:
        """The comparison that ``op`` stands for."""
        function = COMPARISONS[op]

        def call(a: Value, b: Value) -> bool:
            if _is_rational(a) and _is_rational(b):
                return function(a, b)
            return bool(function(self.lift(a), self.lift(b)))

        return call

    def _real_power(self, a: Value, b: Value) -> Value:
        a, b = self.lift(a), self.lift(b)
        if a > 0:
            return self.nan if self._is_enormous(b) else self.context.power(a, b)
        if a == 0 and b != 0:
            return self.context.zero if b > 0 else self.inf
        return self.context.one if b == 0 else self.nan

    def _sqrt(self, a: Value) -> Value:
        if self.is_nan(a) or a < 0:
            return self.nan
        if _is_rational(a):
            top, bottom = _root(Fraction(a).numerator), _root(Fraction(a).denominator)
            if top is not None and bottom is not None:
                return Fraction(top, bottom)
        return self.context.sqrt(self.lift(a))

    def _floor(self, a: Value) -> Value:
        if _is_rational(a):
            return math.floor(a)
        return self._whole(self.context.floor(a))

    def _whole(self, a: Value) -> Value:
        """A number without a fraction as an integer, where that is not too long to be written out."""
        return int(a) if self.context.isfinite(a) and abs(a) < LONGEST else a

    def _round(self, a: Value) -> Value:
        """Half to even."""
        if _is_rational(a):
            return round(Fraction(a))
        return self._whole(self.context.nint(a))

    def _function(self, name: str) -> Callable[[Value], Value]:
        """``mpmath``'s function, NaN outside its real range, exact where a table says so."""
        function = getattr(self.context, name)
        low, high, borders, exact = _MP_RANGE[name]
        bounded = (low, high) != _ALL
        known: dict[tuple[int, int], Value] = {}  # a claim asks for the same numbers again and again

        def call(a: Value) -> Value:
            if not _is_rational(a):
                return compute(a)
            key = _parts(a)  # a fraction's own hash is a division
            value = known.get(key)
            if value is None:
                if len(known) >= MOST_KNOWN:
                    known.clear()
                value = known[key] = exact[a] if key[1] == 1 and a in exact else compute(a)
            return value

        def compute(a: Value) -> Value:
            if self.is_nan(a) or (bounded and (a < low or a > high)):
                return self.nan
            for border, value in borders.items():
                if a == border:
                    return self.context.mpf(value)
            x = self.lift(a)
            return self.nan if name in _REDUCED and self._is_enormous(x) else function(x)

        return call

    def _is_enormous(self, a: Any) -> bool:
        """Whether a number has so many digits before the point that an exponential of it is out of reach."""
        _, mantissa, exponent, bits = a._mpf_
        return bool(mantissa) and exponent + bits > LONGEST_ARGUMENT


_REDUCED = ("exp", "sin", "cos", "tan", "sinh", "cosh")
"""Functions for which a multiple of log 2, or of pi, is taken from the argument: to as many digits as that has."""

_ALL = (-math.inf, math.inf)
_MP_RANGE: dict[str, tuple[float, float, dict[float, float], dict[Any, int]]] = {
    "exp": (*_ALL, {}, {0: 1}),
    "log": (0, math.inf, {0: -math.inf}, {1: 0}),
    "sin": (*_ALL, {math.inf: math.nan, -math.inf: math.nan}, {0: 0}),
    "cos": (*_ALL, {math.inf: math.nan, -math.inf: math.nan}, {0: 1}),
    "tan": (*_ALL, {math.inf: math.nan, -math.inf: math.nan}, {0: 0}),
    "asin": (-1, 1, {}, {0: 0}),
    "acos": (-1, 1, {}, {1: 0}),
    "atan": (*_ALL, {}, {0: 0}),
    "sinh": (*_ALL, {}, {0: 0}),
    "cosh": (*_ALL, {}, {0: 1}),
    "tanh": (*_ALL, {math.inf: 1, -math.inf: -1}, {0: 0}),
    "erf": (*_ALL, {math.inf: 1, -math.inf: -1}, {0: 0}),
}
"""Of each primitive: where it is real, its values at borders, and the arguments at which it is an exact integer."""

EXACT = Exact()
