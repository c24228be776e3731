"""Rewrites of a plan that save work in code and would spoil a formula: they are for torch and NumPy alone."""

from __future__ import annotations

from dataclasses import replace

from symderive.errors import InternalError
from symderive.lower import plan as p


def tidy(plan: p.Plan) -> p.Plan:
    """The same plan with scalar factors moved inside scatters, so that these can add in place."""
    assigns = tuple(replace(a, value=tidied(a.value)) for a in plan.assignments)
    return replace(plan, assignments=assigns)


def tidied(node: p.Node) -> p.Node:
    """``node`` with every rewrite applied, innermost first."""
    node = p.rebuild(node, tidied)
    if isinstance(node, p.Cast) and node.value.kind == node.to:
        return node.value
    return scaled_scatter(node) or node


def scaled_scatter(node: p.Node) -> p.Node | None:
    """``(base + scatter(source)) * s`` is ``base * s + scatter(source * s)`` where s is one number a place."""
    if not isinstance(node, p.Map) or node.function not in ("mul", "div"):
        return None
    scatter, factor = node.args
    if not isinstance(scatter, p.ScatterAdd | p.IndexAdd):
        scatter, factor = factor, scatter
    swapped = scatter is not node.args[0]
    if not isinstance(scatter, p.ScatterAdd | p.IndexAdd) or scatter.base is None:
        return None
    if not _is_even(factor, scatter) or (swapped and node.function == "div"):
        return None
    return replace(
        scatter,
        base=p.Map(node.function, (scatter.base, factor)),
        source=_scaled(scatter.source, node.function, factor),
    )


def _is_even(factor: p.Node, scatter: p.ScatterAdd | p.IndexAdd) -> bool:
    """Whether a factor is the same at all places to which one entry of the source may go."""
    if not factor.shape:
        return True
    if isinstance(scatter, p.IndexAdd) or scatter.source.shape[scatter.axis] != 1:
        return False
    try:
        return p.shapes.same_shape(p.shapes.broadcast(factor.shape, scatter.source.shape), scatter.source.shape)
    except InternalError:
        return False


def _scaled(source: p.Node, function: str, factor: p.Node) -> p.Node:
    value = p.constant(source)
    if value is None:
        return p.Map(function, (source, factor))
    if isinstance(factor, p.Scalar):
        product = value * factor.value if function == "mul" else value / factor.value
        return p.Full(source.shape, product)
    if value == -1 and function == "mul":
        return _stretched(p.Map("neg", (factor,)), source.shape)
    number = p.Map(function, (p.Scalar(value), factor))
    return _stretched(number, source.shape)


def _stretched(node: p.Node, shape: p.Shape) -> p.Node:
    return node if p.shapes.same_shape(node.shape, shape) else p.BroadcastTo(node, shape)
