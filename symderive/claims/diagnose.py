"""Why a claim is not right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symderive.claims.result import Diagnosis

if TYPE_CHECKING:
    from symderive.claims.conditions import Condition
    from symderive.claims.judge import Outcome, Trial


def explain(trial: Trial, outcome: Outcome, condition: Condition | None) -> Diagnosis:
    """The diagnosis of a side that fails at a point; ``condition`` is one under which it holds."""
    text = condition.text if condition else None
    return Diagnosis("unknown", "The claim is not equal to the gradient.", text, trial.counterexample(outcome))
