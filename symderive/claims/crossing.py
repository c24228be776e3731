"""Points on every side of the borders that a claim draws itself, on them, and close to them.

Where all points at hand lie on one side, others are looked for: inputs and upstreams, or single entries of them, are
made larger, smaller and of the other sign, and the border says how near one has come. Between two points on different
sides, bisection finds two that straddle it closely: a border in the wrong place fails at one of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from symderive.check.exact import EXACT
from symderive.check.objects import objects
from symderive.claims.borders import POLE, Border, borders, together
from symderive.claims.moves import Move, allowed, moved, moves
from symderive.claims.points import FAR, SIDE, Point
from symderive.claims.probe import Probe
from symderive.claims.reach import far

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

MOST_BORDERS = 12
MOST_OTHERS = 4
"""Points that lend what a border does not depend on."""

STEPS = 36
"""Of a bisection, so that the border of a claim is told from that of the forward at 3 and at 3.00001."""

MOST_SPENT = 1000
"""Values of borders that are computed for one claim."""

NOTE = "a border of the claim"
HAIR = Fraction(1, 2**20)


def straddling(trial: Trial, more: Sequence[Point] = ()) -> Iterator[tuple[Point, bool]]:
    """Points on each side of each border of the claim, and of the helpers that it uses, and close to it.

    With each comes whether a difference there may be too small for floats.
    Where a side is found at the usual sizes nowhere, it is looked for from ``more`` points of other ones.
    """
    probe = Probe(trial)
    real = [b for b in borders(trial) if not probe.is_sized(b)][:MOST_BORDERS]
    if real:
        seeker = Seeker(probe, more, any(b.signs != POLE for b in real))
        for border in [*real, *together(real)]:
            yield from seeker.around(border)


class Seeker:
    """Looks for points at which borders have signs that they have at no point at hand."""

    def __init__(self, probe: Probe, more: Sequence[Point], sided: bool) -> None:
        self.probe = probe
        self.more = more[:MOST_OTHERS]
        self.known: dict[Border, list[tuple[Point, np.ndarray]]] = {}
        self.trial = probe.trial
        points = self.trial.court.points
        first = [*points.main, *points.scouts, *(far(self.trial.court) if sided else ())]
        self.at_hand = [p for p in first if p.sizes == points.plan[0]]

    def around(self, border: Border) -> Iterator[tuple[Point, bool]]:
        """Points on all sides of a border that matter, and close to it."""
        values = self._known(border)
        if not values:
            return
        for plain in _without_steps(border, [v for _, v in values]):
            yield from self._around(plain, [(p, _from_step(plain, v)) for p, v in values])

    def _known(self, border: Border) -> list[tuple[Point, np.ndarray]]:
        """A border at all points at hand; one of several parts follows from theirs."""
        if border not in self.known and border.parts:
            signed = [[(p, s * v) for p, v in self._known(part)] for part, s in border.parts]
            if (
                len({len(values) for values in signed}) > 1
                or len({v.shape for values in signed for _, v in values}) > 1
            ):
                return []
            columns = zip(*signed, strict=True)
            self.known[border] = [(row[0][0], np.minimum.reduce([v for _, v in row])) for row in columns]
        elif border not in self.known:
            found = ((p, self.probe.values(border, p)) for p in self.at_hand)
            self.known[border] = [(p, v) for p, v in found if v is not None]
        return list(self.known[border])

    def _around(self, border: Border, values: list[tuple[Point, np.ndarray]]) -> Iterator[tuple[Point, bool]]:
        ends = two_sides(values)
        for sign in (s for s in border.signs if s):
            seen = next((p for p, v in values if _has(v, sign)), None)
            found = self.reach(border, sign, values) if seen is None else None
            if found is not None:
                values.append(found)
            elif seen is None:
                found = self._elsewhere(border, sign)
            if found is not None:
                yield found[0], True
            elif seen is not None and seen.note == FAR:  # there floats do not see a small difference
                yield seen, True
        ends = ends or two_sides(values)
        if ends is not None and len(border.signs) > 1 and not _jumps(v for _, v in values):
            others = sorted((p for p in self.at_hand if p not in ends[:2]), key=lambda p: p.note != SIDE)[:MOST_OTHERS]
            rest = self._apart_from(border)
            for point in self.bisected(border, *ends):
                if self.probe.smooth(point):
                    yield point, True
                    yield from ((_taken(point, other, rest), False) for other in others if rest)
        if 0 in border.signs:
            yield from ((p, True) for p in self._on(border, values))

    def _elsewhere(self, border: Border, sign: int) -> tuple[Point, np.ndarray] | None:
        for point in self.more:
            if (value := self._at(border, point)) is not None and (found := self.reach(border, sign, [(point, value)])):
                return found
        return None

    def _apart_from(self, border: Border) -> set[str]:
        """The inputs, and the outputs whose upstreams, a border does not depend on; none where that cannot be told."""
        behind = self.probe.behind(border)
        if behind & self.probe.tensors - self.probe.made.keys() - self.probe.leaves.keys():
            return set()
        return {of for name, of in self.probe.leaves.items() if name not in behind}

    # The other side

    def reach(
        self, border: Border, sign: int, values: list[tuple[Point, np.ndarray]]
    ) -> tuple[Point, np.ndarray] | None:
        """A point at which a border has a sign that it has nowhere yet: one input after the other is changed."""

        def goal(v: np.ndarray | None) -> float:
            return -np.inf if v is None or not v.size else float(np.nanmax(np.where(np.isnan(v), -np.inf, sign * v)))

        def highest(some: Sequence[tuple[Point, np.ndarray]]) -> tuple[Point, np.ndarray]:
            return max(some, key=lambda pair: goal(pair[1]))

        found = self._climbed(border, sign, highest(values), goal, self._moves)
        usual = [pair for pair in values if pair[0].note != FAR]  # far out there may be no way up, in floats
        return found or (self._climbed(border, sign, highest(usual), goal, lambda *_: ()) if usual else None)

    def _climbed(
        self,
        border: Border,
        sign: int,
        start: tuple[Point, np.ndarray],
        goal: Callable[[np.ndarray | None], float],
        steps: Callable[[Border, Point], Iterable[Move]],
    ) -> tuple[Point, np.ndarray] | None:
        """Such a point, come to from one at hand by some steps; where none of them goes up, by small ones."""
        point, best = start
        for _ in range(ROUNDS):
            before = goal(best)
            for move in steps(border, point):
                if self.probe.spent > MOST_SPENT:
                    return None
                value = self._at(border, other := moved(point, move))
                if value is not None and _has(value, sign) and self.probe.smooth(other):
                    return replace(other, note=NOTE), value
                if value is not None and goal(best) < goal(value) < np.inf and not _has(value, sign):
                    point, best = other, value
            if goal(best) == before:
                if (nearer := self._nearer(border, point, before, goal)) is None:
                    return None
                point, best = nearer
                if _has(best, sign):
                    return (replace(point, note=NOTE), best) if self.probe.smooth(point) else None
        return None

    def _nearer(self, border: Border, point: Point, best: float, goal: Any) -> tuple[Point, np.ndarray] | None:
        """The point with one tensor a little larger or smaller, where that comes nearer to the other side."""
        for name in sorted({m.name for m in self._moves(border, point) if m.constant is None}):
            if self.probe.spent > MOST_SPENT:
                return None
            other = moved(point, self._refined(border, point, Move(name), best, goal))
            value = self._at(border, other)
            if value is not None and goal(value) > best:
                return other, value
        return None

    def _at(self, border: Border, point: Point) -> np.ndarray | None:
        value = self.probe.values(border, point)
        return None if value is None else _from_step(border, value)

    def _moves(self, border: Border, point: Point) -> Iterator[Move]:
        return moves(self.trial.spec, point, self._own(border), few=not self.probe.is_plain(border))

    def _refined(self, border: Border, point: Point, move: Move, best: float, goal: Any) -> Move:
        """A move by a factor near that of another that comes nearer still."""
        width = Fraction(2)
        for _ in range(16):
            for factor in (move.factor * width, move.factor / width):
                near = replace(move, factor=factor)
                reached = goal(self._at(border, moved(point, near)))
                if best < reached < np.inf:
                    move, best = near, reached
                    break
            else:
                width = 1 + (width - 1) / 4
        return move

    # Close to it

    def bisected(self, border: Border, a: Point, b: Point, at: tuple[int, ...]) -> Iterator[Point]:
        """Two points close to a border, on either side of it, between two that have different signs at an entry."""
        low, high = Fraction(0), Fraction(1)
        first = self._at(border, a)
        if first is None:
            return
        for _ in range(STEPS):
            middle = (low + high) / 2
            value = self._at(border, self._between(a, b, middle))
            if value is None or value.shape != first.shape:
                return
            if value[at] * first[at] > 0:
                low = middle
            else:
                high = middle
        yield self._between(a, b, low)
        yield self._between(a, b, high)

    def _between(self, a: Point, b: Point, part: Fraction) -> Point:
        """The point that divides the way from one to another; what is not any real number stays that of the first."""
        free = [i.name for i in self.trial.spec.inputs if i.is_real and not {"one_hot", "binary"} & set(i.assume)]

        def divided(first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray], name: str) -> np.ndarray:
            return objects(first[name]) * (1 - part) + objects(second[name]) * part

        inputs = {n: divided(a.inputs, b.inputs, n) for n in free}
        upstreams = {n: divided(a.upstreams, b.upstreams, n) for n in a.upstreams}
        return replace(a, inputs={**a.inputs, **inputs}, upstreams=upstreams, note=NOTE)

    # On it

    def _on(self, border: Border, values: list[tuple[Point, np.ndarray]]) -> Iterator[Point]:
        """Points on a border, by the secants along single entries, and beside them: exactly on it, or none."""
        if any((v == 0).any() for _, v in values) or not self.probe.is_plain(border):
            return
        point = values[0][0]
        seen: set[str] = set()
        for move in (m for m in self._moves(border, point) if m.constant is not None):
            value = self._at(border, other := moved(point, move))
            if value is not None and (value == 0).any() and self.probe.smooth(other):
                yield replace(other, note=NOTE)
        for move in moves(self.trial.spec, point, self._own(border), steps=True):
            if move.name in seen:
                continue
            if (found := self._solved(border, point, move)) is not None:
                seen.add(move.name)
                beside = () if border.signs == POLE else (1 + HAIR, 1 - HAIR)
                for factor in (1, *beside):
                    near = moved(found[0], replace(found[1], factor=Fraction(factor)))
                    if allowed(self.trial.spec, near, move.name) and self.probe.smooth(near):
                        yield replace(near, note=NOTE)

    def _own(self, border: Border) -> set[str]:
        """The inputs, and the outputs whose upstreams, a border depends on."""
        return {of for name, of in self.probe.leaves.items() if name in self.probe.behind(border)}

    def _solved(self, border: Border, point: Point, move: Move) -> tuple[Point, Move] | None:
        """The point at which a border is 0 as one entry changes; and the move that changes just that entry."""
        start = self._exact(border, point, move, Fraction(0))
        other = self._exact(border, point, move, NEAR)
        if start is None or other is None or start.shape != other.shape:
            return None
        changed = [at for at in np.ndindex(*start.shape) if start[at] != other[at]]
        for at in changed[:1]:
            a, b, u, v = Fraction(0), NEAR, start[at], other[at]
            for _ in range(SECANTS):
                if u == v or not all(isinstance(n, int | Fraction) for n in (u, v)):
                    return None
                a, b, u = b, a - u * (b - a) / (v - u), v
                value = self._exact(border, point, move, b)
                if value is None:
                    return None
                v = value[at]
                if v == 0:
                    return moved(point, replace(move, shift=b)), replace(move, shift=Fraction(0))
        return None

    def _exact(self, border: Border, point: Point, move: Move, shift: Fraction) -> np.ndarray | None:
        value = self.probe.values(border, moved(point, replace(move, shift=shift)), EXACT)
        return None if value is None else objects(value - (border.step or 0))


NEAR = Fraction(1, 7)
"""Where a secant begins."""

ROUNDS = 3
SECANTS = 3


def _jumps(values: Iterable[np.ndarray]) -> bool:
    """Whether a border takes whole values only, so that nothing is close to it: what it jumps at has borders too."""
    return all((v == np.floor(v)).all() for v in values)


def _has(values: np.ndarray, sign: int) -> bool:
    return bool((np.sign(values) == sign).any())


def _from_step(border: Border, values: np.ndarray) -> np.ndarray:
    """How far values are past a step, which is passed where it is reached."""
    if border.step is None:
        return values
    past = values - float(border.step)
    return np.where(past == 0, np.finfo(float).tiny, past)


def _taken(point: Point, other: Point, names: set[str]) -> Point:
    """A point with some inputs and upstreams of another, so that what decides it does not stay on one side."""
    inputs = {n: other.inputs[n] if n in names else a for n, a in point.inputs.items()}
    upstreams = {n: other.upstreams[n] if n in names else a for n, a in point.upstreams.items()}
    return replace(point, inputs=inputs, upstreams=upstreams)


def _without_steps(border: Border, values: list[np.ndarray]) -> Iterator[Border]:
    """A border with steps as borders at single steps: between the values seen, or next to them."""
    if border.step is None:
        yield border
        return
    finite = np.concatenate([v[np.isfinite(v)].ravel() for v in values])
    if not finite.size or abs(finite).max() > LARGEST_STEP:
        return
    half = border.step
    low, high = (int(np.floor(n + float(half))) for n in (finite.min(), finite.max()))
    for step in {low, low + 1} if low == high else {low + 1}:
        yield replace(border, step=step - half)


LARGEST_STEP = 1e15


def two_sides(values: list[tuple[Point, np.ndarray]]) -> tuple[Point, Point, tuple[int, ...]] | None:
    """Two points at which some entry has different signs, and that entry."""
    below, above = ([(p, v) for p, v in values if _has(v, sign)] for sign in (-1, 1))
    for (a, u), (b, v) in itertools.product(below, above) if below and above else ():
        if a is not b and u.shape == v.shape and (differing := np.sign(u) * np.sign(v) < 0).any():
            return a, b, tuple(int(i) for i in np.unravel_index(np.argmax(differing), u.shape))
    return None
