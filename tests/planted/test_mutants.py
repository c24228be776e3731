"""Every catalogue gradient, changed in every way in which people get it wrong, is rejected."""

from __future__ import annotations

from pathlib import Path

import pytest
from .mutations import CHANGES, is_equal, mutants

from symderive.check.matrix import KINDS, Options, plan
from symderive.check.prepare import prepare
from symderive.check.runner import run_cell
from symderive.spec import load

CATALOGUE = sorted((Path(__file__).parents[2] / "derivations").glob("*.yaml"))
LABELS = ("small", "square")


def rejected(subject, dtype):
    """Whether the autograd check fails at small or square sizes."""
    for entry in plan(subject.spec, Options(dtypes=(dtype,), devices=("cpu",), kinds=("autograd",))):
        if entry.cell.label in LABELS and any(r.status == "fail" for r in run_cell(subject, entry)):
            return True
    return False


@pytest.mark.parametrize("path", CATALOGUE, ids=lambda p: p.stem)
def test_mutants_of_the_catalogue_are_rejected(path):
    subject = prepare(load(path))
    sizes = next(e.cell.sizes for e in plan(subject.spec, Options(kinds=("autograd",))) if e.cell.label == "small")
    found = [m for m in mutants(subject.backward) if not is_equal(subject, m.plan, sizes)]
    assert {"sign", "factor"} <= {m.change for m in found}
    missed = [
        f"{m.change} in {m.at} ({dtype})"
        for m in found
        for dtype in ("float64", "float32")
        if not rejected(m.subject(subject), dtype)
    ]
    assert not missed


def test_the_right_gradients_are_accepted():
    for path in CATALOGUE[:4]:
        subject = prepare(load(path))
        assert not rejected(subject, "float64")
        assert not rejected(subject, "float32")


def test_every_way_to_be_wrong_is_tried():
    found = {m.change for path in CATALOGUE for m in mutants(prepare(load(path)).backward)}
    assert found == set(CHANGES)
    assert "autograd" in {k.name for k in KINDS}
