"""``claim``: the gradients that the author derived by hand, judged exactly by :mod:`symderive.claims`."""

from __future__ import annotations

from collections.abc import Iterator

from symderive.check.cells import Cell
from symderive.check.results import CheckResult
from symderive.check.subject import Subject
from symderive.spec import syntax
from symderive.spec.format import to_text

NOT_YET = "judging claims is not available yet"


def check_claims(subject: Subject, cell: Cell) -> Iterator[CheckResult]:
    """One row for each side of each claim. Only a right one passes."""
    try:
        from symderive.claims import check_claims as judge
    except ImportError:
        yield from (_unjudged(claim) for claim in subject.spec.claims)
        return
    yield from judge(subject.spec, subject.derivation, seed=cell.seed)


def _unjudged(claim: syntax.Statement) -> CheckResult:
    left = claim.left
    target = left.tensor if isinstance(left, syntax.Access) else to_text(left)
    return CheckResult("claim", target, "skip", line=claim.span.line, text=to_text(claim), detail=NOT_YET)
