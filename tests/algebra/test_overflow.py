"""What is finite is computed without an infinity on the way, also through tensors that the author has named."""

from __future__ import annotations

import pytest
import torch

from symderive import api
from symderive.check.ops import load_text

HEAD = "name: op\nsizes: {N: 2}\nconstants: {b: 1/2}\ninputs: {z: [N], w: [N]}\nforward: |\n"

FORWARD = {
    "a root of a named exponential": "  m[n] = exp(z[n])\n  L = sum[n](m[n]**(1 - b) / (1 - b) + w[n] * m[n]**-b / b)",
    "a stopped one": "  v[n] = exp(z[n])\n  L = sum[n](stop(v[n])**b * (log(v[n]) + w[n]**2 / v[n]))",
    "a ratio": "  r[n] = exp(z[n]) / exp(w[n])\n  L = sum[n](r[n]**2)",
}

AT = {
    "a root of a named exponential": ([1000.0, -1000.0], [2.0, 3.0]),
    "a stopped one": ([1000.0, -100.0], [2.0, 3.0]),
    "a ratio": ([1000.0, -1000.0], [999.0, -1001.0]),
}


@pytest.mark.parametrize("name", FORWARD)
def test_what_is_finite_stays_finite(name):
    module = load_text(api.derive(api.loads(HEAD + FORWARD[name])).torch, "op")
    z, w = (torch.tensor(x, dtype=torch.float64) for x in AT[name])
    loss, saved = module.forward(z, w)
    gradients = module.backward(saved, torch.ones((), dtype=torch.float64))
    assert loss.isfinite()
    assert all(g.isfinite().all() for g in gradients)


def test_exponentials_over_different_axes_stay_apart():
    text = "name: op\nsizes: {N: 2, K: 3}\ninputs: {a: [N], b: [K]}\nforward: L = sum[n, k](exp(a[n]) * exp(b[k]))"
    assert "L = torch.exp(a).sum() * torch.exp(b).sum()" in api.derive(api.loads(text)).torch
