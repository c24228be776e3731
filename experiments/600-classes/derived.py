"""linear_cross_entropy: Linear classifier with cross-entropy, mean over the batch.

Forward:

    z[n, j] = sum[k](x[n, k] * W[j, k]) + b[j]
    L = mean[n](logsumexp[j](z[n, j]) - z[n, t[n]])

Backward, from dL:

    dz[n, j] = dL * (softmax[j](z[n, j]) - delta(j, t[n])) / N
    dx[n, k] = sum[j](dz[n, j] * W[j, k])
    dW[j, k] = sum[n](dz[n, j] * x[n, k])
    db[j] = sum[n](dz[n, j])
"""

import torch

INPUTS = ("x", "W", "b", "t")
OUTPUTS = ("L",)
WRT = ("x", "W", "b")


def _scaled(x: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """``x * factor``, written over x, which is new, unless autograd or a transform needs both."""
    functorch = torch._C._functorch
    if (
        torch.compiler.is_compiling()
        or x.requires_grad
        or factor.requires_grad
        or functorch.is_functorch_wrapped_tensor(factor)
        or functorch.is_legacy_batchedtensor(factor)
    ):
        return x * factor
    return x.mul_(factor)


def forward(x, W, b, t):
    """L, and what ``backward`` needs.

    x [N, K], W [J, K], b [J], t [N] -> L []
    """
    # z[n, j] = sum[k](x[n, k] * W[j, k]) + b[j]
    z = x @ W.T + b  # [N, J]
    # L = mean[n](logsumexp[j](z[n, j]) - z[n, t[n]])
    L = -torch.log_softmax(z, -1).gather(-1, t[:, None]).squeeze(-1).mean()  # []
    return L, (x, W, t, z)


def backward(saved, dL):
    """dx, dW and db, from what ``forward`` saved and the upstream gradient.

    dL [] -> dx [N, K], dW [J, K], db [J]
    """
    x, W, t, z = saved
    N = x.shape[0]
    # dz[n, j] = dL * (softmax[j](z[n, j]) - delta(j, t[n])) / N
    ratio = dL / N  # []
    dz = _scaled(torch.softmax(z, -1), ratio)  # [N, J]
    dz.scatter_add_(-1, t[:, None], (-ratio).expand(N, 1))
    # dx[n, k] = sum[j](dz[n, j] * W[j, k])
    dx = dz @ W  # [N, K]
    # dW[j, k] = sum[n](dz[n, j] * x[n, k])
    dW = dz.T @ x  # [J, K]
    # db[j] = sum[n](dz[n, j])
    db = dz.sum(0)  # [J]
    return dx, dW, db
