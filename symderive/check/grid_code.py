"""What is the same whenever a forward is computed, and what is whenever it is computed at the same sizes.

An expression that a :class:`~symderive.check.grid.Grid` meets again becomes code, which gives what the rule of the grid
gives: constants, the integers of index positions and the layouts of tensors are worked out once for each place, as
sizes and constants together are called here, and what is left is to be applied to the numbers of a point. What has no
code of its own goes by its rule.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import prod
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from symderive.check.grid_layout import Layout, layout
from symderive.check.grid_math import Value
from symderive.check.grid_numbers import Unsupported
from symderive.check.grid_positions import index_of, integers
from symderive.check.oracle import extent_of
from symderive.spec import model, syntax
from symderive.spec.functions import FUNCTIONS

if TYPE_CHECKING:
    from symderive.check.grid import Grid

Sizes = Mapping[str, "int | tuple[int, ...]"]
Code = Callable[["Grid"], Value]

MOST_EQUATIONS = 500
MOST_PLACES = 1000
"""That are remembered."""


class Codes:
    """The code of an equation's expressions, for grids of one kind."""

    def __init__(self, equation: model.Equation) -> None:
        self.equation = equation
        self.ranges: dict[int, dict[str, int]] = {}
        self.known: dict[int, tuple[syntax.Node, Code | None]] = {}
        self.truths: dict[tuple[int, int], tuple[syntax.Node, np.ndarray | None]] = {}
        self.whole: dict[int, bool] = {}
        """Which expressions are integers, where the tensors are that are now read."""
        self._read: tuple[set[str], set[str]] | None = None

    def ranges_at(self, place: int, sizes: Sizes) -> dict[str, int]:
        """The ranges of all indices there, those of the indices on the left first."""
        if place not in self.ranges:
            found = {i: extent_of(r, sizes) for i, r in self.equation.ranges.items()}
            self.ranges[place] = {i: found[i] for i in self.equation.indices} | found
        return self.ranges[place]

    def value(self, grid: Grid, node: syntax.Node) -> Value:
        """The value of an expression, by its code from the second time on."""
        found = self.known.get(id(node))
        if found is None:
            self.known[id(node)] = node, None
            return grid.computed(node)
        return (found[1] or self.of(grid, node))(grid)

    def reading(self, whole: set[str], mixed: set[str]) -> None:
        """Note which tensors are integers, and which are partly."""
        if self._read != (whole, mixed):
            self._read = {*whole}, {*mixed}
            self.whole.clear()

    def truth(self, grid: Grid, node: syntax.Node) -> np.ndarray | None:
        """Where a condition on indices holds; None for any other."""
        found = self.truths.get((id(node), grid.place))
        if found is None:
            numbers = integers(grid, node)
            found = self.truths[id(node), grid.place] = node, None if numbers is None else numbers != 0
        return found[1]

    def of(self, grid: Grid, node: syntax.Node) -> Code:
        """The code of an expression."""
        found = self.known.get(id(node))
        if found is not None and found[1] is not None:
            return found[1]
        code = self._made(grid, node)
        self.known[id(node)] = node, code
        return code

    def _made(self, grid: Grid, node: syntax.Node) -> Code:
        from symderive.check.grid import rule_of

        rule = rule_of(node)
        if rule == "number" or _is_placed(grid, node):
            return _everywhere(lambda grid: grid.computed(node))
        make = _CODES.get(rule)
        return (make and make(self, grid, node)) or methodcaller(rule, node)


def _is_placed(grid: Grid, node: syntax.Node) -> bool:
    """Whether a node is made of indices, numbers, sizes and constants only."""
    return node.positional and all(
        n.id in grid.index or n.id in grid.scalars for n in node.walk() if isinstance(n, syntax.Name)
    )


def _everywhere(work: Code) -> Code:
    """What is the same at all points of a place."""
    known: dict[int, Value] = {}

    def read(grid: Grid) -> Value:
        if grid.place not in known:
            known[grid.place] = work(grid)
        return known[grid.place]

    return read


def _name(codes: Codes, grid: Grid, node: syntax.Name) -> Code | None:
    """A size or a constant; a scalar tensor is read."""
    return _everywhere(lambda grid: grid.name(node)) if node.id in grid.scalars else None


def _access(codes: Codes, grid: Grid, node: syntax.Access) -> Code | None:
    """Entries of a tensor, by positions that are just indices, or that numbers of the point have no part in."""
    name, rank = node.tensor, len(node.indices)
    labels = tuple(index_of(i) for i in node.indices)
    if len(set(labels)) == len(labels) and all(i in grid.axes for i in labels):
        layouts: dict[int, Layout | None] = {}

        def aligned(grid: Grid) -> Value:
            tensor = grid.read(name, rank)
            if grid.place not in layouts:
                layouts[grid.place] = layout(labels, grid.math.shape(tensor), grid.extents)
            found = layouts[grid.place]
            assert found is not None
            return grid.math.rearranged(tensor, *found)

        return aligned
    if not all(_is_placed(grid, i) for i in node.indices):
        return None
    places = _everywhere(lambda grid: _within(node, grid))
    return lambda grid: grid.gathered(grid.read(name, rank), places(grid))


def _within(node: syntax.Access, grid: Grid) -> Any:
    """The positions of an access. Raises :class:`Unsupported` where one is beyond an end."""
    extents = grid.math.shape(grid.read(node.tensor, len(node.indices)))
    places = np.broadcast_arrays(*map(grid.whole, node.indices))
    if any(at.size and not (at.min() >= 0 and at.max() < n) for at, n in zip(places, extents, strict=True)):
        raise Unsupported
    return places


def _arithmetic(codes: Codes, grid: Grid, node: syntax.Binary) -> Code | None:
    """By its rule where its result may be too large."""
    if node.op not in _OPERATIONS or grid.watches(node):
        return None
    names = {index_of(n) for n in node.walk()}
    fits = _everywhere(lambda grid: prod(n for i, n in grid.extents if i in names) <= grid.largest)
    plain = _OPERATIONS[node.op](codes.of(grid, node.left), codes.of(grid, node.right))
    return lambda grid: plain(grid) if fits(grid) else grid.binary(node)


_OPERATIONS: dict[str, Callable[[Code, Code], Code]] = {
    "+": lambda a, b: lambda grid: grid.math.add(a(grid), b(grid)),
    "-": lambda a, b: lambda grid: grid.math.sub(a(grid), b(grid)),
    "*": lambda a, b: lambda grid: grid.math.mul(a(grid), b(grid)),
    "/": lambda a, b: lambda grid: grid.math.div(a(grid), b(grid)),
    "**": lambda a, b: lambda grid: grid.math.power(a(grid), b(grid)),
}


def _unary(codes: Codes, grid: Grid, node: syntax.Unary) -> Code:
    operand = codes.of(grid, node.operand)
    return operand if node.op == "+" else lambda grid: grid.math.neg(operand(grid))


def _call(codes: Codes, grid: Grid, node: syntax.Call) -> Code | None:
    """An element-wise function of one argument that has code of its own."""
    if len(node.arguments) != 1 or FUNCTIONS[node.function].defaults or grid.watches(node):
        return None
    name, argument = node.function, codes.of(grid, node.arguments[0])
    if grid.math.function(name) is None:
        return None
    return lambda grid: grid.math.functions[name](argument(grid))


_CODES: dict[str, Callable[[Codes, Grid, Any], Code | None]] = {
    "name": _name,
    "access": _access,
    "unary": _unary,
    "binary": _arithmetic,
    "elementwise": _call,
}
"""How code is made of what goes by some rules."""


class Book:
    """The codes of equations, and the numbers of the places at which they are computed."""

    def __init__(self) -> None:
        self.codes: dict[tuple[Any, ...], Codes] = {}
        self.places: dict[tuple[Any, ...], int] = {}
        self._numbers = itertools.count()

    def place(self, sizes: Sizes, constants: Mapping[str, Fraction]) -> int:
        """The number of a place. Beyond so many, all is forgotten, but no number given again: some may be in use."""
        key = (*sizes.items(), *constants.items())
        if key not in self.places:
            if len(self.places) >= MOST_PLACES:
                self.places.clear()
                self.codes.clear()
            self.places[key] = next(self._numbers)
        return self.places[key]

    def of(self, equation: model.Equation, kind: tuple[type, type, str]) -> Codes:
        """The codes of an equation for a grid, a math and the numbers of a domain."""
        key = id(equation), *kind
        if key not in self.codes:
            if len(self.codes) >= MOST_EQUATIONS:
                self.codes.clear()
            self.codes[key] = Codes(equation)
        return self.codes[key]


BOOK = Book()
