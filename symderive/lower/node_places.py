"""Expressions that read or add to entries at computed places, and their adjoints."""

from __future__ import annotations

from sympy import S

from symderive.errors import InternalError
from symderive.lower import shapes
from symderive.lower.node import Kind, Node
from symderive.lower.shapes import Shape, show
from symderive.record import record


@record
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


@record
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


@record
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


@record
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
