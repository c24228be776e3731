"""Expressions that combine entries along axes: reductions, scans, contractions, linear algebra."""

from __future__ import annotations

from sympy import Expr

from symderive.errors import InternalError
from symderive.lower import shapes
from symderive.lower.node import (
    GROUP_OPS,
    MATRIX_OPS,
    NORMALISE_OPS,
    REDUCE_OPS,
    SCAN_OPS,
    SOLVE_FORMS,
    Kind,
    Node,
    is_real_array,
    member,
)
from symderive.lower.node_arrange import Diagonal
from symderive.lower.shapes import Shape
from symderive.record import record


@record
class Reduce(Node):
    """``op`` over ``axes``; the batch axes may be among them. ``argmax`` and ``argmin`` take one axis.

    An empty sum is 0, an empty product 1, an empty amax or logsumexp -inf, an empty amin inf, an empty mean NaN.
    """

    op: str
    value: Node
    axes: tuple[int, ...]
    keepdim: bool = False

    def _infer(self) -> tuple[Shape, Kind]:
        member(self.op, REDUCE_OPS)
        kind = _reduced_kind(self.op, self.value.kind)
        if kind == "integer" and self.op.startswith("arg") and len(self.axes) != 1:
            raise InternalError(f"{self.op} over {len(self.axes)} axes")
        return shapes.reduced(self.value.shape, self.axes, self.keepdim), kind


def _reduced_kind(op: str, kind: Kind) -> Kind:
    if op in ("any", "all"):
        if kind != "boolean":
            raise InternalError(f"{op!r} of something that is no condition")
        return "boolean"
    if op in ("argmax", "argmin"):
        return "integer"
    if kind == "boolean" or (kind == "integer" and op in ("mean", "logsumexp")):
        raise InternalError(f"{op!r} of {kind}s: cast them to real")
    return kind


@record
class Scan(Node):
    """The running ``op`` along ``axis``, the entry itself included; ``reverse`` runs from the end."""

    op: str
    value: Node
    axis: int
    reverse: bool = False

    def _infer(self) -> tuple[Shape, Kind]:
        member(self.op, SCAN_OPS)
        shapes.check_axis(self.value.shape, self.axis)
        return self.value.shape, _reduced_kind(self.op, self.value.kind)


@record
class Normalise(Node):
    """``softmax`` or ``log_softmax`` along ``axis``."""

    op: str
    value: Node
    axis: int

    def _infer(self) -> tuple[Shape, Kind]:
        member(self.op, NORMALISE_OPS)
        shapes.check_axis(self.value.shape, self.axis)
        return self.value.shape, _reduced_kind("logsumexp", self.value.kind)


@record
class Grouped(Node):
    """``op`` along ``axis`` over the entries of one group: entry e is in the group ``index[e]`` of ``count``.

    A softmax keeps the axis; of the others there is one a group. An empty amax or logsumexp is -inf, an empty amin inf.
    """

    op: str
    value: Node
    index: Node
    axis: int
    count: Expr

    def _infer(self) -> tuple[Shape, Kind]:
        member(self.op, GROUP_OPS)
        shapes.check_axis(self.value.shape, self.axis)
        shape = self.value.shape
        if self.index.kind != "integer" or not shapes.same_shape(self.index.shape, (shape[self.axis],)):
            raise InternalError(f"groups {shapes.show(self.index.shape)} of {shapes.show(shape)} along {self.axis}")
        extents = list(shape)
        extents[self.axis] = shape[self.axis] if self.op == "softmax" else self.count
        return tuple(extents), _reduced_kind("logsumexp", self.value.kind)


@record
class MatMul(Node):
    """``left @ right``, as NumPy has it for vectors, matrices and stacks of matrices."""

    left: Node
    right: Node

    def _infer(self) -> tuple[Shape, Kind]:
        check_real("matmul", self.left, self.right)
        return shapes.matmul(self.left.shape, self.right.shape), "real"


@record
class Einsum(Node):
    """``einsum("...nk,jk->...nj", *operands)``; the batch axes are written ``...`` and are never summed."""

    equation: str
    operands: tuple[Node, ...]

    def _infer(self) -> tuple[Shape, Kind]:
        check_real("einsum", *self.operands)
        return shapes.einsum(self.equation, [o.shape for o in self.operands]), "real"


def check_real(what: str, *operands: Node) -> None:
    """That all operands of ``what`` are real arrays."""
    if any(not is_real_array(o) for o in operands):
        raise InternalError(f"{what} of something that is no real array")


@record
class Matrix(Node):
    """``inv``, ``det``, ``logdet`` or ``cholesky`` of the square matrices in the last two axes.

    A Cholesky factor reads the lower triangle only.
    """

    op: str
    value: Node

    def _infer(self) -> tuple[Shape, Kind]:
        member(self.op, tuple(MATRIX_OPS))
        check_real(self.op, self.value)
        diagonal = Diagonal(self.value)
        return (self.value.shape if MATRIX_OPS[self.op] else diagonal.shape[:-1]), "real"


@record
class Solve(Node):
    """The x of ``matrix @ x = right``: a vector for one matrix, else matrices of columns, stacked as ``right`` is.

    ``form`` says which triangle of the matrix is all there is to it.
    """

    matrix: Node
    right: Node
    form: str = "general"

    def _infer(self) -> tuple[Shape, Kind]:
        member(self.form, SOLVE_FORMS)
        check_real("solve", self.matrix, self.right)
        Diagonal(self.matrix)
        stack, rank = len(self.matrix.shape) - 2, len(self.right.shape)
        if self.matrix.shape[:stack] != self.right.shape[: rank - 2] and (stack or rank != 1):
            raise InternalError("a system's matrix and its right side are not stacked alike")
        return self.right.shape, "real"
