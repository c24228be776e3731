"""Claims that have no value where something is 0 that the forward allows to be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from symderive.claims.assumed import Assumed, assuming, is_right
from symderive.claims.compare import finite
from symderive.claims.lines import names_in
from symderive.claims.result import Diagnosis, Verdict
from symderive.spec import syntax
from symderive.spec.format import to_text

if TYPE_CHECKING:
    from symderive.claims.outcome import Outcome
    from symderive.claims.trial import Trial


def without_zeros(trial: Trial, outcome: Outcome) -> tuple[Verdict, Diagnosis | None, str]:
    """A claim that is right, but undefined where something is 0 that the forward allows to be."""
    singular = [] if _has_value(outcome) else [to_text(m) for m in trial.inverted()]
    if singular:
        return _undefined(trial, outcome, f"{singular[0]} is singular", f"{singular[0]} invertible")
    subject = next((n for n in _subjects(trial, outcome) if _is_right_without(trial, n)), None)
    condition = f"{subject} without zeros" if subject else "wherever the claim has a value"
    where = f"{subject} has a zero" if subject else "a denominator of it is zero"
    return _undefined(trial, outcome, where, condition)


def _has_value(outcome: Outcome) -> bool:
    """Whether some entry of a claim has a value at a point."""
    return outcome.sides is not None and any(finite(c) for c in outcome.sides.claimed.flat)


def _undefined(trial: Trial, outcome: Outcome, where: str, condition: str) -> tuple[Verdict, Diagnosis | None, str]:
    sentence = f"The claim is undefined where {where}, and the forward is differentiable there; it is right elsewhere."
    return "conditional", Diagnosis("unknown", sentence, condition, trial.counterexample(outcome), trial.formula()), ""


def _subjects(trial: Trial, outcome: Outcome) -> Iterator[str]:
    """What may have the zero: what a point has zeros in, the inputs that are denominators, those that have a zero."""
    if outcome.point.note.startswith("zero "):
        yield outcome.point.note.removeprefix("zero ")
    zeros = [n for n, a in outcome.point.inputs.items() if (np.asarray(a) == 0).any()]
    below = [n.right for n in trial.node.walk() if isinstance(n, syntax.Binary) and n.op == "/"]
    yield from (name for node in sorted(below, key=lambda n: n.size) for name in zeros if name in names_in(node))
    yield from zeros if len(zeros) == 1 else ()


def _is_right_without(trial: Trial, name: str) -> bool:
    """Whether a claim is right, and has a value, wherever an input has no zeros; not asked of an upstream."""
    if name not in {i.name for i in trial.spec.inputs}:
        return True
    return is_right(assuming(trial, Assumed(inputs=((name, "nonzero"),))), everywhere=True)
