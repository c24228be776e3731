"""Every spec of the catalogue is complete, and derives what its textbook says. A new file is tested by being there."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

import pytest

import symderive
from symderive.catalogue import catalogue
from symderive.report.listing import GROUPS

NAMES = [p.stem for p in catalogue()]
BATCHED = set(
    """
    bce celu cholesky cosine_similarity determinant dropout elu frobenius_norm gelu gelu_tanh glu hardshrink hardsigmoid
    hardswish hardtanh l2_normalize layer_norm leaky_relu log_det log_sigmoid log_softmax matrix_inverse max mean
    min mish norm norm_l1 norm_p prod relu relu6 rms_norm scaled_dot_product_attention selu sigmoid sigmoid_bce silu
    softmax softmax_temperature softmin softplus softshrink softsign solve std straight_through sum tanh tanhshrink var
    """.split()  # noqa: SIM905
)
"""What PyTorch applies along the last axes of any tensor."""

TEXTBOOK = {
    "linear": {"dx": "dy @ W", "dW": "dy.T @ x", "db": "dy.sum(0)"},
    "linear_mse": {"dy": "y - t", "dx": "dy @ W", "dW": "dy.T @ x", "db": "dy.sum(0)"},
    "relu": {"dx": "where(x > 0, dy, 0)"},
    "softmax": {"dz": "y * (dy - (dy * y).sum(-1, keepdim=True))"},
    "log_softmax": {"dz": "dy - softmax(z, -1) * dy.sum(-1, keepdim=True)"},
    "cross_entropy": {"dz": "(softmax(z, -1) - one_hot(t, C)) / N"},
    "cross_entropy_soft": {"dz": "softmax(z, -1) * p.sum(-1, keepdim=True) - p"},
    "attention": {
        "dV": "P.T @ dO",
        "dP": "dO @ V.T",
        "dS": "P * (dP - (dP * P).sum(-1, keepdim=True))",
        "dQ": "dS @ K * scale",
        "dK": "dS.T @ Q * scale",
    },
    "hardtanh": {"dx": "where(x > -1 and x < 1, dy, 0)"},
    "softshrink": {"dx": "where(x > lam or x < -lam, dy, 0)"},
    "softsign": {"dx": "dy / square(abs(x) + 1)"},
    "sigmoid": {"dx": "dy * y * (1 - y)"},
    "tanh": {"dx": "dy * (1 - square(y))"},
    "huber": {"dy": "where(abs(e) <= c, e, c * sign(e)) / (J * N)"},
    "nll": {"dlogp": "-one_hot(t, C) / N"},
    "info_nce": {"dS": "(softmax(S, -1) - eye(N)) / N", "dq": "dS @ k / temperature", "dk": "dS.T @ q / temperature"},
    "lora_linear": {"dh": "dy @ B * scale", "dx": "dh @ A + dy @ W0", "dA": "dh.T @ x", "dB": "dy.T @ h * scale"},
    "batch_norm1d": {
        "dxhat": "dy * gamma",
        "dx": "(dxhat - dxhat.mean(0) - xhat * (dxhat * xhat).mean(0)) * rstd",
        "dgamma": "(dy * xhat).sum(0)",
        "dbeta": "dy.sum(0)",
    },
    "l2_normalize": {"dx": "(dy - y * (dy * y).sum(-1, keepdim=True)) / r[..., None]"},
    "rnn_cell": {"da": "dy * (1 - square(y))", "dx": "da @ W", "dh": "da @ U", "dW": "da.T @ x", "dU": "da.T @ h"},
    "quadratic_form": {"dx": "(A + A.T) @ x"},
    "trace_product": {"dX": "A.T @ B.T"},
    "matrix_inverse": {"dA": "-Y.mT @ dY @ Y.mT"},
    "log_det": {"dA": "A.inv().mT * dy[..., None, None]"},
    "kalman_gain": {"dH": "dS @ B.T + dB.T @ P", "dP": "dB @ H"},
    "upsample_nearest": {"dx": "dy.reshape(N, C, H, 2, W, 2).sum((3, 5))"},
    "pixel_shuffle": {"dx": "dy.reshape(N, C, H, 2, W, 2).permute(0, 1, 3, 5, 2, 4).reshape(N, 4 * C, H, W)"},
    "flip": {"dx": "dy.flip(-1)"},
    "merge_heads": {"dx": "dy.reshape(B, N, H, D).transpose(1, 2)"},
    "pixel_unshuffle": {"dx": "dy.reshape(N, C, 2, 2, H, W).permute(0, 1, 4, 2, 5, 3).reshape(N, C, 2 * H, 2 * W)"},
    "scaled_dot_product_attention": {
        "dV": "P.mT @ dO",
        "dP": "dO @ V.mT",
        "dS": "P * (dP - (dP * P).sum(-1, keepdim=True))",
        "dQ": "dS @ K / sqrt(D)",
        "dK": "dS.mT @ Q / sqrt(D)",
    },
    "split_heads": {"dx": "dy.transpose(1, 2).reshape(B, N, 3 * D)"},
    "channel_shuffle": {"dx": "dy.reshape(N, C, 3, T).transpose(1, 2).reshape(N, 3 * C, T)"},
}
"""The array form of each gradient, as its textbook prints it."""


@functools.cache
def spec(name: str) -> symderive.Spec:
    return symderive.load(next(p for p in catalogue() if p.stem == name))


@functools.cache
def derivation(name: str) -> symderive.Derivation:
    return symderive.derive(spec(name))


@pytest.mark.parametrize("name", NAMES)
def test_a_spec_says_where_it_is_from_and_what_to_hold_it_against(name):
    read = spec(name)
    assert read.name == name
    assert read.title
    assert read.group in GROUPS
    assert read.source
    assert read.notes
    assert read.reference
    assert read.claims
    assert read.sizes


@pytest.mark.parametrize("name", NAMES)
def test_batch_axes_stand_where_pytorch_has_them(name):
    assert ("..." in spec(name).sizes) == (name in BATCHED)


@pytest.mark.parametrize("name", NAMES)
def test_every_gradient_is_derived(name):
    gradients = derivation(name).gradients
    assert tuple(gradients) == spec(name).wrt
    assert not any(g.zero for g in gradients.values())
    assert all(g.steps for g in gradients.values())


@pytest.mark.parametrize(("name", "tensor"), [(n, t) for n, forms in TEXTBOOK.items() for t in forms])
def test_the_array_form_is_the_textbooks(name, tensor):
    lines = dict(line.split(" = ", 1) for line in derivation(name).array_lines())
    assert lines[tensor] == TEXTBOOK[name][tensor]


DERIVE = "import symderive, sys; [print(symderive.derive(n).markdown()) for n in sys.argv[1:]]"


def test_what_is_printed_does_not_depend_on_the_hashes_of_a_process():
    """Sets are ordered by hashes, which differ from process to process."""
    names = ("skip_gram", "batch_norm", "conv2d_grouped")
    shown = {
        subprocess.run(
            [sys.executable, "-c", DERIVE, *names],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "3")
    }
    assert len(shown) == 1
