"""``symderive graph``: the autograd graph of the reference, and the derived program beside it."""

from __future__ import annotations

from pathlib import Path

import click

from symderive.cli import options
from symderive.cli.check import DTYPES, Sizes

FORMATS = ("text", "mermaid", "dot", "json")

EPILOG = """\
\b
Examples:
  symderive graph linear_mse
  symderive graph layer_norm --format mermaid
  symderive graph attention --format dot --out attention.dot
  symderive graph linear_cross_entropy --sizes N=8192,J=50000
"""


@click.command("graph", epilog=EPILOG)
@click.argument("spec")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="What to print.")
@click.option("--sizes", multiple=True, type=Sizes(), metavar="N=8", help="Predict memory with these of the sizes.")
@click.option("--dtype", type=click.Choice(DTYPES), default="float32", show_default=True, help="In this dtype.")
@options.out("standard output")
def command(
    spec: str, form: str, sizes: tuple[dict[str, int | tuple[int, ...]], ...], dtype: str, out: Path | None
) -> int:
    """Show the autograd graph that PyTorch records for the reference of SPEC, and what it saves.

    Every node is shown with the equation that it belongs to and the tensors that it keeps, as saved-tensor hooks see
    them; beside it the derived backward, and what that saves. --sizes predicts memory at sizes of any extent.
    """
    from symderive import api
    from symderive.report.console import printer
    from symderive.report.lab.drawing import DRAWINGS
    from symderive.report.lab.graphs import graph_blocks, graph_json, view
    from symderive.report.plain import plain_texts

    merged = {name: value for given in sizes for name, value in given.items()}
    shown = view(api.derive(api.load(spec)), merged or None, dtype)
    if form == "text" and out is None:
        printer().show(graph_blocks(shown))
    elif form == "text":
        options.deliver(plain_texts(list(graph_blocks(shown))), out)
    else:
        options.deliver(graph_json(shown) if form == "json" else DRAWINGS[form](shown.graph), out)
    return 0
