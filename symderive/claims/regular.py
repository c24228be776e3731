"""Whether a forward with functions of matrices has a value: for the inverse of ``X.T @ X`` X needs as many rows.

Floats tell where all matrices are far from singular ones; where they do not, exact numbers decide.
"""

from __future__ import annotations

import numpy as np

from symderive.check import passing, sample
from symderive.check.floats import FLOAT
from symderive.check.grid_math import GridMath, Value
from symderive.claims.lines import FAULTS, NotJudged
from symderive.claims.records import FAULTS as NO_ARRAYS
from symderive.claims.records import ByArrays
from symderive.claims.world import Sizes, World, random_upstreams
from symderive.errors import SymderiveError
from symderive.spec import model

MODERATE = 10**20
"""What is larger is left of a division by what should be 0, in numbers that are not rational."""

WELL_CONDITIONED = 1e6
"""A matrix of floats with a smaller condition number is not a singular one that was rounded."""


class _Watched(GridMath):
    """Arrays, and the largest condition number of the matrices that functions of matrices were applied to."""

    condition = 1.0

    def matrix(self, op: str, a: Value, *right: Value) -> Value:
        with np.errstate(all="ignore"):
            self.condition = max(self.condition, float(np.max(np.linalg.cond(a), initial=1.0)))
        return super().matrix(op, a, *right)


def has_values(spec: model.Spec, sizes: Sizes) -> bool:
    """Whether the outputs, and all gradients of them, have values at a random point."""
    rng = np.random.default_rng(0)
    inputs = sample.away_from_kinks(spec, sizes, rng, exact=True)
    upstreams = random_upstreams(spec, sizes, sample.Draw(rng, exact=True).entries)
    try:
        if _well_conditioned(World(spec, sizes, passing.as_floats(inputs), upstreams, FLOAT)):
            return True
        world = World(spec, sizes, inputs, upstreams)
        arrays = [world.values[n] for n in spec.outputs] + [world.gradient(n) for n in spec.wrt]
    except (SymderiveError, NotJudged, *FAULTS):
        return True  # whether it has, is not known
    return all(abs(v) <= MODERATE for a in arrays for v in a.flat)


def _well_conditioned(world: World) -> bool:
    """Whether floats give finite outputs, and all matrices are far from singular."""
    way = ByArrays(world.setting, recorded=False)
    way.math = watched = _Watched(way.math.numbers)
    try:
        finite = all(np.isfinite(way.value(n)).all() for n in world.spec.outputs)
    except (*NO_ARRAYS, np.linalg.LinAlgError):
        return False
    return finite and watched.condition < WELL_CONDITIONED
