"""Points on every side of the borders that a claim draws itself, on them, and close to them.

Where all points at hand lie on one side, others are looked for: inputs and upstreams, or single entries of them, are
made larger, smaller and of the other sign, and the border says how near one has come. Between two points on different
sides two are found that straddle it closely: a border in the wrong place fails at one of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symderive.check.exact import EXACT
from symderive.check.objects import objects
from symderive.claims.borders import POLE, Border, borders, together
from symderive.claims.brackets import bracketed
from symderive.claims.climbing import NOTE, Climber, from_step, has
from symderive.claims.moves import Move, allowed, between, held, moved, moves, taken
from symderive.claims.points import FAR, SIDE, Point
from symderive.claims.probe import Probe
from symderive.claims.reach import alike_ids, far
from symderive.claims.remembered import Remembered
from symderive.claims.signs import Signs
from symderive.claims.trees import map_nodes
from symderive.spec import syntax
from symderive.spec.folding import fold

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

MOST_BORDERS = 12
MOST_OTHERS = 4
"""Points that lend what a border does not depend on."""

STEPS = 2**48
"""Into which the way from one point to another is divided: the border of a claim at 3 is not that at 3.00001."""

HAIR = Fraction(1, 2**20)


def straddling(trial: Trial, more: Sequence[Point] = ()) -> Iterator[tuple[Point, bool]]:
    """Points on each side of each border of the claim, and of the helpers that it uses, and close to it.

    With each comes whether a difference there may be too small for floats.
    Where a side is found at the usual sizes nowhere, it is looked for from ``more`` points of other ones.
    """
    probe = Probe(trial)
    signs = Signs(trial)
    real = [b for b in signs.of(borders(trial)) if not probe.is_sized(b)][:MOST_BORDERS]
    if real:
        seeker = Seeker(probe, more, any(b.signs != POLE for b in real))
        joined = (b for b in together(real) if not _is_empty(b, trial.spec.constants))
        for border in [*real, *signs.of(joined)]:
            yield from seeker.around(border)


def _is_empty(border: Border, constants: Mapping[str, Fraction]) -> bool:
    """Whether something would be above one number, and below another that is no larger: ``e > 1`` and ``e < -1``."""
    ends = [(*_threshold(part.node, constants), sign) for part, sign in border.parts]
    return any(
        a == b and s != t and (low >= high if s > 0 else high >= low)
        for (a, low, s), (b, high, t) in itertools.combinations(ends, 2)
    )


def _threshold(node: syntax.Node, constants: Mapping[str, Fraction]) -> tuple[syntax.Node, Fraction]:
    """A difference as an expression and the number with which it is compared."""
    if isinstance(node, syntax.Binary) and node.op in ("-", "+"):
        right = map_nodes(node.right, lambda n: _as_number(n, constants))
        if (value := fold(right)) is not None:
            return node.left, value if node.op == "-" else -value
    return node, Fraction(0)


def _as_number(node: syntax.Node, constants: Mapping[str, Fraction]) -> syntax.Node:
    known = isinstance(node, syntax.Name) and node.id in constants
    return syntax.Number(constants[node.id]) if known else node  # type: ignore[attr-defined]


class Seeker:
    """Looks for points at which borders have signs that they have at no point at hand."""

    def __init__(self, probe: Probe, more: Sequence[Point], sided: bool) -> None:
        self.probe = probe
        self.more = more[:MOST_OTHERS]
        self.known: dict[Border, list[tuple[Point, np.ndarray]]] = {}
        self.trial = probe.trial
        self.climber = Climber(probe)
        self.held = held(self.trial.spec)
        points = self.trial.court.points
        first = [*points.main, *points.scouts, *(far(self.trial.court) if sided else ())]
        self.at_hand = [p for p in first if p.sizes == points.plan[0]]

    def around(self, border: Border) -> Iterator[tuple[Point, bool]]:
        """Points on all sides of a border that matter, and close to it."""
        values = self._known(border)
        if not values:
            return
        for plain in _without_steps(border, [v for _, v in values]):
            yield from self._around(plain, [(p, from_step(plain, v)) for p, v in values])

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
            seen, key = self.trial.court.seen, self._key(border)
            if key not in seen:
                found = ((p, self.probe.values(border, p)) for p in self.at_hand)
                seen[key] = [(p, v) for p, v in found if v is not None]
            self.known[border] = seen[key]
        return list(self.known[border])

    def _key(self, border: Border) -> tuple[object, ...]:
        """What makes two borders the same, though different claims draw them: where an index has the same range."""
        parts = *((*self._key(part), sign) for part, sign in border.parts), len(self.trial.court.helpers)
        return border.node, border.step, border.axis, border.indexed, *self.probe.extents_of(border), *parts

    def _around(self, border: Border, values: list[tuple[Point, np.ndarray]]) -> Iterator[tuple[Point, bool]]:
        usual = list(values)
        for sign in (s for s in border.signs if s):
            seen = next((p for p, v in values if has(v, sign)), None)
            found = self.climber.reach(border, sign, values) if seen is None else None
            if found is not None:
                values.append(found)
            elif seen is None:
                found = self._elsewhere(border, sign)
            if found is not None:
                yield found[0], True
                yield from ((p, False) for p in self._varied(border, found[0]))
            elif seen is not None and seen.note == FAR:  # there floats do not see a small difference
                yield seen, True
        if len(border.signs) > 1 and not _jumps(v for _, v in values):
            for ends in list(self.ends(border, usual)) or self.ends(border, values):
                key = *self._key(border), id(ends[0]), id(ends[1]), ends[2]
                yield from self.trial.court.beside.setdefault(key, (ends, Remembered(self._beside(border, ends))))[1]
        if 0 in border.signs and not any((v == 0).any() for _, v in values):
            more = ([(p, v)] for p in self.more if (v := self.climber.at(border, p)) is not None)
            starts = itertools.chain([values], more)
            on = next((some for start in starts if (some := list(self._on(border, start)))), [])
            yield from ((p, True) for p in on)

    def _beside(self, border: Border, ends: Ends) -> Iterator[tuple[Point, bool]]:
        """Points close to a border, with what it does not depend on of others, too, so that it decides something."""
        others = sorted((p for p in self.at_hand if p not in ends[:2]), key=lambda p: p.note != SIDE)[:MOST_OTHERS]
        rest = self._apart_from(border)
        for point in self.close_to(border, *ends):
            if self.probe.smooth(point):
                yield point, True
                lenders = [*others, *alike_ids(self.trial.spec, point)] if rest else ()
                yield from ((taken(point, other, rest), False) for other in lenders)

    def _varied(self, border: Border, point: Point) -> Iterator[Point]:
        """A point with the class ids, zeros and ones that a border does not depend on made alike."""
        rest = self._apart_from(border)
        varied = (taken(point, other, rest) for other in alike_ids(self.trial.spec, point) if rest)
        yield from (p for p in varied if self.probe.smooth(p))

    def _elsewhere(self, border: Border, sign: int) -> tuple[Point, np.ndarray] | None:
        for point in self.more:
            value = self.climber.at(border, point)
            if value is not None and (found := self.climber.reach(border, sign, [(point, value)])):
                return found
        return None

    def _apart_from(self, border: Border) -> set[str]:
        """The inputs, and the outputs whose upstreams, a border does not depend on; none where that cannot be told."""
        behind = self.probe.behind(border)
        if behind & self.probe.tensors - self.probe.made.keys() - self.probe.leaves.keys():
            return set()
        return {of for name, of in self.probe.leaves.items() if name not in behind}

    # Close to it

    def ends(self, border: Border, values: list[tuple[Point, np.ndarray]]) -> Iterator[Ends]:
        """Two points at which some entry has different signs.

        Where a border depends on class ids, or on zeros and ones, they are the same at both, for there is no way
        between others, and there are two more pairs: of the first, and of the last, of them throughout.
        """
        own = self.climber.own(border) & self.held
        alike = (e for e in two_sides(values) if all((e[0].inputs[n] == e[1].inputs[n]).all() for n in own))
        yield from itertools.islice(alike, 1)
        ids = [[taken(p, q, own) for q in alike_ids(self.trial.spec, p)] for p, _ in values[:MOST_VARIED] if own]
        for points in zip(*ids, strict=True):
            varied = [(p, v) for p in points if (v := self.climber.at(border, p)) is not None]
            yield from itertools.islice(two_sides(varied), 1)

    def close_to(self, border: Border, a: Point, b: Point, at: tuple[int, ...]) -> Iterator[Point]:
        """Two points close to a border, on either side of it, between two that have different signs at an entry."""
        first, last = (self.climber.at(border, p) for p in (a, b))
        if first is None or last is None or first.shape != last.shape:
            return
        from_a, from_b = (p.in_floats() for p in (a, b))

        def value(step: int) -> float:
            found = self.climber.at(border, between(from_a, from_b, self.held, Fraction(step, STEPS)))
            if found is None or found.shape != first.shape:
                raise ValueError
            return float(found[at])

        try:
            ends = bracketed(value, STEPS, float(first[at]), float(last[at]))
        except ValueError:
            return
        for step in ends:
            yield replace(between(a, b, self.held, Fraction(step, STEPS)), note=NOTE)

    # On it

    def _on(self, border: Border, values: list[tuple[Point, np.ndarray]]) -> Iterator[Point]:
        """Points on a border, by the secants along single entries, and beside them: exactly on it, or none."""
        if not self.probe.is_plain(border):
            return
        point = values[0][0]
        seen: set[str] = set()
        for move in (m for m in self.climber.moves(border, point) if m.constant is not None):
            value = self.climber.at(border, other := moved(point, move))
            if value is not None and (value == 0).any() and self.probe.smooth(other):
                yield replace(other, note=NOTE)
        for move in moves(self.trial.spec, point, self.climber.own(border), steps=True):
            if move.name in seen:
                continue
            if (found := self._solved(border, point, move)) is not None:
                seen.add(move.name)
                beside = () if border.signs == POLE else (1 + HAIR, 1 - HAIR)
                for factor in (1, *beside):
                    near = moved(found[0], replace(found[1], factor=Fraction(factor)))
                    if not allowed(self.trial.spec, near, move.name):
                        continue
                    if self.probe.smooth(near):
                        yield replace(near, note=NOTE)
                    else:
                        self.trial.tied.append(replace(near, note=NOTE))

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

SECANTS = 3


def _jumps(values: Iterable[np.ndarray]) -> bool:
    """Whether a border takes whole values only, so that nothing is close to it: what it jumps at has borders too."""
    return all((v == np.floor(v)).all() for v in values)


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


Ends = tuple[Point, Point, tuple[int, ...]]


def two_sides(values: list[tuple[Point, np.ndarray]]) -> Iterator[Ends]:
    """Two points at which some entry has different signs, and that entry."""
    below, above = ([(p, v) for p, v in values if has(v, sign)] for sign in (-1, 1))
    for (a, u), (b, v) in itertools.product(below, above) if below and above else ():
        if a is not b and u.shape == v.shape and (differing := np.sign(u) * np.sign(v) < 0).any():
            yield a, b, tuple(int(i) for i in np.unravel_index(np.argmax(differing), u.shape))


MOST_VARIED = 12
"""Points whose class ids, zeros and ones are made alike."""
