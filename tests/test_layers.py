"""Imports point one way, and what is slow to import is imported where it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "symderive"
LAYERS = ("errors", "spec", "algebra", "lower", "emit", "check", "report", "cli")
"""Lowest first. A module may import from its own layer and the ones below it."""
HEIGHT = {name: height for height, name in enumerate(LAYERS)} | {
    "wording": 0,  # how sentences are put together
    "record": 0,  # what frozen data is made of
    "garbage": 0,  # what the collector need not look at
    "catalogue": 0,  # where the specs lie: for the reader of specs and the commands
    "claims": LAYERS.index("check"),  # beside the checks
    "api": LAYERS.index("check") + 0.5,  # the pipeline, which reports and commands are about
    "__init__": LAYERS.index("check") + 0.6,
    "__main__": LAYERS.index("cli") + 1,
    "pytest_plugin": LAYERS.index("cli"),  # another way to run the checks
}
TORCH = ("check", "report")
"""The layers that may import torch."""
SLOW = ("torch", "latexify", "rich", "scipy", "matplotlib", "numpy", "opt_einsum")


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_id(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def layer(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> list[str]:
    """The full names of the modules that a module imports, at its top or inside a function."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


SHOWN = {"check/results.py": "symderive.report."}
"""A result's text is its report, imported when it is shown."""


def wrong_way(source: str, of: str) -> list[str]:
    """The imports of ``source``, a module of the layer ``of``, that point upwards."""
    names = [n.split(".") for n in imported(ast.parse(source))]
    inside = [n for n in names if n[0] == "symderive"]
    return [".".join(n) for n in inside if HEIGHT.get(n[1], HEIGHT["__init__"]) > HEIGHT[of]]


@pytest.mark.parametrize("path", modules(), ids=module_id)
def test_imports_point_one_way(path):
    found = wrong_way(path.read_text(), layer(path))
    allowed = SHOWN.get(str(path.relative_to(PACKAGE)), "nothing")
    assert [n for n in found if not n.startswith(allowed)] == []


def test_an_import_that_points_upwards_is_found():
    assert wrong_way("from symderive.check import runner", "lower") == ["symderive.check.runner"]
    assert wrong_way("def f():\n    import symderive.cli", "report") == ["symderive.cli"]
    assert wrong_way("from symderive.claims import judge", "spec") == ["symderive.claims.judge"]
    assert wrong_way("from symderive.errors import SpecError\nfrom symderive import __version__", "cli") == []


@pytest.mark.parametrize("path", modules(), ids=module_id)
def test_only_checks_and_reports_import_torch(path):
    found = [n for n in imported(ast.parse(path.read_text())) if n.split(".")[0] == "torch"]
    assert not found or layer(path) in TORCH


def loaded_by(code: str) -> set[str]:
    """The slow packages that a fresh interpreter has loaded after ``code``."""
    probe = f"{code}\nimport sys\nprint(*(m for m in {SLOW} if m in sys.modules))"
    run = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    return set(run.stdout.split())


def test_importing_symderive_imports_nothing_slow():
    assert loaded_by("import symderive") == set()
    assert loaded_by("import symderive, sys; assert 'sympy' not in sys.modules") == set()


def test_deriving_imports_nothing_slow():
    code = "import symderive; symderive.derive(symderive.load('derivations/linear_mse.yaml'))"
    assert loaded_by(code) == set()


def test_the_probe_sees_what_is_loaded():
    assert "numpy" in loaded_by("import numpy")
