"""Texts that are kept in ``tests/golden/`` and compared with what is printed now.

A test asks for the fixture ``golden`` and calls ``golden("latex/linear.md", text)``. ``pytest --update-golden`` writes
the files instead of comparing them; look at the difference before you commit it.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Golden:
    """Compares texts with files, or writes the files."""

    update: bool
    folder: Path = FOLDER

    def __call__(self, name: str, text: str) -> None:
        """Fail where ``text`` is not what the file ``name`` holds."""
        path = self.folder / name
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.exists(), f"no golden file {name}: run pytest --update-golden"
        kept = path.read_text(encoding="utf-8")
        lines = difflib.unified_diff(kept.splitlines(), text.splitlines(), f"golden/{name}", "now", lineterm="", n=1)
        assert kept == text, "\n".join(["not what the golden file holds (--update-golden rewrites it):", *lines])
