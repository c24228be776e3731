"""Points on a kink of the forward at which it has a derivative all the same, so that a claim can be wrong there.

A tensor of the forward has a value on every kink, and a claim about one is judged there without more.
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
from symderive.check.moving import fixed_places
from symderive.check.numbers import Domain
from symderive.check.objects import objects
from symderive.claims.bench import Bench, Sides, label
from symderive.claims.compare import FINE, finite, same, shown
from symderive.claims.lines import FAULTS, ClaimError, Line, names_in
from symderive.claims.outcome import Outcome, compared
from symderive.claims.points import CLOSE, Point
from symderive.claims.probe import Probe
from symderive.claims.stacks import prepare
from symderive.claims.trees import tensor_of
from symderive.claims.world import World, with_input
from symderive.spec import syntax

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

MOST_TIES = 6
"""Points on kinks at which a claim differs that are looked at closely."""

MOST_WORK = 2000
"""Multiplications of a forward that is differentiated some dozen times."""

MOST_ENTRIES = 400
"""Entries of a left side that is computed as often."""

DIRECTIONS = 4
STEPS = (Fraction(1, 2**60), Fraction(1, 2**80))
NEARER = Fraction(1, 2**5)
"""What is left of a difference, at most, when a step is so much smaller: of a square root's, 1 / 2**10."""

ROUNDING = EXACT.context.mpf(10) ** -45


def at_ties(trial: Trial) -> Outcome | None:
    """The first point on a kink at which the claim is wrong; where there is none, at which it has no value."""
    of_caller = trial.line.role == "gradient" and trial.line.tensor in trial.spec.outputs
    if of_caller or trial.line.role == "helper":
        return None
    points = [*trial.court.points.kinks, *trial.tied]
    failing = list(_failing(trial, points if trial.line.role == "tensor" else _of_data(trial, points)))
    if trial.line.role == "tensor" or any(o.failed for o in failing):
        return next((o for o in failing if o.failed), None) or next(iter(failing), None)
    speaks = _speaks_of_single_values(trial)
    for outcome in _failing(trial, points):
        if speaks or outcome.undefined is not None or _only_data(trial, outcome.point):
            failing.append(outcome)
        elif not trial.note:
            trial.note = _note(outcome)
    return next((o for o in failing if o.failed), None) or next(iter(failing), None)


def _moved(line: Line) -> str:
    """The tensor by which the left side of a claim is a derivative."""
    left = line.statement.left
    return tensor_of(left.arguments[1]) if isinstance(left, syntax.Call) else line.tensor


def _only_data(trial: Trial, point: Point) -> bool:
    """Whether what a point is on a kink of does not move with the tensor of the claim, which is on none itself."""
    kinks, _ = sample.passed(trial.spec, point.sizes, point.inputs)
    fixed = fixed_places(trial.spec, _moved(trial.line))
    return all(k.span in fixed for k in kinks if not k.is_pole and k.distance <= CLOSE)


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
    own = Probe(trial).behind_tensor(_moved(trial.line))
    others = [n for n in first.inputs if n not in own]
    if not others:
        return []
    alike = (p for p in kinks if p.sizes == first.sizes)
    return [replace(first, inputs={**first.inputs, **{n: p.inputs[n] for n in others}}) for p in alike]


def _failing(trial: Trial, points: Sequence[Point]) -> Iterator[Outcome]:
    """What is wrong with a claim on kinks, at entries at which the forward has a derivative."""
    looked_at = 0
    prepare(trial.court, points)
    for point, distance in zip(points, trial.court.points.distances(points), strict=True):
        if looked_at >= MOST_TIES or trial.court.points.chooser.work(point.sizes) > MOST_WORK:
            return
        if distance < 0:
            continue  # the forward has no value there
        try:
            if trial.court.bench(point, FLOAT).agrees(trial.line, trial.node, FINE):
                continue
            if (outcome := trial.at(point)).holds:
                continue
            looked_at += 1
            if trial.line.role != "tensor":  # which has a value on every kink
                outcome = _where_smooth(trial, point, outcome)
        except (ClaimError, *FAULTS):
            continue
        if not outcome.holds:
            yield outcome


def _where_smooth(trial: Trial, point: Point, outcome: Outcome) -> Outcome:
    """The side against the truth, where that exists; ``outcome`` is that of both everywhere.

    That a side has no value counts only where the forward has a derivative by every entry: else one is on a kink.
    """
    kept = continuous(trial, point, _differing(trial.line, outcome))

    def sides(base: Domain) -> Sides:
        bench = trial.court.new_bench(point, base)
        name = _name_of_left(bench, trial.line)
        bench.put(name, np.where(kept, objects(bench.tensors[name]), base.div(0, 0)))
        return bench.sides(trial.line, trial.node)

    found = compared(point, sides(EXACT), sides)
    return found if found.failed or kept.all() else replace(found, undefined=None)


def _name_of_left(bench: Bench, line: Line) -> str:
    """The name of what a left side is about among the tensors of a bench."""
    return line.name if line.role == "gradient" else tensor_of(bench.rewritten(line.statement.left))


def _differing(line: Line, outcome: Outcome) -> np.ndarray | None:
    """The entries at which a claim and the truth may differ; None where their axes are not those of the tensor."""
    sides = outcome.sides
    if line.role != "gradient" or sides is None or [label(i) for i in line.indices or ()] != list(sides.free):
        return None
    pairs = zip(sides.claimed.flat, sides.true.flat, strict=True)
    return np.array([not same(*pair) for pair in pairs], dtype=bool).reshape(sides.true.shape)


def continuous(trial: Trial, point: Point, telling: np.ndarray | None = None) -> np.ndarray:
    """The entries at which what a claim is about is continuous in the tensor by which it is a derivative.

    It is looked for as long as there may be any among the ``telling`` ones.
    """
    left = Left(trial, point)
    here = left.at(None)
    if here.size > MOST_ENTRIES:
        raise ValueError
    kept = np.array([finite(v) for v in here.flat]).reshape(here.shape)
    draw = sample.Draw(np.random.default_rng(trial.court.seed), exact=True)
    for number in range(2 * DIRECTIONS):
        if number % 2 == 0:
            direction = objects(draw.entries(left.value.shape))
            direction = np.where(direction == 0, 1, direction)
        if telling is not None and telling.shape == kept.shape and not (kept & telling).any():
            break
        far, near = (left.at(direction * step * (-1) ** number) for step in STEPS)
        for at in zip(*np.nonzero(kept), strict=True) if here.ndim else [()] if kept else []:
            kept[at] = _approaches(here[at], far[at], near[at])
    return kept


def _approaches(here: object, far: object, near: object) -> bool:
    if not (finite(far) and finite(near)):
        return False
    limit, first, second = (EXACT.lift(v) for v in (here, far, near))
    before, after = abs(first - limit), abs(second - limit)
    return bool(after <= ROUNDING * max(abs(limit), abs(second)) or after <= EXACT.lift(NEARER) * before)


class Left:
    """What a claim is about, as the tensor by which it is a derivative, an input or not, is alone moved."""

    def __init__(self, trial: Trial, point: Point) -> None:
        self.line, self.point = trial.line, point
        self.name = _moved(trial.line)
        world = point.world(trial.spec)
        self.upstreams, self.constants = world.upstreams, world.constants
        self.value = objects(world.values[self.name])
        self.spec = with_input(trial.spec, self.name)

    def at(self, shift: np.ndarray | None) -> np.ndarray:
        """Its value where the tensor is moved by a shift."""
        value = self.value if shift is None else objects(_added(self.value, shift))
        inputs = {**self.point.inputs, self.name: value}
        world = World(self.spec, self.point.sizes, inputs, self.upstreams, EXACT, constants=self.constants)
        bench = Bench(world)
        return objects(bench.tensors[_name_of_left(bench, self.line)])


_added = np.frompyfunc(EXACT.add, 2, 1)
