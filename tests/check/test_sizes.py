"""The sizes at which specs are checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from symderive.check import sizes
from symderive.check.matrix import Options, plan, size_sets
from symderive.check.runner import check
from symderive.errors import SpecError
from symderive.spec import load, loads

CATALOGUE = sorted((Path(__file__).parents[2] / "derivations").glob("*.yaml"))
CONV = """
name: conv_of
sizes: {N: 2, T: 9, R: 3}
inputs: {x: [N, T], w: [R]}
forward: |
  y[n, h] = sum[r](x[n, h + r] * w[r])
indices: {h: T - R + 1}
"""
PICK = """
name: pick
sizes: {N: 4, C: 5}
inputs:
  z: [N, C]
  t: {shape: [N], index: C}
forward: |
  y[n] = z[n, t[n]] + z[n, argmax[c](z[n, c])]
"""


@pytest.mark.parametrize("path", CATALOGUE, ids=lambda p: p.stem)
def test_small_sizes_are_different_and_valid(path):
    spec = load(path)
    small = sizes.small(spec)
    assert len(set(small.values())) == len(small)
    assert sizes.valid(spec, small)
    assert sizes.entries(spec, small) <= 1500  # six sizes that differ pairwise, as of a grouped convolution
    assert len(small) > 2 or min(small.values(), default=3) >= 3


def test_windows_fit():
    spec = loads(CONV)
    small = sizes.small(spec)
    assert small["T"] >= small["R"]
    assert sizes.square(spec) == {"N": 3, "T": 3, "R": 3}
    assert not sizes.valid(spec, {"N": 2, "T": 2, "R": 4})


def test_sizes_of_0_and_1_are_those_that_mean_something():
    found = [{k: v for k, v in s.items() if v < 2} for s in sizes.degenerate(loads(CONV))]
    assert {"N": 0} in found
    assert {"N": 1} in found
    assert not any(s.get("T") == 0 or s.get("R") == 0 for s in found)
    found = sizes.degenerate(loads(PICK))
    assert any(s["N"] == 0 for s in found)
    assert not any(s["C"] == 0 for s in found)


CLASSES = """
name: same_class
sizes: {N: 6, D: 4, C: 3}
inputs:
  x: [N, D]
  t: {shape: [N], index: C}
forward: |
  y[i, j] = where(t[i] == t[j], sum[d](x[i, d] * x[j, d]), 0)
reference: |
  y = where(t[:, None] == t, x @ x.T, 0)
"""


def test_a_size_that_no_axis_has_is_given_too():
    spec = loads(CLASSES)
    for found in (sizes.small(spec), sizes.tiny(spec), sizes.square(spec), *sizes.degenerate(spec)):
        assert list(found) == ["N", "D", "C"]
    assert sizes.small(spec)["C"] == 2  # of three ids, two are equal
    result = check(spec, quick=True, devices=("cpu",))
    assert result.ok, result.table()


def test_batch_axes_are_none_one_and_two():
    spec = load(next(p for p in CATALOGUE if p.stem == "layer_norm"))
    ranks = {len(s["..."]) for label, s in size_sets(spec, Options()) if label in ("small", "batch")}
    assert ranks == {0, 1, 2}


def test_the_authors_sizes_can_be_replaced():
    spec = loads(CONV)
    assert sizes.author(spec) == {"N": 2, "T": 9, "R": 3}
    assert sizes.author(spec, {"T": 20}) == {"N": 2, "T": 20, "R": 3}
    with pytest.raises(SpecError, match="has no size 'Q'"):
        sizes.author(spec, {"Q": 1})
    with pytest.raises(SpecError, match="a range would be empty"):
        sizes.author(spec, {"T": 2})


def test_every_kind_of_check_runs_at_authors_sizes_that_are_as_small_as_those_drawn():
    spec = loads("name: op\nsizes: {N: 3, K: 4}\ninputs: {x: [N, K]}\nforward: |\n  y[n] = sum[k](x[n, k]**2)\n")
    assert sizes.author(spec) == sizes.small(spec)
    for quick in (False, True):
        planned = plan(spec, Options(quick=quick))
        run = {p.kind.name for p in planned if p.instead is None and p.cell.device == "cpu"}
        assert {"oracle", "autograd", "gradcheck", "stability", "layout"} <= run
        cells = [p.cell for p in planned if p.instead is None]
        assert len(cells) == len({(c.check, c.dtype, c.device, str(c.sizes)) for c in cells})
