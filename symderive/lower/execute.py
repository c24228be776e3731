"""What a plan means: every operation in NumPy, in float64, written to be obviously right rather than fast."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special
from sympy import Expr, Integer, Symbol, nan, zoo

from symderive.errors import InternalError
from symderive.lower import plan as p
from symderive.lower import sizes
from symderive.lower.shapes import ROWS, Shape, has_batch
from symderive.spec.functions import FUNCTIONS
from symderive.spec.sizes import BATCH_SIZE, size

Array = np.ndarray[Any, Any]


def execute(plan: p.Plan, inputs: Mapping[str, Any], extents: Mapping[str, int] | None = None) -> dict[str, Array]:
    """The value of every input and assignment by its name. ``extents`` gives sizes that no input's shape determines."""
    arrays = {r.name: _as_kind(np.asarray(inputs[r.name]), r.kind) for r in plan.inputs}
    known = sizes.values({r.name: r.shape for r in plan.inputs}, {n: a.shape for n, a in arrays.items()})
    for name, extent in (extents or {}).items():
        known.setdefault(size(name), extent)
    machine = Machine(arrays, known, plan.constants)
    with np.errstate(all="ignore"):
        for assign in plan.assignments:
            arrays[assign.name] = machine.run(assign.value)
    return arrays


_DTYPES = {"real": np.float64, "integer": np.int64, "boolean": np.bool_}


def _as_kind(value: Array, kind: p.Kind) -> Array:
    return value.astype(_DTYPES[kind])


@dataclass
class Machine:
    """Runs expressions over named ``arrays`` at the sizes in ``extents`` (``BATCH_SIZE``: a tuple of extents)."""

    arrays: dict[str, Array]
    extents: Mapping[Symbol, int | tuple[int, ...]]
    constants: Mapping[str, Expr]

    def __post_init__(self) -> None:
        batch = self.extents.get(BATCH_SIZE, ())
        self.batch: tuple[int, ...] = batch if isinstance(batch, tuple) else (batch,)
        rows = Integer(math.prod(self.batch))
        self.numbers: dict[Expr, Expr] = {BATCH_SIZE: rows, ROWS: rows}
        self.numbers |= {s: Integer(v) for s, v in self.extents.items() if isinstance(v, int)}

    def run(self, node: p.Node) -> Array:
        """The value of an expression."""
        rule = _RULES.get(type(node))
        if rule is None:
            raise InternalError(f"no rule runs {type(node).__name__}: add one to lower/execute.py")
        value = np.asarray(rule(self, node))
        if value.shape != self.shape(node.shape):
            raise InternalError(f"{type(node).__name__} made {value.shape}, not {self.shape(node.shape)}")
        return _as_kind(value, node.kind)

    def number(self, value: Expr) -> float:
        """A scalar expression as a float, or an int where it is one; NaN where it divides by an empty size."""
        named = {s: self.constants[s.name] for s in value.free_symbols if s.name in self.constants}
        exact = value.xreplace(self.numbers | named)
        if exact in (zoo, nan):
            return float("nan")
        return int(exact) if exact.is_Integer else float(exact)

    def size(self, value: Expr) -> int:
        """A size expression as an int."""
        number = self.number(value)
        if number != int(number):
            raise InternalError(f"{value} is {number}, not an integer")
        return int(number)

    def shape(self, shape: Shape) -> tuple[int, ...]:
        """A shape with all its batch axes."""
        own = tuple(self.size(e) for e in (shape[1:] if has_batch(shape) else shape))
        return self.batch + own if has_batch(shape) else own

    def axes(self, node: p.Node, axes: tuple[int, ...]) -> tuple[int, ...]:
        """Actual axes, all of the batch axes where ``axes`` names them."""
        own = tuple(a for a in axes if not (node.has_batch and a == -len(node.shape)))
        return own if len(own) == len(axes) else (*range(len(self.batch)), *own)

    def lead(self, node: p.Node) -> tuple[Any, ...]:
        """The subscript ``...`` that skips the batch axes."""
        return (Ellipsis,) if node.has_batch else ()

    def items(self, items: tuple[p.Item, ...]) -> tuple[Any, ...]:
        """Subscripts for slicing."""
        return tuple(self._item(i) for i in items)

    def _item(self, item: p.Item) -> Any:
        if item is None:
            return slice(None)
        if isinstance(item, p.At):
            return self.size(item.position)
        start, length, step = (self.size(e) for e in (item.start, item.length, item.step))
        return slice(start, start + length * step, step)

    def indices(self, node: p.Node, indices: tuple[p.Node | None, ...]) -> tuple[Any, ...]:
        """Subscripts for advanced indexing."""
        return (*self.lead(node), *(slice(None) if i is None else self.run(i) for i in indices))


Rule = Callable[[Machine, Any], Any]


# --- element-wise

_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "neg": np.negative,
    "pow": np.power,
    "floordiv": np.floor_divide,
    "mod": np.mod,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "clamp": lambda x, lo, hi: np.minimum(np.maximum(x, lo), hi),
    "where": np.where,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "not": np.logical_not,
    "and": lambda *values: functools.reduce(np.logical_and, values),
    "or": lambda *values: functools.reduce(np.logical_or, values),
}


@functools.cache
def elementwise(name: str) -> Callable[..., Any]:
    """The NumPy function of a :class:`Map`: those of the language are built from their row in the function table."""
    if name in _ELEMENTWISE:
        return _ELEMENTWISE[name]
    row = FUNCTIONS[name]
    parameters = [f"a{n}" for n in range(len(row.parameters))]
    source = f"lambda {', '.join(parameters)}: {row.numpy.format(*parameters)}"
    return eval(source, {"np": np, "special": special, "math": math})  # our own table's text, not a spec's


def _map(machine: Machine, node: p.Map) -> Any:
    values = [machine.run(a) for a in node.args]
    row = FUNCTIONS.get(node.function)
    if row is not None:
        values += [np.float64(d) for d in row.defaults[len(row.defaults) - len(row.parameters) + len(values) :]]
    return elementwise(node.function)(*values)


# --- arrangement


def _permute(machine: Machine, node: p.Permute) -> Any:
    value = machine.run(node.value)
    return np.moveaxis(value, node.order, range(-len(node.order), 0))


def _place(machine: Machine, node: p.Place) -> Any:
    result: Array = np.zeros(machine.shape(node.shape), _DTYPES[node.kind])
    result[machine.lead(node) + machine.items(node.items)] = machine.run(node.value)
    return result


def _pad(machine: Machine, node: p.Pad) -> Any:
    widths = [(machine.size(a), machine.size(b)) for a, b in node.widths]
    skipped = [(0, 0)] * len(machine.batch) if node.has_batch else []
    return np.pad(machine.run(node.value), skipped + widths, constant_values=machine.number(node.fill))


def _unfold(machine: Machine, node: p.Unfold) -> Any:
    size, step = machine.size(node.size), machine.size(node.step)
    windows = np.lib.stride_tricks.sliding_window_view(machine.run(node.value), size, node.axis)
    return np.moveaxis(np.moveaxis(windows, node.axis - 1, 0)[::step], 0, node.axis - 1)


def _diag_embed(machine: Machine, node: p.DiagEmbed) -> Any:
    value = machine.run(node.value)
    return value[..., None] * np.eye(value.shape[-1])


def _broadcast(machine: Machine, node: p.BroadcastTo) -> Any:
    return np.broadcast_to(machine.run(node.value), machine.shape(node.shape))


# --- computed places


def _index_add(machine: Machine, node: p.IndexAdd) -> Any:
    result = _base(machine, node)
    np.add.at(result, machine.indices(node, node.indices), machine.run(node.source))
    return result


def _scatter_add(machine: Machine, node: p.ScatterAdd) -> Any:
    result, index, source = _base(machine, node), machine.run(node.index), machine.run(node.source)
    axis = node.axis % result.ndim
    for place in itertools.product(*map(range, index.shape)):
        target = (*place[:axis], index[place], *place[axis + 1 :])
        result[target] += source[place]
    return result


def _base(machine: Machine, node: p.IndexAdd | p.ScatterAdd) -> Array:
    if node.base is None:
        return np.zeros(machine.shape(node.shape), _DTYPES[node.kind])
    return machine.run(node.base).copy()


# --- reductions


def _logsumexp(value: Array, axis: Any, keepdims: bool) -> Any:
    top = np.max(value, axis=axis, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(top), top, 0)
    result = np.log(np.sum(np.exp(value - shift), axis=axis, keepdims=True)) + shift
    return result if keepdims else np.squeeze(result, axis)


def _argument(find: Callable[..., Any]) -> Callable[..., Any]:
    return lambda value, axis, keepdims: find(value, axis=axis[0], keepdims=keepdims)


_REDUCE: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "amax": functools.partial(np.max, initial=-np.inf),
    "amin": functools.partial(np.min, initial=np.inf),
    "logsumexp": _logsumexp,
    "any": np.any,
    "all": np.all,
    "argmax": _argument(np.argmax),
    "argmin": _argument(np.argmin),
}


def _reduce(machine: Machine, node: p.Reduce) -> Any:
    axes = machine.axes(node.value, node.axes)
    return _REDUCE[node.op](machine.run(node.value), axis=axes, keepdims=node.keepdim)


_SCAN = {
    "sum": np.add,
    "prod": np.multiply,
    "amax": np.maximum,
    "amin": np.minimum,
    "logsumexp": np.logaddexp,
}


def _scan(machine: Machine, node: p.Scan) -> Any:
    value = machine.run(node.value)
    if node.reverse:
        return np.flip(_SCAN[node.op].accumulate(np.flip(value, node.axis), node.axis), node.axis)
    return _SCAN[node.op].accumulate(value, node.axis)


def _normalise(machine: Machine, node: p.Normalise) -> Any:
    value = machine.run(node.value)
    logarithm = value - _logsumexp(value, node.axis, True)
    return np.exp(logarithm) if node.op == "softmax" else logarithm


def _grouped(machine: Machine, node: p.Grouped) -> Any:
    value, index = np.moveaxis(machine.run(node.value), node.axis, 0), machine.run(node.index)
    count = machine.size(node.count)
    result = np.zeros((len(index) if node.op == "softmax" else count, *value.shape[1:]))
    for group in range(count):
        members = value[index == group]
        if node.op == "softmax":
            result[index == group] = np.exp(members - _logsumexp(members, 0, True))
            continue
        result[group] = _REDUCE[node.op](members, axis=0, keepdims=False)
    return np.moveaxis(result, 0, node.axis)


# --- linear algebra


def _logdet(value: Array) -> Any:
    sign, logarithm = np.linalg.slogdet(value)
    return np.where(sign >= 0, logarithm, np.nan)


_MATRIX: dict[str, Callable[[Array], Any]] = {"inv": np.linalg.inv, "det": np.linalg.det, "logdet": _logdet}
_MATRIX |= {"cholesky": np.linalg.cholesky}
_TRIANGLES: dict[str, Callable[[Array], Array]] = {"general": np.asarray, "lower": np.tril, "upper": np.triu}


def _solve(machine: Machine, node: p.Solve) -> Any:
    return np.linalg.solve(_TRIANGLES[node.form](machine.run(node.matrix)), machine.run(node.right))


def _windows(machine: Machine, window: p.Window, kernel: Shape, space: Shape, out: Shape) -> Any:
    """Every way in which a convolution touches its operand: (place in the kernel, in the operand, in the result)."""
    steps = [[machine.size(e) for e in part] for part in (window.stride, window.padding, window.dilation)]
    sides = [[machine.size(e) for e in part] for part in (kernel, space, out)]
    for r in itertools.product(*map(range, sides[0])):
        for o in itertools.product(*map(range, sides[2])):
            i = tuple(s * h - q + d * k for s, q, d, h, k in zip(*steps, o, r, strict=True))
            if all(0 <= a < n for a, n in zip(i, sides[1], strict=True)):
                yield r, i, o


_ALL = slice(None)


def _at(*place: Any) -> tuple[Any, ...]:
    """A subscript."""
    return place


def _conv(machine: Machine, node: p.Conv) -> Any:
    value, weight = machine.run(node.value), machine.run(node.weight)
    result = np.zeros(machine.shape(node.shape))
    for r, i, o in _windows(machine, node.window, node.weight.shape[2:], node.value.shape[2:], node.shape[2:]):
        for c, k in _channels(value, weight):
            result[_at(_ALL, k, *o)] += value[_at(_ALL, c, *i)] @ weight[_at(k, _ALL, *r)].T
    return result


def _conv_transpose(machine: Machine, node: p.ConvTranspose) -> Any:
    source, weight = machine.run(node.source), machine.run(node.weight)
    result = np.zeros(machine.shape(node.shape))
    for r, i, o in _windows(machine, node.window, node.weight.shape[2:], node.shape[2:], node.source.shape[2:]):
        for c, k in _channels(result, weight):
            result[_at(_ALL, c, *i)] += source[_at(_ALL, k, *o)] @ weight[_at(k, _ALL, *r)]
    return result


def _conv_weight(machine: Machine, node: p.ConvWeight) -> Any:
    value, source = machine.run(node.value), machine.run(node.source)
    result = np.zeros(machine.shape(node.shape))
    for r, i, o in _windows(machine, node.window, node.shape[2:], node.value.shape[2:], node.source.shape[2:]):
        for c, k in _channels(value, result):
            result[_at(k, _ALL, *r)] += source[_at(_ALL, k, *o)].T @ value[_at(_ALL, c, *i)]
    return result


def _channels(value: Array, weight: Array) -> list[tuple[slice, slice]]:
    """For each group, its channels of the operand and of the result."""
    inner = weight.shape[1]
    groups = value.shape[1] // inner if inner else 0
    outer = weight.shape[0] // groups if groups else 0
    return [(slice(g * inner, (g + 1) * inner), slice(g * outer, (g + 1) * outer)) for g in range(groups)]


_RULES: dict[type[p.Node], Rule] = {
    p.Ref: lambda m, n: m.arrays[n.name],
    p.Scalar: lambda m, n: m.number(n.value),
    p.Arange: lambda m, n: np.arange(m.size(n.extent)),
    p.Full: lambda m, n: np.full(m.shape(n.shape), m.number(n.value)),
    p.Eye: lambda m, n: np.eye(m.size(n.extent)),
    p.Map: _map,
    p.Cast: lambda m, n: m.run(n.value),
    p.Permute: _permute,
    p.Expand: lambda m, n: np.expand_dims(m.run(n.value), n.axes),
    p.Reshape: lambda m, n: m.run(n.value).reshape(m.shape(n.shape)),
    p.BroadcastTo: _broadcast,
    p.Flip: lambda m, n: np.flip(m.run(n.value), n.axes),
    p.Roll: lambda m, n: np.roll(m.run(n.value), m.size(n.shift), n.axis),
    p.Slice: lambda m, n: m.run(n.value)[m.lead(n.value) + m.items(n.items)],
    p.Place: _place,
    p.Pad: _pad,
    p.Concat: lambda m, n: np.concatenate([m.run(part) for part in n.parts], n.axis),
    p.Unfold: _unfold,
    p.Diagonal: lambda m, n: np.diagonal(m.run(n.value), axis1=-2, axis2=-1),
    p.DiagEmbed: _diag_embed,
    p.Take: lambda m, n: m.run(n.value)[m.indices(n.value, n.indices)],
    p.IndexAdd: _index_add,
    p.Gather: lambda m, n: np.take_along_axis(m.run(n.value), m.run(n.index), n.axis),
    p.ScatterAdd: _scatter_add,
    p.Reduce: _reduce,
    p.Scan: _scan,
    p.Normalise: _normalise,
    p.Grouped: _grouped,
    p.MatMul: lambda m, n: np.matmul(m.run(n.left), m.run(n.right)),
    p.Einsum: lambda m, n: np.einsum(n.equation, *(m.run(o) for o in n.operands)),
    p.Matrix: lambda m, n: _MATRIX[n.op](m.run(n.value)),
    p.Solve: _solve,
    p.Conv: _conv,
    p.ConvTranspose: _conv_transpose,
    p.ConvWeight: _conv_weight,
}
