"""The forward of a spec at one point, recorded so that it can be differentiated: by whole arrays, or by entries.

Both know the forward only, and give the same numbers. By arrays is much faster; by entries can do everything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from symderive.check.grid import Grid
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
    """Every entry a number of a tape over ``base``."""

    def __init__(self, setting: Setting) -> None:
        self.base = setting.base
        self.tape = Tape(self.base)
        leaves = {n: self._leaf(a) if n in setting.real else objects(a) for n, a in setting.inputs.items()}
        evaluator = Evaluator(setting.equations, leaves, setting.sizes, self.tape, setting.constants)
        self.nodes = leaves | evaluator.tensors()

    def _leaf(self, a: np.ndarray) -> np.ndarray:
        lift = self.base.leaf if isinstance(self.base, Tape) else (lambda v: v)
        return from_list([self.tape.leaf(lift(v)) for v in objects(a).flat], a.shape)

    def values(self) -> dict[str, np.ndarray]:
        """Every tensor."""
        return {n: from_list([self.tape.lower(v) for v in a.flat], a.shape) for n, a in self.nodes.items()}

    def sweep(self, seeds: Seeds, cut: Cut | None = None) -> Callable[[str], np.ndarray]:
        """The derivatives of the tensors of ``seeds``, contracted with those, by any tensor."""
        pairs = [p for n, w in seeds.items() for p in zip(self.nodes[n].flat, objects(w).flat, strict=True)]
        adjoints: Adjoints = self.tape.reverse(pairs, cut)
        return lambda n: from_list([adjoints[v] for v in self.nodes[n].flat], self.nodes[n].shape)


class ByArrays:
    """Every tensor a recorded array. Raises one of ``FAULTS`` where that cannot be."""

    def __init__(self, setting: Setting) -> None:
        if isinstance(setting.base, Tape):
            raise Unsupported
        self.sizes = setting.sizes
        self.sheet = Sheet(numbers_over(setting.base))
        self.scalars: dict[str, Fraction | int] = {**setting.constants} | {
            n: v for n, v in self.sizes.items() if isinstance(v, int)
        }
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.nodes: dict[str, Any] = {}
        self.batch = batch_extents(self.sizes)
        for name, a in setting.inputs.items():
            array = self.sheet.numbers.array(a)
            self.shapes[name] = array.shape
            self.nodes[name] = Leaf(array) if name in setting.real else array
        with np.errstate(all="ignore"):
            for equation in setting.equations:
                self._define(equation)

    def _define(self, equation: model.Equation) -> None:
        ranges = {i: extent_of(r, self.sizes) for i, r in equation.ranges.items()}
        ordered = {i: ranges[i] for i in equation.indices} | ranges
        value = Grid(self.sheet, ordered, self._read, self.scalars).evaluate(equation.right, equation.indices)
        shape = self.sheet.plain(value).shape
        self.shapes[equation.tensor] = self.batch + shape[1:] if equation.indices[:1] == (syntax.BATCH,) else shape
        self.nodes[equation.tensor] = self.sheet.define(value)

    def _read(self, name: str, rank: int) -> Any:
        """A tensor at so many indices; batch axes count as one."""
        node = self.nodes[name]
        shape = self.sheet.plain(node).shape
        if len(shape) != rank:
            count = len(self.batch)
            shape = (math.prod(shape[:count]), *shape[count:])
            node = self.sheet.reshaped(node, shape)
        if len(shape) != rank:
            raise Unsupported
        return node

    def values(self) -> dict[str, np.ndarray]:
        """Every tensor."""
        return {n: self.sheet.plain(a).reshape(self.shapes[n]) for n, a in self.nodes.items()}

    def sweep(self, seeds: Seeds, cut: Cut | None = None) -> Callable[[str], np.ndarray]:
        """The derivatives of the tensors of ``seeds``, contracted with those, by any tensor."""
        numbers = self.sheet.numbers
        with np.errstate(all="ignore"):
            pairs = [(self.nodes[n], numbers.array(w).reshape(self.nodes[n].value.shape)) for n, w in seeds.items()]
            adjoints = self.sheet.reverse(pairs, cut)

        def gradient(name: str) -> np.ndarray:
            shape = self.shapes[name]
            adjoint = adjoints.get(self.nodes[name]) if isinstance(self.nodes[name], Leaf) else None
            return numbers.array(np.zeros(shape, dtype=int)) if adjoint is None else adjoint.reshape(shape)

        return gradient


class Record:
    """The forward by arrays where that can be, by entries where it cannot."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.way: ByArrays | ByEntries
        try:
            self.way = ByArrays(setting)
        except FAULTS:
            self.way = ByEntries(setting)

    def values(self) -> dict[str, np.ndarray]:
        """Every tensor in the numbers of the base."""
        return self.way.values()

    def sweep(self, seeds: Seeds, cut: Cut | None = None) -> Callable[[str], np.ndarray]:
        """The derivatives of the tensors of ``seeds``, contracted with those, by any tensor.

        Nothing flows back beyond what ``cut`` holds for.
        """
        try:
            return self.way.sweep(seeds, cut)
        except FAULTS:
            if isinstance(self.way, ByEntries):
                raise
            self.way = ByEntries(self.setting)
            return self.way.sweep(seeds, cut)
