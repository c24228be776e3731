"""What the language calls the binders and the functions of several arguments of the index algebra."""

from __future__ import annotations

from sympy import Expr, S

from symderive.algebra import nodes

REDUCTIONS: dict[type, tuple[str, Expr | None]] = {
    nodes.Sum: ("sum", S.Zero),
    nodes.Prod: ("prod", S.One),
    nodes.Max: ("max", S.NegativeInfinity),
    nodes.Min: ("min", S.Infinity),
    nodes.LogSumExp: ("logsumexp", S.NegativeInfinity),
    nodes.Any: ("any", S.Zero),
    nodes.All: ("all", S.One),
    nodes.ArgMax: ("argmax", S.NegativeInfinity),
    nodes.ArgMin: ("argmin", S.Infinity),
    nodes.Det: ("det", None),
    nodes.LogDet: ("logdet", None),
}

MATRICES: dict[type, str] = {nodes.Inverse: "inv", nodes.Cholesky: "cholesky"}

UNORDERED = {binder for binder, (_, neutral) in REDUCTIONS.items() if neutral is not None}
"""Binders whose indices may stand in any order: not those of a matrix, whose first index is its row."""

CALLS: dict[type, str] = {nodes.Maximum: "max", nodes.Minimum: "min", nodes.Clamp: "clamp", nodes.Stop: "stop"}
