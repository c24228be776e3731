"""The same formula summed in two orders: as the array form does it, and from left to right, one term at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from symderive.check.devices import to_numpy
from symderive.check.floats import Float
from symderive.check.oracle import extent_of
from symderive.check.truth import Truth
from symderive.report.lab.data import Orders
from symderive.report.lab.errors import Bench, most

ENTRIES = 240
"""How many entries of a gradient are summed one term at a time."""

SECONDS = 1.5
"""How long those of one gradient may take; the ones done by then are compared."""

COST = 2e6
"""More terms than this for those entries are not begun."""


def single(value: float) -> float:
    """The nearest float32."""
    return value if isinstance(value, int) else float(np.float32(value))


def _rounded(function: Callable[..., float]) -> Callable[..., float]:
    return lambda *arguments: single(function(*arguments))


class LeftToRight(Float):
    """float32 as a plain loop would compute it: every operation is rounded, and a sum adds one term after the other."""

    name = "float32, left to right"
    functions = {n: _rounded(f) for n, f in Float.functions.items()}  # noqa: RUF012

    add = staticmethod(_rounded(lambda a, b: a + b))  # type: ignore[assignment]
    sub = staticmethod(_rounded(lambda a, b: a - b))  # type: ignore[assignment]
    mul = staticmethod(_rounded(lambda a, b: a * b))  # type: ignore[assignment]
    div = staticmethod(_rounded(Float.div))  # type: ignore[assignment]
    power = staticmethod(_rounded(Float.power))  # type: ignore[assignment]

    def number(self, value: Fraction | int) -> float | int:
        """The nearest float32; a whole number stays an integer."""
        return single(super().number(value))

    def total(self, values: Sequence[float]) -> float:
        """From left to right, each partial sum rounded."""
        result = 0.0
        for value in values:
            result = single(result + value)
        return result

    def logsumexp(self, values: Sequence[float]) -> float:
        """Shifted by the largest."""
        top = self.largest(values)
        if not math.isfinite(top):
            return top
        exp, log = self.functions["exp"], self.functions["log"]
        return self.add(top, log(self.total([exp(self.sub(v, top)) for v in values])))

    def softmax(self, values: Sequence[float]) -> Callable[[float], float]:
        """Shifted by the largest."""
        top, exp = self.largest(values), self.functions["exp"]
        total = self.total([exp(self.sub(v, top)) for v in values])
        return lambda value: self.div(exp(self.sub(value, top)), total)


def summation_orders(bench: Bench, run: int = 0) -> Iterator[Orders]:
    """Each gradient in float32 by the derived code and by a loop, at the same entries, against float64."""
    subject = bench.subject
    case = bench.case(run, "float32")
    got = bench.derived(case, "float32").gradients
    true = bench.autograd(case, "float64").gradients
    truth = Truth(subject.spec, subject.equations, case.all, bench.sizes, LeftToRight())
    for name in subject.gradients:
        count = min(ENTRIES, math.prod(truth.shape(name)))
        if not count or truth.cost(name, count) > COST:
            continue
        entries = truth.entries(name, count, np.random.default_rng(run), SECONDS)
        array, exact = (entries.of(to_numpy(t[name]).astype(np.float64)) for t in (got, true))
        yield Orders(
            name,
            int(entries.values.size),
            math.prod(truth.shape(name)),
            longest_sum(bench, name),
            most(array, exact),
            most(entries.values, exact),
            most(array, entries.values),
        )


def longest_sum(bench: Bench, gradient: str) -> int:
    """The number of terms of the longest sum among the equations that a gradient depends on."""
    equations = {e.tensor: e for e in bench.subject.equations}
    longest, seen, todo = 1, set[str](), [gradient]
    while todo:
        name = todo.pop()
        if name in seen or name not in equations:
            continue
        seen.add(name)
        equation = equations[name]
        bound: Mapping[str, object] = {i: r for i, r in equation.ranges.items() if i not in equation.indices}
        longest = max(longest, math.prod(extent_of(r, bench.sizes) for r in bound.values()))  # type: ignore[arg-type]
        todo += [n.tensor for n in equation.right.walk() if hasattr(n, "tensor")]
        todo += [n.id for n in equation.right.walk() if hasattr(n, "id")]
    return longest
