"""``--help`` has examples, and they work."""

from __future__ import annotations

import importlib
import re
import shlex
import shutil
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from symderive.catalogue import spec_path
from symderive.cli.app import COMMANDS, app

KERNELS = "import torch\n\n\ndef relu(x):\n    return torch.relu(x)\n"


def examples(command: click.Command) -> list[str]:
    return [line.strip() for line in (command.epilog or "").splitlines() if line.startswith("  symderive")]


ALL = {name: examples(importlib.import_module(module).command) for name, module in COMMANDS.items()}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_in_its_help(name):
    shown = CliRunner().invoke(app, [name, "--help"]).output
    assert "Examples:" in shown
    assert len(ALL[name]) >= 2
    assert all(line.split("|")[0].strip() in " ".join(shown.split()) for line in ALL[name])


def test_the_help_lists_every_command_with_what_it_does():
    shown = CliRunner().invoke(app, ["--help"]).output
    assert all(f"  {name} " in shown for name in COMMANDS)
    assert "Exit status" in shown


SHELL = set("$|>&*")
"""What only a shell understands."""


@pytest.mark.parametrize("line", [line for lines in (*ALL.values(), examples(app)) for line in lines])
def test_an_example_works(line, run, tmp_path):
    (tmp_path / "my_kernels.py").write_text(KERNELS)
    (tmp_path / "README.md").write_text("# Notes\n")
    (tmp_path / "derivations").mkdir()
    for name in ("relu", "softmax"):
        shutil.copy(spec_path(name), tmp_path / "derivations")
    (tmp_path / "docs").mkdir()
    for text in ("README.md", "docs/ops.md"):
        (tmp_path / text).write_text("# Ops\n")
    if SHELL & set(line):
        run = {"symderive": f"{shlex.quote(sys.executable)} -m symderive", "python": shlex.quote(sys.executable)}
        command = re.sub(r"(?<![\w/])(symderive|python) ", lambda m: f"{run[m[1]]} ", line)
        missing = [tool for tool in ("dot", "awk", "grep") if f"| {tool} " in line and shutil.which(tool) is None]
        if missing:
            pytest.skip(f"no {missing[0]} on this machine")
        result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path)
    else:
        result = run(*shlex.split(line)[1:])
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
