"""``symderive emit``: importable code."""

from __future__ import annotations

from pathlib import Path

import click

from symderive.cli import options
from symderive.errors import UnsupportedError

KINDS = {"functions": "torch", "numpy": "numpy"}
"""The kinds of code that can be written, and the format of a derivation that each is."""
LATER = ("autograd", "custom_op", "derivatives")
"""Kinds that the language names and that cannot be written yet."""

EPILOG = """\
\b
Examples:
  symderive emit layer_norm --out layer_norm.py
  symderive emit derivations/softmax.yaml --as numpy
"""


@click.command("emit", epilog=EPILOG)
@click.argument("spec")
@click.option(
    "--as",
    "kind",
    type=click.Choice((*KINDS, *LATER)),
    default="functions",
    show_default=True,
    help="functions: forward and backward in torch; numpy: the same in NumPy. The others are not available yet.",
)
@options.out("standard output")
def command(spec: str, kind: str, out: Path | None) -> int:
    """Write SPEC as an importable module.

    It has forward(*inputs) -> (output, saved), backward(saved, *upstreams) -> gradients, and the names INPUTS, OUTPUTS
    and WRT.
    """
    from symderive import api

    if kind in LATER:
        raise UnsupportedError(f"--as {kind} is not available yet", hint=f"available are {' and '.join(KINDS)}")
    options.deliver(api.FORMATS[KINDS[kind]](api.derive(api.load(spec))), out)
    return 0
