"""Expressions of the index form compiled to Python closures, one entry at a time.

A closure takes a list with the values of the indices, each at its own slot, and returns a number of the domain. This
is the definition of the language put into code as plainly as it can be; it shares nothing with the index algebra.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NoReturn, Protocol

from symderive.check.binders import binder
from symderive.check.kinks import Watch
from symderive.check.numbers import Domain, Value
from symderive.errors import Location, Span, SpecError
from symderive.spec import syntax
from symderive.spec.functions import FUNCTIONS, counted

Slots = list[Any]
Closure = Callable[[Slots], Value]


class Tensors(Protocol):
    """Where accesses read: what an evaluator offers to the expressions that it compiles."""

    def reader(self, tensor: str, rank: int, span: Span) -> Callable[[tuple[int, ...]], Value]:
        """A function that gives the entry of ``tensor`` at a tuple of indices; their ranges are checked before."""

    def extents(self, tensor: str, rank: int) -> tuple[int, ...]:
        """The extents of a tensor that is read at ``rank`` index positions."""

    def nested(self, tensor: str, rank: int) -> Any:
        """The entries as nested lists, or None for a tensor that is computed."""

    def scalar(self, name: str, span: Span) -> Closure:
        """What a name means that is no index: a scalar tensor, a size or a constant."""

    def array(self, node: syntax.Node, span: Span) -> Any:
        """The value of an expression in array form inside index form, an object array."""


_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "power", "//": "floordiv", "%": "modulo"}


class Compiler:
    """Compiles the expressions of one equation; ``ranges`` are the extents of its indices by name."""

    def __init__(self, domain: Domain, tensors: Tensors, ranges: Mapping[str, int], watch: Watch | None = None) -> None:
        self.domain = domain
        self.tensors = tensors
        self.ranges = ranges
        self.slots = {name: slot for slot, name in enumerate(ranges)}
        self.watch = watch
        self.scope: frozenset[str] = frozenset()

    def compile(self, node: syntax.Node, scope: frozenset[str]) -> Closure:
        """The closure of an expression in which the indices of ``scope`` have values."""
        outer, self.scope = self.scope, scope
        try:
            return self.closure(node)
        finally:
            self.scope = outer

    def closure(self, node: syntax.Node) -> Closure:
        """The closure of an expression in the present scope."""
        compile_node = _BY_TYPE.get(type(node))
        if compile_node is None:
            return self.array_scalar(node)
        return compile_node(self, node)

    def fail(self, message: str, span: Span) -> NoReturn:
        """Raise an error about a place of the text."""
        raise SpecError(message, Location("", span))

    def number(self, node: syntax.Number) -> Closure:
        """An exact number as one of the domain."""
        value = self.domain.number(node.value)
        return lambda e: value

    def name(self, node: syntax.Name) -> Closure:
        """An index as an integer, or what the name stands for."""
        if node.id in self.slots:
            slot = self.slots[node.id]
            return lambda e: e[slot]
        if node.id in ("pi", "inf"):
            value = getattr(self.domain, node.id)
            return lambda e: value
        return self.tensors.scalar(node.id, node.span)

    def batch(self, node: syntax.Batch) -> Closure:
        """``...`` as the one flattened index that it stands for."""
        return self.name(syntax.Name(syntax.BATCH, span=node.span))

    def unary(self, node: syntax.Unary) -> Closure:
        """``-a`` or ``+a``."""
        operand, negate = self.closure(node.operand), self.domain.neg
        return operand if node.op == "+" else lambda e: negate(operand(e))

    def binary(self, node: syntax.Binary) -> Closure:
        """Arithmetic of two numbers."""
        if node.op not in _ARITHMETIC:
            return self.array_scalar(node)
        left, right = self.closure(node.left), self.closure(node.right)
        function = getattr(self.domain, _ARITHMETIC[node.op])
        if self.watch and node.op in ("/", "**"):
            return self.watched(node, left, right, function)
        return lambda e: function(left(e), right(e))

    def watched(self, node: syntax.Binary, left: Closure, right: Closure, function: Callable[..., Value]) -> Closure:
        """A quotient or a power that records its poles: a denominator, or a base, near 0."""
        assert self.watch is not None
        site, plain, quotient = self.watch.site("pole", node.span), self.domain.plain, node.op == "/"

        def call(e: Slots) -> Value:
            a, b = left(e), right(e)
            if quotient:
                site.between(b, 0)
            elif plain(b) != plain(b) // 1 or plain(b) < 0:
                site.between(a, 0)
            return function(a, b)

        return call

    def comparison(self, node: syntax.Compare) -> Closure:
        """A chain of comparisons, each operand computed once."""
        operands = [self.closure(o) for o in node.operands]
        compare = [self.domain.compare(op) for op in node.ops]
        watch = self.watch and self.watch.site("compare", node.span)

        def call(e: Slots) -> bool:
            left = operands[0](e)
            for test, operand in zip(compare, operands[1:], strict=True):
                right = operand(e)
                if watch:
                    watch.between(left, right)
                if not test(left, right):
                    return False
                left = right
            return True

        return call

    def logical(self, node: syntax.Logical) -> Closure:
        """``and`` and ``or``, from the left."""
        operands, truth = [self.closure(o) for o in node.operands], self.domain.truth
        if node.op == "and":
            return lambda e: all(truth(o(e)) for o in operands)
        return lambda e: any(truth(o(e)) for o in operands)

    def negation(self, node: syntax.Not) -> Closure:
        """``not a``."""
        operand, truth = self.closure(node.operand), self.domain.truth
        return lambda e: not truth(operand(e))

    # Accesses

    def access(self, node: syntax.Access) -> Closure:
        """An entry of a tensor."""
        rank = len(node.indices)
        nested = self.tensors.nested(node.tensor, rank)
        plain = [self.plain_slot(i) for i in node.indices]
        if nested is not None and rank in (1, 2) and None not in plain:
            extents = self.tensors.extents(node.tensor, rank)
            inside = all(self.ranges[self._name(i)] <= n for i, n in zip(node.indices, extents, strict=True))
            if inside:
                return _plain_reader(nested, plain)
        position = self.position(node)
        read = self.tensors.reader(node.tensor, rank, node.span)
        extents = self.tensors.extents(node.tensor, rank)

        def call(e: Slots) -> Value:
            at = position(e)
            for value, extent in zip(at, extents, strict=True):
                if not 0 <= value < extent:
                    self.fail(f"{node.tensor} is read at {list(at)}, outside its shape {list(extents)}", node.span)
            return read(at)

        return call

    def position(self, node: syntax.Access) -> Callable[[Slots], tuple[int, ...]]:
        """Where an access reads, as integers."""
        indices = [self.closure(i) for i in node.indices]
        plain = self.domain.plain
        return lambda e: tuple([int(plain(i(e))) for i in indices])

    def plain_slot(self, node: syntax.Node) -> int | None:
        """The slot of an index position that is just an index."""
        return self.slots.get(self._name(node)) if isinstance(node, syntax.Name | syntax.Batch) else None

    @staticmethod
    def _name(node: syntax.Node) -> str:
        return node.id if isinstance(node, syntax.Name) else syntax.BATCH

    def pad(self, node: syntax.Call) -> Closure:
        """``pad(access, value)``: the value where the access leaves its range."""
        access = node.arguments[0]
        if not isinstance(access, syntax.Access):
            self.fail("pad holds exactly one access", node.span)
        outside = self.closure(node.arguments[1]) if len(node.arguments) > 1 else self.number(_ZERO)
        position, rank = self.position(access), len(access.indices)
        read = self.tensors.reader(access.tensor, rank, access.span)
        extents = self.tensors.extents(access.tensor, rank)

        def call(e: Slots) -> Value:
            at = position(e)
            if all(0 <= value < extent for value, extent in zip(at, extents, strict=True)):
                return read(at)
            return outside(e)

        return call

    def subscript(self, node: syntax.Subscript) -> Closure:
        """An entry of an expression in array form, ``(dy @ W)[n, k]``."""
        indices = [self.closure(i) for i in node.items]
        values: list[Any] = []

        def call(e: Slots) -> Value:
            if not values:
                values.append(self.tensors.array(node.value, node.span))
            at = tuple([int(i(e)) for i in indices])
            if len(at) != values[0].ndim or not all(0 <= a < n for a, n in zip(at, values[0].shape, strict=True)):
                self.fail(f"[{', '.join(map(str, at))}] is no entry of shape {list(values[0].shape)}", node.span)
            return values[0][at]

        return call

    def array_scalar(self, node: syntax.Node) -> Closure:
        """An expression in array form that is a scalar."""
        values: list[Any] = []

        def call(e: Slots) -> Value:
            if not values:
                values.append(self.tensors.array(node, node.span))
            if values[0].ndim:
                self.fail(f"this has the shape {list(values[0].shape)}; index form needs a scalar", node.span)
            return values[0][()]

        return call

    # Calls

    def call(self, node: syntax.Call) -> Closure:
        """A structural call by its own rule, an element-wise function by its code or its definition."""
        if node.function in _CALLS:
            return _CALLS[node.function](self, node)
        if node.function not in FUNCTIONS or node.keywords:
            return self.array_scalar(node)
        arguments = [self.closure(a) for a in node.arguments]
        function = self.function(node.function, len(arguments), node.span)
        if watch := self.watch:
            function = watch.function(node.function, node.span, function)
        if len(arguments) == 1:
            (only,) = arguments
            return lambda e: function(only(e))
        return lambda e: function(*[a(e) for a in arguments])

    def function(self, name: str, given: int, span: Span) -> Callable[..., Value]:
        """An element-wise function, its missing arguments filled in with their defaults."""
        row = FUNCTIONS[name]
        if given not in row.arity:
            self.fail(f"{name} takes {counted(row.arity)}, not {given}", span)
        missing = len(row.parameters) - given
        defaults = tuple(self.domain.number(Fraction(d)) for d in row.defaults[len(row.defaults) - missing :])
        code = self.domain.functions.get(name) or self.definition(name)
        return (lambda *a: code(*a, *defaults)) if missing else code

    def definition(self, name: str) -> Callable[..., Value]:
        """A function by its definition: its parameters take the slots of indices. Of NaN it is NaN, as PyTorch's is."""
        row = FUNCTIONS[name]
        if row.definition is None:
            self.fail(f"{name} cannot be evaluated exactly", syntax.NOWHERE)
        compiler = Compiler(self.domain, self.tensors, dict.fromkeys(row.parameters, 0))
        body = compiler.compile(definition_of(name), frozenset())
        is_nan = self.domain.is_nan

        def call(*arguments: Value) -> Value:
            for argument in arguments:
                if is_nan(argument):
                    return argument
            return body(list(arguments))

        return call

    def where(self, node: syntax.Call) -> Closure:
        """The branch taken; the other one is not evaluated."""
        condition, a, b = (self.closure(x) for x in node.arguments)
        truth = self.domain.truth
        return lambda e: a(e) if truth(condition(e)) else b(e)

    def extremum(self, node: syntax.Call) -> Closure:
        """``max(a, b)`` and ``min(a, b)``."""
        if len(node.arguments) != 2:
            return self.array_scalar(node)
        a, b = (self.closure(x) for x in node.arguments)
        function = self.domain.maximum if node.function == "max" else self.domain.minimum
        watch = self.watch and self.watch.site(node.function, node.span)

        def call(e: Slots) -> Value:
            left, right = a(e), b(e)
            if watch:
                watch.between(left, right)
            return function(left, right)

        return call

    def clamp(self, node: syntax.Call) -> Closure:
        """``clamp(x, lo, hi)``."""
        x, low, high = (self.closure(a) for a in node.arguments)
        clamp = self.domain.clamp
        watch = self.watch and self.watch.site("clamp", node.span)

        def call(e: Slots) -> Value:
            value, lowest, highest = x(e), low(e), high(e)
            if watch:
                watch.between(value, lowest)
                watch.between(value, highest)
            return clamp(value, lowest, highest)

        return call

    def delta(self, node: syntax.Call) -> Closure:
        """``delta(i, j)``: 1 where the two are equal, else 0."""
        a, b = (self.closure(x) for x in node.arguments)
        equal = self.domain.compare("==")
        return lambda e: int(equal(a(e), b(e)))

    def tag(self, node: syntax.Call) -> Closure:
        """The value, labelled for whoever looks for it in the record of a computation; no spec can write this."""
        x, (label, _) = self.closure(node.arguments[0]), node.keywords[0]
        tag = self.domain.tag
        return lambda e: tag(x(e), label)

    def stop(self, node: syntax.Call) -> Closure:
        """``stop(x)``: the value, with no gradient."""
        x, stop = self.closure(node.arguments[0]), self.domain.stop
        return lambda e: stop(x(e))


def _plain_reader(nested: Any, slots: list[Any]) -> Closure:
    if len(slots) == 1:
        (a,) = slots
        return lambda e: nested[e[a]]
    a, b = slots
    return lambda e: nested[e[a]][e[b]]


def definition_of(name: str) -> syntax.Node:
    """The definition of an element-wise function in terms of its parameters, read once."""
    if name not in _DEFINITIONS:
        from symderive.spec.parse import parse_expression

        _DEFINITIONS[name] = parse_expression(FUNCTIONS[name].definition or "")
    return _DEFINITIONS[name]


TAG = "~tag"
_DEFINITIONS: dict[str, syntax.Node] = {}
_ZERO = syntax.Number(Fraction(0))

_CALLS: dict[str, Callable[[Compiler, syntax.Call], Closure]] = {
    "pad": Compiler.pad,
    "where": Compiler.where,
    "max": Compiler.extremum,
    "min": Compiler.extremum,
    "clamp": Compiler.clamp,
    "delta": Compiler.delta,
    "stop": Compiler.stop,
    TAG: Compiler.tag,
}

_BY_TYPE: dict[type[syntax.Node], Callable[[Compiler, Any], Closure]] = {
    syntax.Number: Compiler.number,
    syntax.Name: Compiler.name,
    syntax.Batch: Compiler.batch,
    syntax.Access: Compiler.access,
    syntax.Unary: Compiler.unary,
    syntax.Binary: Compiler.binary,
    syntax.Compare: Compiler.comparison,
    syntax.Logical: Compiler.logical,
    syntax.Not: Compiler.negation,
    syntax.Call: Compiler.call,
    syntax.Binder: binder,
    syntax.Subscript: Compiler.subscript,
}
