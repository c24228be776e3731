"""Whether an unpadded access can leave its axis, decided at concrete sizes.

The interval of an index position decides where it lies within the axis, and where every term of the position is an
index of its own, for then the interval is exact. Elsewhere (``i - i // 2``) all values are tried at small sizes.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from sympy import Expr, Integer, Symbol

from symderive.errors import SpecError
from symderive.spec import syntax as s
from symderive.spec.evaluator import Unknown, evaluator
from symderive.spec.format import to_text
from symderive.spec.intervals import Interval, Point, interval, sum_interval, sum_terms
from symderive.spec.scope import Scope, Tensor
from symderive.spec.size_text import size_text
from symderive.spec.sizes import BATCH_SIZE, size_value
from symderive.spec.substitute import replace_node, substitute

MAX_POINTS = 1000
MAX_INLINED = 8
MAX_NODES = 150
_SMALL = (1, 2, 3, 4, 5, 6, 7, 8, 11, 13)
_DRAWS = 160
_KEPT = 24


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


@dataclass
class Budget:
    """How much work may go into one spec, in nodes of a syntax tree that are looked at."""

    nodes: int = 400_000

    def spend(self, nodes: int) -> bool:
        """Whether so much work may still be done; it then counts as done."""
        if nodes <= self.nodes:
            self.nodes -= nodes
            return True
        return False


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
            extent = point.extent(scope.tensors[access.tensor].shape[axis])
            if (reached := leaves(position, extent, point, budget)) is not None:
                raise _out_of_range(scope, ranges, (access, axis), sizes, reached)


def _extent(expression: Expr, numbers: Mapping[str, int]) -> int:
    return 1 if expression == BATCH_SIZE else size_value(expression, numbers)


def _spans_axis(position: s.Node, extent: Expr, ranges: Mapping[str, Expr]) -> bool:
    """Whether the position needs no look: an index that runs over exactly this axis, the first entry."""
    if isinstance(position, s.Number):
        return position.value == 0 or (isinstance(extent, Integer) and position.value < int(extent))
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


def inline(position: s.Node, tensors: Mapping[str, Tensor]) -> s.Node:
    """The position with integer tensors replaced by what defines them, where that binds no index and stays small."""
    for _ in range(MAX_INLINED):
        found = next((n for n in position.walk() if isinstance(n, s.Access) and _definition(n, tensors)), None)
        right = _definition(found, tensors) if isinstance(found, s.Access) else None
        if right is None or not isinstance(found, s.Access):
            break
        values = dict(zip(tensors[found.tensor].indices, found.indices, strict=True))
        count = sum(1 for n in position.walk() if n == found)
        if _nodes(position) + count * _nodes(right) * max(1, *(_nodes(v) for v in values.values())) > MAX_NODES:
            break
        position = replace_node(position, found, substitute(right, values))
    return position


def _nodes(node: s.Node) -> int:
    return sum(1 for _ in node.walk())


def _definition(node: s.Access, tensors: Mapping[str, Tensor]) -> s.Node | None:
    right = tensors[node.tensor].right
    if right is None or any(isinstance(n, s.Binder) for n in right.walk()):
        return None
    return right


def leaves(position: s.Node, extent: int, point: Point, budget: Budget) -> int | None:
    """A value outside 0..extent-1 that the position takes, or None where there is none, or no budget to find it."""
    size = _nodes(position)
    if not budget.spend(20 * size):
        return None
    terms = sum_terms(position, point)
    low, high = sum_interval(terms, point)
    if low >= 0 and high < extent:
        return None
    if all(isinstance(atom, s.Name | s.Access) or _is_position(atom) for atom in terms if atom is not None):
        return low if low < 0 else high
    variables = list(dict.fromkeys(_variables(position, point)))
    spans = [interval(v, point) for v in variables]
    count = 1
    for low, high in spans:
        count *= max(0, high - low + 1)
    if count > MAX_POINTS or not budget.spend(count * size):
        return None
    return _try_all(position, extent, point, dict(zip(variables, spans, strict=True)))


def _try_all(position: s.Node, extent: int, point: Point, spans: Mapping[s.Node, Interval]) -> int | None:
    """The first value outside 0..extent-1 over all values of the variables."""
    try:
        value = evaluator(position, {v: n for n, v in enumerate(spans)}, point.numbers)
        for values in itertools.product(*(range(low, high + 1) for low, high in spans.values())):
            if not 0 <= (reached := value(values)) < extent:
                return reached
    except Unknown:
        pass
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
