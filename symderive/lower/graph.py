"""Array operations as they are put together: each distinct one exists once, and obvious detours are cut short."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields

from sympy import Expr, Max, Min, Mod, S, floor

from symderive.lower import plan, shapes
from symderive.lower.plan import Node, Scalar
from symderive.spec.functions import FUNCTIONS

_FOLD: dict[str, Callable[..., Expr]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "pow": lambda a, b: a**b,
    "floordiv": lambda a, b: floor(a / b),
    "mod": Mod,
    "maximum": Max,
    "minimum": Min,
    "clamp": lambda x, low, high: Min(Max(x, low), high),
    "sqrt": lambda a: a**S.Half,
    "square": lambda a: a**2,
}
"""What an operation makes of Python numbers."""

_NEUTRAL = {"add": (0, S.Zero), "sub": (1, S.Zero), "mul": (0, S.One), "div": (1, S.One), "pow": (1, S.One)}
"""Operations with a neutral right operand (and left one, where the first entry is 0)."""


class Graph:
    """A table of operations by their meaning; two that do the same are one object, so that ``is`` compares."""

    def __init__(self) -> None:
        self._nodes: dict[tuple, Node] = {}

    def intern(self, node: Node) -> Node:
        """The one object that means ``node``, whose children come from this graph."""
        key = (type(node), *(_key(getattr(node, part.name)) for part in fields(node)))  # type: ignore[arg-type]
        return self._nodes.setdefault(key, node)

    # --- leaves

    def scalar(self, value: Expr | int) -> Node:
        """A Python number."""
        return self.intern(Scalar(S(value)))

    def arange(self, extent: Expr) -> Node:
        """0, 1, ..., extent - 1."""
        return self.intern(plan.Arange(extent))

    def full(self, shape: shapes.Shape, value: Expr | int, kind: plan.Kind = "real") -> Node:
        """An array of one number."""
        return self.intern(plan.Full(shape, S(value), kind))

    # --- element-wise

    def cast(self, node: Node, kind: plan.Kind) -> Node:
        """``node`` as another kind; a Python number fits everywhere."""
        if node.kind == kind or isinstance(node, Scalar):
            return node
        if isinstance(node, plan.Full) and kind == "real":
            return self.full(node.extents, node.value)
        return self.intern(plan.Cast(node, kind))

    def map(self, function: str, *args: Node) -> Node:
        """``function`` of operands that broadcast, cast to kinds that it takes."""
        if function in _FOLD and all(isinstance(a, Scalar) for a in args):
            return self.scalar(_FOLD[function](*(a.value for a in args)))  # type: ignore[attr-defined]
        if function in ("and", "or"):
            for one, other in (args, args[::-1]):
                if _holds_all(function, one, other):
                    return one
        if function == "where":
            args = (args[0], _given(*args[:2]), args[2])
        if function in _NEUTRAL:
            place, neutral = _NEUTRAL[function]
            if isinstance(args[1], Scalar) and args[1].value == neutral and args[0].kind != "boolean":
                return args[0]
            if place == 0 and isinstance(args[0], Scalar) and args[0].value == neutral and args[1].kind != "boolean":
                return args[1]
        if function == "neg" and isinstance(args[0], plan.Map) and args[0].function == "neg":
            return args[0].args[0]
        if function in FUNCTIONS and all(isinstance(a, Scalar) for a in args):  # kernels take arrays
            args = (self.full((), args[0].value), *args[1:])  # type: ignore[attr-defined]
        return self.intern(plan.Map(function, self._fitting(function, args)))

    def _fitting(self, function: str, args: tuple[Node, ...]) -> tuple[Node, ...]:
        if function in plan.LOGIC:
            return tuple(self.condition(a) for a in args)
        if function in plan.COMPARISONS:
            return tuple(self.cast(a, "real") if a.kind == "boolean" else a for a in args)
        if function == "where":
            condition, *branches = args
            kinds = {b.kind for b in branches if not isinstance(b, Scalar)}
            if len(kinds) > 1 or (kinds and kinds != {"real"} and any(isinstance(b, Scalar) for b in branches)):
                integral = "real" not in kinds and all(
                    b.kind == "integer" for b in branches if isinstance(b, Scalar) or b.kind != "boolean"
                )
                branches = [self.cast(b, "integer" if integral else "real") for b in branches]
            return (self.condition(condition), *branches)
        arrays = [a for a in args if not isinstance(a, Scalar)]
        exact = function in plan.INTEGRAL or (function == "pow" and _is_natural(args[1]))
        if exact and all(a.kind == "integer" for a in args):
            return args
        if not arrays:
            return tuple(self.full((), a.value) for a in args[:1]) + args[1:]  # type: ignore[attr-defined]
        return tuple(self.cast(a, "real") for a in args)

    def condition(self, node: Node) -> Node:
        """``node`` as a truth value."""
        return node if node.kind == "boolean" else self.intern(plan.Map("ne", (node, self.scalar(0))))

    # --- arrangement

    def permute(self, node: Node, order: Sequence[int]) -> Node:
        """The axes in a new order, given by negative numbers."""
        rank = len(order)
        if tuple(order) == tuple(range(-rank, 0)):
            return node
        if tuple(order) == SWAPPED and _is_symmetric(node):
            return node
        if isinstance(node, plan.Permute):
            return self.permute(node.value, [node.order[a] for a in order])
        return self.intern(plan.Permute(node, tuple(order)))

    def expand(self, node: Node, axes: Sequence[int], in_front: int = 0) -> Node:
        """New axes of extent 1; those that a reduction or a slice has just taken away are kept instead.

        ``in_front`` more may stand in front of the first axis, where they change nothing.
        """
        if isinstance(node, plan.Slice):
            node, axes = self._unsliced(node, axes, in_front)
        if not axes or isinstance(node, Scalar):
            return node
        if isinstance(node, plan.Reduce) and not node.keepdim and sorted(node.axes) == sorted(axes):
            if node.value.has_batch and -len(node.value.shape) in node.axes:
                return self.intern(plan.Expand(node, tuple(axes)))
            return self.intern(plan.Reduce(node.op, node.value, node.axes, True))
        if isinstance(node, plan.MatMul) and (product := self._of_whole_matrices(node, tuple(axes))) is not None:
            return product
        if isinstance(node, plan.Expand):
            rank = len(node.value.shape) + len(node.axes) + len(axes)
            places = [a for a in range(-rank, 0) if a not in axes]  # where the axes of ``node`` come to stand
            return self.expand(node.value, sorted([*axes, *(places[a] for a in node.axes)]))
        return self.intern(plan.Expand(node, tuple(axes)))

    def _of_whole_matrices(self, node: plan.MatMul, axes: tuple[int, ...]) -> Node | None:
        """``(x[:, 0] @ A)[None, :]`` is ``x.T @ A`` where that axis of x has length 1, and the like on the right."""
        for vector, axis in ((node.left, -2), (node.right, -1)):
            if not isinstance(vector, plan.Slice) or len(vector.shape) != 1 or axes != (axis,):
                continue
            for along in SWAPPED:
                matrix = self.expand(vector, (along,))
                if not isinstance(matrix, plan.Expand):
                    matrix = matrix if along == axis else self.permute(matrix, SWAPPED)
                    left, right = (matrix, node.right) if vector is node.left else (node.left, matrix)
                    return self.intern(plan.MatMul(left, right))
        return None

    def _unsliced(self, node: plan.Slice, axes: Sequence[int], in_front: int) -> tuple[Node, Sequence[int]]:
        """``x[:, 0][:, None]`` is x where that axis has length 1: such places are read as the axes that are wanted."""
        units: list[list[int]] = [[]]
        for place, item in reversed([*enumerate(node.items)]):
            if not isinstance(item, plan.At):
                units.append([])
            elif node.value.shape[place - len(node.items)] is S.One:
                units[-1].append(place)
        wanted: list[list[int]] = [[]]
        for axis in range(-1, -len(units) - len(axes), -1):
            wanted[-1].append(axis) if axis in axes else wanted.append([])
        pairs = [p for own, new in zip(units, wanted, strict=True) for p in zip(own, new, strict=False)]
        spare = units[-1][len(wanted[-1]) :][:in_front] if not node.has_batch else []
        items: list[plan.Item] = list(node.items)
        for place in (*(place for place, _ in pairs), *spare):
            items[place] = None
        return self.slice(node.value, items), [a for a in axes if a not in {axis for _, axis in pairs}]

    def reshape(self, node: Node, shape: shapes.Shape) -> Node:
        """The entries in another shape."""
        if shapes.same_shape(node.shape, shape):
            return node
        if isinstance(node, plan.Reshape):
            return self.reshape(node.value, shape)
        return self.intern(plan.Reshape(node, shape))

    def broadcast(self, node: Node, shape: shapes.Shape) -> Node:
        """``node`` seen in a larger shape."""
        if isinstance(node, Scalar):
            return self.full(shape, node.value, "integer" if node.kind == "integer" else "real")
        if isinstance(node, plan.Full):
            return self.full(shape, node.value, node.of)
        return node if shapes.same_shape(node.shape, shape) else self.intern(plan.BroadcastTo(node, shape))

    def slice(self, node: Node, items: Sequence[plan.Item]) -> Node:
        """Part of ``node``; whole axes are left alone."""
        return node if all(i is None for i in items) else self.intern(plan.Slice(node, tuple(items)))

    def reduce(self, op: str, node: Node, axes: Sequence[int]) -> Node:
        """``op`` over some axes."""
        if op in ("any", "all"):
            node = self.condition(node)
        elif op not in ("argmax", "argmin"):
            node = node if node.kind == "integer" and op == "sum" else self.cast(node, "real")
        return self.intern(plan.Reduce(op, node, tuple(axes))) if axes else node


def _joined(function: str, node: Node) -> list[Node]:
    """The conditions that a node joins by ``function``; of any other, itself."""
    if not isinstance(node, plan.Map) or node.function != function:
        return [node]
    return [c for a in node.args for c in _joined(function, a)]


def _holds_all(function: str, node: Node, other: Node) -> bool:
    """Whether every condition that ``other`` joins is one of those that ``node`` joins."""
    own = {id(c) for c in _joined(function, node)}
    return all(id(c) in own for c in _joined(function, other))


def _given(condition: Node, branch: Node) -> Node:
    """``where(c and d, where(c, a, b), e) = where(c and d, a, e)``."""
    while isinstance(branch, plan.Map) and branch.function == "where" and _holds_all("and", condition, branch.args[0]):
        branch = branch.args[1]
    return branch


SWAPPED = (-1, -2)
"""The order of a transposed matrix."""


def _is_symmetric(node: Node) -> bool:
    """Whether a matrix is its own transpose: ``A + A.T``, ``X.T @ X``, and what is made of such entry by entry."""
    if isinstance(node, plan.Eye | plan.DiagEmbed):
        return len(node.shape) == len(SWAPPED)
    if isinstance(node, plan.MatMul):
        return _are_transposed(node.left, node.right)
    if not isinstance(node, plan.Map):
        return False
    if node.function in ("add", "mul") and _are_transposed(*node.args):
        return True
    return all(not a.shape or _is_symmetric(a) for a in node.args)


def _are_transposed(a: Node, b: Node) -> bool:
    """Whether one matrix is the other's transpose."""
    return any(isinstance(p, plan.Permute) and p.order == SWAPPED and p.value is q for p, q in ((a, b), (b, a)))


def _is_natural(node: Node) -> bool:
    return isinstance(node, Scalar) and bool(node.value.is_nonnegative)


def _key(value: object) -> object:
    if isinstance(value, Node):
        return id(value)
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    return value
