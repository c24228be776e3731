"""Entries in the style of ``derivatives.yaml``: what they call is defined above them, and called with its arguments."""

from __future__ import annotations

import ast

import pytest
import yaml

from symderive import api
from symderive.emit.derivatives import derivatives_entry


def entry(name: str) -> tuple[dict[str, str], dict[str, ast.FunctionDef]]:
    """The entry's lines, and the functions above it."""
    text = derivatives_entry(api.load(name))
    comments = [line[2:] for line in text.splitlines() if line.startswith("# ") or line == "#"]
    start = next((n for n, line in enumerate(comments) if line.startswith("def ")), len(comments))
    tree = ast.parse("\n".join(comments[start:]))
    (found,) = yaml.load(text, yaml.BaseLoader)
    return found, {f.name: f for f in tree.body if isinstance(f, ast.FunctionDef)}


def test_short_formulas_stand_in_the_entry():
    found, functions = entry("log_softmax")
    assert found == {
        "name": "log_softmax(Tensor z) -> Tensor y",
        "z": "torch.addcmul(grad, torch.softmax(z, -1), grad.sum(-1, keepdim=True), value=-1)",
        "y": "z_t - (z_t * torch.softmax(z, -1)).sum(-1, keepdim=True)",
    }
    assert not functions


def test_several_gradients_are_one_call_with_a_mask():
    found, functions = entry("layer_norm")
    assert found["x, gamma, beta"] == "layer_norm_backward(*grad_input_mask, gamma, rstd, xhat, grad)"
    assert [a.arg for a in functions["layer_norm_backward"].args.args[:3]] == ["needs_x", "needs_gamma", "needs_beta"]


def test_several_upstreams_are_numbered_in_the_entry_alone():
    found, functions = entry("lstm_cell")
    assert found["p, q, u, v, c"].endswith("grads[0], grads[1])")
    assert [a.arg for a in functions["lstm_cell_backward"].args.args[-2:]] == ["dh", "ds"]


def test_sizes_are_read_off_the_inputs():
    assert entry("embedding")[0]["E"] == "embedding_backward(t, grad, E.shape[0])"


def test_nothing_is_called_that_only_modules_define():
    assert "dz = torch.softmax(z, -1) * ratio" in derivatives_entry(api.load("cross_entropy"))
    assert "_scaled" not in derivatives_entry(api.load("cross_entropy"))


def test_constants_are_said():
    assert "In the formulas p = 0.1." in derivatives_entry(api.load("dropout"))


@pytest.mark.parametrize("name", ["conv2d", "cross_entropy", "huber", "lstm_cell", "max_pool1d", "attention", "linear"])
def test_every_line_is_an_expression_and_every_call_is_of_a_function_above(name: str):
    found, functions = entry(name)
    for key, line in found.items():
        if key in ("name", "output_differentiability") or line == "non_differentiable":
            continue
        for call in (n for n in ast.walk(ast.parse(line, mode="eval")) if isinstance(n, ast.Call)):
            if isinstance(call.func, ast.Name):
                taken = functions[call.func.id].args.args
                masked = sum(isinstance(a, ast.Starred) for a in call.args)
                flags = sum(a.arg.startswith("needs_") for a in taken)
                assert len(call.args) - masked == len(taken) - (flags if masked else 0), line
