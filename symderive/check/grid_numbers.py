"""Arithmetic of whole arrays in the numbers of a domain: NumPy's own for float64, entry by entry for exact numbers.

The same operations, on the same numbers, as those of a :class:`~symderive.check.numbers.Domain`; only their operands
are arrays that broadcast. In float64 everything is a float, integers and truth values too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from symderive.check.contraction import Fold, contracted, scattered, summed
from symderive.check.floats import FLOAT
from symderive.check.numbers import MATRIX_METHODS, Domain
from symderive.spec.functions import MATRIX

Array = Any


class Unsupported(Exception):
    """What is not computed over whole arrays: whoever asks goes entry by entry instead."""


class GridNumbers:
    """The operations of a domain on arrays."""

    add: Callable[[Array, Array], Array]
    sub: Callable[[Array, Array], Array]
    mul: Callable[[Array, Array], Array]
    div: Callable[[Array, Array], Array]
    power: Callable[[Array, Array], Array]
    floordiv: Callable[[Array, Array], Array]
    modulo: Callable[[Array, Array], Array]
    neg: Callable[[Array], Array]
    functions: Mapping[str, Callable[..., Array]]
    dtype: Any

    def __init__(self, base: Domain) -> None:
        self.base = base
        self.pi = base.pi
        self.inf = base.inf

    def number(self, value: Fraction | int) -> Any:
        """A number of the domain."""
        raise NotImplementedError

    def array(self, values: Array) -> np.ndarray:
        """An array of plain numbers, truth values or integers as one of this domain."""
        raise NotImplementedError

    def has(self, name: str) -> bool:
        """Whether an element-wise function has code of its own here."""
        return name in self.functions

    def compare(self, op: str, a: Array, b: Array) -> np.ndarray:
        """A comparison, as truth values."""
        raise NotImplementedError

    def is_nan(self, a: Array) -> np.ndarray:
        """Where an array is NaN."""
        return np.asarray(a != a, dtype=bool)  # noqa: PLR0124

    def truth(self, a: Array) -> np.ndarray:
        """An array as conditions."""
        return np.asarray(a != 0, dtype=bool)

    def where(self, condition: np.ndarray, a: Array, b: Array) -> Array:
        """The branch taken, entry by entry."""
        return np.where(condition, a, b)

    def flow(self, adjoint: Array, partial: Array) -> Array:
        """``adjoint * partial``; what is exactly 0 does not flow, not even into NaN."""
        raise NotImplementedError

    def sum_over(self, a: np.ndarray, axes: Sequence[int]) -> np.ndarray:
        """The sum over axes, which stay with extent 1."""
        raise NotImplementedError

    def product(self, factors: Sequence[Array], shape: Sequence[int]) -> np.ndarray:
        """The product of arrays that broadcast to a shape."""
        found, wanted = reduce(self.mul, factors), tuple(shape)
        return found if found.shape == wanted else np.broadcast_to(found, wanted)

    def contract(self, factors: Sequence[Array], shape: Sequence[int], axes: Sequence[int]) -> np.ndarray:
        """The sum over axes, which stay with extent 1, of a product of arrays that broadcast to a shape."""
        return self.sum_over(self.product(factors, shape), axes)

    def scatter_product(
        self, factors: Sequence[Array], full: Sequence[int], at: tuple[np.ndarray, ...], shape: Sequence[int]
    ) -> np.ndarray:
        """Zeros of a shape, to which a product of arrays that broadcast to ``full`` is added at indices."""
        into = self.array(np.zeros(tuple(shape), dtype=int))
        self.add_at(into, at, self.product(factors, full))
        return into

    def flow_through(self, adjoint: Array, others: Sequence[Array], shape: Sequence[int]) -> np.ndarray:
        """An adjoint of a product times the ``others`` of its factors, summed to the shape of the one that it flows to.

        What is exactly 0 does not flow. Of many adjoints, one for each entry of axes at their front, none is summed.
        """
        for factor in reversed(others):
            adjoint = self.flow(adjoint, factor)
        return self.sum_over(adjoint, _narrowed(adjoint.shape, shape))

    def add_at(self, into: np.ndarray, at: tuple[np.ndarray, ...], values: np.ndarray) -> None:
        """Add values to the entries of an array at indices that may repeat."""
        raise NotImplementedError

    def matrix(self, op: str, a: np.ndarray, *right: np.ndarray) -> np.ndarray:
        """A function of each matrix of a stack, with the vectors that go with it, as the domain computes it."""
        function = getattr(self.base, MATRIX_METHODS[op])
        rows = zip(a.tolist(), *(r.tolist() for r in right), strict=True)
        entries = _entries([function(*row) for row in rows])
        shape = (len(a), *(a.shape[1] for _ in MATRIX[op].kept))
        found = np.empty(len(entries), dtype=self.dtype)
        found[:] = entries
        return found.reshape(shape)

    def second_is(self, op: str, a: Array, b: Array) -> np.ndarray:
        """Where ``max(a, b)`` (``op`` is ``>``) or ``min(a, b)`` is the second of the two."""
        return ~self.is_nan(a) & (self.is_nan(b) | self.compare(op, b, a))


def _narrowed(full: Sequence[int], shape: Sequence[int]) -> list[int]:
    """The axes of a shape that one of its last axes has with extent 1."""
    front = len(full) - len(shape)
    return [front + x for x, n in enumerate(shape) if n == 1 and full[front + x] != 1]


def _entries(values: Any) -> list[Any]:
    return [entry for value in values for entry in _entries(value)] if isinstance(values, list) else [values]


class ExactNumbers(GridNumbers):
    """Object arrays whose entries are computed by the domain."""

    dtype = object

    def __init__(self, base: Domain) -> None:
        super().__init__(base)
        for name in ("add", "sub", "mul", "div", "power", "floordiv", "modulo"):
            setattr(self, name, np.frompyfunc(getattr(base, name), 2, 1))
        self.neg = np.frompyfunc(base.neg, 1, 1)
        self.functions = {n: np.frompyfunc(f, 1, 1) for n, f in base.functions.items()}
        self._flow = np.frompyfunc(lambda g, p: base.mul(g, p) if g else 0, 2, 1)
        self._compare = {op: np.frompyfunc(base.compare(op), 2, 1) for op in ("<", "<=", ">", ">=", "==", "!=")}

    def number(self, value: Fraction | int) -> Any:
        """A rational; a whole one is an integer."""
        return int(value) if value == int(value) else value

    def array(self, values: Array) -> np.ndarray:
        """Entries as they are."""
        values = np.asarray(values)
        return values if values.dtype == object else values.astype(object)

    def compare(self, op: str, a: Array, b: Array) -> np.ndarray:
        """Exactly."""
        return np.asarray(self._compare[op](a, b), dtype=bool)

    def flow(self, adjoint: Array, partial: Array) -> Array:
        """``adjoint * partial``, 0 where the first is."""
        return self._flow(adjoint, partial)

    def sum_over(self, a: np.ndarray, axes: Sequence[int]) -> np.ndarray:
        """Row by row."""
        axes = [x for x in axes if a.shape[x] != 1]
        if not axes:
            return a
        kept = [x for x in range(a.ndim) if x not in axes]
        rows = a.transpose(*kept, *axes).reshape(math.prod(a.shape[x] for x in kept), -1)
        result = np.empty(len(rows), dtype=object)
        for number, row in enumerate(rows.tolist()):
            result[number] = self.base.total(row)
        return result.reshape([1 if x in axes else n for x, n in enumerate(a.shape)])

    def contract(self, factors: Sequence[Array], shape: Sequence[int], axes: Sequence[int]) -> np.ndarray:
        """In integers, where all is finite."""
        found = self._contracted(factors, summed(shape, axes))
        return super().contract(factors, shape, axes) if found is None else found

    def flow_through(self, adjoint: Array, others: Sequence[Array], shape: Sequence[int]) -> np.ndarray:
        """In integers, where something is summed and all is finite."""
        full = np.broadcast_shapes(adjoint.shape, *(o.shape for o in others))
        axes = _narrowed(full, shape)
        if axes and (found := self._contracted([adjoint, *others], summed(full, axes))) is not None:
            return found
        return super().flow_through(adjoint, others, shape)

    def scatter_product(
        self, factors: Sequence[Array], full: Sequence[int], at: tuple[np.ndarray, ...], shape: Sequence[int]
    ) -> np.ndarray:
        """In integers, where all is finite."""
        found = self._contracted(factors, scattered(full, at, shape))
        return super().scatter_product(factors, full, at, shape) if found is None else found

    def _contracted(self, factors: Sequence[Array], fold: Fold) -> Any:
        return contracted(self.base, factors, fold)  # type: ignore[arg-type]

    def add_at(self, into: np.ndarray, at: tuple[np.ndarray, ...], values: np.ndarray) -> None:
        """By the domain's own addition."""
        self.add.at(into, at, values)  # type: ignore[attr-defined]


def _floor_divide(a: Array, b: Array) -> Array:
    return np.where(b == 0, math.nan, np.floor_divide(a, b))


def _modulo(a: Array, b: Array) -> Array:
    return np.where(b == 0, math.nan, np.mod(a, b))


_NATIVE: dict[str, Callable[..., Array]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "abs": np.abs,
    "floor": np.floor,
    "round": np.rint,
    "square": np.square,
    "sign": np.sign,
    "log1p": np.log1p,
    "expm1": np.expm1,
}
"""What NumPy computes as the domain does; the rest goes entry by entry."""


def _entrywise(function: Callable[..., float]) -> Callable[..., Array]:
    return lambda *a: np.asarray(np.frompyfunc(function, len(a), 1)(*a), dtype=float)


class FloatNumbers(GridNumbers):
    """float64 arrays. Use it inside of ``np.errstate(all="ignore")``."""

    dtype = float

    def __init__(self, base: Domain = FLOAT) -> None:
        super().__init__(base)
        self.add, self.sub, self.mul, self.div = np.add, np.subtract, np.multiply, np.divide
        self.power, self.neg = np.power, np.negative
        self.floordiv, self.modulo = _floor_divide, _modulo
        self.functions = {n: _NATIVE.get(n) or _entrywise(f) for n, f in base.functions.items()}

    def number(self, value: Fraction | int) -> float:
        """The nearest float."""
        return float(value)

    def array(self, values: Array) -> np.ndarray:
        """All as floats."""
        return np.asarray(values, dtype=float)

    def compare(self, op: str, a: Array, b: Array) -> np.ndarray:
        """NumPy's."""
        return np.asarray(COMPARISONS[op](a, b), dtype=bool)

    def flow(self, adjoint: Array, partial: Array) -> Array:
        """``adjoint * partial``, 0 where the first is."""
        return np.where(adjoint == 0, 0.0, adjoint * partial)

    def sum_over(self, a: np.ndarray, axes: Sequence[int]) -> np.ndarray:
        """NumPy's sum."""
        return np.add.reduce(a, axis=tuple(axes), keepdims=True)

    def add_at(self, into: np.ndarray, at: tuple[np.ndarray, ...], values: np.ndarray) -> None:
        """NumPy's."""
        np.add.at(into, at, values)


COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
_KNOWN: dict[str, GridNumbers] = {}


def numbers_over(base: Domain) -> GridNumbers:
    """The arithmetic of arrays of a domain's numbers, made once."""
    if base.name not in _KNOWN:
        _KNOWN[base.name] = FloatNumbers(base) if base is FLOAT else ExactNumbers(base)
    return _KNOWN[base.name]
