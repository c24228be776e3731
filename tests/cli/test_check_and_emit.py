"""``symderive check`` and ``symderive emit``."""

from __future__ import annotations

import json
from importlib import metadata

import pytest

from symderive.catalogue import spec_path
from symderive.cli import check

KERNELS = """
import torch

def relu(x):
    return torch.relu(x)

def wrong(x):
    return torch.where(x > 0, x, 0.001 * x)
"""

GOOD = "name: good\nsizes: {N: 4}\ninputs: {x: [N]}\nforward: |\n  y[i] = x[i]**2\n"
OFF = "name: off\nsizes: {N: 4}\ninputs: {x: [N]}\nforward: |\n  y[i] = x[i]**2\nreference: |\n  y = 1.001 * x**2\n"
BAD = "name: bad\nsizes: {N: 4}\ninputs: {x: [N]}\nforward: |\n  y[i] = x[j]**2\n"


@pytest.fixture
def folder(tmp_path):
    for name, text in (("good", GOOD), ("off", OFF), ("bad", BAD)):
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("names", "status"), [(["good"], 0), (["off"], 1), (["bad"], 2), (["good", "off"], 1), (["bad", "off", "good"], 2)]
)
def test_the_exit_status_says_how_it_went(names, status, run, folder):
    result = run("check", *(f"{n}.yaml" for n in names), "--quick")
    assert result.returncode == status
    assert "Traceback" not in result.stderr


def test_claims_are_judged_together_and_in_order(run, folder):
    result = run("check", "good.yaml", "--claim", "h = 2 * x", "--claim", "dx = h * dy", "--claim", "dx = x * dy")
    assert result.returncode == 1
    assert "1 passed, 1 failed" in result.stdout
    assert "line 3: dx = x * dy" in result.stdout


def test_claims_are_judged_where_torch_is_not_installed(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    results = check._judged([str(spec_path("relu"))], "dx = dy * where(x > 0, 1, 0)", 0)
    assert results.ok
    assert results.environment["torch"] == "none"


def test_a_claim_and_an_op_are_not_checked_together_nor_is_an_empty_claim(run, folder):
    for arguments in (("--claim", "dx = dy", "--op", "kernels:relu"), ("--claim", " ")):
        result = run("check", "good.yaml", *arguments)
        assert result.returncode == 2
        assert "--claim" in result.stderr
        assert not result.stdout


UNUSED = """name: unused
sizes: {N: 4, K: 3, Z: 5}
constants: {c: 2, eps: 1e-5}
inputs: {x: [N], w: [K], t: {shape: [N], index: K}}
forward: |
  y[i] = x[i]**2 + eps
"""


@pytest.mark.parametrize("command", [("derive", "--no-check"), ("emit",), ("check", "--quick", "--device", "cpu")])
def test_what_is_never_read_is_told_and_nothing_else_changes(command, run, folder):
    (folder / "unused.yaml").write_text(UNUSED)
    result = run(command[0], "unused.yaml", *command[1:])
    assert result.returncode == 0
    notes = [line for line in result.stderr.splitlines() if line.startswith("note: ")]
    assert notes == [
        "note: unused.yaml:4: no equation reads the input 'w': its gradient is 0",
        "note: unused.yaml:4: no equation reads the input 't'",
        "note: unused.yaml: nothing reads the constant 'c'",
        "note: unused.yaml: nothing reads the size 'Z'",
    ]
    assert "note: " not in run(command[0], "good.yaml", *command[1:]).stderr


def test_a_folder_is_all_of_its_specs(run, folder):
    result = run("check", ".", "--quick", "--json", "-")
    assert result.returncode == 2
    document = json.loads(result.stdout)
    assert [(r["spec"], r["status"]) for r in document["results"]] == [
        ("bad", "error"),
        ("good", "pass"),
        ("off", "fail"),
    ]
    error = document["results"][0]["error"]
    assert (error["line"], error["column"]) == (5, 12)
    assert "j" in error["message"]


def test_the_json_document(run, folder):
    result = run("check", "good.yaml", "--quick", "--json", "out.json", "--dtype", "float64", "--device", "cpu")
    assert result.returncode == 0
    assert "PASS" in result.stdout
    document = json.loads((folder / "out.json").read_text())
    assert document["version"] == 1
    assert document["environment"]["torch"]
    assert "cpu" in document["environment"]["devices"]
    checks = document["results"][0]["checks"]
    assert {"oracle", "autograd", "gradcheck"} <= {c["check"] for c in checks}
    assert {c["dtype"] for c in checks if c["status"] == "pass"} == {"float64"}
    reference = next(c for c in checks if c["check"] == "reference")
    assert (reference["status"], reference["detail"]) == ("skip", "no reference given")


def test_someones_own_op(run, tmp_path):
    (tmp_path / "kernels.py").write_text(KERNELS)
    assert run("check", "relu", "--op", "kernels:relu", "--quick").returncode == 0
    result = run("check", "relu", "--op", "kernels:wrong", "--quick")
    assert result.returncode == 1
    assert "FAIL" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--op", "kernels:nothing"], "kernels"),
        (["--op", "kernels"], "module:function"),
        (["--sizes", "N:8"], "as in N=8"),
        (["--sizes", "D=0"], "at least 1"),
        (["--sizes", "Q=8"], "Q"),
        (["--max-memory", "much"], "800M or 2G"),
        (["--dtype", "float8"], "float8"),
        (["--device", "abacus"], "abacus"),
        (["--jobs", "0"], "--jobs"),
    ],
)
def test_options_that_cannot_be_used(arguments, message, run):
    result = run("check", "relu", "--quick", *arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_device_that_is_required_and_missing_fails(run, folder):
    import torch

    missing = next(d for d in ("mps", "xpu", "cuda") if not getattr(torch, d).is_available())
    result = run("check", "good.yaml", "--quick", "--require-device", missing)
    assert result.returncode == 1
    assert f"no {missing} device" in result.stdout


def test_sizes_replace_the_authors(run, folder):
    result = run("check", "good.yaml", "--quick", "--sizes", "N=9", "--json", "-")
    sizes = [c["sizes"] for c in json.loads(result.stdout)["results"][0]["checks"] if c["check"] == "oracle"]
    assert {"N": 9} in sizes


def test_jobs_change_nothing_but_the_time(run, folder):
    one, two = (
        json.loads(run("check", "good.yaml", "off.yaml", "--quick", "--json", "-", "--jobs", n).stdout) for n in "12"
    )
    assert one == two


def test_progress_is_told_on_standard_error(run, folder):
    result = run("check", "good.yaml", "off.yaml", "--quick")
    assert result.stderr == "checking good\nchecking off\n"


@pytest.mark.parametrize("kind", ["functions", "numpy"])
def test_emit_writes_importable_code(kind, run, tmp_path):
    assert run("emit", "softmax", "--as", kind, "--out", "softmax.py").returncode == 0
    scope: dict = {}
    exec(compile((tmp_path / "softmax.py").read_text(), "softmax.py", "exec"), scope)
    assert (scope["INPUTS"], scope["OUTPUTS"], scope["WRT"]) == (("z",), ("y",), ("z",))
    assert callable(scope["forward"])
    assert callable(scope["backward"])
    assert ("torch" in scope) == (kind == "functions")


@pytest.mark.parametrize("kind", ["autograd", "custom_op"])
def test_emit_writes_ops_that_verify_themselves(kind, run, tmp_path):
    assert run("emit", "softmax", "--as", kind, "--namespace", "mine", "--out", "softmax.py").returncode == 0
    text = (tmp_path / "softmax.py").read_text()
    assert ("mine::softmax" in text) == (kind == "custom_op")
    assert 'if __name__ == "__main__":' in text
    scope: dict = {}
    exec(compile(text, "softmax.py", "exec"), scope)
    assert callable(scope["softmax"])


def test_a_namespace_that_is_none_is_an_error(run):
    result = run("emit", "softmax", "--as", "custom_op", "--namespace", "my ops")
    assert result.returncode == 2
    assert "is not an identifier" in result.stderr


def test_emit_writes_an_entry_for_derivatives_yaml(run):
    result = run("emit", "linear", "--as", "derivatives")
    assert "- name: linear(Tensor x, Tensor W, Tensor b) -> Tensor y" in result.stdout
    assert "  W: grad.T @ x" in result.stdout
