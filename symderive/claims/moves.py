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

_SIGNED = {"nonzero", "symmetric", "rows"}
_SCALED = {"positive", "nonnegative", "spd", "simplex", "unit"} | _SIGNED
_BY_ENTRY = _SCALED - {"spd"}


@record
class Move:
    """A tensor, or one entry of it, times a ``factor``, plus a ``shift``; with ``even`` of the factor's sign all over.

    The factor is that of the distance from an ``origin``. A tensor of class ids or truth values, or an entry, becomes
    that of number ``constant`` all over. What changes keeps its ``structure``.
    """

    name: str
    factor: Fraction = Fraction(1)
    shift: Fraction = Fraction(0)
    entry: tuple[int, ...] | None = None
    even: bool = False
    constant: int | None = None
    structure: str = ""
    origin: Fraction = Fraction(0)


def moved(point: Point, move: Move) -> Point:
    """The point after a move."""
    if move.name in point.inputs:
        return replace(point, inputs={**point.inputs, move.name: _changed(point.inputs[move.name], move)})
    return replace(point, upstreams={**point.upstreams, move.name: _changed(point.upstreams[move.name], move)})


def _changed(values: np.ndarray, move: Move) -> np.ndarray:
    if move.constant is not None:
        return _constant(values, move.constant, move)
    if values.dtype == float:
        factor, shift, origin = float(move.factor), float(move.shift), float(move.origin)
    else:
        values = objects(values)
        factor, shift, origin = move.factor, move.shift, move.origin  # type: ignore[assignment]
    if move.entry is None:
        changed = np.asarray(((np.abs(values) if move.even else values) - origin) * factor + origin, dtype=values.dtype)
    else:
        changed = values.copy()
        changed[move.entry] = (changed[move.entry] - origin) * factor + origin + shift
    return _RESTORED[move.structure](changed, move.entry)


def _constant(values: np.ndarray, constant: int, move: Move) -> np.ndarray:
    """The tensor with one value all over, or at an entry; of one-hot rows, with one class in all of them."""
    if move.structure == "one_hot":
        return objects(np.broadcast_to(np.arange(values.shape[-1]) == constant, values.shape).astype(int))
    if move.entry is None:
        return np.full_like(values, constant)
    changed = values.copy()
    changed[move.entry] = constant
    return changed


def _summing(values: np.ndarray, entry: tuple[int, ...] | None) -> np.ndarray:
    """Rows that sum to 1 by their last entries, or by the first where the last one was changed."""
    at = 0 if entry is not None and entry[-1] == values.shape[-1] - 1 else -1
    values[..., at] += 1 - values.sum(-1)
    return values


def _transposed(values: np.ndarray, entry: tuple[int, ...] | None) -> np.ndarray:
    """A symmetric matrix, of which one entry was changed."""
    if entry is not None:
        opposite = *entry[:-2], entry[-1], entry[-2]
        values[opposite] = values[entry]
    return values


_RESTORED: Mapping[str, Callable[[np.ndarray, tuple[int, ...] | None], np.ndarray]] = {
    "": lambda values, entry: values,
    "rows": _summing,
    "symmetric": _transposed,
    "simplex": lambda values, entry: np.asarray(values / values.sum(-1, keepdims=True), dtype=values.dtype),
}


def held(spec: model.Spec) -> set[str]:
    """The inputs that are not any real numbers, so that there is no way from one to another."""
    return {i.name for i in spec.inputs if not i.is_real or {"one_hot", "binary"} & set(i.assume)}


def between(a: Point, b: Point, fixed: Set[str], part: Fraction) -> Point:
    """The point that divides the way from one to another; what is ``fixed`` stays that of the first."""

    def divided(first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {n: v if n in fixed else _divided(v, second[n], part) for n, v in first.items()}

    return replace(a, inputs=divided(a.inputs, b.inputs), upstreams=divided(a.upstreams, b.upstreams))


def _divided(a: np.ndarray, b: np.ndarray, part: Fraction) -> np.ndarray:
    if a.dtype == float:
        return np.asarray(a * float(1 - part) + b * float(part))
    return objects(objects(a) * (1 - part) + objects(b) * part)


def taken(point: Point, other: Point, names: Set[str]) -> Point:
    """A point with some inputs, and the upstreams of some outputs, of another."""
    inputs = {n: other.inputs[n] if n in names else a for n, a in point.inputs.items()}
    upstreams = {n: other.upstreams[n] if n in names else a for n, a in point.upstreams.items()}
    return replace(point, inputs=inputs, upstreams=upstreams)


def allowed(spec: model.Spec, point: Point, name: str) -> bool:
    """Whether a tensor is, at a point, what the spec says of it."""
    for tensor in (i for i in spec.inputs if i.name == name):
        values = objects(point.inputs[name])
        if tensor.range and not ((values >= tensor.range[0]) & (values <= tensor.range[1])).all():
            return False
        return all(bool(_IS[a](values).all()) for a in _IS.keys() & set(tensor.assume))
    return True


_IS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "positive": lambda a: a > 0,
    "nonnegative": lambda a: a >= 0,
    "nonzero": lambda a: a != 0,
    "simplex": lambda a: a > 0,
    "unit": lambda a: (a > 0) & (a < 1),
}


def moves(spec: model.Spec, point: Point, names: Set[str], *, few: bool = False, steps: bool = False) -> Iterator[Move]:
    """Moves of some inputs, and of the upstreams of some outputs, the mildest first; or ``steps`` of single entries."""
    tensors = [_Movable.of(i) for i in spec.inputs if i.name in names]
    tensors += [_Movable(n) for n, a in point.upstreams.items() if n in names and np.ndim(a)]
    if steps:
        found = ((t, e) for t in tensors if t.by_entry for e in _entries(t, point))
        yield from (Move(t.name, entry=e, structure=t.structure) for t, e in found)
        return
    yield from itertools.chain.from_iterable(_constants(i, point) for i in spec.inputs if i.name in names)
    for magnitude in FEW if few else MAGNITUDES:
        for factor in dict.fromkeys((Fraction(10) ** magnitude, Fraction(1, 10**magnitude))):
            for t, sign in itertools.product(tensors, (1, -1)):
                yield from _scaled(t, point, factor * sign, few)


def _scaled(t: _Movable, point: Point, factor: Fraction, few: bool) -> Iterator[Move]:
    if not t.scaled or (factor < 0 and not t.signed) or (factor > 1 and t.ends):
        return
    for origin in t.ends or (Fraction(0),):
        move = Move(t.name, factor, structure=t.structure, origin=origin)
        yield move
        if t.signed and not few:
            yield replace(move, even=True)
        if t.by_entry and not few:
            yield from (replace(move, entry=e) for e in _entries(t, point))


@record
class _Movable:
    """A tensor, and how it may be changed, so that it keeps its ``structure``, and between its ``ends``."""

    name: str
    scaled: bool = True
    signed: bool = True
    by_entry: bool = True
    structure: str = ""
    ends: tuple[Fraction, ...] = ()

    @classmethod
    def of(cls, tensor: model.Input) -> _Movable:
        """What the spec allows for an input."""
        assumed = set(tensor.assume)
        ends = tensor.range or ((Fraction(0), Fraction(1)) if "unit" in assumed else ())
        scaled = tensor.is_real and assumed <= _SCALED
        structure = next((a for a in ("simplex", "rows", "symmetric") if a in assumed), "")
        signed = scaled and not ends and assumed <= _SIGNED
        return cls(tensor.name, scaled, signed, scaled and assumed <= _BY_ENTRY, structure, ends)


def _entries(t: _Movable, point: Point) -> list[tuple[int, ...]]:
    shape = np.shape(point.inputs[t.name] if t.name in point.inputs else point.upstreams[t.name])
    return list(itertools.islice(np.ndindex(*shape), MOST_ENTRIES))


def _constants(tensor: model.Input, point: Point) -> Iterator[Move]:
    """Truth values, or class ids, all alike; those that are numbers, one by one, too."""
    values = point.inputs[tensor.name]
    if tensor.boolean or "binary" in tensor.assume:
        yield from (Move(tensor.name, constant=n) for n in (0, 1))
        entries = _entries(_Movable(tensor.name), point)
        yield from (Move(tensor.name, entry=e, constant=n) for e in entries for n in (0, 1) if values[e] != n)
    elif tensor.index is not None:
        largest = int(np.max(values, initial=0))
        yield from (Move(tensor.name, constant=n) for n in range(largest + 1))
    elif "one_hot" in tensor.assume:
        yield from (Move(tensor.name, constant=n, structure="one_hot") for n in range(values.shape[-1]))
