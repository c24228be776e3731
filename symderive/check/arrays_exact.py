"""Array form over NumPy object arrays whose entries are numbers of a domain: exact ones for claims.

Every entry is computed by the domain's own operations, so that rationals stay rational and gradients can be
recorded. Sizes are small here; clarity comes before speed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from symderive.check.closures import Compiler
from symderive.check.numbers import Domain, Value
from symderive.check.objects import aligned, einsum_axes, from_list, integer, objects, shape_text
from symderive.errors import NOWHERE
from symderive.spec.functions import FUNCTIONS

Array = Any
_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "power", "//": "floordiv", "%": "modulo"}
_REDUCERS = {"sum": "total", "mean": "mean", "prod": "product", "amax": "largest", "amin": "smallest"}
_AXIS = ("dim", "axis", "dims")
_KEEP = ("keepdim", "keepdims")


class ExactArrays:
    """The backend over a domain."""

    name = "exact"

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.pi, self.inf = domain.pi, domain.inf
        self._compiler = Compiler(domain, None, {})  # type: ignore[arg-type]
        self._functions: dict[str, Callable[..., Array]] = dict(_functions(self))
        self._methods: dict[str, Callable[..., Array]] = dict(_methods(self))

    # The protocol

    def number(self, value: Fraction | int) -> Value:
        """A number of the domain."""
        return self.domain.number(value)

    def unary(self, op: str, a: Array) -> Array:
        """``-a`` or ``+a``."""
        return a if op == "+" else self.each(self.domain.neg, a)

    def binary(self, op: str, a: Array, b: Array) -> Array:
        """Arithmetic, broadcast, and ``@``."""
        if op == "@":
            return self.matmul(a, b)
        return self.each(getattr(self.domain, _ARITHMETIC[op]), a, b)

    def compare(self, op: str, a: Array, b: Array) -> Array:
        """A comparison, broadcast."""
        return self.each(self.domain.compare(op), a, b)

    def logical(self, op: str, operands: Sequence[Array]) -> Array:
        """``and``, ``or`` and ``not``, entry by entry."""
        truth = self.domain.truth
        if op == "not":
            return self.each(lambda a: not truth(a), operands[0])
        join = all if op == "and" else any
        return self.each(lambda *values: join(truth(v) for v in values), *operands)

    def subscript(self, a: Array, items: tuple[Any, ...]) -> Array:
        """NumPy's indexing; an integer tensor gathers."""
        if isinstance(a, tuple):
            return a[integer(items[0])]
        return objects(a)[tuple(self._item(i) for i in items)]

    def attribute(self, a: Array, name: str) -> Any:
        """``.T``, ``.mT``, ``.shape``, ``.ndim``."""
        a = objects(a)
        if name == "shape":
            return a.shape
        if name == "ndim":
            return a.ndim
        return self.transpose(a) if name == "T" else self.swap(a)

    def function(self, name: str) -> Callable[..., Array]:
        """A function of the language."""
        return self._functions[name]

    def library(self, name: str) -> Callable[..., Array]:
        """There are no library functions in claims."""
        raise KeyError(name)

    def method(self, name: str) -> Callable[..., Array]:
        """A method as a function of its tensor."""
        return self._methods[name]

    def known(self, what: str) -> Iterable[str]:
        """The names on a list."""
        lists = {"function": self._functions, "method": self._methods, "attribute": ("T", "mT", "shape", "ndim")}
        return tuple(lists.get(what, ()))

    # Entry by entry

    def each(self, function: Callable[..., Value], *arrays: Array) -> Array:
        """``function`` of the entries of arrays that are broadcast together."""
        self.fit(*arrays)
        with np.errstate(all="ignore"):  # NumPy looks at the flags that plain Python floats leave behind
            return np.frompyfunc(function, len(arrays), 1)(*arrays)

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

    # Reductions

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

    # Linear algebra

    def total(self, a: Array, axis: int) -> Array:
        """The sum over one axis."""
        return self.reduction(self.domain.total)(a, axis)

    def matmul(self, a: Array, b: Array) -> Array:
        """``a @ b`` as NumPy has it: vectors, matrices, and batches of matrices."""
        a, b = objects(a), objects(b)
        if not a.ndim or not b.ndim:
            raise ValueError("@ needs vectors or matrices; multiply by a scalar with *")
        left, right = (a[None, :] if a.ndim == 1 else a), (b[:, None] if b.ndim == 1 else b)
        if left.shape[-1] != right.shape[-2]:
            raise ValueError(f"the shapes {shape_text(a.shape)} and {shape_text(b.shape)} do not fit")
        result = self.total(self.each(self.domain.mul, left[..., :, :, None], right[..., None, :, :]), -2)
        result = result[..., 0] if b.ndim == 1 else result
        return (result[0] if b.ndim == 1 else result[..., 0, :]) if a.ndim == 1 else result

    def einsum(self, subscripts: str, *arrays: Array) -> Array:
        """``einsum("nk,jk->nj", x, W)``."""
        inputs, output = einsum_axes(subscripts, [np.ndim(a) for a in arrays])
        extents: dict[str, int] = {}
        for letters, a in zip(inputs, arrays, strict=True):
            for letter, n in zip(letters, np.shape(a), strict=True):
                if extents.setdefault(letter, n) != n:
                    raise ValueError(f"index {letter} has the extents {extents[letter]} and {n}")
        order = output + [x for x in extents if x not in output]
        product: Array = self.domain.number(1)
        for letters, a in zip(inputs, arrays, strict=True):
            product = self.each(self.domain.mul, product, aligned(objects(a), letters, order))
        product = np.broadcast_to(objects(product), [extents[x] for x in order])
        bound = tuple(range(len(output), len(order)))
        return self.reduction(self.domain.total)(product, bound) if bound else product

    def outer(self, a: Array, b: Array) -> Array:
        """``a[:, None] * b[None, :]``."""
        a, b = objects(a), objects(b)
        if a.ndim != 1 or b.ndim != 1:
            raise ValueError(f"outer needs two vectors, not {shape_text(a.shape)} and {shape_text(b.shape)}")
        return self.each(self.domain.mul, a[:, None], b[None, :])

    def diag(self, a: Array) -> Array:
        """The diagonal matrix of a vector; the diagonal of a matrix."""
        a = objects(a)
        if a.ndim == 2:
            return np.diagonal(a)
        if a.ndim != 1:
            raise ValueError(f"diag needs a vector or a matrix, not {shape_text(a.shape)}")
        return self.where(np.eye(len(a), dtype=bool), a[:, None], self.domain.number(0))

    def diagonal(self, a: Array, offset: Any = 0, dim1: Any = 0, dim2: Any = 1) -> Array:
        """The diagonal over two axes, by default the first two, as in torch."""
        first, second = (self.axis(objects(a), integer(x)) for x in (dim1, dim2))
        return np.diagonal(objects(a), integer(offset), first, second)

    def trace(self, a: Array) -> Array:
        """The sum of the diagonal of a matrix."""
        a = self.square(a)
        return self.domain.total(list(np.diagonal(a)))

    def square(self, a: Array) -> np.ndarray:
        """The array, which must be a matrix, or a batch of them, with as many rows as columns."""
        a = objects(a)
        if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
            raise ValueError(f"a square matrix is needed, not {shape_text(a.shape)}")
        return a

    def matrix_function(self, function: Callable[[list[list[Value]]], Any]) -> Callable[[Array], Array]:
        """A function of matrices over the last two axes."""

        def call(a: Array) -> Array:
            a = self.square(a)
            batch, n = a.shape[:-2], a.shape[-1]
            results = [function([list(row) for row in m]) for m in a.reshape(-1, n, n)]
            if results and isinstance(results[0], list):
                flat = [v for m in results for row in m for v in row]
                return from_list(flat, a.shape)
            return from_list(results, batch)

        return call

    def solve(self, a: Array, b: Array) -> Array:
        """The x of ``a @ x = b``: a vector, or as many columns as b has."""
        a, b = self.square(a), objects(b)
        n = a.shape[-1]
        right = b[:, None] if b.ndim == 1 else b
        if right.shape[-2] != n:
            raise ValueError(f"{shape_text(a.shape)} and {shape_text(b.shape)} make no system of equations")
        stack = np.broadcast_shapes(a.shape[:-2], right.shape[:-2])
        shape = (*stack, *right.shape[-2:])
        matrices = np.broadcast_to(a, (*stack, n, n)).reshape(-1, n, n)
        columns = np.swapaxes(np.broadcast_to(right, shape), -1, -2).reshape(len(matrices), -1, n)
        found = [
            x
            for m, c in zip(matrices, columns, strict=True)
            for column in c
            for x in self.domain.solve([list(row) for row in m], list(column))
        ]
        solution = np.swapaxes(objects(from_list(found, (*stack, shape[-1], n))), -1, -2)
        return solution[:, 0] if b.ndim == 1 and not stack else solution[..., 0] if b.ndim == 1 else solution

    def transpose(self, a: Array, *axes: Any) -> Array:
        """``.T`` of a matrix, nothing of a vector; with two axes, those swapped."""
        a = objects(a)
        if axes:
            first, second = (self.axis(a, integer(x)) for x in axes)
            return np.swapaxes(a, first, second)
        if a.ndim > 2:
            raise ValueError(f".T is for matrices, not {shape_text(a.shape)}: .mT swaps the last two axes")
        return a.T

    def swap(self, a: Array) -> Array:
        """``.mT``."""
        a = objects(a)
        if a.ndim < 2:
            raise ValueError(".mT needs a matrix")
        return np.swapaxes(a, -1, -2)

    # Making and shaping

    def full(self, value: int) -> Callable[..., Array]:
        """``ones(N)`` or ``zeros(N, M)``."""

        def call(*shape: Any) -> Array:
            extents = [integer(n) for item in shape for n in (item if isinstance(item, tuple) else (item,))]
            return from_list([self.domain.number(value)] * math.prod(extents), extents)

        return call

    def eye(self, n: Any, m: Any = None) -> Array:
        """The identity matrix."""
        return np.eye(integer(n), None if m is None else integer(m), dtype=int).astype(object)

    def one_hot(self, t: Array, classes: Any) -> Array:
        """1 at the class id, 0 elsewhere, along a new last axis."""
        t = objects(t)
        ids = from_list([integer(v) for v in t.flat], t.shape)
        return (ids[..., None] == np.arange(integer(classes))).astype(int).astype(object)

    def reshape(self, a: Array, *shape: Any) -> Array:
        """``.reshape(N, -1)``."""
        return objects(a).reshape([integer(n) for s in shape for n in (s if isinstance(s, tuple) else (s,))])

    def permute(self, a: Array, *axes: Any) -> Array:
        """``.permute(1, 0, 2)``."""
        flat = [integer(n) for s in axes for n in (s if isinstance(s, tuple) else (s,))]
        return objects(a).transpose(flat)

    def expand(self, a: Array, *shape: Any) -> Array:
        """``.expand(N, K)``; -1 keeps an axis."""
        a = objects(a)
        wanted = [integer(n) for s in shape for n in (s if isinstance(s, tuple) else (s,))]
        own = (1,) * (len(wanted) - a.ndim) + a.shape
        return np.broadcast_to(a, [n if w == -1 else w for w, n in zip(wanted, own, strict=True)])

    def triangle(self, keep: Callable[..., np.ndarray]) -> Callable[..., Array]:
        """``tril`` and ``triu``."""

        def call(a: Array, diagonal: Any = 0) -> Array:
            mask = keep(np.ones(objects(a).shape[-2:], dtype=bool), integer(diagonal))
            return self.where(mask, a, self.domain.number(0))

        return call

    def join(self, combine: Callable[..., np.ndarray]) -> Callable[..., Array]:
        """``cat`` and ``stack`` of a list of arrays along an axis."""
        return lambda parts, dim=0: combine([objects(p) for p in parts], axis=integer(dim))

    def pick(self, op: str) -> Callable[..., Array]:
        """``max``/``min``: of two arrays, or of all entries or over axes of one."""
        two = self.domain.maximum if op == "max" else self.domain.minimum
        reduce = self.reduction(self.domain.largest if op == "max" else self.domain.smallest)

        def call(a: Array, *rest: Any, **keywords: Any) -> Array:
            if len(rest) == 1 and not keywords and (np.ndim(a) == 0 or isinstance(rest[0], np.ndarray)):
                return self.each(two, a, rest[0])
            return reduce(a, *rest, **keywords)

        return call

    def two(self, op: str) -> Callable[..., Array]:
        """``max(a, b)`` and ``min(a, b)``."""
        function = self.domain.maximum if op == "max" else self.domain.minimum
        return lambda a, b: self.each(function, a, b)

    def _item(self, item: Any) -> Any:
        if item is None or item is Ellipsis or isinstance(item, slice):
            return item
        if isinstance(item, np.ndarray) and item.ndim:
            kind = bool if all(isinstance(v, bool | np.bool_) for v in item.flat) else int
            return item.astype(kind)
        return integer(item)


def _common(b: ExactArrays) -> dict[str, Callable[..., Array]]:
    """What is a function and a method."""
    d = b.domain
    reductions = {name: b.reduction(getattr(d, of)) for name, of in _REDUCERS.items()}
    return reductions | {name: b.elementwise(name) for name in FUNCTIONS} | {
        "logsumexp": b.reduction(d.logsumexp),
        "any": b.reduction(lambda row: any(d.truth(v) for v in row)),
        "all": b.reduction(lambda row: all(d.truth(v) for v in row)),
        "argmax": b.reduction(lambda row: d.first(row, ">")),
        "argmin": b.reduction(lambda row: d.first(row, "<")),
        "softmax": b.along(b.softmax_row),
        "log_softmax": b.along(b.log_softmax_row),
        "cumsum": b.along(b.cumulate),
        "trace": b.trace,
        "diagonal": b.diagonal,
        "transpose": b.transpose,
        "tril": b.triangle(np.tril),
        "triu": b.triangle(np.triu),
        "inv": b.matrix_function(d.inverse),
        "inverse": b.matrix_function(d.inverse),
        "det": b.matrix_function(d.determinant),
        "logdet": b.matrix_function(d.logdet),
        "cholesky": b.matrix_function(d.cholesky),
        "matmul": b.matmul,
        "dot": b.matmul,
        "outer": b.outer,
        "clamp": b.clamp,
        "reshape": b.reshape,
        "flip": lambda a, *dims, **k: np.flip(objects(a), b.axes(objects(a), dims, k)[0]),
        "roll": lambda a, shift, dim: np.roll(objects(a), integer(shift), integer(dim)),
        "diag": b.diag,
    }  # fmt: skip


def _functions(b: ExactArrays) -> dict[str, Callable[..., Array]]:
    return _common(b) | {
        "where": b.where,
        "max": b.two("max"),
        "min": b.two("min"),
        "stop": lambda x: b.each(b.domain.stop, x),
        "delta": lambda i, j: b.each(lambda p, q: int(b.domain.compare("==")(p, q)), i, j),
        "einsum": b.einsum,
        "solve": b.solve,
        "one_hot": b.one_hot,
        "ones": b.full(1),
        "zeros": b.full(0),
        "eye": b.eye,
        "arange": lambda n: np.arange(integer(n)).astype(object),
        "cat": b.join(np.concatenate),
        "stack": b.join(np.stack),
    }


def _methods(b: ExactArrays) -> dict[str, Callable[..., Array]]:
    return _common(b) | {
        "max": b.pick("max"),
        "min": b.pick("min"),
        "t": b.transpose,
        "view": b.reshape,
        "permute": b.permute,
        "expand": b.expand,
        "flatten": lambda a: b.reshape(a, -1),
        "unsqueeze": lambda a, dim: np.expand_dims(objects(a), integer(dim)),
        "squeeze": lambda a, *dim: np.squeeze(objects(a), tuple(integer(x) for x in dim) or None),
        "pow": lambda a, n: b.binary("**", a, n),
        "neg": lambda a: b.unary("-", a),
        "detach": lambda a: b.each(b.domain.stop, a),
    }


_BACKENDS: dict[Domain, ExactArrays] = {}


def backend(domain: Domain, *, keep: bool) -> ExactArrays:
    """The backend over a domain, made once where it is to be kept."""
    if domain in _BACKENDS:
        return _BACKENDS[domain]
    made = ExactArrays(domain)
    if keep:
        _BACKENDS[domain] = made
    return made
