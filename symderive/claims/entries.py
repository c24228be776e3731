"""The entries that a claim names by number, ``dx[3]`` and ``dx[N - 1]``: sizes at which there are none say nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from symderive.claims.world import shape_named
from symderive.record import record
from symderive.spec import model, syntax
from symderive.spec.intervals import Point, interval
from symderive.spec.sizes import BATCH_SIZE, size_value

if TYPE_CHECKING:
    from sympy import Expr


@record
class Entry:
    """A position that is the same for all indices, on an axis of a tensor."""

    position: syntax.Node
    extent: Expr

    def exists(self, sizes: Mapping[str, Any]) -> bool:
        """Whether the axis has that entry."""
        low, high = interval(self.position, Point(sizes, {}, {}))
        return bool(low >= 0 and high < size_value(self.extent, sizes))


def named_entries(spec: model.Spec, statements: Iterable[syntax.Statement]) -> tuple[Entry, ...]:
    """The entries that statements name by number: those that are there at the sizes of the spec."""
    sizes = {n: v for n, v in spec.sizes.items() if isinstance(v, int)}
    if any(v is None for v in spec.sizes.values()):
        return ()
    found = dict.fromkeys(entry for s in statements for node in s.walk() for entry in _of(spec, node))
    return tuple(e for e in found if e.exists(sizes))


def _of(spec: model.Spec, node: syntax.Node) -> Iterator[Entry]:
    name, items = _read(node)
    shape = shape_named(spec, name) or ()
    for position, extent in zip(items, shape, strict=False):
        if isinstance(position, syntax.Keyword) or (isinstance(position, syntax.Batch) and extent != BATCH_SIZE):
            return  # what comes after it stands for other axes
        own = all(isinstance(n, syntax.Number | syntax.Name | syntax.Binary) for n in position.walk())
        if own and extent != BATCH_SIZE and extent.free_symbols and {*syntax.names(position)} <= spec.sizes.keys():
            yield Entry(position, extent)


def _read(node: syntax.Node) -> tuple[str, tuple[syntax.Node, ...]]:
    match node:
        case syntax.Access(tensor=name, indices=items):
            return name, items
        case syntax.Subscript(value=syntax.Name(id=name), items=items):
            return name, items
    return "", ()
