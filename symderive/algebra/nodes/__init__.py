"""The index algebra's nodes: SymPy expressions for tensor entries, conditions and binders.

Everything is a real scalar as a function of the indices that are free in it; a condition is worth 0 or 1.

Binders are *locally nameless*. A bound index has no name: it is numbered by its level, one more than the highest
level bound inside, so that two binders that differ only in the names of their bound indices are the same SymPy
expression, and nothing can be captured. To look inside, ``open`` a binder: that puts fresh indices in place of the
bound ones. To make one, call ``Sum.over(body, indices)``. Never ``xreplace`` an index by an expression that holds
bound indices of another binder.
"""

from __future__ import annotations

from symderive.algebra.nodes.binders import (
    All,
    Any,
    ArgMax,
    ArgMin,
    Binder,
    Cholesky,
    Det,
    Inverse,
    LogDet,
    LogSumExp,
    MatrixBinder,
    Max,
    Min,
    Prod,
    Sum,
)
from symderive.algebra.nodes.conditions import And, Condition, Eq, Le, Lt, Not, Or, Where
from symderive.algebra.nodes.entries import Access, Apply, Clamp, FloorDiv, Maximum, Minimum, Mod, Node, Pad, Stop
from symderive.algebra.nodes.index import Index, free_indices, indices_in
from symderive.spec.sizes import BATCH_SIZE

__all__ = [
    "BATCH_SIZE",
    "Access",
    "All",
    "And",
    "Any",
    "Apply",
    "ArgMax",
    "ArgMin",
    "Binder",
    "Cholesky",
    "Clamp",
    "Condition",
    "Det",
    "Eq",
    "FloorDiv",
    "Index",
    "Inverse",
    "Le",
    "LogDet",
    "LogSumExp",
    "Lt",
    "MatrixBinder",
    "Max",
    "Maximum",
    "Min",
    "Minimum",
    "Mod",
    "Node",
    "Not",
    "Or",
    "Pad",
    "Prod",
    "Stop",
    "Sum",
    "Where",
    "free_indices",
    "indices_in",
]
