"""The equations of a forward with one more axis on every tensor, along which points of the same sizes stand.

What it takes to compute a small array in floats is not its numbers, so that dozens of points take little longer than
one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from symderive.spec import model, syntax
from symderive.spec.calls import rebuilt
from symderive.spec.sizes import size

Sizes = Mapping[str, "int | tuple[int, ...]"]

AXIS = "#"
"""The index of points, and the size that says how many there are: no letter of a spec."""

FEWEST = 3
"""Points that are sooner computed together."""


def can_be(sizes: Sizes, count: int) -> bool:
    """Whether so many points of these sizes are computed together."""
    return count >= FEWEST and syntax.BATCH not in sizes


def stacked(spec: model.Spec, equations: Sequence[model.Equation]) -> tuple[model.Equation, ...]:
    """Equations of a spec with one more index, each made once."""
    known: dict[int, tuple[model.Equation, model.Equation]] = spec.__dict__.setdefault("stacked_equations", {})
    for equation in equations:
        if id(equation) not in known:
            known[id(equation)] = equation, _with_axis(spec, equation)
    return tuple(known[id(e)][1] for e in equations)


def _with_axis(spec: model.Spec, equation: model.Equation) -> model.Equation:
    tensors = spec.shapes.keys() - equation.ranges.keys()
    axis = syntax.Name(AXIS)

    def changed(node: syntax.Node) -> syntax.Node:
        if isinstance(node, syntax.Access):
            return replace(node, indices=(axis, *map(changed, node.indices)))
        if isinstance(node, syntax.Name):
            return syntax.Access(node.id, (axis,), span=node.span) if node.id in tensors else node
        return rebuilt(node, changed)

    return replace(
        equation,
        indices=(AXIS, *equation.indices),
        right=changed(equation.right),
        ranges={AXIS: size(AXIS), **equation.ranges},
    )
