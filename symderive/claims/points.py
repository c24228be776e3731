"""The points at which claims are judged: small sizes, exact random inputs, every side of every kink."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from symderive.check import passing, sample
from symderive.check.exact import EXACT
from symderive.check.floats import FLOAT
from symderive.check.kinks import Kink, nearest
from symderive.check.numbers import Domain
from symderive.check.objects import objects
from symderive.claims.entries import Entry
from symderive.claims.lines import NotJudged
from symderive.claims.sizing import SizeChooser, SmallSizes
from symderive.claims.world import Sizes, World, random_upstreams
from symderive.errors import SymderiveError
from symderive.spec import model, syntax

ROUGH = 99_991
"""A prime, the denominator of numbers that are not round."""

SIDE = "a side of a kink"
FAR = "another scale"
LARGE_NUMBER = 25
"""A number beyond which an exponential of it, or of products of it, may be too small to be told from 0."""

TOO_MUCH_WORK = 60_000
LARGE = 1500
"""Multiplications of one forward beyond which smaller sizes are looked for, which are not pairwise different."""

MOST_DRAWN = 48
"""Points that are drawn for one on each kink of the forward."""

CLOSE = 1e-9
"""To a kink is a point of which floats say that it is on one."""

SHAKEN = 1e-6
"""How far one looks around a tie, relative to the numbers there."""

Condition = Callable[[sample.Draw, dict[str, np.ndarray], dict[str, np.ndarray]], None]
"""Changes inputs and upstreams, in place, so that something holds."""


@dataclass(frozen=True, eq=False)
class Point:
    """Sizes, inputs and upstreams as exact numbers; ``note`` says what is special about it."""

    sizes: Sizes
    inputs: Mapping[str, np.ndarray]
    upstreams: Mapping[str, np.ndarray]
    note: str = ""
    constants: Mapping[str, Fraction] | None = None

    def __post_init__(self) -> None:
        """Arithmetic makes plain numbers of arrays without axes; here they are arrays again."""
        for name in ("inputs", "upstreams"):
            arrays = {n: a if isinstance(a, np.ndarray) else objects(a) for n, a in getattr(self, name).items()}
            object.__setattr__(self, name, arrays)

    def world(self, spec: model.Spec, base: Domain = EXACT) -> World:
        """Everything true at this point, exactly or in another domain."""
        at = self.in_floats() if base is FLOAT else self
        return World(spec, self.sizes, at.inputs, at.upstreams, base, constants=self.constants)

    @cached_property
    def has_large_numbers(self) -> bool:
        """Whether numbers are so large that no digits tell a small number that is left beside 1 from 0."""
        reals = (a for a in self.inputs.values() if a.dtype == object)
        return any(abs(v) > LARGE_NUMBER for a in reals for v in a.flat)

    def in_floats(self) -> Point:
        """The same point in float64, where class ids and truth values stay what they are."""
        upstreams = {n: a.astype(float, copy=False) for n, a in self.upstreams.items()}
        return replace(self, inputs=passing.as_floats(self.inputs), upstreams=upstreams)


@dataclass
class Points:
    """The points of one spec, drawn once."""

    spec: model.Spec
    seed: int = 0
    steps: int = 40
    """How often the other side of a kink is looked for."""
    entries: tuple[Entry, ...] = ()
    """What the claims name by number, which is there at all sizes that are chosen."""
    rng: np.random.Generator = field(init=False)
    unavoided: sample.Unavoided = field(init=False, default_factory=sample.Unavoided)
    _usual: dict[tuple[tuple[str, Any], ...], Point] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    @cached_property
    def chooser(self) -> SizeChooser:
        """What finds sizes: small ones where others would take long."""
        usual = SizeChooser(self.spec, self.entries)
        if (work := usual.work(usual.planned[0])) <= LARGE:
            return usual
        small = SmallSizes(self.spec, self.entries)
        return small if max(map(small.work, small.planned)) <= work / 2 else usual

    @cached_property
    def plan(self) -> list[Sizes]:
        """The sizes, the most telling first."""
        return self.chooser.planned

    @cached_property
    def main(self) -> list[Point]:
        """Points that decide a verdict: several sizes, and at the first ones every side of every kink.

        Raises :class:`NotJudged` where even the smallest sizes are too large for exact arithmetic.
        """
        return [*self.plain, self.rough, *self.sides]

    @cached_property
    def plain(self) -> list[Point]:
        """A point of each choice of sizes, with nothing special about it. Raises :class:`NotJudged` like ``main``."""
        work = self.chooser.work(self.plan[0])
        if work > TOO_MUCH_WORK:
            raise NotJudged(f"the forward takes {work} multiplications at the smallest sizes, too many to be exact")
        return [self.usual(sizes) for sizes in self.plan]

    @cached_property
    def rough(self) -> Point:
        """A point at the smallest sizes with no round numbers, so that a rounded or periodic function does not hide."""
        rng = np.random.default_rng(self.seed + 1)
        inputs = sample.away_from_kinks(self.spec, self.plan[0], rng, exact=True, rough=ROUGH, unavoided=self.unavoided)
        entries = sample.Draw(rng, exact=True, rough=ROUGH).entries
        return Point(self.plan[0], inputs, random_upstreams(self.spec, self.plan[0], entries))

    @cached_property
    def sides(self) -> list[Point]:
        """Points that together are on every side of every kink."""
        found = sample.every_side(
            self.spec, self.plan[0], self.rng, exact=True, tries=8, steps=self.steps, unavoided=self.unavoided
        )
        points = [self.complete(self.plan[0], p, SIDE) for p in found.points[:6]]
        return self.smooth_ones(points) or points

    def point(self, sizes: Sizes, tries: int = 40) -> Point:
        """A random point, away from kinks if so many tries are enough for that."""
        return self.complete(sizes, self._away(sizes, tries))

    def usual(self, sizes: Sizes) -> Point:
        """A random point of some sizes, drawn once."""
        key = tuple(sizes.items())
        if key not in self._usual:
            self._usual[key] = self.point(sizes)
        return self._usual[key]

    def _away(self, sizes: Sizes, tries: int) -> sample.Point:
        return sample.away_from_kinks(self.spec, sizes, self.rng, exact=True, tries=tries, unavoided=self.unavoided)

    def complete(
        self, sizes: Sizes, inputs: Mapping[str, np.ndarray], note: str = "", draw: sample.Draw | None = None
    ) -> Point:
        """Inputs with random upstreams, exact ones if nothing is said of how they are drawn."""
        draw = draw or sample.Draw(self.rng, exact=True)
        return Point(sizes, inputs, random_upstreams(self.spec, sizes, draw.entries), note)

    @cached_property
    def pair(self) -> list[Point]:
        """Two points of different sizes, with as many batch axes."""
        return self.partnered(self.main[0])

    def partnered(self, first: Point, attempt: int = 0) -> list[Point]:
        """A point and another of sizes that all differ, with as many batch axes; other sizes at each attempt."""
        own = first.sizes
        options = [*self.plan[1:2], *self.plan[:1], *itertools.islice(self.chooser.different, 60)]
        fitting = [s for s in options if all(s[n] != own[n] for n in self.chooser.names)] or [own]
        fitting.sort(key=lambda sizes: _alike([Fraction(sizes[n], own[n]) for n in self.chooser.names]))  # type: ignore[arg-type]
        start = (2 * attempt) % len(fitting)
        second = dict(next(self.chooser.regular_of([*fitting[start:], *fitting[:start]])))
        if syntax.BATCH in own:
            second[syntax.BATCH] = (3,) * len(own[syntax.BATCH])  # type: ignore[arg-type]
        return [first, self.point(second)]

    @cached_property
    def scouts(self) -> list[Point]:
        """More points of other scales, with zeros and round numbers: where a claim may fail that is right elsewhere."""
        grid = sample.numbers_of(self.spec)
        draws = [sample.Draw(self.rng, True, scale) for scale in (3.0, 10.0, 0.1, 3.0, 10.0, 1.0)]
        draws += [sample.Draw(self.rng, True, grid=grid) for _ in range(4)]
        found = [self.complete(self.plan[0], sample.draw_inputs(self.spec, self.plan[0], d), FAR) for d in draws]
        return self.smooth_ones([*found, *self.zeros])

    @cached_property
    def kinks(self) -> list[Point]:
        """Points on kinks of the forward: where inputs are 0, and at numbers that it mentions."""
        found = sample.at_kinks(self.spec, self.plan[0], self.rng, exact=True, tries=MOST_DRAWN)
        distances = zip(self.zeros, self.distances(self.zeros), strict=True)
        at_zeros = [p for p, distance in distances if 0 <= distance <= CLOSE]
        return at_zeros + [self.complete(self.plan[0], p) for p in found]

    @cached_property
    def zeros(self) -> list[Point]:
        """Points at which one input, or one upstream, has zeros."""
        return list(self._zeros())

    def _zeros(self) -> Iterator[Point]:
        first = self.main[0]
        for tensor in self.spec.inputs:
            values = first.inputs[tensor.name]
            if tensor.is_real and not tensor.range and not _ZEROLESS & set(tensor.assume):
                holes = self.holes(values)
                if "symmetric" in tensor.assume:
                    holes = sample.ASSUMPTIONS["symmetric"](sample.Draw(self.rng, exact=True), holes)
                yield replace(first, inputs={**first.inputs, tensor.name: holes}, note=f"zero {tensor.name}")
        for name, values in first.upstreams.items():
            if np.ndim(values):
                yield replace(first, upstreams={**first.upstreams, name: self.holes(values)}, note=f"zero d{name}")

    @cached_property
    def inverts(self) -> bool:
        """Whether the forward takes an inverse or a determinant, which claims write by the inverse."""
        binders = (n for e in self.spec.equations for n in e.right.walk() if isinstance(n, syntax.Binder))
        return any(b.op in ("inv", "det", "logdet") for b in binders)

    def holes(self, values: np.ndarray) -> np.ndarray:
        """The array with about half of its entries 0, at least one; a matrix stays invertible where that counts."""
        mask = self.rng.integers(2, size=np.shape(values)).astype(bool)
        if self.inverts and mask.ndim >= 2 and mask.shape[-1] == mask.shape[-2]:
            mask &= ~np.eye(mask.shape[-1], dtype=bool)
            mask[..., :1, 1:] = True
        elif mask.ndim:
            mask.flat[0] = True
        return np.where(mask if mask.ndim else True, 0, values)

    def smooth(self, point: Point) -> bool:
        """Whether the forward is finite at a point and has a derivative there."""
        return self.distance(point) > CLOSE

    def smooth_ones(self, points: Sequence[Point]) -> list[Point]:
        """Those of some points at which it is."""
        return [p for p, distance in zip(points, self.distances(points), strict=True) if distance > CLOSE]

    def distances(self, points: Sequence[Point]) -> list[float]:
        """How far each of some points is from the nearest kink; those of the same sizes are looked at together."""
        found: dict[int, float] = {}
        groups: dict[tuple[tuple[str, Any], ...], list[Point]] = {}
        for point in points:
            groups.setdefault(tuple(point.sizes.items()), []).append(point)
        for group in groups.values():
            try:
                all_passed = sample.passed_by_each(self.spec, group[0].sizes, [p.inputs for p in group])
            except SymderiveError:
                continue
            for point, (kinks, finite) in zip(group, all_passed, strict=True):
                if not (finite and _tied(kinks)):
                    found[id(point)] = nearest(kinks) if finite else -1
        return [found[id(p)] if id(p) in found else self.distance(p) for p in points]

    def distance(self, point: Point) -> float:
        """How far a point is from the nearest kink of the forward; negative where that is not finite.

        A tie that stays one all around the point is no kink: ``min(r * A, clamp(r, a, b) * A)`` where r is between.
        """
        try:
            kinks, finite = sample.passed(self.spec, point.sizes, point.inputs)
            if not finite or not _tied(kinks):
                return nearest(kinks) if finite else -1
            around, finite = sample.passed(self.spec, point.sizes, self._shaken(point.inputs))
        except SymderiveError:
            return -1
        if not finite or any(2 * _beside(around, site) < _beside(kinks, site) for site in _tied(kinks)):
            return 0
        return nearest([k for k in kinks if k.distance or k.is_pole])

    def _shaken(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The inputs a little to the side, in floats: all real ones that are not 0 or 1 by what the spec says."""
        found, rng = passing.as_floats(inputs), np.random.default_rng(self.seed)
        for name in (i.name for i in self.spec.inputs if i.is_real and not {"binary", "one_hot"} & set(i.assume)):
            found[name] = found[name] + SHAKEN * (1 + abs(found[name])) * rng.uniform(0.5, 1, np.shape(found[name]))
        return found

    def under(
        self, sizes: Sizes, condition: Condition, start: Mapping[str, np.ndarray] | None = None, scale: float = 1.0
    ) -> Point | None:
        """A point at which a condition holds and the forward has a derivative; None where none was found.

        It is made of the inputs ``start``, or of such as were drawn before, or of new ones of that ``scale``.
        """
        for n in range(6):
            draw = sample.Draw(self.rng, exact=True, scale=scale, positive=n % 3 == 2)
            known = None if n or scale != 1 else start or (self.usual(sizes).inputs if sizes in self.plan else None)
            if known is None and scale != 1:
                known = sample.draw_inputs(self.spec, sizes, draw)
            inputs = dict(known or self._away(sizes, 4))
            upstreams = dict(random_upstreams(self.spec, sizes, draw.entries))
            condition(draw, inputs, upstreams)
            point = Point(sizes, inputs, upstreams, "" if scale == 1 else FAR)
            if self.smooth(point):
                return point
        return None


def _tied(kinks: Sequence[Kink]) -> set[int]:
    """The places of the text at which numbers tie that move."""
    return {k.site for k in kinks if k.moves and not k.distance and not k.is_pole}


def _beside(kinks: Sequence[Kink], site: int) -> float:
    """How near the nearest kink at one place of the text is, but for ties."""
    return min((k.distance for k in kinks if k.site == site and k.distance), default=math.inf)


def _alike(ratios: list[Fraction]) -> int:
    """How many factors made of sizes change alike from one point to another: ``1 / J`` and ``N / 6``, say."""
    singles = [r**p for r in ratios for p in (1, -1)]
    pairs = [a**p * b**q for a, b in itertools.combinations(ratios, 2) for p, q in itertools.product((1, -1), repeat=2)]
    factors = [Fraction(1), *singles, *pairs]
    return len(factors) - len(set(factors))


_ZEROLESS = {"positive", "nonzero", "unit", "simplex", "spd", "one_hot", "binary", "rows"}
