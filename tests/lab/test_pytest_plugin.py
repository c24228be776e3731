"""The pytest plugin in a project that is not ours, built in a temporary folder."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch  # here, before pytester takes stock of what is imported: torch cannot be imported twice

import symderive.check.runner
import symderive.report.forms  # noqa: F401

pytest_plugins = "pytester"

SPEC = """\
name: {name}
sizes: {{N: 3, M: 4}}
inputs:
  A: [N, M]
  x: [M]
forward: |
  y[i] = sum[j](A[i, j] * x[j])
reference: |
  y = A @ x
claims: |
  dA = {claim}
"""
QUICK = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "--symderive-quick")


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A good spec, one with a wrong claim, one that cannot be read, and YAML that is no spec."""
    ops = pytester.mkdir("ops")
    (ops / "matvec.yaml").write_text(SPEC.format(name="matvec", claim="outer(dy, x)"))
    (ops / "wrong.yaml").write_text(SPEC.format(name="wrong", claim="outer(x, dy)"))
    (ops / "broken.yaml").write_text("name: broken\ninputs:\n  x: [N]\nforward: |\n  y[i] = x[i]\n")
    (ops / "settings.yaml").write_text("name: settings\nforward: port 80\n")
    (ops / "list.yaml").write_text("- 1\n")
    pytester.makeini("[pytest]\naddopts = --strict-markers\n")
    return pytester


def names(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_every_check_is_an_item_with_an_id(project):
    found = names(project.runpytest_inprocess("--collect-only", "-q", "ops/matvec.yaml", *QUICK[:4]))
    for wanted in (
        "ops/matvec.yaml::dA::autograd::float32",
        "ops/matvec.yaml::dx::autograd::float16",
        "ops/matvec.yaml::dA::autograd::meta::float32",
        "ops/matvec.yaml::dA::gradcheck::float64",
        "ops/matvec.yaml::y::reference::float64",
        "ops/matvec.yaml::gradients::layout::float32",
        "ops/matvec.yaml::dA::claim::line-11",
        "ops/matvec.yaml::golden::latex",
    ):
        assert wanted in found
    assert len(found) == len(set(found))


def test_only_specs_are_collected(project):
    found = names(project.runpytest_inprocess("--collect-only", "-q", "ops", *QUICK))
    assert {n.partition("::")[0] for n in found} == {f"ops/{n}.yaml" for n in ("matvec", "wrong", "broken")}


def test_collecting_can_be_turned_off(project):
    project.makeini("[pytest]\nsymderive_specs = false\n")
    assert names(project.runpytest_inprocess("--collect-only", "-q", "ops", *QUICK)) == []


def test_a_check_is_selected_by_its_id_and_passes(project):
    result = project.runpytest_inprocess("ops/matvec.yaml::dA::autograd::float32", *QUICK)
    result.assert_outcomes(passed=1)


def test_slow_checks_have_a_marker(project):
    slow = names(project.runpytest_inprocess("--collect-only", "-q", "-m", "slow", "ops/matvec.yaml", *QUICK))
    rest = names(project.runpytest_inprocess("--collect-only", "-q", "-m", "not slow", "ops/matvec.yaml", *QUICK))
    assert {n.split("::")[2] for n in slow} == {"gradcheck", "stability", "layout"}
    assert "ops/matvec.yaml::dA::autograd::float32" in rest
    assert not set(slow) & set(rest)


def test_a_failure_has_the_explanation_of_symderive_check(project):
    result = project.runpytest_inprocess("ops/wrong.yaml", "-k", "claim", *QUICK)
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(["*FAIL  claim, line 11: dA = outer(x, dy)", "*transpose*", "*next: correct the line*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_a_spec_that_cannot_be_read_fails_with_the_place(project):
    result = project.runpytest_inprocess("ops/broken.yaml", *QUICK)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*broken.yaml:3:7: unknown size 'N'*"])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a cuda device")
def test_a_missing_device_is_a_skip_with_its_reason(project):
    result = project.runpytest_inprocess("-rs", "ops/matvec.yaml::gradients::autograd::cuda", *QUICK)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*no cuda device on this machine"])


def golden(project: pytest.Pytester) -> Path:
    return project.path / "ops" / "golden"


def test_golden_files_are_written_compared_and_refreshed(project):
    only = ("ops/matvec.yaml", "-k", "golden", *QUICK)
    first = project.runpytest_inprocess("-rs", *only)
    assert first.parseoutcomes()["skipped"] == 5
    first.stdout.fnmatch_lines(["SKIPPED*--symderive-update makes one"])
    assert project.runpytest_inprocess("--symderive-update", *only).parseoutcomes()["passed"] == 5
    assert sorted(p.name for p in golden(project).iterdir()) == [
        "matvec.array.txt",
        "matvec.index.txt",
        "matvec.numpy.py.txt",
        "matvec.tex",
        "matvec.torch.py.txt",
    ]
    assert project.runpytest_inprocess(*only).parseoutcomes()["passed"] == 5
    array = golden(project) / "matvec.array.txt"
    text = array.read_text()
    array.write_text(text.replace("dA", "dB"))
    changed = project.runpytest_inprocess(*only)
    assert changed.parseoutcomes()["failed"] == 1
    changed.stdout.fnmatch_lines(["-dB = *", "+dA = *", "*--symderive-update*"])
    array.unlink()
    missing = project.runpytest_inprocess(*only)
    assert missing.parseoutcomes()["failed"] == 1
    missing.stdout.fnmatch_lines(["*matvec.array.txt does not exist"])
    project.runpytest_inprocess("--symderive-update", *only)
    assert array.read_text() == text


def test_with_several_processes_the_same(project):
    pytest.importorskip("xdist")
    run = ("-n", "2", "ops/matvec.yaml", "ops/wrong.yaml", "-m", "not slow", "--symderive-update", *QUICK[:2])
    result = project.runpytest_subprocess(*run, "--symderive-quick")
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] == 1
    assert outcomes["passed"] > 20
    assert len(list(golden(project).iterdir())) == 10
    result.stdout.fnmatch_lines(["*wrong.yaml::dA::claim::line-11*"])
