"""linear_mse: Linear layer with half the sum of squared errors.

Forward:

    y[i, j] = sum[k](x[i, k] * W[j, k]) + b[j]
    difference[i, j] = y[i, j] - t[i, j]
    L = sum[i, j](difference[i, j]**2) / 2

Backward, from dL:

    dy[i, j] = dL * difference[i, j]
    dx[i, k] = sum[j](dy[i, j] * W[j, k])
    dW[j, k] = sum[i](dy[i, j] * x[i, k])
    db[j] = sum[i](dy[i, j])
"""

INPUTS = ("x", "W", "b", "t")
OUTPUTS = ("L",)
WRT = ("x", "W", "b")


def forward(x, W, b, t):
    """L, and what ``backward`` needs.

    x [N, K], W [J, K], b [J], t [N, J] -> L []
    """
    # y[i, j] = sum[k](x[i, k] * W[j, k]) + b[j]
    y = x @ W.T + b  # [N, J]
    # difference[i, j] = y[i, j] - t[i, j]
    difference = y - t  # [N, J]
    # L = sum[i, j](difference[i, j]**2) / 2
    L = difference.square().sum() / 2  # []
    return L, (x, W, difference)


def backward(saved, dL):
    """dx, dW and db, from what ``forward`` saved and the upstream gradient.

    dL [] -> dx [N, K], dW [J, K], db [J]
    """
    x, W, difference = saved
    # dy[i, j] = dL * difference[i, j]
    dy = difference * dL  # [N, J]
    # dx[i, k] = sum[j](dy[i, j] * W[j, k])
    dx = dy @ W  # [N, K]
    # dW[j, k] = sum[i](dy[i, j] * x[i, k])
    dW = dy.T @ x  # [J, K]
    # db[j] = sum[i](dy[i, j])
    db = dy.sum(0)  # [J]
    return dx, dW, db
