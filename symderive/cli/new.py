"""``symderive new``: a commented spec to start from."""

from __future__ import annotations

from pathlib import Path

import click

from symderive.errors import SymderiveError

EPILOG = """\
\b
Examples:
  symderive new my_op
  symderive new my_op --out derivations/my_op.yaml
"""


@click.command("new", epilog=EPILOG)
@click.argument("name")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="PATH", help="Where to write it. Default: NAME.yaml here."
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def command(name: str, out: Path | None, force: bool) -> int:
    """Write a commented spec to start from."""
    from symderive.cli.files import write_text
    from symderive.spec.template import template

    path = out or Path(f"{name}.yaml")
    text = template(name)
    if path.stem != name:
        raise SymderiveError(f"the spec {name} cannot stand in {path.name}", hint=f"its file is called {name}.yaml")
    if path.exists() and not force:
        raise SymderiveError(f"{path} exists", hint="--force replaces it")
    write_text(path, text)
    click.echo(f"wrote {path}; next: symderive derive {path}", err=True)
    return 0
