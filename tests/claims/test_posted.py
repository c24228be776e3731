"""Derivations as people post them, mistakes and all: behind each claim stands what a strict reader would say of it.

``# right``, ``# wrong: KIND | KIND``, ``# conditional: KIND; CONDITION``, ``# invalid: KIND``; one for each side of a
chain. Several kinds are equally fair. What is offered as the right formula must be right.

Of those in ``posted/more`` a sample is tested; ``python -m tests.claims.test_posted`` goes through all of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from symderive import spec as specs
from symderive.claims import judge
from tests.claims.test_cases import check_corrections

POSTED = sorted((Path(__file__).parent / "posted").glob("*.yaml"))
MORE = sorted((Path(__file__).parent / "posted" / "more").glob("*.yaml"))
SAMPLE = MORE[::6]


def expectations(path):
    """The line of each claim that says what to expect, and that."""
    rows = path.read_text(encoding="utf-8").partition("claims: |")
    first = rows[0].count("\n") + 1
    return {
        first + number: row.rpartition("  # ")[2].split(", ")
        for number, row in enumerate(rows[2].split("\n"))
        if "  # " in row
    }


def told(result):
    """A result in the words of the expectations."""
    diagnosis = result.diagnosis
    if diagnosis is None:
        return result.verdict, "", ""
    return result.verdict, diagnosis.kind, diagnosis.condition or ""


def fits(result, expected):
    verdict, _, rest = expected.partition(": ")
    kinds, _, condition = rest.partition("; ")
    found = told(result)
    return found[0] == verdict and found[2] == condition and (not kinds or found[1] in kinds.split(" | "))


@pytest.mark.parametrize("path", POSTED + SAMPLE, ids=lambda p: p.stem)
def test_posted_derivations(path):
    check(path)


def check(path):
    """Judge the claims of a spec, and compare with what stands behind each."""
    spec = specs.load(path)
    results = judge(spec)
    expected = expectations(path)
    by_line = {}
    for result in results:
        by_line.setdefault(result.line, []).append(result)
    assert set(by_line) == set(expected)
    wrong = [
        (result.text, told(result), say)
        for line, sides in by_line.items()
        for result, say in zip(sides, expected[line], strict=True)
        if not fits(result, say)
    ]
    assert not wrong
    check_words(results)
    check_corrections(spec, results)


def check_words(results):
    for result in results:
        if result.diagnosis is not None:
            assert result.diagnosis.sentence.endswith((".", "?"))
            assert result.verdict != "wrong" or result.diagnosis.counterexample


def test_there_are_many_of_every_sort():
    said = [one.partition(":")[0] for path in POSTED for sides in expectations(path).values() for one in sides]
    assert len(POSTED) >= 40
    assert min(said.count("right"), said.count("wrong")) > 100
    assert min(said.count("conditional"), said.count("invalid")) > 20


def main():
    """Check all of ``posted/more``; the exit status is 1 where one is judged otherwise."""
    failed = 0
    for path in MORE:
        try:
            check(path)
        except AssertionError as error:
            failed += 1
            print(path.stem, error)
    print(f"{len(MORE)} specs, {failed} judged otherwise")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
