"""Expressions of the index form evaluated over all values of their indices at once.

It computes what :mod:`symderive.check.closures` computes entry by entry, with the same numbers, much faster where
there are many entries. Every value has one axis for each index of the expression, of extent 1 where it does not depend
on it. What does not fit that scheme (an access out of its range in a branch that is not taken)
raises :class:`~symderive.check.grid_numbers.Unsupported`, and whoever asked goes entry by entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np

from symderive.check.closures import TAG, definition_of
from symderive.check.grid_code import Codes
from symderive.check.grid_layout import along, indices_of, layout
from symderive.check.grid_math import GridMath, Value
from symderive.check.grid_numbers import Unsupported
from symderive.check.grid_positions import index_of, integers
from symderive.check.kept import Kept
from symderive.spec import syntax
from symderive.spec.functions import FUNCTIONS

LARGEST = 2_000_000
LARGEST_EXACT = 200_000
"""Entries of one array beyond which it is better to go entry by entry, which skips what a condition leaves out."""

_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "power"}


class Grid:
    """One expression over its indices. ``ranges`` are their extents in the order of the axes.

    ``read`` gives a tensor at so many index positions, batch axes as one; ``scalars`` are sizes and constants, and
    ``array`` computes what stands in array form; ``kept``, if it is set, has values that other expressions share.
    """

    ahead = True
    """Whether something may be computed at more places than are passed."""

    def __init__(
        self,
        math: GridMath,
        ranges: Mapping[str, int],
        read: Callable[[str, int], Value],
        scalars: Mapping[str, Fraction | int],
        array: Callable[[syntax.Node], np.ndarray] | None = None,
        *,
        codes: Codes | None = None,
        place: int = 0,
    ) -> None:
        self.math: GridMath = math
        self.numbers = math.numbers
        self.ranges = ranges
        self.largest = LARGEST if self.numbers.dtype is float else LARGEST_EXACT
        self.rank = max(len(ranges), 1)
        self.extents = tuple(ranges.items())
        self.axes, self.index = indices_of(self.extents)
        self.listed: set[str] = set()
        self.parameters: dict[str, Value] = {}
        self.read = read
        self.scalars = scalars
        self.array = array
        self.kept: Kept | None = None
        self.codes = codes
        self.place = place

    def along(self, extent: int, axis: int) -> np.ndarray:
        """The numbers from 0 along one axis."""
        return along(extent, axis, self.rank)

    def evaluate(self, node: syntax.Node, free: Sequence[str]) -> Value:
        """The values over the free indices, which come first in ``ranges``."""
        shape = [self.ranges[i] for i in free] + [1] * (self.rank - len(free))
        value = self.math.broadcast(self.value(node), shape)
        return value if len(free) == self.rank else self.math.reshaped(value, shape[: len(free)])

    def value(self, node: syntax.Node) -> Value:
        """The value of an expression. Raises :class:`Unsupported`."""
        if self.parameters or self.listed:
            return self.computed(node)
        if self.codes is not None:
            return self.codes.value(self, node)
        return self.computed(node) if self.kept is None else self.kept.value(node, self.extents, self.computed)

    def computed(self, node: syntax.Node) -> Value:
        """The value of an expression whose parts may be known."""
        if not self.parameters and (found := integers(self, node)) is not None:
            return self.numbers.array(found)
        rule: Callable[[Any], Value] = getattr(self, rule_of(node))
        return rule(node)

    def constant(self, number: Any) -> np.ndarray:
        """A number with as many axes as all values."""
        array = np.empty((1,) * self.rank, dtype=self.numbers.dtype)
        array[...] = number
        return array

    def plain(self, node: syntax.Node) -> np.ndarray:
        """The value of an expression, without a record."""
        return self.math.plain(self.value(node))

    def truth(self, node: syntax.Node) -> np.ndarray:
        """An expression as a condition."""
        if self.codes is not None and not self.parameters and not self.listed:
            known = self.codes.truth(self, node)
            return self.numbers.truth(self.plain(node)) if known is None else known
        if not self.parameters and (found := integers(self, node)) is not None:
            return found != 0
        return self.numbers.truth(self.plain(node))

    def whole(self, node: syntax.Node) -> np.ndarray:
        """The integers that an index position takes."""
        found = None if self.parameters else integers(self, node)
        return self.plain(node).astype(np.int64) if found is None else found

    # What one that looks on may do

    @contextmanager
    def only(self, condition: np.ndarray | None) -> Iterator[None]:
        """Inside, something is computed that counts only where a condition holds."""
        yield

    @contextmanager
    def along_list(self, at: tuple[np.ndarray, ...], shape: Sequence[int], column: Sequence[int]) -> Iterator[None]:
        """Inside, the places ``at`` in an array of that shape stand in a list along one axis."""
        yield

    def watches(self, node: syntax.Node) -> bool:
        """Whether something is recorded where an operation, or a function of one argument, is computed."""
        return False

    def among(self, node: syntax.Binder, values: np.ndarray, condition: np.ndarray | None) -> None:
        """The extremum of values over indices is taken."""

    # Leaves

    def number(self, node: syntax.Number) -> Value:
        """An exact number as one of the domain."""
        return self.constant(self.numbers.number(node.value))

    def name(self, node: syntax.Name) -> Value:
        """A parameter of a definition, an index, a number, or a scalar tensor."""
        if node.id in self.parameters:
            return self.parameters[node.id]
        if node.id in self.index:
            return self.numbers.array(self.index[node.id])
        if node.id in ("pi", "inf"):
            return self.constant(getattr(self.numbers, node.id))
        if node.id in self.scalars:
            return self.constant(self.numbers.number(self.scalars[node.id]))
        return self.math.rearranged(self.read(node.id, 0), (), (), (1,) * self.rank)

    def batch(self, node: syntax.Batch) -> Value:
        """``...`` as the one index that it stands for."""
        return self.numbers.array(self.index[syntax.BATCH])

    def access(self, node: syntax.Access) -> Value:
        """Entries of a tensor: its axes in the order of the indices where that is all, else by their positions."""
        tensor = self.read(node.tensor, len(node.indices))
        extents = self.math.plain(tensor).shape
        labels = tuple([index_of(i) for i in node.indices])
        if self.listed.isdisjoint(labels) and (found := layout(labels, extents, self.extents)) is not None:
            return self.math.rearranged(tensor, *found)
        at = np.broadcast_arrays(*map(self.whole, node.indices))
        if any(a.size and not (a.min() >= 0 and a.max() < n) for a, n in zip(at, extents, strict=True)):
            raise Unsupported
        return self.gathered(tensor, at)

    def gathered(self, tensor: Value, at: Sequence[np.ndarray]) -> Value:
        """The entries at positions."""
        if at and at[0].size > self.largest:
            raise Unsupported
        return self.math.gather(tensor, tuple(at))

    def pad(self, node: syntax.Call) -> Value:
        """The entries where an access is in its range, a value elsewhere."""
        access = node.arguments[0]
        if not isinstance(access, syntax.Access):
            raise Unsupported
        outside = self.value(node.arguments[1]) if len(node.arguments) > 1 else self.constant(0)
        tensor = self.read(access.tensor, len(access.indices))
        extents = self.math.plain(tensor).shape
        at = np.broadcast_arrays(*map(self.whole, access.indices))
        if not all(extents):
            return outside
        within = np.all([(a >= 0) & (a < n) for a, n in zip(at, extents, strict=True)], axis=0)
        clipped = [np.clip(a, 0, n - 1) for a, n in zip(at, extents, strict=True)]
        return self.math.choose(within, self.gathered(tensor, clipped), outside)

    def subscript(self, node: syntax.Subscript) -> Value:
        """Entries of an expression in array form."""
        value = self.of_array(node.value)
        at = np.broadcast_arrays(*map(self.whole, node.items))
        if value.ndim != len(at) or any(a.min() < 0 or a.max() >= n for a, n in zip(at, value.shape, strict=True)):
            raise Unsupported
        return self.gathered(value, at)

    def array_scalar(self, node: syntax.Node) -> Value:
        """An expression in array form that is a scalar."""
        value = self.of_array(node)
        if value.ndim:
            raise Unsupported
        return self.constant(value[()])

    def of_array(self, node: syntax.Node) -> np.ndarray:
        """The value of an expression in array form."""
        if self.array is None:
            raise Unsupported
        return self.numbers.array(self.array(node))

    # Operations

    def unary(self, node: syntax.Unary) -> Value:
        """``-a`` or ``+a``."""
        operand = self.value(node.operand)
        return operand if node.op == "+" else self.math.neg(operand)

    def binary(self, node: syntax.Binary) -> Value:
        """Arithmetic."""
        if node.op in ("//", "%"):
            a, b = self.value(node.left), self.value(node.right)
            quotient = self.numbers.floordiv(self.math.plain(a), self.math.plain(b))
            return quotient if node.op == "//" else self.math.sub(a, self.math.mul(b, quotient))
        if node.op not in _ARITHMETIC:
            return self.array_scalar(node)
        return self.sized(getattr(self.math, _ARITHMETIC[node.op]), self.value(node.left), self.value(node.right))

    def sized(self, function: Callable[..., Value], *operands: Value) -> Value:
        """The function, unless its result is too large."""
        shapes = {self.math.plain(a).shape for a in operands}
        if len(shapes) > 1 and math.prod(map(max, *shapes)) > self.largest:
            raise Unsupported  # all have as many axes
        return function(*operands)

    def comparison(self, node: syntax.Compare) -> Value:
        """A chain of comparisons."""
        values = [self.plain(o) for o in node.operands]
        tests = zip(node.ops, values, values[1:], strict=False)
        found = [self.numbers.compare(op, a, b) for op, a, b in tests]
        result = found[0]
        for test in found[1:]:
            result = result & test
        return self.numbers.array(result)

    def logical(self, node: syntax.Logical) -> Value:
        """``and`` and ``or``."""
        result = self.truth(node.operands[0])
        for operand in node.operands[1:]:
            other = self.truth(operand)
            result = result & other if node.op == "and" else result | other
        return self.numbers.array(result)

    def negation(self, node: syntax.Not) -> Value:
        """``not a``."""
        return self.numbers.array(~self.truth(node.operand))

    def binder(self, node: syntax.Binder) -> Value:
        """A reduction or a normaliser."""
        from symderive.check.grid_binders import binder

        return binder(self, node)

    # Calls

    def elementwise(self, node: syntax.Call) -> Value:
        """A function by its code or its definition."""
        row = FUNCTIONS[node.function]
        if len(node.arguments) not in row.arity:
            raise Unsupported
        arguments = self.arguments(node)
        defaults = row.defaults[len(arguments) + len(row.defaults) - len(row.parameters) :]
        arguments += [self.constant(self.numbers.number(Fraction(d))) for d in defaults]
        if (code := self.math.function(node.function)) is not None:
            return code(*arguments)
        return self.defined(node.function, arguments)

    def arguments(self, node: syntax.Call) -> list[Value]:
        """What an element-wise function is applied to."""
        return [self.value(a) for a in node.arguments]

    def defined(self, name: str, arguments: Sequence[Value]) -> Value:
        """A function by its definition; of NaN it is NaN."""
        row = FUNCTIONS[name]
        if row.definition is None:
            raise Unsupported
        outer, self.parameters = self.parameters, dict(zip(row.parameters, arguments, strict=True))
        try:
            value = self.value(definition_of(name))
        finally:
            self.parameters = outer
        for argument in arguments:
            unknown = self.numbers.is_nan(self.math.plain(argument))
            if unknown.any():
                value = self.math.choose(unknown, self.math.stop(argument), value)
        return value

    def where(self, node: syntax.Call) -> Value:
        """The branch taken."""
        condition, a, b = node.arguments
        return self.math.choose(self.truth(condition), self.value(a), self.value(b))

    def pick(self, op: str, a: Value, b: Value) -> Value:
        """``max(a, b)`` for ``>``, ``min(a, b)`` for ``<``; the first at a tie."""
        second = self.numbers.second_is(op, self.math.plain(a), self.math.plain(b))
        return self.math.choose(second, b, a)

    def extremum(self, node: syntax.Call) -> Value:
        """``max(a, b)`` and ``min(a, b)``."""
        if len(node.arguments) != 2:
            return self.array_scalar(node)
        op, values = ">" if node.function == "max" else "<", [self.value(a) for a in node.arguments]
        return self.math.shared(self.extreme(op, [self.math.plain(v) for v in values]), values)

    def extreme(self, op: str, values: Sequence[np.ndarray]) -> np.ndarray:
        """The largest (``>``) or the smallest of several arrays, entry by entry; NaN where one is."""
        best, *others = values
        for other in others:
            best = self.numbers.where(self.numbers.second_is(op, best, other), other, best)
        return best

    def clamp(self, node: syntax.Call) -> Value:
        """``clamp(x, lo, hi)``."""
        x, low, high = map(self.value, node.arguments)
        return self.pick("<", self.pick(">", x, low), high)

    def delta(self, node: syntax.Call) -> Value:
        """``delta(i, j)``."""
        a, b = map(self.plain, node.arguments)
        return self.numbers.array(self.numbers.compare("==", a, b))

    def tag(self, node: syntax.Call) -> Value:
        """The value, labelled."""
        return self.math.tag(self.value(node.arguments[0]), node.keywords[0][0])

    def stop(self, node: syntax.Call) -> Value:
        """The value, with no gradient."""
        return self.math.stop(self.value(node.arguments[0]))


_CALLS = {
    "pad": "pad",
    "where": "where",
    "max": "extremum",
    "min": "extremum",
    "clamp": "clamp",
    "delta": "delta",
    "stop": "stop",
    TAG: "tag",
}

_BY_TYPE: dict[type[syntax.Node], str] = {
    syntax.Number: "number",
    syntax.Name: "name",
    syntax.Batch: "batch",
    syntax.Access: "access",
    syntax.Unary: "unary",
    syntax.Binary: "binary",
    syntax.Compare: "comparison",
    syntax.Logical: "logical",
    syntax.Not: "negation",
    syntax.Binder: "binder",
    syntax.Subscript: "subscript",
}
"""The method that computes each type of node, and each structural call."""


def rule_of(node: syntax.Node) -> str:
    """The method that computes a node."""
    if not isinstance(node, syntax.Call):
        return _BY_TYPE.get(type(node), "array_scalar")
    usual = "elementwise" if node.function in FUNCTIONS and not node.keywords else "array_scalar"
    return _CALLS.get(node.function, usual)
