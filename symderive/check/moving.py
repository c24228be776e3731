"""Which kinks of a forward a real input can bring nearer: what class ids and sizes alone decide stays where it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from symderive.check.kinks import Kink
from symderive.errors import NOWHERE, Span
from symderive.spec import model, syntax


def fixed_places(spec: model.Spec, tensor: str = "") -> frozenset[Span]:
    """The places of the text at which what has a kink, or a pole, depends on no real input; found once for a spec.

    With a ``tensor``, those at which it does not depend on that, however it is itself made.
    """
    known: dict[str, frozenset[Span]] = spec.__dict__.setdefault("fixed_places", {})
    if tensor not in known:
        known[tensor] = _fixed_places(spec, {tensor} if tensor else {i.name for i in spec.inputs if i.is_real})
    return known[tensor]


def _fixed_places(spec: model.Spec, moving: set[str]) -> frozenset[Span]:
    fixed: set[Span] = set()
    moved = {NOWHERE}
    for equation in spec.equations:
        own = equation.tensor in moving
        if not own and _reads(equation.right, moving):
            moving.add(equation.tensor)
        for node in equation.right.walk():
            if arguments := list(_arguments(node)):
                moves = not own and any(_reads(a, moving) for a in arguments)
                (moved if moves else fixed).add(node.span)
    return frozenset(fixed - moved)  # a place of the text may be in the spec more than once, as of one that is called


def _reads(node: syntax.Node, tensors: set[str]) -> bool:
    return any(getattr(n, "tensor", getattr(n, "id", None)) in tensors for n in node.walk())


def _arguments(node: syntax.Node) -> Iterator[syntax.Node]:
    """What decides where a node has a kink or a pole."""
    match node:
        case syntax.Binary(op="/", right=right):
            yield right
        case syntax.Binary(op="**", left=left):
            yield left
        case syntax.Compare() | syntax.Call() | syntax.Binder():
            yield from node.children()


def marked(spec: model.Spec, kinks: Sequence[Kink]) -> list[Kink]:
    """The kinks, each with whether a real input can move it; at a pole that nothing moves there is no value, either."""
    fixed = fixed_places(spec)
    return [replace(k, moves=False) if k.span in fixed and not k.is_pole else k for k in kinks] if fixed else [*kinks]
