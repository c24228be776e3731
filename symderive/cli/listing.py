"""``symderive list``: the catalogue."""

from __future__ import annotations

import click

EPILOG = """\
\b
Examples:
  symderive list
  symderive list | grep -i softmax
"""


@click.command("list", epilog=EPILOG)
def command() -> int:
    """List the specs of the installed catalogue by name and title."""
    from symderive import api
    from symderive.catalogue import catalogue
    from symderive.report.console import printer
    from symderive.report.document import Table

    specs = [api.load(path) for path in catalogue()]
    printer().show([Table((), tuple((s.name, s.title) for s in specs))])
    return 0
