"""Error bounds of element-wise operations: arithmetic, comparisons, conditions and the functions of the language."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from symderive.check.uncertain import Arithmetic, Uncertain, broadcast, touching
from symderive.lower import plan as p
from symderive.lower.execute import elementwise
from symderive.spec.functions import FUNCTIONS

if TYPE_CHECKING:
    from symderive.check.bounds import Analyst

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}

_BINARY: dict[str, Callable[[Arithmetic, Uncertain, Uncertain], Uncertain]] = {
    "mul": Arithmetic.multiply,
    "div": Arithmetic.divide,
    "pow": Arithmetic.power,
}

_PICK: dict[str, Callable[[Any, Any], Any]] = {"maximum": np.maximum, "minimum": np.minimum}
_LOGIC: dict[str, Callable[[Any, Any], Any]] = {"and": np.logical_and, "or": np.logical_or}


def map_bound(a: Analyst, node: p.Map) -> Uncertain:
    """``function`` applied entry by entry."""
    if node.function in ("add", "sub") and node.kind == "real":
        return a.arithmetic.total([(sign, a.run(x)) for sign, x in _summands(node)])
    parts = [a.run(x) for x in node.args]
    if node.function in _COMPARE:
        return _compare(a, node, parts)
    if node.function == "where":
        return a.arithmetic.where(
            parts[0], *(_as_tensor(a, x, u) for x, u in zip(node.args[1:], parts[1:], strict=True))
        )
    if node.function == "not":
        return Uncertain(1.0 - parts[0].value, parts[0].error)
    if node.function in _LOGIC:
        return a.arithmetic.logical(broadcast(*parts), _LOGIC[node.function])
    if node.function in _PICK:
        return _pick(a, node, parts[0], parts[1], node.function)
    if node.function == "clamp":
        inside = _pick(a, node, parts[0], parts[1], "maximum")
        return _pick(a, node, inside, parts[2], "minimum")
    if node.kind != "real" or node.function in ("floordiv", "mod"):
        return _integers(node, parts)
    if node.function == "neg":
        return a.arithmetic.negate(parts[0])
    if node.function in _BINARY:
        return _BINARY[node.function](a.arithmetic, *broadcast(*parts))
    return _function(a, node, parts)


def _as_tensor(a: Analyst, node: p.Node, u: Uncertain) -> Uncertain:
    """A Python number as a tensor of the dtype, to which it is rounded unless it is a whole number."""
    if not isinstance(node, p.Scalar) or not np.isfinite(u.value).all() or u.value == np.rint(u.value):
        return u
    return Uncertain(u.value, u.error + a.arithmetic.rounding.unit * np.abs(u.value))


def _summands(node: p.Node, sign: int = 1) -> Iterator[tuple[int, p.Node]]:
    """The terms of a sum with their signs, however they are bracketed: code may add them in another order."""
    if isinstance(node, p.Map) and node.kind == "real" and node.function in ("add", "sub", "neg"):
        *first, last = node.args
        for term in first:
            yield from _summands(term, sign)
        yield from _summands(last, sign if node.function == "add" else -sign)
    else:
        yield sign, node


def _integers(node: p.Map, parts: list[Uncertain]) -> Uncertain:
    """Exact arithmetic, of which nothing is known once an operand is in doubt."""
    parts = broadcast(*parts)
    value = np.asarray(elementwise(node.function)(*(u.value for u in parts)), np.float64)
    doubt = np.any([u.error > 0 for u in parts], axis=0)
    return Uncertain(value, np.where(doubt, np.inf, 0.0))


def _pick(a: Analyst, node: p.Map, x: Uncertain, y: Uncertain, name: str) -> Uncertain:
    x, y = broadcast(x, y)
    if node.kind == "real":
        a.touch(f"a tie of {name}", node, touching(x, y) & np.isfinite(x.value))
    return a.arithmetic.pick(x, y, _PICK[name])


def _compare(a: Analyst, node: p.Map, parts: list[Uncertain]) -> Uncertain:
    """A comparison. Whether an entry equals the maximum of its row is in doubt only where there is a rival."""
    result = a.arithmetic.compare(parts[0], parts[1], _COMPARE[node.function])
    if any(x.kind == "real" for x in node.args):
        x, y = broadcast(*parts)
        settled = _settled(a, node)
        if settled is not None:
            return Uncertain(result.value, np.where(settled, 0.0, result.error))
        a.touch(f"the border of {node.function}", node, touching(x, y) & np.isfinite(x.value))
    return result


def _settled(a: Analyst, node: p.Map) -> Any:
    """For ``x == x.amax(axes)``: where the maximum has no rival, so that nothing is in doubt."""
    from symderive.check.bounds import contenders

    if node.function not in ("eq", "ne"):
        return None
    for x, y in (node.args, node.args[::-1]):
        extreme = _below(a, y)
        if (
            isinstance(extreme, p.Reduce)
            and extreme.op in ("amax", "amin")
            and a.resolve(extreme.value) == a.resolve(x)
        ):
            axes = a.machine.axes(extreme.value, extreme.axes)
            near = contenders(a.run(extreme.value), axes, extreme.op == "amax")
            return np.broadcast_to((near.sum(axis=axes, keepdims=True) <= 1) | ~near, near.shape)
    return None


def _below(a: Analyst, node: p.Node) -> p.Node:
    """What stands below references and new axes."""
    node = a.resolve(node)
    while isinstance(node, p.Expand | p.BroadcastTo):
        node = a.resolve(node.value)
    return node


def _function(a: Analyst, node: p.Map, parts: list[Uncertain]) -> Uncertain:
    row = FUNCTIONS[node.function]
    missing = len(row.parameters) - len(parts)
    parts = [*parts, *(Uncertain.exact(float(d)) for d in row.defaults[len(row.defaults) - missing :])]
    for kink in row.kinks:
        x, half = parts[0], 0.5 if kink == "round" else 0.0
        border = np.zeros_like(x.value) if kink == "x" else np.rint(x.value - half) + half
        a.touch(f"the kink of {node.function}", node, touching(x, Uncertain.exact(border)))
    return a.arithmetic.function(node.function, parts)
