"""Points on a kink of the forward at which it has a derivative all the same, so that a claim can be wrong there.

Where data choose a branch, as in ``where(k == 0, x**2, x)``, the forward has a derivative with respect to x whatever k
is, and a claim has to give it. Where pieces meet smoothly in x itself, as those of ``x * abs(x)`` do at 0, a claim has
to have a value. That it gives another one is wrong if it says ``x == 0``, and so speaks of just that point; of
``where(x > 0, 1, 0)``, which any value at 0 would do for elsewhere, only a note says so.

Whether there is a derivative is seen from the gradient next to the point: as the tensor of the claim, and nothing else,
is moved less and less far from where it is, to one side and the other, the gradient comes as near as one likes to that
at the point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symderive.check import sample
from symderive.check.exact import EXACT
from symderive.check.floats import FLOAT
from symderive.check.numbers import Domain
from symderive.check.objects import objects
from symderive.claims.bench import Sides
from symderive.claims.compare import FINE, finite, shown
from symderive.claims.lines import FAULTS, ClaimError, names_in
from symderive.claims.outcome import Outcome, compared
from symderive.claims.points import Point
from symderive.claims.probe import Probe
from symderive.claims.records import Record, Setting
from symderive.spec import syntax

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

MOST_TIES = 6
"""Points on kinks at which a claim differs that are looked at closely."""

MOST_WORK = 2000
"""Multiplications of a forward that is differentiated some dozen times."""

DIRECTIONS = 4
STEPS = (Fraction(1, 2**60), Fraction(1, 2**80))
NEARER = Fraction(1, 2**5)
"""What is left of a difference, at most, when a step is so much smaller: of a square root's, 1 / 2**10."""

ROUNDING = EXACT.context.mpf(10) ** -45


def at_ties(trial: Trial) -> Outcome | None:
    """The first point on a kink at which the claim is wrong; where there is none, at which it has no value."""
    if trial.line.role != "gradient" or trial.line.tensor in trial.spec.outputs:
        return None
    kinks = trial.court.points.kinks
    failing = list(_failing(trial, _of_data(trial, kinks)))
    if wrong := next((o for o in failing if o.failed), None):
        return wrong
    speaks = _speaks_of_single_values(trial)
    for outcome in _failing(trial, [*kinks, *trial.tied]):
        if speaks or outcome.undefined is not None:
            failing.append(outcome)
        elif not trial.note:
            trial.note = _note(outcome)
    return next((o for o in failing if o.failed), None) or next(iter(failing), None)


def _speaks_of_single_values(trial: Trial) -> bool:
    """Whether a claim, with its helpers, asks whether a real number has one value, by ``==`` or ``!=``."""
    whole = {i.name for i in trial.spec.inputs if not i.is_real}
    real = {*trial.spec.shapes, *(h.name for h in trial.court.helpers)} - whole
    sides = [trial.node, *(h.statement.sides[0] for h in trial.court.helpers)]
    compared = (n for side in sides for n in side.walk() if isinstance(n, syntax.Compare))
    return any({"==", "!="} & set(n.ops) and names_in(n) & real for n in compared)


def _note(outcome: Outcome) -> str:
    """What a right claim gives on a kink."""
    assert outcome.sides is not None
    claimed, true = (shown(side[outcome.wrong]) for side in (outcome.sides.claimed, outcome.sides.true))
    return f"on a kink where the forward has a derivative all the same the claim gives {claimed}, not {true}"


def _of_data(trial: Trial, kinks: Sequence[Point]) -> list[Point]:
    """The points, but for the inputs that the tensor of the claim depends on, so that it is on no kink itself."""
    first = trial.court.points.main[0]
    own = Probe(trial).behind_tensor(trial.line.tensor)
    others = [n for n in first.inputs if n not in own]
    moved = [replace(first, inputs={**first.inputs, **{n: p.inputs[n] for n in others}}) for p in kinks]
    return moved if others else []


def _failing(trial: Trial, points: Sequence[Point]) -> Iterator[Outcome]:
    """What is wrong with a claim on kinks, at entries at which the forward has a derivative."""
    looked_at = 0
    for point in points:
        if looked_at >= MOST_TIES or trial.court.points.chooser.work(point.sizes) > MOST_WORK:
            return
        if trial.court.points.distance(point) < 0:
            continue  # the forward has no value there
        try:
            if trial.court.bench(point, FLOAT).agrees(trial.line, trial.node, FINE) or trial.at(point).holds:
                continue
            looked_at += 1
            outcome = _where_smooth(trial, point)
        except (ClaimError, *FAULTS):
            continue
        if not outcome.holds:
            yield outcome


def _where_smooth(trial: Trial, point: Point) -> Outcome:
    """The side against the truth, where that exists."""
    kept = continuous(trial, point)

    def sides(base: Domain) -> Sides:
        bench = trial.court.new_bench(point, base)
        true = objects(bench.tensors[trial.line.name])
        bench.put(trial.line.name, np.where(kept, true, base.div(0, 0)))
        return bench.sides(trial.line, trial.node)

    return compared(point, sides(EXACT), sides)


def continuous(trial: Trial, point: Point) -> np.ndarray:
    """The entries at which the gradient of a claim's tensor is continuous in that tensor."""
    gradient = Gradient(trial, point)
    here = gradient.at(None)
    kept = np.array([finite(v) for v in here.flat]).reshape(here.shape)
    draw = sample.Draw(np.random.default_rng(trial.court.seed), exact=True)
    for number in range(2 * DIRECTIONS):
        if number % 2 == 0:
            direction = objects(draw.entries(here.shape))
            direction = np.where(direction == 0, 1, direction)
        far, near = (gradient.at(direction * step * (-1) ** number) for step in STEPS)
        for at in zip(*np.nonzero(kept), strict=True) if here.ndim else [()] if kept else []:
            kept[at] = _approaches(here[at], far[at], near[at])
    return kept


def _approaches(here: object, far: object, near: object) -> bool:
    if not (finite(far) and finite(near)):
        return False
    limit, first, second = (EXACT.lift(v) for v in (here, far, near))
    before, after = abs(first - limit), abs(second - limit)
    return bool(after <= ROUNDING * max(abs(limit), abs(second)) or after <= EXACT.lift(NEARER) * before)


class Gradient:
    """The gradient with respect to one tensor, an input or one that the forward computes, as that alone is moved."""

    def __init__(self, trial: Trial, point: Point) -> None:
        self.name = trial.line.tensor
        world = point.world(trial.spec)
        self.sizes, self.upstreams, self.constants = point.sizes, world.upstreams, world.constants
        self.value = world.values[self.name]
        self.inputs = {**point.inputs, self.name: self.value}
        self.equations = [e for e in trial.spec.equations if e.tensor != self.name]

    def at(self, shift: np.ndarray | None) -> np.ndarray:
        """The gradient where the tensor is moved by a shift."""
        value = self.value if shift is None else _added(self.value, shift)
        inputs = {**self.inputs, self.name: objects(value)}
        setting = Setting(self.equations, inputs, {self.name}, self.sizes, EXACT, self.constants)
        return Record(setting).sweep(self.upstreams)(self.name)


_added = np.frompyfunc(EXACT.add, 2, 1)
