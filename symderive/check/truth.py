"""The index form of a derivation as equations that the oracle evaluates, and what evaluating them costs."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from symderive.algebra.derive import spec_letters
from symderive.algebra.program import Derivation
from symderive.algebra.readable import with_batch_count
from symderive.algebra.unbuild import resolved
from symderive.check.exact import Exact
from symderive.check.floats import FLOAT
from symderive.check.numbers import Domain
from symderive.check.oracle import Evaluator, batch_extents, extent_of, shape_of
from symderive.spec import model, syntax

Sizes = Mapping[str, "int | tuple[int, ...]"]


def index_form(derivation: Derivation) -> tuple[model.Equation, ...]:
    """The forward as it is computed and the backward, as equations of the language."""
    letters = spec_letters(derivation.spec, derivation.forward)
    programs = (derivation.forward, with_batch_count(derivation.backward, letters.taken))
    return tuple(resolved(e, letters) for program in programs for e in program.equations)


@dataclass(frozen=True)
class Entries:
    """Some entries of a tensor: one for each row of ``where``, or all of it, in its shape, where that is None."""

    values: np.ndarray
    where: np.ndarray | None = None

    def of(self, array: np.ndarray) -> np.ndarray:
        """The same entries of another array of the tensor's shape."""
        return array if self.where is None else array[tuple(self.where.T)]


@dataclass(frozen=True)
class Truth:
    """What the index form gives at a point: inputs by name, and upstreams ``d<output>``."""

    spec: model.Spec
    equations: tuple[model.Equation, ...]
    point: Mapping[str, np.ndarray]
    sizes: Sizes
    domain: Domain = FLOAT

    def __post_init__(self) -> None:
        known = (self.domain, self.spec.constants)
        object.__setattr__(self, "_forward", Evaluator(self.spec.equations, self.point, self.sizes, *known))
        object.__setattr__(self, "_backward", Evaluator(self.equations, self.point, self.sizes, *known))

    def _evaluator(self, target: str) -> Evaluator:
        """Tensors of the forward come from the spec as it was written, gradients from what was derived."""
        return self._forward if target in self.spec.shapes else self._backward  # type: ignore[attr-defined]

    def whole(self, target: str) -> np.ndarray:
        """All of an output or of a gradient ``d<input>``."""
        return self._evaluator(target).tensor(target)

    def entries(self, target: str, count: int, rng: np.random.Generator, seconds: float) -> Entries:
        """``count`` random entries, or all where there are no more; fewer where time runs out."""
        evaluator = self._evaluator(target)
        shape = self.shape(target)
        total = math.prod(shape)
        chosen = np.arange(total) if total <= count else rng.choice(total, count, replace=False)
        where = np.stack(np.unravel_index(chosen, shape), -1) if shape else np.zeros((1, 0), int)
        batch = batch_extents(self.sizes) if self._has_batch(target) else None
        values: list[float] = []
        end = time.monotonic() + seconds
        for place in where:
            values.append(float(evaluator.entry(target, _flat(place, batch))))
            if time.monotonic() > end:
                break
        if len(values) == total:
            return Entries(np.array(values).reshape(shape))
        return Entries(np.array(values), where[: len(values)])

    def entry(self, target: str, place: np.ndarray) -> float:
        """One entry, by its place in the tensor's shape."""
        batch = batch_extents(self.sizes) if self._has_batch(target) else None
        return float(self._evaluator(target).entry(target, _flat(place, batch)))

    def shape(self, target: str) -> tuple[int, ...]:
        """The shape of an output or a gradient."""
        name = target if target in self.spec.shapes else target[1:]
        return shape_of(self.spec.shapes[name], self.sizes)

    def _has_batch(self, target: str) -> bool:
        equation = self._evaluator(target).equations[target]
        return syntax.BATCH in equation.indices[:1]

    def cost(self, target: str, count: int) -> float:
        """About how many terms evaluating ``count`` entries takes."""
        return _cost(self._evaluator(target).equations, target, count, self.sizes)


def _flat(place: np.ndarray, batch: tuple[int, ...] | None) -> tuple[int, ...]:
    """A place with its batch axes as one."""
    if batch is None:
        return tuple(int(i) for i in place)
    front = int(np.ravel_multi_index(tuple(place[: len(batch)]), batch)) if batch else 0
    return (front, *(int(i) for i in place[len(batch) :]))


def _cost(equations: Mapping[str, model.Equation], tensor: str, count: int, sizes: Sizes) -> float:
    """Terms of ``count`` entries of a tensor and of what they read, each entry computed once."""
    wanted: dict[str, float] = {tensor: count}
    total = 0.0
    for name in reversed(list(equations)):
        if name not in wanted:
            continue
        equation = equations[name]
        free = math.prod(extent_of(equation.ranges[i], sizes) for i in equation.indices)
        bound = math.prod(extent_of(r, sizes) for i, r in equation.ranges.items() if i not in equation.indices)
        terms = min(wanted[name], free) * bound
        total += terms
        for read in _reads(equation.right):
            if read in equations:
                wanted[read] = wanted.get(read, 0.0) + terms
    return total


def _reads(node: syntax.Node) -> set[str]:
    accesses = {n.tensor for n in node.walk() if isinstance(n, syntax.Access)}
    return accesses | {n.id for n in node.walk() if isinstance(n, syntax.Name)}


def exactly(array: np.ndarray) -> np.ndarray:
    """Floats as the rationals that they are, infinities as they are; integers and truth values stay."""
    if array.dtype.kind != "f":
        return array
    result = np.empty(array.size, dtype=object)
    result[:] = [Fraction(float(v)) if math.isfinite(v) else EXACT.number_of(float(v)) for v in array.flat]
    return result.reshape(array.shape)


class _Exact(Exact):
    """Exact arithmetic that takes infinities as inputs, too."""

    def number_of(self, value: float) -> Any:
        """A float that is no rational."""
        return self.inf if value > 0 else self.neg(self.inf)


EXACT = _Exact(digits=40)


def as_floats(values: np.ndarray | Sequence[Any]) -> np.ndarray:
    """Exact numbers as the nearest floats."""
    array = np.asarray(values, dtype=object)
    return np.array([float(v) for v in array.flat], dtype=np.float64).reshape(array.shape)
