"""Array form, interpreted over a backend: what ``dy.T @ x`` or ``F.linear(x, W, b)`` is worth.

The interpreter walks the syntax tree and hands every operation to a backend: torch for references, arrays of exact
numbers for claims. A backend knows a written list of functions and methods. A name that is not on it is an error that
points at its place; no attribute is ever looked up because a spec names it.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn, Protocol

from symderive.check.kept import Kept
from symderive.errors import Location, Span, SpecError, SymderiveError
from symderive.spec import syntax
from symderive.spec.libraries import instead

Array = Any
Arguments = Sequence[Any]
Keywords = Mapping[str, Any]


class ArrayError(SpecError):
    """An operation that does not fit its operands: their shapes, most often."""


class Backend(Protocol):
    """The operations that array form is made of. Scalars are plain numbers or arrays without axes."""

    name: str
    pi: Any
    inf: Any

    def number(self, value: Fraction | int) -> Any:
        """An exact number as one of the backend."""

    def unary(self, op: str, a: Array) -> Array:
        """``-a`` or ``+a``."""

    def binary(self, op: str, a: Array, b: Array) -> Array:
        """Arithmetic, broadcast, and ``@``."""

    def compare(self, op: str, a: Array, b: Array) -> Array:
        """A comparison, broadcast."""

    def logical(self, op: str, operands: Sequence[Array]) -> Array:
        """``and``, ``or`` and ``not``, entry by entry."""

    def subscript(self, a: Array, items: tuple[Any, ...]) -> Array:
        """Indexing: integers, slices, None, Ellipsis and integer tensors."""

    def attribute(self, a: Array, name: str) -> Any:
        """``.T``, ``.mT``, ``.shape``; KeyError if there is none of that name."""

    def function(self, name: str) -> Callable[..., Any]:
        """A function of the language; KeyError if it is not on the list."""

    def library(self, name: str) -> Callable[..., Any]:
        """A function of ``F.``; KeyError if it is not on the list."""

    def method(self, name: str) -> Callable[..., Any]:
        """A method, as a function of its tensor; KeyError if it is not on the list."""

    def known(self, what: str) -> Iterable[str]:
        """The names on the list of ``function``, ``library``, ``method`` or ``attribute``."""


@dataclass
class Interpreter:
    """Evaluates array form over ``tensors`` and what is defined on the way.

    ``batch`` is the number of batch axes, which ``.sum(...)`` sums. ``index_form`` computes the scalar that a subtree
    in index form stands for; ``hint`` says what may be meant by a name that means nothing.
    """

    backend: Backend
    tensors: dict[str, Array]
    sizes: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, Fraction] = field(default_factory=dict)
    batch: int = 0
    index_form: Callable[[syntax.Node], Any] | None = None
    hint: Callable[[str], str] | None = None
    kept: Kept | None = None

    def run(self, statements: Sequence[syntax.Statement]) -> dict[str, Array]:
        """Execute definitions in order; gives what they define."""
        defined = {}
        for statement in statements:
            left = statement.left
            if not isinstance(left, syntax.Name) or len(statement.sides) != 1:
                self.fail("a line in array form is name = expression", statement.span)
            defined[left.id] = self.tensors[left.id] = self.evaluate(statement.right)
        return defined

    def evaluate(self, node: syntax.Node) -> Any:
        """The value of an expression. Raises :class:`ArrayError` where shapes do not fit."""
        return self.computed(node) if self.kept is None else self.kept.value(node, None, self.computed)

    def computed(self, node: syntax.Node) -> Any:
        """The value of an expression whose parts may be known."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            self.fail(f"{type(node).__name__.lower()} has no meaning in array form", node.span)
        try:
            return handler(self, node)
        except SymderiveError:
            raise
        except (TypeError, ValueError, IndexError, RuntimeError, ZeroDivisionError, OverflowError) as error:
            text = str(error).strip() or type(error).__name__
            raise ArrayError(text.splitlines()[0], Location("", node.span)) from error

    def fail(self, message: str, span: Span, hint: str | None = None) -> NoReturn:
        """Raise an error about a place of the text."""
        raise SpecError(message, Location("", span), hint)

    # Nodes

    def number(self, node: syntax.Number) -> Any:
        """An exact number."""
        return self.backend.number(node.value)

    def literal(self, node: syntax.Keyword | syntax.Text) -> Any:
        """``None``, ``True``, ``False`` or a string."""
        return node.value

    def name(self, node: syntax.Name) -> Any:
        """A tensor, a size, a constant, ``pi`` or ``inf``."""
        if node.id in self.tensors:
            return self.tensors[node.id]
        if node.id in self.constants:
            return self.backend.number(self.constants[node.id])
        if node.id in self.sizes:
            return self.sizes[node.id]
        if node.id in ("pi", "inf"):
            return getattr(self.backend, node.id)
        names = [*self.tensors, *self.constants, *self.sizes]
        hint = self.hint(node.id) if self.hint else _suggestion(node.id, names)
        self.fail(f"there is nothing called {node.id}", node.span, hint)

    def unary(self, node: syntax.Unary) -> Any:
        """``-a`` or ``+a``."""
        return self.backend.unary(node.op, self.evaluate(node.operand))

    def binary(self, node: syntax.Binary) -> Any:
        """Arithmetic of two arrays."""
        return self.backend.binary(node.op, self.evaluate(node.left), self.evaluate(node.right))

    def comparison(self, node: syntax.Compare) -> Any:
        """A chain of comparisons, joined by ``and``."""
        operands = [self.evaluate(o) for o in node.operands]
        pairs = zip(node.ops, operands, operands[1:], strict=False)
        results = [self.backend.compare(op, a, b) for op, a, b in pairs]
        return results[0] if len(results) == 1 else self.backend.logical("and", results)

    def logical(self, node: syntax.Logical) -> Any:
        """``and`` or ``or``."""
        return self.backend.logical(node.op, [self.evaluate(o) for o in node.operands])

    def negation(self, node: syntax.Not) -> Any:
        """``not a``."""
        return self.backend.logical("not", [self.evaluate(node.operand)])

    def listing(self, node: syntax.Listing) -> tuple[Any, ...]:
        """``(0, 1)``."""
        return tuple(self.evaluate(i) for i in node.items)

    def batch_axes(self, node: syntax.Batch) -> Any:
        """``...`` is the tuple of batch axes as an argument; as a subscript see :meth:`item`."""
        return tuple(range(self.batch))

    def access(self, node: syntax.Access) -> Any:
        """``x[0]`` or ``E[t]``."""
        tensor = self.name(syntax.Name(node.tensor, span=node.span))
        return self.backend.subscript(tensor, tuple(self.item(i) for i in node.indices))

    def subscript(self, node: syntax.Subscript) -> Any:
        """``v[:, None]``; of a tuple, its item."""
        return self.backend.subscript(self.evaluate(node.value), tuple(self.item(i) for i in node.items))

    def item(self, node: syntax.Node) -> Any:
        """One item of a subscript."""
        if isinstance(node, syntax.Batch):
            return Ellipsis
        if isinstance(node, syntax.Slice):
            return slice(*(None if part is None else int(self.evaluate(part)) for part in _parts(node)))
        return self.evaluate(node)

    def attribute(self, node: syntax.Attribute) -> Any:
        """``.T``, ``.mT``, ``.shape``."""
        self.prefixed(node.value, node.name)
        value = self.evaluate(node.value)
        if node.name not in set(self.backend.known("attribute")):
            self.unknown("attribute", node.name, node.span, (node.value,))
        return self.backend.attribute(value, node.name)

    def method(self, node: syntax.Method) -> Any:
        """``x.sum(0)``, or ``F.linear(x, W, b)``."""
        library = isinstance(node.value, syntax.Name) and node.value.id == "F" and "F" not in self.tensors
        operands = node.arguments if library else (node.value, *node.arguments)
        if not library:
            self.prefixed(node.value, node.name, node.arguments)
        kind = "library" if library else "method"
        function = self.lookup(kind, node.name, node.span, operands)
        own = [] if library else [self.evaluate(node.value)]
        shown = f"F.{node.name}" if library else f"x.{node.name}"
        return self.applied(shown, function, node, [*own, *self.arguments(node.arguments)])

    def call(self, node: syntax.Call) -> Any:
        """A function of the language; ``pad`` is index form."""
        if node.function == "pad" and self.index_form is not None:
            return self.index_form(node)
        function = self.lookup("function", node.function, node.span, node.arguments)
        return self.applied(node.function, function, node, self.arguments(node.arguments))

    def applied(
        self, shown: str, function: Callable[..., Any], node: syntax.Call | syntax.Method, arguments: Sequence[Any]
    ) -> Any:
        """What a function makes of its arguments. Raises where it takes others, and says which."""
        keywords = self.keywords(node.keywords)
        try:
            return function(*arguments, **keywords)
        except TypeError:
            if fault := misfit(function, shown, arguments, keywords):
                self.fail(f"{shown} is called with other arguments than it takes", node.span, fault)
            raise

    def arguments(self, nodes: Sequence[syntax.Node]) -> list[Any]:
        """Positional arguments."""
        return [self.evaluate(a) for a in nodes]

    def keywords(self, pairs: Sequence[tuple[str, syntax.Node]]) -> dict[str, Any]:
        """Keyword arguments."""
        return {name: self.evaluate(value) for name, value in pairs}

    def lookup(self, kind: str, name: str, span: Span, operands: Sequence[syntax.Node] = ()) -> Callable[..., Any]:
        """A name on a list of the backend."""
        if name not in set(self.backend.known(kind)):
            self.unknown(kind, name, span, operands)
        found: Callable[..., Any] = getattr(self.backend, kind)(name)
        return found

    def unknown(self, kind: str, name: str, span: Span, operands: Sequence[syntax.Node] = ()) -> NoReturn:
        """Raise that a name is not on the list, with how it is written, or the nearest one that is."""
        shown = {"library": f"F.{name}", "method": f".{name}()", "attribute": f".{name}"}.get(kind, f"{name}()")
        hint = self.written(name, operands) or _suggestion(name, self.backend.known(kind))
        self.fail(f"{shown} is not allowed here", span, hint)

    def prefixed(self, node: syntax.Node, name: str, operands: Sequence[syntax.Node] = ()) -> None:
        """Raise where ``name`` is asked of a library, ``torch.linalg`` say: array form has none but ``F``."""
        prefix: list[str] = []
        while isinstance(node, syntax.Attribute):
            prefix.insert(0, node.name)
            node = node.value
        if isinstance(node, syntax.Name) and node.id in PREFIXES and node.id not in self.tensors:
            hint = self.written(name, operands) or _NO_LIBRARY
            self.fail(f"{'.'.join((node.id, *prefix, name))} is not array form", node.span, hint)

    def written(self, name: str, operands: Sequence[syntax.Node] = ()) -> str | None:
        """How array form has what another library calls by this name; None where it has nothing of that name."""
        if name in ("pi", "inf"):
            return f"write {name}"
        kinds = (kind for kind in _WRITTEN if name in set(self.backend.known(kind)))
        return next((f"write {_WRITTEN[kind].format(name)}" for kind in kinds), None) or instead(name, operands)

    def binder(self, node: syntax.Binder) -> Any:
        """A reduction in index form that is a scalar."""
        if self.index_form is None:
            self.fail(f"{node.op}[...] is index form, and cannot stand in array form here", node.span)
        return self.index_form(node)


def misfit(function: Callable[..., Any], shown: str, arguments: Arguments, keywords: Keywords) -> str | None:
    """How a function is called, where it takes other arguments; ``x.`` before its name stands for the first one."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None  # it tells nobody what it takes
    try:
        signature.bind(*arguments, **keywords)
    except TypeError:
        names = [_parameter(p) for p in signature.parameters.values()]
        return f"write {shown}({', '.join(names[1:] if shown.startswith('x.') else names)})"
    return None


def _parameter(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return "..."
    return parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default}"


PREFIXES = frozenset({"torch", "nn", "linalg", "np", "numpy", "jnp", "jax", "math", "scipy", "sp", "tf"})
"""How code names its libraries. Array form names none, as it reads the same with each."""

_NO_LIBRARY = "no library is named in array form, except for F, torch.nn.functional"

_WRITTEN = {"function": "{}(...)", "library": "F.{}(...)", "method": "x.{}(...)", "attribute": "x.{}"}
"""How each kind of name is written."""


def _parts(node: syntax.Slice) -> tuple[syntax.Node | None, ...]:
    return node.start, node.stop, node.step


def _suggestion(name: str, names: Iterable[str]) -> str | None:
    close = difflib.get_close_matches(name, sorted(names), n=1)
    return f"did you mean {close[0]}?" if close else None


_HANDLERS: dict[type[syntax.Node], Callable[[Interpreter, Any], Any]] = {
    syntax.Number: Interpreter.number,
    syntax.Keyword: Interpreter.literal,
    syntax.Text: Interpreter.literal,
    syntax.Name: Interpreter.name,
    syntax.Batch: Interpreter.batch_axes,
    syntax.Unary: Interpreter.unary,
    syntax.Binary: Interpreter.binary,
    syntax.Compare: Interpreter.comparison,
    syntax.Logical: Interpreter.logical,
    syntax.Not: Interpreter.negation,
    syntax.Listing: Interpreter.listing,
    syntax.Access: Interpreter.access,
    syntax.Subscript: Interpreter.subscript,
    syntax.Attribute: Interpreter.attribute,
    syntax.Method: Interpreter.method,
    syntax.Call: Interpreter.call,
    syntax.Binder: Interpreter.binder,
}
