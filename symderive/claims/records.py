"""The forward of a spec at one point, recorded so that it can be differentiated: by whole arrays, or by entries.

Both know the forward only, and give the same numbers. By arrays is much faster; by entries can do everything. A tensor
is computed when it is first asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from symderive.check.grid import Grid
from symderive.check.grid_code import BOOK
from symderive.check.grid_math import GridMath
from symderive.check.grid_numbers import Unsupported, numbers_over
from symderive.check.numbers import Domain
from symderive.check.objects import from_list, objects
from symderive.check.oracle import Evaluator, batch_extents
from symderive.check.stacked import AXIS
from symderive.claims.adjoints import Adjoints, Leaf
from symderive.claims.compare import all_finite
from symderive.claims.sheet import Sheet
from symderive.claims.tape import Tape
from symderive.spec import model, syntax

Sizes = Mapping[str, "int | tuple[int, ...]"]
Seeds = Mapping[str, np.ndarray]
Cut = Callable[[Any], bool]

FAULTS = (Unsupported, ArithmeticError, LookupError, TypeError, ValueError, MemoryError)
"""What makes one go entry by entry: there it does not happen, or is said with its place."""


@dataclass(frozen=True, eq=False)
class Setting:
    """A forward at one point: the ``real`` inputs are differentiated by, in the numbers of ``base``."""

    equations: Sequence[model.Equation]
    inputs: Mapping[str, np.ndarray]
    real: set[str]
    sizes: Sizes
    base: Domain
    constants: Mapping[str, Fraction]


class ByEntries:
    """Every entry a number of a tape over ``base``, or a plain one where nothing is ``recorded``."""

    def __init__(self, setting: Setting, recorded: bool = True) -> None:
        self.base = setting.base
        self.tape = Tape(self.base) if recorded else None
        leaves = {n: self._leaf(a) if n in setting.real else objects(a) for n, a in setting.inputs.items()}
        domain = self.tape or self.base
        self.evaluator = Evaluator(setting.equations, leaves, setting.sizes, domain, setting.constants)
        self.nodes: dict[str, np.ndarray] = {}

    def _node(self, name: str) -> np.ndarray:
        if name not in self.nodes:
            self.nodes[name] = self.evaluator.tensor(name)
        return self.nodes[name]

    def _leaf(self, a: np.ndarray) -> np.ndarray:
        if self.tape is None:
            return objects(a)
        lift = self.base.leaf if isinstance(self.base, Tape) else (lambda v: v)
        return from_list([self.tape.leaf(lift(v)) for v in objects(a).flat], a.shape)

    def value(self, name: str) -> np.ndarray:
        """A tensor."""
        a = self._node(name)
        return a if self.tape is None else from_list([self.tape.lower(v) for v in a.flat], a.shape)

    def sweep(self, seeds: Seeds, cut: Cut | None = None) -> Callable[[str], np.ndarray]:
        """The derivatives of the tensors of ``seeds``, contracted with those, by any tensor."""
        assert self.tape is not None
        pairs = [p for n, w in seeds.items() for p in zip(self._node(n).flat, objects(w).flat, strict=True)]
        adjoints = self.tape.reverse(pairs, cut)
        return lambda n: from_list([adjoints[v] for v in self._node(n).flat], self._node(n).shape)

    def derivatives(self, numerator: str, denominator: str) -> np.ndarray:
        """The derivatives of each entry of a tensor by each entry of another, one after the other."""
        shape = self._node(numerator).shape
        seeds = np.eye(math.prod(shape), dtype=int).astype(object).reshape(-1, *shape)
        rows = [v for seed in seeds for v in self.sweep({numerator: seed})(denominator).flat]
        return from_list(rows, shape + self._node(denominator).shape)


class ByArrays:
    """Every tensor an array, or a recorded one: ``recorded`` twice, its gradients can be differentiated.

    Raises one of ``FAULTS`` where that cannot be.
    """

    def __init__(self, setting: Setting, recorded: int = 1) -> None:
        if isinstance(setting.base, Tape):
            raise Unsupported
        self.sizes = setting.sizes
        self.math = GridMath(numbers_over(setting.base))
        for _ in range(recorded):
            self.math = Sheet(self.math)
        self.scalars: dict[str, Fraction | int] = {**setting.constants} | {
            n: v for n, v in self.sizes.items() if isinstance(v, int)
        }
        self.equations = {e.tensor: e for e in setting.equations}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.nodes: dict[str, Any] = {}
        self.batch = batch_extents(self.sizes)
        self.kind = Grid, type(self.math), setting.base.name
        self.place = BOOK.place(self.sizes, setting.constants)
        for name, a in setting.inputs.items():
            array = self.math.numbers.array(a)
            self.shapes[name] = array.shape
            self.nodes[name] = self.sheet.leaf(array) if recorded and name in setting.real else array

    @property
    def sheet(self) -> Sheet:
        """What records."""
        assert isinstance(self.math, Sheet)
        return self.math

    def _node(self, name: str) -> Any:
        """A tensor, with its batch axes as one."""
        if name not in self.nodes:
            self.nodes[name] = self._defined(self.equations[name])
        return self.nodes[name]

    def _defined(self, equation: model.Equation) -> Any:
        codes = BOOK.of(equation, self.kind)
        ranges = codes.ranges_at(self.place, self.sizes)
        grid = Grid(self.math, ranges, self._read, self.scalars, codes=codes, place=self.place)
        with np.errstate(all="ignore"):
            value = grid.evaluate(equation.right, equation.indices)
        shape = self.math.plain(value).shape
        self.shapes[equation.tensor] = self.batch + shape[1:] if equation.indices[:1] == (syntax.BATCH,) else shape
        return self.math.define(value)

    def _read(self, name: str, rank: int) -> Any:
        """A tensor at so many indices; batch axes count as one."""
        node = self._node(name)
        shape = self.math.plain(node).shape
        if len(shape) != rank:
            count = len(self.batch)
            shape = (math.prod(shape[:count]), *shape[count:])
            node = self.math.reshaped(node, shape)
        if len(shape) != rank:
            raise Unsupported
        return node

    def value(self, name: str) -> np.ndarray:
        """A tensor."""
        return self.math.plain(self._node(name)).reshape(self.shapes[name])

    def _adjoints(self, seeds: Seeds, cut: Cut | None = None) -> Adjoints:
        """What flows back from the tensors of ``seeds``."""
        nodes = {name: self._node(name) for name in seeds}
        arrays = {name: self.math.numbers.array(weight) for name, weight in seeds.items()}
        return self.sheet.reverse([(nodes[n], w.reshape(self.math.shape(nodes[n]))) for n, w in arrays.items()], cut)

    def sweep(self, seeds: Seeds, cut: Cut | None = None) -> Callable[[str], np.ndarray]:
        """The derivatives of the tensors of ``seeds``, contracted with those, by any tensor."""
        adjoints = self._adjoints(seeds, cut)

        def gradient(name: str) -> np.ndarray:
            node = self._node(name)
            with np.errstate(all="ignore"):
                adjoint = adjoints[node] if isinstance(node, Leaf) else None
            shape = self.shapes[name]
            if adjoint is None:
                return self.math.numbers.array(np.zeros(shape, dtype=int))
            return self.sheet.below.plain(adjoint).reshape(shape)

        return gradient

    def derivatives(self, numerator: str, denominator: str) -> np.ndarray:
        """The derivatives of each entry of a tensor by each entry of another, of many at once; at each point."""
        rows = self._rows(self.sheet, self._node(numerator), self._node(denominator))
        return self._by_point(rows, numerator, denominator)

    @property
    def _points(self) -> int:
        """How many axes of points there are at the front of all tensors."""
        return int(AXIS in self.sizes)

    def _by_point(self, rows: np.ndarray, numerator: str, denominator: str) -> np.ndarray:
        """Rows of derivatives in the shapes of two tensors, the axis of points, of which each has one, at the front."""
        first, last = self.shapes[numerator], self.shapes[denominator]
        if not self._points:
            return rows.reshape(first + last)
        return np.moveaxis(rows.reshape((*first[1:], *last)), len(first) - 1, 0)

    def second(self, seeds: Seeds, numerator: str, denominator: str) -> np.ndarray:
        """The derivatives of each entry of a tensor's gradient, as of ``sweep``, by each entry of a tensor.

        Raises :class:`Unsupported` where one is not finite: entry by entry it may be.
        """
        below = self.sheet.below
        assert isinstance(below, Sheet)
        with np.errstate(all="ignore"):
            gradient = self._adjoints(seeds)[self._node(numerator)]
            by = self.sheet.lower(self._node(denominator))
            if gradient is None:
                shape = self.shapes[numerator] + self.shapes[denominator][self._points :]
                return self.math.numbers.array(np.zeros(shape, dtype=int))
            rows = self._rows(below, gradient, by)
        if not all_finite(rows):
            raise Unsupported
        return self._by_point(rows, numerator, denominator)

    def _rows(self, sheet: Sheet, a: Any, by: Any) -> np.ndarray:
        """The derivatives of each entry of an array by each of another, both recorded on a sheet, a row for each."""
        numbers, shape, last = sheet.numbers, sheet.shape(a), sheet.shape(by)
        entries = np.eye(math.prod(shape[self._points :]), dtype=int)
        one = entries.reshape((-1, *(1,) * self._points, *shape[self._points :]))
        seeds = np.broadcast_to(one, (len(one), *shape))  # points have nothing to do with one another
        largest = max(map(math.prod, map(self.math.shape, self.nodes.values())))
        count = max(MOST_AT_ONCE // max(largest, 1), 1)
        parts = []
        for n in range(0, len(seeds), count):
            some = numbers.array(seeds[n : n + count])
            with np.errstate(all="ignore"):
                found = sheet.reverse([(a, some)])[by] if sheet.owns(by) else None
            parts.append(np.zeros((len(some), *last), dtype=int) if found is None else sheet.below.plain(found))
        return numbers.array(np.concatenate(parts))


MOST_AT_ONCE = 50_000
"""Numbers of the adjoints of one array."""


class Record:
    """The forward by arrays where that can be, by entries where it cannot; ``recorded`` where it is differentiated."""

    def __init__(self, setting: Setting, recorded: bool = True) -> None:
        self.setting = setting
        self.recorded = recorded
        self.way: ByArrays | ByEntries
        try:
            self.way = ByArrays(setting, recorded)
        except FAULTS:
            self.way = ByEntries(setting, recorded)

    def value(self, name: str) -> np.ndarray:
        """A tensor in the numbers of the base."""
        return self._either(lambda: self.way.value(name))

    def sweep(self, seeds: Seeds, cut: Cut | None = None) -> Callable[[str], np.ndarray]:
        """The derivatives of the tensors of ``seeds``, contracted with those, by any tensor.

        Nothing flows back beyond what ``cut`` holds for.
        """
        made: dict[Any, Callable[[str], np.ndarray]] = {}  # by arrays, and where one cannot, by entries

        def gradient(name: str) -> np.ndarray:
            if self.way not in made:
                made[self.way] = self.way.sweep(seeds, cut)
            return made[self.way](name)

        return lambda name: self._either(lambda: gradient(name))

    def derivatives(self, numerator: str, denominator: str) -> np.ndarray:
        """The derivatives of each entry of a tensor by each entry of another, whose axes come last."""
        return self._either(lambda: self.way.derivatives(numerator, denominator))

    @cached_property
    def twice(self) -> ByArrays | None:
        """The same by arrays, so that gradients can be differentiated; None where that cannot be."""
        try:
            return ByArrays(self.setting, 2)
        except FAULTS:
            return None

    def second(self, seeds: Seeds, numerator: str, denominator: str) -> np.ndarray | None:
        """The derivatives of each entry of a tensor's gradient by each of a tensor; None where only entries know."""
        try:
            return None if self.twice is None else self.twice.second(seeds, numerator, denominator)
        except FAULTS:
            return None

    def _either(self, ask: Callable[[], np.ndarray]) -> np.ndarray:
        try:
            return ask()
        except FAULTS:
            if isinstance(self.way, ByEntries):
                raise
        self.way = ByEntries(self.setting, self.recorded)
        return ask()
