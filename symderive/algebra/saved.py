"""What the forward keeps for the backward: the tensors that the gradients' formulas read."""

from __future__ import annotations

from dataclasses import replace

from symderive.algebra.program import Program
from symderive.algebra.terms import tensors
from symderive.spec import model


def choose_saved(forward: Program, backward: Program, upstreams: tuple[str, ...]) -> tuple[Program, tuple[str, ...]]:
    """The backward with its inputs, upstreams first, and the names of those that the forward saves."""
    read: set[str] = set()
    for equation in backward.equations:
        read |= tensors(equation.right)
    saved = tuple(t for t in forward.shapes if t in read)
    inputs = {i.name: i for i in forward.inputs}
    upstream = tuple(
        model.Input(u, forward.shapes[o]) for u, o in zip(upstreams, forward.outputs, strict=True)
    )
    kept = tuple(inputs.get(t) or model.Input(t, forward.shapes[t]) for t in saved)
    return replace(backward, inputs=(*upstream, *kept)), saved
