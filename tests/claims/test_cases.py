"""Gradients that people derived by hand, right and wrong: the verdict and the kind of diagnosis of each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from symderive import spec as specs
from symderive.claims import judge

CASES = Path(__file__).parent / "cases"
INDEX = yaml.safe_load((CASES / "index.yaml").read_text(encoding="utf-8"))


def judged(name):
    return judge(specs.load(CASES / f"{name}.yaml"))


def test_every_case_has_its_verdicts():
    assert set(INDEX) == {p.stem for p in CASES.glob("*.yaml")} - {"index"}


@pytest.mark.parametrize("name", sorted(INDEX))
def test_verdicts_kinds_and_conditions(name):
    results = judged(name)
    assert len(results) == len(INDEX[name])
    for result, expected in zip(results, INDEX[name], strict=True):
        diagnosis = result.diagnosis
        found = {"line": result.text, "verdict": result.verdict}
        found |= {"side": result.side} if result.side else {}
        found |= {"kind": diagnosis.kind} if diagnosis else {}
        found |= {"condition": diagnosis.condition} if diagnosis and diagnosis.condition else {}
        assert found == expected


@pytest.mark.parametrize("name", [n for n in sorted(INDEX) if not n.endswith(("_right", "_alternative"))])
def test_a_failed_claim_says_why_and_shows_where(name):
    for result in judged(name):
        if result.ok:
            assert result.diagnosis is None
            continue
        assert result.diagnosis.sentence.endswith(".")
        counterexample = result.diagnosis.counterexample
        assert {"sizes", "indices", "claimed", "true"} <= set(counterexample)
        assert counterexample["claimed"] != counterexample["true"] or "undefined" in str(counterexample["claimed"])


def test_a_correction_is_right():
    checked = 0
    for name in sorted(INDEX):
        for result in judged(name):
            correction = result.diagnosis.correction if result.diagnosis else None
            if not correction or "\n" in correction:
                continue
            path = CASES / f"{name}.yaml"
            text = path.read_text(encoding="utf-8")
            helpers = re.split(r"\nclaims: \|\n", text)[1]
            kept = [row for row in helpers.splitlines() if not re.match(r"\s+(d\w+|D)\b.*=", row)]
            spec = specs.loads(text.replace(helpers, "\n".join([*kept, f"  {correction}\n"])))
            last = judge(spec)[-1]
            assert last.ok, (name, correction, last)
            checked += 1
    assert checked > 30
