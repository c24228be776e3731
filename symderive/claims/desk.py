"""The desk at which a failed claim is examined: it tries changed claims, by floats first and then exactly."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from symderive.check.floats import FLOAT
from symderive.check.objects import floats
from symderive.claims.bench import Bench, free_names, label
from symderive.claims.compare import FAR_OFF, FINE, close_in_scale, close_where_finite
from symderive.claims.lines import FAULTS, ClaimError, Line, NotJudged, names_in
from symderive.claims.points import Point
from symderive.claims.ratios import REST, Ratio, name_ratio
from symderive.claims.scouting import is_singular
from symderive.claims.stacks import prepare
from symderive.claims.trees import number
from symderive.claims.weight import slowness
from symderive.errors import SymderiveError
from symderive.record import record
from symderive.spec import syntax
from symderive.spec.format import to_text

if TYPE_CHECKING:
    from symderive.claims.conditions import Condition
    from symderive.claims.court import Court
    from symderive.claims.edit_tools import Tried
    from symderive.claims.outcome import Outcome
    from symderive.claims.trial import Trial

MOST_WORK = 36_000
"""Nodes of candidates computed in the search for an explanation, on any machine alike, before it is given up."""

SHARE = MOST_WORK // 3
"""What one sort of explanation may take of it at most, but for single changes, which leave as much to those behind."""

EXACTLY = 60, 7
"""What it takes to judge a candidate exactly, for each node and for each multiplication of the forward."""

ONCE = Fraction(1, 12)
"""The part of that which one point takes."""

EACH = 10
"""What it takes to make a candidate, in such nodes."""

ZERO = 1e-12
"""What rounding leaves of 0, beside the truth."""

SAME = 1e-13
"""How near floats are that differ by rounding only."""

FORWARD = 50
"""What it takes to compute an equation of another forward, and to differentiate it."""

SECONDS = 4
"""How much processor time the search may take on a machine that is very slow, or very busy."""


@record
class Finding:
    """An explanation: its kind, a sentence, and the right side that it leads to, in the claim's own style.

    Of ``several`` mistakes the kind is that of the first one. ``lacked`` is the term, or the factor, that is missing.
    """

    kind: str
    sentence: str
    corrected: syntax.Node | None = None
    left: str | None = None
    several: bool = False
    lacked: syntax.Node | None = None


class Desk:
    """A failed side, the truth, and ways to try a changed side."""

    def __init__(self, trial: Trial, outcome: Outcome, condition: Condition | None) -> None:
        self.trial = trial
        self.spec = trial.spec
        self.court = trial.court
        self.line = trial.line
        self.node = trial.node
        self.outcome = outcome
        self.condition = condition
        self.spent = 0
        self.end = time.thread_time() + SECONDS
        self._others: dict[tuple[int, int], Bench] = {}
        self._texts: dict[int, tuple[syntax.Node, str]] = {}
        self.found: dict[str, Any] = {}
        """What explanations that are asked for more than once have found."""
        self.tried: list[Tried] = []
        """The single changes of the claim that were tried, and what each is worth at the first point."""
        self.most = MOST_WORK
        self.gave_up = False

    @property
    def late(self) -> bool:
        """Whether the search has taken so much work that it is given up."""
        return self.spent > self.most or time.thread_time() > self.end

    def allow(self, work: int) -> None:
        """So much more work from now on."""
        self.gave_up |= self.late
        self.most = self.spent + work

    @cached_property
    def slowness(self) -> int:
        """How many times as long as others an expression of this claim takes."""
        return slowness(self.trial, self.points[0].sizes)

    def spend(self, node: syntax.Node) -> None:
        """Note that an expression is computed."""
        self.spent += node.size * self.slowness

    def spend_forward(self) -> None:
        """Note that another forward is computed and differentiated at both points."""
        self.spent += FORWARD * len(self.spec.equations)

    @property
    def misshapen(self) -> bool:
        """Whether the claim has no value of the right shape."""
        return self.outcome.error is not None and self.outcome.error.reason == "shape"

    @cached_property
    def free(self) -> tuple[str, ...]:
        """The indices on the left side of the claim."""
        return free_names(self.line.indices or (), self.spec)

    @cached_property
    def by_index(self) -> bool:
        """Whether the claim is in index form, as a scalar with a sum over indices is without any on its left side."""
        if self.line.indices is not None or self.truths[0].ndim:
            return self.line.indices is not None
        return any(isinstance(n, syntax.Binder) for n in self.node.walk())

    @cached_property
    def stated(self) -> syntax.Statement | None:
        """The formula of what is claimed, in index form: derived, or one step from gradients where the claim is."""
        readers = {f"d{e.tensor}" for e in self.spec.equations if self.line.tensor in names_in(e.right)}
        steps = self.line.role == "gradient" and names_in(self.node) & readers
        return self.step if steps and self.step is not None else self.court.derived.stated(self.line)

    @cached_property
    def step(self) -> syntax.Statement | None:
        """The derived formula of a gradient as one step of the chain rule."""
        return self.court.derived.step(self.line) if self.line.role == "gradient" else None

    @cached_property
    def sizes(self) -> list[str]:
        """The names of the sizes that are numbers."""
        return [n for n, v in self.points[0].sizes.items() if isinstance(v, int)]

    @cached_property
    def followers(self) -> list[str]:
        """The tensors of the forward that depend on the claim's own, in order."""
        found = {self.line.tensor}
        for equation in self.spec.equations:
            if names_in(equation.right) & found:
                found.add(equation.tensor)
        return [e.tensor for e in self.spec.equations if e.tensor in found and e.tensor != self.line.tensor]

    @cached_property
    def points(self) -> list[Point]:
        """Two points of different sizes."""
        points = self.court.points
        pair = points.pair
        if self.outcome.sides is not None and self.outcome.point is not pair[0] and self.trial.at(pair[0]).holds:
            pair = points.partnered(self.outcome.point)
        if not self.tells(pair[0]):
            telling = next((p for p in points.main if not p.note and self.tells(p)), pair[0])
            pair = pair if telling is pair[0] else points.partnered(telling)
        for attempt in range(1, 5):
            if self.tells(pair[1]):
                break
            pair = points.partnered(pair[0], attempt)
        return pair

    def tells(self, point: Point) -> bool:
        """Whether the truth is not just 0 at a point, as behind a ``relu`` that is off."""
        try:
            return bool(np.any(self.truth(self.court.bench(point, FLOAT))))
        except ClaimError:
            return True

    @cached_property
    def varied(self) -> tuple[Court, Point] | None:
        """A point with other constants, which tells a factor 2 from a constant that is 2."""
        from symderive.claims.constants import varied_constants

        known = self.court.with_other_constants
        if id(self.points[0]) not in known:
            known[id(self.points[0])] = varied_constants(self.trial, self.points[0])
        return known[id(self.points[0])]

    @cached_property
    def ratio_benches(self) -> list[Bench]:
        """The benches at which a ratio must agree to have a name."""
        return [court.bench(point, FLOAT) for court, point in self._grounds]

    @cached_property
    def _grounds(self) -> list[tuple[Court, Point]]:
        return [*((self.court, p) for p in self.points), *([self.varied] if self.varied else [])]

    def named(self, values: Sequence[float]) -> Ratio | None:
        """A name for a ratio that has these values on the first of the ratio benches."""
        worlds = [b.world for b in self.ratio_benches[: len(values)]]
        known = [{n: float(v) for n, v in w.sizes.items() if isinstance(v, int) and v > 1} for w in worlds]
        if len(values) > len(self.benches):
            for names, world in zip(known, worlds, strict=True):
                names |= {n: float(v) for n, v in world.constants.items()}
                names |= {f"{REST}{n}": 1 - float(v) for n, v in world.constants.items() if v not in (0, 1)}
        return name_ratio(values, known, {*self.spec.constants, *(f"{REST}{n}" for n in self.spec.constants)})

    def alongside(self, bench: Bench, number: int) -> Bench:
        """Another bench of the same sizes and constants, where one has too few entries to tell."""
        if (id(bench), number) not in self._others:
            court, point = next(g for g, b in zip(self._grounds, self.ratio_benches, strict=True) if b is bench)
            other = replace(court.points.point(point.sizes), constants=point.constants)
            self._others[id(bench), number] = court.bench(other, FLOAT)
        return self._others[id(bench), number]

    @cached_property
    def benches(self) -> list[Bench]:
        """Their benches, in floats."""
        return [self.court.bench(p, FLOAT) for p in self.points]

    @cached_property
    def truths(self) -> list[np.ndarray]:
        """What the left side is worth, in floats."""
        return [self.truth(b) for b in self.benches]

    def truth(self, bench: Bench) -> np.ndarray:
        """The truth on a bench, as floats, over the indices of the left side, each once."""
        true, indices = bench.truth(self.line)
        if self.line.indices is not None and [label(i) for i in indices] != list(free_names(indices, self.spec)):
            true = bench.sides(self.line, number(0)).true
        return bench.world.floats(true)

    @cached_property
    def claimed(self) -> list[np.ndarray] | None:
        """What the claim is worth, whatever its shape; None where it has no value."""
        try:
            return [self.value(b, self.node) for b in self.benches]
        except (ClaimError, SymderiveError):
            return None

    @cached_property
    def vanishes(self) -> bool:
        """Whether the claim is 0 throughout, but for rounding, as many a formula with a mistake in it is."""
        pairs = zip(self.claimed or (), self.truths, strict=False)
        scales = [(np.abs(c).max(initial=0), np.abs(t).max(initial=0)) for c, t in pairs]
        return bool(scales) and all(claimed <= ZERO * true for claimed, true in scales)

    def laid_out(self, bench: Bench, array: np.ndarray) -> np.ndarray:
        """An array of the tensor's shape with an axis for each index of the left side."""
        if self.line.indices is None:
            return array
        return bench.flat(self.line.name, array, self.line.indices).astype(array.dtype)

    def value(self, bench: Bench, node: syntax.Node, line: Line | None = None) -> np.ndarray:
        """An expression on a bench as floats, over the indices of the left side. Raises :class:`ClaimError`."""
        kept = bench.interpreter.kept
        before = 0 if kept is None else kept.computed
        try:
            return self._computed(bench, node, line or self.line)
        finally:
            nodes = node.size if kept is None else EACH + kept.computed - before
            self.spent += nodes * self.slowness

    def _computed(self, bench: Bench, node: syntax.Node, line: Line) -> np.ndarray:
        if line.indices is None:
            return floats(bench.plain_array(node))
        free = free_names(line.indices, self.spec)
        true, indices = bench.truth(line)
        ranges = bench.ranges(free, node, [(indices, true.shape, line.name)])
        return bench.world.floats(bench.table(node, free, ranges))

    def first_value(self, node: syntax.Node) -> np.ndarray | None:
        """What a changed side is worth at the first point, whatever its shape; None where it has no value."""
        try:
            return self.value(self.benches[0], node)
        except (ClaimError, NotJudged, *FAULTS):
            return None

    def may_fit(self, value: np.ndarray | None) -> bool:
        """Whether a side that is worth that at the first point may be right."""
        true = self.truths[0]
        return value is not None and (value.shape != true.shape or close_where_finite(value, true))

    def about(self, line: Line, node: syntax.Node) -> Desk:
        """A desk for another side about the same, at the same points."""
        other = Desk(type(self.trial)(self.court, line, node), self.outcome, None)
        other.points = self.points
        return other

    def fits(self, node: syntax.Node, line: Line | None = None, like: syntax.Node | None = None) -> bool:
        """Whether a changed side is right: by floats at two points, then exactly wherever a claim is judged.

        Of one that is worth what another is, which is known to be right, less is asked.
        """
        line = line or self.line
        try:
            for bench in self.benches:
                self.spend(node)
                if not bench.agrees(line, node):
                    return False
            if line is self.line and self.is_apart and self._says_the_same(node):
                return False
            trial = type(self.trial)(self.court, line, node)
            for bench, point in zip(self.elsewhere, self.court.points.main, strict=True):
                if not self._near(bench, line, node) and not self._holds(trial, point, ONCE):
                    return False
            prepare(self.court, self.court.points.scouts)
            doubtful = next((p for p in self.court.points.scouts if self._far_off(trial, p)), self.points[0])
            if not (outcome := trial.at(doubtful)).holds and not is_singular(trial, outcome):
                return False
            return self._holds(trial, self.points[0]) and (self._is_like(node, like) or trial.is_right())
        except (ClaimError, NotJudged, *FAULTS):
            return False

    def _is_like(self, node: syntax.Node, other: syntax.Node | None) -> bool:
        """Whether a side is worth what another is, in floats, at all points that a claim is judged at."""
        if other is None:
            return False
        benches = [*self.benches, *self.elsewhere]
        return all(close_where_finite(self.value(b, node), self.value(b, other), FINE) for b in benches)

    def _near(self, bench: Bench, line: Line, node: syntax.Node) -> bool:
        """Whether floats agree at a point: cheaper than exact numbers, which need not be asked where they do not."""
        self.spend(node)
        return bench.agrees(line, node)

    def _holds(self, trial: Trial, point: Point, part: Fraction = Fraction(1)) -> bool:
        """Whether a changed side holds at a point exactly; where numbers cancel, floats may say that it does not.

        ``part`` of what a whole verdict takes is noted.
        """
        nodes = sum(e.right.size for e in self.spec.equations)
        self.spent += int(part * (EXACTLY[0] * nodes + EXACTLY[1] * self.court.points.chooser.work(point.sizes)))
        return trial.at(point).holds

    def _far_off(self, trial: Trial, point: Point) -> bool:
        """Whether floats say that a changed side fails; far out they cancel, so that exact numbers must be asked."""
        self.spend(trial.node)
        return not self.court.bench(point, FLOAT).agrees(trial.line, trial.node, FAR_OFF)

    @cached_property
    def is_apart(self) -> bool:
        """Whether the claim has the shape of the truth, and floats tell them apart, if only just."""
        if self.claimed is None or any(c.shape != t.shape for c, t in zip(self.claimed, self.truths, strict=True)):
            return False
        return not all(b.agrees(self.line, self.node, FINE) for b in self.benches)

    def _says_the_same(self, node: syntax.Node) -> bool:
        """Whether a changed side is worth what the claim is: it is as wrong, then."""
        assert self.claimed is not None
        values = [self.value(b, node) for b in self.benches]
        return all(
            v.shape == c.shape and bool((np.abs(v - c) <= SAME * np.abs(c)).all())
            for v, c in zip(values, self.claimed, strict=True)
        )

    def fits_truth(self, compute: Callable[[Bench], np.ndarray | None]) -> bool:
        """Whether what ``compute`` makes of a bench equals the claim, in floats at both points and at all others."""
        if self.claimed is None:
            return False
        for bench, claimed in zip(self.benches, self.claimed, strict=True):
            if not _equals(bench, compute(bench), claimed):
                return False
        return all(_equals(b, compute(b), self.value(b, self.node)) for b in self.elsewhere)

    @cached_property
    def elsewhere(self) -> list[Bench]:
        """The benches of all points that a claim is judged at, in floats: on every side of every kink."""
        prepare(self.court, self.court.points.main)
        return [self.court.bench(p, FLOAT) for p in self.court.points.main]

    def retargeted(self, tensor: str) -> Line | None:
        """The same line as a claim about the gradient of another tensor; None where the ranks differ."""
        rank = len(self.spec.shapes[tensor])
        if self.line.indices is not None and rank != len(self.line.indices):
            return None
        return replace(self.line, role="gradient", name=f"d{tensor}", tensor=tensor)

    def left_permuted(self, order: Sequence[int]) -> Line:
        """The same line with its indices in another order."""
        assert self.line.indices is not None
        return replace(self.line, indices=tuple(self.line.indices[i] for i in order))

    def text(self, node: syntax.Node) -> str:
        """An expression as it would be written, worked out once: changes name the same parts again and again."""
        known = self._texts.get(id(node))
        if known is None:
            known = self._texts[id(node)] = node, to_text(node)
        return known[1]


def _equals(bench: Bench, found: np.ndarray | None, claimed: np.ndarray) -> bool:
    return found is not None and close_in_scale(bench.world.floats(found), claimed)
