"""Counterexamples: the entry at which a claim fails, small enough to be worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from symderive.check import sample
from symderive.check.exact import EXACT
from symderive.check.floats import FLOAT
from symderive.check.objects import floats, shape_text
from symderive.claims.bench import Bench
from symderive.claims.compare import finite, shown
from symderive.claims.lines import ClaimError, Line
from symderive.claims.outcome import Outcome, differing
from symderive.claims.points import Point, random_upstreams
from symderive.spec import syntax

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

MOST_SHOWN = 40
"""Inputs of so many numbers in all are shown."""


def counterexample(bench: Bench, line: Line, node: syntax.Node, outcome: Outcome) -> Mapping[str, Any]:
    """The entry at which a claim fails: sizes, indices, the claimed value and the true one, and small inputs."""
    point, sides = outcome.point, outcome.sides
    found: dict[str, Any] = {"sizes": _plain_sizes(point.sizes)}
    if sides is None:
        return found | _shapes(bench, line, node)
    at = outcome.wrong if outcome.wrong is not None else outcome.undefined or ()
    claimed, true = sides.claimed[at], sides.true[at]
    found |= {"indices": list(at), "claimed": _beside(claimed, true), "true": _beside(true, claimed)}
    if sum(np.size(a) for a in point.inputs.values()) <= MOST_SHOWN:
        found["inputs"] = {n: _listed(a) for n, a in point.inputs.items()}
        found["inputs"] |= {f"d{n}": _listed(a) for n, a in point.upstreams.items() if np.ndim(a)}
    return found


# Which entry


def plainest(trial: Trial, outcome: Outcome) -> Outcome:
    """The outcome at its entry of the most ordinary numbers; where none are, at another point that has some."""
    if outcome.wrong is None:
        return outcome
    best = _at_its_plainest(trial, outcome)
    if _oddity(best) <= FAIR or trial.court.points.chooser.work(outcome.point.sizes) > MOST_WORK:
        return best
    for point in _others(trial, outcome.point):
        if _promises(trial, point):
            other = trial.at(point)
            if other.wrong is not None:
                best = min(best, _at_its_plainest(trial, other), key=_oddity)
            if _oddity(best) <= FAIR:
                break
    return best


FAIR = 1.0
"""How odd numbers may be that another point is not tried for: in orders of magnitude."""

MOST_WORK = 2000
"""Multiplications of a forward that is computed at more points."""

ENTRIES = 6
"""Entries that are looked at more closely, the most ordinary first."""


def _at_its_plainest(trial: Trial, outcome: Outcome) -> Outcome:
    sides = outcome.sides
    assert sides is not None
    shape = sides.true.shape
    ordered = sorted(np.ndindex(*shape), key=lambda at: _strangeness(sides.claimed[at], sides.true[at]))
    limit = _oddity(outcome)
    for at in ordered[:ENTRIES]:
        if _strangeness(sides.claimed[at], sides.true[at]) >= limit:
            break
        if differing(outcome, at, trial.again(outcome.point)):
            return replace(outcome, wrong=at)
    return outcome


def _oddity(outcome: Outcome) -> float:
    assert outcome.sides is not None
    assert outcome.wrong is not None
    return _strangeness(outcome.sides.claimed[outcome.wrong], outcome.sides.true[outcome.wrong])


def _strangeness(claimed: Any, true: Any) -> float:
    """How far two numbers are from such as one computes by hand, and sees apart, in orders of magnitude."""
    if not (finite(claimed) and finite(true)) or claimed == true:
        return math.inf
    one, other = _as_floats(claimed, true) or (EXACT.lift(claimed), EXACT.lift(true))
    digits = [_magnitude(n) for n in (one, other) if n]
    apart = _magnitude((one - other) / max(abs(one), abs(other)))
    return max(0.0, *(max(-1 - d, d - 3) for d in digits), -1 - apart)


def _as_floats(*numbers: Any) -> tuple[float, ...] | None:
    """Two numbers as floats, where those tell their sizes and how far apart they are."""
    try:
        one, other = map(float, numbers)
    except OverflowError:
        return None
    largest = max(abs(one), abs(other))
    told = all(bool(f) == bool(n) for f, n in zip((one, other), numbers, strict=True))
    return (one, other) if told and TOLD * largest < abs(one - other) < math.inf else None


TOLD = 1e-6
"""How far apart floats must be, relative to them, to say how far."""


def _magnitude(value: Any) -> float:
    return math.log10(abs(value)) if isinstance(value, float) else float(EXACT.context.log10(abs(value)))


def _others(trial: Trial, point: Point) -> Iterator[Point]:
    """More points of the same sizes, those of small numbers first."""
    points, sizes = trial.court.points, point.sizes
    rng = np.random.default_rng(points.seed + 2)
    for scale in (0.2, 0.5, 0.1):
        inputs = sample.draw_inputs(trial.spec, sizes, sample.Draw(rng, exact=True, scale=scale))
        entries = sample.Draw(rng, exact=True).entries
        other = Point(sizes, inputs, random_upstreams(trial.spec, sizes, entries))
        if points.smooth(other):
            yield other


def _promises(trial: Trial, point: Point) -> bool:
    """Whether a point has ordinary numbers at an entry that differs, in floats."""
    try:
        sides = trial.court.new_bench(point, FLOAT).sides(trial.line, trial.node)
    except ClaimError:
        return False
    pairs = zip(floats(sides.claimed).flat, floats(sides.true).flat, strict=True)
    return any(math.isfinite(c) and math.isfinite(t) and _strangeness(c, t) <= FAIR for c, t in pairs)


# Its numbers


def _beside(one: Any, other: Any) -> float | int | str:
    """A number as it is shown beside another: what rounding has left of 0 is 0."""
    rounded = finite(one) and finite(other) and not isinstance(one, int | Fraction) and abs(one) < _ROUNDED * abs(other)
    return 0 if rounded else shown(one)


_ROUNDED = 1e-40


def _shapes(bench: Bench, line: Line, node: syntax.Node) -> dict[str, Any]:
    """For a claim of another shape, the two shapes."""
    try:
        true = shape_text(np.shape(bench.tensors.get(line.name, bench.truth(line)[0])))
    except ClaimError:
        true = "undefined"
    try:
        claimed = shape_text(bench.plain_array(node).shape) if line.indices is None else "undefined"
    except ClaimError:
        claimed = "undefined"
    return {
        "indices": [],
        "claimed": f"shape {claimed}".replace("shape undefined", "undefined"),
        "true": f"shape {true}",
    }


def _plain_sizes(sizes: Mapping[str, Any]) -> dict[str, Any]:
    return {n: list(v) if isinstance(v, tuple) else v for n, v in sizes.items()}


def _listed(a: np.ndarray) -> Any:
    values = np.vectorize(shown, otypes=[object])(a) if np.size(a) else np.asarray(a)
    return values.tolist()
