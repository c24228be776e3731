"""A report's folder: written whole or not at all, and never over a file that a report did not write itself."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from symderive.errors import SymderiveError

MANIFEST = "manifest.json"
TOOL = "symderive report"


def digest(content: bytes) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()


def written_before(folder: Path) -> dict[str, str]:
    """The files that a report wrote there, with their SHA-256, as its manifest says; empty without one."""
    try:
        document: Any = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(document, dict) or document.get("tool") != TOOL or not isinstance(document.get("files"), dict):
        return {}
    return {str(name): str(value) for name, value in document["files"].items()} | {MANIFEST: ""}


def check_place(folder: Path) -> None:
    """Raises where there can be no such folder."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise SymderiveError(f"{folder} is no folder", hint="name a folder for the report")
    if not folder.resolve().parent.is_dir():
        raise SymderiveError(f"{folder}: the folder {folder.parent} does not exist", hint=f"mkdir -p {folder.parent}")
    try:
        os.rmdir(tempfile.mkdtemp(dir=folder if folder.is_dir() else folder.resolve().parent))
    except OSError as error:
        raise SymderiveError(f"{folder} cannot be written: {error.strerror}", hint="name another folder") from error


def refuse_foreign(folder: Path, names: list[str]) -> None:
    """Raises where writing these files would replace one that no report wrote, or that was changed since."""
    known = written_before(folder)
    for name in names:
        path = folder / name
        if not os.path.lexists(path):
            continue
        if path.is_dir():
            raise SymderiveError(f"{path} is a folder, where the report has a file")
        if name not in known:
            raise SymderiveError(f"{path} was not written by 'symderive report'", hint="--force replaces it")
        if known[name] and digest(path.read_bytes()) != known[name]:
            raise SymderiveError(f"{path} was changed since it was written", hint="--force replaces it")


def write_folder(folder: Path, files: Mapping[str, bytes], force: bool = False) -> None:
    """Writes all files, or none: they are written to a temporary folder first, on the same file system.

    Files of an earlier report that this one does not have are removed; what else is in the folder stays.
    """
    check_place(folder)
    if not force:
        refuse_foreign(folder, list(files))
    place = folder if folder.exists() else folder.resolve().parent
    new = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=place))
    try:
        for name, content in files.items():
            (new / name).write_bytes(content)
        if folder.exists():
            _exchange(folder, new, list(files))
        else:
            os.chmod(new, 0o777 & ~_umask())
            os.rename(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _exchange(folder: Path, new: Path, names: list[str]) -> None:
    """Moves the files of ``new`` into a folder that is there. What they replace comes back where one fails."""
    stale = [n for n in written_before(folder) if n not in names and _unchanged(folder, n)]
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".old", dir=folder))
    moved: list[str] = []
    placed: list[str] = []
    try:
        for name in [*names, *stale]:
            if os.path.lexists(folder / name):
                os.rename(folder / name, old / name)
                moved.append(name)
        for name in names:
            os.rename(new / name, folder / name)
            placed.append(name)
    except BaseException:
        for name in placed:
            with contextlib.suppress(OSError):
                os.unlink(folder / name)
        for name in moved:
            os.rename(old / name, folder / name)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _unchanged(folder: Path, name: str) -> bool:
    path = folder / name
    return path.is_file() and "/" not in name and digest(path.read_bytes()) == written_before(folder).get(name)
