"""A factor is multiplied into an array that nothing else holds, where no transform can object."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import func

from symderive.api import derive, load, loads
from tests.emit.running import module_of

CATALOGUE = Path(__file__).parents[2] / "derivations"

CENTRED = """name: centred
inputs:
  x: [N, D]
  g: [N]
forward: |
  m[i] = mean[j](x[i, j])
  y[i, j] = (x[i, j] - m[i]) * {factor}[i]
sizes: {{N: 3, D: 4}}
"""


def centred(factor: str) -> tuple[str, dict]:
    """The code of a centred matrix whose rows are scaled, and its module."""
    text = derive(loads(CENTRED.format(factor=factor))).torch
    return text, module_of(text)


def test_a_factor_of_the_same_tensors_is_multiplied_in():
    text, module = centred("m")
    assert "y = (x - m[:, None]).mul_(m[:, None])" in text
    x, g = torch.randn(3, 4, dtype=torch.float64, requires_grad=True), torch.randn(3, dtype=torch.float64)
    forward = lambda x: module["forward"](x, g)[0]  # noqa: E731
    assert torch.autograd.gradcheck(forward, x, check_forward_ad=True)
    stack = torch.randn(2, 3, 4, dtype=torch.float64)
    assert torch.equal(func.vmap(forward)(stack), torch.stack([forward(s) for s in stack]))
    hessian = func.hessian(lambda x: forward(x).square().sum())(x)
    assert torch.allclose(hessian, func.jacrev(func.jacrev(lambda x: forward(x).square().sum()))(x))


def test_a_factor_that_may_have_a_batch_of_its_own_is_not():
    text, module = centred("g")
    assert ".mul_(" not in text
    x, stack = torch.randn(3, 4), torch.randn(2, 3)
    forward = lambda g: module["forward"](x, g)[0]  # noqa: E731
    assert torch.equal(func.vmap(forward)(stack), torch.stack([forward(g) for g in stack]))


def test_a_saved_tensor_counts_as_what_it_was_computed_from():
    text = derive(load(CATALOGUE / "layer_norm.yaml")).torch
    assert ".mul_(rstd[..., None])" in text.split("def backward")[1]
    module = module_of(text)
    gamma, beta, upstream = torch.rand(4), torch.rand(4), torch.randn(3, 4)

    def gradients(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return module["backward"](module["forward"](x, gamma, beta)[1], upstream)

    stack = torch.randn(2, 3, 4)
    looped = zip(*(gradients(x) for x in stack), strict=True)
    for got, wanted in zip(func.vmap(gradients)(stack), looped, strict=True):
        torch.testing.assert_close(got, torch.stack(wanted))
