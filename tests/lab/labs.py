"""Invented labs: numbers that no run gave, for a writer that must not know what usually comes out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from symderive.report.lab.data import ErrorRow, Graph, Kept, Kernels, Lab, Memory, Node, Orders, Setting

NODES = (
    Node(
        "AddmmBackward0", (1, 2), equations=("y",), computes="y", kept=(Kept("mat1", "x", (2, 3), "float32", 24, True),)
    ),
    Node("AccumulateGrad", leaf="x"),
    Node("TBackward0", (3,), equations=("y",)),
    Node("AccumulateGrad", leaf="W"),
)
GRAPH = Graph(NODES, {"y": 0}, True, {"N": 2}, "float32", ("linear",))
SETTING = Setting("linear", "A layer", "linear.yaml", {"N": 2}, 2, 0, ("float32",), ("cpu",))


def row(run: int = 0, gradient: str = "dW", dtype: str = "float32", **values: Any) -> ErrorRow:
    """A row of a gradient that is autograd's to the last bit, with a small error against float64."""
    given = {"autograd": 0.0, "float64": 1e-6, "relative": 1e-5, "bound": 1e-4, **values}
    return ErrorRow(run, gradient, dtype, given.pop("device", "cpu"), **given)


def lab(*rows: ErrorRow, **parts: Any) -> Lab:
    """A lab with these rows."""
    made = Lab(
        SETTING,
        rows or (row(0), row(1)),
        {"float32": Kernels(("mm", "sum"), ("mm", "sum"))},
        (Orders("dW", 10, 10, 8, 1e-6, 2e-6, 1e-6),),
        GRAPH,
        (Kept("x", "x", (2, 3), "float32", 24, True),),
        Memory(100, 100, 200, 200),
        (),
    )
    return replace(made, **parts)
