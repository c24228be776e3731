"""The extent of every index of a claim, at one point, and whether its names and indices make sense."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from symderive.check.oracle import batch_extents, extent_of
from symderive.claims.lines import ClaimError
from symderive.errors import Span
from symderive.spec import syntax
from symderive.spec.format import to_text
from symderive.spec.functions import FUNCTIONS, STRUCTURAL, kept
from symderive.spec.intervals import Point, interval

if TYPE_CHECKING:
    from symderive.claims.bench import Bench


def is_array_form(node: syntax.Node) -> bool:
    """Whether an expression, found where index form stands, is array form as a whole."""
    if isinstance(node, syntax.Binary):
        return node.op == "@"
    if isinstance(node, syntax.Call):
        elementwise = node.function in FUNCTIONS or node.function in STRUCTURAL or node.function == "pad"
        return not elementwise or bool(node.keywords)
    return isinstance(node, syntax.Method | syntax.Attribute | syntax.Listing | syntax.Text | syntax.Keyword)


class Ranges:
    """Collects the uses of indices while it checks an expression in index form."""

    def __init__(self, bench: Bench, free: Sequence[str]) -> None:
        self.bench = bench
        self.free = tuple(free)
        self.visible: list[str] = list(free)
        self.order: dict[str, Span | None] = dict.fromkeys(free)
        self.uses: dict[str, list[tuple[int, str | syntax.Node, bool]]] = {}
        self.accesses: list[tuple[syntax.Access, tuple[int, ...], bool]] = []

    # Ranges

    def use(self, name: str, extent: int, where: str | syntax.Node, padded: bool = False) -> None:
        """Note that an index runs over an axis of that extent."""
        self.uses.setdefault(name, []).append((extent, where, padded))

    def positions(
        self,
        indices: Sequence[syntax.Node],
        extents: Sequence[int],
        where: str | syntax.Node,
        padded: bool = False,
    ) -> None:
        """Note the indices that stand alone in index positions."""
        for node, extent in zip(indices, extents, strict=True):
            name = _label(node)
            if name in self.visible:
                assert name is not None
                self.use(name, extent, where, padded)

    def resolve(self) -> dict[str, int]:
        """The extent of each index, the free ones first. Raises where one has two, or none."""
        return {name: self._extent(name) for name in self.order}

    def _extent(self, name: str) -> int:
        world = self.bench.world
        if name in world.spec.indices:
            return extent_of(world.spec.indices[name], world.sizes)
        if name == syntax.BATCH:
            return int(np.prod(batch_extents(world.sizes), dtype=int))
        uses = self.uses.get(name, [])
        plain = [u for u in uses if not u[2]] or uses
        if not plain:
            if name in self.bench.letters:
                return self.bench.letters[name]
            extent = self._as_in_forward(name)
            if extent is None:
                extent = self._to_the_end(name)
            if extent is not None:
                return extent
            raise ClaimError("range", f"the range of the index {name} is not given anywhere", self.order[name])
        first = plain[0]
        for other in plain[1:]:
            if other[0] != first[0]:
                here, there = (w if isinstance(w, str) else to_text(w) for w in (first[1], other[1]))
                message = f"the index {name} runs over {first[0]} entries in {here} and over {other[0]} in {there}"
                raise ClaimError("range", message, self.order[name])
        return first[0]

    def _as_in_forward(self, name: str) -> int | None:
        """The extent of the index that stands for this one in the forward, where it reads a tensor in the same way."""
        world = self.bench.world
        for access, _, _ in self.accesses:
            for equation in world.spec.equations:
                for node in equation.right.walk():
                    if isinstance(node, syntax.Access) and node.tensor == access.tensor:
                        letter = _renamed(access.indices, node.indices).get(name)
                        if letter is not None and letter in equation.ranges:
                            return extent_of(equation.ranges[letter], world.sizes)
        return None

    def _to_the_end(self, name: str) -> int | None:
        """The extent with which a position such as ``2*i + k`` runs over its whole axis, from its start to its end."""
        world = self.bench.world
        numbers = {n: v for n, v in world.sizes.items() if isinstance(v, int)}
        numbers |= {n: int(v) for n, v in world.constants.items() if v == int(v)}
        known = {other: uses[0][0] for other, uses in self.uses.items()} | self.bench.letters
        plain = [zip(access.indices, shape, strict=True) for access, shape, padded in self.accesses if not padded]
        for positions in plain:
            for node, extent in positions:
                names = {n.id for n in node.walk() if isinstance(n, syntax.Name)}
                if name not in names or not names <= {name, *known, *numbers}:
                    continue
                (low, high), (_, next_high) = (interval(node, Point(numbers, {**known, name: n}, {})) for n in (1, 2))
                if low == 0 and next_high == high + 1 and high < extent:
                    return int(extent - high)
        return None

    # Names

    def visit(self, node: syntax.Node) -> None:
        """Check an expression."""
        if is_array_form(node):
            self.free_of_indices(node)
        elif isinstance(node, syntax.Name):
            self.name(node)
        elif isinstance(node, syntax.Batch):
            self.bound(syntax.BATCH, node.span)
        elif isinstance(node, syntax.Access):
            self.access(node)
        elif isinstance(node, syntax.Subscript):
            self.subscript(node)
        elif isinstance(node, syntax.Binder):
            self.binder(node)
        elif isinstance(node, syntax.Call):
            self.call(node)
        else:
            for child in node.children():
                self.visit(child)

    def free_of_indices(self, node: syntax.Node) -> None:
        """Array form cannot depend on an index."""
        for inner in node.walk():
            if isinstance(inner, syntax.Name) and inner.id in self.visible and inner.id not in self.bench.tensors:
                message = f"{to_text(node)} is array form, and cannot hold the index {inner.id}"
                raise ClaimError("form", message, inner.span)

    def bound(self, name: str, span: Span) -> None:
        """An index must be bound."""
        if name not in self.visible:
            message = f"the index {name} is not bound: it stands neither on the left side nor under a reduction"
            raise ClaimError("index", message, span)

    def name(self, node: syntax.Name) -> None:
        """A name in index form: an index, a number or a scalar."""
        world = self.bench.world
        if node.id in self.visible or node.id in ("pi", "inf"):
            return
        if node.id in self.bench.tensors:
            if np.ndim(self.bench.tensors[node.id]):
                raise ClaimError("index", f"{node.id} needs indices here", node.span)
        elif node.id not in world.constants and node.id not in world.sizes:
            known = node.id in self.bench.letters
            self.unknown(node.id, node.span, index=known)

    def unknown(self, name: str, span: Span, *, index: bool) -> None:
        """Raise that a name means nothing here."""
        if index:
            self.bound(name, span)
        raise ClaimError("name", f"there is nothing called {name}{self.bench.suggestion(name)}", span)

    def access(self, node: syntax.Access, padded: bool = False) -> None:
        """An access: its tensor, its rank, its positions."""
        if node.tensor not in self.bench.tensors:
            self.unknown(node.tensor, node.span, index=False)
        array = self.bench.flat(node.tensor, self.bench.tensors[node.tensor], node.indices)
        self.accesses.append((node, array.shape, padded))
        for index in node.indices:
            self.position(index)
        self.positions(node.indices, array.shape, node, padded)

    def position(self, node: syntax.Node) -> None:
        """What stands in an index position: a name there that means nothing else is an index."""
        if isinstance(node, syntax.Name) and node.id not in self.visible:
            world = self.bench.world
            if node.id not in world.sizes and node.id not in world.constants and node.id not in self.bench.tensors:
                self.bound(node.id, node.span)
        self.visit(node)

    def subscript(self, node: syntax.Subscript) -> None:
        """An entry of array form: ``(dy @ W)[n, k]``."""
        self.free_of_indices(node.value)
        value: Any = self.bench.array(node.value)
        if np.ndim(value) != len(node.items):
            axes = np.ndim(value)
            message = f"{to_text(node.value)} has {axes} axes, and is given {len(node.items)} indices"
            raise ClaimError("shape", message, node.span)
        for item in node.items:
            self.position(item)
        self.positions(node.items, np.shape(value), node)

    def call(self, node: syntax.Call) -> None:
        """A function, with its number of arguments; ``pad`` of an access."""
        given = len(node.arguments)
        if node.function == "pad":
            if given not in (1, 2) or not isinstance(node.arguments[0], syntax.Access):
                raise ClaimError("form", "pad holds exactly one access", node.span)
            self.access(node.arguments[0], padded=True)
            for rest in node.arguments[1:]:
                self.visit(rest)
            return
        wanted = STRUCTURAL.get(node.function)
        arity = range(wanted, wanted + 1) if wanted is not None else FUNCTIONS[node.function].arity
        if given not in arity:
            raise ClaimError("form", f"{node.function} takes {arity.start} arguments, not {given}", node.span)
        for argument in node.arguments:
            if node.function == "delta":
                self.position(argument)
            else:
                self.visit(argument)

    def binder(self, node: syntax.Binder) -> None:
        """A binder: no index is bound twice, and a normaliser needs its index."""
        free = kept(node.op, node.indices)
        for name in node.indices:
            if name in free:
                self.bound(name, node.span)
            elif name in self.visible:
                raise ClaimError("index", f"{node.op}[{name}] binds an index that is in use already", node.span)
            self.order.setdefault(name, node.span)
        with self.seeing(node.indices):
            if node.condition is not None:
                self.visit(node.condition)
            self.visit(node.body)
            for operand in node.more:
                self.visit(operand)

    @contextmanager
    def seeing(self, names: Sequence[str]) -> Iterator[None]:
        """Inside, the names are indices."""
        before = self.visible
        self.visible = [*before, *(n for n in names if n not in before)]
        yield
        self.visible = before


def _label(node: syntax.Node) -> str | None:
    if isinstance(node, syntax.Batch):
        return syntax.BATCH
    return node.id if isinstance(node, syntax.Name) else None


def _renamed(indices: Sequence[syntax.Node], others: Sequence[syntax.Node]) -> dict[str, str]:
    """The names that turn index positions into others of the same form; none where the forms differ."""
    names: dict[str, str] = {}
    for one, other in zip(indices, others, strict=False):
        for a, b in itertools.zip_longest(one.walk(), other.walk()):
            if isinstance(a, syntax.Name) and isinstance(b, syntax.Name):
                if names.setdefault(a.id, b.id) != b.id:
                    return {}
            elif _form(a) != _form(b):
                return {}
    return names


def _form(node: syntax.Node | None) -> tuple[object, ...]:
    """What a node is, whatever stands in it."""
    return type(node), getattr(node, "op", None), node if isinstance(node, syntax.Number) else None
