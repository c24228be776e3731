"""Reductions of no entries: what the language says they are, which libraries refuse to say."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from symderive import api
from symderive.check.ops import load_text

TEXT = """\
name: nothing
sizes: {N: 2, K: 3}
inputs:
  x: [N, K]
forward: |
  y[n] = %s[k](x[n, k])
"""


@pytest.mark.parametrize(("reduction", "value"), [("max", -np.inf), ("min", np.inf), ("sum", 0), ("prod", 1)])
@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_a_reduction_of_no_entries_has_its_value_and_an_empty_gradient(library: str, reduction: str, value: float):
    module = load_text(api.FORMATS[library](api.derive(api.loads(TEXT % reduction))), "nothing")
    make = torch.zeros if library == "torch" else np.zeros
    y, saved = module.forward(make((2, 0)))
    (dx,) = module.backward(saved, make(2))
    assert y.tolist() == [value, value]
    assert tuple(dx.shape) == (2, 0)


def test_an_axis_of_a_number_of_entries_needs_no_such_care():
    text = api.FORMATS["torch"](api.derive(api.loads((TEXT % "max").replace("[N, K]", "[N, 3]"))))
    assert "y = x.amax(-1)  # [N]" in text


@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_the_log_of_the_mean_of_no_exponentials_is_nan_and_raises_nothing(library: str):
    derivation = api.derive(api.loads(TEXT.replace("%s[k](x[n, k])", "log(mean[k](exp(x[n, k])))")))
    module = load_text(api.FORMATS[library](derivation), "nothing")
    make = torch.zeros if library == "torch" else np.zeros
    assert np.isnan(module.forward(make((2, 0)))[0]).all()
    np.testing.assert_allclose(module.forward(make((2, 3)))[0], [0, 0], atol=1e-6)


@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_what_divides_a_masked_sum_divides_where_the_mask_is_empty_too(library: str):
    text = TEXT.replace("x: [N, K]", "x: [N, K]\n  m: {shape: [N, K], bool: true}")
    line = "L = sum[n](sum[k : m[n, k]](x[n, k]) / sum[k](m[n, k]))"
    module = load_text(api.FORMATS[library](api.derive(api.loads(text.replace("y[n] = %s[k](x[n, k])", line)))), "mean")
    x = np.arange(6.0).reshape(2, 3)
    mask = np.array([[True, True, False], [False, False, False]])
    given = [x, mask] if library == "numpy" else [torch.from_numpy(x), torch.from_numpy(mask)]
    assert np.isnan(module.forward(*given)[0])
    assert module.forward(*(a[:1] for a in given))[0] == 0.5
