"""From a graph of operations to assignments: one name for a quantity that is used again, the rest in place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from symderive.lower import plan
from symderive.lower.graph import SWAPPED
from symderive.lower.plan import Assign, Node, Ref

_VIEWS = (
    plan.Permute,
    plan.Expand,
    plan.BroadcastTo,
    plan.Slice,
    plan.Diagonal,
    plan.Cast,
)
"""Operations that cost nothing: of a name they are written again rather than given a name."""

_LEAVES = (plan.Ref, plan.Scalar, plan.Full, plan.Eye, plan.Arange)

_NAMES: dict[str, str] = {
    "softmax": "p",
    "log_softmax": "logp",
    "Scan": "c",
    "MatMul": "m",
    "Einsum": "m",
    "Matrix": "inverse",
    "Solve": "solution",
    "Conv": "c",
    "Unfold": "windows",
    "Pad": "padded",
    "Take": "g",
    "Gather": "g",
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"), "mask"),
    "exp": "e",
    "sub": "d",
    "sqrt": "r",
    "rsqrt": "r",
    "sigmoid": "s",
    "sum": "total",
    "mean": "mean",
    "amax": "top",
    "amin": "low",
    "logsumexp": "lse",
    "argmax": "best",
    "argmin": "best",
}
"""What a helper is called, by its operation."""


def schedule(roots: list[Assign], taken: Iterable[str]) -> list[Assign]:
    """The assignments ``roots`` with helpers in front of them for what is used more than once."""
    uses: Counter[int] = Counter()
    seen: dict[int, Node] = {}
    for root in roots:
        _count(root.value, uses, seen)
    return _Writer(uses, set(taken)).write(roots)


def _count(root: Node, uses: Counter[int], seen: dict[int, Node]) -> None:
    stack = [root]
    uses[id(root)] += 1
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        for child in plan.children(node):
            uses[id(child)] += 1
            stack.append(child)


def is_cheap(node: Node) -> bool:
    """Whether it is written again rather than named: a leaf, or a view of one."""
    while isinstance(node, _VIEWS) and not (isinstance(node, plan.Cast) and node.value.kind == "boolean"):
        node = node.value
    if isinstance(node, plan.Map):
        return not node.shape and all(is_cheap(a) for a in node.args)
    return isinstance(node, _LEAVES)


def turned(node: Node) -> Node:
    """``b.T @ a.T`` for ``(a @ b).T``, where one of them is transposed already."""
    if not isinstance(node, plan.Permute) or node.order != SWAPPED or not isinstance(node.value, plan.MatMul):
        return node
    sides = (node.value.right, node.value.left)
    if node.has_batch or any(len(s.shape) != 2 for s in sides) or not any(isinstance(s, plan.Permute) for s in sides):
        return node
    return plan.MatMul(*(s.value if isinstance(s, plan.Permute) else plan.Permute(s, SWAPPED) for s in sides))


class _Writer:
    def __init__(self, uses: Counter[int], taken: set[str]) -> None:
        self.uses, self.taken = uses, taken
        self.done: dict[int, Node] = {}
        self.out: list[Assign] = []

    def write(self, roots: list[Assign]) -> list[Assign]:
        for root in roots:
            if id(root.value) in self.done and isinstance(self.done[id(root.value)], Ref):
                self.out.append(Assign(root.name, self.done[id(root.value)], root.comment))
                continue
            value = self._inside(root.value)
            self.out.append(Assign(root.name, value, root.comment))
            if not is_cheap(root.value):
                self.done[id(root.value)] = self.out[-1].ref
        return self.out

    def _node(self, node: Node) -> Node:
        known = self.done.get(id(node))
        if known is None:
            known = self._inside(node)
            if self.uses[id(node)] > 1 and not is_cheap(node):
                self.out.append(Assign(self._name(node), known))
                known = self.out[-1].ref
            self.done[id(node)] = known
        return known

    def _inside(self, node: Node) -> Node:
        return turned(plan.rebuild(node, self._node))

    def _name(self, node: Node) -> str:
        kind = getattr(node, "op", None) or getattr(node, "function", None) or type(node).__name__
        stem = _NAMES.get(str(kind)) or _NAMES.get(type(node).__name__) or "h"
        name, count = stem, 1
        while name in self.taken:
            count += 1
            name = f"{stem}{count}"
        self.taken.add(name)
        return name
