"""Arrays whose axes are labelled by indices, and how they are lined up with each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sympy import S

from symderive.algebra.nodes import Index
from symderive.errors import InternalError, UnsupportedError
from symderive.lower.graph import Graph
from symderive.lower.plan import Node, Scalar
from symderive.lower.shapes import Shape
from symderive.record import record

Axes = tuple[Index, ...]

_TWO_BATCHES = "an expression pairs batch axes with batch axes; name the axes instead of '...'"


@record
class Labelled:
    """An array; ``axes`` names the index that each of its axes runs over, the batch index first."""

    node: Node
    axes: Axes = ()

    def __post_init__(self) -> None:
        if sum(i.is_batch for i in self.axes) > 1:
            raise UnsupportedError(_TWO_BATCHES)

    @property
    def batch(self) -> Index | None:
        """The batch index among the axes."""
        return self.axes[0] if self.axes and self.axes[0].is_batch else None

    @property
    def plain(self) -> Axes:
        """The axes behind the batch."""
        return self.axes[1:] if self.batch else self.axes

    def position(self, index: Index) -> int:
        """The number of an axis, counted from the end."""
        return self.axes.index(index) - len(self.axes)


def shape_of(axes: Iterable[Index]) -> Shape:
    """The extents of axes."""
    return tuple(i.extent for i in axes)


def batch_first(axes: Iterable[Index]) -> Axes:
    """The axes with the batch index in front."""
    return tuple(sorted(axes, key=lambda i: not i.is_batch))


def joint_axes(parts: Sequence[Axes], hint: Sequence[Index]) -> Axes:
    """The axes of an element-wise operation: in the order of ``hint`` where that has them all, or nothing else decides,
    else in the order of the operands that have them all."""
    union = dict.fromkeys(i for axes in sorted(parts, key=len, reverse=True) for i in axes)
    if sum(i.is_batch for i in union) > 1:
        raise UnsupportedError(_TWO_BATCHES)
    full = {axes for axes in parts if len(axes) == len(union)}
    places = {index: n for n, index in enumerate(hint)}
    if len(full) == 1 and (len(parts) == 1 or not union.keys() <= places.keys()):
        return next(iter(full))
    if not union.keys() <= places.keys() and len({axes[0] for axes in parts if axes}) == 1:
        return batch_first(union)  # operands that start alike, and whose other axes are still to be summed
    known = sorted((i for i in union if i in places), key=places.__getitem__)
    return batch_first([*known, *(i for i in union if i not in places)])


def arrange(graph: Graph, value: Labelled, axes: Sequence[Index]) -> Labelled:
    """``value`` with its own axes in the order that they have in ``axes``."""
    order = batch_first(i for i in axes if i in value.axes)
    if order == value.axes:
        return value
    if len(order) != len(value.axes):
        raise InternalError(f"{value.axes} do not lie in {tuple(axes)}")
    plain = [i for i in order if not i.is_batch]
    return Labelled(graph.permute(value.node, [value.position(i) for i in plain]), order)


def align(graph: Graph, value: Labelled, axes: Sequence[Index]) -> Node:
    """An array that broadcasts to ``axes``: permuted, with axes of extent 1 where an inner one is missing."""
    axes = batch_first(axes)
    value = arrange(graph, value, axes)
    in_front = next((n for n, i in enumerate(axes) if i in value.axes), len(axes))
    missing = [n - len(axes) for n in range(in_front, len(axes)) if axes[n] not in value.axes]
    spare = in_front - (in_front > 0 and axes[0].is_batch)  # no axis of extent 1 lies on the batch axes
    return graph.expand(value.node, missing, spare)


def spread(graph: Graph, value: Labelled, axes: Iterable[Index]) -> Labelled:
    """``value`` in the full shape of ``axes``, missing axes broadcast; those of length 1 are just put in."""
    axes = batch_first(axes)
    if value.axes == axes:
        return value
    missing = [n - len(axes) for n, i in enumerate(axes) if i not in value.axes]
    if all(axes[n].extent is S.One for n in missing) and not isinstance(value.node, Scalar):
        return Labelled(graph.expand(arrange(graph, value, axes).node, missing), axes)
    return Labelled(graph.broadcast(align(graph, value, axes), shape_of(axes)), axes)


def relabel(value: Labelled, old: Index, new: Index) -> Labelled:
    """The same array with one axis named differently."""
    return Labelled(value.node, tuple(new if i == old else i for i in value.axes))


def without(axes: Iterable[Index], gone: Collection[Index]) -> Axes:
    """The axes but for some."""
    return tuple(i for i in axes if i not in gone)
