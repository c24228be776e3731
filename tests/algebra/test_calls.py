"""Specs that call specs are differentiated by the rules of what they call, each derived once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from symderive.algebra import calls
from symderive.algebra.derive import derive, swept
from symderive.spec import load, loads
from symderive.spec.format import to_text
from symderive.spec.write import forward_statements
from tests.algebra.callers import caller
from tests.algebra.values import truth_and_derived

CATALOGUE = sorted(Path("derivations").glob("*.yaml"))

THREE = """
name: three
sizes: {N: 4, K: 5, H: 6, J: 3}
inputs:
  x: [N, K]
  W1: [H, K]
  b1: [H]
  W2: [J, H]
  b2: [J]
  W3: [J, J]
  b3: [J]
use: [linear]
forward: |
  a[n, h] = linear(x, W1, b1)[n, h]
  r[n, h] = tanh(a[n, h])
  z[n, j] = linear(r, W2, b2)[n, j]
  y[n, j] = linear(z, W3, b3)[n, j] * z[n, j]
"""


@pytest.fixture
def derived(monkeypatch):
    """The names of the specs whose rules are derived, as often as they are."""
    names = []
    real = calls._derived
    monkeypatch.setattr(calls, "RULES", {})
    monkeypatch.setattr(calls, "_derived", lambda spec: names.append(spec.name) or real(spec))
    return names


def assert_right(spec, seed=0):
    """The gradients by the rules of what is called are the true ones, and so are those without the calls."""
    true, found = truth_and_derived(derive(spec), seed)
    _, plain = truth_and_derived(derive(spec.expanded), seed)
    for name, value in true.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-8, atol=1e-10, err_msg=name)
        np.testing.assert_allclose(plain[name], value, rtol=1e-8, atol=1e-10, err_msg=name)


def with_calls(forward, use, inputs="{x: [B, M], y: [B, M], v: [M]}", more=""):
    lines = "".join(f"  {line}\n" for line in forward)
    head = f"name: top\nsizes: {{B: 2, M: 3}}\nuse: [{', '.join(use)}]\ninputs: {inputs}\n{more}"
    return loads(f"{head}forward: |\n{lines}", "top")


def rules(spec):
    """The calls that are differentiated by a rule, by what they call."""
    return [called.call.spec.name for called in {id(c): c for c in swept(spec)[0].calls.values()}.values()]


def steps(derivation):
    gradients = {g.tensor: g.steps for g in derivation.gradients.values()}
    return {**derivation.intermediate, **gradients}


def test_a_rule_is_derived_once_for_three_calls(derived):
    spec = loads(THREE, "three")
    assert len(spec.calls) == 3
    assert_right(spec)
    derive(spec)
    assert derived == ["linear"]
    derive(spec.expanded)
    assert derived == ["linear"]


def test_the_step_names_the_rule_and_its_upstream():
    told = steps(derive(loads(THREE, "three")))
    rule = next(s for s in told["dW2"] if s.rule == "call_rule")
    assert rule.text == "linear is derived already: its own rule is used, with the upstream dz"
    assert to_text(rule.after) == "dW2[j, k] = sum[n](dz[n, j] * r[n, k])"
    assert [s.rule for s in told["dr"]] == ["chain_rule", "call_rule"]
    assert [s.rule for s in told["dz"]][:2] == ["chain_rule", "call_rule"]  # read by a call, and by a product
    assert "local partial derivatives" in told["dz"][1].text
    plain = steps(derive(loads(THREE, "three").expanded))
    assert not any(s.rule == "call_rule" for own in plain.values() for s in own)


@pytest.mark.parametrize("path", CATALOGUE[::6], ids=lambda p: p.stem)
def test_every_op_can_be_called(path):
    """A sample; experiments/calls has the whole catalogue."""
    spec = caller(path)
    assert rules(spec) == [path.stem]
    assert_right(spec, seed=1)


@pytest.mark.parametrize("path", [p for p in CATALOGUE if "\nuse:" in p.read_text()], ids=lambda p: p.stem)
def test_both_ways_give_the_gradients_of_the_catalogue(path):
    spec = load(path)
    assert rules(spec)
    assert_right(spec)


def test_outputs_that_are_used_inside_and_outside():
    use = ["p[b, m] = x[b, m] * v[m]", "h[b, m] = lstm_cell(x, y, p, x, y).h[b, m]"]
    both = [*use, "s[b, m] = lstm_cell(x, y, p, x, y).s[b, m]", "L[b, m] = h[b, m] * s[b, m]"]
    for forward, more in ((use, ""), (both, ""), (both, "output: [L, s]\n"), (both[:-1], "output: [h, s]\n")):
        spec = with_calls(forward, ["lstm_cell"], more=more)
        assert rules(spec) == ["lstm_cell"]
        assert_right(spec)


def test_what_nothing_reads_has_no_upstream():
    spec = with_calls(["z[b, m] = lstm_cell(x, y, x, x, y).s[b, m]"], ["lstm_cell"])
    told = {e.tensor for e in derive(spec).display.equations}
    assert "dlstm_cell_h" not in told
    assert derive(spec).gradients["v"].zero
    assert_right(spec)


def test_batch_axes_are_those_of_the_call():
    for inputs in ("{x: [B, M], g: [M], v: [M]}", "{x: [..., M], g: [M], v: [M]}", "{x: [M], g: [M], v: [M]}"):
        axes = inputs.split("[")[1].split("]")[0]
        left = {"B, M": "b, m", "..., M": "..., m", "M": "m"}[axes]
        spec = with_calls(
            [f"n[{left}] = layer_norm(x, g, v)[{left}]", f"z[{left}] = n[{left}]**2"], ["layer_norm"], inputs
        )
        assert rules(spec) == ["layer_norm"]
        assert_right(spec)


def test_one_tensor_for_two_arguments():
    spec = with_calls(["z[b, m] = x[b, m] * y[b, m]", "L = mse(z, z)", "K = mse(z, x) + L"], ["mse"])
    assert_right(spec)


def test_an_assumption_of_the_called_spec_is_not_the_callers():
    """The soft cross-entropy of its own spec has targets that sum to 1: these do not."""
    spec = with_calls(["t[b, m] = 3 * y[b, m]", "L = cross_entropy_soft(x, t)"], ["cross_entropy_soft"])
    assert_right(spec)
    text = to_text(derive(spec).gradients["x"].index)
    assert "sum" in text


def test_a_log_of_a_softmax_stays_finite_across_calls():
    """The caller computes the log otherwise than by itself, so that rule is not used, and neither overflows."""
    forward = ["p[b, m] = softmax(x)[b, m]", "z[b, m] = log(p[b, m])", "L = mse(z, y)"]
    spec = with_calls(forward, ["softmax", "mse"])
    assert_right(spec)
    point = {"x": np.array([[0.0, 1000.0, -1000.0], [1.0, 2.0, 3.0]]), "y": np.zeros((2, 3)), "v": np.zeros(3)}
    from tests.algebra.values import gradients

    found = gradients(derive(spec), point, {"dL": np.array(1.0)}, {"B": 2, "M": 3})
    assert np.isfinite(found["dx"]).all()


def test_a_changed_equation_is_not_the_called_specs():
    spec = loads(THREE, "three")
    doubled = tuple(
        replace(e, right=loads(THREE.replace("tanh(a[n, h])", "2 * a[n, h]"), "three").equations[1].right)
        if e.tensor == "z"
        else e
        for e in spec.equations
    )
    assert rules(spec) == ["linear", "linear", "linear"]
    assert len(rules(replace(spec, equations=doubled))) == 2


def test_the_forward_shows_the_calls():
    shown = [to_text(s) for s in forward_statements(loads(THREE, "three"))]
    assert shown == [
        "a[n, h] = linear(x, W1, b1)[n, h]",
        "r[n, h] = tanh(a[n, h])",
        "z[n, j] = linear(r, W2, b2)[n, j]",
        "linear_y[n, j] = linear(z, W3, b3)[n, j]",
        "y[n, j] = linear_y[n, j] * z[n, j]",
    ]
    cell = with_calls(["h[b, m] = lstm_cell(x, y, x, x, y).h[b, m]"], ["lstm_cell"])
    assert to_text(forward_statements(cell)[-1]) == "h[b, m] = lstm_cell(x, y, x, x, y).h[b, m]"


def test_a_mean_over_batch_axes_counts_the_axes_of_the_call(tmp_path):
    own = "name: err\nsizes: {'...': [2], M: 3}\ninputs: {x: ['...', M], y: ['...', M]}\nforward: |\n"
    (tmp_path / "err.yaml").write_text(f"{own}  L = mean[..., m]((x[..., m] - y[..., m])**2 * y[..., m])\n")
    for shape in ("[B, M]", "[M]", "[B, B, M]"):
        text = f"name: top\nsizes: {{B: 2, M: 3}}\nuse: [err]\ninputs: {{x: {shape}, y: {shape}}}\n"
        (tmp_path / "top.yaml").write_text(f"{text}forward: |\n  e = err(x, y)\n  L = exp(e / 9)\n")
        spec = load(tmp_path / "top.yaml")
        assert rules(spec) == ["err"]
        assert_right(spec)


def test_rules_meet_across_calls_as_within_an_op():
    """A log-softmax that a loss of its own follows has the gradient of the cross-entropy, and saves no more."""
    inputs = "{z: [B, M], t: {shape: [B], index: M}}"
    forward = ["p[n, c] = log_softmax(z)[n, c]", "L = nll(p, t)"]
    found = derive(with_calls(forward, ["log_softmax", "nll"], inputs))
    assert to_text(found.gradients["z"].index) == "dz[n, c] = (softmax[c](z[n, c]) - delta(c, t[n])) / B"
    assert found.saved == ("z", "t")
