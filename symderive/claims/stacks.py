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
        self.setting = Setting(stacked(spec, spec.equations), inputs, real, sizes, FLOAT, constants)
        self.way = ByArrays(self.setting)
        self._known: dict[tuple[str, ...], np.ndarray | None] = {}

    @cached_property
    def _gradient(self) -> Callable[[str], np.ndarray]:
        return self.way.sweep(self.upstreams)

    @cached_property
    def _twice(self) -> ByArrays:
        return ByArrays(self.setting, 2)

    def value(self, name: str, row: int) -> np.ndarray | None:
        """A tensor at one of the points; None where it cannot be computed for all of them at once."""
        return self._row(("value", name), lambda: self.way.value(name), row)

    def gradient(self, name: str, row: int) -> np.ndarray | None:
        """The gradient of a tensor, likewise."""
        return self._row(("gradient", name), lambda: self._gradient(name), row)

    def derivatives(self, numerator: str, denominator: str, row: int) -> np.ndarray | None:
        """The derivatives of each entry of a tensor by each of another."""
        key = "derivatives", numerator, denominator
        return self._row(key, lambda: self.way.derivatives(numerator, denominator), row)

    def second(self, tensor: str, denominator: str, row: int) -> np.ndarray | None:
        """Those of each entry of the gradient of a tensor."""
        key = "second", tensor, denominator
        return self._row(key, lambda: self._twice.second(self.upstreams, tensor, denominator), row)

    def _row(self, key: tuple[str, ...], compute: Callable[[], np.ndarray], row: int) -> np.ndarray | None:
        if key not in self._known:
            try:
                self._known[key] = compute()
            except FAULTS:
                self._known[key] = None
        found = self._known[key]
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
