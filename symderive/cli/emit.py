"""``symderive emit``: importable code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from symderive.cli import options
from symderive.errors import SpecError

if TYPE_CHECKING:
    from symderive.spec import model


EPILOG = """\
\b
Examples:
  symderive emit layer_norm --out layer_norm.py
  symderive emit derivations/softmax.yaml --as numpy
  symderive emit softmax --as autograd --out my_softmax.py && python my_softmax.py
  symderive emit layer_norm --as custom_op --namespace mine --out ops.py
  symderive emit layer_norm --as derivatives
"""


def _format(name: str) -> Callable[[model.Spec, str], str]:
    def write(spec: model.Spec, namespace: str) -> str:
        from symderive import api

        return api.FORMATS[name](api.derive(spec))

    return write


def _autograd(spec: model.Spec, namespace: str) -> str:
    from symderive.emit.autograd import autograd_module

    return autograd_module(spec)


def _custom_op(spec: model.Spec, namespace: str) -> str:
    from symderive.emit.custom_op import custom_op_module

    return custom_op_module(spec, namespace)


def _derivatives(spec: model.Spec, namespace: str) -> str:
    from symderive.emit.derivatives import derivatives_entry

    return derivatives_entry(spec)


KINDS: dict[str, Callable[[model.Spec, str], str]] = {
    "functions": _format("torch"),
    "autograd": _autograd,
    "custom_op": _custom_op,
    "derivatives": _derivatives,
    "numpy": _format("numpy"),
}
"""The kinds of code that can be written, from a spec and the namespace of custom ops."""


@click.command("emit", epilog=EPILOG)
@click.argument("spec")
@click.option(
    "--as",
    "kind",
    type=click.Choice(tuple(KINDS)),
    default="functions",
    show_default=True,
    help="functions: forward and backward in torch; autograd: a torch.autograd.Function; custom_op: an op of "
    "torch.library; derivatives: an entry for PyTorch's derivatives.yaml; numpy: functions in NumPy.",
)
@click.option("--namespace", default="symderive", show_default=True, help="The namespace of a custom op.")
@options.out("standard output")
def command(spec: str, kind: str, namespace: str, out: Path | None) -> int:
    """Write SPEC as an importable module.

    As functions it has forward(*inputs) -> (output, saved), backward(saved, *upstreams) -> gradients, and the names
    INPUTS, OUTPUTS and WRT. As autograd or custom_op it has a function named after the spec, and verifies itself when
    it is run.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", namespace):
        raise SpecError(f"--namespace {namespace!r} is not an identifier")
    options.deliver(KINDS[kind](options.read(spec), namespace), out)
    return 0
