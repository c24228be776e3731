"""The short check after a derivation: the claims and their verdicts, then how far the code is from the truth."""

from __future__ import annotations

import os
from collections.abc import Iterator

from symderive.check.results import CheckResult, SpecResult
from symderive.report.document import Block, Heading, Listing, Prose, Table
from symderive.report.text import sizes_text, spec_table

COLUMNS = ("check", "of", "dtype", "device", "sizes", "error", "allowed", "")


def verification(result: SpecResult) -> Iterator[Block]:
    """Claims with their verdicts, one row a comparison; what failed is told in full."""
    claims = [r for r in result.checks if r.check == "claim"]
    if claims:
        yield Heading("Claims")
        yield from _claims(claims)
    yield Heading("Verification")
    if not result.ok and (result.error or result.failures):
        yield Listing(spec_table(result))
        return
    measured = [r for r in result.checks if r.check != "claim" and r.status == "pass" and r.device != "meta"]
    yield Table(COLUMNS, tuple(_row(r) for r in measured))
    counts = {status: sum(r.status == status for r in result.checks) for status in ("pass", "fail", "skip")}
    yield Listing(
        f"{result.status.upper()}  {counts['pass']} passed, {counts['fail']} failed, {counts['skip']} skipped"
    )
    if os.path.isfile(result.path):
        yield Prose(f"'symderive check {result.path}' runs every check, in every dtype.")


def _claims(rows: list[CheckResult]) -> Iterator[Block]:
    judged = [r for r in rows if r.verdict is not None]
    if judged:
        yield Table((), tuple((f"  line {r.line}", r.text or "", r.verdict or "") for r in judged))
    for row in rows:
        if row.verdict is None:
            yield Table((), ((f"  line {row.line}", row.text or "", row.status),))
    reasons = dict.fromkeys(r.detail for r in rows if r.verdict is None and r.detail)
    for reason in reasons:
        yield Prose(f"{reason[:1].upper()}{reason[1:]}.")


def _row(row: CheckResult) -> tuple[str, ...]:
    error, bound = (("" if v is None else f"{v:.1e}") for v in (row.max_abs_error, row.bound))
    return row.check, row.target, row.dtype or "", row.device or "", sizes_text(row), error, bound, row.status
