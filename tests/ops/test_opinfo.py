"""Emitted ops over PyTorch's own samples: a part of ``experiments/opinfo``, and ops that are wrong there."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from symderive import api

pytest.importorskip("expecttest", reason="PyTorch's test data needs expecttest")
sys.path.insert(0, str(Path(__file__).parents[2] / "experiments" / "opinfo"))

import compare
import run
import samples


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "cross_entropy", "embedding", "conv1d_grouped"])
def test_samples_that_a_spec_describes_pass(name: str):
    _, counts, failures = run.row(name)
    assert not failures
    assert counts["passed"] >= 4


def test_every_row_is_of_a_spec_and_of_an_op_of_pytorch():
    for name, row in run.TABLE.items():
        assert row.op in run.OPS
        spec = api.load(name)
        assert len(row.inputs.split()) == len(spec.inputs), name
        assert set(row.constants) <= set(spec.constants), name


def test_all_ways_to_reduce_a_loss_are_tried(monkeypatch: pytest.MonkeyPatch):
    _, counts, failures = run.row("mse")
    assert (counts["passed"], counts["skipped"], failures) == (12, 0, [])
    wrong = replace(run.TABLE["mse"], called=samples.averaged("sum", "input"))
    monkeypatch.setitem(run.TABLE, "mse", wrong)
    assert len(run.row("mse")[2]) == 10, "two samples have one entry, of which the sum is the mean"


def broken(monkeypatch: pytest.MonkeyPatch, name: str, change) -> list[str]:
    """What fails once the function of a spec is changed."""
    original = compare.emitted

    def other(spec: str, constants: tuple[tuple[str, str], ...] = ()) -> compare.Emitted:
        op = original(spec, constants)
        return replace(op, function=change(op.function))

    monkeypatch.setattr(run, "emitted", other)
    return run.row(name)[2]


def test_an_output_with_a_factor_fails(monkeypatch: pytest.MonkeyPatch):
    wrong = broken(monkeypatch, "softmax", lambda f: lambda z: f(z) * (1 + 1e-12))
    assert any("in float64" in w for w in wrong)
    assert not any("in float32" in w for w in wrong), "1e-12 is below the rounding of float32"


def test_a_gradient_that_forgets_a_part_fails(monkeypatch: pytest.MonkeyPatch):
    wrong = broken(monkeypatch, "softmax", lambda f: lambda z: f(z).detach() * (z / z.detach()))
    assert wrong
    assert all(": dz:" in w for w in wrong)
