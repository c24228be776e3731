"""Claims that have no value where something is 0 that the forward allows to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symderive.claims.result import Diagnosis, Verdict
from symderive.spec import syntax
from symderive.spec.format import to_text

if TYPE_CHECKING:
    from symderive.claims.outcome import Outcome
    from symderive.claims.trial import Trial


def without_zeros(trial: Trial, outcome: Outcome) -> tuple[Verdict, Diagnosis | None, str]:
    """A claim that is right, but undefined where something is 0 that the forward allows to be."""
    subject = outcome.point.note.removeprefix("zero ") if outcome.point.note.startswith("zero ") else None
    subject = subject or _vanishing(trial, outcome)
    condition = f"{subject} without zeros" if subject else "wherever the claim has a value"
    where = f"{subject} has a zero" if subject else "a denominator of it is zero"
    sentence = f"The claim is undefined where {where}, and the forward is differentiable there; it is right elsewhere."
    return "conditional", Diagnosis("unknown", sentence, condition, trial.counterexample(outcome), trial.formula()), ""


def _vanishing(trial: Trial, outcome: Outcome) -> str | None:
    """The denominator that is zero at a point, or the input that is."""
    for node in trial.node.walk():
        if not (isinstance(node, syntax.Binary) and node.op == "/"):
            continue
        name = node.right.tensor if isinstance(node.right, syntax.Access) else to_text(node.right)
        values = outcome.point.inputs.get(name)
        if values is not None and (np.asarray(values) == 0).any():
            return name
    zeros = [n for n, a in outcome.point.inputs.items() if (np.asarray(a) == 0).any()]
    return zeros[0] if len(zeros) == 1 else None
