"""The catalogue: its claims are right, its gradients in another form are, and made wrong they are not.

A sample of what ``experiments/claims-sweep/run.py`` does in full.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from symderive import spec as specs
from symderive.claims import judge
from symderive.spec.format import to_text
from tests.claims.sweep import is_equal, mutated, rewritings, row, verdicts

CATALOGUE = sorted((Path(__file__).parents[2] / "derivations").glob("*.yaml"))
FEW = ("attention", "cross_entropy", "layer_norm", "linear_mse", "softmax")


@pytest.mark.parametrize("path", CATALOGUE, ids=lambda p: p.stem)
def test_every_claim_is_right(path):
    results = judge(specs.load(path))
    assert [str(r) for r in results if not r.ok] == []


@pytest.mark.parametrize("path", CATALOGUE[::4], ids=lambda p: p.stem)
def test_no_rewriting_is_rejected(path):
    spec = replace(specs.load(path), claims=())
    written = list(rewritings(spec, 3, seed=path.stem))[-4:]
    for lines, (result, _) in zip(written, verdicts(spec, written), strict=True):
        assert result.verdict == "right", ("; ".join(map(to_text, lines)), result)


@pytest.mark.parametrize("name", FEW)
def test_mutants_are_rejected_and_mostly_explained(name):
    spec = replace(specs.load(CATALOGUE[0].with_name(f"{name}.yaml")), claims=())
    made = list(mutated(spec, 3, seed=2))[:12]
    named = 0
    for mutant, (result, _) in zip(made, verdicts(spec, [m.lines for m in made]), strict=True):
        text = "; ".join(map(to_text, mutant.lines))
        if result.verdict == "right" and is_equal(spec, mutant.lines):
            named += 1
            continue
        assert result.verdict in ("wrong", "invalid", "conditional"), text
        named += result.diagnosis.kind in mutant.kinds
    assert named >= 0.8 * len(made)


@pytest.mark.parametrize("name", ["linear_mse", "softmax"])
def test_two_mistakes_are_told(name):
    found = row(name, 0, 0, twice=2)
    assert found.faults == []
    assert found.pairs >= 4
    assert found.pairs_named >= 0.7 * found.pairs
    assert found.pairs_told >= 0.5 * found.pairs


def test_the_sweep_reports_what_it_finds(monkeypatch):
    found = row("linear", 2, 2)
    assert (found.faults, found.rewritings > 0, found.mutants > 0) == ([], True, True)
    monkeypatch.setattr("tests.claims.sweep.rewriting", lambda spec, form, rng: [_doubled(form.statement)])
    assert len(row("linear", 1, 0).faults) == 3


def _doubled(statement):
    from symderive.claims.trees import number, times

    return replace(statement, sides=(times(number(2), statement.right),))
