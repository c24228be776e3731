"""The court in which a condition is part of the spec: a claim is right under it where it is right there.

So nothing less is asked of a claim under a condition than of one without: every side of every kink, borders of the
claim, other scales, larger sizes, other constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from symderive.check.exact import EXACT
from symderive.check.numbers import Domain
from symderive.check.objects import objects
from symderive.check.oracle import shape_of
from symderive.check.sample import Draw
from symderive.claims.court import Court
from symderive.claims.entries import Entry
from symderive.claims.lines import FAULTS, NotJudged
from symderive.claims.points import Point, Points
from symderive.claims.sizing import SizeChooser
from symderive.claims.world import Sizes, World
from symderive.record import record
from symderive.spec import model

if TYPE_CHECKING:
    from sympy import Expr

    from symderive.claims.trial import Trial


@record
class Assumed:
    """What holds besides what a spec says.

    Inputs with further assumptions, outputs whose upstream is 1 all over, sizes of a value, sizes that are equal.
    """

    inputs: tuple[tuple[str, str], ...] = ()
    ones: tuple[str, ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()
    equal: tuple[str, ...] = ()

    def spec(self, spec: model.Spec) -> model.Spec:
        """The spec with the assumptions about its inputs."""
        more = dict(self.inputs)
        if not more:
            return spec
        inputs = [replace(i, assume=(*i.assume, more[i.name])) if i.name in more else i for i in spec.inputs]
        return replace(spec, inputs=tuple(inputs))

    def completed(self, sizes: Mapping[str, int | tuple[int, ...]]) -> dict[str, int | tuple[int, ...]]:
        """Sizes, changed so that they are what is assumed of them."""
        equal = dict.fromkeys(self.equal, sizes[self.equal[0]]) if self.equal and self.equal[0] in sizes else {}
        return {**sizes, **equal, **dict(self.sizes)}


class Given(Point):
    """A point of which the upstreams that it has not are ones: what is not there is not changed by anything, either."""

    def world(self, spec: model.Spec, base: Domain = EXACT) -> World:
        """Everything true at this point."""
        shapes = {n: shape_of(spec.shapes[n], self.sizes) for n in spec.outputs}
        ones = {n: objects(np.ones(shape, dtype=int)) for n, shape in shapes.items()}
        point = Point(self.sizes, self.inputs, {**ones, **self.upstreams}, self.note, self.constants)
        return point.world(spec, base)


class FittingSizes(SizeChooser):
    """Finds sizes that are what is assumed of them."""

    def __init__(self, spec: model.Spec, assumed: Assumed, entries: Sequence[Entry] = ()) -> None:
        super().__init__(spec, entries)
        self.assumed = assumed
        self._choices  # noqa: B018 - of all sizes, before those that are assumed are left out
        fixed = {*dict(assumed.sizes), *assumed.equal[1:]}
        self.names = [n for n in self.names if n not in fixed]

    @property
    def free(self) -> list[str]:
        """The sizes of which nothing is assumed."""
        return [n for n in self.names if n not in self.assumed.equal]

    def valid(self, sizes: Mapping[str, int], least: int = 1) -> bool:
        """Whether sizes do, as soon as they are what is assumed of them."""
        return super().valid(self.assumed.completed(sizes), least)

    def regular(self, sizes: Sizes) -> bool:
        """Whether the forward has a value somewhere, as soon as the sizes are what is assumed of them."""
        return super().regular(self.assumed.completed(sizes))

    def work(self, sizes: Mapping[str, Any]) -> int:
        """About how many multiplications one forward takes there."""
        return super().work(self.assumed.completed(sizes))

    def tells(self, sizes: Mapping[str, Any], first: Mapping[str, Any]) -> set[tuple[Expr, ...]]:
        """The lengths that are others than at a first choice of sizes, and the pairs that differ."""
        return super().tells(self.assumed.completed(sizes), self.assumed.completed(first))

    def plan(self) -> list[Sizes]:
        """The sizes, the most telling first."""
        return [self.assumed.completed(sizes) for sizes in super().plan()]

    @property
    def different(self) -> Iterator[dict[str, int]]:
        """Sizes that differ but for what is assumed."""
        return (self.assumed.completed(sizes) for sizes in self._choices[1] if self.valid(sizes))  # type: ignore[misc]

    def squares(self) -> Iterator[dict[str, int]]:
        """All other sizes equal."""
        return (self.assumed.completed(sizes) for sizes in super().squares())  # type: ignore[misc]


@dataclass
class Assuming(Points):
    """Points at which something holds besides what the spec, which knows it of its inputs, says."""

    assumed: Assumed = field(default_factory=Assumed)
    like: Points | None = None
    """Points of the spec alone, whose sizes are chosen where nothing is assumed of sizes."""

    def __post_init__(self) -> None:
        """Sizes are chosen as assumed."""
        self.rng = np.random.default_rng(self.seed)
        if self.like is not None:
            self.unavoided = self.like.unavoided
        if self.like is None or self.assumed.sizes or self.assumed.equal:
            self.chooser = FittingSizes(self.spec, self.assumed, self.entries)
        else:
            self.chooser, self.plan = self.like.chooser, self.like.plan

    def point(self, sizes: Sizes, tries: int = 40) -> Point:
        """A random point of sizes that are what is assumed of them."""
        return super().point(self.assumed.completed(sizes), tries)

    def complete(
        self, sizes: Sizes, inputs: Mapping[str, np.ndarray], note: str = "", draw: Draw | None = None
    ) -> Point:
        """Inputs with random upstreams, but for those that are assumed."""
        return self._given(super().complete(sizes, inputs, note, draw))

    @cached_property
    def rough(self) -> Point:
        """A point with no round numbers."""
        return self._given(super().rough)

    def _given(self, point: Point) -> Point:
        if not self.assumed.ones:
            return point
        rest = {n: a for n, a in point.upstreams.items() if n not in self.assumed.ones}
        return Given(point.sizes, point.inputs, rest, point.note, point.constants)


class Assumption(Court):
    """The court of a spec of which something more is assumed."""

    def __init__(self, court: Court, assumed: Assumed) -> None:
        super().__init__(assumed.spec(court.spec), court.statements, court.source, None, court.seed)
        self.court = court
        self.assumed = assumed
        self.points = Assuming(self.spec, court.seed, assumed=assumed, like=court.points, entries=court.points.entries)
        self.derived_elsewhere = court.derived_elsewhere

    def varied(self, constants: Mapping[str, Fraction]) -> Court | None:
        """A court that assumes the same, for other constants."""
        key = tuple(constants.values())
        if key not in self._varied:
            court = self.court.varied(constants)
            self._varied[key] = None if court is None else Assumption(court, self.assumed)
        return self._varied[key]


def assumption(court: Court, assumed: Assumed) -> Court:
    """The court of the spec of which something more is assumed, made once, with the helpers so far."""
    if assumed not in court.assuming:
        court.assuming[assumed] = Assumption(court, assumed)
    found = court.assuming[assumed]
    found.helpers = list(court.helpers)
    return found


def assuming(trial: Trial, assumed: Assumed) -> Trial:
    """The same side of the same claim, before that court."""
    return type(trial)(assumption(trial.court, assumed), trial.line, trial.node)


def is_right(trial: Trial, *, everywhere: bool = False) -> bool:
    """Whether a claim is right wherever it has a value, or ``everywhere``."""
    try:
        against = trial.tried()[1]
        if against is not None and (everywhere or against.undefined is None or against.failed):
            return False
        return not trial.constant()
    except (NotJudged, *FAULTS):
        return False
