"""How many entries a claim goes through at given sizes, and small sizes for one that goes through many.

A Jacobian of a kernel by a kernel has eight indices: at pairwise different sizes, tens of thousands of entries. Where
each two sizes differ at one of a few choices at least, nothing that confuses them is right at all of them either.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from symderive.claims.borders import BOTH, Border
from symderive.claims.lines import FAULTS, ClaimError, Line, names_in
from symderive.claims.probe import Hollow, Probe
from symderive.claims.sizing import SmallSizes
from symderive.claims.world import Sizes
from symderive.spec import syntax

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

HEAVY = 3000
"""Entries from which on a claim is judged at small sizes."""

MOST = 100_000
"""Entries at sizes that are larger than the main ones."""

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
