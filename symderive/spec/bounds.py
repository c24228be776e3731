"""Whether an unpadded access can leave its axis, decided at concrete sizes.

An index position is written as a sum of terms; each term lies in an interval. Where every term is an index of its
own, the interval of the sum is exact. Where it is not (``i - i // 2``) and the interval is too wide, all values are
tried at sizes that are small enough.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from sympy import Expr, Symbol

from symderive.errors import SpecError
from symderive.spec import syntax as s
from symderive.spec.format import to_text
from symderive.spec.scope import Scope, Tensor
from symderive.spec.size_text import size_text
from symderive.spec.sizes import BATCH_SIZE, size_value
from symderive.spec.substitute import replace_node, substitute

MAX_POINTS = 3000
MAX_BITS = 200
_SMALL = (1, 2, 3, 4, 5, 6, 7, 8, 11, 13)
_DRAWS = 160
_KEPT = 24

Interval = tuple[int, int]


def size_samples(
    names: Iterable[str], given: Iterable[Mapping[str, int]], extents: Iterable[Expr]
) -> list[dict[str, int]]:
    """Sizes to decide at: those given, and small ones at which every extent is at least 1."""
    names = sorted(names)
    extents = [e for e in set(extents) if e.free_symbols and not isinstance(e, Symbol)]
    draw = random.Random(1)
    drawn: Iterator[dict[str, int]] = itertools.chain(
        (dict.fromkeys(names, v) for v in _SMALL),
        ({n: draw.choice(_SMALL) for n in names} for _ in range(_DRAWS)),
        ({n: draw.randint(1, 40) for n in names} for _ in range(_DRAWS)),
    )
    small = (sizes for sizes in drawn if _possible(extents, sizes))
    return [dict(sizes) for sizes in given] + list(itertools.islice(small, _KEPT))


def _possible(extents: Iterable[Expr], sizes: Mapping[str, int]) -> bool:
    try:
        return all(size_value(e, sizes) >= 1 for e in extents)
    except (ZeroDivisionError, ValueError):
        return False


@dataclass(frozen=True)
class Point:
    """Everything with numbers: the sizes and integer constants, the ranges of the indices, the tensors."""

    numbers: Mapping[str, int]
    ranges: Mapping[str, int]
    tensors: Mapping[str, Tensor]

    def extent(self, expression: Expr) -> int:
        """The value of a size expression."""
        return 1 if expression == BATCH_SIZE else size_value(expression, self.numbers)


@dataclass
class Budget:
    """How much work may go into one spec: looks at an index position, and values tried one by one."""

    looks: int = 30_000
    points: int = 150_000


def check_bounds(
    scope: Scope,
    ranges: Mapping[str, Expr],
    samples: Callable[[], Iterable[Mapping[str, int]]],
    budget: Budget,
) -> None:
    """Raise where an unpadded access of the equation can leave an axis at one of the sizes."""
    suspects = [
        (access, axis, inline(access.indices[axis], scope.tensors))
        for access, padded in scope.accesses
        if not padded
        for axis, position in enumerate(access.indices)
        if not _spans_axis(position, scope.tensors[access.tensor].shape[axis], ranges)
    ]
    if not suspects:
        return
    whole = {n: int(v) for n, v in scope.constants.items() if v.denominator == 1}
    for sizes in samples():
        numbers = {**sizes, **whole}
        point = Point(numbers, {n: _extent(e, numbers) for n, e in ranges.items()}, scope.tensors)
        for access, axis, position in suspects:
            budget.looks -= 1
            if budget.looks < 0:
                return
            extent = point.extent(scope.tensors[access.tensor].shape[axis])
            if (reached := leaves(position, extent, point, budget)) is not None:
                raise _out_of_range(scope, ranges, (access, axis), sizes, reached)


def _extent(expression: Expr, numbers: Mapping[str, int]) -> int:
    return 1 if expression == BATCH_SIZE else size_value(expression, numbers)


def _spans_axis(position: s.Node, extent: Expr, ranges: Mapping[str, Expr]) -> bool:
    """Whether the position is an index that runs over exactly this axis."""
    return isinstance(position, s.Batch) or (isinstance(position, s.Name) and ranges.get(position.id) == extent)


def _out_of_range(
    scope: Scope,
    ranges: Mapping[str, Expr],
    suspect: tuple[s.Access, int],
    sizes: Mapping[str, int],
    reached: int,
) -> SpecError:
    access, axis = suspect
    position = access.indices[axis]
    extent = scope.tensors[access.tensor].shape[axis]
    used = list(dict.fromkeys(n.id for n in position.walk() if isinstance(n, s.Name) and n.id in ranges))
    where = "".join(f", {i} in 0..{_last(ranges[i])}" for i in used)
    shown = sorted(
        {str(x) for x in extent.free_symbols}.union(*({str(x) for x in ranges[i].free_symbols} for i in used))
    )
    at = ", ".join(f"{n} = {sizes[n]}" for n in shown if n in sizes)
    hint = f"write pad({to_text(access)}) to read 0 there"
    if used:
        hint += f", or give {used[0]} a smaller range under `indices`"
    return scope.error(
        f"the index '{to_text(position)}' can leave the range 0..{_last(extent)} of '{access.tensor}'{where}: "
        f"it reaches {reached}{' where ' + at if at else ''}",
        position.span,
        hint,
    )


def _last(extent: Expr) -> str:
    return size_text(extent - 1)


def inline(position: s.Node, tensors: Mapping[str, Tensor], depth: int = 0) -> s.Node:
    """The position with integer tensors replaced by what defines them, where that binds no index."""
    if depth > 8:
        return position
    for node in position.walk():
        if isinstance(node, s.Access) and (right := _definition(node, tensors)) is not None:
            values = dict(zip(tensors[node.tensor].indices, node.indices, strict=True))
            return inline(replace_node(position, node, substitute(right, values)), tensors, depth + 1)
    return position


def _definition(node: s.Access, tensors: Mapping[str, Tensor]) -> s.Node | None:
    right = tensors[node.tensor].right
    if right is None or any(isinstance(n, s.Binder) for n in right.walk()):
        return None
    return right


def leaves(position: s.Node, extent: int, point: Point, budget: Budget) -> int | None:
    """A value outside 0..extent-1 that the position takes, or None."""
    terms = _terms(position, point)
    low, high = _sum_interval(terms, point)
    if low >= 0 and high < extent:
        return None
    if all(isinstance(atom, s.Name | s.Access) or _is_position(atom) for atom in terms if atom is not None):
        return low if low < 0 else high
    variables = list(dict.fromkeys(_variables(position, point)))
    spans = [_interval(v, point) for v in variables]
    count = 1
    for low, high in spans:
        count *= max(0, high - low + 1)
    if count > min(MAX_POINTS, budget.points):
        return None
    budget.points -= count
    for values in itertools.product(*(range(low, high + 1) for low, high in spans)):
        reached = _at(position, dict(zip(variables, values, strict=True)), point)
        if reached is not None and not 0 <= reached < extent:
            return reached
    return None


def _is_position(node: s.Node) -> bool:
    return isinstance(node, s.Binder) and node.op in ("argmax", "argmin")


def _variables(node: s.Node, point: Point) -> Iterator[s.Node]:
    """The parts whose values vary on their own: indices, entries of integer tensors, argmax."""
    if isinstance(node, s.Name):
        if node.id in point.ranges or node.id in point.tensors:
            yield node
    elif isinstance(node, s.Access | s.Binder):
        yield node
    else:
        for child in node.children():
            yield from _variables(child, point)


Terms = dict[s.Node | None, int]
"""A sum: the coefficient of each atom; that of None is the constant."""


def _terms(node: s.Node, point: Point) -> Terms:
    if isinstance(node, s.Number):
        return {None: int(node.value)}
    if isinstance(node, s.Name) and node.id in point.numbers and node.id not in point.ranges:
        return {None: point.numbers[node.id]}
    if isinstance(node, s.Unary):
        inner = _terms(node.operand, point)
        return {a: -c for a, c in inner.items()} if node.op == "-" else inner
    if isinstance(node, s.Binary) and node.op in ("+", "-"):
        left, right = _terms(node.left, point), _terms(node.right, point)
        sign = 1 if node.op == "+" else -1
        total = dict(left)
        for atom, factor in right.items():
            total[atom] = total.get(atom, 0) + sign * factor
        return {atom: factor for atom, factor in total.items() if factor}
    if isinstance(node, s.Binary) and node.op == "*":
        left, right = _terms(node.left, point), _terms(node.right, point)
        for one, other in ((left, right), (right, left)):
            if set(one) <= {None}:
                return {atom: factor * one.get(None, 0) for atom, factor in other.items()}
    return {node: 1}


def _sum_interval(terms: Terms, point: Point) -> Interval:
    low = high = 0
    for atom, factor in terms.items():
        first, last = (1, 1) if atom is None else _interval(atom, point)
        low += factor * (first if factor > 0 else last)
        high += factor * (last if factor > 0 else first)
    return low, high


WIDE: Interval = (-(10**18), 10**18)


def _interval(node: s.Node, point: Point) -> Interval:
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
        left = _sum_interval(_terms(node.left, point), point)
        right = _sum_interval(_terms(node.right, point), point)
        return _binary_interval(node.op, left, right)
    terms = _terms(node, point)
    return WIDE if set(terms) == {node} else _sum_interval(terms, point)


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
    corners = [_BINARY[op](a, b) for a in left for b in right]
    return min(corners), max(corners)


def _call_interval(node: s.Call, point: Point) -> Interval:
    spans = [_sum_interval(_terms(x, point), point) for x in node.arguments]
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
    low, high = _sum_interval(_terms(node.body, point), point)
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
    return _sum_interval(_terms(tensor.right, inner), inner)


def _at(node: s.Node, values: Mapping[s.Node, int], point: Point) -> int | None:
    """The value of an integer expression where its variables have ``values``; None where it cannot be said."""
    if node in values:
        return values[node]
    if isinstance(node, s.Number):
        return int(node.value) if node.value.denominator == 1 else None
    if isinstance(node, s.Name):
        return point.numbers.get(node.id)
    parts = [_at(child, values, point) for child in node.children()]
    if any(p is None or p.bit_length() > MAX_BITS for p in parts):
        return None
    return _apply(node, [p for p in parts if p is not None])


def _apply(node: s.Node, parts: list[int]) -> int | None:
    if isinstance(node, s.Unary):
        return -parts[0] if node.op == "-" else parts[0]
    if isinstance(node, s.Not):
        return int(not parts[0])
    if isinstance(node, s.Logical):
        return int(all(parts) if node.op == "and" else any(parts))
    if isinstance(node, s.Compare):
        return int(all(_COMPARE[op](a, b) for op, a, b in zip(node.ops, parts, parts[1:], strict=False)))
    if isinstance(node, s.Binary):
        if node.op in ("//", "%") and parts[1] == 0:
            return None
        if node.op == "**" and not 0 <= parts[1] <= 16:
            return None
        return _BINARY[node.op](*parts) if node.op in _BINARY else None
    if isinstance(node, s.Call) and node.function in _CALLS:
        return _CALLS[node.function](*parts)
    return None


_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": int.__add__,
    "-": int.__sub__,
    "*": int.__mul__,
    "//": int.__floordiv__,
    "%": int.__mod__,
    "**": int.__pow__,
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
    "stop": lambda x: x,
    "square": lambda x: x * x,
    "sign": lambda x: (x > 0) - (x < 0),
    "floor": lambda x: x,
    "round": lambda x: x,
}
