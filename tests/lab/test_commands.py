"""``report``, ``graph`` and ``paste`` as a user runs them."""

from __future__ import annotations

import json
import shlex

from tests.cli.conftest import run  # noqa: F401

SPEC = """\
name: square
sizes: {N: 3}
inputs:
  x: [N]
forward: |
  L = sum[i](x[i]**2) / 2
reference: |
  L = (x**2).sum() / 2
"""


def test_report(run, tmp_path):  # noqa: F811
    (tmp_path / "square.yaml").write_text(SPEC)
    done = run("report", "square.yaml", "--out", "lab", "--runs", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "measuring: errors in float16 on cpu" in done.stderr
    manifest = json.loads((tmp_path / "lab" / "manifest.json").read_text())
    assert manifest["command"] == "symderive report square.yaml --out lab --runs 2"
    assert {"REPORT.md", "errors.csv", "derived.py"} <= set(manifest["files"])
    (tmp_path / "lab" / "REPORT.md").write_text("mine")
    again = run("report", "square.yaml", "--out", "lab", "--runs", "2")
    assert again.returncode == 2
    assert "was changed since it was written" in again.stderr
    assert "measuring" not in again.stderr
    assert (tmp_path / "lab" / "REPORT.md").read_text() == "mine"


def test_the_command_is_told_as_it_was_given():
    from symderive.cli.report import _command, command

    text = "linear --out a/b --runs 3 --seed 4 --dtype float32 --dtype float16 --sizes N=3,...=2x2 --force"
    assert _command(command.make_context("report", shlex.split(text))) == f"symderive report {text}"
    context = command.make_context("report", ["linear", "--out", "lab", "--runs", "20"])
    assert _command(context) == "symderive report linear --out lab"


def test_graph(run, tmp_path):  # noqa: F811
    (tmp_path / "square.yaml").write_text(SPEC)
    done = run("graph", "square.yaml", "--sizes", "N=1000")
    assert done.returncode == 0, done.stderr
    assert "PowBackward0" in done.stdout
    assert "Memory at N=1000" in done.stdout
    wrong = run("graph", "square.yaml", "--sizes", "M=2")
    assert wrong.returncode == 2
    assert "no size 'M'" in wrong.stderr


def test_paste(run, tmp_path):  # noqa: F811
    (tmp_path / "square.yaml").write_text(SPEC)
    path = tmp_path / "a.md"
    path.write_text("<!-- symderive: square.yaml index -->\n<!-- /symderive -->\n")
    stale = run("paste", "--check", "a.md")
    assert stale.returncode == 1
    assert "+dx[i] = x[i]" in stale.stdout
    assert "stale at line 1" in stale.stderr
    assert "dx[i]" not in path.read_text()
    done = run("paste", "a.md")
    assert done.returncode == 0
    assert "dx[i] = x[i]" in path.read_text()
    assert run("paste", "--check", "a.md").returncode == 0
    path.write_text("<!-- symderive: square.yaml index -->\n")
    broken = run("paste", "a.md")
    assert broken.returncode == 2
    assert "a.md:1:1" in broken.stderr
