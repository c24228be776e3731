"""True gradients from the forward alone: the equations evaluated with numbers that carry their derivatives along.

Each number is paired with its derivatives by the input entries (forward mode), under the conventions of the language
at kinks and ties. Nothing here knows the derived gradient, so it judges that too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symderive.check.floats import FLOAT
from symderive.check.numbers import Domain, Value
from symderive.check.oracle import Evaluator
from symderive.spec import model

Slopes = dict[int, Value]


@dataclass(frozen=True)
class Dual:
    """A number and its nonzero derivatives, by the number of the input entry."""

    value: Value
    slopes: Slopes


class Tangent(Domain):
    """The domain ``base`` with derivatives. A number that depends on no entry stays a number of the base."""

    def __init__(self, base: Domain = FLOAT) -> None:
        self.base = base
        self.name = f"{base.name} with derivatives"
        self.pi, self.inf = base.pi, base.inf
        self.functions = {name: self._function(name) for name in _SLOPES if name in base.functions}
        self.functions |= {name: self._flat(name) for name in ("floor", "round")}

    def number(self, value: Any) -> Value:
        """A number of the base."""
        return self.base.number(value)

    def plain(self, a: Value) -> Any:
        """The number without its derivatives."""
        return a.value if isinstance(a, Dual) else a

    def stop(self, a: Value) -> Value:
        """The number without its derivatives."""
        return self.plain(a)

    def is_nan(self, a: Value) -> bool:
        """Whether the number is NaN."""
        return self.base.is_nan(self.plain(a))

    def compare(self, op: str) -> Callable[[Value, Value], bool]:
        """The comparison of the numbers themselves."""
        compare = self.base.compare(op)
        return lambda a, b: compare(self.plain(a), self.plain(b))

    def chain(self, value: Value, *parts: tuple[Value, Value]) -> Value:
        """``value`` with the derivatives ``sum slope * derivatives of a`` over pairs (a, slope)."""
        slopes: Slopes = {}
        for a, slope in parts:
            if isinstance(a, Dual):
                for entry, own in a.slopes.items():
                    change = self.base.mul(slope, own)
                    slopes[entry] = self.base.add(slopes[entry], change) if entry in slopes else change
        return Dual(value, slopes) if slopes else value

    def add(self, a: Value, b: Value) -> Value:
        """``d(a + b) = da + db``."""
        return self.chain(self.base.add(self.plain(a), self.plain(b)), (a, 1), (b, 1))

    def sub(self, a: Value, b: Value) -> Value:
        """``d(a - b) = da - db``."""
        return self.chain(self.base.sub(self.plain(a), self.plain(b)), (a, 1), (b, -1))

    def neg(self, a: Value) -> Value:
        """``d(-a) = -da``."""
        return self.chain(self.base.neg(self.plain(a)), (a, -1))

    def mul(self, a: Value, b: Value) -> Value:
        """``d(a b) = b da + a db``."""
        x, y = self.plain(a), self.plain(b)
        return self.chain(self.base.mul(x, y), (a, y), (b, x))

    def div(self, a: Value, b: Value) -> Value:
        """``d(a / b) = (da - (a / b) db) / b``."""
        x, y = self.plain(a), self.plain(b)
        value = self.base.div(x, y)
        if not isinstance(a, Dual) and not isinstance(b, Dual):
            return value
        return self.chain(value, (a, self.base.div(1, y)), (b, self.base.neg(self.base.div(value, y))))

    def power(self, a: Value, b: Value) -> Value:
        """``d(a ** b) = b a ** (b - 1) da + a ** b log(a) db``."""
        x, y = self.plain(a), self.plain(b)
        value = self.base.power(x, y)
        parts: list[tuple[Value, Value]] = []
        if isinstance(a, Dual) and y != 0:
            parts.append((a, self.base.mul(y, self.base.power(x, self.base.sub(y, 1)))))
        if isinstance(b, Dual):
            parts.append((b, self.base.mul(value, self.base.functions["log"](x))))
        return self.chain(value, *parts)

    def maximum(self, a: Value, b: Value) -> Value:
        """The larger of two; at a tie each has half of the derivative."""
        return self._extreme(a, b, self.base.maximum)

    def minimum(self, a: Value, b: Value) -> Value:
        """The smaller of two; at a tie each has half of the derivative."""
        return self._extreme(a, b, self.base.minimum)

    def _extreme(self, a: Value, b: Value, pick: Callable[[Value, Value], Value]) -> Value:
        x, y = self.plain(a), self.plain(b)
        if self.base.compare("==")(x, y):
            half = self.base.div(1, 2)
            return self.chain(x, (a, half), (b, half))
        return a if pick(x, y) is x else b

    def clamp(self, a: Value, low: Value, high: Value) -> Value:
        """``clamp(x, lo, hi)``, which passes the derivative at both ends."""
        x, bottom, top = self.plain(a), self.plain(low), self.plain(high)
        above = self.base.compare(">")
        if above(x, top) or above(bottom, top):
            return high
        return low if above(bottom, x) else a

    def largest(self, values: Sequence[Value]) -> Value:
        """The maximum; ties share the derivative evenly."""
        return self._shared(values, self.base.largest)

    def smallest(self, values: Sequence[Value]) -> Value:
        """The minimum; ties share the derivative evenly."""
        return self._shared(values, self.base.smallest)

    def _shared(self, values: Sequence[Value], pick: Callable[[Sequence[Value]], Value]) -> Value:
        best = pick([self.plain(v) for v in values])
        equal = self.base.compare("==")
        tied = [v for v in values if equal(self.plain(v), best)]
        return self.chain(best, *((v, self.base.div(1, len(tied))) for v in tied))

    def logsumexp(self, values: Sequence[Value]) -> Value:
        """``d logsumexp(z) = sum softmax(z) dz``."""
        plain = [self.plain(v) for v in values]
        return self.chain(self.base.logsumexp(plain), *self._weighted(values, plain))

    def _weighted(self, values: Sequence[Value], plain: list[Value]) -> list[tuple[Value, Value]]:
        if not any(isinstance(v, Dual) for v in values):
            return []
        weight = self.base.softmax(plain)
        return [(v, weight(p)) for v, p in zip(values, plain, strict=True)]

    def softmax(self, values: Sequence[Value]) -> Callable[[Value], Value]:
        """``dy = y (dz - sum y dz)``."""
        plain = [self.plain(v) for v in values]
        weight = self.base.softmax(plain)
        mean = self.chain(0, *self._weighted(values, plain))

        def at(value: Value) -> Value:
            y = weight(self.plain(value))
            return self.chain(y, (value, y), (mean, self.base.neg(y)))

        return at

    def _function(self, name: str) -> Callable[..., Value]:
        base, slope = self.base, _SLOPES[name]
        code = base.functions[name]

        def call(a: Value) -> Value:
            x = self.plain(a)
            value = code(x)
            return self.chain(value, (a, slope(base, x, value))) if isinstance(a, Dual) else value

        return call

    def _flat(self, name: str) -> Callable[..., Value]:
        code = self.base.functions[name]
        return lambda a: code(self.plain(a))


def _square(d: Domain, x: Value) -> Value:
    return d.mul(x, x)


def _inverse_root(d: Domain, x: Value) -> Value:
    return d.div(1, d.functions["sqrt"](x))


def _sign(d: Domain, x: Value) -> Value:
    """Of 0 it is 0: a slope all the same, so that a root of it has no derivative there, as that of a square."""
    return int(d.compare(">")(x, 0)) - int(d.compare("<")(x, 0))


_SLOPES: dict[str, Callable[[Domain, Value, Value], Value]] = {
    "abs": lambda d, x, y: _sign(d, x),
    "exp": lambda d, x, y: y,
    "log": lambda d, x, y: d.div(1, x),
    "sqrt": lambda d, x, y: d.div(1, d.mul(2, y)),
    "sin": lambda d, x, y: d.functions["cos"](x),
    "cos": lambda d, x, y: d.neg(d.functions["sin"](x)),
    "tan": lambda d, x, y: d.add(1, _square(d, y)),
    "asin": lambda d, x, y: _inverse_root(d, d.sub(1, _square(d, x))),
    "acos": lambda d, x, y: d.neg(_inverse_root(d, d.sub(1, _square(d, x)))),
    "atan": lambda d, x, y: d.div(1, d.add(1, _square(d, x))),
    "sinh": lambda d, x, y: d.functions["cosh"](x),
    "cosh": lambda d, x, y: d.functions["sinh"](x),
    "tanh": lambda d, x, y: d.sub(1, _square(d, y)),
    "erf": lambda d, x, y: d.mul(
        d.mul(2, _inverse_root(d, d.pi)),
        d.functions["exp"](d.neg(_square(d, x))),
    ),
}
"""The derivative of each primitive, by its argument and its value; every other function has a definition."""


def true_gradients(
    spec: model.Spec,
    inputs: Mapping[str, np.ndarray],
    upstreams: Mapping[str, np.ndarray],
    sizes: Mapping[str, int | tuple[int, ...]],
    base: Domain = FLOAT,
) -> dict[str, np.ndarray]:
    """The gradients ``d<input>`` of ``sum upstream * output`` at a point, whole, in numbers of ``base``.

    The cost is that of the forward times the number of entries that it depends on: for small sizes.
    """
    domain = Tangent(base)
    lifted: dict[str, Any] = {}
    starts: dict[str, int] = {}
    count = 0
    for name, array in inputs.items():
        if name not in spec.wrt:
            lifted[name] = array
            continue
        starts[name] = count
        lifted[name] = _objects([Dual(v, {count + n: 1}) for n, v in enumerate(array.flat)], array.shape)
        count += array.size
    evaluator = Evaluator.of(spec, lifted, sizes, domain)
    totals = [base.number(0)] * count
    for name in spec.outputs:
        values = evaluator.tensor(name)
        for value, upstream in zip(values.flat, upstreams[f"d{name}"].flat, strict=True):
            if isinstance(value, Dual):
                for entry, slope in value.slopes.items():
                    totals[entry] = base.add(totals[entry], base.mul(upstream, slope))
    return {
        f"d{name}": _objects(totals[starts[name] : starts[name] + inputs[name].size], inputs[name].shape)
        for name in spec.wrt
    }


def _objects(values: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result.reshape(shape)
