"""The catalogue: its claims are right, its gradients in another form are, and made wrong they are not."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from symderive import spec as specs
from symderive.algebra.derive import derive
from symderive.claims import judge
from symderive.claims.judge import Court
from symderive.spec import syntax
from symderive.spec.format import to_text
from tests.claims.mutants import mutants, sampled
from tests.claims.rewritings import rewritten

CATALOGUE = sorted((Path(__file__).parents[2] / "derivations").glob("*.yaml"))
FEW = ("attention", "conv1d", "cross_entropy", "layer_norm", "linear_mse", "softmax")


def derived(spec):
    return [g.index for g in derive(spec).gradients.values() if not g.zero]


def verdict(spec, statement, helpers=()):
    results = list(Court(spec, [*helpers, statement], "").results())
    return results[-1]


@pytest.mark.parametrize("path", CATALOGUE, ids=lambda p: p.stem)
def test_every_claim_is_right(path):
    results = judge(specs.load(path))
    assert [str(r) for r in results if not r.ok] == []


@pytest.mark.parametrize("path", CATALOGUE[::4], ids=lambda p: p.stem)
def test_no_rewriting_is_rejected(path):
    spec, rng = specs.load(path), random.Random(path.stem)
    for statement in derived(spec)[:2]:
        other = rewritten(spec, statement, rng)
        assert str(verdict(spec, other)).split("\n")[1].strip() == "right", to_text(other)


@pytest.mark.parametrize("name", FEW)
def test_mutants_are_rejected_and_mostly_explained(name):
    spec, rng = specs.load(CATALOGUE[0].with_name(f"{name}.yaml")), random.Random(name)
    named = total = 0
    for statement in derived(spec)[:2]:
        assert isinstance(statement, syntax.Statement)
        for kind, mutant in sampled(mutants(spec, statement), 5, rng):
            result = verdict(spec, mutant)
            assert result.verdict in ("wrong", "invalid", "conditional"), to_text(mutant)
            named += result.diagnosis.kind == kind
            total += 1
    assert named >= 0.7 * total
