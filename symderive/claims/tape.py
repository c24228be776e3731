"""Reverse-mode derivatives of whatever an evaluator computes, in the numbers of any domain.

Every operation on a recorded number notes its operands and its partial derivatives; one sweep back gives the derivative
of one number by all others. A tape over a tape gives second derivatives. Exact numbers stay exact. It knows the forward
only, so what it says of a gradient does not depend on the engine that derives formulas.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from symderive.check.numbers import Domain, Value

_serial = itertools.count()


class Node:
    """A recorded number: its ``value`` in the base domain, and its operands with the partial derivatives by them."""

    __slots__ = ("label", "parents", "serial", "tape", "value")

    def __init__(self, tape: Tape, value: Value, parents: tuple[tuple[Node, Value], ...], label: Any = None) -> None:
        self.tape = tape
        self.value = value
        self.parents = parents
        self.label = label
        self.serial = next(_serial)


class Tape(Domain):
    """The domain ``base`` with every operation recorded. A number that is not a :class:`Node` of it is a constant."""

    def __init__(self, base: Domain) -> None:
        self.base = base
        self.name = f"{base.name}, recorded"
        self.pi, self.inf = base.pi, base.inf
        self.functions = {name: self._function(name) for name in PARTIALS} | {
            name: self._flat(name) for name in ("floor", "round")
        }

    def leaf(self, value: Value) -> Node:
        """A number to differentiate by."""
        return Node(self, value, ())

    def owns(self, a: Value) -> bool:
        """Whether ``a`` is recorded on this tape."""
        return isinstance(a, Node) and a.tape is self

    def lower(self, a: Value) -> Value:
        """The number in the base domain."""
        return a.value if isinstance(a, Node) and a.tape is self else a

    def record(self, value: Value, *parts: tuple[Value, Value]) -> Value:
        """``value`` with the partial derivatives by those operands that are recorded."""
        parents = tuple([(a, d) for a, d in parts if isinstance(a, Node) and a.tape is self])
        return Node(self, value, parents) if parents else value

    # The domain

    def number(self, value: Fraction | int) -> Value:
        """A constant."""
        return self.base.number(value)

    def plain(self, a: Value) -> Any:
        """The number without any record."""
        return self.base.plain(a.value) if isinstance(a, Node) and a.tape is self else self.base.plain(a)

    def define(self, a: Value) -> Node:
        """A number of its own for the entry of a tensor, even where another entry is the same number."""
        value = self.base.define(self.lower(a))
        return Node(self, value, ((a, 1),) if self.owns(a) else ())

    def tag(self, a: Value, label: Any) -> Value:
        """The same number, findable by a label."""
        return Node(self, a.value, ((a, 1),), label) if self.owns(a) else a

    def stop(self, a: Value) -> Value:
        """The number as a constant, to all tapes below, too."""
        return self.base.stop(self.lower(a))

    def compare(self, op: str) -> Callable[[Value, Value], bool]:
        """The comparison of the numbers themselves."""
        compare = self.base.compare(op)
        return lambda a, b: compare(self.lower(a), self.lower(b))

    def add(self, a: Value, b: Value) -> Value:
        """d(a + b) = da + db."""
        return self.record(self.base.add(self.lower(a), self.lower(b)), (a, 1), (b, 1))

    def sub(self, a: Value, b: Value) -> Value:
        """d(a - b) = da - db."""
        return self.record(self.base.sub(self.lower(a), self.lower(b)), (a, 1), (b, -1))

    def neg(self, a: Value) -> Value:
        """d(-a) = -da."""
        return self.record(self.base.neg(self.lower(a)), (a, -1))

    def mul(self, a: Value, b: Value) -> Value:
        """d(a b) = b da + a db."""
        x, y = self.lower(a), self.lower(b)
        return self.record(self.base.mul(x, y), (a, y), (b, x))

    def div(self, a: Value, b: Value) -> Value:
        """d(a / b) = da / b - (a / b) db / b."""
        x, y = self.lower(a), self.lower(b)
        value = self.base.div(x, y)
        by_a = self.base.div(1, y) if self.owns(a) else None
        by_b = self.base.neg(self.base.div(value, y)) if self.owns(b) else None
        return self.record(value, (a, by_a), (b, by_b))

    def power(self, a: Value, b: Value) -> Value:
        """d(a ** b) = b a ** (b - 1) da + a ** b log(a) db."""
        base, x, y = self.base, self.lower(a), self.lower(b)
        value = base.power(x, y)
        by_a = base.mul(y, base.power(x, base.sub(y, 1))) if self.owns(a) else None
        by_b = base.mul(value, base.functions["log"](x)) if self.owns(b) else None
        return self.record(value, (a, by_a), (b, by_b))

    def floordiv(self, a: Value, b: Value) -> Value:
        """``a // b``, which is constant wherever it has a derivative."""
        return self.base.floordiv(self.stop(a), self.stop(b))

    def maximum(self, a: Value, b: Value) -> Value:
        """The larger of two; at a tie each has half of the derivative."""
        return self._shared(self.base.maximum(self.lower(a), self.lower(b)), (a, b))

    def minimum(self, a: Value, b: Value) -> Value:
        """The smaller of two; at a tie each has half of the derivative."""
        return self._shared(self.base.minimum(self.lower(a), self.lower(b)), (a, b))

    def clamp(self, x: Value, low: Value, high: Value) -> Value:
        """``clamp(x, lo, hi)``, which passes the derivative at both ends."""
        return super().minimum(super().maximum(x, low), high)

    def largest(self, values: Sequence[Value]) -> Value:
        """The maximum; ties share the derivative evenly."""
        return self._shared(self.base.largest([self.lower(v) for v in values]), values)

    def smallest(self, values: Sequence[Value]) -> Value:
        """The minimum; ties share the derivative evenly."""
        return self._shared(self.base.smallest([self.lower(v) for v in values]), values)

    def _shared(self, best: Value, values: Sequence[Value]) -> Value:
        equal = self.compare("==")
        tied = [v for v in values if equal(v, best)]
        if len(tied) == 1:
            return tied[0]
        share = self.base.div(1, len(tied) or 1)
        return self.record(self.lower(best), *((v, share) for v in tied))

    def total(self, values: Sequence[Value]) -> Value:
        """The sum, recorded as one operation."""
        return self.record(self.base.total([self.lower(v) for v in values]), *((v, 1) for v in values))

    def _flat(self, name: str) -> Callable[[Value], Value]:
        return lambda a: self.base.functions[name](self.stop(a))

    def _function(self, name: str) -> Callable[[Value], Value]:
        partial = PARTIALS[name]

        def call(a: Value) -> Value:
            function = self.base.functions[name]
            x = self.lower(a)
            value = function(x)
            return Node(self, value, ((a, partial(self.base, x, value)),)) if self.owns(a) else value

        return call

    # The sweep

    def reverse(self, seeds: Iterable[tuple[Value, Value]], cut: Callable[[Node], bool] | None = None) -> Adjoints:
        """The derivatives of ``sum weight * number`` over ``seeds`` by every recorded number.

        Nothing flows back beyond a node that ``cut`` holds for. A derivative that is exactly 0 does not flow at all, so
        a branch that does not contribute adds nothing, not even NaN.
        """
        adjoints: dict[Node, Value] = {}
        for node, weight in seeds:
            if self.owns(node):
                adjoints[node] = self.base.add(adjoints[node], weight) if node in adjoints else weight
        for node in descending(adjoints):
            adjoint = adjoints.get(node)
            if adjoint is None or _is_zero(adjoint) or (cut is not None and cut(node)):
                continue
            for parent, partial in node.parents:
                change = self.base.mul(adjoint, partial)
                adjoints[parent] = self.base.add(adjoints[parent], change) if parent in adjoints else change
        return Adjoints(adjoints)


class Adjoints:
    """The derivatives of one number by others."""

    def __init__(self, values: Mapping[Node, Value]) -> None:
        self.values = values

    def __getitem__(self, node: Any) -> Value:
        return self.values.get(node, 0) if isinstance(node, Node) else 0


def _is_zero(a: Value) -> bool:
    return not isinstance(a, Node) and bool(a == 0)


class Recorded(Protocol):
    """A value that knows its operands, and when it was recorded."""

    parents: Any
    serial: int


R = TypeVar("R", bound=Recorded)


def descending(seeds: Iterable[R]) -> list[R]:
    """Every recorded value that the seeds depend on, latest first."""
    found: set[R] = set(seeds)
    stack = list(found)
    while stack:
        for parent, _ in stack.pop().parents:
            if parent not in found:
                found.add(parent)
                stack.append(parent)
    return sorted(found, key=lambda value: -value.serial)


def _two_over_root_pi(d: Domain) -> Value:
    return d.div(2, d.functions["sqrt"](d.pi))


def _one_minus_square(d: Domain, x: Value) -> Value:
    return d.sub(1, d.mul(x, x))


PARTIALS: dict[str, Callable[[Domain, Value, Value], Value]] = {
    "exp": lambda d, x, v: v,
    "log": lambda d, x, v: d.div(1, x),
    "sqrt": lambda d, x, v: d.div(1, d.mul(2, v)),
    "sin": lambda d, x, v: d.functions["cos"](x),
    "cos": lambda d, x, v: d.neg(d.functions["sin"](x)),
    "tan": lambda d, x, v: d.add(1, d.mul(v, v)),
    "asin": lambda d, x, v: d.div(1, d.functions["sqrt"](_one_minus_square(d, x))),
    "acos": lambda d, x, v: d.neg(d.div(1, d.functions["sqrt"](_one_minus_square(d, x)))),
    "atan": lambda d, x, v: d.div(1, d.add(1, d.mul(x, x))),
    "sinh": lambda d, x, v: d.functions["cosh"](x),
    "cosh": lambda d, x, v: d.functions["sinh"](x),
    "tanh": lambda d, x, v: _one_minus_square(d, v),
    "erf": lambda d, x, v: d.mul(_two_over_root_pi(d), d.functions["exp"](d.neg(d.mul(x, x)))),
}
"""Of each primitive, its derivative at x, where its value is v."""
