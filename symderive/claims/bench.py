"""The sides of claims evaluated at one point, in index form, in array form or in both."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from symderive.check.arrays import ArrayError, Interpreter
from symderive.check.arrays_exact import backend
from symderive.check.grid import Grid
from symderive.check.grid_math import GridMath
from symderive.check.grid_numbers import Unsupported, numbers_over
from symderive.check.objects import from_list, objects, shape_text
from symderive.check.oracle import Evaluator, batch_extents, extent_of
from symderive.claims.compare import COARSE, close_where_finite
from symderive.claims.lines import ClaimError, Line, nearest
from symderive.claims.named_derivatives import JACOBIAN, as_access, name_of, positions_of
from symderive.claims.names import gradient_meant, upstream_meant
from symderive.claims.ranges import Given, Ranges, Said
from symderive.claims.records import FAULTS
from symderive.claims.tape import Tape
from symderive.claims.trees import map_nodes, tensor_of
from symderive.claims.world import World, gradient_names, is_jacobian
from symderive.errors import Span, SymderiveError
from symderive.record import record
from symderive.spec import model, syntax


@record
class Sides:
    """A side of a claim and the truth at one point, entry by entry, as plain numbers of equal shape.

    ``free`` are the indices of the axes, empty in array form.
    """

    claimed: np.ndarray
    true: np.ndarray
    free: tuple[str, ...] = ()


ONE_BY_ONE = 200
"""Entries that, one by one, take as long as all of them at once."""


class Bench:
    """A world, and the helpers that lines have defined in it so far."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.tensors = world.known
        self.helpers: set[str] = set()
        self.defined: list[Line] = []
        self.evaluator = Evaluator((), {}, world.sizes, world.base, world.constants)
        self.evaluator.inputs = self.tensors
        self.evaluator.arrays_by(self.array)
        plain = {n: v for n, v in world.sizes.items() if isinstance(v, int)}
        arrays = backend(world.base, keep=not isinstance(world.base, Tape))
        numbers = plain, world.constants, world.batch
        self.interpreter = Interpreter(arrays, self.tensors, *numbers, self.scalar, self.hint)
        self.letters = _letters(world)
        self.math = None if isinstance(world.base, Tape) else GridMath(numbers_over(world.base))
        self.scalars: dict[str, Fraction | int] = {**world.constants, **plain}
        self._read: dict[tuple[str, int], np.ndarray] = {}
        self.said: Said = {}
        """What expressions say of their indices; benches of the same sizes, constants and helpers may share it."""
        self.rewrites: dict[int, tuple[syntax.Node, syntax.Node]] = {}
        """Expressions with accesses for derivatives; all benches may share them."""
        self._truths: dict[int, tuple[Line, tuple[np.ndarray, tuple[syntax.Node, ...]]]] = {}

    @cached_property
    def shapes(self) -> dict[str, model.Shape]:
        """The extents of the axes of every tensor and every gradient."""
        shapes = self.world.spec.shapes
        return {**shapes, **{name: shapes[of] for name, of in gradient_names(self.world.spec).items()}}

    # What a line says

    def sides(self, line: Line, node: syntax.Node) -> Sides:
        """One side of a claim and the truth. Raises :class:`ClaimError` where it has no value of the right shape."""
        true, indices = self.truth(line)
        if line.indices is None:
            claimed = self.plain_array(node)
            if isinstance(node, syntax.Number) and not node.value:  # of whatever shape it has to be
                claimed = np.broadcast_to(claimed, true.shape)
            if claimed.shape != true.shape:
                message = f"its shape is {shape_text(claimed.shape)}, that of {line.name} is {shape_text(true.shape)}"
                raise ClaimError("shape", message, node.span)
            return Sides(claimed, self.world.plain(true))
        free = free_names(indices, self.world.spec)
        ranges = self.ranges(free, node, [(indices, true.shape, line.name)])
        claimed = self.world.plain(self.table(node, free, ranges))
        if [i for i in map(label, indices) if i] == list(free) and len(free) == len(indices):
            return Sides(claimed, self.world.plain(true), free)
        try:
            entries = self.table(_reader(indices, true), free, ranges, true)
        except ClaimError as error:
            raise ClaimError(error.reason, error.message.replace(_LOCAL, line.name), error.span) from error
        return Sides(claimed, self.world.plain(entries), free)

    def agrees(self, line: Line, node: syntax.Node, tolerance: float = COARSE) -> bool:
        """Whether a side is about equal to the truth where that is finite; it stops at the first entry that is not."""
        true, indices = self.truth(line)
        free = free_names(indices, self.world.spec)
        if line.indices is None or [label(i) for i in indices] != list(free):
            sides = self.sides(line, node)
            return close_where_finite(sides.claimed, sides.true, tolerance)
        ranges = self.ranges(free, node, [(indices, true.shape, line.name)])
        if (claimed := self.at_once(node, free, ranges)) is not None:
            return close_where_finite(claimed, true, tolerance)
        plain = self.world.base.plain
        return all(
            close_where_finite(np.array(plain(value), dtype=float), np.array(plain(true[at]), dtype=float), tolerance)
            for at, value in self.entries(node, free, ranges)
        )

    def truth(self, line: Line) -> tuple[np.ndarray, tuple[syntax.Node, ...]]:
        """What the left side of a line is worth, with one axis for each of its indices, and those."""
        known = self._truths.get(id(line))
        if known is None:
            known = self._truths[id(line)] = line, self._truth(line)
        return known[1]

    def _truth(self, line: Line) -> tuple[np.ndarray, tuple[syntax.Node, ...]]:
        if line.role == "jacobian":
            name = self.rewritten(line.statement.left)
            assert isinstance(name, syntax.Access | syntax.Name)
            array = self.tensors[name.tensor if isinstance(name, syntax.Access) else name.id]
        elif line.role == "helper":
            array = self.tensors[line.name]
        else:
            array = self.tensors[line.name] if line.role == "gradient" else self.world.values[line.name]
        if line.indices is None:
            return objects(array), ()
        return self.flat(line.name, array, line.indices), line.indices

    def define(self, line: Line) -> None:
        """Define the helper of a line by its first side, which is computed when it is first read.

        What waits to be computed from another tensor of that name is computed before.
        """
        value: Any = partial(self.value, line)
        if line.name in self.tensors:
            for name in [d.name for d in self.defined if line.name in d.mentions()]:
                self.tensors[name]
            if line.name in line.mentions():
                value = value()
        self.helpers.add(line.name)
        self.defined.append(line)
        self.put(line.name, value)

    def value(self, line: Line) -> Any:
        """What the first side of a helper is worth."""
        node = line.statement.sides[0]
        if line.indices is None:
            return objects(self.array(node))
        free = free_names(line.indices, self.world.spec)
        if len(free) != len(line.indices):
            raise ClaimError("form", f"the left side of {line.name} holds each index once", line.statement.span)
        return self.spelled(self.table(node, free, self.ranges(free, node, [])), line.indices)

    def put(self, name: str, value: Any) -> None:
        """A tensor of that name from now on."""
        self.tensors[name] = value
        self.evaluator.forget(name)
        if self.interpreter.kept is not None:
            self.interpreter.kept.values.clear()
        self._read = {key: a for key, a in self._read.items() if key[0] != name}
        if name != _LOCAL and not name.startswith(JACOBIAN):
            self.said = {}
        self._truths.clear()

    def plain_array(self, node: syntax.Node) -> np.ndarray:
        """An expression in array form, as plain numbers."""
        return self.world.plain(objects(self.array(node)))

    # Evaluation

    def array(self, node: syntax.Node) -> Any:
        """The value of an expression in array form."""
        try:
            return self.interpreter.evaluate(self.rewritten(node))
        except ArrayError as error:
            raise ClaimError("shape", error.message, _span(error)) from error
        except SymderiveError as error:
            raise ClaimError("name", _with_hint(error), _span(error)) from error

    def scalar(self, node: syntax.Node) -> Any:
        """The value of an expression in index form that has no free index."""
        return self.table(node, (), self.ranges((), node, []))[()]

    def table(
        self, node: syntax.Node, free: Sequence[str], ranges: Mapping[str, int], local: np.ndarray | None = None
    ) -> np.ndarray:
        """The values of an expression in index form over its free indices."""
        if local is not None:
            self.put(_LOCAL, local)
        if (found := self.at_once(node, free, ranges)) is not None:
            return found
        values = [value for _, value in self.entries(node, free, ranges)]
        return from_list(values, [ranges[i] for i in free])

    def at_once(self, node: syntax.Node, free: Sequence[str], ranges: Mapping[str, int]) -> np.ndarray | None:
        """The same, over whole arrays; None where that cannot be, and entries have to be computed one by one."""
        if self.math is None:
            return None
        ordered = {i: ranges[i] for i in free} | dict(ranges)
        try:
            with np.errstate(all="ignore"):
                grid = Grid(self.math, ordered, self.read, self.scalars, self.array)
                grid.kept = self.interpreter.kept
                return np.asarray(grid.evaluate(self.rewritten(node), free))
        except (*FAULTS, SymderiveError, ClaimError, RecursionError):
            return None

    def read(self, name: str, rank: int) -> np.ndarray:
        """A tensor at so many indices, its batch axes as one."""
        if (name, rank) not in self._read:
            assert self.math is not None
            array = self.math.numbers.array(self.tensors[name])
            if array.ndim != rank:
                count = self.world.batch
                array = array.reshape(math.prod(array.shape[:count]), *array.shape[count:])
            if array.ndim != rank:
                raise Unsupported
            self._read[name, rank] = array
        return self._read[name, rank]

    def entries(
        self, node: syntax.Node, free: Sequence[str], ranges: Mapping[str, int]
    ) -> Iterator[tuple[tuple[int, ...], Any]]:
        """The values of an expression in index form, one after the other."""
        if self.interpreter.kept is not None:
            self.interpreter.kept.computed += node.size * (math.prod(ranges[i] for i in free) // ONE_BY_ONE)
        try:
            closure = self.evaluator.expression(self.rewritten(node), ranges, free)
            rest = [0] * (len(ranges) - len(free))
            for at in itertools.product(*(range(ranges[i]) for i in free)):
                yield at, closure([*at, *rest])
        except SymderiveError as error:
            raise ClaimError("index", _with_hint(error), _span(error)) from error
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            raise ClaimError("index", str(error), node.span) from error

    def ranges(
        self,
        free: Sequence[str],
        node: syntax.Node,
        given: Sequence[Given],
    ) -> dict[str, int]:
        """The extents of all indices of a side, the free ones first. Raises where a name or an index makes no sense."""
        ranges = self.collected(free, node, given).resolve()
        for indices, extents, name in given:
            _whole_axes(indices, extents, name, ranges)
        return ranges

    def collected(self, free: Sequence[str], node: syntax.Node, given: Sequence[Given]) -> Ranges:
        """What a side says of its indices. Raises likewise."""
        found = Ranges(self, free)
        for indices, extents, name in given:
            found.positions(indices, extents, name)
        found.visit(self.rewritten(node))
        return found

    def rewritten(self, node: syntax.Node) -> syntax.Node:
        """The expression with every ``D(y[i], x[k])`` as an access to an array of derivatives."""
        if "D" not in node.called:
            return node
        known = self.rewrites.get(id(node))
        if known is None:
            known = self.rewrites[id(node)] = node, map_nodes(node, as_access)
        for inner in node.walk():
            if is_jacobian(inner) and (name := name_of(inner)) not in self.tensors:
                self.put(name, self._derivatives(inner))
        return known[1]

    def _derivatives(self, node: syntax.Call) -> np.ndarray:
        (y, x), span = node.arguments, node.span
        numerator, denominator = tensor_of(y), tensor_of(x)
        if numerator not in self.tensors:
            raise ClaimError("name", f"there is no tensor {numerator}", span)
        if denominator not in self.world.values or denominator in self.integers:
            raise ClaimError("name", f"there is no tensor {denominator} to differentiate with respect to", span)
        array = self._array_of_derivatives(numerator, denominator)
        if not positions_of(y) and not positions_of(x):
            return array
        upper = self.flat(numerator, objects(self.tensors[numerator]), positions_of(y)).shape
        lower = self.flat(denominator, self.world.values[denominator], positions_of(x)).shape
        return array.reshape(upper + lower)

    def _array_of_derivatives(self, numerator: str, denominator: str) -> np.ndarray:
        if isinstance(self.world.base, Tape):
            return self.world.jacobian(objects(self.tensors[numerator]), denominator)
        if numerator in self.world.values and numerator not in self.helpers:
            return self.world.derivatives(numerator, denominator)
        if numerator not in self.helpers and (found := self.world.second(numerator, denominator)) is not None:
            return found
        twin = self.twin
        for line in self.defined[len(twin.defined) :]:
            twin.define(line)
        return twin.world.plain(twin.world.jacobian(objects(twin.tensors[numerator]), denominator))

    @cached_property
    def twin(self) -> Bench:
        """The bench on which gradients and helpers can be differentiated."""
        return Bench(self.world.twin)

    @property
    def integers(self) -> set[str]:
        """The inputs that are not real."""
        return {i.name for i in self.world.spec.inputs if not i.is_real}

    def flat(self, name: str, array: Any, indices: Sequence[syntax.Node]) -> np.ndarray:
        """A tensor with its batch axes as one, where its first index is ``...``. Raises where the ranks differ."""
        return objects(array).reshape(self.flat_shape(name, np.shape(array), indices))

    def flat_shape(self, name: str, shape: tuple[int, ...], indices: Sequence[syntax.Node]) -> tuple[int, ...]:
        """The shape of that. Raises where the ranks differ."""
        derivatives = name.startswith((JACOBIAN, "D("))  # both batches in them are one axis already
        if indices and isinstance(indices[0], syntax.Batch) and not derivatives:
            shape = math.prod(shape[: self.world.batch]), *shape[self.world.batch :]
        if len(shape) != len(indices):
            axes = f"{len(shape)} {'axis' if len(shape) == 1 else 'axes'}"
            given = f"{len(indices)} {'index' if len(indices) == 1 else 'indices'}"
            raise ClaimError("shape", f"{name} has {axes}, and is given {given}")
        return shape

    def spelled(self, array: np.ndarray, indices: Sequence[syntax.Node]) -> np.ndarray:
        """The opposite of ``flat``: the one axis of ``...`` as the batch axes that it stands for."""
        if indices and isinstance(indices[0], syntax.Batch):
            return array.reshape((*batch_extents(self.world.sizes), *array.shape[1:]))
        return array

    def suggestion(self, name: str) -> str:
        """``; did you mean ...?``, or what else is to be said of a name that means nothing, or nothing."""
        hint = self.hint(name)
        return f"; {hint}" if hint else ""

    def hint(self, name: str) -> str:
        """What may be meant by a name that means nothing: a gradient, the upstream, or what looks alike."""
        spec = self.world.spec
        meant = gradient_meant(spec, name)
        if meant is None and (upstream := upstream_meant(spec, name)):
            return upstream
        known = [*self.tensors, *self.world.sizes, *self.world.constants]
        close = meant or nearest(name, [n for n in known if not n.startswith((JACOBIAN, "~"))])
        return f"did you mean {close}?" if close else ""


def _whole_axes(indices: Sequence[syntax.Node], extents: Sequence[int], name: str, ranges: Mapping[str, int]) -> None:
    """Raise where an index of a left side does not run over its axis."""
    for position, (node, extent) in enumerate(zip(indices, extents, strict=True)):
        index = label(node)
        if index is not None and index in ranges and ranges[index] != extent:
            runs = f"the index {index} takes {ranges[index]} values, and axis {position} of {name} has {extent} entries"
            raise ClaimError("range", f"{runs}: give it another letter", node.span)


_LOCAL = "~truth"


def _reader(indices: Sequence[syntax.Node], true: np.ndarray) -> syntax.Node:
    return syntax.Access(_LOCAL, tuple(indices))


def label(node: syntax.Node) -> str | None:
    """The index that an index position is, if it is just one."""
    if isinstance(node, syntax.Batch):
        return syntax.BATCH
    return node.id if isinstance(node, syntax.Name) else None


def free_names(indices: Sequence[syntax.Node], spec: model.Spec) -> tuple[str, ...]:
    """The indices on a left side, each once: ``dx[N - 1]`` has none."""
    numbers = {*spec.sizes, *spec.constants} - {syntax.BATCH}
    return tuple(dict.fromkeys(i for node in indices for i in _labels(node) if i not in numbers))


def _labels(node: syntax.Node) -> Iterator[str]:
    for inner in node.walk():
        if (name := label(inner)) is not None:
            yield name


def _span(error: SymderiveError) -> Span | None:
    return error.location.span if error.location else None


def _with_hint(error: SymderiveError) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message


def _letters(world: World) -> dict[str, int]:
    """The extent of each index letter of the forward that has just one there."""
    found: dict[str, set[Any]] = {}
    for equation in world.spec.equations:
        for name, extent in equation.ranges.items():
            found.setdefault(name, set()).add(extent)
    return {n: extent_of(next(iter(e)), world.sizes) for n, e in found.items() if len(e) == 1}
