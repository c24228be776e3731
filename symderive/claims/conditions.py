"""Conditions under which a wrong claim would be right: a symmetric input, an upstream of ones, a size, a constant."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symderive.check import sample
from symderive.check.floats import FLOAT
from symderive.check.objects import objects
from symderive.check.oracle import extent_of, shape_of
from symderive.claims.assumed import Assumed, assuming, assumption, is_right
from symderive.claims.compare import finite, same
from symderive.claims.needed import is_needed, promising
from symderive.claims.points import FAR, Point
from symderive.claims.points import Condition as Change
from symderive.claims.remembered import Remembered
from symderive.claims.world import Sizes
from symderive.record import record
from symderive.spec import model

if TYPE_CHECKING:
    from symderive.claims.court import Court
    from symderive.claims.trial import Trial

POINTS = 7
MOST_CLASSES = 6
"""Of one-hot rows that are tried one after the other where a claim failed."""

FEW_DIGITS = 400
"""Numbers that still cancel with so many digits decide nothing about a condition."""

EQUAL = (3, 2, 4, 7)
"""Values of sizes that are equal."""

MOST_BESIDE = 12
"""Points next to borders of a claim at which a condition is left."""

SHIFTS = 4
"""How many parts of the inputs at which a claim fails are tried at smaller sizes."""


@record
class Condition:
    """A condition in words, its ``kind`` (symmetric, ...), what it is about, and how to make it hold.

    A ``weak`` one may hold by chance: it gives way to an explanation of what is wrong. That a tensor is one-hot makes
    most products of its entries vanish; one by which a gradient is taken can hardly be binary, or have a given
    sum; and who writes an upstream means any upstream. ``sizes`` have the values given, ``equal`` ones the same.
    """

    text: str
    kind: str
    about: str = ""
    assumed: Assumed = Assumed()
    change: Change | None = None
    weak: bool = False

    def points(self, court: Court) -> Iterator[Point]:
        """Points at which it holds."""
        yield from court.under.setdefault(self.text, Remembered(self._drawn(court)))

    def made_of(self, failed: Point, court: Court) -> Iterator[Point]:
        """Points at which it holds, made of one at which a claim failed."""
        points = assumption(court, self.assumed).points
        sizes = self.sized(failed.sizes)
        if not points.chooser.does(sizes):
            return
        draws = {"binary": 2, "one_hot": MOST_CLASSES}.get(self.kind, 1)  # what fails at ones may hold at zeros
        starts = [failed.inputs] if sizes == failed.sizes else all_stretched(court.spec, failed.inputs, sizes)
        for start, _ in itertools.product(starts, range(draws)):
            if (made := points.under(sizes, self.applied, start)) is not None:
                yield replace(made, note=failed.note)

    def sized(self, sizes: Sizes, number: int = 0) -> Sizes:
        """Sizes, changed so that it holds."""
        return {**sizes, **dict.fromkeys(self.assumed.equal, EQUAL[number % len(EQUAL)]), **dict(self.assumed.sizes)}

    def applied(self, draw: sample.Draw, inputs: dict[str, np.ndarray], upstreams: dict[str, np.ndarray]) -> None:
        """Make it hold."""
        if self.change is not None:
            self.change(draw, inputs, upstreams)

    def _drawn(self, court: Court) -> Iterator[Point]:
        points = assumption(court, self.assumed).points
        plan = points.plan
        sides = [p.inputs for p in court.points.main if p.note]
        for n in range(POINTS):
            sizes = self.sized(plan[n if n < min(len(plan), 2) else 0], n)
            if (self.assumed.sizes or self.assumed.equal) and not points.chooser.does(sizes):
                continue
            begin = sides[(n - 2) % len(sides)] if n >= 2 and sides else None
            if begin and (self.assumed.sizes or self.assumed.equal):
                begin = stretched(court.spec, begin, sizes)
            point = points.under(sizes, self.applied, begin, 10.0 ** (n - POINTS + 3) if n >= POINTS - 2 else 1.0)
            if point is not None:
                yield point


def all_stretched(spec: model.Spec, inputs: Mapping[str, np.ndarray], sizes: Sizes) -> Iterator[dict[str, np.ndarray]]:
    """The inputs at other sizes in several ways."""
    for shift, repeated in itertools.product(range(SHIFTS), (True, False)):
        yield stretched(spec, inputs, sizes, shift, repeated)


def stretched(
    spec: model.Spec, inputs: Mapping[str, np.ndarray], sizes: Sizes, shift: int = 0, repeated: bool = True
) -> dict[str, np.ndarray]:
    """The inputs at other sizes: their entries over and over, so that what is special about them stays.

    Or only the last ones along each axis are ``repeated``: where one entry of a row counts, it stays the only one. A
    ``shift`` begins further on along each axis: of an array that becomes smaller, other entries stay.
    """
    found = {}
    draw = sample.Draw(np.random.default_rng(0), exact=True)
    for tensor in spec.inputs:
        given = np.asarray(inputs[tensor.name])
        turned = np.roll(given, [-shift] * given.ndim, range(given.ndim)) if shift and given.ndim else given
        shape = shape_of(tensor.shape, sizes)
        values = np.resize(turned, shape) if repeated else _extended(turned, shape)
        if tensor.index is not None:
            values = values % extent_of(tensor.index, sizes)
        for name, make in sample.ASSUMPTIONS.items():
            if name in tensor.assume and name not in ("binary", "unit") and values.size:
                values = objects(make(draw, values))
        found[tensor.name] = values
    return found


def _extended(values: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """The first entries along each axis, and the last ones again and again."""
    if not values.size or values.ndim != len(shape):
        return np.resize(values, shape)
    return np.asarray(
        values[np.ix_(*(np.minimum(np.arange(n), k - 1) for n, k in zip(shape, values.shape, strict=True)))]
    )


def holds(trial: Trial, condition: Condition, failed: Point | None = None) -> bool:
    """Whether the claim is right wherever the condition holds, and the truth not just 0 there.

    Few points turn down most conditions; what is left is judged as if the spec said it.
    """
    told = 0
    varied = False
    masks: list[bool] = []
    usual = _held(trial, condition.points(trial.court))
    if usual is None:
        return False
    made = [] if failed is None else _held(trial, condition.made_of(failed, trial.court))
    if made is None:
        return False
    other, rare = assuming(trial, condition.assumed), rarely_wrong(trial)
    if not rare and not all(promising(other, p, keep=True) for p in other.court.points.main if p.note != FAR):
        return False  # in floats, before it takes long
    points = [*usual, *made]
    for point in points:
        varied |= not _is_identity(point.inputs.get(condition.about))
        outcome = trial.at(point, digits=FEW_DIGITS)
        if not outcome.holds:
            return False
        telling = outcome.sides is not None and any(finite(v) and not same(v, 0) for v in outcome.sides.true.flat)
        told += telling
        if condition.kind == "binary":
            masks += _as_mask(point.inputs[condition.about], telling)
    if not told or not varied or (condition.kind == "binary" and len({*masks}) < 2):
        return False
    if _is_degenerate(trial, points):
        return False
    if rare and not is_needed(trial, condition.assumed, made or points):
        return False  # what is needed is seen where the claim failed
    if not is_right(other):
        return False
    beside = [*points, *other.beside[:MOST_BESIDE]]
    return rare or is_needed(trial, condition.assumed, points) or is_needed(trial, condition.assumed, beside)


def _held(trial: Trial, candidates: Iterable[Point]) -> list[Point] | None:
    """Points at which a claim seems to hold; None where it does not at one of them."""
    points: list[Point] = []
    for point in candidates:
        if point.note != FAR and not promising(trial, point, keep=True):
            return None  # far out, where floats cancel, only exact numbers turn it down
        if not points and not trial.at(point).holds:
            return None  # before more points are drawn
        points.append(point)
    return points


def _as_mask(values: np.ndarray, telling: bool) -> set[bool]:
    """The truth values among zeros and ones; those of an array count where there are both, and not all vanishes."""
    found = {bool(v == 0) for v in np.asarray(values).flat}
    return found if np.size(values) == 1 or (telling and len(found) == 2) else set()


def _is_degenerate(trial: Trial, points: Sequence[Point]) -> bool:
    """Whether a condition makes a tensor of the forward vanish, as ``B - B.T`` does where B is symmetric."""
    worlds = [trial.court.bench(p, FLOAT).world for p in (trial.court.points.main[0], *points[:2])]
    names = [e.tensor for e in trial.spec.equations]
    usual, *others = ({n for n in names if not np.any(w.values[n])} for w in worlds)
    return bool(set.intersection(*others) - usual)


def _is_identity(values: np.ndarray | None) -> bool:
    """Whether an array is an identity matrix, which says little of other one-hot, binary or symmetric ones."""
    if values is None or values.ndim != 2 or values.shape[0] != values.shape[1]:
        return False
    return bool((values == np.eye(len(values), dtype=int)).all())


def rarely_wrong(trial: Trial) -> bool:
    """Whether a claim holds at two points of different sizes, and so fails at others only."""
    return all(trial.at(p).holds for p in trial.court.points.pair)


def at_value(name: str, value: int) -> Condition:
    """That a size has a value."""
    return Condition(f"{name} = {value}", "size", name, Assumed(sizes=((name, value),)))


def alike(a: str, b: str) -> Condition:
    """That two sizes are equal."""
    return Condition(f"{a} = {b}", "size", a, Assumed(equal=(a, b)))
