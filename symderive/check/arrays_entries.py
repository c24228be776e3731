"""Arrays whose entries are numbers of a domain: what is done entry by entry, and along axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symderive.check.closures import Compiler
from symderive.check.numbers import Domain, Value
from symderive.check.objects import from_list, integer, objects, shape_text
from symderive.errors import NOWHERE

Array = Any
_AXIS = ("dim", "axis", "dims")
_KEEP = ("keepdim", "keepdims")


class EntryArrays:
    """Element-wise operations, broadcast as NumPy does, and reductions over the numbers of a domain."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self._compiler = Compiler(domain, None, {})  # type: ignore[arg-type]

    def each(self, function: Callable[..., Value], *arrays: Array) -> Array:
        """``function`` of the entries of arrays that are broadcast together."""
        try:
            with np.errstate(all="ignore"):  # NumPy looks at the flags that plain Python floats leave behind
                return np.frompyfunc(function, len(arrays), 1)(*arrays)
        except ValueError:
            self.fit(*arrays)
            raise

    def fit(self, *arrays: Array) -> tuple[int, ...]:
        """The shape that arrays broadcast to. Raises where they do not."""
        shapes = [np.shape(a) for a in arrays]
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            text = " and ".join(shape_text(s) for s in shapes)
            raise ValueError(f"the shapes {text} do not fit") from None

    def elementwise(self, name: str) -> Callable[..., Array]:
        """An element-wise function of the language."""

        def call(*arguments: Array) -> Array:
            return self.each(self._compiler.function(name, len(arguments), NOWHERE), *arguments)

        return call

    def where(self, condition: Array, a: Array, b: Array) -> Array:
        """The branch taken, entry by entry."""
        truth = self.domain.truth
        return self.each(lambda c, x, y: x if truth(c) else y, condition, a, b)

    def clamp(self, x: Array, low: Array = None, high: Array = None, **limits: Array) -> Array:
        """``clamp(x, lo, hi)``; as a method also with ``min=`` and ``max=``."""
        low, high = limits.pop("min", low), limits.pop("max", high)
        self.no_more(limits)
        x = x if low is None else self.each(self.domain.maximum, x, low)
        return x if high is None else self.each(self.domain.minimum, x, high)

    def axes(self, a: np.ndarray, dims: Sequence[Any], keywords: dict[str, Any]) -> tuple[tuple[int, ...], bool]:
        """The axes that are reduced, counted from 0, and whether they stay with extent 1."""
        keep = next((keywords.pop(k) for k in _KEEP if k in keywords), False)
        named = [keywords.pop(k) for k in _AXIS if k in keywords]
        self.no_more(keywords)
        given = list(dims) + named
        if given and isinstance(given[-1], bool):
            keep = given.pop()
        flat = [integer(d) for item in given for d in (item if isinstance(item, tuple) else (item,))]
        if not given or given == [None]:
            flat = list(range(a.ndim))
        return tuple(self.axis(a, d) for d in flat), bool(keep)

    def axis(self, a: np.ndarray, dim: int) -> int:
        """An axis counted from 0. Raises where the array has no such axis."""
        if not -a.ndim <= dim < a.ndim:
            raise ValueError(f"axis {dim} of an array of shape {shape_text(a.shape)}")
        return dim % a.ndim

    def no_more(self, keywords: dict[str, Any]) -> None:
        """Raise if a keyword argument is left over."""
        if keywords:
            raise TypeError(f"{next(iter(keywords))}= is not a keyword argument here")

    def reduction(self, reduce: Callable[[list[Value]], Value]) -> Callable[..., Array]:
        """A reduction as a function of an array, ``dims`` and ``keepdim``."""

        def call(a: Array, *dims: Any, **keywords: Any) -> Array:
            a = objects(a)
            axes, keep = self.axes(a, dims, keywords)
            rest = [x for x in range(a.ndim) if x not in axes]
            moved = a.transpose(*rest, *axes) if a.ndim else a
            shape = moved.shape[: len(rest)]
            rows = moved.reshape(math.prod(shape), -1) if moved.size else moved.reshape(math.prod(shape), 0)
            result = from_list([reduce(list(row)) for row in rows], shape)
            kept = tuple(1 if x in axes else n for x, n in enumerate(a.shape))
            return result.reshape(kept) if keep else result

        return call

    def along(self, function: Callable[[list[Value]], list[Value]]) -> Callable[..., Array]:
        """A function of rows along one axis that keeps their length, ``softmax`` say."""

        def call(a: Array, *dims: Any, **keywords: Any) -> Array:
            a = objects(a)
            axes, _ = self.axes(a, dims, keywords)
            if len(axes) != 1:
                raise ValueError("one axis must be given")
            moved = np.moveaxis(a, axes[0], -1)
            rows = [v for row in moved.reshape(-1, moved.shape[-1]) for v in function(list(row))]
            return np.moveaxis(from_list(rows, moved.shape), -1, axes[0])

        return call

    def softmax_row(self, row: list[Value]) -> list[Value]:
        """The softmax of a row."""
        normalise = self.domain.softmax(row)
        return [normalise(v) for v in row]

    def log_softmax_row(self, row: list[Value]) -> list[Value]:
        """The log-softmax of a row."""
        normalise = self.domain.log_softmax(row)
        return [normalise(v) for v in row]

    def cumulate(self, row: list[Value]) -> list[Value]:
        """Running sums."""
        return [self.domain.total(row[: n + 1]) for n in range(len(row))]
