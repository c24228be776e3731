"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def out(default: str) -> Decorator:
    """``--out PATH``."""
    return click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help=f"Write to this file, whole or not at all. Default: {default}.",
    )


def deliver(text: str, path: Path | None) -> None:
    """Writes a result to ``path``, or to standard output."""
    from symderive.cli.files import write_text

    if path is None:
        click.echo(text, nl=not text.endswith("\n"))
    else:
        write_text(path, text)
        click.echo(f"wrote {path}", err=True)
