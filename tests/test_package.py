"""What is installed is what stands here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.version_info < (3, 11):
    pytest.skip("reads pyproject.toml with tomllib", allow_module_level=True)
import tomllib

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_folder_of_modules_is_a_package():
    folders = {p.parent for p in (ROOT / "symderive").rglob("*.py")}
    assert [f for f in folders if not (f / "__init__.py").exists()] == []


def test_the_catalogue_is_installed_inside_the_package():
    tool = PROJECT["tool"]["setuptools"]
    assert tool["package-dir"] == {"symderive.derivations": "derivations"}
    assert tool["package-data"] == {"symderive.derivations": ["*.yaml"]}


def test_the_constraints_pin_every_dependency():
    pinned = {
        line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    project = PROJECT["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["dev"]
    names = {w.split(">")[0].split("<")[0].lower().replace("_", "-") for w in wanted}
    assert names <= pinned
    assert "torch==2.13.0" in (ROOT / "constraints.txt").read_text().splitlines()


def test_the_version_is_the_projects():
    import symderive

    assert symderive.__version__ == PROJECT["project"]["version"]
