"""Arrays with error bounds: ``|computed - exact| <= error`` entry by entry, carried through each operation.

Values and errors are float64. Conditions are 0 or 1 with an error of 1 where rounding could flip them; integers have
error 0, or infinity where rounding could change them. An infinite error means that nothing can be said of an entry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from symderive.check.rounding import ULPS, Rounding

Array = NDArray[Any]


@dataclass(frozen=True)
class Uncertain:
    """``value`` with ``error``, two arrays of one shape."""

    value: Array
    error: Array

    @classmethod
    def exact(cls, value: object) -> Uncertain:
        """A value that is known."""
        array = np.asarray(value, np.float64)
        return cls(array, np.zeros_like(array))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of both arrays."""
        return self.value.shape

    @property
    def size_(self) -> Array:
        """The largest that the absolute value can be."""
        return np.abs(self.value) + self.error

    def map(self, change: Callable[[Array], Array]) -> Uncertain:
        """A rearrangement, which rounds nothing: transpose, reshape, slice, gather."""
        return Uncertain(change(self.value), change(self.error))


def broadcast(*parts: Uncertain) -> list[Uncertain]:
    """The parts in one shape."""
    shape = np.broadcast_shapes(*(p.shape for p in parts))
    return [p.map(lambda a: np.broadcast_to(a, shape)) for p in parts]


@dataclass
class Arithmetic:
    """Arithmetic in one dtype. ``overflow`` becomes true once a result may exceed the largest finite number.

    ``steady`` arithmetic takes conditions as they fall; otherwise one that the errors reach across is in doubt. With
    ``fused`` the steps inside a function are as exact as PyTorch's; without, each may be rounded to the dtype.
    """

    rounding: Rounding
    steady: bool = False
    fused: bool = True
    overflow: bool = False

    @property
    def step(self) -> float:
        """The unit roundoff of the steps inside a function."""
        return self.rounding.inner if self.fused else self.rounding.unit

    def rounded(self, value: Array, error: Array, steps: float = 1.0) -> Uncertain:
        """A stored result: its error, and ``steps`` roundings of it."""
        r = self.rounding
        with np.errstate(all="ignore"):
            grown = error + r.gamma(steps, r.unit) * (np.abs(value) + error) + r.underflow
        infinite = np.isinf(value)
        error = np.where(infinite & ~(error > 0), 0.0, np.where(np.isnan(grown), np.inf, grown))
        too_large = ~infinite & (np.abs(value) > r.largest)
        if too_large.any():
            self.overflow = True
            error = np.where(too_large, np.inf, error)
        return Uncertain(value, error)

    def total(self, terms: Sequence[tuple[int, Uncertain]]) -> Uncertain:
        """A sum of a few terms with their signs, each addition rounded to the dtype, in any order."""
        parts = broadcast(*(u for _, u in terms))
        value = np.sum([sign * u.value for (sign, _), u in zip(terms, parts, strict=True)], axis=0)
        error = np.sum([u.error for u in parts], axis=0)
        spread = self.rounding.gamma(len(terms) - 2, self.rounding.unit) * np.sum([u.size_ for u in parts], axis=0)
        infinite = np.isinf(value)
        return self.rounded(value, error + np.where(infinite, 0.0, spread) if len(terms) > 2 else error)

    def negate(self, a: Uncertain) -> Uncertain:
        """``-a``, exact."""
        return Uncertain(-a.value, a.error)

    def multiply(self, a: Uncertain, b: Uncertain) -> Uncertain:
        """``a * b``: ``|a| eb + |b| ea + ea eb``."""
        error = _times(np.abs(a.value), b.error) + _times(np.abs(b.value), a.error) + _times(a.error, b.error)
        return self.rounded(a.value * b.value, error)

    def divide(self, a: Uncertain, b: Uncertain) -> Uncertain:
        """``a / b``: ``(ea + |a / b| eb) / (|b| - eb)``, and nothing where b could be 0."""
        value = a.value / b.value
        room = np.abs(b.value) - b.error
        error = (a.error + _times(np.abs(value), b.error)) / room
        return self.rounded(value, np.where((b.error > 0) & ~(room > 0), np.inf, error))

    def power(self, a: Uncertain, b: Uncertain) -> Uncertain:
        """``a ** b``. An exact exponent makes it monotone or convex on each side of 0."""
        if not b.error.any():
            crosses = (b.value < 0) & (np.abs(a.value) <= a.error) & (a.error > 0)
            moved = _ends(lambda x: np.power(x, b.value), a)
            return self.function_rounded(np.power(a.value, b.value), np.where(crosses, np.inf, moved))
        low = a.value - a.error
        relative = np.where(
            low > 0,
            np.abs(b.value) * a.error / low + np.abs(np.log(a.value)) * b.error + _times(a.error / low, b.error),
            np.inf,
        )
        value = np.power(a.value, b.value)
        return self.function_rounded(value, np.abs(value) * np.expm1(relative))

    def function_rounded(self, value: Array, error: Array, scale: Array | None = None) -> Uncertain:
        """The value of an element-wise function: off by some ulps of ``scale``, and rounded to the dtype."""
        r = self.rounding
        inner = 2 * ULPS * self.step * (np.abs(value) if scale is None else scale) + r.tiny
        return self.rounded(value, error + np.where(np.isfinite(inner), inner, 0.0))

    def where(self, condition: Uncertain, a: Uncertain, b: Uncertain) -> Uncertain:
        """The branch taken; both where rounding could flip the condition."""
        condition, a, b = broadcast(condition, a, b)
        taken = condition.value != 0
        value, error = np.where(taken, a.value, b.value), np.where(taken, a.error, b.error)
        doubt = condition.error > 0
        if doubt.any():
            apart = np.where(a.value == b.value, 0.0, np.abs(a.value - b.value))
            error = np.where(doubt, apart + np.maximum(a.error, b.error), error)
        return Uncertain(value, error)

    def compare(self, a: Uncertain, b: Uncertain, op: Callable[[Array, Array], NDArray[np.bool_]]) -> Uncertain:
        """A comparison, in doubt where the errors reach across."""
        a, b = broadcast(a, b)
        doubt = touching(a, b) & (a.error + b.error > 0) & (not self.steady)
        return Uncertain(op(a.value, b.value).astype(np.float64), doubt * 1.0)

    def logical(self, parts: Sequence[Uncertain], op: Callable[[Array, Array], NDArray[np.bool_]]) -> Uncertain:
        """``and`` or ``or``: in doubt where the doubtful parts decide."""
        low = reduce(op, [np.where(p.error > 0, 0.0, p.value) != 0 for p in parts])
        high = reduce(op, [np.where(p.error > 0, 1.0, p.value) != 0 for p in parts])
        value = reduce(op, [p.value != 0 for p in parts])
        return Uncertain(np.asarray(value, np.float64), np.asarray(low != high, np.float64))

    def pick(self, a: Uncertain, b: Uncertain, op: Callable[[Array, Array], Array]) -> Uncertain:
        """``maximum`` or ``minimum``, which move no more than their arguments do."""
        a, b = broadcast(a, b)
        value = op(a.value, b.value)
        clear = ~touching(a, b)
        error = np.where(clear, np.where(value == a.value, a.error, b.error), np.maximum(a.error, b.error))
        return Uncertain(value, error)

    def sum(self, a: Uncertain, axes: tuple[int, ...], keep: bool = False) -> Uncertain:
        """A sum of n terms: ``gamma(n - 1)`` times the sum of their absolute values."""
        n = _count(a.shape, axes)
        value = a.value.sum(axis=axes, keepdims=keep)
        spread = self.rounding.gamma(max(n - 1, 0)) * a.size_.sum(axis=axes, keepdims=keep) if n > 1 else 0.0
        return self.rounded(value, a.error.sum(axis=axes, keepdims=keep) + spread)

    def prod(self, a: Uncertain, axes: tuple[int, ...], keep: bool = False) -> Uncertain:
        """A product: between the product of the values and that of the values with their errors."""
        n = _count(a.shape, axes)
        value = a.value.prod(axis=axes, keepdims=keep)
        largest = a.size_.prod(axis=axes, keepdims=keep)
        return self.rounded(value, (largest - np.abs(value)) + self.rounding.gamma(n, self.rounding.unit) * largest)

    def extreme(self, a: Uncertain, axes: tuple[int, ...], keep: bool, largest: bool) -> Uncertain:
        """A maximum or minimum over axes: no worse than the worst of the entries that could win."""
        sign = 1.0 if largest else -1.0
        if not _count(a.shape, axes):
            return Uncertain.exact(a.value.sum(axis=axes, keepdims=keep) - sign * np.inf)
        best = sign * (sign * a.value).max(axis=axes, keepdims=True)
        sure = (sign * a.value - a.error).max(axis=axes, keepdims=True)
        contender = sign * a.value + a.error >= sure
        error = np.where(contender, a.error, 0.0).max(axis=axes, keepdims=True)
        shape = a.value.sum(axis=axes, keepdims=keep).shape
        return Uncertain(best.reshape(shape), error.reshape(shape))

    def contract(self, equation: str, parts: Sequence[Uncertain]) -> Uncertain:
        """A matrix product or einsum: sums of products, in any order and any bracketing."""
        sizes = [p.value for p in parts]
        terms, factors = _terms(equation, sizes), len(parts)
        value = np.einsum(equation, *sizes, optimize=True)
        absolute = np.einsum(equation, *(np.abs(s) for s in sizes), optimize=True)
        moved = self._moved(equation, parts)
        r = self.rounding
        steps = r.gamma(terms - 1 + factors - 1) if factors > 1 else r.gamma(max(terms - 1, 0))
        partial = r.split * (1 if terms > 1 else 0) + r.unit * max(factors - 2, 0)
        return self.rounded(value, moved + (steps + partial) * (absolute + moved))

    def _moved(self, equation: str, parts: Sequence[Uncertain]) -> Array:
        """What the errors of the operands do: one operand's error at a time, the others at their largest."""
        total: Array | float = 0.0
        for n, part in enumerate(parts):
            if part.error.any():
                others = [p.size_ if m > n else np.abs(p.value) for m, p in enumerate(parts)]
                others[n] = part.error
                total = total + np.einsum(equation, *others, optimize=True)
        return np.asarray(total, np.float64)

    def softmax(self, z: Uncertain, axes: tuple[int, ...]) -> Uncertain:
        """``exp(z - m) / sum(exp(z - m))``: relative error ``e_i + log sum_k y_k exp(e_k)``, and that of the parts.

        Along any axis but the last, PyTorch's CPU kernel stores each exponential in the dtype before it divides.
        """
        if not z.value.size:
            return z
        y, own, shared = self._softmax(z, axes)
        last = all(axis % z.value.ndim == z.value.ndim - 1 for axis in axes)
        unit, least = (0.0, 0.0) if last else (self.rounding.unit, self.rounding.underflow)
        return self.rounded(y, y * np.expm1(np.minimum(own + shared + unit, 700.0)) + least)

    def log_softmax(self, z: Uncertain, axes: tuple[int, ...]) -> Uncertain:
        """``(z - m) - log(sum(exp(z - m)))``, of which PyTorch rounds the sum and the log to the dtype."""
        if not z.value.size:
            return z
        _, own, shared = self._softmax(z, axes)
        shifted = z.value - _finite_max(z.value, axes)
        log = np.log(np.exp(shifted).sum(axis=axes, keepdims=True))
        return self.rounded(
            shifted - log, np.where(np.isneginf(shifted), 0.0, own + shared) + self.rounding.unit * (1 + np.abs(log))
        )

    def logsumexp(self, z: Uncertain, axes: tuple[int, ...], keep: bool = False) -> Uncertain:
        """``m + log(sum(exp(z - m)))``, which moves no more than the soft maximum of the errors.

        ``torch.logsumexp`` takes the difference, the exponential, the sum and the log in turn, each in the dtype.
        """
        if not z.value.size:
            return Uncertain.exact(z.value.sum(axis=axes, keepdims=keep) - np.inf)
        _, _, shared = self._softmax(z, axes, self.rounding.unit)
        top = _finite_max(z.value, axes)
        log = np.log(np.exp(z.value - top).sum(axis=axes, keepdims=True))
        value = top + log
        r = self.rounding
        error = np.where(np.isinf(value), 0.0, shared + (2 * ULPS * r.inner + r.unit) * np.abs(log))
        shape = z.value.sum(axis=axes, keepdims=keep).shape
        return self.rounded(value.reshape(shape), error.reshape(shape))

    def _softmax(self, z: Uncertain, axes: tuple[int, ...], stored: float = 0.0) -> tuple[Array, Array, Array]:
        """The softmax, the error of each ``log(exp(z - m))`` and that of the log of their sum, shared by a row.

        ``stored`` is the unit roundoff to which the steps in between are rounded, where they are.
        """
        shifted = z.value - _finite_max(z.value, axes)
        weight = np.exp(shifted)
        y = weight / weight.sum(axis=axes, keepdims=True)
        inner = self.step
        steps = (inner + stored) * np.abs(shifted) + 2 * ULPS * inner + stored
        own = np.where(np.isneginf(shifted), 0.0, z.error + steps)
        spread = (y * np.exp(np.minimum(own, 700.0))).sum(axis=axes, keepdims=True)
        n = _count(z.shape, axes)
        shared = np.log(np.maximum(spread, 1.0)) + self.rounding.gamma(n) + 2 * ULPS * inner + stored
        return y, own, shared

    def function(self, name: str, parts: Sequence[Uncertain]) -> Uncertain:
        """An element-wise function of the language by its name; further arguments are parameters."""
        rule = FUNCTIONS[name]
        a, parameters = parts[0], [p.value for p in parts[1:]]
        value = rule.compute(a.value, *parameters)
        if rule.slope is None:
            moved = _ends(lambda x: rule.compute(x, *parameters), a)
        else:
            moved = np.where(a.error > 0, np.minimum(rule.slope * a.error, rule.span), 0.0)
        if rule.exact:
            return Uncertain(value, moved)
        scale = rule.scale(a.value) if rule.scale else np.abs(value)
        if rule.shifted and self.rounding.shifted:
            scale = scale + rule.shifted(a.value, *parameters)
        return self.function_rounded(value, moved, scale)


@dataclass(frozen=True)
class FunctionRule:
    """How an element-wise function carries errors.

    Without a ``slope`` it is monotone or convex, so that it moves most at the ends of ``[x - e, x + e]``; with one it
    moves by at most ``slope * e``, and by at most ``span``. ``exact`` functions round nothing; ``scale`` is what the
    rounding errors are relative to where parts of the computation are larger than its result; ``shifted`` is the
    exponential in it from which a 1 may be taken.
    """

    compute: Callable[..., Array]
    slope: float | None = None
    span: float = np.inf
    exact: bool = False
    scale: Callable[[Array], Array] | None = None
    shifted: Callable[..., Array] | None = None


def _silu(x: Array) -> Array:
    return np.where(np.isneginf(x), 0.0, x * special.expit(x))


def _gelu(x: Array) -> Array:
    return x * special.ndtr(x)


def _gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _erfc_scale(x: Array) -> Array:
    """A tail of the size of ``exp(-x**2)`` is off by what ``x**2`` is rounded to; the rest lies between 0 and 2."""
    return special.erfc(x) * (1 + x * x)


def _softplus(x: Array) -> Array:
    return np.logaddexp(0.0, x)


FUNCTIONS: dict[str, FunctionRule] = {
    "exp": FunctionRule(np.exp),
    "log": FunctionRule(np.log),
    "log1p": FunctionRule(np.log1p),
    "expm1": FunctionRule(np.expm1, shifted=np.exp),
    "sqrt": FunctionRule(np.sqrt),
    "rsqrt": FunctionRule(lambda x: 1 / np.sqrt(x)),
    "abs": FunctionRule(np.abs, exact=True),
    "sign": FunctionRule(np.sign, exact=True),
    "floor": FunctionRule(np.floor, exact=True),
    "round": FunctionRule(np.round, exact=True),
    "square": FunctionRule(np.square),
    "sin": FunctionRule(np.sin, slope=1.0, span=2.0, scale=np.ones_like),
    "cos": FunctionRule(np.cos, slope=1.0, span=2.0, scale=np.ones_like),
    "tan": FunctionRule(np.tan),
    "asin": FunctionRule(np.arcsin),
    "acos": FunctionRule(np.arccos, scale=np.ones_like),
    "atan": FunctionRule(np.arctan),
    "sinh": FunctionRule(np.sinh),
    "cosh": FunctionRule(np.cosh),
    "tanh": FunctionRule(np.tanh),
    "sigmoid": FunctionRule(special.expit),
    "logsigmoid": FunctionRule(lambda x: -np.logaddexp(0.0, -x)),
    "softplus": FunctionRule(_softplus),
    "relu": FunctionRule(lambda x: np.maximum(x, 0.0), exact=True),
    "leaky_relu": FunctionRule(lambda x, s=0.01: np.where(x > 0, x, s * x)),
    "elu": FunctionRule(
        lambda x, s=1.0: np.where(x > 0, x, s * np.expm1(np.minimum(x, 0.0))),
        shifted=lambda x, s=1.0: np.where(x > 0, 0.0, np.abs(s) * np.exp(np.minimum(x, 0.0))),
    ),
    "gelu": FunctionRule(_gelu, slope=1.13, scale=np.abs),
    "gelu_tanh": FunctionRule(_gelu_tanh, slope=1.13, scale=np.abs),
    "silu": FunctionRule(_silu, slope=1.1),
    "mish": FunctionRule(lambda x: x * np.tanh(_softplus(x)), slope=1.09),
    "erf": FunctionRule(special.erf, scale=np.ones_like),
    "erfc": FunctionRule(special.erfc, scale=_erfc_scale),
}


def touching(a: Uncertain, b: Uncertain) -> NDArray[np.bool_]:
    """Where the errors reach across, or the values are equal."""
    return (a.value == b.value) | (np.abs(a.value - b.value) <= a.error + b.error)


def _ends(f: Callable[[Array], Array], a: Uncertain) -> Array:
    """How far ``f`` moves at the ends of ``[x - e, x + e]``, where it moves most."""
    if not a.error.any():
        return np.zeros_like(a.value)
    here = f(a.value)
    ends = [np.abs(f(a.value + s * a.error) - here) for s in (1.0, -1.0)]
    moved = np.maximum(*(np.where(np.isnan(e), np.inf, e) for e in ends))
    return np.where(a.error > 0, moved, 0.0)


def _times(a: Array, b: Array) -> Array:
    """``a * b`` where nothing times infinity is nothing."""
    return np.where((a == 0) | (b == 0), 0.0, a * b)


def _count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return int(np.prod([shape[a] for a in axes], dtype=np.int64))


def _finite_max(z: Array, axes: tuple[int, ...]) -> Array:
    top = z.max(axis=axes, keepdims=True, initial=-np.inf)
    return np.where(np.isfinite(top), top, np.where(np.isneginf(top), 0.0, top))


def _terms(equation: str, parts: Sequence[Array]) -> int:
    """How many products each entry of an einsum sums."""
    left, _, right = equation.replace(" ", "").partition("->")
    extents: dict[str, int] = {}
    for letters, part in zip(left.split(","), parts, strict=True):
        named = letters.replace("...", "")
        extents.update(zip(named, part.shape[part.ndim - len(named) :], strict=True))
    return int(np.prod([n for letter, n in extents.items() if letter not in right], dtype=np.int64))
