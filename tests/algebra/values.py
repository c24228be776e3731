"""Holding a derivation against the true gradients, which forward mode finds from the spec's text alone."""

from __future__ import annotations

import numpy as np

from symderive.algebra.derive import spec_letters
from symderive.algebra.unbuild import resolved
from symderive.check import sizes as small_sizes
from symderive.check.oracle import Evaluator
from symderive.check.passing import as_floats
from symderive.check.sample import Draw, away_from_kinks, draw_upstreams
from symderive.check.tangent import true_gradients


def gradients(derivation, point, upstreams, sizes):
    """The derived gradients, from their index form, the upstreams and what is saved."""
    spec = derivation.spec
    letters = spec_letters(spec, derivation.forward)
    forward = Evaluator(
        [resolved(e, letters) for e in derivation.forward.equations], point, sizes, constants=spec.constants
    )
    given = {**point, **upstreams, **{t: forward.tensor(t) for t in derivation.saved if t not in point}}
    backward = [resolved(e, letters) for e in derivation.backward.equations]
    evaluator = Evaluator(backward, given, sizes, constants=spec.constants)
    return {f"d{name}": np.array(evaluator.tensor(f"d{name}"), dtype=float) for name in spec.wrt}


def truth_and_derived(derivation, seed=0):
    """(true, derived) at a random point of small sizes, with a random upstream."""
    spec, rng = derivation.spec, np.random.default_rng(seed)
    sizes = small_sizes.small(spec)
    point = as_floats(away_from_kinks(spec, sizes, rng))
    upstreams = as_floats(draw_upstreams(spec, sizes, Draw(rng)))
    true = {n: np.array(v, dtype=float) for n, v in true_gradients(spec, point, upstreams, sizes).items()}
    return true, gradients(derivation, point, upstreams, sizes)
