"""Parts of the forward as a claim would write them: in the letters at hand, or in array form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from symderive.claims.bench import label
from symderive.claims.desk import Desk
from symderive.claims.edit_tools import index_names
from symderive.claims.lines import ClaimError
from symderive.claims.trees import bound_in, map_nodes, rename, substitute
from symderive.errors import SymderiveError
from symderive.spec import syntax


def in_scope(desk: Desk, part: syntax.Node, scope: Sequence[str], root: syntax.Node) -> Iterator[syntax.Node]:
    """A part of the forward with its free indices among those at hand, and its bound ones out of their way.

    An index does not stand for one that has another extent at the first point.
    """
    taken = {*desk.free, *bound_in(root), *scope}
    spare = (c for c in "klmnpqrsuvwabcdefgh" if c not in taken and c not in desk.benches[0].tensors)
    part = rename(part, {i: next(spare, i) for i in sorted(bound_in(part)) if i in taken})
    loose = [i for i in index_names(desk, part) if i not in bound_in(part) and i != syntax.BATCH]
    at_hand = [i for i in dict.fromkeys(scope) if i != syntax.BATCH]
    known, wanted = _extents_in(desk, root), _extents(desk, part)
    pools = [[c for c in at_hand if i not in wanted or known.get(c, wanted[i]) == wanted[i]] for i in loose]
    for chosen in _different(pools):
        yield substitute(part, {i: syntax.Name(c) for i, c in zip(loose, chosen, strict=True)})


def _different(pools: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """One of each pool, none of them twice."""
    if not pools:
        yield ()
        return
    for first in pools[0]:
        yield from ((first, *rest) for rest in _different([[c for c in p if c != first] for p in pools[1:]]))


def _extents_in(desk: Desk, node: syntax.Node) -> dict[str, int]:
    """How far each index of a side runs at the first point; nothing of a side that has no value there."""
    known = desk.found.setdefault("extents", {})
    if id(node) not in known:
        bench = desk.benches[0]
        true, indices = bench.truth(desk.line)
        try:
            ranges = bench.ranges(desk.free, node, [(indices, true.shape, desk.line.name)])
        except (ClaimError, SymderiveError):
            ranges = {}
        known[id(node)] = node, ranges
    found: dict[str, int] = known[id(node)][1]
    return found


def _extents(desk: Desk, part: syntax.Node) -> dict[str, int]:
    """How far an index of a part of the forward runs where it stands alone along an axis, at the first point."""
    bench = desk.benches[0]
    found: dict[str, int] = {}
    accesses = (n for n in part.walk() if isinstance(n, syntax.Access) and n.tensor in bench.tensors)
    for access in accesses:
        shape = bench.flat_shape(access.tensor, np.shape(bench.tensors[access.tensor]), access.indices)
        found |= {i.id: n for i, n in zip(access.indices, shape, strict=True) if isinstance(i, syntax.Name)}
    return found


def as_array(part: syntax.Node, indices: Sequence[str] | None = None) -> syntax.Node | None:
    """A part of the forward that takes entries one by one, in array form; None where it does not.

    All its tensors have the same indices, these if they are given, or none at all.
    """
    part = map_nodes(part, _total)
    if any(isinstance(n, syntax.Binder) for n in part.walk()):
        return None
    accesses = [n for n in part.walk() if isinstance(n, syntax.Access) and n.indices]
    labels = {n.indices for n in accesses}
    inside = [i for n in accesses for i in n.indices]
    if len(labels) > 1 or not all(isinstance(i, syntax.Name | syntax.Batch) for i in inside):
        return None
    own = [str(label(i)) for i in next(iter(labels), ())]
    names = [n.id for n in part.walk() if isinstance(n, syntax.Name)]
    if any(names.count(i) > len(accesses) for i in own) or (indices is not None and own and own != list(indices)):
        return None
    if len(set(own)) < len(own):
        return None

    def change(node: syntax.Node) -> syntax.Node:
        return syntax.Name(node.tensor) if isinstance(node, syntax.Access) else node

    return map_nodes(part, change)


def _total(node: syntax.Node) -> syntax.Node:
    """A sum or a mean over all indices of what it sums, in array form."""
    if not isinstance(node, syntax.Binder) or node.op not in ("sum", "mean") or node.condition is not None:
        return node
    labels = [n.indices for n in node.body.walk() if isinstance(n, syntax.Access)]
    if not labels or any(set(i) != {syntax.Name(b) for b in node.indices} for i in labels):
        return node
    body = as_array(node.body)
    return node if body is None else syntax.Method(body, node.op, (), ())
