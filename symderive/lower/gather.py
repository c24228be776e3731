"""Reading an array at integer arrays, and along diagonals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sympy import Expr, Mul, S

from symderive.algebra.nodes import Clamp, Index
from symderive.errors import UnsupportedError
from symderive.lower import plan
from symderive.lower.axes import Labelled, align, batch_first, joint_axes, shape_of, spread, without
from symderive.lower.context import Lowering
from symderive.lower.integers import extremes, in_range

Arrays = dict[Index, Labelled]


def gathered(
    node: plan.Node, axes: Sequence[Index], names: Mapping[Index, Index], todo: Mapping[Index, Expr], ctx: Lowering
) -> Labelled:
    """An array whose axes are renamed by ``names`` (twice the same is a diagonal) and read at ``todo``."""
    value = Labelled(node, tuple(axes))
    first: dict[Index, Index] = {}
    for label in axes:
        earlier = first.setdefault(names.get(label, label), label)
        if earlier is not label:
            value = _diagonal(value, earlier, label, ctx)
    value = Labelled(value.node, tuple(names.get(i, i) for i in value.axes))
    arrays: Arrays = {label: _integers(_within(place, label.extent, ctx), ctx) for label, place in todo.items()}
    return _at_arrays(value, arrays, ctx) if arrays else value


def _within(place: Expr, extent: Expr, ctx: Lowering) -> Expr:
    """``place``, clamped where it is bounded but may leave its range: then a branch that is not taken reads there."""
    if extremes(place, ctx.ranges) is None or in_range(place, extent, ctx.ranges):
        return place
    return Clamp(place, S.Zero, extent - 1)


def _diagonal(value: Labelled, kept: Index, second: Index, ctx: Lowering) -> Labelled:
    rest = without(value.axes, (kept, second))
    line = (*rest, kept, second)
    node = ctx.graph.permute(value.node, [value.position(i) for i in line if not i.is_batch])
    return Labelled(ctx.graph.intern(plan.Diagonal(node)), (*rest, kept))


def _integers(place: Expr, ctx: Lowering) -> Labelled:
    value = ctx.lower(place)
    if isinstance(value.node, plan.Scalar):
        return Labelled(ctx.graph.full((), value.node.value, "integer"))
    return Labelled(ctx.graph.cast(value.node, "integer"), value.axes)


def _at_arrays(value: Labelled, arrays: Arrays, ctx: Lowering) -> Labelled:
    """``value`` with the axes ``arrays`` read at integer arrays, whose axes may be axes of ``value`` too."""
    own = without(value.axes, arrays)
    shared = [i for i in own if any(i in a.axes for a in arrays.values())]
    if not shared:
        return _take(value, arrays, ctx)
    new_batch = any(i.is_batch and i not in own for a in arrays.values() for i in a.axes)
    if any(i.is_batch for i in shared) or (len(arrays) == 1 and len(shared) == len(own) and not new_batch):
        value, label, array = _one_axis(value, arrays, ctx)
        return _gather(value, label, array, ctx)
    longer = dict(arrays)
    renamed = list(value.axes)
    for index in shared:
        label = index.fresh()
        renamed[renamed.index(index)] = label
        longer[label] = Labelled(ctx.graph.arange(index.extent), (index,))
    return _take(Labelled(value.node, tuple(renamed)), longer, ctx)


def _take(value: Labelled, arrays: Arrays, ctx: Lowering) -> Labelled:
    """NumPy's ``value[..., t, u, :]``; the axes that are read are brought side by side."""
    joined = joint_axes([a.axes for a in arrays.values()], ctx.hint)
    read = [i for i in value.plain if i in arrays]
    first = 0 if joined and joined[0].is_batch else value.plain.index(read[0])
    if joined and joined[0].is_batch and value.batch:
        raise UnsupportedError("an index array over batch axes reads a tensor with other batch axes")
    rest = [i for i in value.plain if i not in arrays]
    line = [*rest[:first], *read, *rest[first:]]
    node = ctx.graph.permute(value.node, [value.position(i) for i in line])
    items = tuple(align(ctx.graph, arrays[i], joined) if i in arrays else None for i in line)
    taken = ctx.graph.intern(plan.Take(node, items))
    front = (value.batch,) if value.batch else ()
    return Labelled(taken, (*front, *rest[:first], *joined, *rest[first:]))


def _one_axis(value: Labelled, arrays: Arrays, ctx: Lowering) -> tuple[Labelled, Index, Labelled]:
    """Several axes that are read at arrays become one, read at ``t * U + u``."""
    if len(arrays) == 1:
        ((label, array),) = arrays.items()
        return value, label, array
    rest = without(value.axes, arrays)
    line = (*rest, *arrays)
    node = ctx.graph.permute(value.node, [value.position(i) for i in line if not i.is_batch])
    joined = Index("~", Mul(*(i.extent for i in arrays))).fresh()
    node = ctx.graph.reshape(node, shape_of((*rest, joined)))
    place: Labelled | None = None
    for label, array in arrays.items():
        if place is None:
            place = array
        else:
            scaled = ctx.combine("mul", place, Labelled(ctx.graph.scalar(label.extent)))
            place = ctx.combine("add", scaled, array)
    assert place is not None
    return Labelled(node, (*rest, joined)), joined, place


def _gather(value: Labelled, label: Index, array: Labelled, ctx: Lowering) -> Labelled:
    """``take_along_axis``: the array varies along other axes of ``value``."""
    new = list(batch_first(i for i in array.axes if i not in value.axes))
    at = value.axes.index(label)
    line = (*value.axes[:at], *new, *value.axes[at + 1 :])
    index = spread(ctx.graph, array, line)
    axis = at - len(value.axes)
    extent = Mul(*(i.extent for i in new))
    shape = tuple(extent if i == label else i.extent for i in value.axes)
    node = ctx.graph.expand(index.node, [axis]) if not new else ctx.graph.reshape(index.node, shape)
    result = ctx.graph.intern(plan.Gather(value.node, node, axis))
    if not new:
        items = [plan.At(S.Zero) if i == label else None for i in value.plain]
        return Labelled(ctx.graph.slice(result, items), line)
    return Labelled(ctx.graph.reshape(result, shape_of(line)), line)
