"""Forwards and gradients of many points at once; see :mod:`symderive.check.stacked`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from symderive.check.floats import FLOAT
from symderive.check.stacked import AXIS, can_be, stacked
from symderive.claims.lines import NotJudged
from symderive.claims.points import Point
from symderive.claims.records import FAULTS, ByArrays, Setting
from symderive.spec import model

if TYPE_CHECKING:
    from symderive.claims.court import Court

AHEAD = 12
"""Points that are made before the first of them is looked at."""


class Stack:
    """The forward at several points of the same sizes and constants, and its gradients, in floats."""

    def __init__(self, spec: model.Spec, points: Sequence[Point]) -> None:
        self.points = [p.in_floats() for p in points]
        first = self.points[0]
        self.upstreams = {n: np.stack([p.upstreams[n] for p in self.points]) for n in first.upstreams}
        inputs = {n: np.stack([p.inputs[n] for p in self.points]) for n in first.inputs}
        real = {i.name for i in spec.inputs if i.is_real}
        sizes = {**first.sizes, AXIS: len(points)}
        constants = dict(spec.constants if first.constants is None else first.constants)
        self.way = ByArrays(Setting(stacked(spec, spec.equations), inputs, real, sizes, FLOAT, constants))
        self._values: dict[str, np.ndarray | None] = {}
        self._gradients: dict[str, np.ndarray | None] = {}

    @cached_property
    def _gradient(self) -> Callable[[str], np.ndarray]:
        return self.way.sweep(self.upstreams)

    def value(self, name: str, row: int) -> np.ndarray | None:
        """A tensor at one of the points; None where it cannot be computed for all of them at once."""
        return _row(self._values, name, self.way.value, row)

    def gradient(self, name: str, row: int) -> np.ndarray | None:
        """The gradient of a tensor, likewise."""
        return _row(self._gradients, name, self._swept, row)

    def _swept(self, name: str) -> np.ndarray:
        return self._gradient(name)


def _row(
    known: dict[str, np.ndarray | None], name: str, compute: Callable[[str], np.ndarray], row: int
) -> np.ndarray | None:
    if name not in known:
        try:
            known[name] = compute(name)
        except FAULTS:
            known[name] = None
    found = known[name]
    return None if found is None else found[row]


def together(court: Court, candidates: Iterable[tuple[Point, bool]]) -> Iterator[tuple[Point, bool]]:
    """The same points, and whether each is compared exactly: some are made ahead, and the others computed at once."""
    waiting = iter(candidates)
    while True:
        some: list[tuple[Point, bool]] = []
        fault = None
        try:
            some.extend(islice(waiting, AHEAD))
        except NotJudged as error:  # it is the turn of the points before it
            fault = error
        prepare(court, [point for point, exactly in some if not exactly])
        yield from some
        if fault is not None:
            raise fault
        if not some:
            return


def prepare(court: Court, points: Iterable[Point]) -> None:
    """Compute points of the same sizes and constants in floats at once, as soon as one of them is asked for."""
    groups: dict[object, list[Point]] = {}
    for point in points:
        if type(point) is Point and court.is_new(point):
            groups.setdefault(_alike(point), []).append(point)
    for group in groups.values():
        if can_be(group[0].sizes, len(group)):
            _stack(court, group)


def _alike(point: Point) -> object:
    constants: Mapping[str, object] = point.constants or {}
    return tuple(point.sizes.items()), tuple(constants.items()), tuple(point.upstreams)


def _stack(court: Court, points: list[Point]) -> None:
    try:
        stack = Stack(court.spec, points)
    except FAULTS:
        return
    for row, point in enumerate(points):
        court.stacked[id(point)] = point, stack, row
