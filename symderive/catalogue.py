"""Where specs are: the catalogue, inside an installed package or beside it in a checkout, and what a name means."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from pathlib import Path

from symderive.errors import SymderiveError

_PACKAGE = Path(__file__).resolve().parent
FOLDERS = (_PACKAGE / "derivations", _PACKAGE.parent / "derivations")

SUFFIXES = (".yaml", ".yml")


def folder() -> Path:
    """The folder of the catalogue's specs."""
    return next((f for f in FOLDERS if f.is_dir()), FOLDERS[0])


def catalogue() -> list[Path]:
    """The files of the catalogue's specs, by name."""
    return sorted(folder().glob("*.yaml"))


def spec_path(name: str) -> Path:
    """The file of a spec: the path itself, or the catalogue's spec of that name."""
    path = Path(name)
    if path.is_file():
        return path
    if path.is_dir():
        raise SymderiveError(f"{name} is a folder, not a spec", hint="name a file in it, or use 'symderive check'")
    if (found := _installed(name)) is not None:
        return found
    if path.exists():
        return path  # a pipe, say: whether it can be read is for the reader to find out
    raise SymderiveError(
        f"no spec '{name}': there is no such file, and none of that name in the catalogue", hint=_near(name)
    )


def spec_paths(names: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """What is named, once each: a folder stands for every spec directly in it, all else for itself."""
    paths: list[Path] = []
    for path in map(Path, names):
        paths += _in_folder(path) if path.is_dir() else [path]
    return list(dict.fromkeys(paths))


def _in_folder(folder: Path) -> list[Path]:
    found = sorted(p for p in folder.iterdir() if p.suffix in SUFFIXES and p.is_file())
    if not found:
        raise SymderiveError(f"{folder} holds no spec", hint="a spec is a file whose name ends in .yaml")
    return found


def _installed(name: str) -> Path | None:
    """The catalogue's spec that ``name`` means: ``relu``, ``relu.yaml`` or ``derivations/relu.yaml``."""
    path = Path(name)
    if path.is_absolute() or path.suffix not in ("", *SUFFIXES) or path.parent not in (Path(), Path("derivations")):
        return None
    return next((_from_here(p) for p in catalogue() if p.stem == path.stem), None)


def _from_here(path: Path) -> Path:
    """The path as it is written from the current folder, where it lies below that."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _near(name: str) -> str:
    path = Path(name)
    beside = [str(p) for p in path.parent.glob("*") if p.suffix in SUFFIXES] if path.parent.is_dir() else []
    known = [p.stem for p in catalogue()]
    near = difflib.get_close_matches(name, beside, n=1) or difflib.get_close_matches(path.stem, known, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return "'symderive list' shows the catalogue"
