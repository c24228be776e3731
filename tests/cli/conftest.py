"""Runs the command line in a process of its own, as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """``run("derive", "relu", env={...})`` in an empty folder; standard output and error are pipes."""

    def run(*arguments: str, env: dict[str, str] | None = None, **options) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "symderive", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=options.pop("cwd", tmp_path),
            env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})},
            timeout=120,
            check=False,
            **options,
        )

    return run
