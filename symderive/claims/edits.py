"""The changes that people forget or make too often, each tried on every place of a claim."""

from __future__ import annotations

from symderive.claims.desk import MOST_WORK, SHARE, Desk, Finding
from symderive.claims.edit_tools import Family, Tried
from symderive.claims.edits_axes import axes_added, dims, means, sums_added, sums_dropped, transposes
from symderive.claims.edits_conditions import branches, conditions
from symderive.claims.edits_functions import (
    arguments,
    functions,
    recomputed,
    roots,
    underived,
    unfolded,
    wrapped,
    wrapped_as_others,
)
from symderive.claims.edits_operands import (
    accesses,
    comparisons,
    exchanged,
    hot,
    indices,
    operands,
    positions,
    rebound,
    shifted,
)
from symderive.claims.edits_products import matrix_products
from symderive.claims.edits_terms import (
    brackets,
    complements,
    derivatives_added,
    entries_added,
    factors_added,
    factors_dropped,
    matrices_added,
    numbers,
    powers,
    signs,
    terms_added,
    terms_dropped,
    totals,
    upstreams,
)
from symderive.spec import syntax


def single_edits(desk: Desk, node: syntax.Node | None = None) -> Finding | None:
    """The first single change that makes the claim right; what each makes of the claim itself is kept."""
    own = node is None
    node = desk.node if node is None else node
    tried: set[syntax.Node] = {node}
    for family in FAMILIES:
        for edit in family(desk, node):
            if desk.late or (own and desk.spent > MOST_WORK - SHARE):
                desk.gave_up = True
                return None
            if edit.node in tried:
                continue
            tried.add(edit.node)
            value = desk.first_value(edit.node)
            if own:
                desk.tried.append(Tried(edit, family, value))
            if desk.may_fit(value) and desk.fits(edit.node):
                return Finding(edit.kind, edit.words, edit.node)
    return None


FAMILIES: tuple[Family, ...] = (
    dims, transposes, matrix_products, means, rebound, indices, positions, sums_dropped, sums_added, axes_added,
    terms_dropped, operands, exchanged, complements, comparisons, branches, conditions, hot, shifted, signs,
    recomputed, functions, factors_dropped, wrapped, powers, roots, underived, brackets, unfolded, upstreams,
    numbers, totals, factors_added, derivatives_added, terms_added, entries_added, matrices_added,
    wrapped_as_others, arguments, accesses,
)  # fmt: skip
"""Tried in this order: the first change that makes the claim right is the explanation."""
