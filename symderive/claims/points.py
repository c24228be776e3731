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
from sympy import Expr, Integer, Mod, Symbol, floor

from symderive.check import sample
from symderive.check.exact import EXACT
from symderive.check.floats import FLOAT
from symderive.check.kinks import Kink, nearest
from symderive.check.numbers import Domain
from symderive.check.objects import objects
from symderive.claims.lines import NotJudged
from symderive.claims.world import Sizes, World, random_upstreams
from symderive.errors import SymderiveError
from symderive.spec import model, syntax
from symderive.spec.sizes import BATCH_SIZE

POOL = (2, 3, 5, 4, 7, 6, 9, 8, 11, 10, 13)
SQUARES = (3, 4, 2, 5, 6, 8)
BATCHES: tuple[tuple[int, ...], ...] = ((2,), (2, 2), ())
ROUGH = 99_991
"""A prime, the denominator of numbers that are not round."""

SIDE = "a side of a kink"
FAR = "another scale"
TOO_MUCH_WORK = 60_000
MOST_CHOICES = 1000
"""Of sizes."""
MOST_WORK = 800
"""Multiplications of one forward that are still cheap; larger sizes are left out."""

MOST_DRAWN = 16
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
        inputs, upstreams = self.inputs, self.upstreams
        if base is FLOAT:
            inputs, upstreams = sample.as_floats(inputs), _floats(upstreams)
        return World(spec, self.sizes, inputs, upstreams, base, constants=self.constants)


def _floats(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {n: np.asarray(a, dtype=object).astype(float) for n, a in arrays.items()}


# Sizes


def compiled(extent: Expr) -> Callable[[Mapping[str, int]], int]:
    """A size expression as a function of the sizes, much faster than SymPy's substitution."""
    if isinstance(extent, Integer):
        value = int(extent)
        return lambda sizes: value
    if isinstance(extent, Symbol):
        name = extent.name
        return lambda sizes: sizes[name]
    parts = [compiled(a) for a in extent.args]
    if extent.is_Add:
        return lambda sizes: sum(p(sizes) for p in parts)
    if extent.is_Mul:
        return lambda sizes: math.prod(p(sizes) for p in parts)
    if extent.is_Rational:
        ratio = Fraction(int(extent.p), int(extent.q))  # type: ignore[attr-defined]
        return lambda sizes: ratio  # type: ignore[return-value]
    if extent.is_Pow:
        return lambda sizes: Fraction(parts[0](sizes)) ** parts[1](sizes)  # type: ignore[return-value]
    if isinstance(extent, floor):
        return lambda sizes: math.floor(parts[0](sizes))
    if isinstance(extent, Mod):
        return lambda sizes: parts[0](sizes) % parts[1](sizes)
    return lambda sizes: int(extent.xreplace({s: Integer(sizes[s.name]) for s in extent.free_symbols}))


def compiled_over(extent: Expr) -> Callable[[Mapping[str, np.ndarray]], Any]:
    """A size expression as a function of many sizes at once, in floats: to sort out what :func:`compiled` decides."""
    if isinstance(extent, Symbol):
        name = extent.name
        return lambda sizes: sizes[name]
    if extent.is_Rational:
        value = float(extent)
        return lambda sizes: value
    parts = [compiled_over(a) for a in extent.args]
    if extent.is_Add:
        return lambda sizes: sum(p(sizes) for p in parts)
    if extent.is_Mul:
        return lambda sizes: math.prod(p(sizes) for p in parts)
    if extent.is_Pow:
        return lambda sizes: parts[0](sizes) ** parts[1](sizes)
    if isinstance(extent, floor):
        return lambda sizes: np.floor(parts[0](sizes) + _HAIR)
    if isinstance(extent, Mod):
        return lambda sizes: np.mod(parts[0](sizes) + _HAIR, parts[1](sizes))
    return lambda sizes: math.inf


_HAIR = 1e-9


class SizeChooser:
    """Finds sizes at which every range has an entry, and the forward is cheap."""

    def __init__(self, spec: model.Spec) -> None:
        self.spec = spec
        extents: dict[Expr, None] = {}
        for shape in spec.shapes.values():
            extents.update(dict.fromkeys(shape))
        extents.update(dict.fromkeys(i.index for i in spec.inputs if i.index is not None))
        for equation in spec.equations:
            extents.update(dict.fromkeys(equation.ranges.values()))
        extents.update(dict.fromkeys(spec.indices.values()))
        self.extents = {e: compiled(e) for e in extents if e != BATCH_SIZE}
        self.varying = {e for e in self.extents if e.free_symbols}
        symbols = {s.name: None for e in self.extents for s in sorted(e.free_symbols, key=str)}
        self.names = list(symbols)
        self.batched = BATCH_SIZE in extents

    def valid(self, sizes: Mapping[str, Any], least: int = 1) -> bool:
        """Whether every axis and range that depends on sizes has at least so many entries; fixed ones have one."""
        try:
            return all(f(sizes) >= (least if e in self.varying else 1) for e, f in self.extents.items())
        except (KeyError, ZeroDivisionError, TypeError):
            return False

    def work(self, sizes: Mapping[str, Any]) -> int:
        """About how many multiplications one forward takes."""
        values: dict[Expr, Any] = {e: f(sizes) for e, f in self.extents.items()}
        values[BATCH_SIZE] = math.prod(sizes.get(syntax.BATCH, (2,)))
        return int(self._counted(values))

    def _counted(self, values: Mapping[Expr, Any]) -> Any:
        """The multiplications, by the extents of all axes and ranges."""
        total = sum(math.prod(values[e] for e in eq.ranges.values()) for eq in self.spec.equations)
        return total + sum(math.prod(values[e] for e in i.shape) for i in self.spec.inputs)

    @property
    def different(self) -> Iterator[dict[str, int]]:
        """Pairwise different sizes at which no range is 1, where there are such; the cheapest first, not all."""
        least, choices = self._choices
        return (sizes for sizes in choices if self.valid(sizes, least))

    @cached_property
    def _choices(self) -> tuple[int, list[dict[str, int]]]:
        """Sizes that may do, and the least extent with which some of them do."""
        for least, extra in ((2, 2), (2, 5), (1, 2), (1, 5)):
            pool = POOL[: len(self.names) + extra]
            if len(self.names) > len(pool):
                pool = tuple(range(2, len(self.names) + 2 + extra))
            found = self._promising(list(itertools.islice(itertools.permutations(pool, len(self.names)), 6000)), least)
            if any(self.valid(sizes, least) for sizes in found):
                return least, found
        return 1, []

    def _promising(self, choices: list[tuple[int, ...]], least: int) -> list[dict[str, int]]:
        """Of many choices of sizes the cheapest that seem to be valid."""
        columns = np.array(choices, dtype=float).reshape(len(choices), -1)
        many = {n: columns[:, position] for position, n in enumerate(self.names)}
        with np.errstate(all="ignore"):
            values = {e: np.broadcast_to(compiled_over(e)(many), len(choices)) for e in self.extents}
            good = np.ones(len(choices), dtype=bool)
            for e in self.varying:
                good &= values[e] >= least - 0.5
            work = self._counted({**values, BATCH_SIZE: np.full(len(choices), 2.0)})
        order = np.argsort(np.where(good, work, np.inf), kind="stable")[: min(int(good.sum()), MOST_CHOICES)]
        return [dict(zip(self.names, choices[n], strict=True)) for n in order]

    def plan(self) -> list[Sizes]:
        """Two choices of different sizes, a square one, and the author's where they are cheap."""
        chosen: list[Sizes] = []
        for sizes in self.different:
            if not chosen or all(sizes[n] != chosen[0][n] for n in self.names):
                chosen.append(sizes)
            if len(chosen) == 2 or not self.names:
                break
        author = {n: v for n, v in self.spec.sizes.items() if isinstance(v, int) and n in self.names}
        fits = len(author) == len(self.names) and self.valid(author) and self.work(author) <= MOST_WORK
        if fits or not chosen:
            chosen.append(author)
        if len(self.names) > 1:
            chosen.extend(itertools.islice((s for s in self.squares() if self.valid(s)), 1))
        return self.with_batches(chosen)

    def squares(self) -> Iterator[dict[str, int]]:
        """All sizes equal."""
        for n in SQUARES:
            yield dict.fromkeys(self.names, n)

    def with_batches(self, chosen: list[Sizes]) -> list[Sizes]:
        """The sizes, with one, two and no batch axes where there are any."""
        if not self.batched:
            return chosen
        chosen = chosen if len(chosen) > 2 else [*chosen, *chosen][:3]
        return [{**s, syntax.BATCH: BATCHES[n % len(BATCHES)]} for n, s in enumerate(chosen)]


# Points


@dataclass
class Points:
    """The points of one spec, drawn once."""

    spec: model.Spec
    seed: int = 0
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.chooser = SizeChooser(self.spec)

    @cached_property
    def plan(self) -> list[Sizes]:
        """The sizes, the most telling first."""
        return self.chooser.plan()

    @cached_property
    def main(self) -> list[Point]:
        """Points that decide a verdict: several sizes, and at the first ones every side of every kink.

        Raises :class:`NotJudged` where even the smallest sizes are too large for exact arithmetic.
        """
        work = self.chooser.work(self.plan[0])
        if work > TOO_MUCH_WORK:
            raise NotJudged(f"the forward takes {work} multiplications at the smallest sizes, too many to be exact")
        found = [self.point(sizes) for sizes in self.plan]
        found.append(self.rough)
        sides = sample.every_side(self.spec, self.plan[0], self.rng, exact=True, tries=8, steps=40)
        others = [self.complete(self.plan[0], p, SIDE) for p in sides.points[:6]]
        return found + ([p for p in others if self.smooth(p)] or others)

    @cached_property
    def rough(self) -> Point:
        """A point at the smallest sizes with no round numbers, so that a rounded or periodic function does not hide."""
        rng = np.random.default_rng(self.seed + 1)
        inputs = sample.away_from_kinks(self.spec, self.plan[0], rng, exact=True, rough=ROUGH)
        entries = sample.Draw(rng, exact=True, rough=ROUGH).entries
        return Point(self.plan[0], inputs, random_upstreams(self.spec, self.plan[0], entries))

    def point(self, sizes: Sizes, tries: int = 40) -> Point:
        """A random point, away from kinks if so many tries are enough for that."""
        return self.complete(sizes, sample.away_from_kinks(self.spec, sizes, self.rng, exact=True, tries=tries))

    def complete(self, sizes: Sizes, inputs: Mapping[str, np.ndarray], note: str = "") -> Point:
        """Inputs with random upstreams."""
        draw = sample.Draw(self.rng, exact=True)
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
        second = dict(fitting[(2 * attempt) % len(fitting)])
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
        return [p for p in [*found, *self.zeros] if self.smooth(p)]

    @cached_property
    def kinks(self) -> list[Point]:
        """Points on kinks of the forward: where inputs are 0, and at numbers that it mentions."""
        found = sample.at_kinks(self.spec, self.plan[0], self.rng, exact=True, tries=MOST_DRAWN)
        at_zeros = [p for p in self.zeros if 0 <= self.distance(p) <= CLOSE]
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

    def distance(self, point: Point) -> float:
        """How far a point is from the nearest kink of the forward; negative where that is not finite.

        A tie that stays one all around the point is no kink: ``min(r * A, clamp(r, a, b) * A)`` where r is between.
        """
        try:
            kinks, finite = sample.passed(self.spec, point.sizes, point.inputs)
            if not finite or all(k.distance or k.is_pole for k in kinks):
                return nearest(kinks) if finite else -1
            around, finite = sample.passed(self.spec, point.sizes, self._shaken(point.inputs))
        except SymderiveError:
            return -1
        tied = {k.site for k in kinks if not k.distance and not k.is_pole}
        if not finite or any(2 * _beside(around, site) < _beside(kinks, site) for site in tied):
            return 0
        return nearest([k for k in kinks if k.distance or k.is_pole])

    def _shaken(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The inputs a little to the side, in floats: all real ones that are not 0 or 1 by what the spec says."""
        found, rng = sample.as_floats(inputs), np.random.default_rng(self.seed)
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
            known = None if n or scale != 1 else start or self._at_sizes(sizes)
            if known is None and scale != 1:
                known = sample.draw_inputs(self.spec, sizes, draw)
            inputs = dict(known or sample.away_from_kinks(self.spec, sizes, self.rng, exact=True, tries=4))
            upstreams = dict(random_upstreams(self.spec, sizes, draw.entries))
            condition(draw, inputs, upstreams)
            point = Point(sizes, inputs, upstreams, "" if scale == 1 else FAR)
            if self.smooth(point):
                return point
        return None

    def _at_sizes(self, sizes: Sizes) -> Mapping[str, np.ndarray] | None:
        """Inputs that were drawn at these sizes before."""
        return next((p.inputs for p in self.main if p.sizes == sizes), None)


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
