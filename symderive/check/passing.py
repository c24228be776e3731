"""What a forward passes at points: its kinks and poles, in floats; over whole arrays where that can be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from symderive.check import grid_watch
from symderive.check.grid_numbers import Unsupported
from symderive.check.grid_watch import Passed
from symderive.check.moving import marked
from symderive.check.objects import floats
from symderive.check.oracle import Evaluator, extent_of
from symderive.check.stacked import can_be
from symderive.spec import model

Sizes = Mapping[str, "int | tuple[int, ...]"]


def as_floats(point: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The point in float64; class ids and truth values stay what they are."""
    return {name: floats(a) if a.dtype == object else a for name, a in point.items()}


def passed(spec: model.Spec, sizes: Sizes, point: Mapping[str, np.ndarray]) -> Passed:
    """The kinks and poles that the forward passes at a point, and whether all that it computes is finite."""
    floats = as_floats(point)
    if not is_small(spec, sizes):
        try:
            return grid_watch.passed(spec, sizes, floats, spec.constants)
        except _FAULTS:
            pass  # entry by entry, then
    evaluator = Evaluator.of(spec, floats, sizes, watch=True)
    finite = all(np.isfinite(evaluator.tensor(name)).all() for name in spec.outputs)
    return marked(spec, evaluator.kinks), bool(finite)


def passed_by_each(spec: model.Spec, sizes: Sizes, points: Sequence[Mapping[str, np.ndarray]]) -> list[Passed]:
    """The same for each of some points of the same sizes; at once, where that can be."""
    if can_be(sizes, len(points)):
        try:
            return grid_watch.passed_together(spec, sizes, [as_floats(p) for p in points], spec.constants)
        except _FAULTS:
            pass
    return [passed(spec, sizes, p) for p in points]


SMALL = 40
"""Entries of a forward that are sooner computed one by one."""

_FAULTS = (Unsupported, ArithmeticError, LookupError, TypeError, ValueError)


def is_small(spec: model.Spec, sizes: Sizes) -> bool:
    """Whether a forward is computed one entry after the other, by which kinks are numbered otherwise."""
    return sum(math.prod(extent_of(r, sizes) for r in e.ranges.values()) for e in spec.equations) <= SMALL
