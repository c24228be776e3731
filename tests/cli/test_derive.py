"""``symderive derive``: mathematics first, in every form, then a verification that can fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from symderive.api import FORMATS
from symderive.cli.derive import FORMATS as CHOICES

ROOT = Path(__file__).parents[2]

LINEAR = ROOT / "derivations" / "linear.yaml"


def test_the_text_has_every_part_in_order(run):
    result = run("derive", "linear_mse")
    assert result.returncode == 0, result.stdout + result.stderr
    parts = ["Forward", "Derivation", "Gradients", "PyTorch", "Claims", "Verification"]
    places = [result.stdout.index(f"\n{part}\n") for part in parts]
    assert places == sorted(places)
    for line in (
        "dW[j, k] = sum[i](dy[i, j] * x[i, k])",
        "dW = dy.T @ x",
        "dx = dy @ W",
        "db = dy.sum(0)",
        "dy = y - t",
        "def backward(saved, dL):",
        "Saved for the backward: x, W",
        "[chain_rule]",
    ):
        assert line in result.stdout
    assert "PASS" in result.stdout
    assert "\x1b" not in result.stdout
    assert result.stderr == ""


def test_the_mathematics_is_shown_before_torch_is_imported(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('torch is not here')\n")
    result = subprocess.run(
        [sys.executable, "-m", "symderive", "derive", str(LINEAR)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
    )
    assert result.returncode != 0
    assert "torch is not here" in result.stderr
    assert "dW = dy.T @ x" in result.stdout
    assert "def backward(saved, dy):" in result.stdout


@pytest.mark.parametrize("form", sorted(set(CHOICES) - {"text"}))
def test_no_form_of_a_derivation_imports_torch(form, process, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('torch is not here')\n")
    env = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    result = process("derive", LINEAR, "--format", form, env=env)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()


def test_the_forms_are_those_of_the_python_interface():
    assert {*FORMATS, "text"} == set(CHOICES)


def test_json_is_the_document_of_the_language(run):
    document = json.loads(run("derive", "linear", "--format", "json").stdout)
    assert document["version"] == 1
    assert document["spec"] == "linear"
    assert document["output"] == "y"
    assert list(document["gradients"]) == ["x", "W", "b"]
    gradient = document["gradients"]["W"]
    assert gradient["index"] == "dW[j, k] = sum[i](dy[i, j] * x[i, k])"
    assert gradient["array"] == "dW = dy.T @ x"
    assert gradient["shape"] == ["J", "K"]
    assert gradient["saves"] == ["x"]
    assert r"\frac{\partial" in gradient["latex_index"]
    assert r"\nabla_{W}" in gradient["latex_array"]
    assert {"rule", "latex", "text"} <= set(gradient["steps"][0])
    assert "def backward(saved, dy):" in document["torch"]


def test_what_is_emitted_is_importable_and_right(run, tmp_path):
    import torch

    path = tmp_path / "emitted.py"
    assert run("derive", "linear", "--format", "torch", "--out", path).returncode == 0
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    x, W, b, dy = (torch.randn(s, dtype=torch.float64) for s in ((2, 3), (5, 3), (5,), (2, 5)))
    y, saved = scope["forward"](x, W, b)
    assert torch.allclose(y, torch.nn.functional.linear(x, W, b))
    assert torch.allclose(scope["backward"](saved, dy)[1], dy.T @ x)


@pytest.mark.parametrize("name", ["mlp2_mse", "cross_entropy", "softmax", "attention"])
def test_a_gradient_written_as_a_spec_reads_back_and_checks(name, run, tmp_path):
    path = tmp_path / f"{name}_grad.yaml"
    assert run("derive", name, "--format", "spec", "--out", path).returncode == 0
    result = run("derive", path)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("name", ["linear_mse", "cross_entropy"])
def test_the_second_order_is_derived_and_checked(name, run):
    result = run("derive", name, "--order", "2")
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{name}_grad" in result.stdout.splitlines()[0]
    assert "gradcheck" in result.stdout


def test_wrt_chooses_the_gradients(run):
    document = json.loads(run("derive", "linear_mse", "--wrt", "b", "--wrt", "t", "--format", "json").stdout)
    assert list(document["gradients"]) == ["b", "t"]
    assert document["gradients"]["t"]["array"] == "dt = t - y"


@pytest.mark.parametrize(
    ("name", "wrt", "message"),
    [
        ("linear", "w", "did you mean W?"),
        ("linear", "q7", "the real inputs are x, W, b"),
        ("cross_entropy", "t", "holds no real numbers"),
        ("linear", "y", "is no input"),
    ],
)
def test_what_cannot_be_differentiated_by(name, wrt, message, run):
    result = run("derive", name, "--wrt", wrt)
    assert result.returncode == 2
    assert message in result.stderr


def test_an_input_that_nothing_depends_on_is_said_to_be_one(run, tmp_path):
    (tmp_path / "flat.yaml").write_text(
        "name: flat\nsizes: {N: 4}\ninputs: {x: [N], z: [N]}\nforward: |\n  L = sum[i](x[i]**2)\n"
    )
    result = run("derive", "flat.yaml", "--no-check")
    assert result.returncode == 0, result.stderr
    assert "L does not depend on z" in result.stdout


def test_a_verification_that_fails_is_1(run, tmp_path):
    (tmp_path / "off.yaml").write_text(
        "name: off\nsizes: {N: 4}\ninputs: {x: [N]}\nforward: |\n  y[i] = x[i]**2\nreference: |\n  y = 1.001 * x**2\n"
    )
    result = run("derive", "off.yaml")
    assert result.returncode == 1
    assert "FAIL  reference of y" in result.stdout
    assert run("derive", "off.yaml", "--no-check").returncode == 0


def test_text_to_a_file_is_plain_and_whole(run, tmp_path):
    result = run("derive", "relu", "--out", tmp_path / "relu.txt")
    assert result.returncode == 0
    assert result.stdout == ""
    text = (tmp_path / "relu.txt").read_text()
    assert text.startswith("relu: ")
    assert "PASS" in text


def test_a_spec_that_cannot_be_used_writes_nothing(run, tmp_path):
    (tmp_path / "bad.yaml").write_text(
        "name: bad\ninputs: {x: [N]}\nsizes: {N: 2}\nforward: |\n  y[i] = sqroot(x[i])\n"
    )
    result = run("derive", "bad.yaml", "--format", "torch", "--out", "bad.py")
    assert result.returncode == 2
    assert "bad.yaml:5:" in result.stderr
    assert "sqrt" in result.stderr
    assert not Path(tmp_path / "bad.py").exists()


def test_order_and_order_of_options_are_checked(run):
    assert run("derive", "relu", "--order", "3").returncode == 2


def test_the_gradient_of_a_gradient_is_a_spec_that_derives_again(run, tmp_path):
    path = tmp_path / "softmax_grad_grad.yaml"
    run("derive", "softmax", "--order", "2", "--no-check", "--format", "spec", "--out", str(path))
    again = run("derive", str(path), "--no-check")
    assert "grad2_" in path.read_text()
    assert "dgrad2_z" in again.stdout


def test_calls_are_shown_unless_they_are_written_out(run):
    text = run("derive", "mlp_cross_entropy", "--no-check", "--wrt", "W2").stdout
    assert "a[n, h] = linear(x, W1, b1)[n, h]" in text
    assert "linear is derived already: its own rule is used, with the upstream dz [call_rule]" in text
    plain = run("derive", "mlp_cross_entropy", "--no-check", "--wrt", "W2", "--inline").stdout
    assert "a[n, h] = sum[k](x[n, k] * W1[h, k]) + b1[h]" in plain
    assert "[call_rule]" not in plain
    last = "dW2[c, k] = sum[n](dz[n, c] * r[n, k])"
    assert last in text
    assert last in plain
