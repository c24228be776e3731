"""What is made of pieces along an axis is computed piece by piece, without masks."""

from __future__ import annotations

import pytest

import symderive
from symderive.spec import loads

HEAD = "name: op\nsizes: {N: 3, H: 4, K: 5}\n"

CODE = {
    "gates side by side": (
        "inputs: {a: [N, 2*H]}\nindices: {j: H}",
        ["y[n, j] = sigmoid(a[n, j]) * a[n, H + j]"],
        "da = torch.cat([a[:, H:] * dy * s * torch.sigmoid(-a[:, :H]), dy * s], -1)",
    ),
    "parts at numbers": (
        "inputs: {z: [2, N, H]}",
        ["y[n, m] = sum[j](z[0, n, j] * z[1, m, j])"],
        "dz = torch.stack([dy @ z[1], dy.T @ z[0]], 0)",
    ),
    "one entry": (
        "inputs: {x: [N, K, H]}",
        ["y[n, j] = x[n, 0, j]**2"],
        "dx[:, 0] = product",
    ),
    "an entry beside what is dense": (
        "inputs: {x: [N, K]}",
        ["y[n, k] = x[n, k] * x[n, 0]"],
        "dx = torch.addcmul(placed, dy, x[:, 0][:, None])",
    ),
    "a gap": (
        "inputs: {x: [N, 5]}",
        ["y[n] = x[n, 1]**2 * x[n, 3]"],
        "F.pad(torch.cat([product, dy.new_zeros(N, 1), product2], -1), (1, 1))",
    ),
    "branches of the forward": (
        "inputs: {x: [N, 2*H]}\nindices: {i: 2*H}",
        ["y[n, i] = where(i < H, -pad(x[n, i + H]), pad(x[n, i - H]))"],
        "y = torch.cat([-x[:, H:], x[:, :H]], -1)",
    ),
    "pieces that overlap stay padded": (
        "inputs: {x: [N, K], w: [2]}\nindices: {k: K}",
        ["y[n, k] = w[0] * pad(x[n, k - 1]) + w[1] * pad(x[n, k + 1])"],
        "dx = F.pad(dy, (0, 1))[:, 1:] * w[0] + F.pad(dy, (1, 0))[:, :K] * w[1]",
    ),
}


def derived(name):
    head, forward, _ = CODE[name]
    lines = "".join(f"  {line}\n" for line in forward)
    return symderive.derive(loads(f"{HEAD}{head}\nforward: |\n{lines}"))


@pytest.mark.parametrize("name", CODE)
def test_pieces_are_put_side_by_side(name):
    code = derived(name).torch
    assert CODE[name][2] in code
    assert "arange" not in code
    assert "torch.where" not in code


def test_array_form_masks_what_has_one_entry():
    gradients = derived("parts at numbers").gradients
    assert gradients["z"].array == (
        "dz = where((arange(2) == 0)[:, None, None], dy @ z[1], 0) + "
        "where((arange(2) == 1)[:, None, None], dy.T @ z[0], 0)"
    )
    assert derived("gates side by side").gradients["a"].array is None


SYMMETRIC = {
    "a sum with its transpose": ("inputs: {u: [N, K], P: [K, K]}", "y[n] = sum[i, j](u[n, i] * P[i, j] * u[n, j])"),
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_a_symmetric_matrix_is_not_transposed(name):
    head, forward = SYMMETRIC[name]
    code = symderive.derive(loads(f"{HEAD}{head}\nforward: |\n  {forward}\n")).torch
    assert "du = u @ (P + P.T) * dy[:, None]" in code


def test_rows_that_are_scattered_keep_the_order_of_their_factors():
    head = "inputs: {v: [N, H], U: [K, H], u: {shape: [N, 2], index: K}}"
    code = symderive.derive(loads(f"{HEAD}{head}\nforward: |\n  r[n, k] = sum[d](v[n, d] * U[u[n, k], d])\n")).torch
    assert "product = dr[..., None] * v[:, None, :]" in code


def test_groups_written_by_index_arithmetic_are_those_of_a_convolution():
    head = "inputs: {x: [N, 2*H, K], w: [2*D, H, R]}\nindices: {k: K - R + 1}"
    text = f"{HEAD.replace('K: 5', 'K: 5, D: 3, R: 2')}{head}\nforward: |\n"
    code = symderive.derive(loads(f"{text}  y[n, o, k] = sum[c, r](x[n, o // D * H + c, k + r] * w[o, c, r])\n")).torch
    assert "y = F.conv1d(x, w, groups=2)" in code
    assert "dx = F.conv_transpose1d(dy, w, groups=2)" in code
    assert "einsum" not in code
