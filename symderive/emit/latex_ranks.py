"""How many axes an expression of array form has: whether a product with it is a multiple or goes entry by entry."""

from __future__ import annotations

from collections.abc import Callable

from symderive.spec.functions import FUNCTIONS
from symderive.spec.syntax import (
    Access,
    Attribute,
    Batch,
    Binary,
    Call,
    Compare,
    Keyword,
    Listing,
    Method,
    Name,
    Node,
    Not,
    Number,
    Slice,
    Subscript,
    Text,
    Unary,
)

Ranks = Callable[[str], int | None]
"""The number of axes of a name, or None where it is not known."""

REDUCTIONS = frozenset(
    ("sum", "mean", "prod", "amax", "amin", "max", "min", "logsumexp", "any", "all", "argmax", "argmin", "norm")
)
MODULES = ("F", "torch", "np", "math")
_FIXED = {"trace": 0, "det": 0, "logdet": 0, "dot": 0, "outer": 2, "eye": 2, "arange": 1}
_SAME = frozenset((*FUNCTIONS, "softmax", "log_softmax", "cumsum", "flip", "roll", "inv", "cholesky", "stop", "clamp"))
"""Functions whose result has as many axes as their first argument."""
_MOST = frozenset(("where", "max", "min", "maximum", "minimum"))
"""Functions whose result has as many axes as the argument that has most."""
_MORE = {"one_hot": 1, "unsqueeze": 1}


def as_call(node: Method) -> Call:
    """A method as a call: ``x.sum(0)`` is ``sum(x, 0)``, and ``F.relu(x)`` is ``relu(x)``."""
    if isinstance(node.value, Name) and node.value.id in MODULES:
        return Call(node.name, node.arguments, node.keywords, span=node.span)
    return Call(node.name, (node.value, *node.arguments), node.keywords, span=node.span)


def dims_of(call: Call) -> tuple[Node | None, bool]:
    """The axes that a reduction reduces, None for all, and whether it keeps them."""
    keywords = dict(call.keywords)
    places = call.arguments[1:]
    dims = places[0] if places else keywords.get("dim", keywords.get("axis"))
    keep = places[1] if len(places) > 1 else keywords.get("keepdim", keywords.get("keepdims"))
    return dims, isinstance(keep, Keyword) and bool(keep.value)


def rank(node: Node, ranks: Ranks) -> int | None:
    """The number of axes of an expression; None where it is not known."""
    if isinstance(node, Number):
        return 0
    if isinstance(node, Name):
        return ranks(node.id)
    if isinstance(node, Unary):
        return rank(node.operand, ranks)
    if isinstance(node, Not):
        return rank(node.operand, ranks)
    if isinstance(node, Binary):
        return _product(node, ranks) if node.op == "@" else _most([node.left, node.right], ranks)
    if isinstance(node, Compare):
        return _most(list(node.operands), ranks)
    if isinstance(node, Attribute):
        return rank(node.value, ranks) if node.name in ("T", "mT") else None
    if isinstance(node, Method):
        return _call(as_call(node), ranks, reduces=True)
    if isinstance(node, Call):
        return _call(node, ranks, reduces=len(node.arguments) == 1 or node.function not in ("max", "min"))
    if isinstance(node, Access):
        return _part(ranks(node.tensor), node.indices, ranks)
    return _part(rank(node.value, ranks), node.items, ranks) if isinstance(node, Subscript) else None


def _most(nodes: list[Node], ranks: Ranks) -> int | None:
    found = [rank(node, ranks) for node in nodes]
    return None if None in found else max(r for r in found if r is not None)


def _product(node: Binary, ranks: Ranks) -> int | None:
    left, right = rank(node.left, ranks), rank(node.right, ranks)
    if left is None or right is None:
        return None
    return max(left, right) if min(left, right) > 1 else left + right - 2


def _part(whole: int | None, items: tuple[Node, ...], ranks: Ranks) -> int | None:
    if whole is None or any(isinstance(item, Batch) for item in items):
        return None if whole is None else max(1, whole)
    for item in items:
        if isinstance(item, Keyword):
            whole += 1
        elif not isinstance(item, Slice):
            inside = rank(item, ranks)
            if inside is None:
                return None
            whole += inside - 1
    return whole


def _call(call: Call, ranks: Ranks, reduces: bool) -> int | None:
    if call.function in _FIXED:
        return _FIXED[call.function]
    if call.function in REDUCTIONS and reduces:
        return _reduced(call, ranks)
    if call.function in ("ones", "zeros"):
        return len(call.arguments)
    first = rank(call.arguments[0], ranks) if call.arguments else None
    if call.function == "einsum":
        return _einsum(call.arguments[0])
    if call.function == "diag":
        return None if first is None else 3 - first
    if call.function == "solve" and len(call.arguments) == 2:
        right = rank(call.arguments[1], ranks)
        return None if right is None or first is None else right if right == 1 else max(first, right)
    if call.function in _MOST:
        return _most(list(call.arguments), ranks)
    if first is None or call.function not in (*_SAME, *_MORE):
        return None
    return first + _MORE.get(call.function, 0)


def _reduced(call: Call, ranks: Ranks) -> int | None:
    whole = rank(call.arguments[0], ranks)
    dims, keep = dims_of(call)
    if dims is None:
        return 0
    if whole is None or keep:
        return whole
    return whole - (len(dims.items) if isinstance(dims, Listing) else 1)


def _einsum(rule: Node) -> int | None:
    return len(rule.value.split("->")[1].strip().replace("...", "…")) if isinstance(rule, Text) else None
