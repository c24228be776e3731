"""The forward of a spec at one point, recorded so that it can be differentiated: by whole arrays, or by entries.

Both know the forward only, and give the same numbers. By arrays is much faster; by entries can do everything. A tensor
is computed when it is first asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from symderive.check.grid import Grid
from symderive.check.grid_math import GridMath
from symderive.check.grid_numbers import Unsupported, numbers_over
from symderive.check.numbers import Domain
from symderive.check.objects import from_list, objects
from symderive.check.oracle import Evaluator, batch_extents, extent_of
from symderive.claims.sheet import Leaf, Sheet
from symderive.claims.tape import Adjoints, Tape
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
        adjoints: Adjoints = self.tape.reverse(pairs, cut)
        return lambda n: from_list([adjoints[v] for v in self._node(n).flat], self._node(n).shape)

    def derivatives(self, numerator: str, denominator: str) -> np.ndarray:
        """The derivatives of each entry of a tensor by each entry of another, one after the other."""
        shape = self._node(numerator).shape
        seeds = np.eye(math.prod(shape), dtype=int).astype(object).reshape(-1, *shape)
        rows = [v for seed in seeds for v in self.sweep({numerator: seed})(denominator).flat]
        return from_list(rows, shape + self._node(denominator).shape)


class ByArrays:
    """Every tensor an array, or a recorded one. Raises one of ``FAULTS`` where that cannot be."""

    def __init__(self, setting: Setting, recorded: bool = True) -> None:
        if isinstance(setting.base, Tape):
            raise Unsupported
        self.sizes = setting.sizes
        self.sheet = Sheet(numbers_over(setting.base))
        self.math: GridMath = self.sheet if recorded else GridMath(self.sheet.numbers)
        self.scalars: dict[str, Fraction | int] = {**setting.constants} | {
            n: v for n, v in self.sizes.items() if isinstance(v, int)
        }
        self.equations = {e.tensor: e for e in setting.equations}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.nodes: dict[str, Any] = {}
        self.batch = batch_extents(self.sizes)
        for name, a in setting.inputs.items():
            array = self.sheet.numbers.array(a)
            self.shapes[name] = array.shape
            self.nodes[name] = Leaf(array) if recorded and name in setting.real else array

    def _node(self, name: str) -> Any:
        """A tensor, with its batch axes as one."""
        if name not in self.nodes:
            self.nodes[name] = self._defined(self.equations[name])
        return self.nodes[name]

    def _defined(self, equation: model.Equation) -> Any:
        ranges = {i: extent_of(r, self.sizes) for i, r in equation.ranges.items()}
        ordered = {i: ranges[i] for i in equation.indices} | ranges
        with np.errstate(all="ignore"):
            value = Grid(self.math, ordered, self._read, self.scalars).evaluate(equation.right, equation.indices)
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

    def sweep(self, seeds: Seeds, cut: Cut | None = None) -> Callable[[str], np.ndarray]:
        """The derivatives of the tensors of ``seeds``, contracted with those, by any tensor."""
        numbers = self.sheet.numbers
        pairs = []
        front: tuple[int, ...] = ()
        for name, weight in seeds.items():
            node, w = self._node(name), numbers.array(weight)
            front = w.shape[: w.ndim - len(self.shapes[name])]
            pairs.append((node, w.reshape(front + node.value.shape)))
        adjoints = self.sheet.reverse(pairs, cut)

        def gradient(name: str) -> np.ndarray:
            node = self._node(name)
            with np.errstate(all="ignore"):
                adjoint = adjoints[node] if isinstance(node, Leaf) else None
            shape = front + self.shapes[name]
            return numbers.array(np.zeros(shape, dtype=int)) if adjoint is None else adjoint.reshape(shape)

        return gradient

    def derivatives(self, numerator: str, denominator: str) -> np.ndarray:
        """The derivatives of each entry of a tensor by each entry of another, of many at once."""
        shape = self.value(numerator).shape
        seeds = np.eye(math.prod(shape), dtype=int).reshape(-1, *shape)
        largest = max(np.size(self.math.plain(node)) for node in self.nodes.values())
        count = max(MOST_AT_ONCE // max(largest, 1), 1)
        parts = [self.sweep({numerator: seeds[n : n + count]})(denominator) for n in range(0, len(seeds), count)]
        return np.concatenate(parts).reshape(*shape, *self.shapes[denominator])


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

    def _either(self, ask: Callable[[], np.ndarray]) -> np.ndarray:
        try:
            return ask()
        except FAULTS:
            if isinstance(self.way, ByEntries):
                raise
        self.way = ByEntries(self.setting, self.recorded)
        return ask()
