"""An integer expression -> a Python function of the values of its variables, for trying many of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from symderive.spec import syntax as s

MAX_BITS = 200
MAX_POWER = 16

Value = Callable[[Sequence[int]], int]


class Unknown(Exception):
    """The value cannot be said."""


def evaluator(node: s.Node, slots: Mapping[s.Node, int], numbers: Mapping[str, int]) -> Value:
    """The function that computes ``node`` where the variables have the values in their slots.

    Raises :class:`Unknown`, or the function does, where a part has no value or a very large one.
    """
    if node in slots:
        slot = slots[node]
        return lambda values: values[slot]
    if isinstance(node, s.Number) and node.value.denominator == 1:
        number = int(node.value)
        return lambda values: number
    if isinstance(node, s.Name) and node.id in numbers:
        given = numbers[node.id]
        return lambda values: given
    parts = [evaluator(child, slots, numbers) for child in node.children()]
    operate = _operation(node)
    if operate is None or not parts:
        raise Unknown
    if len(parts) == 2:
        left, right = parts
        return lambda values: operate(left(values), right(values))
    return lambda values: operate(*(part(values) for part in parts))


def _operation(node: s.Node) -> Callable[..., int] | None:
    if isinstance(node, s.Unary):
        return int.__neg__ if node.op == "-" else int.__pos__
    if isinstance(node, s.Not):
        return lambda x: int(not x)
    if isinstance(node, s.Logical):
        decide = all if node.op == "and" else any
        return lambda *parts: int(decide(parts))
    if isinstance(node, s.Compare):
        tests = [_COMPARE[op] for op in node.ops]
        return lambda *parts: int(all(t(a, b) for t, a, b in zip(tests, parts, parts[1:], strict=False)))
    if isinstance(node, s.Binary):
        return _BINARY.get(node.op)
    if isinstance(node, s.Call):
        return _CALLS.get(node.function)
    return None


def _product(x: int, y: int) -> int:
    if x.bit_length() + y.bit_length() > MAX_BITS:
        raise Unknown
    return x * y


def _power(x: int, y: int) -> int:
    if not 0 <= y <= MAX_POWER or x.bit_length() * y > MAX_BITS:
        raise Unknown
    return x**y


def _quotient(x: int, y: int) -> int:
    if y == 0:
        raise Unknown
    return x // y


def _remainder(x: int, y: int) -> int:
    if y == 0:
        raise Unknown
    return x % y


_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": int.__add__,
    "-": int.__sub__,
    "*": _product,
    "//": _quotient,
    "%": _remainder,
    "**": _power,
}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": int.__lt__,
    "<=": int.__le__,
    ">": int.__gt__,
    ">=": int.__ge__,
    "==": int.__eq__,
    "!=": int.__ne__,
}
_CALLS: dict[str, Callable[..., int]] = {
    "max": max,
    "min": min,
    "where": lambda c, x, y: x if c else y,
    "clamp": lambda x, low, high: min(max(x, low), high),
    "delta": lambda x, y: int(x == y),
    "abs": abs,
    "stop": int,
    "square": lambda x: _product(x, x),
    "sign": lambda x: (x > 0) - (x < 0),
    "floor": int,
    "round": int,
}
