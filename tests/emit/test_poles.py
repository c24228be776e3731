"""What a condition leaves out may be infinite: it is left out, not multiplied by 0."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import symderive
from symderive.spec import loads
from tests.emit.running import module_of

TEXT = """name: op
sizes: {{N: 2, K: 3}}
inputs: {{A: [N, K]}}
indices: {{l: K}}
forward: |
  y[l] = sum[r, i : l <= r]({})
"""


@pytest.mark.parametrize("library", ["torch", "numpy"])
@pytest.mark.parametrize(
    ("body", "function"),
    [("A[i, r]**-2", lambda a: a**-2), ("log(A[i, r])", np.log), ("exp(A[i, r]) / A[i, r]", lambda a: np.exp(a) / a)],
)
def test_a_pole_that_a_condition_leaves_out(body, function, library):
    module = module_of(getattr(symderive.derive(loads(TEXT.format(body))), library))
    A = np.array([[0.0, 2.0, 4.0], [1.0, 2.0, 8.0]])
    with np.errstate(all="ignore"):
        y, _ = module["forward"](torch.from_numpy(A) if library == "torch" else A)
    entries = function(A[:, 1:]).sum(0)
    np.testing.assert_allclose(np.asarray(y)[1:], [entries.sum(), entries[1]])
