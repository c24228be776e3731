"""Gradients that people derived by hand, right and wrong: the verdict and the kind of diagnosis of each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from symderive import spec as specs
from symderive.claims import judge, judge_text
from symderive.spec import syntax

CASES = Path(__file__).parent / "cases"
INDEX = yaml.safe_load((CASES / "index.yaml").read_text(encoding="utf-8"))


def test_every_case_has_its_verdicts():
    assert set(INDEX) == {p.stem for p in CASES.glob("*.yaml")} - {"index"}


@pytest.mark.parametrize("name", sorted(INDEX))
def test_verdicts_kinds_and_conditions(name):
    spec = specs.load(CASES / f"{name}.yaml")
    results = judge(spec)
    assert len(results) == len(INDEX[name])
    for result, expected in zip(results, INDEX[name], strict=True):
        diagnosis = result.diagnosis
        found = {"line": result.text, "verdict": result.verdict}
        found |= {"side": result.side} if result.side else {}
        found |= {"kind": diagnosis.kind} if diagnosis else {}
        found |= {"condition": diagnosis.condition} if diagnosis and diagnosis.condition else {}
        assert found == expected
        check_why(result)
    check_corrections(spec, results)


def check_why(result):
    """A failed claim says why, and shows where."""
    if result.ok:
        assert result.diagnosis is None
        return
    assert result.diagnosis.sentence.endswith((".", "?"))
    counterexample = result.diagnosis.counterexample
    assert {"sizes", "indices", "claimed", "true"} <= set(counterexample)
    assert counterexample["claimed"] != counterexample["true"] or "undefined" in str(counterexample["claimed"])


def check_corrections(spec, results):
    """Each formula that is offered is right when it is pasted below the helpers of its claims."""
    helpers = [s for s in spec.claims if s.span.line not in {r.line for r in results}]
    rows = spec.text.splitlines()
    above = [rows[s.span.line - 1].strip() for s in helpers]
    offered = [r.diagnosis.correction for r in results if r.diagnosis and r.diagnosis.correction]
    pasted = judge_text(replace(spec, claims=(), bad_claims=()), "\n".join([*above, *dict.fromkeys(offered)]))
    unused = {s.left.id for s in helpers if isinstance(s.left, syntax.Name)} | {
        s.left.tensor for s in helpers if isinstance(s.left, syntax.Access)
    }
    assert not [str(r) for r in pasted if not r.ok and r.target not in unused]
