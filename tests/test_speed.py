"""The measurements of speed measure what they say; how fast things are is not tested here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import symderive
from symderive.api import loads
from symderive.check.ops_emitted import EmittedOp, emitted
from symderive.check.prepare import prepare

SPEED = Path(__file__).parent.parent / "experiments" / "speed"


@pytest.fixture(autouse=True)
def _speed(monkeypatch):
    monkeypatch.syspath_prepend(str(SPEED))
    yield
    for name in ("chain", "emitted", "kept", "timing"):
        sys.modules.pop(name, None)


def test_a_chain_is_a_spec_of_so_many_layers():
    from chain import chain

    spec = loads(chain(3), "chain3")
    derivation = symderive.derive(spec)
    assert [n for n in derivation.gradients if n.startswith("W")] == ["W1", "W2", "W3"]
    assert derivation.gradients["W3"].array == "dW3 = dy.T @ h2"


def test_the_code_of_a_chain_grows_as_its_layers_do():
    from chain import chain

    size = {n: len(symderive.derive(loads(chain(n), f"chain{n}")).torch) for n in (4, 8, 16)}
    assert (size[16] - size[8]) == pytest.approx(2 * (size[8] - size[4]), rel=0.1)


def test_a_ratio_above_what_is_allowed_is_not_kept():
    from timing import Row, table

    kept, broken = (Row("a", [1.0, x], [1.0, 1.0], "b", 1.2) for x in (1.1, 2.0))
    assert (kept.verdict, broken.verdict) == ("yes", "NO")
    assert broken.ratio == pytest.approx(1.5)
    assert "| NO |" in table([broken])


def test_pairs_are_run_in_turn():
    from timing import interleaved

    seen: list[str] = []
    times = interleaved(2, lambda: seen.append("a"), lambda: seen.append("b"), warm=1)
    assert seen == ["a", "b"] * 3
    assert [len(t) for t in times] == [2, 2]


@pytest.mark.parametrize(
    "name", ["attention", "cross_entropy", "l2_normalize", "layer_norm", "linear", "squared_hinge", "triplet"]
)
def test_the_emitted_op_keeps_no_more_for_the_backward_than_autograd_of_its_formulas(name):
    from kept import kept_row

    assert kept_row(prepare(symderive.load(name))).verdict == "yes"


def test_an_op_that_keeps_too_much_is_seen():
    from kept import kept_row

    subject = prepare(symderive.load("softmax"))
    function = emitted(subject, "autograd").function
    honest = kept_row(subject)
    subject.memory["emitted", "autograd"] = EmittedOp("autograd", lambda z: function(z * z))
    wasteful = kept_row(subject)
    assert (honest.verdict, wasteful.verdict) == ("yes", "NO")
    assert wasteful.measured[0] == 2 * honest.measured[0]
