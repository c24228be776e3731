"""``claim``: the gradients that the author derived by hand, judged exactly by :mod:`symderive.claims`."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

from symderive.check.cells import Cell
from symderive.check.results import CheckResult
from symderive.check.subject import Subject
from symderive.spec import syntax
from symderive.spec.format import to_text


def check_claims(subject: Subject, cell: Cell) -> Iterator[CheckResult]:
    """One row for each side of each claim."""
    if importlib.util.find_spec("symderive.claims") is None:
        for claim in subject.spec.claims:
            text = to_text(claim)
            yield CheckResult("claim", _target(claim), "skip", line=claim.span.line, text=text, detail=NOT_YET)
        return
    from symderive.claims import check_claims as judge  # type: ignore[import-not-found,unused-ignore]

    yield from judge(subject.spec, subject.derivation, seed=cell.seed)


NOT_YET = "judging claims is not available yet"


def _target(claim: syntax.Statement) -> str:
    left = claim.left
    return left.tensor if isinstance(left, syntax.Access) else getattr(left, "id", to_text(left))
