"""One name per quantity that is used again, and for what a library cannot write inside an expression."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from symderive.lower import plan as p
from symderive.record import record

_VIEWS = (p.Permute, p.Expand, p.BroadcastTo, p.Slice, p.Cast)
"""Arrangements that cost nothing: not worth a name when what they arrange has one."""

_STEMS = {
    "add": "total",
    "sub": "difference",
    "mul": "product",
    "div": "ratio",
    "pow": "power",
    "neg": "negative",
    "where": "masked",
    "amax": "top",
    "amin": "bottom",
    "and": "mask",
    "or": "mask",
    "not": "mask",
    "lt": "mask",
    "le": "mask",
    "gt": "mask",
    "ge": "mask",
    "eq": "mask",
    "ne": "mask",
    "MatMul": "product",
    "Einsum": "product",
    "Arange": "positions",
    "Full": "filled",
    "Conv": "convolved",
    "ConvTranspose": "convolved",
    "ConvWeight": "convolved",
    "Unfold": "windows",
    "Pad": "padded",
    "Concat": "joined",
    "Flip": "flipped",
    "Roll": "rolled",
    "DiagEmbed": "diagonal",
    "Place": "placed",
    "Take": "rows_of",
    "Gather": "picked",
    "IndexAdd": "added",
    "ScatterAdd": "added",
    "Grouped": "grouped",
}
"""What helpers are called, by function, by operation or by class."""

_BARE = {"sum": "total", "all": "every", "any": "some", "abs": "magnitude", "round": "rounded"}
"""Names that stand without that of a tensor, in place of Python's own functions."""


@record
class Group:
    """The assignments that compute one equation: its helpers, then itself. ``comment`` is its formula."""

    comment: str
    assigns: tuple[p.Assign, ...]


def is_trivial(node: p.Node) -> bool:
    """Whether ``node`` is a name, a number or a view of one."""
    if isinstance(node, _VIEWS):
        return is_trivial(node.value) and not (isinstance(node, p.Cast) and node.value.kind != node.to)
    return isinstance(node, p.Ref | p.Scalar)


class Namer:
    """Makes names for helpers that no tensor, size or constant has."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)

    def fresh(self, node: p.Node) -> str:
        """A name that says what ``node`` is: ``softmax_z``, ``sum_dy``, ``product``."""
        while isinstance(node, (*_VIEWS, p.Reshape)):
            node = node.value
        if node.kind == "integer" and isinstance(node, p.Map):
            return self.unused("places")
        key = getattr(node, "function", None) or getattr(node, "op", None) or type(node).__name__
        stem = _STEMS.get(key, key).lower()
        if isinstance(node, p.Ref | p.Scalar):
            return self.unused(f"{getattr(node, 'name', 'number')}_view")
        first = next((c for c in p.children(node) if isinstance(c, p.Ref)), None)
        name = f"{stem}_{first.name}" if first is not None and stem == key else _BARE.get(stem, stem)
        return self.unused(name)

    def unused(self, name: str) -> str:
        """``name``, or with a number behind it."""
        candidate, number = name, 1
        while candidate in self.taken:
            number += 1
            candidate = f"{name}{number}"
        self.taken.add(candidate)
        return candidate


class Sharer:
    """Rewrites a plan's assignments so that every quantity is computed once."""

    def __init__(self, plan: p.Plan, namer: Namer, named: Callable[[p.Node], list[p.Node]]) -> None:
        self.plan, self.namer, self.named = plan, namer, named
        self.refs: dict[p.Node, p.Ref] = {}
        self.counts = _occurrences(a.value for a in plan.assignments)

    def groups(self) -> list[Group]:
        """The assignments, helpers first, by equation."""
        result: list[Group] = []
        pending: list[p.Assign] = []
        for assign in self.plan.assignments:
            value = self._inside(assign.value, pending)
            pending.append(p.Assign(assign.name, value, assign.comment))
            self.refs.setdefault(assign.value, assign.ref)
            if assign.comment or assign is self.plan.assignments[-1]:
                result.append(Group(assign.comment, tuple(pending)))
                pending = []
        return result

    def _inside(self, node: p.Node, helpers: list[p.Assign]) -> p.Node:
        """``node`` with references in place of the shared quantities inside it."""
        if node in self.refs:
            return self.refs[node]
        must = [c for c in self.named(node) if not isinstance(c, p.Ref)]
        return p.rebuild(node, lambda child: self._visit(child, helpers, child in must))

    def _visit(self, node: p.Node, helpers: list[p.Assign], must: bool) -> p.Node:
        known = self.refs.get(node)
        if known is not None and not isinstance(node, p.Ref):
            return known
        inner = self._inside(node, helpers)
        if is_trivial(inner) or (not must and self.counts[node] < 2):
            return inner
        assign = p.Assign(self.namer.fresh(inner), inner)
        helpers.append(assign)
        self.refs[node] = assign.ref
        return assign.ref


def _occurrences(values: Iterable[p.Node]) -> Counter[p.Node]:
    """How often each quantity would be computed; what is inside one counted twice counts once."""
    counts: Counter[p.Node] = Counter()
    stack = list(values)
    while stack:
        node = stack.pop()
        counts[node] += 1
        if counts[node] == 1:
            stack.extend(p.children(node))
    return counts
