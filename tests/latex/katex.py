"""KaTeX, asked about many formulas at once, and what GitHub refuses or misreads."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CHECK = Path(__file__).parent / "katex_check.mjs"

FORBIDDEN = (
    *("operatorname", "mbox", "phantom", "hphantom", "vphantom", "newcommand", "renewcommand", "def", "let", "unicode"),
    *("href", "url", "class", "cssId", "style", "require", "DeclareMathOperator", "lt", "gt", "label", "tag"),
)
"""Commands that GitHub refuses, or that LaTeX, KaTeX and GitHub do not all know."""


def missing() -> str:
    """Why KaTeX cannot be asked; empty where it can."""
    if shutil.which("node") is None:
        return "node is not installed"
    if not (ROOT / "node_modules" / "katex").is_dir():
        return "KaTeX is not installed: run npm ci"
    return ""


def require_katex() -> None:
    """Skip with the reason where KaTeX is missing, or fail where ``REQUIRE_KATEX`` is set, as CI does."""
    if reason := missing():
        if os.environ.get("REQUIRE_KATEX"):
            pytest.fail(reason)
        pytest.skip(reason)


def rejected(formulas: Sequence[str]) -> list[str]:
    """The formulas that KaTeX rejects in strict mode, each with its reason."""
    given = "".join(json.dumps(formula) + "\n" for formula in formulas)
    run = subprocess.run(["node", str(CHECK)], input=given, capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.stderr == ""
    found = [json.loads(line) for line in run.stdout.splitlines()]
    assert run.returncode == (1 if found else 0)
    return [f"{item['formula']}: {item['error']}" for item in found]


def refused_by_github(formula: str) -> list[str]:
    """What GitHub refuses in a formula or misreads in a block of one."""
    found = [rf"\{name}" for name in re.findall(r"\\([A-Za-z]+)", formula) if name in FORBIDDEN]
    if re.search(r"<[^ ]", formula):
        found.append("a < that may open a tag")
    if re.search(r"\\[{},;:!_*#]", re.sub(r"\\_", "", formula)):
        found.append("an escape that Markdown takes away")
    if "$" in formula or "*" in formula or "`" in formula:
        found.append("a character of Markdown")
    if not formula.isascii():
        found.append("a letter outside of ASCII")
    for line in formula.splitlines():
        if not line.strip() or re.match(r"\s*([-+=>#|~]|\d+[.)]|    )", line):
            found.append(f"a line that Markdown reads otherwise: {line!r}")
    return found
