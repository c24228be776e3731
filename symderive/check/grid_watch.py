"""The kinks that a forward passes at a point, found over whole arrays: what :mod:`symderive.check.kinks` records.

Of each place of the text it gives the nearest argument on each side, which is all that those who ask look at. As there,
what a branch that is not taken passes does not count, and neither do integers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np

from symderive.check.floats import FLOAT
from symderive.check.grid import Grid
from symderive.check.grid_code import BOOK, Codes
from symderive.check.grid_math import GridMath, Value
from symderive.check.grid_numbers import Unsupported, numbers_over
from symderive.check.grid_whole import is_whole
from symderive.check.kinks import Kink, at_zero, measures_of
from symderive.check.moving import fixed_places
from symderive.check.oracle import batch_extents
from symderive.check.stacked import AXIS, stacked
from symderive.errors import Span
from symderive.spec import model, syntax

Sizes = Mapping[str, "int | tuple[int, ...]"]


class WatchedGrid(Grid):
    """A grid that records kinks. ``active`` says where, of all that is computed, the forward passes."""

    ahead = False

    def __init__(
        self,
        *arguments: Any,
        codes: Codes,
        place: int,
        kinks: Sequence[list[Kink]],
        sites: Iterator[int],
        whole: set[str],
        mixed: set[str],
        fixed: frozenset[Span],
    ) -> None:
        super().__init__(*arguments, codes=codes, place=place)
        self.wholes = codes.whole
        self.kinks = kinks
        self.sites = sites
        self.whole_tensors = whole
        self.mixed_tensors = mixed
        self.fixed = fixed
        self.active: np.ndarray | None = None

    # Records

    def add(self, kind: str, span: Span, sides: np.ndarray, distances: np.ndarray) -> None:
        """Record one place: of each side the argument that comes nearest, at each point."""
        site = next(self.sites)
        moves = kind == "pole" or span not in self.fixed
        arrays = [sides, distances]
        if self.active is not None:
            arrays = [*np.broadcast_arrays(sides, distances, self.active)]
        found = [_nearest_by_side(*row) for row in zip(*map(self._by_point, arrays), strict=True)]
        for number, kinks in enumerate(self.kinks):
            nearest = found[number % len(found)]
            kinks += [Kink(site, kind, span, int(side), nearest[side], moves) for side in sorted(nearest)]

    def _by_point(self, array: np.ndarray) -> list[list[Any]]:
        """A list of entries for each point; one for all of them where it is the same at all."""
        return array.reshape(len(array), -1).tolist() if AXIS in self.ranges else [array.ravel().tolist()]  # type: ignore[no-any-return]

    def between(self, kind: str, span: Span, nodes: Sequence[syntax.Node | None], a: Value, b: Value) -> None:
        """Record how far apart two numbers are; two integers have no kinks."""
        if self.all_whole(kind, span, nodes):
            next(self.sites)
            return
        difference = np.where(a == b, 0.0, a - b)
        self.add(kind, span, np.sign(difference), np.abs(difference))

    def all_whole(self, kind: str, span: Span, nodes: Sequence[syntax.Node | None]) -> bool:
        """Whether numbers are integers.

        Where some are and some are not, that is of no account at a pole, to which an integer is not near but on it, and
        where nothing moves.
        """
        try:
            return all(n is None or self.is_whole(n) for n in nodes)
        except Unsupported:
            if kind == "pole" or span in self.fixed:
                return False
            raise

    def is_whole(self, node: syntax.Node) -> bool:
        """Whether all values of an expression are integers. Raises :class:`Unsupported` where some are."""
        found = self.wholes.get(id(node))
        if found is None:
            found = self.wholes[id(node)] = is_whole(self, node)
        return found

    @contextmanager
    def only(self, condition: np.ndarray | None) -> Iterator[None]:
        """Inside, what is passed counts only where a condition holds, too."""
        before = self.active
        if condition is not None:
            self.active = condition if before is None else before & condition
        yield
        self.active = before

    @contextmanager
    def along_list(self, at: tuple[np.ndarray, ...], shape: Sequence[int], column: Sequence[int]) -> Iterator[None]:
        """Inside, what counts is what stood at the places of the list."""
        before = self.active
        if before is not None:
            self.active = np.broadcast_to(before, tuple(shape))[at].reshape(tuple(column))
        yield
        self.active = before

    # What has kinks

    def watches(self, node: syntax.Node) -> bool:
        """A denominator, the base of a power, and what a function with kinks is applied to."""
        if isinstance(node, syntax.Call):
            return bool(measures_of(node.function)[1])
        return isinstance(node, syntax.Binary) and node.op in ("/", "**")

    def binary(self, node: syntax.Binary) -> Value:
        """A denominator, or the base of a root, near 0 is a pole."""
        if node.op not in ("/", "**"):
            return super().binary(node)
        a, b = self.value(node.left), self.value(node.right)
        if node.op == "/":
            self.between("pole", node.span, (node.right,), b, self.constant(0))
        else:
            with self.only((b != np.floor(b)) | (b < 0)):
                self.between("pole", node.span, (node.left,), a, self.constant(0))
        return self.sized(self.math.div if node.op == "/" else self.math.power, a, b)

    def comparison(self, node: syntax.Compare) -> Value:
        """The border of each comparison that is come to."""
        values = [self.plain(o) for o in node.operands]
        pairs = list(zip(node.ops, zip(node.operands, node.operands[1:], strict=False), strict=False))
        result = np.ones((1,) * self.rank, dtype=bool)
        for number, (op, nodes) in enumerate(pairs):
            a, b = values[number], values[number + 1]
            with self.only(result if number else None):
                self.between("compare", node.span, nodes, a, b)
            result = result & self.numbers.compare(op, a, b)
        return self.numbers.array(result)

    def logical(self, node: syntax.Logical) -> Value:
        """Operands after one that decides are not come to."""
        result = self.truth(node.operands[0])
        for operand in node.operands[1:]:
            with self.only(result if node.op == "and" else ~result):
                other = self.truth(operand)
            result = result & other if node.op == "and" else result | other
        return self.numbers.array(result)

    def where(self, node: syntax.Call) -> Value:
        """Only the branch taken is passed."""
        condition, a, b = node.arguments
        truth = self.truth(condition)
        with self.only(truth):
            first = self.value(a)
        with self.only(~truth):
            second = self.value(b)
        return self.math.choose(truth, first, second)

    def extremum(self, node: syntax.Call) -> Value:
        """A tie of two numbers."""
        if len(node.arguments) != 2:
            raise Unsupported
        a, b = map(self.value, node.arguments)
        self.between(node.function, node.span, node.arguments, a, b)
        return self.pick(">" if node.function == "max" else "<", a, b)

    def clamp(self, node: syntax.Call) -> Value:
        """Both ends."""
        x, low, high = map(self.value, node.arguments)
        for limit, value in ((1, low), (2, high)):
            self.between("clamp", node.span, (node.arguments[0], node.arguments[limit]), x, value)
        return self.pick("<", self.pick(">", x, low), high)

    def arguments(self, node: syntax.Call) -> list[Value]:
        """The zeros of what a function that has a kink there is applied to, and the poles of others."""
        kind, measures = measures_of(node.function)
        watched = bool(measures and node.arguments and not self.all_whole(kind, node.span, node.arguments[:1]))
        arguments = super().arguments(node)
        for measure in measures if watched else ():
            x = self.math.plain(arguments[0])
            if measure is at_zero:
                self.add(kind, node.span, np.sign(x), np.abs(x))
                continue
            found = np.frompyfunc(measure, 1, 2)(x)
            self.add(kind, node.span, np.asarray(found[0], dtype=int), np.asarray(found[1], dtype=float))
        return arguments

    def among(self, node: syntax.Binder, values: np.ndarray, condition: np.ndarray | None) -> None:
        """Where an extremum over indices stands, and by how much it leads."""
        axes = tuple(self.axes[i] for i in node.indices)
        if self.is_whole(node.body):
            next(self.sites)
            return
        largest = node.op in ("max", "argmax")
        rows = np.moveaxis(values, axes, range(-len(axes), 0))
        rest = rows.shape[: rows.ndim - len(axes)]
        rows = rows.reshape(*rest, -1)
        if rows.shape[-1] < 2:
            next(self.sites)
            return
        rows = rows if largest else -rows
        order = np.sort(rows, axis=-1)
        with np.errstate(all="ignore"):
            gap = np.where(np.isfinite(order[..., -1]), order[..., -1] - order[..., -2], math.nan)
        kept = [1 if a in axes else n for a, n in enumerate(values.shape)]
        gap = np.where(np.isinf(gap), math.nan, gap)
        self.add(f"{node.op}[]", node.span, np.argmax(rows, axis=-1).reshape(kept), gap.reshape(kept))


def _nearest_by_side(
    sides: Sequence[Any], distances: Sequence[float], counts: Iterable[bool] = itertools.repeat(True)
) -> dict[Any, float]:
    """The distance of the argument that comes nearest, of those that count, on each side."""
    found: dict[Any, float] = {}
    for side, distance, count in zip(sides, distances, counts, strict=False):
        if count and (distance < found.get(side, math.inf) or (side not in found and not math.isnan(distance))):
            found[side] = distance
    return found


Passed = tuple[list[Kink], bool]
"""The kinks and poles at a point, in floats, and whether the outputs are finite there."""


def passed(
    spec: model.Spec, sizes: Sizes, point: Mapping[str, np.ndarray], constants: Mapping[str, Fraction]
) -> Passed:
    """What a point passes. Raises :class:`Unsupported`."""
    return _passed(spec, sizes, point, constants, _needed(spec), 1)[0]


def passed_together(
    spec: model.Spec, sizes: Sizes, points: Sequence[Mapping[str, np.ndarray]], constants: Mapping[str, Fraction]
) -> list[Passed]:
    """The same for points of the same sizes, computed at once."""
    inputs = {name: np.stack([p[name] for p in points]) for name in points[0]}
    return _passed(spec, {**sizes, AXIS: len(points)}, inputs, constants, stacked(spec, _needed(spec)), len(points))


def _passed(  # noqa: PLR0917
    spec: model.Spec,
    sizes: Sizes,
    point: Mapping[str, np.ndarray],
    constants: Mapping[str, Fraction],
    equations: Sequence[model.Equation],
    count: int,
) -> list[Passed]:
    numbers = numbers_over(FLOAT)
    tensors = {name: numbers.array(a) for name, a in point.items()}
    whole = {i.name for i in spec.inputs if not i.is_real}
    scalars: dict[str, Any] = {**constants, **{n: v for n, v in sizes.items() if isinstance(v, int)}}
    batch = len(batch_extents(sizes))

    def read(name: str, rank: int) -> np.ndarray:
        array = tensors[name]
        if array.ndim != rank and name in point:
            array = array.reshape(math.prod(array.shape[:batch]), *array.shape[batch:])
        if array.ndim != rank:
            raise Unsupported
        return array

    kinks: list[list[Kink]] = [[] for _ in range(count)]
    mixed: set[str] = set()
    sites = itertools.count()
    place = BOOK.place(sizes, constants)
    with np.errstate(all="ignore"):
        for equation in equations:
            codes = BOOK.of(equation, (WatchedGrid, GridMath, FLOAT.name))
            codes.reading(whole, mixed)
            grid = WatchedGrid(
                GridMath(numbers), codes.ranges_at(place, sizes), read, scalars, codes=codes, place=place,
                kinks=kinks, sites=sites, whole=whole, mixed=mixed, fixed=fixed_places(spec),
            )  # fmt: skip
            tensors[equation.tensor] = grid.evaluate(equation.right, equation.indices)
            try:
                if grid.is_whole(equation.right):
                    whole.add(equation.tensor)
            except Unsupported:
                mixed.add(equation.tensor)
    finite = [np.isfinite(tensors[name]).reshape(count, -1).all(axis=1) for name in spec.outputs]
    return list(zip(kinks, np.logical_and.reduce(finite).tolist(), strict=True))


def _needed(spec: model.Spec) -> list[model.Equation]:
    """The equations that the outputs depend on, in order; found once for a spec."""
    known: list[model.Equation] | None = spec.__dict__.get("needed_equations")
    if known is None:
        wanted = set(spec.outputs)
        for equation in reversed(spec.equations):
            if equation.tensor in wanted:
                wanted |= {n.tensor for n in equation.right.walk() if isinstance(n, syntax.Access)}
                wanted |= {n.id for n in equation.right.walk() if isinstance(n, syntax.Name)}
        known = spec.__dict__["needed_equations"] = [e for e in spec.equations if e.tensor in wanted]
    return known
