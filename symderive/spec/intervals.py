"""Where the values of an integer expression lie, at concrete sizes.

An expression is written as a sum of terms, each of which lies in an interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sympy import Expr

from symderive.record import record
from symderive.spec import syntax as s
from symderive.spec.scope import Tensor
from symderive.spec.sizes import BATCH_SIZE, size_value

MAX_BITS = 200

Interval = tuple[int, int]


@record
class Point:
    """Everything with numbers: the sizes and integer constants, the ranges of the indices, the tensors."""

    numbers: Mapping[str, int]
    ranges: Mapping[str, int]
    tensors: Mapping[str, Tensor]

    def extent(self, expression: Expr) -> int:
        """The value of a size expression."""
        return 1 if expression == BATCH_SIZE else size_value(expression, self.numbers)


Terms = dict[s.Node | None, int]
"""A sum: the coefficient of each atom; that of None is the constant."""


def sum_terms(node: s.Node, point: Point) -> Terms:
    """The integer expression as a sum, multiplied out as far as one factor is a number."""
    if isinstance(node, s.Number):
        return {None: int(node.value)}
    if isinstance(node, s.Name) and node.id in point.numbers and node.id not in point.ranges:
        return {None: point.numbers[node.id]}
    if isinstance(node, s.Unary):
        inner = sum_terms(node.operand, point)
        return {a: -c for a, c in inner.items()} if node.op == "-" else inner
    if isinstance(node, s.Binary) and node.op in ("+", "-"):
        left, right = sum_terms(node.left, point), sum_terms(node.right, point)
        sign = 1 if node.op == "+" else -1
        total = dict(left)
        for atom, factor in right.items():
            total[atom] = total.get(atom, 0) + sign * factor
        return {atom: factor for atom, factor in total.items() if factor}
    if isinstance(node, s.Binary) and node.op == "*":
        left, right = sum_terms(node.left, point), sum_terms(node.right, point)
        for one, other in ((left, right), (right, left)):
            if set(one) <= {None}:
                return {atom: factor * one.get(None, 0) for atom, factor in other.items()}
    return {node: 1}


def sum_interval(terms: Terms, point: Point) -> Interval:
    """Where a sum lies; exact where its terms vary independently of each other."""
    low = high = 0
    for atom, factor in terms.items():
        first, last = (1, 1) if atom is None else interval(atom, point)
        low += factor * (first if factor > 0 else last)
        high += factor * (last if factor > 0 else first)
    return low, high


WIDE: Interval = (-(10**18), 10**18)


def interval(node: s.Node, point: Point) -> Interval:
    """Where the values of an integer expression lie."""
    if isinstance(node, s.Name):
        if node.id in point.ranges:
            return 0, point.ranges[node.id] - 1
        if node.id in point.tensors:
            return _entries(point.tensors[node.id], point)
    if isinstance(node, s.Access):
        return _entries(point.tensors[node.tensor], point)
    if isinstance(node, s.Binder):
        return _binder_interval(node, point)
    if isinstance(node, s.Compare | s.Logical | s.Not):
        return 0, 1
    if isinstance(node, s.Call):
        return _call_interval(node, point)
    if isinstance(node, s.Binary) and node.op in ("//", "%", "*", "**"):
        left = sum_interval(sum_terms(node.left, point), point)
        right = sum_interval(sum_terms(node.right, point), point)
        return _binary_interval(node.op, left, right)
    terms = sum_terms(node, point)
    return WIDE if set(terms) == {node} else sum_interval(terms, point)


def _binary_interval(op: str, left: Interval, right: Interval) -> Interval:
    if op == "%":
        if right[0] < 1:
            return WIDE
        if right[0] == right[1] and left[0] // right[0] == left[1] // right[0]:
            return left[0] % right[0], left[1] % right[0]
        return 0, right[1] - 1
    if op == "//" and right[0] < 1:
        return WIDE
    if op == "**" and (right[0] < 0 or right[1] > 16 or left[0] < 0 or left[1].bit_length() > MAX_BITS):
        return WIDE
    corners = [_CORNERS[op](a, b) for a in left for b in right]
    return min(corners), max(corners)


def _call_interval(node: s.Call, point: Point) -> Interval:
    spans = [sum_interval(sum_terms(x, point), point) for x in node.arguments]
    name = node.function
    if name in ("max", "min"):
        pick = max if name == "max" else min
        return pick(x[0] for x in spans), pick(x[1] for x in spans)
    if name == "where":
        return min(spans[1][0], spans[2][0]), max(spans[1][1], spans[2][1])
    if name == "clamp":
        value, floor, top = spans
        return min(max(value[0], floor[0]), top[0]), min(max(value[1], floor[1]), top[1])
    if name in ("stop", "floor", "round"):
        return spans[0]
    if name == "pad":
        other = spans[1] if len(spans) > 1 else (0, 0)
        return min(spans[0][0], other[0]), max(spans[0][1], other[1])
    if name == "abs":
        low, high = spans[0]
        return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))
    return {"delta": (0, 1), "sign": (-1, 1)}.get(name, WIDE)


def _binder_interval(node: s.Binder, point: Point) -> Interval:
    count = 1
    for index in node.indices:
        count *= point.ranges.get(index, 1)
    if node.op in ("argmax", "argmin"):
        return 0, count - 1
    if node.op in ("any", "all"):
        return 0, 1
    low, high = sum_interval(sum_terms(node.body, point), point)
    if node.op == "sum":
        least = 0 if node.condition is not None else count
        return min(least * low, count * low), max(least * high, count * high)
    return (low, high) if node.op in ("max", "min") and node.condition is None else WIDE


def _entries(tensor: Tensor, point: Point) -> Interval:
    """Where the entries of an integer tensor lie."""
    if tensor.upper is not None:
        return 0, point.extent(tensor.upper) - 1
    if tensor.right is None:
        return (0, 1) if tensor.kind == "condition" else WIDE
    ranges = {n: point.extent(e) for n, e in tensor.ranges.items()}
    inner = Point(point.numbers, ranges, point.tensors)
    return sum_interval(sum_terms(tensor.right, inner), inner)


_CORNERS: dict[str, Callable[[int, int], int]] = {"//": int.__floordiv__, "*": int.__mul__, "**": int.__pow__}
