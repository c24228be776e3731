"""The climb to the other side of a border: inputs and upstreams are changed, and what comes nearer to it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from symderive.claims.borders import Border
from symderive.claims.moves import Move, allowed, moved, moves
from symderive.claims.points import FAR, Point
from symderive.claims.probe import Probe

MOST_SPENT = 1000
"""Values of borders that are computed for one claim."""

ROUNDS = 3
NOTE = "a border of the claim"

Seen = tuple[Point, np.ndarray]
"""A point, and what a border is worth there."""


class Climber:
    """Climbs to the sides of borders of a claim; what was reached, or was not, is known to the claims after it."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.trial = probe.trial

    def reach(self, border: Border, sign: int, values: list[Seen]) -> Seen | None:
        """A point at which a border has a sign that it has nowhere yet: one input after the other is changed."""
        court = self.trial.court
        key = border.node, border.step, border.axis, sign, *values[0][0].sizes.items(), len(court.helpers)
        for point in court.remembered.get(key, ()):
            if (value := self.at(border, point)) is not None and has(value, sign):
                return point, value
        if court.remembered.get(key) == []:
            return None
        found = self._reached(border, sign, values)
        if found is not None or self.probe.spent <= MOST_SPENT:
            court.remembered[key] = [] if found is None else [found[0]]
        return found

    def _reached(self, border: Border, sign: int, values: list[Seen]) -> Seen | None:
        def goal(v: np.ndarray | None) -> float:
            return -np.inf if v is None else float(np.fmax.reduce(sign * v, axis=None, initial=-np.inf))

        def highest(some: Sequence[Seen]) -> Seen:
            return max(some, key=lambda pair: goal(pair[1]))

        found = self._climbed(border, sign, highest(values), goal, self.moves)
        usual = [pair for pair in values if pair[0].note != FAR]  # far out there may be no way up, in floats
        return found or (self._climbed(border, sign, highest(usual), goal, lambda *_: ()) if usual else None)

    def _climbed(
        self,
        border: Border,
        sign: int,
        start: Seen,
        goal: Callable[[np.ndarray | None], float],
        steps: Callable[[Border, Point], Iterable[Move]],
    ) -> Seen | None:
        """Such a point, come to from one at hand by some steps; where none of them goes up, by small ones."""
        point, best = start
        near = point.in_floats()
        for _ in range(ROUNDS):
            before = goal(best)
            for move in steps(border, point):
                if self.probe.spent > MOST_SPENT:
                    return None
                value = self._after(border, other := moved(near, move), move)
                if value is None:
                    continue
                if has(value, sign):
                    if found := self._exactly(border, sign, moved(point, move)):
                        return found
                elif goal(best) < goal(value) < np.inf:
                    point, near, best = moved(point, move), other, value
            if goal(best) == before:
                if (step := self._nearer(border, near, before, goal)) is None:
                    return None
                point, near = (moved(p, step) for p in (point, near))
                if (value := self.at(border, near)) is None:
                    return None
                if has(value, sign):
                    return self._exactly(border, sign, point)
                best = value
        return None

    def _exactly(self, border: Border, sign: int, point: Point) -> Seen | None:
        """A point, if the border has a sign there, and the forward a derivative; floats led to it."""
        value = self.at(border, point)
        good = value is not None and has(value, sign) and self.probe.smooth(point)
        return (replace(point, note=NOTE), value) if good else None  # type: ignore[return-value]

    def _nearer(self, border: Border, near: Point, best: float, goal: Any) -> Move | None:
        """One tensor a little larger or smaller, where that comes nearer to the other side; from a point in floats."""
        for move in self._whole(border, near):
            if self.probe.spent > MOST_SPENT:
                return None
            refined = self._refined(border, near, move, best, goal)
            value = self.at(border, moved(near, refined))
            if value is not None and goal(value) > best:
                return refined
        return None

    def _whole(self, border: Border, point: Point) -> list[Move]:
        """For each tensor that a border depends on, the move that leaves it as it is."""
        found = {(m.name, m.structure, m.origin) for m in self.moves(border, point) if m.constant is None}
        return [Move(name, structure=structure, origin=origin) for name, structure, origin in sorted(found)]

    def _after(self, border: Border, point: Point, move: Move) -> np.ndarray | None:
        """A border after a move; None where what was moved is not what the spec says of it."""
        return self.at(border, point) if allowed(self.trial.spec, point, move.name) else None

    def at(self, border: Border, point: Point) -> np.ndarray | None:
        """A border at a point, in floats, from its step if it has one; None where it has no value."""
        value = self.probe.values(border, point)
        return None if value is None else from_step(border, value)

    def moves(self, border: Border, point: Point) -> Iterator[Move]:
        """The moves that may change a border."""
        return moves(self.trial.spec, point, self.own(border), few=not self.probe.is_plain(border))

    def _refined(self, border: Border, point: Point, move: Move, best: float, goal: Any) -> Move:
        """A move by a factor near that of another that comes nearer still."""
        width = Fraction(2)
        for _ in range(16):
            for factor in (move.factor * width, move.factor / width):
                near = replace(move, factor=factor)
                reached = goal(self._after(border, moved(point, near), near))
                if best < reached < np.inf:
                    move, best = near, reached
                    break
            else:
                width = 1 + (width - 1) / 4
        return move

    def own(self, border: Border) -> set[str]:
        """The inputs, and the outputs whose upstreams, a border depends on."""
        return {of for name, of in self.probe.leaves.items() if name in self.probe.behind(border)}


def has(values: np.ndarray, sign: int) -> bool:
    """Whether a border has a sign somewhere."""
    return bool((np.sign(values) == sign).any())


def from_step(border: Border, values: np.ndarray) -> np.ndarray:
    """How far values are past a step, which is passed where it is reached."""
    if border.step is None:
        return values
    past = values - float(border.step)
    return np.where(past == 0, np.finfo(float).tiny, past)
