"""The sizes at which claims are judged: small, pairwise different, and such that the forward has a value there."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sympy import Expr, Integer, Mod, Symbol, floor

from symderive.claims.entries import Entry
from symderive.claims.regular import has_values
from symderive.claims.world import Sizes
from symderive.spec import model, syntax
from symderive.spec.functions import MATRIX
from symderive.spec.sizes import BATCH_SIZE

POOL = (2, 3, 5, 4, 7, 6, 9, 8, 11, 10, 13)
SQUARES = (3, 4, 2, 5, 6, 8)
BATCHES: tuple[tuple[int, ...], ...] = ((2,), (2, 2), ())
MOST_CHOICES = 1000
"""Of sizes."""
MOST_WORK = 800
"""Multiplications of one forward that are still cheap; larger sizes are left out."""
FEW, MORE = (2, 3), (2, 3, 4, 5, 6, 7, 8, 9)
"""What a small size may be, and one on which the length of an axis depends together with others."""

MOST_SMALL = 100_000
"""Choices of small sizes."""
MOST_PLANNED = 6
TIMES = 2
"""How many times as much work as at the cheapest choice is done at another, where that tells all sizes apart."""
MOST_TRIED = 40
"""Sizes at which the forward is computed, to find such at which it has a value."""


_HAIR = 1e-9


class Arithmetic(NamedTuple):
    """What sizes are computed with; ``rest`` is for what has none of these operations."""

    number: Callable[[Expr], Any]
    power: Callable[[Any, Any], Any]
    floor: Callable[[Any], Any]
    modulo: Callable[[Any, Any], Any]
    rest: Callable[[Expr, Mapping[str, Any]], Any]


EXACTLY = Arithmetic(
    lambda e: int(e) if e.is_Integer else Fraction(int(e.p), int(e.q)),  # type: ignore[attr-defined]
    lambda a, n: Fraction(a) ** n,
    math.floor,
    operator.mod,
    lambda e, sizes: int(e.xreplace({s: Integer(sizes[s.name]) for s in e.free_symbols})),  # type: ignore[attr-defined]
)
IN_FLOATS = Arithmetic(
    float,
    operator.pow,
    lambda a: np.floor(a + _HAIR),
    lambda a, b: np.mod(a + _HAIR, b),
    lambda e, sizes: math.inf,
)
"""Of many sizes at once, to sort out what is decided exactly."""


def compiled(extent: Expr, by: Arithmetic = EXACTLY) -> Callable[[Mapping[str, Any]], Any]:
    """A size expression as a function of the sizes, much faster than SymPy's substitution."""
    if isinstance(extent, Symbol):
        name = extent.name
        return lambda sizes: sizes[name]
    if extent.is_Rational:
        value = by.number(extent)
        return lambda sizes: value
    parts = [compiled(a, by) for a in extent.args]
    if extent.is_Add:
        return lambda sizes: sum(p(sizes) for p in parts)
    if extent.is_Mul:
        return lambda sizes: math.prod(p(sizes) for p in parts)
    if extent.is_Pow:
        return lambda sizes: by.power(parts[0](sizes), parts[1](sizes))
    if isinstance(extent, floor):
        return lambda sizes: by.floor(parts[0](sizes))
    if isinstance(extent, Mod):
        return lambda sizes: by.modulo(parts[0](sizes), parts[1](sizes))
    return lambda sizes: by.rest(extent, sizes)


class SizeChooser:
    """Finds sizes at which every range has an entry, as have axes of which ``entries`` are named by number.

    And at which the forward is cheap.
    """

    def __init__(self, spec: model.Spec, entries: Sequence[Entry] = ()) -> None:
        self.spec = spec
        self.entries = entries
        extents: dict[Expr, None] = {}
        for shape in spec.shapes.values():
            extents.update(dict.fromkeys(shape))
        extents.update(dict.fromkeys(i.index for i in spec.inputs if i.index is not None))
        for equation in spec.equations:
            extents.update(dict.fromkeys(equation.ranges.values()))
        extents.update(dict.fromkeys(spec.indices.values()))
        self.extents = {e: compiled(e) for e in extents if e != BATCH_SIZE}
        self.varying = {e for e in self.extents if e.free_symbols}
        symbols = {s.name: None for e in self.extents for s in sorted(e.free_symbols, key=str)}
        self.names = list(symbols)
        self.batched = BATCH_SIZE in extents
        self._regular: dict[tuple[Any, ...], bool] = {}

    @property
    def free(self) -> list[str]:
        """The sizes that may be anything that is valid."""
        return self.names

    def valid(self, sizes: Mapping[str, Any], least: int = 1) -> bool:
        """Whether every axis and range that depends on sizes has at least so many entries; fixed ones have one."""
        try:
            enough = all(f(sizes) >= (least if e in self.varying else 1) for e, f in self.extents.items())
            return enough and all(e.exists(sizes) for e in self.entries)
        except (KeyError, ZeroDivisionError, TypeError):
            return False

    @cached_property
    def matrices(self) -> bool:
        """Whether the forward has functions of matrices, which may have no value at some sizes, and are slow."""
        binders = (n for e in self.spec.equations for n in e.right.walk() if isinstance(n, syntax.Binder))
        return any(b.op in MATRIX for b in binders)

    def regular(self, sizes: Sizes) -> bool:
        """Whether the forward has a value and gradients somewhere: the inverse of ``X.T @ X`` needs as many rows.

        Asked only of one with functions of matrices.
        """
        if not self.matrices:
            return True
        key = tuple(sizes.items())
        if key not in self._regular:
            self._regular[key] = has_values(self.spec, {syntax.BATCH: (2,), **sizes} if self.batched else sizes)
        return self._regular[key]

    def regular_of(self, choices: Iterable[Sizes]) -> Iterator[Sizes]:
        """Of choices of sizes those at which the forward has a value; all, if it has none at the first of them."""
        if not self.matrices:
            yield from choices
            return
        others: list[Sizes] = []
        found = False
        for sizes in itertools.islice(choices, MOST_TRIED):
            if self.regular(sizes):
                found = True
                yield sizes
            else:
                others.append(sizes)
        if not found:
            yield from others

    def work(self, sizes: Mapping[str, Any]) -> int:
        """About how many multiplications one forward takes."""
        values: dict[Expr, Any] = {e: f(sizes) for e, f in self.extents.items()}
        values[BATCH_SIZE] = math.prod(sizes.get(syntax.BATCH, (2,)))
        return int(self._counted(values))

    def _counted(self, values: Mapping[Expr, Any]) -> Any:
        """The multiplications, by the extents of all axes and ranges."""
        total = sum(math.prod(values[e] for e in eq.ranges.values()) for eq in self.spec.equations)
        return total + sum(math.prod(values[e] for e in i.shape) for i in self.spec.inputs)

    def does(self, sizes: Sizes, most: float = math.inf) -> bool:
        """Whether sizes are valid, and the forward has a value there that takes at most so many multiplications."""
        return self.valid(sizes) and self.work(sizes) <= most and self.regular(sizes)

    @property
    def different(self) -> Iterator[dict[str, int]]:
        """Pairwise different sizes at which no range is 1, where there are such; the cheapest first, not all."""
        least, choices = self._choices
        return (sizes for sizes in choices if self.valid(sizes, least))

    @cached_property
    def _choices(self) -> tuple[int, list[dict[str, int]]]:
        """Sizes that may do, and the least extent with which some of them do."""
        few: tuple[int, list[dict[str, int]]] = 1, []
        for least, extra in ((2, 2), (2, 5), (1, 2), (1, 5)):
            pool = POOL[: len(self.names) + extra]
            if len(self.names) > len(pool):
                pool = tuple(range(2, len(self.names) + 2 + extra))
            some = [*itertools.islice(itertools.permutations(pool, len(self.names)), 6000)]
            found = self._promising(np.array(some, dtype=int).reshape(len(some), len(self.names)), least)
            if not any(self.valid(s, least) for s in found):
                continue
            few = least, found
            if not self.entries or self._vary([s for s in found if self.valid(s, least)]):
                return few  # else the entries that are named leave one value of a size
        return few

    def _vary(self, choices: list[dict[str, int]]) -> bool:
        """Whether there is more than one value of each size among some choices."""
        return all(len({s[n] for s in choices}) > 1 for n in self.names)

    def _promising(self, choices: np.ndarray, least: int) -> list[dict[str, int]]:
        """Of many choices of sizes, one in each row, the cheapest that seem to be valid."""
        many = {n: choices[:, position].astype(float) for position, n in enumerate(self.names)}
        with np.errstate(all="ignore"):
            values = {e: np.broadcast_to(compiled(e, IN_FLOATS)(many), len(choices)) for e in self.extents}
            good = np.ones(len(choices), dtype=bool)
            for e in self.varying:
                good &= values[e] >= least - 0.5
            work = self._counted({**values, BATCH_SIZE: np.full(len(choices), 2.0)})
        order = np.argsort(np.where(good, work, np.inf), kind="stable")[: min(int(good.sum()), MOST_CHOICES)]
        return [dict(zip(self.names, row, strict=True)) for row in choices[order].tolist()]

    @cached_property
    def planned(self) -> list[Sizes]:
        """The sizes that claims are judged at, chosen once."""
        return self.plan()

    def plan(self) -> list[Sizes]:
        """Two choices of different sizes, a square one, and the author's where they are cheap."""
        chosen: list[Sizes] = list(itertools.islice(self.regular_of(self.different), 1))
        if chosen and self.names:
            others = (s for s in self.different if all(s[n] != chosen[0][n] for n in self.names))
            chosen.extend(itertools.islice(self.regular_of(others), 1))
        author = {n: v for n, v in self.spec.sizes.items() if isinstance(v, int) and n in self.names}
        if (len(author) == len(self.names) and self.does(author, MOST_WORK)) or not chosen:
            chosen.append(author)
        if len(self.names) > 1:
            chosen.extend(itertools.islice(self.regular_of(s for s in self.squares() if self.valid(s)), 1))
        return self.with_batches([*chosen, *self._telling(chosen)])

    def _telling(self, chosen: list[Sizes]) -> list[Sizes]:
        """A choice at which lengths that are made of sizes are others: a mean over 2 windows is no half of the sum."""
        if not self.made:
            return []
        known = set().union(*(self.tells(s, chosen[0]) for s in chosen))
        best = max(self.different, key=lambda s: len(self.tells(s, chosen[0]) - known), default=chosen[0])
        return [best] if self.tells(best, chosen[0]) - known and self.regular(best) else []

    @cached_property
    def made(self) -> list[Expr]:
        """The lengths that are made of sizes, and none themselves: that of an axis of windows, say."""
        return sorted((e for e in self.varying if not isinstance(e, Symbol)), key=str)

    def tells(self, sizes: Mapping[str, Any], first: Mapping[str, Any]) -> set[tuple[Expr, ...]]:
        """Those of such lengths that are not what they are at a first choice of sizes, and the pairs that differ."""
        lengths = {e: self.extents[e](sizes) for e in self.made}
        others = {(e,) for e in self.made if lengths[e] != self.extents[e](first)}
        return others | {pair for pair in itertools.combinations(self.made, 2) if lengths[pair[0]] != lengths[pair[1]]}

    def squares(self) -> Iterator[dict[str, int]]:
        """All sizes equal."""
        for n in SQUARES:
            yield dict.fromkeys(self.names, n)

    def with_batches(self, chosen: list[Sizes]) -> list[Sizes]:
        """The sizes, with one, two and no batch axes where there are any."""
        if not self.batched:
            return chosen
        chosen = chosen if len(chosen) > 2 else [*chosen, *chosen][:3]
        return [{**s, syntax.BATCH: BATCHES[n % len(BATCHES)]} for n, s in enumerate(chosen)]


class SmallSizes(SizeChooser):
    """Finds sizes of 2 and 3, and a little more where an axis needs that, of which each two differ somewhere."""

    def plan(self) -> list[Sizes]:
        """The cheapest choice first, then those that tell most of what the ones before do not."""
        chosen: list[Sizes] = []
        left = {frozenset(p) for count in (1, 2) for p in itertools.combinations(self.names, count)}
        works = [self.work(s) for s in self._small]
        cheap = [s for s, work in zip(self._small, works, strict=True) if work <= TIMES * works[0]]
        for pool in (cheap, self._small):
            while left and len(chosen) < MOST_PLANNED:
                best = max(pool, key=lambda s: len(left & self._told(s, chosen)), default=None)
                if best is None or (chosen and not left & self._told(best, chosen)):
                    break
                left -= self._told(best, chosen)
                chosen.append(best)
        return self.with_batches([*chosen, *self._telling(chosen)] if chosen else super().plan())

    def _told(self, sizes: Sizes, before: list[Sizes]) -> set[frozenset[str]]:
        """The pairs of sizes that differ, and the sizes that are not what they were."""
        pairs = {frozenset(p) for p in itertools.combinations(self.names, 2) if sizes[p[0]] != sizes[p[1]]}
        return pairs | {frozenset([n]) for n in self.names if any(b[n] != sizes[n] for b in before)}

    @property
    def different(self) -> Iterator[dict[str, int]]:
        """All small sizes, the cheapest first."""
        return iter(self._small)

    @cached_property
    def _small(self) -> list[dict[str, int]]:
        bound = {s.name for e in self.extents if not isinstance(e, Symbol) for s in e.free_symbols}  # type: ignore[attr-defined]
        pools: list[tuple[int, ...]] = [MORE if n in bound else FEW for n in self.names]
        while math.prod(map(len, pools)) > MOST_SMALL:
            pools = [pool[:-1] if len(pool) > len(FEW) else pool for pool in pools]
            if all(len(pool) == len(FEW) for pool in pools):
                break
        counts = [len(pool) for pool in pools]
        rows = np.indices(counts).reshape(len(pools), math.prod(counts))
        choices = np.zeros(rows.shape[::-1], dtype=int)
        for n, pool in enumerate(pools):
            choices[:, n] = np.array(pool)[rows[n]]
        for least in (2, 1):
            if found := [s for s in self._promising(choices, least) if self.valid(s, least)]:
                return found
        return []
