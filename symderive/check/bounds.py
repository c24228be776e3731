"""What rounding may do to a plan's results: a running error analysis, operation by operation, in float64.

Every operation adds ``|f'|`` times its operands' errors, the unit roundoff times its result, and the underflow unit; a
sum of n terms adds ``gamma(n - 1)`` times the sum of their absolute values (Higham, *Accuracy and Stability of
Numerical Algorithms*, chapters 2 and 3). Where an error could make a condition fall the other way, the result covers
both branches. Nothing in here is tuned: a correct computation stays within the bound, whatever the order of its sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sympy import S

from symderive.check.groups import grouped_bound
from symderive.check.linear import matrix_bound, solve_bound
from symderive.check.mapping import map_bound
from symderive.check.rounding import ARITHMETIC
from symderive.check.scans import scan_bound
from symderive.check.uncertain import Arithmetic, Uncertain
from symderive.errors import InternalError
from symderive.lower import plan as p
from symderive.lower import sizes
from symderive.lower.execute import Machine
from symderive.spec.sizes import BATCH_SIZE, size


@dataclass(frozen=True)
class Analysis:
    """Values with errors of every input and assignment of a plan.

    ``touched`` are kinks that the point is at, or so near that rounding could cross them; ``overflow`` the tensors
    that may exceed the largest number of the dtype.
    """

    tensors: Mapping[str, Uncertain]
    touched: tuple[str, ...]
    overflow: tuple[str, ...]

    def error(self, name: str) -> Any:
        """The bound on the error of a tensor."""
        return self.tensors[name].error


def analyse(
    plan: p.Plan,
    inputs: Mapping[str, Uncertain],
    dtype: str,
    extents: Mapping[str, int | tuple[int, ...]] | None = None,
    active: Iterable[str] = (),
    *,
    steady: bool = False,
    fused: bool = True,
) -> Analysis:
    """The analysis of ``plan`` in ``dtype`` at ``inputs``, which may have errors themselves.

    ``active`` are the inputs that are differentiated: only kinks of what depends on them count as touched.
    ``extents`` gives sizes that no input's shape determines. ``steady`` takes conditions as they fall in float64;
    without ``fused`` the steps inside a function are taken to be rounded to the dtype, too.
    """
    tensors = {r.name: inputs[r.name] for r in plan.inputs}
    known = sizes.values({r.name: r.shape for r in plan.inputs}, {n: u.shape for n, u in tensors.items()})
    for name, extent in (extents or {}).items():
        symbol = BATCH_SIZE if name == "..." else size(name)
        known.setdefault(symbol, extent)
    analyst = Analyst(
        plan, Arithmetic(ARITHMETIC[dtype], steady, fused), tensors, Machine({}, known, plan.constants), set(active)
    )
    overflow = []
    with np.errstate(all="ignore"):
        for assign in plan.assignments:
            analyst.arithmetic.overflow = False
            tensors[assign.name] = analyst.run(assign.value)
            if analyst.is_active(assign.value):
                analyst.active.add(assign.name)
            if analyst.arithmetic.overflow:
                overflow.append(assign.name)
    return Analysis(tensors, tuple(analyst.touched), tuple(overflow))


@dataclass
class Analyst:
    """Runs expressions on values with errors; ``machine`` knows shapes and rearranges single arrays."""

    plan: p.Plan
    arithmetic: Arithmetic
    tensors: dict[str, Uncertain]
    machine: Machine
    active: set[str]
    touched: list[str] = field(default_factory=list)
    memory: dict[int, Uncertain] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.assigned = {a.name: a.value for a in self.plan.assignments}

    def run(self, node: p.Node) -> Uncertain:
        """The value and the error of an expression; one that stands in several places is worked out once."""
        if id(node) not in self.memory:
            rule = _RULES.get(type(node))
            if rule is None:
                raise InternalError(f"no rule bounds {type(node).__name__}: add one to check/bounds.py")
            empty = 0 in self.machine.shape(node.shape)
            self.memory[id(node)] = self._nothing(node) if empty else rule(self, node)
        return self.memory[id(node)]

    def _nothing(self, node: p.Node) -> Uncertain:
        """An array without entries, whatever the operation makes of its operands."""
        return Uncertain.exact(np.zeros(self.machine.shape(node.shape)))

    def is_active(self, node: p.Node) -> bool:
        """Whether an expression depends on what is differentiated."""
        return any(isinstance(n, p.Ref) and n.name in self.active for n in p.walk(node))

    def touch(self, what: str, node: p.Node, where: Any) -> None:
        """Record a kink where ``where`` holds anywhere and the expression depends on what is differentiated."""
        if np.any(where) and self.is_active(node):
            self.touched.append(what)

    def resolve(self, node: p.Node) -> p.Node:
        """What a reference stands for."""
        while isinstance(node, p.Ref) and node.name in self.assigned:
            node = self.assigned[node.name]
        return node

    def array(self, node: p.Node, **parts: Any) -> Any:
        """``node`` run on single arrays in place of the named fields, all of them taken as real numbers."""
        changes = {}
        for name, array in parts.items():
            old = getattr(node, name)
            kind = "integer" if np.issubdtype(array.dtype, np.integer) else "real"
            changes[name] = p.Ref(f"<{name}>", old.shape, kind)  # type: ignore[arg-type]
            self.machine.arrays[f"<{name}>"] = array
        return np.asarray(self.machine.run(replace(node, **changes)), np.float64)  # type: ignore[type-var]

    def integers(self, name: str, node: p.Node, u: Uncertain) -> p.Ref:
        """A reference to integers; its name is its own, as what is run before it is read may hold some too."""
        name = f"{name}{id(node)}"
        self.machine.arrays[name] = u.value.astype(np.int64)
        return p.Ref(name, node.shape, "integer")


Rule = Callable[[Analyst, Any], Uncertain]


# --- leaves


def _scalar(a: Analyst, node: p.Scalar) -> Uncertain:
    """A Python number, which an operation takes to the precision in which it computes.

    One that is made of several may be applied one by one (``scale * x / N``), each to a tensor of the dtype.
    """
    value = np.asarray(_float(a, node.value))
    r = a.arithmetic.rounding
    exact = r.inner <= 2.0**-53 or float(np.float32(value)) == value or not np.isfinite(value)
    steps = int(node.value.count_ops()) if node.value.free_symbols else 0
    relative = (0.0 if exact else r.inner) + steps * r.unit
    return Uncertain(value, np.where(np.isfinite(value), np.abs(value) * relative, 0.0))


def _float(a: Analyst, value: Any) -> float:
    """A number of sizes and constants; NaN where it divides by a size of 0."""
    try:
        return float(a.machine.number(value))
    except (TypeError, ZeroDivisionError):
        return np.nan


def _full(a: Analyst, node: p.Full) -> Uncertain:
    value = np.full(a.machine.shape(node.shape), _float(a, node.value))
    return _stored(a, node, Uncertain.exact(value))


def _stored(a: Analyst, node: p.Node, u: Uncertain) -> Uncertain:
    """A number put into the dtype: exact where it is an integer that the dtype holds."""
    whole = (u.value == np.rint(u.value)) & (np.abs(u.value) <= 1 / a.arithmetic.rounding.unit)
    if node.kind != "real" or np.all(whole):
        return u
    return a.arithmetic.rounded(u.value, u.error)


# --- the same entries in another arrangement


def _rearranged(a: Analyst, node: Any) -> Uncertain:
    u = a.run(node.value)
    return Uncertain(a.array(node, value=u.value), a.array(node, value=u.error))


def _pad(a: Analyst, node: p.Pad) -> Uncertain:
    u = a.run(node.value)
    widths = [(a.machine.size(before), a.machine.size(after)) for before, after in node.widths]
    if any(w < 0 for pair in widths for w in pair):
        unknown = np.full(a.machine.shape(node.shape), np.nan)
        return Uncertain(unknown, np.full_like(unknown, np.inf))
    return Uncertain(a.array(node, value=u.value), a.array(replace(node, fill=S.Zero), value=u.error))


def _concat(a: Analyst, node: p.Concat) -> Uncertain:
    parts = [a.run(part) for part in node.parts]
    return Uncertain(
        np.concatenate([u.value for u in parts], node.axis), np.concatenate([u.error for u in parts], node.axis)
    )


def _take(a: Analyst, node: p.Take) -> Uncertain:
    """Entries at integer arrays; nothing is known where rounding could change the integer."""
    u = a.run(node.value)
    indices, doubt = _indices(a, node.indices)
    plain = replace(node, indices=indices)
    value, error = a.array(plain, value=u.value), a.array(plain, value=u.error)
    if doubt.any():
        after = len(node.indices) - 1 - max(n for n, i in enumerate(node.indices) if i is not None)
        error = np.where(doubt.reshape(*doubt.shape, *(1,) * after), np.inf, error)
    return Uncertain(value, error)


def _indices(a: Analyst, indices: tuple[p.Node | None, ...]) -> tuple[tuple[p.Node | None, ...], Any]:
    """Index arrays as references to their values, and where any of them is in doubt."""
    refs: list[p.Node | None] = []
    doubt: Any = np.zeros((), bool)
    for n, index in enumerate(indices):
        if index is None:
            refs.append(None)
            continue
        u = a.run(index)
        refs.append(a.integers(f"<index {n}>", index, u))
        doubt = doubt | (u.error > 0)
    return tuple(refs), doubt


def _index_add(a: Analyst, node: p.IndexAdd) -> Uncertain:
    """``result[t] += source``: each entry is a sum, which torch adds up in the dtype itself."""
    indices, doubt = _indices(a, node.indices)
    return _scattered(a, replace(node, indices=indices, base=None), node, bool(doubt.any()))


def _scatter_add(a: Analyst, node: p.ScatterAdd) -> Uncertain:
    index = a.run(node.index)
    plain = replace(node, index=a.integers("<index>", node.index, index), base=None)
    return _scattered(a, plain, node, bool((index.error > 0).any()))


def _scattered(a: Analyst, plain: Any, node: Any, doubt: bool) -> Uncertain:
    source = a.run(node.source)
    base = Uncertain.exact(np.zeros(a.machine.shape(node.shape))) if node.base is None else a.run(node.base)
    value = a.array(plain, source=source.value) + base.value
    error = a.array(plain, source=source.error) + base.error
    absolute = a.array(plain, source=source.size_) + base.size_
    count = a.array(plain, source=np.ones_like(source.value))
    grown = np.maximum(count - (node.base is None), 0.0) * a.arithmetic.rounding.unit
    spread = np.where(grown < 1, grown / (1 - grown), np.inf)
    if doubt:
        error = error + source.size_.sum()
    return Uncertain(value, error + np.where(absolute > 0, spread * absolute, 0.0))


def _gather(a: Analyst, node: p.Gather) -> Uncertain:
    u, index = a.run(node.value), a.run(node.index)
    places = index.value.astype(np.int64)
    error = a.array(node, value=u.error, index=places)
    return Uncertain(a.array(node, value=u.value, index=places), np.where(index.error > 0, np.inf, error))


# --- reductions


def _reduce(a: Analyst, node: p.Reduce) -> Uncertain:
    u = a.run(node.value)
    axes = a.machine.axes(node.value, node.axes)
    if node.op in ("amax", "amin", "argmax", "argmin"):
        return _extreme(a, node, u, axes)
    if node.op in ("any", "all"):
        return _quantified(node, u, axes)
    if node.op == "logsumexp":
        return a.arithmetic.logsumexp(u, axes, node.keepdim)
    if node.op == "prod":
        return a.arithmetic.prod(u, axes, node.keepdim)
    if node.kind != "real":
        return Uncertain(u.value.sum(axis=axes, keepdims=node.keepdim), u.error.sum(axis=axes, keepdims=node.keepdim))
    total = a.arithmetic.sum(u, axes, node.keepdim)
    if node.op == "sum":
        return total
    count = float(np.prod([u.shape[x] for x in axes]))
    return a.arithmetic.rounded(total.value / count, total.error / count)


def _extreme(a: Analyst, node: p.Reduce, u: Uncertain, axes: tuple[int, ...]) -> Uncertain:
    """A maximum, or where it stands; a runner-up within reach is a kink."""
    largest = node.op.endswith("max")
    contested = contenders(u, axes, largest).sum(axis=axes, keepdims=node.keepdim) > 1
    a.touch(f"a tie of {node.op}", node.value, contested)
    if node.op.startswith("arg"):
        find = np.argmax if largest else np.argmin
        moving = np.any((u.error > 0) & (not a.arithmetic.steady), axis=axes, keepdims=node.keepdim)
        doubt = np.where(contested & moving, np.inf, 0.0)
        return Uncertain(np.asarray(find(u.value, axis=axes[0], keepdims=node.keepdim), np.float64), doubt)
    return a.arithmetic.extreme(u, axes, node.keepdim, largest)


def contenders(u: Uncertain, axes: tuple[int, ...], largest: bool) -> Any:
    """The finite entries that could be the extremum."""
    if not u.value.size:
        return np.zeros(u.shape, bool)
    signed = u.value if largest else -u.value
    sure = (signed - u.error).max(axis=axes, keepdims=True)
    return (signed + u.error >= sure) & np.isfinite(u.value)


def _quantified(node: p.Reduce, u: Uncertain, axes: tuple[int, ...]) -> Uncertain:
    op = np.any if node.op == "any" else np.all
    low, high = (np.where(u.error > 0, x, u.value) for x in (0.0, 1.0))
    value, low, high = (op(x != 0, axis=axes, keepdims=node.keepdim) for x in (u.value, low, high))
    return Uncertain(np.asarray(value, np.float64), np.asarray(low != high, np.float64))


def _normalise(a: Analyst, node: p.Normalise) -> Uncertain:
    op = a.arithmetic.softmax if node.op == "softmax" else a.arithmetic.log_softmax
    return op(a.run(node.value), (node.axis,))


# --- contractions and linear algebra


def _bilinear(left: str, right: str) -> Rule:
    """The rule of a node that is linear in two fields: run on values, on absolute values, on errors and on ones."""

    def rule(a: Analyst, node: Any) -> Uncertain:
        x, y = a.run(getattr(node, left)), a.run(getattr(node, right))

        def run(u: Any, v: Any) -> Any:
            return a.array(node, **{left: u, right: v})

        moved = run(np.abs(x.value), y.error) + run(x.error, y.size_)
        terms = float(np.max(run(np.ones_like(x.value), np.ones_like(y.value)), initial=0.0))
        r = a.arithmetic.rounding
        steps = r.gamma(terms) + (r.split if terms > 1 else 0.0)
        return a.arithmetic.rounded(run(x.value, y.value), moved + steps * run(x.size_, y.size_))

    return rule


def _einsum(a: Analyst, node: p.Einsum) -> Uncertain:
    return a.arithmetic.contract(node.equation, [a.run(o) for o in node.operands])


_ARRANGEMENTS = (
    *(p.Permute, p.Expand, p.Reshape, p.BroadcastTo, p.Flip, p.Roll),
    *(p.Slice, p.Place, p.Unfold, p.Diagonal, p.DiagEmbed),
)

_RULES: dict[type[p.Node], Rule] = {
    **dict.fromkeys(_ARRANGEMENTS, _rearranged),
    p.Ref: lambda a, n: a.tensors[n.name],
    p.Scalar: _scalar,
    p.Arange: lambda a, n: Uncertain.exact(np.arange(a.machine.size(n.extent))),
    p.Full: _full,
    p.Eye: lambda a, n: Uncertain.exact(np.eye(a.machine.size(n.extent))),
    p.Map: map_bound,
    p.Cast: lambda a, n: _stored(a, n, a.run(n.value)),
    p.Pad: _pad,
    p.Concat: _concat,
    p.Take: _take,
    p.IndexAdd: _index_add,
    p.Gather: _gather,
    p.ScatterAdd: _scatter_add,
    p.Reduce: _reduce,
    p.Scan: scan_bound,
    p.Normalise: _normalise,
    p.Grouped: grouped_bound,
    p.MatMul: _bilinear("left", "right"),
    p.Einsum: _einsum,
    p.Matrix: lambda a, n: matrix_bound(a.arithmetic, n.op, a.run(n.value)),
    p.Solve: lambda a, n: solve_bound(a.arithmetic, n.form, a.run(n.matrix), a.run(n.right)),
    p.Conv: _bilinear("value", "weight"),
    p.ConvTranspose: _bilinear("source", "weight"),
    p.ConvWeight: _bilinear("value", "source"),
}
