"""What judging gives: one row for each side of each claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from symderive.record import record

Verdict = Literal["right", "conditional", "wrong", "invalid"]

KINDS = (
    "factor", "sign", "transpose", "missing_term", "extra_term", "missing_sum", "extra_sum", "mean_vs_sum",
    "missing_upstream", "missing_cross_terms", "wrong_index", "wrong_operand", "other_variable", "shape", "unknown",
)  # fmt: skip
"""The kinds of diagnosis."""


@record
class Diagnosis:
    """Why a claim is not right. ``counterexample`` has ``sizes``, ``indices``, ``claimed`` and ``true``."""

    kind: str
    sentence: str
    condition: str | None = None
    counterexample: Mapping[str, Any] | None = None
    correction: str | None = None

    def document(self) -> dict[str, Any]:
        """The diagnosis as JSON data."""
        return {
            "kind": self.kind,
            "sentence": self.sentence,
            "condition": self.condition,
            "counterexample": None if self.counterexample is None else dict(self.counterexample),
            "correction": self.correction,
        }


@record
class ClaimResult:
    """One side of one claim. ``verdict`` is None where it cannot be judged; then ``detail`` says why.

    ``line`` is the line of the file, ``side`` counts the sides of a chain and is None where there is one. ``detail`` is
    also for what there is to know about a right claim.
    """

    line: int
    text: str
    target: str
    verdict: Verdict | None
    diagnosis: Diagnosis | None = None
    side: int | None = None
    detail: str = ""

    @property
    def ok(self) -> bool:
        """Only a ``right`` claim passes."""
        return self.verdict == "right"

    def __str__(self) -> str:
        lines = [f"{self.text}", f"  {self.verdict or 'not judged'}"]
        if self.diagnosis:
            lines[1] += f" ({self.diagnosis.kind}): {self.diagnosis.sentence}"
            if self.diagnosis.counterexample:
                lines.append(f"  counterexample: {dict(self.diagnosis.counterexample)}")
            if self.diagnosis.correction:
                lines.append(f"  right: {self.diagnosis.correction}")
        if self.detail:
            lines.append(f"  {self.detail}")
        return "\n".join(lines)


_WORDS = ("a", "an", "it", "its", "the", "there", "this", "what")
_VERBS = ("is", "has", "stands", "needs", "should", "runs", "holds", "and")
"""After a tensor that is called ``a``."""


def sentence(text: str) -> str:
    """The text as a sentence; a name that it begins with keeps its letters."""
    text = text.strip()
    first, second, *_ = (*text.split(" ", 2), "", "")
    if first in _WORDS and (first != "a" or second not in _VERBS):
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."
