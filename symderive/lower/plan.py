"""A plan: array operations in order, as NumPy and PyTorch have them. Printers write it, ``execute`` runs it.

Every expression knows its ``shape`` and its ``kind``. A shape's first entry may be ``BATCH_SIZE`` (any number of
leading axes, which count as one axis here), so **axes are numbered from the end, by negative numbers**. Expressions
are frozen and compare by meaning; a constructor raises :class:`InternalError` where shapes or kinds do not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, fields, replace
from functools import cached_property
from typing import Any

from sympy import Expr, Integer, Rational

from symderive.errors import InternalError
from symderive.lower import shapes
from symderive.lower.node import (
    ARITHMETIC,
    ARITIES,
    COMPARISONS,
    GROUP_OPS,
    INTEGRAL,
    LOGIC,
    MATRIX_OPS,
    NORMALISE_OPS,
    REDUCE_OPS,
    SCAN_OPS,
    Arange,
    Cast,
    Eye,
    Full,
    Kind,
    Map,
    Node,
    Ref,
    Scalar,
)
from symderive.lower.node_arrange import (
    At,
    BroadcastTo,
    Concat,
    DiagEmbed,
    Diagonal,
    Expand,
    Flip,
    Item,
    Pad,
    Permute,
    Place,
    Reshape,
    Roll,
    Slice,
    Span,
    Unfold,
)
from symderive.lower.node_conv import Conv, ConvTranspose, ConvWeight, Window
from symderive.lower.node_places import Gather, IndexAdd, ScatterAdd, Take
from symderive.lower.node_reduce import Einsum, Grouped, MatMul, Matrix, Normalise, Reduce, Scan, Solve
from symderive.lower.shapes import ROWS, Shape
from symderive.record import record
from symderive.spec.sizes import BATCH_SIZE

__all__ = [
    "ARITHMETIC",
    "ARITIES",
    "BATCH_SIZE",
    "COMPARISONS",
    "GROUP_OPS",
    "INTEGRAL",
    "LOGIC",
    "MATRIX_OPS",
    "NORMALISE_OPS",
    "REDUCE_OPS",
    "ROWS",
    "SCAN_OPS",
    "Arange",
    "Assign",
    "At",
    "BroadcastTo",
    "Cast",
    "Concat",
    "Conv",
    "ConvTranspose",
    "ConvWeight",
    "DiagEmbed",
    "Diagonal",
    "Einsum",
    "Expand",
    "Eye",
    "Flip",
    "Full",
    "Gather",
    "Grouped",
    "IndexAdd",
    "Integer",
    "Item",
    "Kind",
    "Map",
    "MatMul",
    "Matrix",
    "Node",
    "Normalise",
    "Pad",
    "Permute",
    "Place",
    "Plan",
    "Reduce",
    "Ref",
    "Reshape",
    "Roll",
    "Scalar",
    "Scan",
    "ScatterAdd",
    "Shape",
    "Slice",
    "Solve",
    "Span",
    "Take",
    "Unfold",
    "Window",
    "children",
    "constant",
    "rebuild",
    "replace",
    "shapes",
    "walk",
]


@record
class Assign:
    """``name = value``. ``comment`` is its formula in index form; empty for a helper."""

    name: str
    value: Node
    comment: str = ""

    @property
    def ref(self) -> Ref:
        """A reference to it."""
        return Ref(self.name, self.value.shape, self.value.kind)


@record
class Plan:
    """Assignments in order, over ``inputs``; ``constants`` are the values of the symbols of named constants."""

    name: str
    inputs: tuple[Ref, ...]
    assignments: tuple[Assign, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, Rational] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {r.name: r for r in self.inputs}
        for assign in self.assignments:
            for node in walk(assign.value):
                if isinstance(node, Ref) and not _fits(node, known.get(node.name)):
                    raise InternalError(f"{assign.name!r} reads {node.name!r}, which is not defined with that shape")
            if assign.name in known:
                raise InternalError(f"{assign.name!r} is assigned twice")
            known[assign.name] = assign.ref
        if missing := [o for o in self.outputs if o not in known]:
            raise InternalError(f"outputs {missing} are not defined")

    @cached_property
    def refs(self) -> dict[str, Ref]:
        """Every input and assignment by its name."""
        return {r.name: r for r in self.inputs} | {a.name: a.ref for a in self.assignments}


def _fits(ref: Ref, known: Ref | None) -> bool:
    return known is not None and ref.kind == known.kind and shapes.same_shape(ref.shape, known.shape)


def constant(node: Node) -> Expr | None:
    """The number that every entry of ``node`` is, where it is made of one number by arrangement alone."""
    if isinstance(node, Scalar | Full):
        return node.value
    if isinstance(node, BroadcastTo | Expand | Reshape | Permute | Flip | Cast):
        return constant(node.value)
    return None


def children(node: Node) -> Iterator[Node]:
    """The expressions directly inside ``node``, in order."""
    for part in fields(node):  # type: ignore[arg-type]
        value = getattr(node, part.name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Node):
                yield item


def walk(node: Node) -> Iterator[Node]:
    """``node`` and every expression below it, parents first."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(list(children(top))))


def rebuild(node: Node, change: Any) -> Node:
    """``node`` with ``change(child)`` in place of every child; the same object where none differs."""
    changed: dict[str, Any] = {}
    for part in fields(node):  # type: ignore[arg-type]
        old = getattr(node, part.name)
        new = _changed(old, change)
        if new is not old:
            changed[part.name] = new
    return replace(node, **changed) if changed else node  # type: ignore[type-var]


def _changed(value: Any, change: Any) -> Any:
    if isinstance(value, Node):
        return change(value)
    if isinstance(value, tuple) and any(isinstance(v, Node) for v in value):
        new = tuple(change(v) if isinstance(v, Node) else v for v in value)
        return value if all(a is b for a, b in zip(new, value, strict=True)) else new
    return value
