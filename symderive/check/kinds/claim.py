"""``claim``: the gradients that the author derived by hand, judged exactly by :mod:`symderive.claims`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from symderive.check.cells import Cell
from symderive.check.results import CheckResult
from symderive.check.subject import Subject
from symderive.spec import syntax
from symderive.spec.format import to_text

NOT_YET = "judging claims is not available yet"


def check_claims(subject: Subject, cell: Cell) -> Iterator[CheckResult]:
    """One row for each side of each claim. Only a right one passes."""
    if not subject.spec.claims:
        return
    try:
        from symderive.claims import check_claims as judge
    except ImportError:
        yield from (_unjudged(claim) for claim in subject.spec.claims)
        return
    for judged in judge(subject.spec):
        yield claim_row(judged)


def claim_row(judged: Any) -> CheckResult:
    """A :class:`symderive.claims.ClaimResult` as a row of results."""
    diagnosis = judged.diagnosis.document() if judged.diagnosis else None
    return CheckResult(
        "claim",
        judged.target,
        "pass" if judged.ok else "fail",
        detail=judged.detail,
        verdict=judged.verdict,
        diagnosis=diagnosis,
        line=judged.line,
        text=judged.text,
        side=judged.side,
    )


def _unjudged(claim: syntax.Statement) -> CheckResult:
    left = claim.left
    target = left.tensor if isinstance(left, syntax.Access) else to_text(left)
    return CheckResult("claim", target, "skip", line=claim.span.line, text=to_text(claim), detail=NOT_YET)
