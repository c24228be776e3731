"""``symderive paste``: refreshes the generated blocks of Markdown files."""

from __future__ import annotations

from pathlib import Path

import click

EPILOG = """\
\b
A block stands between two comments; what is between them is generated:
  <!-- symderive: derivations/linear_mse.yaml dW latex-array -->
  <!-- /symderive -->
It names a spec (a path from the file's folder or the current one, or a name in the catalogue), gradients (none for
all), and a format: index, array, latex-index, latex-array, steps, text, latex, markdown, torch, numpy, spec, json,
errors, graph, mermaid, or source. One that names a folder and the format catalogue shows every spec in it, by group:
  <!-- symderive: derivations catalogue -->
  <!-- /symderive -->

\b
Examples:
  symderive paste README.md
  symderive paste --check README.md
"""


@click.command("paste", epilog=EPILOG)
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False)
)
@click.option("--check", is_flag=True, help="Change nothing; fail with a diff where a block is stale.")
def command(files: tuple[Path, ...], check: bool) -> int:
    """Refresh the generated blocks of Markdown files; everything else in a file stays byte for byte.

    Numbers of an error table differ from machine to machine: such a block is stale where anything but a number differs.
    """
    from symderive.cli.files import write_text
    from symderive.report.paste import refreshed

    pasted = [refreshed(path) for path in dict.fromkeys(files)]
    stale = [p for p in pasted if p.before != p.after]
    if check:
        for p in stale:
            click.echo(p.diff(), nl=False)
            lines = ", ".join(str(n) for n in p.stale)
            click.echo(f"{p.path}: stale at line {lines}; 'symderive paste {p.path}' refreshes it", err=True)
        return 1 if stale else 0
    for p in stale:
        write_text(p.path, p.after)
    for p in pasted:
        changed = f"{len(p.stale)} refreshed" if p.stale else "all up to date"
        click.echo(f"{p.path}: {p.blocks} block{'s' if p.blocks != 1 else ''}, {changed}", err=True)
    return 0
