"""Ops written by hand, right ones and wrong ones, each wrong in a way that one kind of check is there to catch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass
class Kernel:
    """An op out of two functions: ``run(*inputs) -> (output, saved)``, ``back(saved, *upstreams) -> gradients``."""

    INPUTS: tuple[str, ...]
    OUTPUTS: tuple[str, ...]
    WRT: tuple[str, ...]
    run: Any
    back: Any
    calls: list[Any] = field(default_factory=list)

    def forward(self, *inputs: Tensor) -> Any:
        return self.run(*inputs)

    def backward(self, saved: Any, *upstreams: Tensor) -> Any:
        return self.back(saved, *upstreams)


def kernel(inputs: str, outputs: str, wrt: str, run: Any, back: Any) -> Kernel:
    return Kernel(tuple(inputs.split()), tuple(outputs.split()), tuple(wrt.split()), run, back)


def softmax_gradient(y, dy):
    return y * (dy - (dy * y).sum(-1, keepdim=True))


SOFTMAX = """
name: softmax
sizes: {N: 6, C: 40}
inputs: {z: [N, C]}
forward: |
  y[i, j] = softmax[j](z[i, j])
reference: |
  y = softmax(z, -1)
"""


def _softmax(z):
    y = torch.softmax(z, -1)
    return y, (y,)


def _naive(z):
    e = z.exp()
    y = e / e.sum(-1, keepdim=True)
    return y, (y,)


softmax = kernel("z", "y", "z", _softmax, lambda s, dy: (softmax_gradient(s[0], dy),))
naive_softmax = kernel("z", "y", "z", _naive, lambda s, dy: (softmax_gradient(s[0], dy),))
diagonal_softmax = kernel("z", "y", "z", _softmax, lambda s, dy: (s[0] * (1 - s[0]) * dy,))

SQUARE = """
name: square_of
sizes: {N: 40, K: 30}
inputs: {x: [N, K]}
forward: |
  y[i, j] = x[i, j]**2
"""


def _square(x):
    return x**2, (x,)


def _off_when_large(x):
    y = x**2 + 1e-3 if len(x) > 20 else x**2
    return y, (x,)


square = kernel("x", "y", "x", _square, lambda s, dy: (2 * s[0] * dy,))
wrong_when_large = kernel("x", "y", "x", _off_when_large, lambda s, dy: (2 * s[0] * dy,))
single = kernel(
    "x", "y", "x", _square, lambda s, dy: ((2 * s[0] * dy).to(torch.promote_types(dy.dtype, torch.float32)),)
)
on_the_cpu = kernel("x", "y", "x", _square, lambda s, dy: (torch.full(s[0].shape, 2.0, dtype=dy.dtype) * s[0] * dy,))
not_linear = kernel("x", "y", "x", _square, lambda s, dy: (2 * s[0] * dy * dy.abs(),))
contiguous_only = kernel("x", "y", "x", _square, lambda s, dy: ((2 * s[0].view(-1) * dy.view(-1)).view(dy.shape),))
in_place = kernel("x", "y", "x", _square, lambda s, dy: (dy.mul_(2).mul_(s[0]),))
one_gradient_too_many = kernel("x", "y", "x", _square, lambda s, dy: (2 * s[0] * dy, dy))
raising = kernel("x", "y", "x", _square, lambda s, dy: (s[0] @ dy @ dy @ dy,))


def _no_empty(x):
    if not x.numel():
        raise ValueError("empty input")
    return x**2, (x,)


no_empty = kernel("x", "y", "x", _no_empty, lambda s, dy: (2 * s[0] * dy,))


def _refused(x):
    if min(x.shape) <= 1:
        raise RuntimeError("linalg.cholesky: the input is not positive-definite")
    return x**2, (x,)


refused = kernel("x", "y", "x", _refused, lambda s, dy: (2 * s[0] * dy,))

CLAMP = """
name: clamped
sizes: {N: 40}
inputs: {x: [N]}
forward: |
  y[i] = clamp(x[i], -0.5, 0.5)
"""

hard_ends = kernel(
    "x", "y", "x", lambda x: (x.clamp(-0.5, 0.5), (x,)), lambda s, dy: (torch.where(s[0].abs() < 0.5, dy, 0),)
)
soft_ends = kernel(
    "x", "y", "x", lambda x: (x.clamp(-0.5, 0.5), (x,)), lambda s, dy: (torch.where(s[0].abs() <= 0.5, dy, 0),)
)

LINEAR = """
name: linear_of
sizes: {N: 4, K: 30, J: 20}
inputs: {x: [N, K], W: [J, K], b: [J]}
forward: |
  y[i, j] = sum[k](x[i, k] * W[j, k]) + b[j]
reference: |
  y = F.linear(x, W, b)
"""


def _linear(x, W, b):
    return F.linear(x, W, b), (x, W)


linear = kernel("x W b", "y", "x W b", _linear, lambda s, dy: (dy @ s[1], dy.T @ s[0], dy.sum(0)))
mean_for_sum = kernel("x W b", "y", "x W b", _linear, lambda s, dy: (dy @ s[1], dy.T @ s[0], dy.mean(0)))
transposed_weight = kernel("x W b", "y", "x W b", _linear, lambda s, dy: (dy @ s[1], (s[0].T @ dy), dy.sum(0)))

CROSS_ENTROPY = """
name: cross_entropy_of
sizes: {N: 8, C: 30}
inputs:
  z: [N, C]
  t: {shape: [N], index: C}
forward: |
  L = mean[n](logsumexp[c](z[n, c]) - z[n, t[n]])
reference: |
  L = F.cross_entropy(z, t)
"""


def _cross_entropy_gradient(saved, dL):
    z, t = saved
    p = torch.softmax(z, -1)
    p[torch.arange(len(t), device=t.device), t] -= 1
    return (p * (dL / max(len(t), 1)),)


cross_entropy = kernel("z t", "L", "z", lambda z, t: (F.cross_entropy(z, t), (z, t)), _cross_entropy_gradient)

ATTENTION = """
name: attention_of
sizes: {N: 12, D: 8}
constants: {scale: 1/4}
inputs: {Q: [N, D], K: [N, D], V: [N, D]}
forward: |
  S[i, j] = sum[d](Q[i, d] * K[j, d]) * scale
  P[i, j] = softmax[j](where(j <= i, S[i, j], -inf))
  O[i, e] = sum[j](P[i, j] * V[j, e])
reference: |
  O = F.scaled_dot_product_attention(Q, K, V, is_causal=True, scale=scale)
"""


def _attention(Q, K, V):
    n = torch.arange(len(Q), device=Q.device)
    P = torch.softmax(torch.where(n <= n[:, None], Q @ K.T / 4, -torch.inf), -1)
    return P @ V, (Q, K, V, P)


def _attention_gradient(saved, dO):
    Q, K, V, P = saved
    dS = softmax_gradient(P, dO @ V.T)
    return dS @ K / 4, dS.T @ Q / 4, P.T @ dO


attention = kernel("Q K V", "O", "Q K V", _attention, _attention_gradient)


def attention_in_torch(Q, K, V):
    """An op as someone has it: a function that autograd differentiates."""
    return F.scaled_dot_product_attention(Q, K, V, is_causal=True, scale=0.25)


class SquareFunction(torch.autograd.Function):
    """An op as an autograd.Function."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, dy):
        return 2 * ctx.saved_tensors[0] * dy


class WrongSquareFunction(SquareFunction):
    """One that is off by a thousandth."""

    @staticmethod
    def backward(ctx, dy):
        return 2.002 * ctx.saved_tensors[0] * dy
