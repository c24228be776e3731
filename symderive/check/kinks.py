"""Which kinks a point passes, on which side, and how near: recorded while an expression is evaluated.

A kink is where a formula has no derivative: the zero of what ``relu`` or ``abs`` is applied to, a tie of a maximum, an
end of a ``clamp``, the border of a comparison. A pole is where it has no value, or an infinite slope: the zero of a
denominator, of a ``log`` or of a ``sqrt``. Samplers stay away from both, and visit every side of every kink.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from symderive.check.numbers import Domain, Value
from symderive.errors import Span
from symderive.spec.functions import FUNCTIONS


@dataclass(frozen=True)
class Kink:
    """One argument at a kink. ``side`` is its sign, or the position of the extremum; ``distance`` how far from it.

    What ``moves`` depends on a real input; what does not is no kink of the gradient, though it has two sides.
    """

    site: int
    kind: str
    span: Span
    side: int
    distance: float
    moves: bool = True

    @property
    def is_pole(self) -> bool:
        """Whether the formula has no value there, so that there is no other side to visit."""
        return self.kind == "pole"


def _sign(a: float) -> int:
    return (a > 0) - (a < 0)


@dataclass
class Site:
    """One place of the text that has a kink."""

    watch: Watch
    number: int
    kind: str
    span: Span

    def add(self, side: int, distance: float) -> None:
        """Record one argument."""
        if not math.isnan(distance):
            self.watch.kinks.append(Kink(self.number, self.kind, self.span, side, distance))

    def between(self, a: Value, b: Value) -> None:
        """Record how far apart two numbers are; integers (indices, class ids) have no kinks."""
        plain = self.watch.domain.plain
        a, b = plain(a), plain(b)
        if isinstance(a, int) and isinstance(b, int):
            return
        difference = float(self.watch.domain.sub(a, b)) if a != b else 0.0
        self.add(_sign(difference), abs(difference))

    def among(self, values: list[Value], *, largest: bool) -> list[Value]:
        """Record where the extremum stands and by how much it leads."""
        plain = [self.watch.domain.plain(v) for v in values]
        if len(plain) > 1 and not all(isinstance(v, int) for v in plain):
            ordered = sorted((float(v) for v in plain), reverse=largest)
            gap = abs(ordered[0] - ordered[1]) if math.isfinite(ordered[0]) else math.nan
            self.add(plain.index(max(plain) if largest else min(plain)), gap)
        return values


@dataclass
class Watch:
    """Collects the kinks that evaluations in ``domain`` pass."""

    domain: Domain
    kinks: list[Kink] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)

    def site(self, kind: str, span: Span) -> Site:
        """A new place of the text."""
        self.sites.append(Site(self, len(self.sites), kind, span))
        return self.sites[-1]

    def function(self, name: str, span: Span, code: Callable[..., Value]) -> Callable[..., Value]:
        """The code of an element-wise function, which records its argument where the function is not smooth."""
        kind, measures = measures_of(name)
        if not measures:
            return code
        site = self.site(kind, span)

        def call(*arguments: Value) -> Value:
            x = self.domain.plain(arguments[0])
            if not isinstance(x, int):
                for measure in measures:
                    side, distance = measure(float(x))
                    site.add(side, distance)
            return code(*arguments)

        return call


def at_zero(x: float) -> tuple[int, float]:
    """The side of 0, and the distance from it."""
    return _sign(x), abs(x)


def _integer(x: float) -> tuple[int, float]:
    return 1, abs(x - round(x)) if math.isfinite(x) else math.inf


def _half_integer(x: float) -> tuple[int, float]:
    return _integer(x + 0.5)


_MEASURES: dict[str, Callable[[float], tuple[int, float]]] = {"floor": _integer, "round": _half_integer}
_POLES: dict[str, Callable[[float], tuple[int, float]]] = {
    "log": at_zero,
    "sqrt": at_zero,
    "rsqrt": at_zero,
    "log1p": lambda x: at_zero(1 + x),
    "asin": lambda x: at_zero(1 - abs(x)),
    "acos": lambda x: at_zero(1 - abs(x)),
    "tan": lambda x: at_zero(math.cos(x)),
}


def measures_of(name: str) -> tuple[str, list[Callable[[float], tuple[int, float]]]]:
    """Of a function the kind of its kinks, and what gives an argument's side and distance; nothing of a smooth one."""
    if name in _POLES:
        return "pole", [_POLES[name]]
    if name not in FUNCTIONS:
        return name, []
    return name, [_MEASURES.get(k, at_zero) for k in FUNCTIONS[name].kinks]


def nearest(kinks: Sequence[Kink]) -> float:
    """The distance to the nearest kink or pole that moves, inf where there is none."""
    return min((k.distance for k in kinks if k.moves), default=math.inf)


def sides(kinks: Sequence[Kink]) -> set[tuple[int, Any]]:
    """Which sides of which kinks were visited; at ties and zeros neither is."""
    return {(k.site, k.side) for k in kinks if not k.is_pole and k.distance > 0}
