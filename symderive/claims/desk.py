"""The desk at which a failed claim is examined: it tries changed claims, by floats first and then exactly."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from symderive.check.exact import EXACT
from symderive.check.floats import FLOAT
from symderive.claims.bench import Bench, free_names
from symderive.claims.compare import close_floats
from symderive.claims.lines import ClaimError, Line, NotJudged, names_in
from symderive.claims.points import Point
from symderive.errors import SymderiveError
from symderive.spec import syntax
from symderive.spec.format import to_text

if TYPE_CHECKING:
    from symderive.claims.conditions import Condition
    from symderive.claims.judge import Outcome, Trial

SECONDS = 0.55
"""How long the search for an explanation may take before it is given up."""


@dataclass(frozen=True)
class Finding:
    """An explanation: its kind, a sentence, and the right side that it leads to, in the claim's own style."""

    kind: str
    sentence: str
    corrected: syntax.Node | None = None
    left: str | None = None


class Desk:
    """A failed side, the truth, and ways to try a changed side."""

    def __init__(self, trial: Trial, outcome: Outcome, condition: Condition | None) -> None:
        self.trial = trial
        self.spec = trial.spec
        self.court = trial.court
        self.line = trial.line
        self.node = trial.node
        self.outcome = outcome
        self.condition = condition
        self.end = time.perf_counter() + SECONDS

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() > self.end

    @cached_property
    def points(self) -> list[Point]:
        """Two points of different sizes."""
        pair = self.court.points.pair
        if self.outcome.sides is None or self.outcome.point is pair[0]:
            return pair
        return [self.outcome.point, pair[1]] if self.trial.at(pair[0]).holds else pair

    @property
    def constants(self) -> dict[str, Fraction]:
        """The constants that the claim does not mention, which it may lack."""
        used = names_in(self.node)
        return {n: v for n, v in self.spec.constants.items() if n not in used}

    @cached_property
    def benches(self) -> list[Bench]:
        """Their benches, in floats."""
        return [self.court.bench(p, FLOAT) for p in self.points]

    @cached_property
    def truths(self) -> list[np.ndarray]:
        """What the left side is worth, in floats."""
        return [self.truth(b) for b in self.benches]

    def truth(self, bench: Bench) -> np.ndarray:
        """The truth on a bench, as floats."""
        return _floats(bench, bench.truth(self.line)[0])

    @cached_property
    def claimed(self) -> list[np.ndarray] | None:
        """What the claim is worth, whatever its shape; None where it has no value."""
        try:
            return [self.value(b, self.node) for b in self.benches]
        except (ClaimError, SymderiveError):
            return None

    def value(self, bench: Bench, node: syntax.Node, line: Line | None = None) -> np.ndarray:
        """An expression on a bench as floats, over the indices of the left side. Raises :class:`ClaimError`."""
        line = line or self.line
        if line.indices is None:
            return bench.plain_array(node).astype(float)
        free = free_names(line.indices)
        true, indices = bench.truth(line)
        ranges = bench.ranges(free, node, [(indices, true.shape, line.name)])
        return _floats(bench, bench.table(node, free, ranges))

    def fits(self, node: syntax.Node, line: Line | None = None) -> bool:
        """Whether a changed side is right: by floats at two points, then exactly at all."""
        line = line or self.line
        try:
            for bench in self.benches:
                sides = bench.sides(line, node)
                if not close_floats(sides.claimed.astype(float), sides.true.astype(float)):
                    return False
            trial = type(self.trial)(self.court, line, node)
            outcomes = [trial.at(p) for p in [*self.court.points.main, *self.points[:1]]]
        except (ClaimError, SymderiveError, NotJudged, RecursionError):
            return False
        return all(o.error is None and o.wrong is None for o in outcomes)

    def fits_truth(self, compute: Callable[[Bench], np.ndarray | None]) -> bool:
        """Whether what ``compute`` makes of a bench equals the claim, in floats at both points and exactly at one."""
        if self.claimed is None:
            return False
        for bench, claimed in zip(self.benches, self.claimed, strict=True):
            found = compute(bench)
            if found is None or not close_floats(_floats(bench, found), claimed):
                return False
        return True

    def exact_bench(self) -> Bench:
        """The first point, exactly."""
        return self.court.bench(self.points[0], EXACT)

    def retargeted(self, tensor: str) -> Line | None:
        """The same line as a claim about the gradient of another tensor; None where the ranks differ."""
        rank = len(self.spec.shapes[tensor])
        if self.line.indices is not None and rank != len(self.line.indices):
            return None
        return replace(self.line, role="gradient", name=f"d{tensor}", tensor=tensor)

    def left_permuted(self, order: Sequence[int]) -> Line:
        """The same line with its indices in another order."""
        assert self.line.indices is not None
        return replace(self.line, indices=tuple(self.line.indices[i] for i in order))

    def text(self, node: syntax.Node) -> str:
        """An expression as it would be written."""
        return to_text(node)


def _floats(bench: Bench, a: np.ndarray) -> np.ndarray:
    return bench.world.plain(a).astype(float)
