"""Indices that are read by digits: the adjoint is read by digits, too, and no delta is left."""

from __future__ import annotations

import pytest

import symderive
from symderive.spec import loads
from tests.algebra.test_textbook import index_forms

HEAD = "name: op\nsizes: {N: 3, C: 2, P: 3, H: 4, D: 5}\n"

FORMS = {
    "many to one": (
        "inputs: {x: [N, H]}\nindices: {h: 2*H}",
        "y[n, h] = x[n, h // 2]",
        "dx[n, i] = sum[j](dy[n, 2 * i + j])",
    ),
    "many to one, shifted": (
        "inputs: {x: [N, H]}\nindices: {h: 2*H - 1}",
        "y[n, h] = x[n, (h + 1) // 2]",
        "dx[n, i] = sum[j](pad(dy[n, 2 * i + j - 1]))",
    ),
    "many to one, backwards": (
        "inputs: {x: [N, H]}\nindices: {h: 3*H}",
        "y[n, h] = x[n, (3*H - 1 - h) // 3]",
        "dx[n, i] = sum[j](dy[n, 3 * H - 3 * i + j - 3])",
    ),
    "a quotient of part of the axis": (
        "inputs: {x: [N, H], v: [H]}",
        "y[n, h] = x[n, h // 2] * v[h]",
        "dx[n, h] = sum[i : i // 2 == h](dy[n, i] * v[i])",
    ),
    "pixel shuffle": (
        "inputs: {x: [4*C, H, D]}\nindices: {c: C, h: 2*H, v: 2*D}",
        "y[c, h, v] = x[4*c + 2*(h % 2) + v % 2, h // 2, v // 2]",
        "dx[i, j, k] = dy[i // 4, 2 * j + i // 2 % 2, 2 * k + i % 2]",
    ),
    "pixel unshuffle": (
        "inputs: {x: [C, 2*H, 2*D]}\nindices: {c: 4*C, h: H, v: D}",
        "y[c, h, v] = x[c // 4, 2*h + c % 4 // 2, 2*v + c % 2]",
        "dx[i, j, k] = dy[2 * (j % 2) + 4 * i + k % 2, j // 2, k // 2]",
    ),
    "patches": (
        "inputs: {x: [C, H]}\nindices: {c: 2*C, h: H - 1}",
        "y[c, h] = x[c // 2, h + c % 2]",
        "dx[i, j] = sum[k, h : h + k == j](dy[2 * i + k, h])",
    ),
    "circular": (
        "inputs: {x: [H], w: [D]}\nindices: {h: H}",
        "y[h] = sum[d](x[(h + d) % H] * w[d])",
        "dx[h] = sum[d](dy[(h - d) % H] * w[d])",
    ),
    "Kronecker product": (
        "inputs: {a: [N, C], b: [H, D]}\nindices: {i: N*H, j: C*D}",
        "y[i, j] = a[i // H, j // D] * b[i % H, j % D]",
        "da[k, l] = sum[m, n](dy[H * k + m, D * l + n] * b[m, n])",
    ),
    "groups": (
        "inputs: {x: [2*C, D], w: [2*P, C]}\nindices: {o: 2*P}",
        "y[o, d] = sum[c](x[o // P * C + c, d] * w[o, c])",
        "dx[i, d] = sum[j](dy[P * (i // C) + j, d] * w[P * (i // C) + j, i % C])",
    ),
    "merged": (
        "inputs: {x: [H*D], w: [H, D]}\nindices: {h: H, d: D}",
        "y[h, d] = x[h*D + d]**2 * w[h, d]",
        "dx[i] = 2 * x[i] * dy[i // D, i % D] * w[i // D, i % D]",
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_adjoint_of(name):
    head, forward, gradient = FORMS[name]
    assert index_forms(f"{HEAD}{head}\nforward: |\n  {forward}\n")[0] == gradient


MOVES = {
    "many to one": ("x[..., None].expand(N, H, 2).reshape(N, 2 * H)", "dy.reshape(N, H, 2).sum(-1)"),
    "many to one, shifted": (
        "x[..., None].expand(N, H, 2).reshape(N, 2 * H)[:, 1:]",
        "F.pad(dy, (1, 0)).reshape(N, H, 2).sum(-1)",
    ),
    "many to one, backwards": (
        "x[..., None].expand(N, H, 3).reshape(N, 3 * H).flip(-1)",
        "dy.reshape(N, H, 3).flip(1).sum(-1)",
    ),
    "pixel shuffle": (
        "x.reshape(C, 2, 2, H, D).permute(0, 3, 1, 4, 2).reshape(C, 2 * H, 2 * D)",
        "dy.reshape(C, H, 2, D, 2).permute(0, 2, 4, 1, 3).reshape(4 * C, H, D)",
    ),
}


@pytest.mark.parametrize("name", MOVES)
def test_digits_are_axes_of_a_reshaped_tensor(name):
    head, forward, _ = FORMS[name]
    code = symderive.derive(loads(f"{HEAD}{head}\nforward: |\n  {forward}\n")).torch
    for line in MOVES[name]:
        assert line in code
    assert "arange" not in code


def test_windows_on_two_axes_that_leave_a_rest():
    head = "inputs: {x: [N, H, D]}\nindices: {h: H // 2, v: D // 2, r: 2, s: 2}"
    code = symderive.derive(
        loads(f"{HEAD}{head}\nforward: |\n  y[n, h, v] = mean[r, s](x[n, 2*h + r, 2*v + s])\n")
    ).torch
    assert "x[:, : 2 * (H // 2), : 2 * (D // 2)].reshape(N, H // 2, 2, D // 2, 2).mean((2, 4))" in code
    assert "F.pad(" in code
    assert "arange" not in code
