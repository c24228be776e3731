"""The printed forms of a derivation that are kept in golden files: index form, array form, LaTeX and code."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from symderive.api import Derivation


@dataclass(frozen=True)
class Form:
    """A form: how it is printed, and what the name of its file ends in."""

    suffix: str
    text: Callable[[Derivation], str]


def _index(derivation: Derivation) -> str:
    return "\n".join(derivation.equations()) + "\n"


def _array(derivation: Derivation) -> str:
    lines = derivation.array_lines()
    lines += [f"# {g.tensor} has no array form" for g in derivation if g.array is None]
    return "\n".join(lines) + "\n"


def _latex(derivation: Derivation) -> str:
    parts = []
    for gradient in derivation:
        parts.append(gradient.latex())
        if gradient.array is not None:
            parts.append(gradient.latex("array"))
    return "\n\n".join(parts) + "\n"


FORMS: Mapping[str, Form] = {
    "index": Form("index.txt", _index),
    "array": Form("array.txt", _array),
    "latex": Form("tex", _latex),
    "torch": Form("torch.py.txt", lambda d: d.torch),
    "numpy": Form("numpy.py.txt", lambda d: d.numpy),
}
"""The forms by name. Code ends in ``.txt``, so that no linter and no test collector takes it for a module."""


def difference(path: Path, text: str) -> str:
    """What is printed now against a golden file, with what to do; empty where they agree."""
    if not path.is_file():
        return f"{path} does not exist\n  next: 'pytest --symderive-update' writes it"
    before = path.read_text(encoding="utf-8")
    if before == text:
        return ""
    lines = difflib.unified_diff(before.splitlines(), text.splitlines(), str(path), "printed now", lineterm="")
    return "\n".join([*lines, "  next: if this is what should be printed, 'pytest --symderive-update' keeps it"])


def write(path: Path, text: str) -> None:
    """Writes a golden file at once, so that several processes may; a file that is right already is left alone."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
