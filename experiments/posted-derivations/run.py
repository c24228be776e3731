"""Judges the gradients of the cases, as people posted them, and writes the table of REPORT.md.

    python experiments/posted-derivations/run.py [FOLDER]

FOLDER holds spec files with claims; by default the cases of the tests.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from symderive import spec as specs
from symderive.claims import ClaimResult, judge
from symderive.errors import SymderiveError

HERE = Path(__file__).parent
CASES = HERE.parents[1] / "tests" / "claims" / "cases"

HEAD = """# Gradients that people derived by hand

Derivations as they were posted in questions, answers, issues and textbooks, right and wrong, each read as a spec and
judged exactly: what was claimed, the verdict, and what is wrong with it.

Made by `python experiments/posted-derivations/run.py`.

"""


def judged(folder: Path) -> Iterator[tuple[str, ClaimResult]]:
    """Every side of every claim, with the title of its spec."""
    for path in sorted(folder.glob("*.yaml")):
        if path.stem == "index":
            continue
        try:
            spec = specs.load(path)
        except SymderiveError as error:
            print(error, file=sys.stderr)
            continue
        for result in judge(spec):
            yield spec.title or spec.name, result


def cell(text: str) -> str:
    """A text in a cell of a table."""
    return text.replace("|", r"\|").replace("\n", " ")


def code(text: str) -> str:
    """A formula in a cell."""
    return f"`{cell(text)}`" if text else ""


def row(title: str, result: ClaimResult) -> str:
    """One row of the table."""
    diagnosis = result.diagnosis
    why = "" if diagnosis is None else f"{diagnosis.kind}: {cell(diagnosis.sentence)}"
    side = f" (side {result.side})" if result.side else ""
    correction = "" if diagnosis is None else code(diagnosis.correction or "")
    verdict = result.verdict or "not judged"
    return f"| {cell(title)} | {code(result.text)}{side} | {verdict} | {why} | {correction} |"


def report(folder: Path) -> str:
    """The whole table, with the count of each verdict."""
    rows = list(judged(folder))
    counts = Counter(str(r.verdict or "not judged") for _, r in rows)
    total = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
    lines = [
        f"{len(rows)} claims: {total}.",
        "",
        "| case | claim | verdict | why | right |",
        "| --- | --- | --- | --- | --- |",
    ]
    return HEAD + "\n".join([*lines, *(row(t, r) for t, r in rows)]) + "\n"


if __name__ == "__main__":
    chosen = Path(sys.argv[1]) if len(sys.argv) > 1 else CASES
    text = report(chosen)
    (HERE / "REPORT.md").write_text(text, encoding="utf-8")
    print(next(line for line in text.splitlines() if " claims: " in line))
