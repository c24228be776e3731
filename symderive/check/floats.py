"""float64 with IEEE behaviour: 1/0 is inf, exp overflows to inf, log(-1) is NaN, and nothing raises."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction

from symderive.check.numbers import Domain


def _sign_of(a: float) -> float:
    return math.copysign(1.0, a)


def _guarded(function: Callable[[float], float]) -> Callable[[float], float]:
    """``function`` with NaN outside its domain and an infinity of the argument's sign where it overflows."""

    def call(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.copysign(math.inf, x)

    return call


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _cosh(x: float) -> float:
    return _guarded(math.cosh)(abs(x))


def _log(x: float) -> float:
    if x > 0:
        return math.log(x)
    return -math.inf if x == 0 else math.nan


def _log1p(x: float) -> float:
    if x > -1:
        return math.log1p(x)
    return -math.inf if x == -1 else math.nan


def _expm1(x: float) -> float:
    try:
        return math.expm1(x)
    except OverflowError:
        return math.inf


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: float(function(x)) if math.isfinite(x) else float(x)


def _sigmoid(x: float) -> float:
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    return _exp(x) / (1 + _exp(x))


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x))) if not math.isnan(x) else x


def _sign(x: float) -> float:
    return float(x > 0) - float(x < 0) if not math.isnan(x) else x


def _float_div(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        return math.nan if a == 0 or math.isnan(a) else _sign_of(a) * _sign_of(b) * math.inf


def _float_power(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:
        if a != 0:
            return math.nan
        return _sign_of(a) * math.inf if b % 2 == 1 else math.inf


_GELU = math.sqrt(2 / math.pi)

_FLOAT_FUNCTIONS: dict[str, Callable[..., float]] = {
    "exp": _exp,
    "log": _log,
    "log1p": _log1p,
    "expm1": _expm1,
    "sqrt": _guarded(math.sqrt),
    "rsqrt": lambda x: _float_div(1.0, _guarded(math.sqrt)(x)),
    "abs": abs,
    "sign": _sign,
    "sin": _guarded(math.sin),
    "cos": _guarded(math.cos),
    "tan": _guarded(math.tan),
    "asin": _guarded(math.asin),
    "acos": _guarded(math.acos),
    "atan": math.atan,
    "sinh": _guarded(math.sinh),
    "cosh": _cosh,
    "tanh": math.tanh,
    "sigmoid": _sigmoid,
    "logsigmoid": lambda x: -_softplus(-x),
    "softplus": _softplus,
    "relu": lambda x: x if x > 0 or math.isnan(x) else 0.0,
    "leaky_relu": lambda x, s: x if x > 0 else s * x,
    "elu": lambda x, s: x if x > 0 else s * _expm1(x),
    "gelu": lambda x: x * (0.5 * math.erfc(-x / math.sqrt(2))),
    "gelu_tanh": lambda x: x * _sigmoid(2 * _GELU * (x + 0.044715 * x * x * x)),
    "silu": lambda x: x * _sigmoid(x),
    "mish": lambda x: x * math.tanh(_softplus(x)),
    "erf": math.erf,
    "erfc": math.erfc,
    "floor": _whole(math.floor),
    "round": _whole(round),
    "square": lambda x: x * x,
}
"""Stable float64 code of each function, our own; the tests hold it against the definitions at 50 digits."""


class Float(Domain):
    """Python floats as IEEE float64; integers stay integers until they meet a float."""

    name = "float64"
    pi = math.pi
    inf = math.inf
    functions = _FLOAT_FUNCTIONS

    add = staticmethod(operator.add)  # type: ignore[assignment]
    sub = staticmethod(operator.sub)  # type: ignore[assignment]
    mul = staticmethod(operator.mul)  # type: ignore[assignment]
    neg = staticmethod(operator.neg)  # type: ignore[assignment]
    div = staticmethod(_float_div)  # type: ignore[assignment]
    power = staticmethod(_float_power)  # type: ignore[assignment]

    def number(self, value: Fraction | int) -> float | int:
        """The nearest float; a whole number stays an integer."""
        return int(value) if value == int(value) else float(value)

    def floordiv(self, a: float, b: float) -> float:
        """Python's, NaN for a division by zero."""
        return a // b if b else math.nan

    def modulo(self, a: float, b: float) -> float:
        """Python's, NaN for a division by zero."""
        return a % b if b else math.nan

    def total(self, values: Sequence[float]) -> float:
        """The sum rounded once, so that a long sum carries no error of its own."""
        try:
            return math.fsum(values)
        except (OverflowError, ValueError):
            return sum(values)

    def logsumexp(self, values: Sequence[float]) -> float:
        """Shifted by the largest, which stays as it is if it is infinite."""
        top = self.largest(values)
        if not math.isfinite(top):
            return top
        return top + math.log(math.fsum(math.exp(v - top) for v in values))

    def softmax(self, values: Sequence[float]) -> Callable[[float], float]:
        """Shifted by the largest; NaN in a row of -inf, as ``torch.softmax``."""
        top = self.largest(values)
        total = math.fsum(_exp(v - top) for v in values)
        return lambda value: _float_div(_exp(value - top), total)


FLOAT = Float()
