"""Expressions with the same entries in another arrangement: transposed, sliced, padded, windowed."""

from __future__ import annotations

from sympy import Expr, S, floor

from symderive.errors import InternalError
from symderive.lower import shapes
from symderive.lower.node import Kind, Node, Ref
from symderive.lower.shapes import Shape, show
from symderive.record import record


@record
class Permute(Node):
    """The axes behind the batch axes in a new order: axis n of the result is axis ``order[n]`` of ``value``."""

    value: Node
    order: tuple[int, ...]

    def _infer(self) -> tuple[Shape, Kind]:
        return shapes.permuted(self.value.shape, self.order), self.value.kind


@record
class Expand(Node):
    """New axes of extent 1, which are the ``axes`` of the result: ``(-1,)`` is ``x[..., None]``."""

    value: Node
    axes: tuple[int, ...]

    def _infer(self) -> tuple[Shape, Kind]:
        return shapes.expanded(self.value.shape, self.axes), self.value.kind


@record
class Reshape(Node):
    """The entries in row-major order in another shape. ``ROWS`` first flattens the batch axes into one."""

    value: Node
    to: Shape

    def _infer(self) -> tuple[Shape, Kind]:
        return shapes.reshaped(self.value.shape, shapes.sizes(self.to)), self.value.kind


@record
class BroadcastTo(Node):
    """``value`` seen in a larger shape."""

    value: Node
    to: Shape

    def _infer(self) -> tuple[Shape, Kind]:
        to = shapes.sizes(self.to)
        if not shapes.same_shape(shapes.broadcast(self.value.shape, to), to):
            raise InternalError(f"{show(self.value.shape)} does not broadcast to {show(to)}")
        return to, self.value.kind


@record
class Flip(Node):
    """The entries in reverse order along ``axes``."""

    value: Node
    axes: tuple[int, ...]

    def _infer(self) -> tuple[Shape, Kind]:
        shapes.check_axes(self.value.shape, self.axes)
        return self.value.shape, self.value.kind


@record
class Roll(Node):
    """``result[i] = value[(i - shift) % extent]`` along ``axis``, as ``np.roll``."""

    value: Node
    shift: Expr
    axis: int

    def _infer(self) -> tuple[Shape, Kind]:
        shapes.check_axis(self.value.shape, self.axis)
        return self.value.shape, self.value.kind


@record
class Span:
    """The entries ``start, start + step, ...`` of an axis, ``length`` of them; ``step`` is positive."""

    start: Expr
    length: Expr
    step: Expr = S.One


@record
class At:
    """One entry of an axis, which thereby disappears."""

    position: Expr


Item = Span | At | None
"""What is taken of an axis; None is all of it."""


@record
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


@record
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


@record
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


@record
class Concat(Node):
    """``parts`` one after the other along ``axis``; along the other axes they have the same extents."""

    parts: tuple[Node, ...]
    axis: int

    def _infer(self) -> tuple[Shape, Kind]:
        first = self.parts[0]
        axis = shapes.check_axis(first.shape, self.axis)
        for part in self.parts[1:]:
            fitted = (*part.shape[:axis], first.shape[axis], *part.shape[axis:][1:])
            if part.kind != first.kind or not shapes.same_shape(fitted, first.shape):
                raise InternalError(f"{show(part.shape)} does not continue {show(first.shape)} along {axis}")
        extents = list(first.shape)
        extents[axis] = sum((part.shape[axis] for part in self.parts[1:]), first.shape[axis])
        return tuple(extents), first.kind


@record
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


@record
class Diagonal(Node):
    """The diagonal of the last two axes, which becomes the last one."""

    value: Node

    def _infer(self) -> tuple[Shape, Kind]:
        shapes.check_axis(self.value.shape, -2)
        *rest, rows, columns = self.value.shape
        if not shapes.same_size(rows, columns):
            raise InternalError(f"no diagonal of {show(self.value.shape)}")
        return (*rest, rows), self.value.kind


@record
class DiagEmbed(Node):
    """The last axis as the diagonal of two, and zeros elsewhere."""

    value: Node

    def _infer(self) -> tuple[Shape, Kind]:
        shapes.check_axis(self.value.shape, -1)
        return (*self.value.shape, self.value.shape[-1]), self.value.kind
