from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from symderive import spec as specs
from symderive.check import sample, sizes
from symderive.check.oracle import Evaluator

torch = pytest.importorskip("torch")

from symderive.check.arrays_torch import run_reference  # noqa: E402

CATALOGUE = sorted((Path(__file__).parents[2] / "derivations").glob("*.yaml"))


@pytest.mark.parametrize("path", CATALOGUE, ids=lambda p: p.stem)
def test_the_oracle_agrees_with_the_reference(path):
    spec = specs.load(path)
    chosen = sizes.small(spec) | {"...": (2, 3)}
    point = sample.away_from_kinks(spec, chosen, np.random.default_rng(1))
    evaluator = Evaluator.of(spec, point, chosen)
    inputs = {k: torch.from_numpy(np.asarray(a)) for k, a in point.items()}
    reference = run_reference(spec.reference, inputs, chosen, spec.constants)
    for name in spec.outputs:
        np.testing.assert_allclose(evaluator.tensor(name), reference[name].numpy(), rtol=1e-10, atol=1e-12)
