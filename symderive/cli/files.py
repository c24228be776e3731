"""Output files are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from symderive.errors import SymderiveError


def write_text(path: Path, text: str) -> None:
    """Writes ``text`` to ``path``: to a file beside it first, which then takes its name.

    A link is followed; what is no regular file (``/dev/stdout``, a named pipe) is written to directly.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise SymderiveError(f"{path} is a folder", hint="name a file to write")
    if not target.parent.is_dir():
        raise SymderiveError(f"{path}: the folder {path.parent} does not exist", hint=f"mkdir -p {path.parent}")
    if target.exists() and not target.is_file():
        with open(target, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        return
    _replace(target, text)


def _replace(target: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, or those that a new file gets."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
