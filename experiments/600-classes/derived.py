"""linear_cross_entropy: Linear classifier with cross-entropy, mean over the batch.

Forward:

    z[n, j] = b[j] + sum[k](x[n, k] * W[j, k])
    logp[n, j] = log_softmax[j](z[n, j])
    L = mean[n](logsumexp[j](z[n, j]) - z[n, t[n]])

Backward, from dL:

    dz[n, j] = dL * (exp(logp[n, j]) - delta(j, t[n])) / N
    dx[n, k] = sum[j](dz[n, j] * W[j, k])
    dW[j, k] = sum[n](dz[n, j] * x[n, k])
    db[j] = sum[n](dz[n, j])
"""

import torch

INPUTS = ("x", "W", "b", "t")
OUTPUTS = ("L",)
WRT = ("x", "W", "b")


def forward(x, W, b, t):
    """L, and what ``backward`` needs.

    x [N, K], W [J, K], b [J], t [N] -> L []
    """
    # z[n, j] = b[j] + sum[k](x[n, k] * W[j, k])
    z = x @ W.T + b  # [N, J]
    # logp[n, j] = log_softmax[j](z[n, j])
    logp = torch.log_softmax(z, -1)  # [N, J]
    # L = mean[n](logsumexp[j](z[n, j]) - z[n, t[n]])
    L = -logp.gather(-1, t[:, None]).squeeze(-1).mean()  # []
    return L, (x, W, t, logp)


def backward(saved, dL):
    """dx, dW and db, from what ``forward`` saved and the upstream gradient.

    dL [] -> dx [N, K], dW [J, K], db [J]
    """
    x, W, t, logp = saved
    N = x.shape[0]
    # dz[n, j] = dL * (exp(logp[n, j]) - delta(j, t[n])) / N
    ratio = dL / N  # []
    dz = torch.exp(logp) * ratio  # [N, J]
    dz.scatter_add_(-1, t[:, None], (-ratio).expand(N, 1))
    # dx[n, k] = sum[j](dz[n, j] * W[j, k])
    dx = dz @ W  # [N, K]
    # dW[j, k] = sum[n](dz[n, j] * x[n, k])
    dW = dz.T @ x  # [J, K]
    # db[j] = sum[n](dz[n, j])
    db = dz.sum(0)  # [J]
    return dx, dW, db
