"""Reductions and normalisers over whole arrays; see :mod:`symderive.check.grid`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symderive.check.grid_math import Value
from symderive.check.grid_matrices import matrix
from symderive.check.grid_numbers import FloatNumbers, Unsupported
from symderive.check.grid_positions import index_of
from symderive.spec import syntax
from symderive.spec.functions import MATRIX

if TYPE_CHECKING:
    from symderive.check.grid import Grid


def binder(grid: Grid, node: syntax.Binder) -> Value:
    """A reduction or normaliser, with or without a condition, or a function of matrices."""
    if set(node.indices) & grid.listed:
        raise Unsupported
    if node.op in MATRIX:
        return matrix(grid, node)
    rule = _RULES[node.op]
    node = _with_condition(grid, node)
    condition = None if node.condition is None else grid.truth(node.condition)
    if node.op == "sum" and condition is not None and not condition.all():
        assert node.condition is not None
        if grid.kept is not None and (total := _sum_of_all(grid, node, condition)) is not None:
            return total
        used = {i for n in node.condition.walk() if (i := index_of(n)) in grid.axes} - set(node.indices)
        if not used & grid.listed:
            return _sum_of_few(grid, node, condition, used)  # type: ignore[arg-type]
    return rule(grid, node, condition)


def _with_condition(grid: Grid, node: syntax.Binder) -> syntax.Binder:
    """The sum of ``where(c, a, 0)`` as one of a under the condition c on indices, so that few places are computed."""
    match node:
        case syntax.Binder(
            op="sum", condition=None,
            body=syntax.Call(function="where", arguments=(condition, a, syntax.Number(value=0))),
        ) if not grid.parameters and _on_indices(grid, condition):  # fmt: skip
            return replace(node, condition=condition, body=a)
    return node


def _on_indices(grid: Grid, condition: syntax.Node) -> bool:
    """Whether a condition is about indices and numbers only."""
    names = {n.id for n in condition.walk() if isinstance(n, syntax.Name)}
    reads = any(isinstance(n, syntax.Access | syntax.Binder) for n in condition.walk())
    return not reads and names <= {*grid.index, *grid.scalars}


def _axes(grid: Grid, node: syntax.Binder) -> list[int]:
    return [grid.axes[i] for i in node.indices]


def _extents(grid: Grid, node: syntax.Binder, shapes: Sequence[tuple[int, ...]]) -> list[int]:
    """The extents over which a body is computed, of which all bound indices are whole."""
    shape = list(np.broadcast_shapes(*shapes))
    for index in node.indices:
        shape[grid.axes[index]] = grid.ranges[index]
    if math.prod(shape) > grid.largest:
        raise Unsupported
    return shape


def _body(grid: Grid, node: syntax.Binder, condition: np.ndarray | None, outside: object = None) -> Value:
    """The body over all values of the bound indices, another number where the condition does not hold."""
    with grid.only(condition):
        value = grid.value(node.body)
    shape = _extents(grid, node, [grid.math.plain(value).shape, () if condition is None else condition.shape])
    value = grid.math.broadcast(value, shape)
    return value if condition is None else grid.math.choose(condition, value, grid.constant(outside))


# Sums


def _sum(grid: Grid, node: syntax.Binder, condition: np.ndarray | None) -> Value:
    if condition is None and len(factors := [*syntax.operands(node.body, "*")]) > 1:
        values = [grid.value(f) for f in factors]
        return grid.math.contract(
            values, _extents(grid, node, [grid.math.plain(v).shape for v in values]), _axes(grid, node)
        )
    return grid.math.total(_body(grid, node, condition, 0), _axes(grid, node))


def _sum_of_all(grid: Grid, node: syntax.Binder, condition: np.ndarray) -> Value | None:
    """A small sum under a condition, of which parts may be known: computed everywhere, if that can be."""
    names = {index_of(n) for n in node.walk()}
    if math.prod(n for i, n in grid.ranges.items() if i in names) > SMALL:
        return None
    try:
        return grid.math.total(_body(grid, node, condition, 0), _axes(grid, node))
    except Unsupported:
        return None


SMALL = 4096
"""Entries that are computed as fast as those of a list of them."""


def _sum_of_few(grid: Grid, node: syntax.Binder, condition: np.ndarray, used: set[str]) -> Value:
    """A sum under a condition: the body is computed only where that holds, along a list of such places.

    The list takes the place of the first axis of the indices that it is about; the other indices keep their axes.
    """
    indices = [i for i in grid.axes if i in used or i in node.indices]
    shape = [grid.ranges[i] if i in indices else 1 for i in grid.axes]
    if math.prod(shape) > 16 * grid.largest:
        raise Unsupported
    at = np.nonzero(np.broadcast_to(condition, shape))
    first = grid.axes[indices[0]]
    column = [-1 if axis == first else 1 for axis in range(grid.rank)]
    places = {i: at[grid.axes[i]].reshape(column) for i in indices}
    factors = [*syntax.operands(node.body, "*")]
    whole = [_gathered(grid, factor, places) for factor in factors]
    before = grid.index, grid.listed
    try:
        grid.index = {**grid.index, **places}
        grid.listed = {*grid.listed, *indices}
        with grid.along_list(at, shape, column):
            values = [grid.value(f) if v is None else v for f, v in zip(factors, whole, strict=True)]
    finally:
        grid.index, grid.listed = before
    full = list(np.broadcast_shapes(*(grid.math.plain(v).shape for v in values)))
    full[first] = len(at[0])
    if math.prod(full) > grid.largest:
        raise Unsupported
    bound = _axes(grid, node)
    listed = [grid.axes[i] for i in indices]
    into = [1 if x in bound else shape[x] if x in listed else full[x] for x in range(grid.rank)]
    ends = [
        (at[x] * (x not in bound)).reshape(column) if x in listed else grid.along(full[x], x) for x in range(grid.rank)
    ]
    return grid.math.scatter(values, full, tuple(np.broadcast_arrays(*ends)), into)


def _gathered(grid: Grid, node: syntax.Node, places: Mapping[str, np.ndarray]) -> Value | None:
    """A factor along a list of places: what has fewer entries than the list is computed once for each of them."""
    names = {index_of(n) for n in node.walk()}
    used = [i for i in places if i in names]
    count = next(iter(places.values())).size
    if not grid.ahead or isinstance(node, syntax.Access) or 2 * math.prod(grid.ranges[i] for i in used) > count:
        return None
    try:
        value = grid.value(node)
    except Unsupported:
        return None
    shape = grid.math.plain(value).shape
    at = [places[i] if i in used else grid.along(shape[x], x) for i, x in grid.axes.items()]
    return grid.math.gather(value, tuple(np.broadcast_arrays(*at)))


def _mean(grid: Grid, node: syntax.Binder, condition: np.ndarray | None) -> Value:
    total = _sum(grid, node, condition)
    if condition is None:
        count = grid.constant(grid.numbers.number(math.prod(grid.ranges[i] for i in node.indices)))
    else:
        shape = list(condition.shape)
        for index in node.indices:
            shape[grid.axes[index]] = grid.ranges[index]
        kept = np.broadcast_to(condition, shape).sum(axis=tuple(_axes(grid, node)), keepdims=True)
        count = grid.numbers.array(kept)
    return grid.math.div(total, count)


# Products and extrema, one value of the bound indices after the other


def _slices(grid: Grid, node: syntax.Binder, value: Value) -> Iterator[Value]:
    axes = _axes(grid, node)
    shape = grid.math.plain(value).shape
    rest = [1 if axis in axes else n for axis, n in enumerate(shape)]
    grids = np.indices(rest)
    for at in itertools.product(*(range(grid.ranges[i]) for i in node.indices)):
        places = list(grids)
        for axis, position in zip(axes, at, strict=True):
            places[axis] = np.full(rest, position)
        yield grid.math.gather(value, tuple(places))


def _prod(grid: Grid, node: syntax.Binder, condition: np.ndarray | None) -> Value:
    result = grid.constant(1)
    for value in _slices(grid, node, _body(grid, node, condition, 1)):
        result = grid.math.mul(result, value)
    return result


def _extremum(op: str) -> Callable[[Grid, syntax.Binder, np.ndarray | None], Value]:
    def reduce(grid: Grid, node: syntax.Binder, condition: np.ndarray | None) -> Value:
        none = grid.numbers.inf if op == "<" else -grid.numbers.inf
        body = _body(grid, node, condition, none)
        grid.among(node, grid.math.plain(body), condition)
        values = list(_slices(grid, node, body))
        if not values:
            return grid.constant(none)
        return grid.math.shared(grid.extreme(op, [grid.math.plain(v) for v in values]), values)

    return reduce


def _any(grid: Grid, node: syntax.Binder, condition: np.ndarray | None) -> Value:
    truth = _truths(grid, node, condition, False)
    return grid.numbers.array(truth.any(axis=tuple(_axes(grid, node)), keepdims=True))


def _all(grid: Grid, node: syntax.Binder, condition: np.ndarray | None) -> Value:
    truth = _truths(grid, node, condition, True)
    return grid.numbers.array(truth.all(axis=tuple(_axes(grid, node)), keepdims=True))


def _truths(grid: Grid, node: syntax.Binder, condition: np.ndarray | None, outside: bool) -> np.ndarray:
    return grid.numbers.truth(grid.math.plain(_body(grid, node, condition, int(outside))))


def _arg(op: str) -> Callable[[Grid, syntax.Binder, np.ndarray | None], Value]:
    def reduce(grid: Grid, node: syntax.Binder, condition: np.ndarray | None) -> Value:
        if condition is not None:
            raise Unsupported
        body = grid.math.plain(_body(grid, node, None))
        if grid.numbers.is_nan(body).any():
            raise Unsupported
        grid.among(node, body, None)
        best: np.ndarray | None = None
        place = np.zeros((1,) * grid.rank, dtype=np.int64)
        for position, value in enumerate(_slices(grid, node, body)):
            if best is None:
                best = grid.math.plain(value)
                continue
            better = grid.numbers.compare(op, grid.math.plain(value), best)
            place = np.where(better, position, place)
            best = np.where(better, grid.math.plain(value), best)
        return grid.numbers.array(place)

    return reduce


# Exponentials


def _shift(grid: Grid, node: syntax.Binder, body: Value) -> Value | None:
    """What is taken off before exponentials are taken: in floats the largest, if it is finite."""
    plain = grid.math.plain(body)
    if not isinstance(grid.numbers, FloatNumbers) or not plain.size:
        return None
    top = np.max(plain, axis=tuple(_axes(grid, node)), keepdims=True)
    return np.where(np.isfinite(top), top, 0.0)


def _exponentials(grid: Grid, node: syntax.Binder, condition: np.ndarray | None) -> tuple[Value, Value | None, Value]:
    """The body, what is taken off it, and the sum of the exponentials of the rest."""
    body = _body(grid, node, condition, -grid.numbers.inf)
    shift = _shift(grid, node, body)
    exp = grid.math.function("exp")
    assert exp is not None
    inner = body if shift is None else grid.math.sub(body, shift)
    return inner, shift, grid.math.total(exp(inner), _axes(grid, node))


def _logsumexp(grid: Grid, node: syntax.Binder, condition: np.ndarray | None) -> Value:
    _, shift, total = _exponentials(grid, node, condition)
    log = grid.math.function("log")
    assert log is not None
    return log(total) if shift is None else grid.math.add(log(total), shift)


def _softmax(grid: Grid, node: syntax.Binder, condition: np.ndarray | None) -> Value:
    inner, _, total = _exponentials(grid, node, condition)
    exp = grid.math.function("exp")
    assert exp is not None
    value = grid.math.div(exp(inner), total)
    return value if condition is None else grid.math.choose(condition, value, grid.constant(0))


def _log_softmax(grid: Grid, node: syntax.Binder, condition: np.ndarray | None) -> Value:
    inner, _, total = _exponentials(grid, node, condition)
    log = grid.math.function("log")
    assert log is not None
    value = grid.math.sub(inner, log(total))
    return value if condition is None else grid.math.choose(condition, value, grid.constant(-grid.numbers.inf))


_RULES: dict[str, Callable[[Grid, syntax.Binder, np.ndarray | None], Value]] = {
    "sum": _sum,
    "mean": _mean,
    "prod": _prod,
    "max": _extremum(">"),
    "min": _extremum("<"),
    "any": _any,
    "all": _all,
    "argmax": _arg(">"),
    "argmin": _arg("<"),
    "logsumexp": _logsumexp,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
}
