"""Runs the command line: in this process, so that torch is imported once, or in one of its own where that matters."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from symderive.cli import main


@dataclass
class Ran:
    """What a command did."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """``run("derive", "relu")`` in an empty folder; standard output and error are no terminals."""

    def run(*arguments: object) -> Ran:
        monkeypatch.chdir(tmp_path)
        capsys.readouterr()
        status = main([str(a) for a in arguments])
        shown = capsys.readouterr()
        return Ran(status, shown.out, shown.err)

    return run


@pytest.fixture
def process(tmp_path: Path) -> Run:
    """``process("derive", "relu", env={...})``: the same in a process of its own, with pipes."""

    def process(*arguments: object, env: dict[str, str] | None = None) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "symderive", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            timeout=300,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return process
