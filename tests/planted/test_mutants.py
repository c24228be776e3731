"""Every catalogue gradient, changed in every way in which people get it wrong, is rejected."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from symderive.check import sample
from symderive.check.matrix import Options, plan
from symderive.check.prepare import prepare
from symderive.check.runner import run_cell
from symderive.lower.execute import execute
from symderive.spec import load

from .mutations import CHANGES, is_equal, mutants

CATALOGUE = sorted((Path(__file__).parents[2] / "derivations").glob("*.yaml"))
EACH = 1
"""How many mutants of each change are tried, spread over the assignments: there are a thousand in all."""


def some(found, different):
    """The first few mutants of each change, the last gradient's among them."""
    chosen = []
    for change in CHANGES:
        own = [m for m in found if m.change == change]
        spread = dict.fromkeys((*range(min(len(own), EACH)), *range(max(len(own) - 1, 0), len(own))))
        chosen += [own[n] for n in spread if different(own[n])]
    return chosen


def rejected(subject, dtype):
    """Whether a check fails: autograd at all sizes, at extreme inputs, or at kinks, which only float64 visits."""
    for kinds, own in ((("autograd", "stability"), dtype), (("gradcheck",), "float64")):
        for entry in plan(subject.spec, Options(dtypes=(own,), devices=("cpu",), kinds=kinds)):
            if any(r.status == "fail" for r in run_cell(subject, entry)):
                return True
    return False


def above_rounding(subject, mutant, sizes):
    """Whether the change is larger than what float32 may be off by, at a random point."""
    rng = np.random.default_rng(5)
    point = sample.draw_inputs(subject.spec, sizes, sample.Draw(rng))
    point |= sample.draw_upstreams(subject.spec, sizes, sample.Draw(rng))
    errors = subject.bounds(point, sizes, "float32").errors
    extents = {k: v for k, v in sizes.items() if isinstance(v, int)}
    with np.errstate(all="ignore"):
        known = {**point, **execute(subject.forward, point, extents)}
        right, wrong = (execute(b, known, extents) for b in (subject.backward, mutant.plan))
    return any(
        right[n].shape != wrong[n].shape or (np.abs(right[n] - wrong[n]) > 2 * errors[n]).any()
        for n in subject.gradients
    )


@pytest.mark.parametrize("path", CATALOGUE, ids=lambda p: p.stem)
def test_mutants_of_the_catalogue_are_rejected(path):
    subject = prepare(load(path))
    sizes = next(e.cell.sizes for e in plan(subject.spec, Options(kinds=("autograd",))) if e.cell.label == "small")
    found = some(list(mutants(subject.backward)), lambda m: not is_equal(subject, m.plan, sizes))
    assert {"sign", "factor"} <= {m.change for m in found}
    missed = [
        f"{m.change} in {m.at} ({dtype})"
        for m in found
        for dtype in ("float64", "float32")
        if not rejected(m.subject(subject), dtype) and (dtype == "float64" or above_rounding(subject, m, sizes))
    ]
    assert not missed


def test_the_right_gradients_are_accepted():
    for path in CATALOGUE[:4]:
        subject = prepare(load(path))
        assert not rejected(subject, "float64")
        assert not rejected(subject, "float32")


def test_every_way_to_be_wrong_is_tried():
    found = set()
    for path in CATALOGUE:
        found |= {m.change for m in mutants(prepare(load(path)).backward)}
        if found == set(CHANGES):
            break
    assert found == set(CHANGES)
