"""The changes that people forget or make too often, each tried on every place of a claim."""

from __future__ import annotations

from symderive.check.kept import keeping
from symderive.claims.desk import MOST_WORK, SHARE, Desk, Finding
from symderive.claims.edit_tools import Family, Tried
from symderive.claims.edits_axes import (
    axes_added,
    columns,
    dims,
    einsums,
    means,
    sums_added,
    sums_dropped,
    transposes,
)
from symderive.claims.edits_conditions import (
    branches,
    conditions,
    indicators,
    other_conditions,
)
from symderive.claims.edits_functions import (
    arguments,
    functions,
    normalised,
    recomputed,
    roots,
    slopes,
    underived,
    unfolded,
    wrapped,
    wrapped_as_others,
)
from symderive.claims.edits_numbers import (
    constants,
    counted,
    numbers,
    powers,
    totals,
)
from symderive.claims.edits_operands import (
    accesses,
    comparisons,
    exchanged,
    gathered,
    hot,
    indices,
    operands,
    rebound,
    shifted,
)
from symderive.claims.edits_positions import (
    moved_inside,
    positions,
    rolled,
    wrapped_around,
)
from symderive.claims.edits_products import (
    diagonals,
    matrix_products,
    sums_joined,
    symmetrised,
)
from symderive.claims.edits_terms import (
    brackets,
    complements,
    derivatives_added,
    divisors_added,
    entries_added,
    factors_added,
    factors_dropped,
    factors_turned,
    matrices_added,
    multiplied_terms,
    signs,
    terms_added,
    terms_dropped,
    upstreams,
)
from symderive.spec import syntax


def single_edits(desk: Desk, node: syntax.Node | None = None) -> Finding | None:
    """The first single change that makes the claim right; what each makes of the claim itself is kept."""
    own = node is None
    node = desk.node if node is None else node
    with keeping(desk.benches[0].interpreter, node):
        return _first(desk, node, own)


def _first(desk: Desk, node: syntax.Node, own: bool) -> Finding | None:
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
    dims, einsums, transposes, matrix_products, means, rebound, indices, moved_inside, positions, rolled,
    wrapped_around, sums_dropped, sums_joined, sums_added, axes_added, diagonals, columns, terms_dropped,
    multiplied_terms, operands, exchanged, slopes, complements, comparisons, branches, conditions,
    other_conditions, symmetrised, hot, gathered, shifted, signs, recomputed, functions, factors_dropped,
    factors_turned, divisors_added, wrapped, powers, roots, underived, indicators, brackets, unfolded, upstreams,
    numbers, constants, counted, normalised, totals, factors_added, derivatives_added, terms_added, entries_added,
    matrices_added, wrapped_as_others, arguments, accesses,
)  # fmt: skip
"""Tried in this order: the first change that makes the claim right is the explanation."""
