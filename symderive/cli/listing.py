"""``symderive list``: the catalogue, or the specs of a folder, by group; words search it."""

from __future__ import annotations

from pathlib import Path

import click

EPILOG = """\
\b
Examples:
  symderive list
  symderive list softmax
  symderive list layer norm
  symderive list --group losses
  symderive list margin --group losses
  symderive list F.gelu
  symderive list --folder derivations
  symderive list conv --json

Every word must occur somewhere: in a spec's name, title, group, forward, reference, notes or source. Part of a word
will do, and part of a group's name.
"""


@click.command("list", epilog=EPILOG)
@click.argument("words", metavar="[WORD]...", nargs=-1)
@click.option("--group", "groups", multiple=True, metavar="NAME", help="Only this group; may be repeated.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="List the specs of this folder instead of the catalogue.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(words: tuple[str, ...], groups: tuple[str, ...], folder: Path | None, as_json: bool) -> int:
    """List the specs of the catalogue by group, or search them."""
    import json

    from symderive import api
    from symderive.catalogue import catalogue, spec_paths
    from symderive.report import listing
    from symderive.report.console import printer

    specs = [api.load(path) for path in (spec_paths([folder]) if folder else catalogue())]
    kept = listing.in_groups(specs, groups) if groups else specs
    matches = listing.search(kept, words) if words else [listing.Match(s) for s in kept]
    if as_json:
        click.echo(json.dumps(listing.document(matches), indent=1, ensure_ascii=False))
        return 0
    printer().show(listing.blocks(matches, words))
    one = min(matches, key=lambda m: m.rank).spec.name
    click.echo(f"\n{len(matches)} of {len(specs)} specs; 'symderive derive {one}' derives one", err=True)
    return 0
