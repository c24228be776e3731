"""``symderive derive``: the derivation of a spec, then a short numerical verification."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from symderive.cli import options

if TYPE_CHECKING:
    from symderive.api import Derivation
    from symderive.report.document import Block

FORMATS = ("text", "latex", "markdown", "torch", "numpy", "spec", "json")
"""``text``, and those of :data:`symderive.api.FORMATS`, which is not imported for a help text."""

KINDS = ("claim", "reference", "oracle", "autograd", "gradcheck")
"""The checks that follow a derivation."""

EPILOG = """\
\b
Examples:
  symderive derive linear_mse
  symderive derive derivations/softmax.yaml --format latex
  symderive derive attention --wrt Q --no-check
  symderive derive linear_mse --order 2
  symderive derive layer_norm --format markdown --out layer_norm.md
"""


@click.command("derive", epilog=EPILOG)
@click.argument("spec")
@click.option("--wrt", multiple=True, metavar="NAME", help="Differentiate by this input only; may be repeated.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="What to print.")
@options.out("standard output")
@click.option("--no-check", is_flag=True, help="Leave out the claims and the numerical verification after the text.")
@click.option("--order", type=click.IntRange(1, 2), default=1, show_default=True, help="2 derives the gradient again.")
@click.option("--inline", is_flag=True, help="Write out the calls of other specs, and derive all of it anew.")
def command(
    *, spec: str, wrt: tuple[str, ...], form: str, out: Path | None, no_check: bool, order: int, inline: bool
) -> int:
    """Derive the gradients of SPEC.

    SPEC is a file, or the name of a spec in the catalogue. The text shows every step, the index form, the array form
    and the torch code of each gradient, and ends with a short numerical verification.
    """
    from symderive import api

    derivation = api.derive(options.read(spec), wrt=wrt or None, order=order, inline=inline)
    if form != "text":
        options.deliver(api.FORMATS[form](derivation), out)
        return 0
    return _text(derivation, out, no_check)


def _text(derivation: Derivation, out: Path | None, no_check: bool) -> int:
    from symderive.report.console import printer
    from symderive.report.derivation import mathematics
    from symderive.report.plain import plain_texts

    if out is not None:
        blocks = list(mathematics(derivation))
        status = 0
        if not no_check:
            found, status = _verification(derivation)
            blocks += found
        options.deliver(plain_texts(blocks), out)
        return status
    screen = printer()
    screen.show(mathematics(derivation))
    if no_check:
        return 0
    found, status = _verification(derivation)
    screen.show(found)
    return status


def _verification(derivation: Derivation) -> tuple[list[Block], int]:
    """The claims and a short check as blocks, and the exit status; torch is imported here."""
    from symderive.check.runner import check
    from symderive.cli.progress import progress
    from symderive.report.verification import verification

    with progress(single=True) as report:
        result = check(derivation.spec, quick=True, kinds=KINDS, progress=report)
    return list(verification(result)), 2 if result.error else 0 if result.ok else 1
