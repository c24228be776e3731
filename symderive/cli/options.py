"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from symderive.api import Spec

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def out(default: str) -> Decorator:
    """``--out PATH``."""
    return click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help=f"Write to this file, whole or not at all. Default: {default}.",
    )


def read(spec: str) -> Spec:
    """The spec in a file or of the catalogue. What it declares and never reads is told on standard error."""
    from symderive import api
    from symderive.spec.unused import unused

    found = api.load(spec)
    for note in unused(found):
        place = f"{found.path}:{note.location.span.line}" if note.location else found.path
        click.echo(f"note: {place}: {note.message}", err=True)
    return found


def deliver(text: str, path: Path | None) -> None:
    """Writes a result to ``path``, or to standard output."""
    from symderive.cli.files import write_text

    if path is None:
        click.echo(text, nl=not text.endswith("\n"))
    else:
        write_text(path, text)
        click.echo(f"wrote {path}", err=True)
