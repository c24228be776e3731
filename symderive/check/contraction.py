"""Sums of products of exact arrays, computed in integers.

Every rational is an integer over a common denominator, and every number of many digits an integer times a power of two.
So a contraction is one of integers, in which NumPy's loops need no look at types and no rounding, and only its result
is made a number again: rounded once, where the factors were not rational.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpmath import libmp

from symderive.check.exact import RATIONAL, Exact, rational
from symderive.record import record

MOST_BITS = 4000
"""Of a common denominator, and between the largest and the smallest number of an array."""


@record
class Scaled:
    """An array as ``whole * 2**exponent / denominator``; ``rational`` where each of its entries is.

    ``zeros`` says which entries are exactly 0: a number of many digits may have been rounded to it.
    """

    whole: np.ndarray
    exponent: int
    denominator: int = 1
    rational: bool = False
    zeros: np.ndarray | None = None


Fold = Callable[[np.ndarray], np.ndarray]
"""What adds up the entries of an array of integers."""


def summed(shape: Sequence[int], axes: Sequence[int]) -> Fold:
    """The sum over axes, which stay with extent 1, of an array that broadcasts to a shape."""
    return lambda a: np.broadcast_to(a, tuple(shape)).sum(axis=tuple(axes), keepdims=True)


def scattered(full: Sequence[int], at: tuple[np.ndarray, ...], shape: Sequence[int]) -> Fold:
    """Zeros of a shape, to which the entries of an array that broadcasts to ``full`` are added at indices."""

    def fold(a: np.ndarray) -> np.ndarray:
        into = np.zeros(tuple(shape), dtype=object)
        np.add.at(into, at, np.broadcast_to(a, tuple(full)))
        return into

    return fold


def contracted(base: Exact, factors: Sequence[np.ndarray], fold: Fold) -> Any:
    """The product of arrays that broadcast, folded.

    None where an entry is not finite, or is of another kind than those beside it.
    """
    parts: list[Scaled] = []
    for factor in factors:
        if (part := scaled(base, factor)) is None:
            return None
        parts.append(part)
    product = parts[0].whole
    for part in parts[1:]:
        product = product * part.whole
    total = fold(product)
    exponent, denominator = sum(p.exponent for p in parts), math.prod(p.denominator for p in parts)
    if all(p.rational for p in parts):
        return _array([rational(n, denominator) for n in total.flat], total)
    result = _array([base.scaled(n, exponent, denominator) for n in total.flat], total)
    if (total == 0).any():
        result[fold(_some(parts)) == 0] = 0
    return result


def _some(parts: Sequence[Scaled]) -> np.ndarray:
    """1 where no factor is exactly 0, else 0."""
    zeros = [(p.whole == 0).astype(bool) if p.rational else p.zeros for p in parts]
    found = np.zeros((1,) * parts[0].whole.ndim, dtype=bool)
    for own in zeros:
        found = found if own is None else found | own
    return np.where(found, 0, 1).astype(object)


def scaled(base: Exact, a: np.ndarray) -> Scaled | None:
    """An array in integers; None where that cannot be."""
    a = a[tuple(slice(1) if step == 0 else slice(None) for step in a.strides)]  # once what is repeated
    entries = a.ravel().tolist()
    kinds = set(map(type, entries))
    if kinds <= RATIONAL:
        denominator = math.lcm(*{v.denominator for v in entries})
        if denominator.bit_length() > MOST_BITS:
            return None
        whole = [v.numerator * (denominator // v.denominator) for v in entries]
        return Scaled(_array(whole, a), 0, denominator, rational=True)
    zeros = [type(v) in RATIONAL for v in entries]
    if any(v for v in entries if type(v) in RATIONAL) or not kinds <= {*RATIONAL, base.real}:
        return None
    raw = [libmp.fzero if zero else v._mpf_ for v, zero in zip(entries, zeros, strict=True)]
    exponents = [r[2] for r in raw if r[1]]
    if any(not r[1] and r[2] for r in raw) or (exponents and max(exponents) - min(exponents) > MOST_BITS):
        return None
    least = min(exponents, default=0)
    whole = [(-r[1] if r[0] else r[1]) << (r[2] - least) if r[1] else 0 for r in raw]
    return Scaled(_array(whole, a), least, zeros=_array(zeros, a).astype(bool) if any(zeros) else None)


def _array(values: list[Any], like: np.ndarray) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found.reshape(like.shape)
