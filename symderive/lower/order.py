"""In which order the factors of a contraction are multiplied: the cheapest sequence of pairs at the author's sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from math import prod

from symderive.algebra.nodes import Index

Axes = frozenset[Index]
_EXHAUSTIVE = 6
"""Up to this many factors every order is tried; beyond it the cheapest next pair is taken."""


def pair_order(factors: Sequence[Axes], output: Axes, extent: Callable[[Index], float]) -> list[tuple[int, int]]:
    """Pairs of positions to multiply, in order; the product of a pair takes the next free position.

    The cost of a pair is its number of multiplications, the product of the extents of all its indices, plus the
    size of what it makes. An index is summed as soon as no other factor and not the output has it.
    """
    if len(factors) <= _EXHAUSTIVE:
        return _best(tuple(factors), output, extent)
    return _greedy(list(factors), output, extent)


def _size(axes: Axes, extent: Callable[[Index], float]) -> float:
    return prod(extent(i) for i in axes)


def _cost(a: Axes, b: Axes, kept: Axes, extent: Callable[[Index], float]) -> float:
    return _size(a | b, extent) + 4 * _size(kept, extent)


def _kept(members: frozenset[int], factors: Sequence[Axes], output: Axes) -> Axes:
    """The indices that the product of ``members`` still has once all that can be summed is summed."""
    inside = frozenset().union(*(factors[m] for m in members))
    outside = output.union(*(f for n, f in enumerate(factors) if n not in members))
    return inside & outside


def _best(factors: tuple[Axes, ...], output: Axes, extent: Callable[[Index], float]) -> list[tuple[int, int]]:
    everything = frozenset(range(len(factors)))

    @cache
    def plan(members: frozenset[int]) -> tuple[float, tuple]:
        if len(members) == 1:
            return 0.0, ()
        first = min(members)
        others = sorted(members - {first})
        best: tuple[float, tuple] | None = None
        for count in range(len(others)):
            for chosen in combinations(others, count):
                left = frozenset((first, *chosen))
                right = members - left
                (cost_left, _), (cost_right, _) = plan(left), plan(right)
                a = factors[first] if len(left) == 1 else _kept(left, factors, output)
                b = factors[min(right)] if len(right) == 1 else _kept(right, factors, output)
                cost = cost_left + cost_right + _cost(a, b, _kept(members, factors, output), extent)
                if best is None or cost < best[0] * (1 - 1e-12):
                    best = cost, (left, right)
        assert best is not None
        return best

    pairs: list[tuple[int, int]] = []
    counter = [len(factors)]

    def emit(members: frozenset[int]) -> int:
        if len(members) == 1:
            return next(iter(members))
        left, right = plan(members)[1]
        a, b = emit(left), emit(right)
        pairs.append((a, b))
        counter[0] += 1
        return counter[0] - 1

    emit(everything)
    return pairs


def _greedy(factors: list[Axes], output: Axes, extent: Callable[[Index], float]) -> list[tuple[int, int]]:
    live = dict(enumerate(factors))
    pairs: list[tuple[int, int]] = []

    def result(a: int, b: int) -> Axes:
        rest = output.union(*(f for n, f in live.items() if n not in (a, b)))
        return (live[a] | live[b]) & rest

    while len(live) > 1:
        a, b = min(
            combinations(sorted(live), 2),
            key=lambda ab: (_cost(live[ab[0]], live[ab[1]], result(*ab), extent), ab),
        )
        kept = result(a, b)
        del live[a], live[b]
        live[len(factors) + len(pairs)] = kept
        pairs.append((a, b))
    return pairs
