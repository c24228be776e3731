"""Why a claim is not right: explanations tried in order, and the words for the one that fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from symderive.claims import (
    diagonals,
    edits,
    edits_conditions,
    edits_operands,
    expansion,
    fit,
    forwards,
    mistakes,
    orders,
    pairs,
    paths,
    residual,
    term_factors,
    values,
)
from symderive.claims.desk import SHARE, Desk, Finding
from symderive.claims.inline import inlined
from symderive.claims.lines import FAULTS, ClaimError, names_in
from symderive.claims.only_sizes import where_only
from symderive.claims.result import Diagnosis, sentence
from symderive.claims.trees import map_nodes, tidied
from symderive.spec.format import to_text

if TYPE_CHECKING:
    from symderive.claims.conditions import Condition
    from symderive.claims.outcome import Outcome
    from symderive.claims.trial import Trial

_ONES = ("ones", "missing_upstream")
"""A weak condition that is the explanation: an upstream is missing in a part of the claim."""

_BY_CONDITION = {
    "symmetric": "transpose",
    "ones": "missing_upstream",
    "binary": "factor",
    "rows": "factor",
    "size": "factor",
}
"""The kind where a condition was found and nothing else explains."""

EXPLAINERS: tuple[Callable[[Desk], Finding | None], ...] = (
    values.of_ones,
    values.whole_factor,
    values.averaged,
    values.transposed,
    values.reshaped,
    diagonals.without_cross_terms,
    values.summed,
    diagonals.without_deltas,
    edits_conditions.missing_class,
    values.summed_out,
    values.other_gradient,
    forwards.flipped_argument,
    fit.term_by_term,
    edits_operands.undefined,
    orders.reordered,
    edits_conditions.bounds,
    mistakes.missing_terms,
    mistakes.missing_factors,
    expansion.lacking,
    paths.missing_terms,
    values.sign_or_number,
    residual.missing_multiple,
    diagonals.off_diagonal,
    edits.single_edits,
    term_factors.lacking_in_a_term,
    residual.missing_product,
    values.summed_away,
    forwards.by_a_function,
    forwards.unnamed_derivative,
    mistakes.truth_with_mistake,
    inlined,
    forwards.unnamed_gradient,
    forwards.other_forward,
    residual.multiple_of_factor,
    values.mixed_factor,
)
"""Explanations, the smallest change first."""

SEVERAL: tuple[Callable[[Desk], Finding | None], ...] = (
    fit.several_changes,
    expansion.several_mistakes,
    pairs.two_changes,
)
"""Explanations by more than one mistake."""

MOST_SAID = 300
"""Characters of such an explanation: what is longer writes much of the claim anew, and tells nobody what is wrong."""


def explain(trial: Trial, outcome: Outcome, condition: Condition | None) -> Diagnosis:
    """The diagnosis of a side that fails at a point; ``condition`` is one under which it holds.

    A weak condition is named where nothing else explains the claim, or where it is the explanation. Zeros and ones are
    not where a sign is wrong, for they just make vanish what has it.
    """
    desk = Desk(trial, outcome, condition)
    finding = _first(desk)
    if condition is not None and finding and _gives_way(condition, finding):
        desk.condition = None
    finding = finding or _several(desk) or _last_resort(desk)
    words = " ".join(_sentences(desk, finding))
    correction = _correction(desk, finding)
    text = desk.condition.text if desk.condition else None
    return Diagnosis(finding.kind, words, text, trial.counterexample(outcome), correction)


def _gives_way(condition: Condition, finding: Finding) -> bool:
    weak = condition.weak or (condition.kind, finding.kind) == ("binary", "sign")
    return weak and (condition.kind, finding.kind) != _ONES


def _first(desk: Desk) -> Finding | None:
    return None if _is_upstream(desk) else _of(desk, EXPLAINERS)


def _of(desk: Desk, explainers: Sequence[Callable[[Desk], Finding | None]], most: float = math.inf) -> Finding | None:
    """The first explanation, of at most so many characters."""
    for explainer in explainers:
        if desk.late:
            return None
        try:
            finding = explainer(desk)
        except (ClaimError, *FAULTS):
            continue  # an explanation that does not apply to shapes like these
        if finding is not None and len(finding.sentence) <= most:
            return finding
    return None


def _several(desk: Desk) -> Finding | None:
    """Several mistakes, where one change explains nothing and no condition does, and all names mean something."""
    error = desk.outcome.error
    if desk.condition is not None or _is_upstream(desk) or (error is not None and error.reason in ("name", "form")):
        return None
    desk.allow(SHARE)
    return _of(desk, SEVERAL, MOST_SAID)


def _last_resort(desk: Desk) -> Finding:
    """Where nothing explains: the shape, if it is off, or the condition, or nothing."""
    error = desk.outcome.error
    if error is not None:
        kind = {"shape": "shape", "range": "shape", "index": "wrong_index"}.get(error.reason, "unknown")
        return Finding(kind, sentence(error.message))
    if _is_upstream(desk):
        name = desk.line.name
        used = any(desk.line.tensor in names_in(e.right) for e in desk.spec.equations)
        total = f"; what has accumulated is {name}_total" if used else ""
        return Finding("unknown", f"{name} is the upstream that the caller gives{total}.")
    if desk.condition is not None:
        return Finding(_BY_CONDITION.get(desk.condition.kind, "unknown"), "")
    late = desk.gave_up or desk.late
    sought = "the search for what is wrong was given up" if late else "no single change makes it right"
    return Finding("unknown", f"The claim is not {values.subject(desk)}; {sought}.")


def _is_upstream(desk: Desk) -> bool:
    """Whether a claim is about what the caller gives."""
    return desk.line.role == "gradient" and desk.line.name in {f"d{n}" for n in desk.spec.outputs}


def _sentences(desk: Desk, finding: Finding) -> Iterator[str]:
    if finding.sentence:
        yield finding.sentence
    if desk.condition is not None:
        yield f"The claim is right only with {desk.condition.text}."
    elif (
        desk.outcome.error is None
        and finding.kind != "missing_cross_terms"
        and (remark := where_only(desk.trial, desk.outcome.point))
    ):
        yield remark


def _correction(desk: Desk, finding: Finding) -> str | None:
    if finding.corrected is None:
        return desk.trial.formula()
    left = finding.left or to_text(desk.line.statement.left)
    return f"{left} = {to_text(map_nodes(finding.corrected, tidied))}"
