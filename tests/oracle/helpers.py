"""Equations from text, with ranges read off the shapes: enough for tests, and independent of the spec reader."""

from __future__ import annotations

from sympy import Expr, Integer

from symderive.spec import model, syntax
from symderive.spec.parse import parse_statements
from symderive.spec.sizes import BATCH_SIZE, size


def sympify(extent):
    """An extent: a number, the name of a size, or a size expression."""
    if isinstance(extent, Expr):
        return extent
    return size(extent) if isinstance(extent, str) else Integer(extent)


def spec_of(text, inputs, wrt=None, outputs=None, ranges=None, **more):
    """A spec of inputs (a shape, or a shape with properties of an input) and equations."""
    made = []
    for name, given in inputs.items():
        shape, properties = given if isinstance(given, tuple) else (given, {})
        axes = tuple(BATCH_SIZE if axis == "..." else sympify(axis) for axis in shape)
        made.append(model.Input(name, axes, **properties))
    equations = program(text, {i.name: i.shape for i in made}, ranges)
    outputs = outputs or (equations[-1].tensor,)
    return model.Spec(
        "made", tuple(made), equations, outputs, tuple(wrt or [i.name for i in made if i.is_real]), **more
    )


def _indices(node):
    return node.indices if isinstance(node, syntax.Access) else ()


def _label(node):
    return syntax.BATCH if isinstance(node, syntax.Batch) else node.id


def program(text, shapes, ranges=None):
    """The equations of ``text``; ``shapes`` are extents by tensor, ``ranges`` those of indices never used plainly."""
    shapes, equations = dict(shapes), []
    for statement in parse_statements(text):
        found = dict(ranges or {})
        for node in statement.right.walk():
            for position, extent in zip(_indices(node), shapes.get(getattr(node, "tensor", ""), ()), strict=False):
                if isinstance(position, syntax.Name | syntax.Batch):
                    found.setdefault(_label(position), extent)
        left = statement.left
        name = left.tensor if isinstance(left, syntax.Access) else left.id
        free = tuple(_label(i) for i in _indices(left))
        used = {n.id for n in statement.walk() if isinstance(n, syntax.Name)} | set(free)
        for node in statement.walk():
            if isinstance(node, syntax.Binder):
                used.update(node.indices)
        here = {i: sympify(r) for i, r in found.items() if i in used}
        shapes[name] = tuple(found[i] for i in free)
        equations.append(model.Equation(name, free, statement.right, here))
    return tuple(equations)
