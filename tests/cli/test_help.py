"""``--help`` has examples, and they work."""

from __future__ import annotations

import importlib
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

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


SLOW = ("symderive check derivations",)
"""What takes minutes; the catalogue's own tests run it."""


@pytest.mark.parametrize("line", [line for lines in (*ALL.values(), examples(app)) for line in lines])
def test_an_example_works(line, tmp_path):
    if line.startswith(SLOW):
        pytest.skip("takes minutes; tests/check runs it")
    (tmp_path / "my_kernels.py").write_text(KERNELS)
    (tmp_path / "derivations").mkdir()
    command = line.replace("symderive ", f"{sys.executable} -m symderive ")
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
