"""Denominators of a claim that are 0 at no rational point: ``x**2 - 2`` is where x is the root of 2.

Such a point is not written down. Close to it, the denominator is taken for the 0 that it is there.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symderive.check.exact import EXACT
from symderive.check.numbers import Domain
from symderive.check.objects import floats
from symderive.claims.bench import Bench, Sides
from symderive.claims.borders import POLE, Border, borders
from symderive.claims.crossing import Seeker
from symderive.claims.lines import FAULTS, ClaimError
from symderive.claims.outcome import Outcome, compared
from symderive.claims.points import Point
from symderive.claims.probe import Probe
from symderive.claims.trees import map_nodes
from symderive.spec import syntax

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

MOST_POLES = 6
CONTINUOUS = 1e-6
"""Of what it was, that is left of a denominator close to its zero; of one that jumps over 0 more is left.

A kink of the forward that is as near is where the denominator is 0, and nothing is decided there.
"""


def at_poles(trial: Trial) -> Outcome | None:
    """The first point at which a denominator is 0, at no rational number, and the truth has a value."""
    probe = Probe(trial)
    found = [b for b in borders(trial) if b.signs == POLE and not probe.is_sized(b)][:MOST_POLES]
    for border in found:
        seeker = Seeker(probe, (), sided=False)
        values = [(p, v) for p in seeker.at_hand if (v := probe.values(border, p)) is not None]
        if any((v == 0).any() for _, v in values) or (between := next(seeker.ends(border, values), None)) is None:
            continue
        for point in seeker.close_to(border, *between):
            outcome = _close_to(trial, probe, border, point, between[2])
            if outcome is not None and outcome.undefined is not None:
                return outcome
    return None


def _close_to(trial: Trial, probe: Probe, border: Border, point: Point, at: tuple[int, ...]) -> Outcome | None:
    """The side against the truth at a point, with a denominator that is all but 0 taken for 0."""
    value = probe.values(border, point)
    if value is None or trial.court.points.distance(point) < CONTINUOUS or _leaves(trial, point):
        return None
    rest, usual = abs(float(value[at])), float(np.max(np.abs(value)))
    if not rest <= CONTINUOUS * max(1.0, usual):
        return None
    least = syntax.Number(Fraction(2 * rest))
    condition = syntax.Compare(("<=",), (syntax.Call("abs", (border.node,)), least))
    zero = syntax.Call("where", (condition, syntax.Number(Fraction(0)), border.node))

    def change(node: syntax.Node) -> syntax.Node:
        return zero if node == border.node else node

    def sides(base: Domain) -> Sides:
        bench = Bench(point.world(trial.spec, base))
        for line in trial.court.helpers:
            changed = tuple(map_nodes(side, change) for side in line.statement.sides)
            bench.define(replace(line, statement=replace(line.statement, sides=changed)))
        return bench.sides(trial.line, map_nodes(trial.node, change))

    try:
        return compared(point, sides(EXACT), sides)
    except (ClaimError, *FAULTS):
        return None


def _leaves(trial: Trial, point: Point) -> bool:
    """Whether an input all but vanishes that the spec keeps from 0: where a denominator is 0, so is that."""
    kept = [i.name for i in trial.spec.inputs if {"nonzero", "positive", "unit", "simplex"} & set(i.assume)]
    return any((np.abs(floats(point.inputs[n])) < CONTINUOUS).any() for n in kept)
