"""Which kinks of a forward a real input can bring nearer: what class ids and sizes alone decide stays where it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from symderive.check.kinks import Kink
from symderive.errors import NOWHERE, Span
from symderive.spec import model, syntax


def fixed_places(spec: model.Spec) -> frozenset[Span]:
    """The places of the text at which what has a kink, or a pole, depends on no real input; found once for a spec."""
    found: frozenset[Span] | None = spec.__dict__.get("fixed_places")
    if found is None:
        found = spec.__dict__["fixed_places"] = _fixed_places(spec)
    return found


def _fixed_places(spec: model.Spec) -> frozenset[Span]:
    moving = {i.name for i in spec.inputs if i.is_real}
    fixed: set[Span] = set()
    moved = {NOWHERE}
    for equation in spec.equations:
        if _reads(equation.right, moving):
            moving.add(equation.tensor)
        for node in equation.right.walk():
            if arguments := list(_arguments(node)):
                (moved if any(_reads(a, moving) for a in arguments) else fixed).add(node.span)
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
