"""Rewrites of a plan that save work in code and would spoil a formula: they are for torch and NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from symderive.errors import InternalError
from symderive.lower import plan as p


def tidy(plan: p.Plan) -> p.Plan:
    """The same plan, every expression rewritten by the rules below."""
    plan = inlined(plan, plan.outputs)
    assigns = tuple(replace(a, value=tidied(a.value)) for a in plan.assignments)
    return replace(plan, assignments=assigns)


VIEWS = (p.Permute, p.Expand)


def inlined(plan: p.Plan, keep: Iterable[str], views_are: tuple[type[p.Node], ...] = VIEWS) -> p.Plan:
    """The same plan without helpers that are a view of something named; those with a formula or in ``keep`` stay."""
    views: dict[str, p.Node] = {}
    kept: list[p.Assign] = []
    for assign in plan.assignments:
        value = read_with(assign.value, views)
        if is_view(value, views_are) and not assign.comment and assign.name not in {*keep, *plan.outputs}:
            views[assign.name] = value
        else:
            kept.append(replace(assign, value=value))
    return replace(plan, assignments=tuple(kept))


def is_view(node: p.Node, views_are: tuple[type[p.Node], ...] = VIEWS) -> bool:
    """Whether ``node`` is a transpose of a name, or that with new axes; or made of other ``views_are``."""
    if not isinstance(node, views_are):
        return False
    return isinstance(node.value, p.Ref) or is_view(node.value, views_are)  # type: ignore[attr-defined]


def read_with(node: p.Node, views: Mapping[str, p.Node]) -> p.Node:
    """The expression with others in place of names."""
    if isinstance(node, p.Ref):
        return views.get(node.name, node)
    return p.rebuild(node, lambda child: read_with(child, views))


def tidied(node: p.Node) -> p.Node:
    """``node`` with every rewrite applied, innermost first."""
    node = p.rebuild(node, tidied)
    for rule in RULES:
        node = rule(node) or node
    return node


def needless_cast(node: p.Node) -> p.Node | None:
    """A cast to the kind that the value has."""
    return node.value if isinstance(node, p.Cast) and node.value.kind == node.to else None


def picked_log_probability(node: p.Node) -> p.Node | None:
    """``logsumexp(z) - z[t]`` is ``-log_softmax(z)[t]``, which torch computes in about half the time."""
    if not isinstance(node, p.Map) or node.function != "sub":
        return None
    total, picked = node.args
    if not isinstance(total, p.Reduce) or total.op != "logsumexp" or len(total.axes) != 1:
        return None
    if not isinstance(picked, p.Slice) or not isinstance(picked.value, p.Gather) or total.keepdim:
        return None
    gather, (axis,) = picked.value, total.axes
    if gather.value != total.value or gather.axis != axis or not isinstance(picked.items[axis], p.At):
        return None
    logarithms = p.Normalise("log_softmax", gather.value, axis)
    return p.Map("neg", (replace(picked, value=replace(gather, value=logarithms)),))


def negative_sum(node: p.Node) -> p.Node | None:
    """``(-x).sum()`` is ``-x.sum()``."""
    if not isinstance(node, p.Reduce) or node.op not in ("sum", "mean") or not isinstance(node.value, p.Map):
        return None
    value = node.value
    return p.Map("neg", (replace(node, value=value.args[0]),)) if value.function == "neg" else None


def product_at_hand(node: p.Node) -> p.Node | None:
    """``y * (x - sum(x * y))`` is ``x * y - y * sum(x * y)``, whose first product is there already: an array less."""
    if not isinstance(node, p.Map) or node.function != "mul":
        return None
    for factor, difference in (node.args, node.args[::-1]):
        if isinstance(difference, p.Map) and difference.function == "sub":
            first, total = difference.args
            products = [p.Map("mul", pair) for pair in ((factor, first), (first, factor))]
            if isinstance(total, p.Reduce) and total.op == "sum" and total.value in products:
                return p.Map("sub", (total.value, p.Map("mul", (factor, total))))
    return None


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
    if value == 1 and function == "mul":
        return _stretched(factor, source.shape)
    if isinstance(factor, p.Scalar):
        product = value * factor.value if function == "mul" else value / factor.value
        return p.Full(source.shape, product)
    if value == -1 and function == "mul":
        return _stretched(p.Map("neg", (factor,)), source.shape)
    number = p.Map(function, (p.Scalar(value), factor))
    return _stretched(number, source.shape)


def _stretched(node: p.Node, shape: p.Shape) -> p.Node:
    return node if p.shapes.same_shape(node.shape, shape) else p.BroadcastTo(node, shape)


RULES: tuple[Callable[[p.Node], p.Node | None], ...] = (
    needless_cast,
    picked_log_probability,
    negative_sum,
    product_at_hand,
    scaled_scatter,
)
"""Each returns the rewritten expression, or None where it does not apply."""
