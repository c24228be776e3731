"""Where the catalogue lies: inside an installed package, or beside the package in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
FOLDERS = (_PACKAGE / "derivations", _PACKAGE.parent / "derivations")


def folder() -> Path:
    """The folder of the catalogue's specs."""
    return next((f for f in FOLDERS if f.is_dir()), FOLDERS[0])


def catalogue() -> list[Path]:
    """The files of the catalogue's specs, by name."""
    return sorted(folder().glob("*.yaml"))
