"""two_layers: Two linear layers with half the sum of squared errors.

Forward:

    h[i, l] = sum[k](x[i, k] * W1[l, k]) + b1[l]
    y[i, j] = sum[l](h[i, l] * W2[j, l]) + b2[j]
    difference[i, j] = y[i, j] - t[i, j]
    L = sum[i, j](difference[i, j]**2) / 2

Backward, from dL:

    dy[i, j] = dL * difference[i, j]
    dh[i, l] = sum[j](dy[i, j] * W2[j, l])
    dx[i, k] = sum[l](dh[i, l] * W1[l, k])
    dW1[l, k] = sum[i](dh[i, l] * x[i, k])
    db1[l] = sum[i](dh[i, l])
    dW2[j, l] = sum[i](dy[i, j] * h[i, l])
    db2[j] = sum[i](dy[i, j])
"""

INPUTS = ("x", "W1", "b1", "W2", "b2", "t")
OUTPUTS = ("L",)
WRT = ("x", "W1", "b1", "W2", "b2")


def forward(x, W1, b1, W2, b2, t):
    """L, and what ``backward`` needs.

    x [N, K], W1 [H, K], b1 [H], W2 [J, H], b2 [J], t [N, J] -> L []
    """
    # h[i, l] = sum[k](x[i, k] * W1[l, k]) + b1[l]
    h = x @ W1.T + b1  # [N, H]
    # y[i, j] = sum[l](h[i, l] * W2[j, l]) + b2[j]
    y = h @ W2.T + b2  # [N, J]
    # difference[i, j] = y[i, j] - t[i, j]
    difference = y - t  # [N, J]
    # L = sum[i, j](difference[i, j]**2) / 2
    L = difference.square().sum() / 2  # []
    return L, (x, W1, W2, h, difference)


def backward(saved, dL):
    """dx, dW1, db1, dW2 and db2, from what ``forward`` saved and the upstream gradient.

    dL [] -> dx [N, K], dW1 [H, K], db1 [H], dW2 [J, H], db2 [J]
    """
    x, W1, W2, h, difference = saved
    # dy[i, j] = dL * difference[i, j]
    dy = difference * dL  # [N, J]
    # dh[i, l] = sum[j](dy[i, j] * W2[j, l])
    dh = dy @ W2  # [N, H]
    # dx[i, k] = sum[l](dh[i, l] * W1[l, k])
    dx = dh @ W1  # [N, K]
    # dW1[l, k] = sum[i](dh[i, l] * x[i, k])
    dW1 = dh.T @ x  # [H, K]
    # db1[l] = sum[i](dh[i, l])
    db1 = dh.sum(0)  # [H]
    # dW2[j, l] = sum[i](dy[i, j] * h[i, l])
    dW2 = dy.T @ h  # [J, H]
    # db2[j] = sum[i](dy[i, j])
    db2 = dy.sum(0)  # [J]
    return dx, dW1, db1, dW2, db2
