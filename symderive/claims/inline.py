"""Claims with their helpers written out, so that a mistake in a helper is found, too."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import replace

from symderive.claims import edits, fit
from symderive.claims.bench import label
from symderive.claims.desk import Desk, Finding
from symderive.claims.lines import Line, names_in
from symderive.claims.trees import bound_in, map_nodes, rename, substitute, tensor_of
from symderive.spec import syntax


def inlined(desk: Desk) -> Finding | None:
    """The explanations of a claim whose helpers are written out."""
    helpers = {h.name: h for h in desk.court.helpers}
    if not names_in(desk.node) & set(helpers):
        return None
    bench = desk.benches[0]
    taken = {*bench.tensors, *bench.world.sizes, *bench.world.constants, *desk.free}
    node = written_out(desk.node, helpers, taken)
    if node == desk.node or sum(1 for _ in node.walk()) > 300 or not _same(desk, node):
        return None
    finding = fit.term_by_term(desk, node) or edits.single_edits(desk, node)
    if finding is None:
        return None
    names = ", ".join(sorted(names_in(desk.node) & set(helpers)))
    return replace(finding, sentence=f"{finding.sentence} The mistake may stand in {names}.")


def _same(desk: Desk, node: syntax.Node) -> bool:
    """Whether writing out kept the value."""
    import numpy as np

    bench = desk.benches[0]
    return bool(np.allclose(desk.value(bench, node), desk.value(bench, desk.node), equal_nan=True))


def written_out(node: syntax.Node, helpers: Mapping[str, Line], taken: Collection[str], depth: int = 0) -> syntax.Node:
    """The expression with every helper replaced by its definition; new indices get letters that are not ``taken``."""
    if depth > MOST_NESTED:
        return node
    used = {*taken, *bound_in(node), *(n.id for n in node.walk() if isinstance(n, syntax.Name))}

    def change(inner: syntax.Node) -> syntax.Node:
        helper = helpers.get(tensor_of(inner))
        if helper is None:
            return inner
        body = helper.statement.sides[0]
        if helper.indices is None and isinstance(inner, syntax.Name):
            return body
        if helper.indices is not None and isinstance(inner, syntax.Access):
            free = [name for i in helper.indices if (name := label(i)) is not None]
            names = {i: _letter(i, used) for i in sorted(bound_in(body)) if i not in free and i != syntax.BATCH}
            used.update(names.values())
            values = dict(zip(free, inner.indices, strict=False))
            return substitute(rename(body, names), values)
        return inner

    done = map_nodes(node, change)
    again = names_in(done) & set(helpers) and done != node
    return written_out(done, helpers, taken, depth + 1) if again else done


MOST_NESTED = 8
"""Helpers that use helpers are written out so deep."""


def _letter(name: str, used: Collection[str]) -> str:
    """The letter itself where it is not in use, or another one."""
    if name not in used:
        return name
    spare = (f"{c}{n or ''}" for n in itertools.count() for c in "klmnpqrsuvijabcdefgho")
    return next(c for c in spare if c not in used)
