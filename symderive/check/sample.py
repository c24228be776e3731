"""Points to check at: inputs and upstreams of given sizes, away from kinks, on every side of them, and at them.

Inputs follow what the spec says of them (``assume``, ``range``, ``index``, ``bool``) and nothing else: targets are not
normalised and upstreams are random, since weak data hides errors. Numbers are floats, or small exact rationals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np

from symderive.check.kinks import Kink, nearest, sides
from symderive.check.oracle import extent_of, shape_of
from symderive.check.passing import is_small, passed, passed_by_each
from symderive.spec import model
from symderive.spec.folding import fold

Sizes = Mapping[str, "int | tuple[int, ...]"]
Point = dict[str, np.ndarray]

MARGIN = 1e-2
"""How far from kinks and poles a point should be; what comes nearest to it is taken where none is."""

SCALES = (1.0, 3.0, 0.3, 10.0, 0.1)
PLAIN = tuple(Fraction(s * n, d) for d in (4, 8, 16) for n in range(1, 24) for s in (1, -1))
"""Exact entries to draw from: dyadic, so that long sums keep short denominators."""


@cache
def _plain_times(factor: Fraction) -> tuple[Fraction, ...]:
    return tuple(value * factor for value in PLAIN)


@dataclass(frozen=True)
class Draw:
    """How entries are drawn: floats or exact rationals, of which ``scale``, or out of a ``grid`` of values.

    With ``rough`` the rationals have that denominator, which no rounding, and no period, comes to meet.
    """

    rng: np.random.Generator
    exact: bool = False
    scale: float = 1.0
    grid: tuple[Fraction, ...] = ()
    positive: bool = False
    rough: int = 0

    def entries(self, shape: Sequence[int]) -> np.ndarray:
        """Real numbers of either sign, about as large as ``scale``; none is 0 unless the grid has it."""
        if self.grid:
            chosen = self.rng.integers(len(self.grid), size=tuple(shape))
            values = self._array([self.grid[int(i)] for i in chosen.flat], shape)
        elif self.exact:
            values = self._array(self._rationals(math.prod(shape)), shape)
        else:
            values = self.rng.standard_normal(tuple(shape)) * self.scale
        # NumPy makes a number of the sum of arrays without axes
        return np.asarray(abs(values) + (values == 0), values.dtype) if self.positive else values

    def between(self, low: Fraction, high: Fraction, shape: Sequence[int]) -> np.ndarray:
        """Numbers strictly between two."""
        if not self.exact:
            return self.rng.uniform(float(low), float(high), tuple(shape))
        count = self.rough or 60
        parts = self.rng.integers(1, count, size=tuple(shape))
        return self._array([low + (high - low) * Fraction(int(k), count) for k in parts.flat], shape)

    def integers(self, high: int, shape: Sequence[int]) -> np.ndarray:
        """Integers in 0..high - 1."""
        return self.rng.integers(0, max(high, 1), size=tuple(shape))

    def ratio(self, values: np.ndarray, by: np.ndarray | int) -> np.ndarray:
        """A quotient that stays exact where the numbers are."""
        return values / by if not self.exact else values * (Fraction(1) / by)

    def _rationals(self, count: int) -> list[Fraction]:
        factor = Fraction(self.scale).limit_denominator(10)
        if self.rough:
            whole = self.rng.integers(-6 * self.rough, 6 * self.rough, size=count)
            return [Fraction(int(n), self.rough) * factor for n in whole]
        among = _plain_times(factor)
        return [among[n] for n in self.rng.integers(len(PLAIN), size=count).tolist()]

    def _array(self, values: Sequence[Fraction], shape: Sequence[int]) -> np.ndarray:
        if not self.exact:
            return np.array([float(v) for v in values]).reshape(tuple(shape))
        result = np.empty(len(values), dtype=object)
        result[:] = values
        return result.reshape(tuple(shape))


# Assumptions


def _one_hot(draw: Draw, values: np.ndarray) -> np.ndarray:
    chosen = draw.integers(values.shape[-1], values.shape[:-1])
    return _whole(draw, np.arange(values.shape[-1]) == chosen[..., None])


def _whole(draw: Draw, values: np.ndarray) -> np.ndarray:
    """Integers or truth values as numbers of the draw."""
    return draw._array([Fraction(int(v)) for v in values.flat], values.shape)


def _simplex(draw: Draw, values: np.ndarray) -> np.ndarray:
    values = _positive(draw, values)
    return draw.ratio(values, values.sum(-1, keepdims=True))


def _rows(draw: Draw, values: np.ndarray) -> np.ndarray:
    """Rows that sum to 1: scaled where all is positive, else by one entry, so that the others stay large."""
    total = values.sum(-1, keepdims=True)
    if (values < 0).any():
        one = np.arange(values.shape[-1]) == int(draw.rng.integers(values.shape[-1]))
        return np.asarray(values + np.where(one, 1 - total, 0))
    values = np.where(total == 0, abs(values) + 1, values)
    return draw.ratio(values, values.sum(-1, keepdims=True))


def _positive(draw: Draw, values: np.ndarray) -> np.ndarray:
    return abs(values) + (values == 0) * _whole(draw, np.ones(values.shape, dtype=int))


def _symmetric(draw: Draw, values: np.ndarray) -> np.ndarray:
    return draw.ratio(values + values.swapaxes(-1, -2), 2)


def _spd(draw: Draw, values: np.ndarray) -> np.ndarray:
    return values @ values.swapaxes(-1, -2) + _whole(draw, np.eye(values.shape[-1], dtype=int))


def _nonzero(draw: Draw, values: np.ndarray) -> np.ndarray:
    return values + (values == 0) * _whole(draw, np.ones(values.shape, dtype=int))


ASSUMPTIONS: dict[str, Callable[[Draw, np.ndarray], np.ndarray]] = {
    "positive": _positive,
    "nonnegative": lambda draw, values: abs(values),
    "nonzero": _nonzero,
    "unit": lambda draw, values: draw.between(Fraction(0), Fraction(1), values.shape),
    "binary": lambda draw, values: _whole(draw, draw.integers(2, values.shape)),
    "one_hot": _one_hot,
    "simplex": _simplex,
    "symmetric": _symmetric,
    "spd": _spd,
}
"""What each assumption makes of drawn entries, element-wise ones first: a structure keeps them."""

ALONG_ROWS = frozenset({"one_hot", "simplex", "rows"})
"""What says something of a last axis: nothing where there is none, as of ``[...]`` without batch axes."""

STRUCTURES = ASSUMPTIONS | {"rows": _rows}
"""Those, and what no spec says, but a claim may be right under."""


def draw_input(tensor: model.Input, shape: Sequence[int], classes: int | None, draw: Draw) -> np.ndarray:
    """The entries of one input of that shape; ``classes`` is the size of its class ids."""
    if classes is not None:
        return draw.integers(classes, shape)
    if tensor.boolean:
        return draw.integers(2, shape).astype(bool)
    values = draw.between(*tensor.range, shape) if tensor.range else draw.entries(shape)
    for name, make in STRUCTURES.items():
        if name in tensor.assume and values.size and (values.ndim or name not in ALONG_ROWS):
            values = np.asarray(make(draw, values))  # a scalar comes back as a number
    return values


def draw_inputs(spec: model.Spec, sizes: Sizes, draw: Draw) -> Point:
    """Every input of a spec, by what the spec says of it."""
    return {
        tensor.name: draw_input(
            tensor,
            shape_of(tensor.shape, sizes),
            None if tensor.index is None else extent_of(tensor.index, sizes),
            draw,
        )
        for tensor in spec.inputs
    }


def draw_upstreams(spec: model.Spec, sizes: Sizes, draw: Draw) -> Point:
    """A random upstream ``d<output>`` for each output."""
    return {f"d{name}": draw.entries(shape_of(spec.shapes[name], sizes)) for name in spec.outputs}


# Points


def _draws(rng: np.random.Generator, exact: bool, tries: int) -> Iterator[Draw]:
    """Draws of scale 1, then of other scales, then positive ones: for a ``log`` of what no one said was positive."""
    for n in range(tries):
        scale = 1.0 if n < tries // 2 else SCALES[n % len(SCALES)]
        yield Draw(rng, exact, scale, positive=n >= tries // 4 and n % 2 == 1)


UNAVOIDABLE = 6
"""A kink that so many points are near is taken for one that all are."""


@dataclass
class Unavoided:
    """The kinks near which points are since none was found that is not: at some sizes, or at many points of any."""

    at_sizes: dict[tuple[tuple[str, Any], ...], set[int]] = field(default_factory=dict)
    at_any: dict[bool, set[int]] = field(default_factory=dict)
    """Of forwards that are computed one way or the other, which number kinks differently."""


def away_from_kinks(
    spec: model.Spec,
    sizes: Sizes,
    rng: np.random.Generator,
    *,
    exact: bool = False,
    margin: float = MARGIN,
    tries: int = 40,
    rough: int = 0,
    unavoided: Unavoided | None = None,
) -> Point:
    """A point at which the forward is finite and no kink or pole is nearer than ``margin``; the best of all tries.

    Where a kink cannot be avoided, such as a tie of equal expressions, the best has the fewest others nearby. What was
    ``unavoided`` before at these sizes is not tried to be avoided again.
    """
    best: Point = {}
    best_score: tuple[bool, int, float] | None = None
    always: set[int] | None = None
    left = unavoided or Unavoided()
    own = left.at_sizes.setdefault(tuple(sizes.items()), set())
    known = own | left.at_any.setdefault(is_small(spec, sizes), set())
    beside: set[int] = set()
    for count, drawn in enumerate(_draws(rng, exact, tries), 1):
        point = draw_inputs(spec, sizes, replace(drawn, rough=rough))
        kinks, finite = passed(spec, sizes, point)
        near = [k.site for k in kinks if k.moves and k.distance < margin]
        score = (finite, -len(near), nearest(kinks))
        if best_score is None or score > best_score:
            best, best_score, beside = point, score, set(near)
        if finite:
            always = set(near) if always is None else always & set(near)
            if known.issuperset(near):
                break
            if count >= UNAVOIDABLE and always.issuperset(near):
                if min((n for n in sizes.values() if isinstance(n, int)), default=1) > 1:
                    left.at_any[is_small(spec, sizes)] |= always
                break
    own |= beside
    return best


@dataclass(frozen=True)
class Sides:
    """Points that together visit every side that was found, and the ``missed`` sites of which only one side was."""

    points: tuple[Point, ...]
    missed: tuple[Kink, ...]


def every_side(
    spec: model.Spec,
    sizes: Sizes,
    rng: np.random.Generator,
    *,
    exact: bool = False,
    tries: int = 12,
    steps: int = 60,
    unavoided: Unavoided | None = None,
) -> Sides:
    """Points on every side of every kink: random ones of several scales, then a search for the sides not yet seen."""
    chosen: list[Point] = []
    seen: set[tuple[int, Any]] = set()
    closest: dict[int, tuple[Kink, Point]] = {}

    def visit(point: Point, known: tuple[list[Kink], bool] | None = None) -> bool:
        kinks, finite = known or passed(spec, sizes, point)
        for kink in kinks:
            if not kink.is_pole and (kink.site not in closest or kink.distance < closest[kink.site][0].distance):
                closest[kink.site] = kink, point
        new = sides(kinks) - seen if finite else set()
        seen.update(new)
        if new:
            chosen.append(point)
        return bool(new)

    first = away_from_kinks(spec, sizes, rng, exact=exact, unavoided=unavoided)
    visit(first)
    if not closest:
        return Sides((first,), ())
    drawn = [draw_inputs(spec, sizes, Draw(rng, exact, SCALES[n % len(SCALES)])) for n in range(tries)]
    together = not is_small(spec, sizes)  # where kinks are numbered as they are one by one
    for point, known in zip(drawn, passed_by_each(spec, sizes, drawn) if together else repeat(None), strict=False):
        visit(point, known)
    searched: set[int] = set()
    while pending := set(closest) - searched:  # a search may come upon kinks in branches not taken before
        site = min(pending)
        searched.add(site)
        _search(spec, sizes, Draw(rng, exact), site, closest, seen, visit, steps)
    missed = tuple(closest[s][0] for s in closest if _one_sided(closest[s][0], seen))
    return Sides(tuple(chosen) or (first,), missed)


def _one_sided(kink: Kink, seen: set[tuple[int, Any]]) -> bool:
    """Whether only one side was seen of a kink that has just two."""
    return kink.kind not in ("max[]", "min[]", "argmax[]", "argmin[]", "floor", "round") and (
        len({side for site, side in seen if site == kink.site}) < 2
    )


def _search(  # noqa: PLR0917
    spec: model.Spec,
    sizes: Sizes,
    draw: Draw,
    site: int,
    closest: dict[int, tuple[Kink, Point]],
    seen: set[tuple[int, Any]],
    visit: Callable[[Point], bool],
    steps: int,
) -> None:
    """Walk from the point nearest to a kink, one input at a time, until its other side is seen.

    The input is drawn anew or, every second time, moved by about the distance that is left.
    """
    for step in range(steps):
        kink, point = closest[site]
        if not _one_sided(kink, seen):
            return
        scale = SCALES[step % len(SCALES)] * 2.0 ** (step // len(SCALES))
        redrawn = draw_inputs(spec, sizes, Draw(draw.rng, draw.exact, scale))
        tensor = spec.inputs[int(draw.rng.integers(len(spec.inputs)))]
        values = redrawn[tensor.name]
        if step % 2 and is_free(tensor) and 0 < kink.distance < 1:
            size = Fraction(2) ** math.frexp(kink.distance)[1]
            change = Draw(draw.rng, draw.exact).entries(values.shape) * (size if draw.exact else float(size))
            values = np.asarray(point[tensor.name] + change, dtype=values.dtype)  # a number where there are no axes
        visit(point | {tensor.name: values})


def is_free(tensor: model.Input) -> bool:
    """Whether its entries may be any numbers."""
    return tensor.is_real and not tensor.assume and tensor.range is None


def numbers_of(spec: model.Spec) -> tuple[Fraction, ...]:
    """The numbers that a spec mentions, with 0, 1 and their negatives: where its kinks are likely to stand."""
    found = {Fraction(0), Fraction(1), Fraction(2), *spec.constants.values()}
    for equation in spec.equations:
        found.update(v for n in equation.right.walk() if (v := fold(n)) is not None)
    return tuple(sorted({s * v for v in found if abs(v) <= 100 for s in (1, -1)}))


def at_kinks(
    spec: model.Spec, sizes: Sizes, rng: np.random.Generator, *, exact: bool = False, tries: int = 30
) -> tuple[Point, ...]:
    """Points exactly at kinks, as many different kinks as are found; none where the forward is smooth."""
    grid = numbers_of(spec)
    chosen: list[Point] = []
    hit: set[int] = set()
    few = tuple(v for v in grid if abs(v) <= 1)
    first = draw_inputs(spec, sizes, Draw(rng, exact, grid=grid))
    if not any(k.moves and not k.is_pole for k in passed(spec, sizes, first)[0]):
        return ()
    drawn = [first, *(draw_inputs(spec, sizes, Draw(rng, exact, grid=few if n % 2 else grid)) for n in range(1, tries))]
    for point, (kinks, finite) in zip(drawn, passed_by_each(spec, sizes, drawn), strict=True):
        if not finite or any(k.is_pole and k.distance == 0 for k in kinks):
            continue
        new = {k.site for k in kinks if k.moves and k.distance == 0} - hit
        if new:
            hit |= new
            chosen.append(point)
    return tuple(chosen)
