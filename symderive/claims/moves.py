"""Changes of the inputs and upstreams of a point, one tensor or one entry of it at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace
from fractions import Fraction

import numpy as np

from symderive.check.objects import objects
from symderive.claims.points import Point
from symderive.record import record
from symderive.spec import model

MAGNITUDES = (0, 1, 2, 3, 6, 9, 12, 18, 25, 40, 65, 100)
"""Powers of ten by which numbers are made larger or smaller, the mildest first."""

FEW = (1, 3)
"""Of which some do where each takes long."""

MOST_ENTRIES = 3
"""Of one tensor that are changed alone."""

_SIGNED = {"nonzero", "symmetric"}
_SCALED = {"positive", "nonnegative", "spd"} | _SIGNED
_BY_ENTRY = {"nonzero", "positive", "nonnegative"}


@record
class Move:
    """A tensor, or one entry of it, times a ``factor``, plus a ``shift``; with ``even`` of the factor's sign all over.

    A tensor of class ids or truth values becomes that of number ``constant`` all over.
    """

    name: str
    factor: Fraction = Fraction(1)
    shift: Fraction = Fraction(0)
    entry: tuple[int, ...] | None = None
    even: bool = False
    constant: int | None = None


def moved(point: Point, move: Move) -> Point:
    """The point after a move."""
    if move.name in point.inputs:
        return replace(point, inputs={**point.inputs, move.name: _changed(point.inputs[move.name], move)})
    return replace(point, upstreams={**point.upstreams, move.name: _changed(point.upstreams[move.name], move)})


def _changed(values: np.ndarray, move: Move) -> np.ndarray:
    if move.constant is not None:
        return np.full_like(values, move.constant)
    values = objects(values)
    if move.entry is None:
        scaled: np.ndarray = (np.abs(values) if move.even else values) * move.factor
        return objects(scaled)
    values = values.copy()
    values[move.entry] = values[move.entry] * move.factor + move.shift
    return values


def allowed(spec: model.Spec, point: Point, name: str) -> bool:
    """Whether a tensor is, at a point, what the spec says of it."""
    assumed = {a for i in spec.inputs if i.name == name for a in i.assume}
    values = objects(point.inputs[name]) if name in point.inputs else objects(0)
    return all(bool(_IS[a](values).all()) for a in assumed & _IS.keys())


_IS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "positive": lambda a: a > 0,
    "nonnegative": lambda a: a >= 0,
    "nonzero": lambda a: a != 0,
}


def moves(spec: model.Spec, point: Point, names: Set[str], *, few: bool = False, steps: bool = False) -> Iterator[Move]:
    """Moves of some inputs, and of the upstreams of some outputs, the mildest first; or ``steps`` of single entries."""
    tensors = [_Movable.of(i) for i in spec.inputs if i.name in names]
    tensors += [_Movable(n) for n, a in point.upstreams.items() if n in names and np.ndim(a)]
    if steps:
        yield from (Move(t.name, entry=e) for t in tensors if t.by_entry for e in _entries(t, point))
        return
    yield from itertools.chain.from_iterable(_constants(i, point) for i in spec.inputs if i.name in names)
    for magnitude in FEW if few else MAGNITUDES:
        for factor in dict.fromkeys((Fraction(10) ** magnitude, Fraction(1, 10**magnitude))):
            for t, sign in itertools.product(tensors, (1, -1)):
                yield from _scaled(t, point, factor * sign, few)


def _scaled(t: _Movable, point: Point, factor: Fraction, few: bool) -> Iterator[Move]:
    if not t.scaled or (factor < 0 and not t.signed):
        return
    yield Move(t.name, factor)
    if t.signed and not few:
        yield Move(t.name, factor, even=True)
    if t.by_entry and not few:
        yield from (Move(t.name, factor, entry=e) for e in _entries(t, point))


@record
class _Movable:
    """A tensor, and how it may be changed."""

    name: str
    scaled: bool = True
    signed: bool = True
    by_entry: bool = True

    @classmethod
    def of(cls, tensor: model.Input) -> _Movable:
        """What the spec allows for an input."""
        assumed = set(tensor.assume)
        scaled = tensor.is_real and not tensor.range and assumed <= _SCALED
        return cls(tensor.name, scaled, scaled and assumed <= _SIGNED, scaled and assumed <= _BY_ENTRY)


def _entries(t: _Movable, point: Point) -> list[tuple[int, ...]]:
    shape = np.shape(point.inputs[t.name] if t.name in point.inputs else point.upstreams[t.name])
    return list(itertools.islice(np.ndindex(*shape), MOST_ENTRIES))


def _constants(tensor: model.Input, point: Point) -> Iterator[Move]:
    """Truth values, or class ids, all alike."""
    if tensor.boolean:
        yield from (Move(tensor.name, constant=n) for n in (0, 1))
    elif tensor.index is not None:
        largest = int(np.max(point.inputs[tensor.name], initial=0))
        yield from (Move(tensor.name, constant=n) for n in range(largest + 1))
