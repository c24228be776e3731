"""What the lowering of one program knows, and the dispatch over the algebra's nodes.

``lower_node`` has one named function for each kind of node, registered in the modules of this package. Each takes
the expression and the :class:`Lowering`, and returns an array whose axes are labelled by the expression's free
indices. ``Lowering.lower`` is what they call for their parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from math import prod

from sympy import Expr, Integer, Max, Min, Mod, floor

from symderive.algebra import nodes
from symderive.algebra.nodes import Index
from symderive.errors import UnsupportedError
from symderive.lower import plan
from symderive.lower.axes import Labelled, align, joint_axes
from symderive.lower.graph import Graph
from symderive.lower.integers import numeric
from symderive.spec.sizes import BATCH_SIZE, size


class Lowering:
    """The state: the tensors that are defined so far, the graph of operations, and what was lowered already."""

    def __init__(self, sizes: Mapping[str, int | tuple[int, ...]]) -> None:
        self.graph = Graph()
        self.tensors: dict[str, plan.Node] = {}
        self.ranges: dict[str, Expr] = {}
        self.sizes: set[Expr] = set()
        """The sizes that shapes of inputs or equations speak of, so that code knows them."""
        self.triangular: set[str] = set()
        """Tensors that are lower triangular in their last two axes."""
        self.hint: tuple[Index, ...] = ()
        self.limit = 0.0
        self._memo: dict[Expr, Labelled] = {}
        self._scalar: dict[Expr, bool] = {}
        self._weight: dict[Expr, int] = {}
        self._free: dict[Expr, frozenset[Index]] = {}
        self._sizes = _known_sizes(sizes)

    def begin(self, hint: Sequence[Index]) -> None:
        """Start an equation; ``hint`` is the axis order that its left side wants."""
        self.hint = tuple(hint)
        self._memo.clear()

    def lower(self, expression: Expr) -> Labelled:
        """The array of an expression, each distinct one lowered once an equation."""
        if (known := self._memo.get(expression)) is None:
            if self.is_scalar(expression):
                known = Labelled(self.graph.scalar(plain_sizes(expression)))
            else:
                known = lower_node(expression, self)
            self._memo[expression] = known
        return known

    def remember(self, expression: Expr, value: Labelled) -> None:
        """The array of an expression of this equation, found in another way than :meth:`lower` would."""
        self._memo[expression] = value

    def combine(self, function: str, *values: Labelled) -> Labelled:
        """An element-wise function of arrays, lined up."""
        axes = joint_axes([v.axes for v in values], self.hint)
        return Labelled(self.graph.map(function, *(align(self.graph, v, axes) for v in values)), axes)

    # --- what an expression depends on

    def is_scalar(self, expression: Expr) -> bool:
        """Whether it is a number made of sizes and constants only."""
        known = self._scalar.get(expression)
        if known is None:
            if isinstance(expression, Index | nodes.Access | nodes.Condition | nodes.Binder | nodes.Apply):
                known = False
            else:
                known = all(self.is_scalar(a) for a in expression.args)
            self._scalar[expression] = known
        return known

    def free(self, expression: Expr) -> frozenset[Index]:
        """The indices that are free in it."""
        known = self._free.get(expression)
        if known is None:
            if isinstance(expression, Index):
                known = frozenset() if expression.is_bound else frozenset((expression,))
            else:
                known = frozenset().union(*(self.free(a) for a in expression.args if isinstance(a, Expr)))
            self._free[expression] = known
        return known

    def weight(self, expression: Expr) -> int:
        """How much there is to read in it."""
        known = self._weight.get(expression)
        if known is None:
            known = 1 + sum(self.weight(a) for a in expression.args)
            if isinstance(expression, nodes.Access):
                known = 1
            self._weight[expression] = known
        return known

    # --- sizes

    def extent(self, index: Index) -> float:
        """The extent of an index at the author's sizes."""
        return self.number(index.extent)

    def number(self, expression: Expr) -> float:
        """A size expression at the author's sizes."""
        return numeric(expression, self._sizes)

    def bulk(self, indices: Iterable[Index]) -> float:
        """The number of entries of an array over ``indices`` at the author's sizes."""
        return prod(self.extent(i) for i in indices)

    def enlarge_limit(self, shape: Iterable[Expr]) -> None:
        """Allow intermediates as large as a tensor of this shape."""
        self.limit = max(self.limit, prod(self.number(e) for e in shape))


@singledispatch
def lower_node(expression: Expr, ctx: Lowering) -> Labelled:
    """The array of an expression over its free indices."""
    raise UnsupportedError(
        f"no array operation for {type(expression).__name__}: {expression}",
        hint="add a function registered with lower_node in symderive/lower",
    )


def _known_sizes(sizes: Mapping[str, int | tuple[int, ...]]) -> dict[Expr, Integer]:
    known: dict[Expr, Integer] = {BATCH_SIZE: Integer(8)}
    for name, value in sizes.items():
        if isinstance(value, tuple | list):
            known[BATCH_SIZE] = Integer(prod(value))
        else:
            known[size(str(name))] = Integer(value)
    return known


def plain_sizes(expression: Expr) -> Expr:
    """A number without nodes of ours: floor division and modulo of sizes as SymPy has them."""
    if not expression.has(nodes.Node):
        return expression
    arguments = [plain_sizes(a) for a in expression.args]
    if isinstance(expression, nodes.FloorDiv):
        return floor(arguments[0] / arguments[1])
    if isinstance(expression, nodes.Mod):
        return Mod(*arguments)
    if isinstance(expression, nodes.Stop):
        return arguments[0]
    if isinstance(expression, nodes.Maximum | nodes.Minimum):
        return _EXTREME[type(expression)](*arguments)
    if isinstance(expression, nodes.Clamp):
        return Min(Max(arguments[0], arguments[1]), arguments[2])
    if isinstance(expression, nodes.Node):
        raise UnsupportedError(f"no number for {expression} of sizes alone")
    return expression.func(*arguments)


_EXTREME = {nodes.Maximum: Max, nodes.Minimum: Min}
