"""A plan: array operations in order, as NumPy and PyTorch have them. Printers write it, ``execute`` runs it.

Every expression knows its ``shape`` and its ``kind``. A shape's first entry may be ``BATCH_SIZE`` (any number of
leading axes, which count as one axis here), so **axes are numbered from the end, by negative numbers**. Expressions
are frozen and compare by meaning; a constructor raises :class:`InternalError` where shapes or kinds do not fit.

Kinds: arithmetic that mixes a truth value or an integer with a :class:`Scalar` that is not an integer would take
its dtype from nowhere, so such an operand has to be :class:`Cast` to real first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from sympy import Expr, Integer, Rational, S, floor

from symderive.errors import InternalError
from symderive.lower import shapes
from symderive.lower.shapes import ROWS, Shape, show
from symderive.spec.functions import FUNCTIONS
from symderive.spec.sizes import BATCH_SIZE

__all__ = ["BATCH_SIZE", "ROWS", "Shape", "children", "rebuild", "replace", "walk"]

Kind = Literal["real", "integer", "boolean"]

COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
LOGIC = ("and", "or", "not")
ARITHMETIC = ("add", "sub", "mul", "div", "neg", "pow", "floordiv", "mod", "maximum", "minimum", "clamp", "where")
INTEGRAL = frozenset(ARITHMETIC) - {"div", "pow"} | {"abs", "sign", "square", "relu"}
"""Functions that make an integer of integers."""
ARITIES: dict[str, range] = (
    dict.fromkeys(
        (*COMPARISONS, "add", "sub", "mul", "div", "pow", "floordiv", "mod", "maximum", "minimum"), range(2, 3)
    )
    | dict.fromkeys(("and", "or"), range(2, 1000))
    | dict.fromkeys(("neg", "not"), range(1, 2))
    | dict.fromkeys(("where", "clamp"), range(3, 4))
    | {row.name: row.arity for row in FUNCTIONS.values()}
)
"""The functions that :class:`Map` knows, and the numbers of their arguments."""

REDUCE_OPS = ("sum", "mean", "prod", "amax", "amin", "logsumexp", "any", "all", "argmax", "argmin")
SCAN_OPS = ("sum", "prod", "amax", "amin", "logsumexp")
NORMALISE_OPS = ("softmax", "log_softmax")
MATRIX_OPS = ("inv", "det", "logdet")


class Node:
    """An array expression. A subclass is a frozen dataclass and says in ``_infer`` what shape and kind it has."""

    shape: Shape
    kind: Kind

    def __post_init__(self) -> None:
        shape, kind = self._infer()
        object.__setattr__(self, "shape", shapes.sizes(shape))
        object.__setattr__(self, "kind", kind)

    def _infer(self) -> tuple[Shape, Kind]:
        raise NotImplementedError

    @property
    def rank(self) -> int:
        """The number of axes behind the batch axes."""
        return len(shapes.plain(self.shape))

    @property
    def has_batch(self) -> bool:
        """Whether the first axes are the batch axes."""
        return shapes.has_batch(self.shape)


def _member(value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InternalError(f"{value!r} is none of {', '.join(known)}")


# --- leaves


@dataclass(frozen=True)
class Ref(Node):
    """The value of an input or of an earlier assignment."""

    name: str
    shape: Shape = ()
    kind: Kind = "real"

    def _infer(self) -> tuple[Shape, Kind]:
        return self.shape, self.kind


@dataclass(frozen=True)
class Scalar(Node):
    """A Python number: an expression over sizes, named constants, ``pi``, ``oo``; ``BATCH_SIZE`` is a number here."""

    value: Expr

    def _infer(self) -> tuple[Shape, Kind]:
        return (), "integer" if self.value.is_integer else "real"


@dataclass(frozen=True)
class Arange(Node):
    """The integers 0, 1, ..., extent - 1."""

    extent: Expr

    def _infer(self) -> tuple[Shape, Kind]:
        return (self.extent,), "integer"


@dataclass(frozen=True)
class Full(Node):
    """An array of one number, ``value``, an expression as in :class:`Scalar`; ``of`` is its kind."""

    extents: Shape
    value: Expr = S.Zero
    of: Kind = "real"

    def _infer(self) -> tuple[Shape, Kind]:
        return self.extents, self.of


@dataclass(frozen=True)
class Eye(Node):
    """The identity matrix."""

    extent: Expr

    def _infer(self) -> tuple[Shape, Kind]:
        return (self.extent, self.extent), "real"


# --- element-wise


@dataclass(frozen=True)
class Map(Node):
    """``function`` applied entry by entry to arguments that broadcast as in NumPy."""

    function: str
    args: tuple[Node, ...]

    def _infer(self) -> tuple[Shape, Kind]:
        if len(self.args) not in ARITIES.get(self.function, ()):
            raise InternalError(f"no function {self.function!r} of {len(self.args)} arguments")
        shape = shapes.broadcast(*(a.shape for a in self.args))
        if self.function in COMPARISONS or self.function in LOGIC:
            if self.function in LOGIC and any(a.kind != "boolean" for a in self.args):
                raise InternalError(f"{self.function!r} of something that is no condition")
            return shape, "boolean"
        values = self.args[1:] if self.function == "where" else self.args
        return shape, _result_kind(self.function, values)


def _result_kind(function: str, values: tuple[Node, ...]) -> Kind:
    kinds = {v.kind for v in values}
    if function == "where":
        return next(k for k in ("real", "integer", "boolean") if k in kinds)  # type: ignore[return-value]
    if "boolean" in kinds and not (function == "mul" and any(_is_real_array(v) for v in values)):
        raise InternalError(f"{function!r} of a truth value: cast it to real")
    if kinds == {"integer"} and (function in INTEGRAL or (function == "pow" and _is_power(values[1]))):
        return "integer"
    if not any(_is_real_array(v) for v in values) and not all(isinstance(v, Scalar) for v in values):
        raise InternalError(f"{function!r} makes a real of integers: cast them to real")
    return "real"


def _is_real_array(value: Node) -> bool:
    return value.kind == "real" and not isinstance(value, Scalar)


def _is_power(value: Node) -> bool:
    return isinstance(value, Scalar) and bool(value.value.is_nonnegative)


@dataclass(frozen=True)
class Cast(Node):
    """The same values as another kind; a truth value is 0 or 1. A real has the dtype of the real inputs."""

    value: Node
    to: Kind = "real"

    def _infer(self) -> tuple[Shape, Kind]:
        return self.value.shape, self.to


# --- the same entries in another arrangement


@dataclass(frozen=True)
class Permute(Node):
    """The axes behind the batch axes in a new order: axis n of the result is axis ``order[n]`` of ``value``."""

    value: Node
    order: tuple[int, ...]

    def _infer(self) -> tuple[Shape, Kind]:
        return shapes.permuted(self.value.shape, self.order), self.value.kind


@dataclass(frozen=True)
class Expand(Node):
    """New axes of extent 1, which are the ``axes`` of the result: ``(-1,)`` is ``x[..., None]``."""

    value: Node
    axes: tuple[int, ...]

    def _infer(self) -> tuple[Shape, Kind]:
        return shapes.expanded(self.value.shape, self.axes), self.value.kind


@dataclass(frozen=True)
class Reshape(Node):
    """The entries in row-major order in another shape. ``ROWS`` first flattens the batch axes into one."""

    value: Node
    to: Shape

    def _infer(self) -> tuple[Shape, Kind]:
        return shapes.reshaped(self.value.shape, shapes.sizes(self.to)), self.value.kind


@dataclass(frozen=True)
class BroadcastTo(Node):
    """``value`` seen in a larger shape."""

    value: Node
    to: Shape

    def _infer(self) -> tuple[Shape, Kind]:
        to = shapes.sizes(self.to)
        if not shapes.same_shape(shapes.broadcast(self.value.shape, to), to):
            raise InternalError(f"{show(self.value.shape)} does not broadcast to {show(to)}")
        return to, self.value.kind


@dataclass(frozen=True)
class Flip(Node):
    """The entries in reverse order along ``axes``."""

    value: Node
    axes: tuple[int, ...]

    def _infer(self) -> tuple[Shape, Kind]:
        shapes.check_axes(self.value.shape, self.axes)
        return self.value.shape, self.value.kind


@dataclass(frozen=True)
class Roll(Node):
    """``result[i] = value[(i - shift) % extent]`` along ``axis``, as ``np.roll``."""

    value: Node
    shift: Expr
    axis: int

    def _infer(self) -> tuple[Shape, Kind]:
        shapes.check_axis(self.value.shape, self.axis)
        return self.value.shape, self.value.kind


@dataclass(frozen=True)
class Span:
    """The entries ``start, start + step, ...`` of an axis, ``length`` of them; ``step`` is positive."""

    start: Expr
    length: Expr
    step: Expr = S.One


@dataclass(frozen=True)
class At:
    """One entry of an axis, which thereby disappears."""

    position: Expr


Item = Span | At | None
"""What is taken of an axis; None is all of it."""


@dataclass(frozen=True)
class Slice(Node):
    """Part of ``value``: one item for each axis behind the batch axes. The caller sees to it that it is in range."""

    value: Node
    items: tuple[Item, ...]

    def _infer(self) -> tuple[Shape, Kind]:
        extents = shapes.plain(self.value.shape)
        if len(extents) != len(self.items):
            raise InternalError(f"{len(self.items)} items for {show(self.value.shape)}")
        kept = [
            i.length if isinstance(i, Span) else e
            for i, e in zip(self.items, extents, strict=True)
            if not isinstance(i, At)
        ]
        return (*shapes.front(self.value.shape), *kept), self.value.kind


@dataclass(frozen=True)
class Place(Node):
    """Zeros of shape ``into`` but for ``result[items] = value``: the adjoint of :class:`Slice`."""

    value: Node
    into: Shape
    items: tuple[Item, ...]

    def _infer(self) -> tuple[Shape, Kind]:
        into = shapes.sizes(self.into)
        part = Slice(Ref("_", into, self.value.kind), self.items)
        if not shapes.same_shape(part.shape, self.value.shape):
            raise InternalError(f"{show(self.value.shape)} does not fit the place {show(part.shape)}")
        return into, self.value.kind


@dataclass(frozen=True)
class Pad(Node):
    """``value`` with ``widths[n] = (before, after)`` entries of ``fill`` around axis n of those behind the batch."""

    value: Node
    widths: tuple[tuple[Expr, Expr], ...]
    fill: Expr = S.Zero

    def _infer(self) -> tuple[Shape, Kind]:
        extents = shapes.plain(self.value.shape)
        if len(extents) != len(self.widths):
            raise InternalError(f"{len(self.widths)} widths for {show(self.value.shape)}")
        padded = (e + a + b for e, (a, b) in zip(extents, self.widths, strict=True))
        return (*shapes.front(self.value.shape), *padded), self.value.kind


@dataclass(frozen=True)
class Unfold(Node):
    """Windows of ``size`` entries, ``step`` apart: ``axis`` counts the windows, a new last axis the entries in one."""

    value: Node
    axis: int
    size: Expr
    step: Expr = S.One

    def _infer(self) -> tuple[Shape, Kind]:
        shape, axis = list(self.value.shape), shapes.check_axis(self.value.shape, self.axis)
        shape[axis] = floor((shape[axis] - self.size) / self.step) + 1
        return (*shape, self.size), self.value.kind


@dataclass(frozen=True)
class Diagonal(Node):
    """The diagonal of the last two axes, which becomes the last one."""

    value: Node

    def _infer(self) -> tuple[Shape, Kind]:
        shapes.check_axis(self.value.shape, -2)
        *rest, rows, columns = self.value.shape
        if not shapes.same_size(rows, columns):
            raise InternalError(f"no diagonal of {show(self.value.shape)}")
        return (*rest, rows), self.value.kind


@dataclass(frozen=True)
class DiagEmbed(Node):
    """The last axis as the diagonal of two, and zeros elsewhere."""

    value: Node

    def _infer(self) -> tuple[Shape, Kind]:
        shapes.check_axis(self.value.shape, -1)
        return (*self.value.shape, self.value.shape[-1]), self.value.kind


# --- entries at computed places


@dataclass(frozen=True)
class Take(Node):
    """Entries at integer arrays, NumPy's ``value[..., t, u, :]``: one array, or None for all, an axis behind the batch.

    The arrays broadcast together; they stand side by side, and their axes take the place of those they index. With
    batch axes in ``value`` the arrays have none (:class:`Gather` is for arrays that vary along the batch).
    """

    value: Node
    indices: tuple[Node | None, ...]

    def _infer(self) -> tuple[Shape, Kind]:
        return _taken(self.value.shape, self.indices), self.value.kind


def _taken(shape: Shape, indices: tuple[Node | None, ...]) -> Shape:
    arrays = [i for i in indices if i is not None]
    where = [n for n, i in enumerate(indices) if i is not None]
    extents = shapes.plain(shape)
    if not arrays or len(indices) != len(extents) or where != list(range(where[0], where[-1] + 1)):
        raise InternalError(f"indices at {where} do not fit {show(shape)}")
    if any(a.kind != "integer" for a in arrays):
        raise InternalError("an index array holds integers")
    joined = shapes.broadcast(*(a.shape for a in arrays))
    if shapes.has_batch(joined) and (shapes.has_batch(shape) or where[0] > 0):
        raise InternalError("batch axes of an index array come first")
    return (*shapes.front(shape), *extents[: where[0]], *joined, *extents[where[-1] + 1 :])


@dataclass(frozen=True)
class IndexAdd(Node):
    """``result[..., t, u, :] += source``, repeated places added up: the adjoint of :class:`Take`.

    Into zeros of shape ``into``, or into a copy of ``base``.
    """

    source: Node
    into: Shape
    indices: tuple[Node | None, ...]
    base: Node | None = None

    def _infer(self) -> tuple[Shape, Kind]:
        into = shapes.sizes(self.into)
        _check_scatter(self.source.shape, _taken(into, self.indices), into, self.base)
        return into, _scattered_kind(self.source, self.base)


@dataclass(frozen=True)
class Gather(Node):
    """``result[.., i, ..] = value[.., index[.., i, ..], ..]`` along ``axis``, as ``np.take_along_axis``.

    ``index`` has the rank of ``value`` and its extents, but for ``axis``.
    """

    value: Node
    index: Node
    axis: int

    def _infer(self) -> tuple[Shape, Kind]:
        return _gathered(self.value.shape, self.index, self.axis), self.value.kind


def _gathered(shape: Shape, index: Node, axis: int) -> Shape:
    shapes.check_axis(shape, axis)
    if index.kind != "integer":
        raise InternalError("an index array holds integers")
    fitted = list(shape)
    fitted[axis] = index.shape[axis] if len(index.shape) >= -axis else S.Zero
    if not shapes.same_shape(tuple(fitted), index.shape):
        raise InternalError(f"index {show(index.shape)} does not gather from {show(shape)} along {axis}")
    return index.shape


@dataclass(frozen=True)
class ScatterAdd(Node):
    """``result[.., index[.., i, ..], ..] += source[.., i, ..]`` along ``axis``: the adjoint of :class:`Gather`.

    Into zeros of shape ``into``, or into a copy of ``base``.
    """

    source: Node
    into: Shape
    index: Node
    axis: int
    base: Node | None = None

    def _infer(self) -> tuple[Shape, Kind]:
        into = shapes.sizes(self.into)
        _check_scatter(self.source.shape, _gathered(into, self.index, self.axis), into, self.base)
        return into, _scattered_kind(self.source, self.base)


def _scattered_kind(source: Node, base: Node | None) -> Kind:
    return "real" if base is not None and base.kind == "real" else source.kind


def _check_scatter(source: Shape, wanted: Shape, into: Shape, base: Node | None) -> None:
    if not shapes.same_shape(source, wanted):
        raise InternalError(f"source {show(source)} where {show(wanted)} is scattered")
    if base is not None and not shapes.same_shape(base.shape, into):
        raise InternalError(f"base {show(base.shape)} is not {show(into)}")


# --- reductions and scans


@dataclass(frozen=True)
class Reduce(Node):
    """``op`` over ``axes``; the batch axes may be among them. ``argmax`` and ``argmin`` take one axis.

    An empty sum is 0, an empty product 1, an empty amax or logsumexp -inf, an empty amin inf, an empty mean NaN.
    """

    op: str
    value: Node
    axes: tuple[int, ...]
    keepdim: bool = False

    def _infer(self) -> tuple[Shape, Kind]:
        _member(self.op, REDUCE_OPS)
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


@dataclass(frozen=True)
class Scan(Node):
    """The running ``op`` along ``axis``, the entry itself included; ``reverse`` runs from the end."""

    op: str
    value: Node
    axis: int
    reverse: bool = False

    def _infer(self) -> tuple[Shape, Kind]:
        _member(self.op, SCAN_OPS)
        shapes.check_axis(self.value.shape, self.axis)
        return self.value.shape, _reduced_kind(self.op, self.value.kind)


@dataclass(frozen=True)
class Normalise(Node):
    """``softmax`` or ``log_softmax`` along ``axis``."""

    op: str
    value: Node
    axis: int

    def _infer(self) -> tuple[Shape, Kind]:
        _member(self.op, NORMALISE_OPS)
        shapes.check_axis(self.value.shape, self.axis)
        return self.value.shape, _reduced_kind("logsumexp", self.value.kind)


# --- contractions and linear algebra


@dataclass(frozen=True)
class MatMul(Node):
    """``left @ right``, as NumPy has it for vectors, matrices and stacks of matrices."""

    left: Node
    right: Node

    def _infer(self) -> tuple[Shape, Kind]:
        _check_real("matmul", self.left, self.right)
        return shapes.matmul(self.left.shape, self.right.shape), "real"


@dataclass(frozen=True)
class Einsum(Node):
    """``einsum("...nk,jk->...nj", *operands)``; the batch axes are written ``...`` and are never summed."""

    equation: str
    operands: tuple[Node, ...]

    def _infer(self) -> tuple[Shape, Kind]:
        _check_real("einsum", *self.operands)
        return shapes.einsum(self.equation, [o.shape for o in self.operands]), "real"


def _check_real(what: str, *operands: Node) -> None:
    if any(not _is_real_array(o) for o in operands):
        raise InternalError(f"{what} of something that is no real array")


@dataclass(frozen=True)
class Matrix(Node):
    """``inv``, ``det`` or ``logdet`` of the square matrices in the last two axes."""

    op: str
    value: Node

    def _infer(self) -> tuple[Shape, Kind]:
        _member(self.op, MATRIX_OPS)
        _check_real(self.op, self.value)
        diagonal = Diagonal(self.value)
        return (self.value.shape if self.op == "inv" else diagonal.shape[:-1]), "real"


@dataclass(frozen=True)
class Window:
    """The geometry of a convolution: one entry a spatial axis, ``groups`` apart."""

    stride: tuple[Expr, ...]
    padding: tuple[Expr, ...]
    dilation: tuple[Expr, ...]
    groups: Expr = S.One

    @classmethod
    def plain(cls, dimensions: int = 1) -> Window:
        """Stride 1, no padding, dilation 1."""
        one, zero = (Integer(1),) * dimensions, (Integer(0),) * dimensions
        return cls(one, zero, one)

    def extents(self, value: Shape, kernel: Shape) -> Shape:
        """The spatial extents of a convolution from those of its operand and of its kernel."""
        parts = zip(value, kernel, self.stride, self.padding, self.dilation, strict=True)
        return tuple(shapes.conv_extent(*p) for p in parts)


@dataclass(frozen=True)
class Conv(Node):
    """``F.conv1d``, ``conv2d`` or ``conv3d``: ``value`` [N, C, *space], ``weight`` [O, C / groups, *kernel].

    ``result[n, o, h] = sum over c, r of value[n, c, stride h + dilation r - padding] weight[o, c, r]``.
    """

    value: Node
    weight: Node
    window: Window

    def _infer(self) -> tuple[Shape, Kind]:
        _check_real("convolution", self.value, self.weight)
        space = _space(self.value, self.weight, self.window)
        if not shapes.same_size(self.value.shape[1], self.weight.shape[1] * self.window.groups):
            raise InternalError(f"channels of {show(self.value.shape)} and {show(self.weight.shape)} differ")
        return (self.value.shape[0], self.weight.shape[0], *space), "real"


def _space(value: Node, weight: Node, window: Window) -> Shape:
    dimensions = len(window.stride)
    if value.has_batch or len(value.shape) != dimensions + 2 or len(weight.shape) != dimensions + 2:
        raise InternalError(f"no convolution of {show(value.shape)} with {show(weight.shape)}")
    return window.extents(value.shape[2:], weight.shape[2:])


@dataclass(frozen=True)
class ConvTranspose(Node):
    """The adjoint of :class:`Conv` in its ``value``: ``source`` [N, O, *out], ``weight`` as there.

    ``space`` are the spatial extents of the result [N, C, *space].
    """

    source: Node
    weight: Node
    window: Window
    space: Shape

    def _infer(self) -> tuple[Shape, Kind]:
        channels = self.weight.shape[1] * self.window.groups
        shape = (self.source.shape[0], channels, *shapes.sizes(self.space))
        _check_adjoint(self.source, Conv(Ref("_", shape), self.weight, self.window))
        return shape, "real"


@dataclass(frozen=True)
class ConvWeight(Node):
    """The adjoint of :class:`Conv` in its ``weight``: ``value`` [N, C, *space], ``source`` [N, O, *out].

    ``kernel`` are the spatial extents of the result [O, C / groups, *kernel].
    """

    value: Node
    source: Node
    window: Window
    kernel: Shape

    def _infer(self) -> tuple[Shape, Kind]:
        channels = self.value.shape[1] / self.window.groups
        shape = (self.source.shape[1], channels, *shapes.sizes(self.kernel))
        _check_adjoint(self.source, Conv(self.value, Ref("_", shape), self.window))
        return shape, "real"


def _check_adjoint(source: Node, forward: Conv) -> None:
    if not shapes.same_shape(source.shape, forward.shape):
        raise InternalError(f"source {show(source.shape)} where the convolution makes {show(forward.shape)}")


# --- plans


@dataclass(frozen=True)
class Assign:
    """``name = value``. ``comment`` is its formula in index form; empty for a helper."""

    name: str
    value: Node
    comment: str = ""

    @property
    def ref(self) -> Ref:
        """A reference to it."""
        return Ref(self.name, self.value.shape, self.value.kind)


@dataclass(frozen=True)
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

    @property
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
