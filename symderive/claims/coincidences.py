"""Points by the dozen, for claims in which conditions on indices or class ids meet others.

A claim may be wrong for one class where another id is 3, too, and a ``relu`` passes what stands there: each of these is
seen at some point, all of them together at few. Floats look at many points, of which class ids are often those that the
claim mentions, at sizes at which there are as many; exact numbers decide.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from symderive.check import sample
from symderive.check.floats import FLOAT
from symderive.check.oracle import extent_of
from symderive.claims.borders import POLE, borders, of_forward
from symderive.claims.compare import FINE
from symderive.claims.crowds import GRID
from symderive.claims.lines import ClaimError, names_in
from symderive.claims.outcome import Outcome
from symderive.claims.points import Point, Points
from symderive.claims.probe import Probe
from symderive.claims.reach import few_derivatives, fits
from symderive.claims.remembered import Remembered
from symderive.claims.resizing import opposite
from symderive.claims.stacks import together
from symderive.spec import model, syntax
from symderive.spec.folding import fold

if TYPE_CHECKING:
    from symderive.claims.trial import Trial
    from symderive.claims.world import Sizes

MOST_POINTS = 96
MOST_WORK = 60_000
"""Multiplications of the forward at all of them."""

LARGEST_WORK = 3_000
"""Multiplications of the forward at one of them."""

LEAST = 200
"""What else there is to compute at a point, in such multiplications."""

SWEEPS = 12
"""How many times as much it takes where derivatives by many entries are claimed."""

MOST_CANCELLED = 3
"""Points at which floats are seen to differ because they cancel; then they must differ by more."""

LARGEST_ID = 20
SCALES = (1.0, 3.0, 10.0)


def in_coincidences(trial: Trial) -> Outcome | None:
    """Where a claim fails at one of many points; only of one with conditions on indices or class ids that is asked."""
    probe = Probe(trial)
    drawn = [b for b in borders(trial) if b.signs != POLE and not probe.is_number(b)]
    known = {b.node for b in of_forward(trial.spec)}
    whole = {i.name for i in trial.spec.inputs if not i.is_real}
    own = [b for b in drawn if b.node not in known and (probe.is_sized(b) or names_in(b.node) & whole)]
    numbers = frozenset(n for b in own for n in _numbers(b.node))
    if len(drawn) < 2 or not (numbers or len(own) > 1):
        return None  # that one index is another is no rare thing
    cancelled = 0
    for point, _ in together(trial.court, ((p, False) for p in _points(trial, numbers))):
        try:
            bench = trial.court.bench(point, FLOAT)
            if bench.agrees(trial.line, trial.node, FINE):
                continue
            if cancelled >= MOST_CANCELLED and bench.agrees(trial.line, trial.node):
                continue
        except ClaimError:
            continue
        if trial.court.points.smooth(point) and (outcome := trial.at(point)).wrong is not None:
            return outcome
        cancelled += 1
    return None


def _numbers(node: syntax.Node) -> Iterator[int]:
    """The whole numbers in an expression that an index or a class id may be."""
    for inner in node.walk():
        value = fold(inner)
        if value is not None and value.denominator == 1 and 0 <= value <= LARGEST_ID:
            yield int(value)


def _points(trial: Trial, numbers: frozenset[int]) -> Iterator[Point]:
    """The points for claims that mention some numbers, the same for all of them."""
    points = trial.court.points
    sizes = [points.plan[0], _large_enough(points, numbers)]
    drawn = trial.court.drawn.setdefault(("coincidences", numbers), Remembered(_drawn(points, numbers, sizes)))
    sweeps = SWEEPS if "D" in trial.node.called or trial.line.role == "jacobian" else 1
    most = MOST_WORK // (sweeps * (LEAST + max(map(points.chooser.work, sizes))))
    for point in itertools.islice(drawn, min(most, MOST_POINTS)):
        if few_derivatives(trial, point.sizes):
            yield point


def _large_enough(points: Points, numbers: frozenset[int]) -> Sizes:
    """Sizes at which indices and class ids may be as large as the numbers, as far as those are cheap."""
    sizes = dict(points.plan[0])
    for name in points.chooser.free:
        extent = sizes[name]
        assert isinstance(extent, int)
        more = {**sizes, name: max(extent, max(numbers, default=0) + 1)}
        if fits(points, more, LARGEST_WORK) and points.chooser.regular(more):
            sizes = more
    return sizes


def _drawn(points: Points, numbers: frozenset[int], sizes: list[Sizes]) -> Iterator[Point]:
    """Random points of these sizes in turn, of several scales, of numbers of which no two are likely to tie."""
    rng = np.random.default_rng(points.seed + 3)
    for own, scale in itertools.cycle(itertools.product(sizes, SCALES)):
        draw = sample.Draw(rng, exact=True, scale=scale, rough=GRID)
        inputs = sample.draw_inputs(points.spec, own, draw)
        inputs |= dict(_with_numbers(points.spec, inputs, numbers, own, rng))
        yield (point := points.complete(own, inputs, draw=draw))
        yield opposite(points.spec, point)


def _with_numbers(
    spec: model.Spec, inputs: sample.Point, numbers: frozenset[int], sizes: Sizes, rng: np.random.Generator
) -> Iterator[tuple[str, np.ndarray]]:
    """Class ids of which most are the numbers that there are."""
    for tensor in spec.inputs:
        if tensor.index is None:
            continue
        among = sorted(n for n in numbers if n < extent_of(tensor.index, sizes))
        if among:
            values = inputs[tensor.name]
            chosen = rng.choice(among, size=np.shape(values))
            yield tensor.name, np.where(rng.integers(4, size=np.shape(values)) > 0, chosen, values)
