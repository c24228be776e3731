"""What the README says is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from symderive.cli import main
from symderive.cli.app import COMMANDS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
GENERATED = re.compile(r"<!-- symderive:.*?<!-- /symderive -->", re.DOTALL)


def block(language: str) -> str:
    """The one block of a language that is not generated."""
    (text,) = (text for name, text in FENCE.findall(GENERATED.sub("", README)) if name == language)
    return text


def test_its_generated_blocks_are_fresh(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["paste", "--check", "README.md"]) == 0


def test_its_spec_gives_its_output(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("gated.yaml").write_text(block("yaml"))
    assert main(["check", "gated.yaml", "--quick"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert " ".join(block("").split()) in shown


def test_its_python_runs_and_gives_what_it_says(monkeypatch):
    monkeypatch.chdir(ROOT)
    scope: dict = {}
    exec(compile(block("python"), "README.md", "exec"), scope)
    assert scope["derivation"].gradients["W"].array == "dW = dy.T @ x"
    assert scope["spec"].judge("dW = x.T @ dy").verdict == "invalid"
    assert scope["results"].ok


def test_its_commands_are_those_that_there_are():
    assert set(re.findall(r"^\| `symderive (\w+)", README, re.MULTILINE)) | {"list"} == set(COMMANDS)


def test_its_links_lead_somewhere():
    prose = re.sub(r"`[^`\n]+`", "", FENCE.sub("", README))
    links = re.findall(r"\]\(([^)#]+)\)", prose)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("target", ["demo", "test", "speed"])
def test_the_make_targets_are_there(target):
    assert f"make {target}" in README
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
