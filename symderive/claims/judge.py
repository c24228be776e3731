"""Verdicts: each side of each claim against the truth, exactly, at many points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from symderive.claims.court import Court
from symderive.claims.result import ClaimResult, Diagnosis, sentence
from symderive.garbage import only_new_garbage
from symderive.spec import model

if TYPE_CHECKING:
    from symderive.algebra.program import Derivation
    from symderive.check.results import CheckResult


@only_new_garbage()
def judge(spec: model.Spec, derivation: Derivation | None = None, *, seed: int = 0) -> list[ClaimResult]:
    """The verdicts on a spec's claims, in the order of their lines; a line that cannot be read is ``invalid``."""
    return _judged(Court(spec, spec.claims, spec.text, derivation, seed), spec.bad_claims)


@only_new_garbage()
def judge_text(
    spec: model.Spec, text: str, derivation: Derivation | None = None, *, seed: int = 0
) -> list[ClaimResult]:
    """The verdicts on claims that are given as text, one a line; they may use the helpers of the spec's own claims."""
    from symderive.spec.claims import parse_lines

    statements, bad = parse_lines(text)
    court = Court(spec, statements, text, derivation, seed)
    court.adopt(spec.claims, spec.text)
    return _judged(court, bad)


def _judged(court: Court, bad: Sequence[model.BadLine]) -> list[ClaimResult]:
    results = list(court.results())
    for line in bad:
        diagnosis = Diagnosis("unknown", sentence(f"{line.message}{f'; {line.hint}' if line.hint else ''}"))
        target = line.text.partition("=")[0].strip()
        results.append(ClaimResult(line.line, line.text, target, "invalid", diagnosis))
    return sorted(results, key=lambda r: r.line)


def check_claims(spec: model.Spec, derivation: Derivation | None = None, *, seed: int = 0) -> Iterator[CheckResult]:
    """The verdicts as rows of ``symderive check``."""
    yield from _rows(judge(spec, derivation, seed=seed))


def check_text(spec: model.Spec, text: str, *, seed: int = 0) -> Iterator[CheckResult]:
    """The verdicts on claims that are given as text, as rows of ``symderive check``."""
    yield from _rows(judge_text(spec, text, seed=seed))


def _rows(results: Sequence[ClaimResult]) -> Iterator[CheckResult]:
    from symderive.check.results import CheckResult

    for result in results:
        yield CheckResult(
            "claim",
            result.target,
            "pass" if result.ok else "fail",
            detail=result.detail,
            verdict=result.verdict,
            diagnosis=None if result.diagnosis is None else result.diagnosis.document(),
            line=result.line,
            text=result.text,
            side=result.side,
        )
