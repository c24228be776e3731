"""The oracle: equations evaluated entry by entry as the language defines them, sharing no code with the rest.

An :class:`Evaluator` computes single entries of single tensors and what they need, no more, so that a thousand entries
of a large tensor cost a thousand entries. The numbers are those of a domain: float64, or exact.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from sympy import Expr

from symderive.check.closures import Closure, Compiler
from symderive.check.floats import FLOAT, Float
from symderive.check.kinks import Kink, Watch
from symderive.check.numbers import Domain, Value
from symderive.errors import Location, Span, SpecError
from symderive.spec import model, syntax
from symderive.spec.sizes import BATCH_SIZE, size

_DEEP = 20_000
"""Python frames that a chain of equations may need."""


def extent_of(expression: Expr | int, sizes: Mapping[str, int | tuple[int, ...]]) -> int:
    """A size expression as a number; ``...`` is the product of its extents."""
    if isinstance(expression, int):
        return expression
    if expression.is_Symbol and isinstance(known := sizes.get(expression.name), int):  # type: ignore[attr-defined]
        return known
    return _extent_of(expression, tuple(sizes.items()))


@lru_cache(maxsize=4096)
def _extent_of(expression: Expr, sizes: tuple[tuple[str, int | tuple[int, ...]], ...]) -> int:
    values = {size(name): n for name, n in sizes if isinstance(n, int)}
    values[BATCH_SIZE] = math.prod(batch_extents(dict(sizes)))
    return int(expression.xreplace({s: values[s] for s in expression.free_symbols}))


def batch_extents(sizes: Mapping[str, int | tuple[int, ...]]) -> tuple[int, ...]:
    """The extents of the axes that ``...`` stands for."""
    extents = sizes.get(syntax.BATCH, ())
    return (extents,) if isinstance(extents, int) else tuple(extents)


def shape_of(shape: Sequence[Expr | int], sizes: Mapping[str, int | tuple[int, ...]]) -> tuple[int, ...]:
    """The extents of a shape, with ``...`` spelled out."""
    extents: list[int] = []
    for axis in shape:
        extents.extend(batch_extents(sizes) if axis == BATCH_SIZE else (extent_of(axis, sizes),))
    return tuple(extents)


class Evaluator:
    """The tensors that ``equations`` define over ``inputs``, at ``sizes``, in the numbers of ``domain``.

    Inputs are arrays or nested lists of numbers of the domain, integers for class ids; batch axes stand at their front.
    With ``watch`` the evaluator records the kinks that it passes.
    """

    def __init__(  # noqa: PLR0917
        self,
        equations: Sequence[model.Equation],
        inputs: Mapping[str, Any],
        sizes: Mapping[str, int | tuple[int, ...]],
        domain: Domain = FLOAT,
        constants: Mapping[str, Fraction] | None = None,
        watch: bool = False,
    ) -> None:
        self.equations = {e.tensor: e for e in equations}
        self.inputs = {name: _as_array(value) for name, value in inputs.items()}
        self.sizes = dict(sizes)
        self.domain = domain
        self.constants = dict(constants or {})
        self.watch = Watch(domain) if watch else None
        self._extents: dict[str, tuple[int, ...]] = {}
        self._flat: dict[tuple[str, int], Any] = {}
        self._nested: dict[tuple[str, int], Any] = {}
        self._memory: dict[str, dict[tuple[int, ...], Value]] = {}
        self._compiled: dict[str, Callable[[tuple[int, ...]], Value]] = {}
        self._array_hook: Callable[[syntax.Node], Any] | None = None

    @classmethod
    def of(
        cls,
        spec: model.Spec,
        inputs: Mapping[str, Any],
        sizes: Mapping[str, int | tuple[int, ...]],
        domain: Domain = FLOAT,
        watch: bool = False,
    ) -> Evaluator:
        """The evaluator of a spec's forward."""
        return cls(spec.equations, inputs, sizes, domain, spec.constants, watch)

    @property
    def kinks(self) -> list[Kink]:
        """The kinks passed so far, where they are watched."""
        return self.watch.kinks if self.watch else []

    def entry(self, tensor: str, at: tuple[int, ...] = ()) -> Value:
        """One entry of a tensor; ``...`` counts as one axis."""
        with _deep_recursion():
            return self.reader(tensor, len(at), Span(0, 0, 0, 0))(at)

    def tensor(self, name: str) -> np.ndarray:
        """A whole tensor, its batch axes spelled out: float64 in floats, objects in other domains."""
        if name in self.inputs:
            return self.inputs[name]
        extents = self._equation_extents(name)
        values = [self.entry(name, at) for at in itertools.product(*map(range, extents))]
        equation = self.equations[name]
        batch = batch_extents(self.sizes)
        shape = batch + extents[1:] if syntax.BATCH in equation.indices[:1] else extents
        if isinstance(self.domain, Float):
            return np.array([float(v) for v in values]).reshape(shape)
        result = np.empty(len(values), dtype=object)
        result[:] = values
        return result.reshape(shape)

    def tensors(self, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
        """Several tensors, by default all that are defined."""
        return {name: self.tensor(name) for name in (self.equations if names is None else names)}

    def expression(self, node: syntax.Node, ranges: Mapping[str, int], scope: Sequence[str] = ()) -> Closure:
        """An expression compiled over these tensors; its closure takes the values of ``ranges``, in order."""
        return self._compiler(ranges).compile(node, frozenset(scope))

    def define(self, equation: model.Equation) -> None:
        """Add one more equation after the others."""
        self.equations[equation.tensor] = equation

    def forget(self, tensor: str) -> None:
        """Drop what is remembered of an input whose value changes."""
        for memory in (self._flat, self._nested):
            for key in [k for k in memory if k[0] == tensor]:
                del memory[key]

    def arrays_by(self, hook: Callable[[syntax.Node], Any]) -> None:
        """Let ``hook`` compute what stands in array form inside index form."""
        self._array_hook = hook

    # What compiled expressions read

    def reader(self, tensor: str, rank: int, span: Span) -> Callable[[tuple[int, ...]], Value]:
        """A function that gives the entry of ``tensor`` at a tuple of indices."""
        if tensor in self.inputs:
            flat = self._flattened(tensor, rank)
            return flat.item if flat.dtype != object else lambda at: flat[at]
        if tensor not in self.equations:
            raise SpecError(f"there is no tensor {tensor}", Location("", span))
        if tensor not in self._compiled:
            self._compiled[tensor] = self._compile(self.equations[tensor])
        return self._compiled[tensor]

    def extents(self, tensor: str, rank: int) -> tuple[int, ...]:
        """The extents of a tensor, ``...`` flattened to one."""
        if tensor in self.inputs:
            return self._flattened(tensor, rank).shape
        return self._equation_extents(tensor)

    def nested(self, tensor: str, rank: int) -> Any:
        """The entries of an input as nested lists."""
        if tensor not in self.inputs:
            return None
        if (tensor, rank) not in self._nested:
            self._nested[tensor, rank] = self._flattened(tensor, rank).tolist()
        return self._nested[tensor, rank]

    def scalar(self, name: str, span: Span) -> Closure:
        """A scalar tensor, a size or a constant."""
        if name in self.inputs or name in self.equations:
            read = self.reader(name, 0, span)
            return lambda e: read(())
        known = self.constants | {n: v for n, v in self.sizes.items() if isinstance(v, int)}
        if name not in known:
            raise SpecError(f"there is nothing called {name}", Location("", span))
        value = self.domain.number(known[name])
        return lambda e: value

    def array(self, node: syntax.Node, span: Span) -> Any:
        """The value of an expression in array form."""
        if self._array_hook is None:
            raise SpecError("this stands in array form, where index form is needed", Location("", span))
        return self._array_hook(node)

    def _equation_extents(self, tensor: str) -> tuple[int, ...]:
        if tensor not in self._extents:
            equation = self.equations[tensor]
            self._extents[tensor] = tuple(extent_of(equation.ranges[i], self.sizes) for i in equation.indices)
        return self._extents[tensor]

    def _flattened(self, tensor: str, rank: int) -> np.ndarray:
        """An input with its batch axes, however many, as one; only an input with ``...`` has another rank."""
        if (tensor, rank) not in self._flat:
            array = self.inputs[tensor]
            if array.ndim != rank:
                batch = len(batch_extents(self.sizes))
                array = array.reshape(math.prod(array.shape[:batch]), *array.shape[batch:])
            if array.ndim != rank:
                raise SpecError(f"{tensor} has the shape {list(array.shape)}, and is read at {rank} indices")
            self._flat[tensor, rank] = array
        return self._flat[tensor, rank]

    def _compiler(self, ranges: Mapping[str, int]) -> Compiler:
        return Compiler(self.domain, self, ranges, self.watch)

    def _compile(self, equation: model.Equation) -> Callable[[tuple[int, ...]], Value]:
        """The function that computes an entry of the equation's tensor once."""
        ranges = {i: extent_of(r, self.sizes) for i, r in equation.ranges.items()}
        ordered = {i: ranges[i] for i in equation.indices} | ranges
        closure = self._compiler(ordered).compile(equation.right, frozenset(equation.indices))
        rest = [0] * (len(ordered) - len(equation.indices))
        memory = self._memory.setdefault(equation.tensor, {})
        define = self.domain.define

        def read(at: tuple[int, ...]) -> Value:
            value = memory.get(at)
            if value is None:
                value = memory[at] = define(closure([*at, *rest]))
            return value

        return read


def _as_array(value: Any) -> np.ndarray:
    """An array of the entries as they are: rationals stay objects."""
    if isinstance(value, np.ndarray):
        return value
    array = np.array(value, dtype=object)
    kinds = {type(v) for v in array.flat}
    if kinds <= {bool} or kinds <= {int} or kinds <= {float}:
        return np.array(value)
    return array


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Room for long chains of equations; what has more already keeps it."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
