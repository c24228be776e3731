"""What every printer of plans shares: the walk, operators, subscripts and the spelling of functions.

A subclass is one library. Its tables say how a function is spelled; a method named after a node's class writes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import ClassVar

from sympy import Expr, S, Symbol, fraction

from symderive.emit.memory import Origins
from symderive.emit.numbers import Numbers, add, negate, reciprocal, subtract
from symderive.emit.precedence import Level, Text, fill, template
from symderive.errors import InternalError
from symderive.lower import plan as p
from symderive.lower.shapes import ROWS, Shape, has_batch, plain, same_shape
from symderive.spec.functions import FUNCTIONS
from symderive.spec.sizes import BATCH_SIZE

OPERATORS: dict[str, str] = {
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "pow": "{0} ** {1}",
    "floordiv": "{0} // {1}",
    "mod": "{0} % {1}",
    "lt": "{0} < {1}",
    "le": "{0} <= {1}",
    "gt": "{0} > {1}",
    "ge": "{0} >= {1}",
    "eq": "{0} == {1}",
    "ne": "{0} != {1}",
}
"""Functions that are operators in every library."""

IDENTIFIERS = {BATCH_SIZE: "batch", ROWS: "rows"}
"""What emitted code calls the batch axes' extents and their product."""

MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def size_identifier(symbol: Symbol, names: Mapping[str, str]) -> str:
    """What emitted code calls a size, or the batch extents; ``names`` are the identifiers that are given."""
    return IDENTIFIERS.get(symbol) or names.get(symbol.name, symbol.name)


class Printer:
    """Writes the expressions of one function. ``names`` are the identifiers of tensors, sizes and constants."""

    functions: ClassVar[Mapping[str, str]]
    """Spellings that add to or replace those of :data:`OPERATORS` and of the function table."""

    alone: ClassVar[tuple[type[p.Node], ...]] = (p.Place,)
    """Nodes that take statements of their own."""

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        self.names = dict(names or {})
        self.symbols: dict[Symbol, None] = {}
        """The symbols of sizes and constants that were written, in order."""
        self.numbers = self._numbers()
        self.origins: Origins = {}

    def _numbers(self) -> Numbers:
        return Numbers(self.symbol)

    def row(self, name: str) -> str:
        """The spelling of a function of the language."""
        raise NotImplementedError

    # --- pieces

    def write(self, node: p.Node) -> Text:
        """An expression as text."""
        value = p.constant(node)
        if value is not None and not isinstance(node, p.Scalar | p.Full):
            node = p.Full(node.shape, value, node.kind)
        method = self.method_of(node)
        if method is None:
            raise InternalError(f"{type(self).__name__} cannot write {type(node).__name__}: add a method")
        return method(node)

    def method_of(self, node: p.Node) -> Callable[[p.Node], Text] | None:
        """The method that writes ``node``, if this library has one."""
        return getattr(self, _snake(type(node).__name__), None)

    def name(self, name: str) -> str:
        """The identifier that a name of the plan got."""
        return self.names.get(name, name)

    def symbol(self, symbol: Symbol) -> str:
        """The identifier of a size or a constant; the number of batch entries is a size, too."""
        return self._symbol(ROWS if symbol == BATCH_SIZE else symbol)

    def _symbol(self, symbol: Symbol) -> str:
        self.symbols[symbol] = None
        return size_identifier(symbol, self.names)

    def number(self, value: Expr) -> Text:
        """A scalar expression."""
        return self.numbers.text(value)

    def size(self, value: Expr) -> str:
        """A size expression, as an argument."""
        return self.numbers.text(value, whole=True).text

    def extents(self, shape: Shape) -> list[str]:
        """The entries of a shape; the batch axes are a starred list."""
        own = [self.size(e) for e in plain(shape)]
        return [f"*{self._symbol(BATCH_SIZE)}", *own] if has_batch(shape) else own

    def shape(self, shape: Shape) -> str:
        """A shape as a tuple."""
        entries = self.extents(shape)
        return f"({', '.join(entries)}{',' if len(entries) == 1 else ''})"

    def separate(self, shape: Shape) -> list[str]:
        """A shape as the arguments of a call that takes its entries one by one, or a tuple where there may be none."""
        if not plain(shape):
            return [self._symbol(BATCH_SIZE) if has_batch(shape) else "()"]
        return self.extents(shape)

    def axis(self, node: p.Node, axis: int) -> str:
        """An axis of ``node``: the last one as -1, others from the front where there are no batch axes."""
        return str(axis if node.has_batch or axis == -1 else axis + len(node.shape))

    def axes(self, node: p.Node, axes: Sequence[int]) -> str:
        """Several axes: trailing ones from the end, others from the front where there are no batch axes."""
        if len(axes) == 1:
            return self.axis(node, axes[0])
        ordered = sorted(axes)
        trailing = ordered == list(range(-len(ordered), 0))
        shown = ordered if trailing or node.has_batch else [a + len(node.shape) for a in ordered]
        return f"({', '.join(map(str, shown))})"

    def stacked(self, node: p.Concat) -> list[p.Node] | None:
        """What is stacked where every part has but one entry along the axis, as a new axis."""
        parts = [part.value for part in node.parts if isinstance(part, p.Expand) and part.axes == (node.axis,)]
        return parts if len(parts) == len(node.parts) else None

    def subscript(self, value: p.Node, items: Sequence[str]) -> Text:
        """``value[items]`` for items that stand for the axes behind the batch axes; full slices are left out."""
        shown = list(items)
        if all(item == ":" for item in shown):
            return self.write(value)
        if value.has_batch or (_leading(shown) > 1 and shown[-1] != ":"):
            shown = ["...", *shown[_leading(shown) :]]
        while shown[-1] == ":" and "None" not in shown and not value.has_batch:
            shown.pop()
        return index(self.write(value), *shown)

    def range(self, item: p.Span, extent: Expr) -> str:
        """``start:stop:step``."""
        start = "" if item.start == 0 else self.size(item.start)
        stop = item.start + item.length * item.step
        step = "" if item.step == 1 else f":{self.size(item.step)}"
        whole = p.shapes.same_size(stop, extent) or (step and p.shapes.same_size(item.length, -(-extent // item.step)))
        end = "" if whole else self.size(stop)
        return f"{start}:{end}{step}" if " " not in start + end else f"{start} : {end}{step}".strip()

    def item(self, item: p.Item, extent: Expr) -> str:
        """The subscript of one axis."""
        if item is None:
            return ":"
        return self.size(item.position) if isinstance(item, p.At) else self.range(item, extent)

    # --- expressions

    def ref(self, node: p.Ref) -> Text:
        """A name."""
        return Text(self.name(node.name))

    def scalar(self, node: p.Scalar) -> Text:
        """A number."""
        return self.number(node.value)

    def map(self, node: p.Map) -> Text:
        """An operator or a function of entries."""
        node = self.stretched(node)
        args = [self.write(a) for a in node.args]
        rule = _SIGNED.get(node.function)
        if rule is not None:
            return rule(*args)
        if node.function in MIRRORED and isinstance(node.args[0], p.Scalar):
            return fill(self.spelling(MIRRORED[node.function]), args[1], args[0])
        if node.function in ("and", "or"):
            return reduce(lambda a, b: fill(self.functions[node.function], a, b), args)
        if node.function == "mul":
            return self.product(node, args)
        return fill(self.spelling(node.function, len(args)), *args)

    def product(self, node: p.Map, args: list[Text]) -> Text:
        """A product; a reciprocal factor is written as a division."""
        left, right = args
        for factor, number, other in ((node.args[0], left, right), (node.args[1], right, left)):
            if not isinstance(factor, p.Scalar):
                continue
            if factor.value == -1:
                return negate(other)
            if number.text.startswith("-"):
                positive = p.Map("mul", tuple(p.Scalar(-a.value) if a is factor else a for a in node.args))  # type: ignore[union-attr]
                return negate(self.product(positive, [negate(a) if a is number else a for a in args]))
            if (divisor := reciprocal(factor.value)) is not None:
                return fill("{0} / {1}", other, self.number(divisor))
            top, bottom = fraction(factor.value)
            if bottom.free_symbols:
                # A tensor divided by an empty size is NaN, a Python number is an error.
                scaled = self.product(p.Map("mul", (p.Scalar(top), _other(node, factor))), [self.number(top), other])
                return fill("{0} / {1}", scaled, self.number(bottom))
        return fill("{0} * {1}", *args)

    def spelling(self, function: str, given: int = 2) -> str:
        """The spelling of a function, with the defaults of its table row for arguments that are not ``given``."""
        if function in self.functions:
            return self.functions[function]
        if function in OPERATORS:
            return OPERATORS[function]
        row = FUNCTIONS[function]
        spelled = self.row(function)
        for number in range(given, len(row.parameters)):
            spelled = spelled.replace(f"{{{number}}}", row.defaults[number - len(row.parameters)])
        return spelled

    def stretched(self, node: p.Map) -> p.Map:
        """A map without the views of its arguments that broadcasting makes by itself."""
        constants = [p.constant(arg) for arg in node.args]
        if node.function in FUNCTIONS and None not in constants:
            return node  # a kernel takes an array
        for number, (arg, value) in enumerate(zip(node.args, constants, strict=True)):
            if value is not None:
                inner: p.Node = p.Scalar(value)
            elif isinstance(arg, p.BroadcastTo) or (isinstance(arg, p.Expand) and _is_leading(arg)):
                inner = arg.value
            else:
                continue
            node = _with_argument(node, number, inner)
        return node

    def repeats(self, node: p.Node) -> list[p.Node]:
        """The arguments of ``node`` that its spelling would write more than once, and which are no names."""
        if not isinstance(node, p.Map) or node.function in (*_SIGNED, "and", "or"):
            return []
        node = self.stretched(node)
        spelled = template(self.spelling(node.function, len(node.args)))
        return [a for n, a in enumerate(node.args) if spelled.uses(n) > 1 and not isinstance(a, p.Ref | p.Scalar)]

    def whole(self, node: p.Node) -> list[p.Node]:
        """The parts of ``node`` that it is one operation with, and which get no name of their own."""
        return []

    def expand(self, node: p.Expand) -> Text:
        """``[:, None]``."""
        rank = node.rank
        items = ["None" if a in node.axes else ":" for a in range(-rank, 0)]
        return self.subscript(node.value, items)

    def slice(self, node: p.Slice) -> Text:
        """A basic subscript."""
        pairs = zip(node.items, plain(node.value.shape), strict=True)
        return self.subscript(node.value, [self.item(i, e) for i, e in pairs])

    def take(self, node: p.Take) -> Text:
        """An advanced subscript."""
        return self.subscript(node.value, [":" if i is None else self.write(i).text for i in node.indices])

    def mat_mul(self, node: p.MatMul) -> Text:
        """``a @ b``."""
        return fill("{0} @ {1}", self.write(node.left), self.write(node.right))


_SIGNED: dict[str, Callable[..., Text]] = {"add": add, "sub": subtract, "neg": negate}


def _with_argument(node: p.Map, number: int, argument: p.Node) -> p.Map:
    """``node`` with another argument, if its shape and kind stay what they are."""
    try:
        other = p.Map(node.function, (*node.args[:number], argument, *node.args[number + 1 :]))
    except InternalError:
        return node
    return other if same_shape(other.shape, node.shape) and other.kind == node.kind else node


def _other(node: p.Map, factor: p.Node) -> p.Node:
    """The other factor of a product of two."""
    return node.args[1] if factor is node.args[0] else node.args[0]


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _leading(items: Sequence[str]) -> int:
    return next((n for n, item in enumerate(items) if item != ":"), len(items))


def _is_leading(node: p.Expand) -> bool:
    """Whether the new axes stand before all others, where broadcasting puts them anyway."""
    return not node.has_batch and set(node.axes) == set(range(-node.rank, -node.rank + len(node.axes)))


def call(function: str, *arguments: str) -> Text:
    """A call, of arguments that are not empty."""
    return Text(f"{function}({', '.join(a for a in arguments if a)})")


def method(value: Text, name: str, *arguments: str) -> Text:
    """A method call."""
    return Text(f"{value.at(Level.ATOM)}.{name}({', '.join(a for a in arguments if a)})")


def index(value: Text, *items: str) -> Text:
    """A subscript."""
    return Text(f"{value.at(Level.ATOM)}[{', '.join(items)}]")


def is_zero(value: Expr) -> bool:
    """Whether a scalar expression is the number 0."""
    return value is S.Zero


__all__ = ["BATCH_SIZE", "ROWS", "Level", "Printer", "Text", "call", "fill", "is_zero", "method"]
