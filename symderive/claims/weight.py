"""How many entries a claim goes through at given sizes, and small sizes for one that goes through many.

A Jacobian of a kernel by a kernel has eight indices: at pairwise different sizes, tens of thousands of entries. Where
each two sizes differ at one of a few choices at least, nothing that confuses them is right at all of them either.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from sympy import Symbol

from symderive.claims.borders import BOTH, Border
from symderive.claims.lines import FAULTS, ClaimError, Line, names_in
from symderive.claims.probe import Hollow, Probe
from symderive.claims.sizing import SizeChooser
from symderive.claims.world import Sizes
from symderive.spec import syntax

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

HEAVY = 3000
"""Entries from which on a claim is judged at small sizes."""

MOST = 100_000
"""Entries at sizes that are larger than the main ones."""

FEW, MORE = (2, 3), (2, 3, 4, 5, 6, 7, 8, 9)
"""What a size may be, and one on which the length of an axis depends together with others."""

MOST_CHOICES = 10_000
MOST_PLANNED = 6
TIMES = 2
"""How many times as much work as at the cheapest choice is done at another, where that tells all sizes apart."""

SLOW = 300
"""Entries beyond which an expression at small sizes takes longer in proportion."""


def weight(trial: Trial, sizes: Sizes) -> int:
    """The most entries over which the left side, or something in the claim or in a helper of it, runs.

    0 where that cannot be told: in array form, arrays are as large as their names say.
    """
    key = "weight", trial.line, trial.node, *sizes.items(), len(trial.court.helpers)
    known = trial.court.weights
    if key not in known:
        probe = Probe(trial)
        known[key] = max(_entries(probe, node, line, sizes) for node, line in trial.sides())
    return known[key]


def slowness(trial: Trial, sizes: Sizes) -> int:
    """How many times as long as others an expression of the size of a heavy claim takes."""
    heavy = isinstance(trial.court.points.chooser, SmallSizes)
    return max(1, weight(trial, sizes) // SLOW) if heavy else 1


def _entries(probe: Probe, node: syntax.Node, line: Line, sizes: Sizes) -> int:
    border = Border(node, BOTH, node, line)
    if not border.indexed:
        return 0
    try:
        ranges = probe.ranges_of(border, Hollow(sizes, {}, {}))
    except (ClaimError, *FAULTS):
        return 0
    inside = [names_in(n) | set(n.indices) for n in node.walk() if isinstance(n, syntax.Binder)]
    free = set().union(*(names_in(i) for i in line.indices or ()))
    return max(math.prod(n for i, n in ranges.items() if i in names) for names in [free, *inside])


class SmallSizes(SizeChooser):
    """Finds sizes of 2 and 3, and a little more where an axis needs that, of which each two differ somewhere."""

    def plan(self) -> list[Sizes]:
        """The cheapest choice first, then those that tell most of what the ones before do not."""
        chosen: list[Sizes] = []
        left = {frozenset(p) for count in (1, 2) for p in itertools.combinations(self.names, count)}
        cheap = [s for s in self._small if self.work(s) <= TIMES * self.work(self._small[0])]
        for pool in (cheap, self._small):
            while left and len(chosen) < MOST_PLANNED:
                best = max(pool, key=lambda s: len(left & self._told(s, chosen)), default=None)
                if best is None or (chosen and not left & self._told(best, chosen)):
                    break
                left -= self._told(best, chosen)
                chosen.append(best)
        return self.with_batches(chosen or super().plan())

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
        pools = [MORE if n in bound else FEW for n in self.names]
        choices: list[Mapping[str, int]] = [
            dict(zip(self.names, c, strict=True)) for c in itertools.islice(itertools.product(*pools), MOST_CHOICES)
        ]
        for least in (2, 1):
            if found := [dict(c) for c in choices if self.valid(c, least)]:
                return sorted(found, key=self.work)
        return []
