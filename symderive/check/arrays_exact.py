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

from symderive.check.arrays_entries import Array
from symderive.check.arrays_matrices import MatrixArrays
from symderive.check.numbers import Domain, Value
from symderive.check.objects import from_list, integer, objects
from symderive.spec.functions import FUNCTIONS

_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "power", "//": "floordiv", "%": "modulo"}
_REDUCERS = {"sum": "total", "mean": "mean", "prod": "product", "amax": "largest", "amin": "smallest"}


class ExactArrays(MatrixArrays):
    """The backend over a domain."""

    name = "exact"

    def __init__(self, domain: Domain) -> None:
        super().__init__(domain)
        self.pi, self.inf = domain.pi, domain.inf
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

    def arange(self, start: Any, end: Any = None) -> Array:
        """The integers from 0, or from a start, up to an end that is not among them."""
        ends = (start,) if end is None else (start, end)
        return np.arange(*map(integer, ends)).astype(object)

    def one_hot(self, t: Array, num_classes: Any) -> Array:
        """1 at the class id, 0 elsewhere, along a new last axis."""
        t = objects(t)
        ids = from_list([integer(v) for v in t.flat], t.shape)
        return (ids[..., None] == np.arange(integer(num_classes))).astype(int).astype(object)

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
        "arange": b.arange,
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
