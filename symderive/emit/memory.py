"""What eager code does about memory: two passes over an array made one, and a temporary written over.

In eager PyTorch an operation on whole arrays costs what it reads and writes, and a new array costs more than that: its
pages are new to the process. So ``a + b * c`` is one operation, and what nothing else holds is written over.
"""

from __future__ import annotations

from collections.abc import Mapping

from symderive.lower import plan as p

Origins = Mapping[str, frozenset[str]]
"""The tensors that each tensor is computed from, those that are given standing for themselves."""

_UNKEPT = ("add", "sub", "mul", "div", "neg")
"""Functions whose result autograd does not keep, so that it may be added to in place."""


def is_fresh(node: p.Node) -> bool:
    """Whether ``node`` makes a tensor that nothing else holds, not even autograd."""
    return isinstance(node, p.Map) and node.function in _UNKEPT


def added_product(node: p.Node) -> tuple[p.Node, p.Map, bool] | None:
    """``a``, ``b * c`` and whether that is taken away, of ``a + b * c`` or ``a - b * c``, as large as the product is.

    Of ``b * c - a`` too, where a is smaller: its negative costs little.
    """
    if not isinstance(node, p.Map) or node.function not in ("add", "sub"):
        return None
    value, product = node.args
    minus = node.function == "sub"
    if not _is_product(product, node):
        value, product = product, value
        if minus:
            value, minus = p.Map("neg", (value,)), False
            if not _is_smaller(value.args[0], node):
                return None
    if not isinstance(product, p.Map) or not _is_product(product, node):
        return None
    return None if isinstance(value, p.Scalar) or value.kind != "real" else (value, product, minus)


def _is_product(node: p.Node, whole: p.Node) -> bool:
    """Whether a node is a product of two real tensors, as large as the matrix that it goes into."""
    if not isinstance(node, p.Map) or node.function != "mul" or len(whole.shape) < 2 or node.shape != whole.shape:
        return False
    return all(a.shape and a.kind == "real" and not _is_quotient(a) for a in node.args)


def _is_quotient(node: p.Node) -> bool:
    return isinstance(node, p.Map) and node.function in ("pow", "div", "neg")


def scaled(node: p.Node) -> tuple[p.Normalise, p.Node] | None:
    """A softmax and its factor, where that is smaller: the product may be written over the softmax."""
    if not isinstance(node, p.Map) or node.function != "mul" or len(node.shape) < 2:
        return None
    for array, factor in (node.args, node.args[::-1]):
        if isinstance(array, p.Normalise) and array.shape == node.shape and _is_smaller(factor, array):
            return array, factor
    return None


def rescaled(node: p.Node, origins: Origins) -> tuple[p.Node, p.Node] | None:
    """A fresh array and a smaller factor that may be multiplied into it, of a product that nothing else needs.

    Whatever the factor is computed from is in the array already: a transform of ``torch.func`` that makes a batch or a
    dual number of the factor has done so with the array, which could not take one in.
    """
    if not isinstance(node, p.Map) or node.function != "mul" or len(node.shape) < 2 or node.kind != "real":
        return None
    for array, factor in (node.args, node.args[::-1]):
        if is_fresh(array) and array.kind == "real" and array.shape == node.shape and _is_smaller(factor, array):
            read = {n.name for n in p.walk(factor) if isinstance(n, p.Ref)}
            there = sources(array, origins)
            if all(r in origins and origins[r] <= there for r in read):
                return array, factor
    return None


def sources(node: p.Node, origins: Origins) -> frozenset[str]:
    """The tensors that ``node`` is computed from, as far as they are known."""
    return frozenset().union(*(origins.get(n.name, ()) for n in p.walk(node) if isinstance(n, p.Ref)))


def origins_of(plan: p.Plan, given: Origins) -> dict[str, frozenset[str]]:
    """Of every tensor of a plan; ``given`` says it of inputs that were computed themselves."""
    found = {r.name: given.get(r.name, frozenset((r.name,))) for r in plan.inputs}
    for assign in plan.assignments:
        found[assign.name] = sources(assign.value, found)
    return found


def _is_smaller(factor: p.Node, array: p.Node) -> bool:
    """Whether a factor is an array of real numbers that broadcasting has to repeat."""
    while isinstance(factor, p.BroadcastTo | p.Expand):
        factor = factor.value
    small = len(factor.shape) < len(array.shape) or 1 in factor.shape
    return small and factor.kind == "real" and p.constant(factor) is None
