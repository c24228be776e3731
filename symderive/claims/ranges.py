"""The extent of every index of a claim, at one point, and whether its names and indices make sense."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symderive.check.oracle import batch_extents, extent_of
from symderive.claims.alike import Alike
from symderive.claims.lines import ClaimError
from symderive.errors import Span
from symderive.spec import model, syntax
from symderive.spec.format import to_text
from symderive.spec.functions import FUNCTIONS, STRUCTURAL, counted, kept
from symderive.spec.intervals import Point, interval
from symderive.spec.sizes import same_size

if TYPE_CHECKING:
    from sympy import Expr

    from symderive.claims.bench import Bench


def is_array_form(node: syntax.Node) -> bool:
    """Whether an expression, found where index form stands, is array form as a whole."""
    if isinstance(node, syntax.Binary):
        return node.op == "@"
    if isinstance(node, syntax.Call):
        elementwise = node.function in FUNCTIONS or node.function in STRUCTURAL or node.function == "pad"
        return not elementwise or bool(node.keywords)
    return isinstance(node, syntax.Method | syntax.Attribute | syntax.Listing | syntax.Text | syntax.Keyword)


class Bound(NamedTuple):
    """An index that a reduction binds, and where."""

    name: str
    span: Span


class Use(NamedTuple):
    """An index that runs over an axis of that extent, which the spec may give; in a ``pad`` it may run over more."""

    name: str
    extent: int
    where: str | syntax.Node
    padded: bool
    symbolic: Expr | None


class Read(NamedTuple):
    """An access to a tensor of that shape."""

    access: syntax.Access
    shape: tuple[int, ...]
    padded: bool


Said = dict[tuple[int, tuple[str, ...]], tuple[syntax.Node, list[Bound | Use | Read]]]
"""What expressions say of their indices, where some are visible."""

Given = tuple[Sequence[syntax.Node], Sequence[int], str]
"""The index positions of a left side, their extents, and its name."""


class Ranges:
    """Collects the uses of indices while it checks an expression in index form.

    What a part says is kept with the bench: claims that are tried one after the other share most of their parts.
    """

    def __init__(self, bench: Bench, free: Sequence[str]) -> None:
        self.bench = bench
        self.free = tuple(free)
        self.visible = tuple(free)
        self.said: list[Bound | Use | Read] = []
        self.root: syntax.Node | None = None

    # Ranges

    def positions(
        self,
        indices: Sequence[syntax.Node],
        extents: Sequence[int],
        where: str | syntax.Node,
        padded: bool = False,
    ) -> None:
        """Note the indices that stand alone in index positions."""
        symbols = self._shape(indices, where)
        for place, (node, extent) in enumerate(zip(indices, extents, strict=True)):
            name = _label(node)
            if name in self.visible:
                assert name is not None
                self.said.append(Use(name, extent, where, padded, symbols[place] if symbols else None))

    def _shape(self, indices: Sequence[syntax.Node], where: str | syntax.Node) -> model.Shape:
        """The extents that the spec gives to the positions of a tensor of its own or of a gradient; or nothing."""
        tensor = where.tensor if isinstance(where, syntax.Access) else where
        shape = self.bench.shapes.get(tensor, ()) if isinstance(tensor, str) else ()
        return shape if len(shape) == len(indices) else ()

    def resolve(self) -> dict[str, int]:
        """The extent of each index, the free ones first. Raises where one has two, or none."""
        self.order: dict[str, Span | None] = dict.fromkeys(self.free)
        self.uses: dict[str, list[Use]] = {}
        for fact in self.said:
            if isinstance(fact, Use):
                self.uses.setdefault(fact.name, []).append(fact)
            elif isinstance(fact, Bound):
                self.order.setdefault(fact.name, fact.span)
        return {name: self._extent(name) for name in self.order}

    def symbolic(self, name: str) -> Expr | None:
        """The extent of an index in sizes, as the spec, or the shape of a tensor of the spec, gives it; or None."""
        uses = [u for u in self.uses.get(name, ()) if not u.padded]
        return self.bench.world.spec.indices.get(name, uses[0].symbolic if uses else None)

    def _extent(self, name: str) -> int:
        world = self.bench.world
        if name in world.spec.indices:
            return extent_of(world.spec.indices[name], world.sizes)
        if name == syntax.BATCH:
            return int(np.prod(batch_extents(world.sizes), dtype=int))
        uses = self.uses.get(name, [])
        plain = [u for u in uses if not u.padded] or uses
        if not plain:
            if name in self.bench.letters:
                return self.bench.letters[name]
            extent = self._as_in(world.spec.equations, name, syntax.Access)
            if extent is None:
                extent = self._to_the_end(name)
            if extent is None:
                extent = self._as_in((*world.spec.equations, *self._derived()), name, *_TELLING)
            if extent is not None:
                return extent
            raise ClaimError("range", f"the range of the index {name} is not given anywhere", self.order[name])
        first = plain[0]
        for other in plain[1:]:
            if other.extent != first.extent:
                here, there = (w if isinstance(w, str) else to_text(w) for w in (first.where, other.where))
                ends = f"over {first.extent} entries in {here} and over {other.extent} in {there}"
                message = f"the index {name} runs {ends}"
                raise ClaimError("range", message, self.order[name])
        return first.extent

    def _as_in(self, equations: Sequence[model.Equation], name: str, *kinds: type[syntax.Node]) -> int | None:
        """The extent of the letters that stand for this one in equations, where those read or compare in the same way.

        Those that stand for the other letters have the ranges of these, as far as they are known. The largest part of
        the claim that is found there decides; one that may stand for parts which differ in this range tells nothing.
        """
        for node in self._telling(name, kinds):
            for commuted in (False, True):
                found = {extent for e in equations for extent in self._extents(node, e, name, commuted)}
                if len(found) == 1:
                    return found.pop()
                if found:
                    break
        return None

    def _derived(self) -> tuple[model.Equation, ...]:
        """The equations of the gradients, which print letters that the forward does not have."""
        from symderive.claims.derived import derived_equations  # which needs a bench itself

        return derived_equations(self.bench.world.spec)

    def _telling(self, name: str, kinds: tuple[type[syntax.Node], ...]) -> Iterator[syntax.Node]:
        """The parts of the expression, of some kinds, that may tell the range of an index, the larger ones first."""
        for node in self.root.walk() if self.root else ():
            if isinstance(node, kinds) and any(name in _letters(inner) for inner in node.walk()):
                yield node

    def _extents(self, node: syntax.Node, equation: model.Equation, name: str, commuted: bool) -> Iterator[int]:
        """The extents of what stands for an index in the parts of an equation that a part of a claim may stand for."""
        alike = Alike(partial(self._may_stand_for, equation), commuted)
        for other in equation.right.walk():
            if type(other) is type(node):
                for names in alike.match(node, other, {}):
                    yield extent_of(equation.ranges[names[name]], self.bench.world.sizes)

    def _may_stand_for(self, equation: model.Equation, name: str, other: str) -> bool:
        """Whether a name may stand for one of an equation: an index for one of its range, else the same."""
        if name not in self.order or name == syntax.BATCH:
            return name == other and (other not in equation.ranges or name == syntax.BATCH)
        if other not in equation.ranges:
            return False
        spec, extent = self.bench.world.spec, equation.ranges[other]
        uses = self.uses.get(name, ())
        symbolic = spec.indices.get(name, next((u.symbolic for u in uses if u.symbolic is not None), None))
        if symbolic is not None:
            return same_size(symbolic, extent)
        known = uses[0].extent if uses else self.bench.letters.get(name)
        return known is None or known == extent_of(extent, self.bench.world.sizes)

    def _to_the_end(self, name: str) -> int | None:
        """The extent with which a position such as ``2*i + k`` runs over its whole axis, from its start to its end."""
        world = self.bench.world
        numbers = {n: v for n, v in world.sizes.items() if isinstance(v, int)}
        numbers |= {n: int(v) for n, v in world.constants.items() if v == int(v)}
        known = {other: uses[0].extent for other, uses in self.uses.items()} | self.bench.letters
        reads = (r for r in self.said if isinstance(r, Read) and not r.padded)
        plain = [zip(r.access.indices, r.shape, strict=True) for r in reads]
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
        self.root = self.root or node
        key = id(node), self.visible
        known = self.bench.said.get(key)
        if known is not None:
            self.said += known[1]
            return
        start = len(self.said)
        self._check(node)
        self.bench.said[key] = node, self.said[start:]

    def _check(self, node: syntax.Node) -> None:
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
        shape = self.bench.flat_shape(node.tensor, np.shape(self.bench.tensors[node.tensor]), node.indices)
        self.said.append(Read(node, shape, padded))
        for index in node.indices:
            self.position(index)
        self.positions(node.indices, shape, node, padded)

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
            raise ClaimError("form", f"{node.function} takes {counted(arity)}, not {given}", node.span)
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
            self.said.append(Bound(name, node.span))
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
        self.visible = (*before, *(n for n in names if n not in before))
        yield
        self.visible = before


def _label(node: syntax.Node) -> str | None:
    if isinstance(node, syntax.Batch):
        return syntax.BATCH
    return node.id if isinstance(node, syntax.Name) else None


def _letters(node: syntax.Node) -> tuple[str, ...]:
    """The names that a node is or binds."""
    if isinstance(node, syntax.Binder):
        return node.indices
    return (node.id,) if isinstance(node, syntax.Name) else ()


_TELLING = (syntax.Binder, syntax.Access, syntax.Compare, syntax.Logical)
"""What tells the range of a letter in it, by what stands in its place in equations that do the same."""
