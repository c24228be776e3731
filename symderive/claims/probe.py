"""What the borders of a claim are worth at points, of which only what they depend on is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from symderive.check.exact import EXACT, Exact
from symderive.check.floats import FLOAT
from symderive.check.grid import Grid
from symderive.check.grid_math import GridMath
from symderive.check.grid_numbers import Unsupported, numbers_over
from symderive.check.kinks import nearest
from symderive.check.moving import marked
from symderive.check.numbers import Domain
from symderive.check.objects import floats, objects
from symderive.check.oracle import Evaluator, extent_of, shape_of
from symderive.claims.bench import Bench, free_names
from symderive.claims.borders import Border
from symderive.claims.compare import finite
from symderive.claims.lines import FAULTS, ClaimError, Line, names_in
from symderive.claims.outcome import with_digits
from symderive.claims.points import Point
from symderive.claims.ranges import Given
from symderive.claims.trees import bound_in, map_nodes, tensor_of
from symderive.claims.world import Sizes, World, gradient_names
from symderive.spec import model, syntax
from symderive.spec.names import NUMBER_NAMES

if TYPE_CHECKING:
    from sympy import Expr

    from symderive.claims.trial import Trial

MOST_ENTRIES = 20_000
"""Of a border that are computed at once."""

CHOICE = "~"
"""The index of choices of sizes."""

MOST_WRITTEN = 200
"""Nodes of an expression in which what has no axes is written out."""

LIGHT = 40
"""Numbers of a point that take no longer than the rest."""

MOST_HELPED = 500
"""Multiplications of a forward where a helper in array form is computed for its shape."""

TOUCHING = 1e-40
"""How far from a kink of the forward a number of 50 digits is on it, or is what is left of numbers that cancel."""

MANY = 350
"""Digits with which such a rest is far smaller, and a number that is as small stays."""


class Probe:
    """The borders of one claim at any points. ``spent`` and ``entries`` count what was computed."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.spec = trial.spec
        self.spent = self.entries = 0
        self._ranges: dict[tuple[object, ...], dict[str, int]] = {}
        self._names: dict[Border, tuple[set[str], set[str]]] = {}
        self._symbols: dict[Border, dict[str, Expr] | None] = {}
        self._behind: dict[int, tuple[syntax.Node, set[str]]] = {}

    @cached_property
    def leaves(self) -> dict[str, str]:
        """The names of the inputs, and of the upstreams of the outputs, with the name that their values have."""
        return {i.name: i.name for i in self.spec.inputs} | {f"d{o}": o for o in self.spec.outputs}

    @cached_property
    def made(self) -> dict[str, set[str]]:
        """What each tensor of the forward and each helper is made of."""
        made = {e.tensor: names_in(e.right) for e in self.spec.equations}
        return made | {h.name: names_in(h.statement.sides[0]) for h in self.trial.court.helpers}

    def behind(self, border: Border) -> set[str]:
        """All names that a border depends on."""
        return self._all_behind(border.node)

    def behind_tensor(self, name: str) -> set[str]:
        """All names that a tensor depends on, its own, too."""
        return self._all_behind(syntax.Name(name))

    def _all_behind(self, node: syntax.Node) -> set[str]:
        if id(node) not in self._behind:
            waiting, known = list(names_in(node)), set[str]()
            while waiting:
                name = waiting.pop()
                if name not in known:
                    known.add(name)
                    waiting += self.made.get(name, ())
            self._behind[id(node)] = node, known
        return self._behind[id(node)][1]

    def is_sized(self, border: Border) -> bool:
        """Whether a border depends on indices and sizes only."""
        return not self.behind(border) & self._drawn

    def is_number(self, border: Border) -> bool:
        """Whether a border depends on no index and no size either."""
        return not self.behind(border) - self.made.keys() - self.spec.constants.keys() - NUMBER_NAMES

    def is_plain(self, border: Border) -> bool:
        """Whether it depends on inputs and upstreams directly, so that nothing else has to be computed."""
        return names_in(border.node) & self.tensors <= self.leaves.keys()

    @cached_property
    def tensors(self) -> set[str]:
        """All that has a value at a point, helpers, too."""
        return set(self.trial.court.bench(self.trial.court.points.main[0]).tensors)

    @cached_property
    def _drawn(self) -> set[str]:
        """All that has a value at a point, but for helpers, which have those of what they are made of."""
        return self.tensors - {h.name for h in self.trial.court.helpers}

    # Values

    def values(self, border: Border, point: Point, base: Domain = FLOAT) -> np.ndarray | None:
        """The border at all entries, in floats or exactly; None where it has no value."""
        self.spent += 1 + sum(np.size(a) for a in point.inputs.values()) // LIGHT
        try:
            found = self._values(border, self._bench(point, border, base))
        except (ClaimError, *FAULTS):
            return None
        return floats(found) if base is FLOAT else objects(found)

    def _bench(self, point: Point, border: Border, base: Domain) -> Bench:
        bench = Bench(point.world(self.spec, base))
        if isinstance(point, Hollow):
            bench.tensors.update(point.zeros(self.spec))
        unknown = self._key(border, point.sizes) not in self._ranges
        needed = self.behind(border) | (self._all_behind(border.root) if unknown else set())
        for line in self.trial.court.helpers:
            if line.name in needed and isinstance(point, Hollow) and self.behind_tensor(line.name) & self._drawn:
                bench.put(line.name, self._hollow(line, bench))
            elif line.name in needed:
                bench.define(line)
        return bench

    def _hollow(self, line: Line, bench: Bench) -> np.ndarray:
        """Zeros of the shape of a helper, which has the same rank at all sizes. Raises where that is not told."""
        if line.indices is None:
            if self.trial.court.points.chooser.work(bench.world.sizes) > MOST_HELPED:
                raise ValueError
            return objects(bench.array(line.statement.sides[0]))
        ranges = bench.ranges(free_names(line.indices, self.spec), line.statement.sides[0], [])
        shape = [ranges[i] for i in free_names(line.indices, self.spec)]
        return bench.spelled(np.broadcast_to(np.zeros((), dtype=object), shape), line.indices)

    def _values(self, border: Border, bench: Bench) -> np.ndarray:
        if not border.indexed:
            return bench.plain_array(border.node)
        ranges = self._ranges_of(border, bench)
        named, bound = self._named(border)
        free = [i for i in ranges if i in named - bound]
        entries = math.prod(r for i, r in ranges.items() if i in named)
        if entries > MOST_ENTRIES:
            raise ValueError
        self.entries += entries
        table = bench.world.plain(bench.table(border.node, free, {i: ranges[i] for i in free} | ranges))
        if border.axis is None:
            return table
        tensor, axis = border.axis
        return np.asarray(np.shape(bench.tensors[tensor])[axis] - 1 - table)

    def _named(self, border: Border) -> tuple[set[str], set[str]]:
        """All names in a border, and the indices that it binds itself."""
        if border not in self._names:
            batch = {syntax.BATCH for n in border.node.walk() if isinstance(n, syntax.Batch)}
            self._names[border] = names_in(border.node) | batch, bound_in(border.node)
        return self._names[border]

    def _key(self, border: Border, sizes: Sizes) -> tuple[object, ...]:
        return id(border.root), tuple(sizes.items())

    def extents_of(self, border: Border) -> tuple[tuple[str, int], ...]:
        """The extents of the indices in a border at the first sizes; none where that cannot be told."""
        named, _ = self._named(border)
        try:
            ranges = self.ranges_of(border, self.trial.court.points.main[0])
        except (ClaimError, *FAULTS):
            return ()
        return tuple((i, n) for i, n in ranges.items() if i in named)

    def ranges_of(self, border: Border, point: Point) -> dict[str, int]:
        """The extents of all indices of the expression in which a border stands, at a point. Raises as a bench does."""
        return self._ranges_of(border, self._bench(point, border, FLOAT))

    def _ranges_of(self, border: Border, bench: Bench) -> dict[str, int]:
        """The extents of all indices of the expression in which a border stands."""
        key = self._key(border, bench.world.sizes)
        if key not in self._ranges:
            self._ranges[key] = bench.ranges(*self._said_of(border, bench))
        return self._ranges[key]

    def _said_of(self, border: Border, bench: Bench) -> tuple[tuple[str, ...], syntax.Node, list[Given]]:
        """What the indices of the expression are found from."""
        line = border.line
        if line.indices is None or line.role == "helper":
            return free_names(line.indices or (), self.spec), border.root, []
        return free_names(line.indices, self.spec), border.root, [(line.indices, self._left(border, bench), line.name)]

    def _left(self, border: Border, bench: Bench) -> tuple[int, ...]:
        """The extents of the left side of a line."""
        line = border.line
        if line.role != "jacobian":
            return self._extents(line.tensor or line.name, line.indices or (), bench)
        left = line.statement.left
        assert isinstance(left, syntax.Call)
        parts = ((tensor_of(n), n.indices if isinstance(n, syntax.Access) else ()) for n in left.arguments)
        return tuple(e for name, indices in parts for e in self._extents(name, indices, bench))

    def _extents(self, name: str, indices: Sequence[syntax.Node], bench: Bench) -> tuple[int, ...]:
        """Those of a tensor, or of a gradient, with its batch axes as one."""
        tensor = name if name in self.spec.shapes else gradient_names(self.spec)[name]
        empty = np.broadcast_to(np.zeros((), dtype=object), shape_of(self.spec.shapes[tensor], bench.world.sizes))
        return bench.flat(name, empty, indices).shape

    # Sizes alone

    def at_sizes(self, border: Border, sizes: Sizes) -> np.ndarray | None:
        """A border that depends on indices and sizes only: no numbers are drawn for it."""
        if (extents := self._symbolic(border)) is None:
            return self.values(border, Hollow(sizes, {}, {}))
        ranges = {i: extent_of(extent, sizes) for i, extent in extents.items()}
        entries = math.prod(ranges.values())
        self.spent, self.entries = self.spent + 1, self.entries + entries
        if entries > MOST_ENTRIES or any(n < 0 for n in ranges.values()):
            return None
        scalars: dict[str, Fraction | int] = {
            **self.spec.constants,
            **{n: v for n, v in sizes.items() if isinstance(v, int)},
        }
        grid = Grid(GridMath(numbers_over(FLOAT)), ranges, _nothing, scalars)
        try:
            with np.errstate(all="ignore"):
                return np.asarray(grid.evaluate(border.node, [*ranges]))
        except (Unsupported, *FAULTS):
            return None

    def _symbolic(self, border: Border) -> dict[str, Expr] | None:
        """The extents of a border's indices in sizes, where it is made of such indices and of numbers alone."""
        if border not in self._symbols:
            self._symbols[border] = self._found_symbolic(border)
        return self._symbols[border]

    def _found_symbolic(self, border: Border) -> dict[str, Expr] | None:
        sizes = self.trial.court.points.plan[0]
        named, bound = self._named(border)
        known = {*self.spec.constants, *sizes, *NUMBER_NAMES}
        if not border.indexed or border.axis is not None or bound or syntax.BATCH in sizes:
            return None
        try:
            bench = self._bench(Hollow(sizes, {}, {}), border, FLOAT)
            said = bench.collected(*self._said_of(border, bench))
            said.resolve()
        except (ClaimError, *FAULTS):
            return None
        found = {i: said.symbolic(i) for i in said.order if i in named}
        if not named <= known | found.keys():
            return None
        return None if None in found.values() else found  # type: ignore[return-value]

    def over_sizes(self, border: Border, choices: Sequence[Sizes]) -> Iterator[tuple[Sizes, np.ndarray | None]]:
        """The same at many choices, one after the other; of a border without indices, over all of them at once."""
        values = self._of_sizes_alone(border, choices)
        if values is not None:
            yield from zip(choices, values, strict=True)
        else:
            yield from ((sizes, self.at_sizes(border, sizes)) for sizes in choices)

    def _of_sizes_alone(self, border: Border, choices: Sequence[Sizes]) -> np.ndarray | None:
        """A row for each choice; None where it has indices, or cannot be computed over all choices."""
        sizes = {n for n in (choices[0] if choices else ()) if n != syntax.BATCH}
        written = self._without_scalars(border.node)
        batched = any(isinstance(n, syntax.Batch) for n in written.walk())
        if border.axis is not None or batched or not names_in(written) <= {*sizes, *self.spec.constants, *NUMBER_NAMES}:
            return None

        def as_entry(node: syntax.Node) -> syntax.Node:
            if isinstance(node, syntax.Name) and node.id in sizes:
                return syntax.Access(node.id, (syntax.Name(CHOICE),))
            return node

        def read(name: str, _: int) -> np.ndarray:
            return np.array([choice[name] for choice in choices], dtype=float)

        grid = Grid(GridMath(numbers_over(FLOAT)), {CHOICE: len(choices)}, read, self.spec.constants)
        try:
            with np.errstate(all="ignore"):
                return np.reshape(grid.evaluate(map_nodes(written, as_entry), (CHOICE,)), (-1, 1))
        except (Unsupported, *FAULTS):
            return None

    def _without_scalars(self, node: syntax.Node) -> syntax.Node:
        """The expression with what has no axes written out, as the ``M = N * H`` of a helper."""
        scalars = {e.tensor: e.right for e in self.spec.equations if not e.indices}
        scalars |= {h.name: h.statement.sides[0] for h in self.trial.court.helpers if h.indices is None}
        for _ in scalars:
            if node.size > MOST_WRITTEN:
                break
            node = map_nodes(node, lambda n: scalars.get(n.id, n) if isinstance(n, syntax.Name) else n)
        return node

    def is_fixed(self, border: Border, sizes: Sizes, others: Sizes) -> bool:
        """Whether a border of indices and sizes is about indices alone, of the same extents at two choices of sizes."""
        named, _ = self._named(border)
        if not border.indexed or named & sizes.keys():
            return False
        try:
            benches = (self._bench(Hollow(s, {}, {}), border, FLOAT) for s in (sizes, others))
            first, second = (self._ranges_of(border, bench) for bench in benches)
        except (ClaimError, *FAULTS):
            return False
        return all(first[i] == second[i] for i in first if i in named)

    # Smoothness

    def smooth(self, point: Point) -> bool:
        """Whether the forward is finite at a point and has a derivative there, however near a kink is."""
        points = self.trial.court.points
        distance = points.distance(point)
        if distance > 1e-9:
            return True
        if points.chooser.work(point.sizes) > MOST_EXACT:
            return False
        try:
            near = self._exact_distance(point, EXACT)
            return near > TOUCHING or (near > 0 and self._exact_distance(point, with_digits(MANY)) > near / 2)
        except FAULTS:
            return False

    def _exact_distance(self, point: Point, base: Exact) -> float:
        """How far a point is from the nearest kink of the forward, in numbers of so many digits; 0 without a value."""
        evaluator = Evaluator.of(self.spec, point.inputs, point.sizes, base, watch=True)  # type: ignore[arg-type]
        outputs = [evaluator.tensor(name) for name in self.spec.outputs]
        return nearest(marked(self.spec, evaluator.kinks)) if all(finite(v) for a in outputs for v in a.flat) else 0


MOST_EXACT = 500
"""Multiplications of a forward that is computed exactly, entry by entry, to see how near a kink is."""


def _nothing(name: str, _: int) -> np.ndarray:
    raise Unsupported


class Hollow(Point):
    """A point without numbers, for what depends on sizes only."""

    def world(self, spec: model.Spec, base: Domain = FLOAT) -> World:
        """The world of zeros, none of which are stored."""
        return World(spec, self.sizes, self.inputs, self.upstreams, base, constants=self.constants)

    def zeros(self, spec: model.Spec) -> dict[str, Callable[[], np.ndarray]]:
        """Arrays of the right shapes for all tensors and gradients, made when they are asked for."""

        def made(of: str) -> np.ndarray:
            return np.broadcast_to(np.zeros((), dtype=object), shape_of(spec.shapes[of], self.sizes))

        return {n: partial(made, of) for n, of in {**{n: n for n in spec.shapes}, **gradient_names(spec)}.items()}
