"""Axes read round and round, backwards and by digits: each is the array operation that a person would write."""

from __future__ import annotations

import pytest

from symderive.algebra.derive import derive
from symderive.api import Derivation
from symderive.spec import loads

CASES = {
    "a circular convolution": (
        "sizes: {B: 2, C: 3, O: 4, H: 5, R: 3}\ninputs: {x: [B, C, H], w: [O, C, R]}\nindices: {h: H}\nforward: |\n"
        "  y[b, o, h] = sum[c, r](x[b, c, (h + r - 1) % H] * w[o, c, r])",
        ["F.conv1d(x[..., (torch.arange(H + R - 1", "w.flip(-1)"],
    ),
    "a causal convolution": (
        "sizes: {B: 2, C: 3, O: 4, T: 5, R: 3}\ninputs: {x: [B, C, T], w: [O, C, R]}\nindices: {t: T}\nforward: |\n"
        "  y[b, o, t] = sum[c, r](pad(x[b, c, t - r]) * w[o, c, r])",
        ["y = F.conv1d(F.pad(x, (R - 1, 0)), w.flip(-1))", "dw = convolved.flip(-1)"],
    ),
    "windows that are shifted round": (
        "sizes: {B: 2, H: 3}\nconstants: {M: 2}\ninputs: {x: [B, H*M]}\nindices: {i: H, u: M}\nforward: |\n"
        "  y[b, i, u] = x[b, (i*M + u + 1) % (H*M)]",
        ["y = x.roll(-1, -1).reshape(B, H, 2)", "dx = dy.reshape(B, 2 * H).roll(1, -1)"],
    ),
    "pairs that change places": (
        "sizes: {B: 2, D: 3}\ninputs: {x: [B, 2*D]}\nindices: {e: 2*D}\nforward: |\n"
        "  y[b, e] = x[b, e + 1 - 2 * (e % 2)]",
        ["dx = dy.reshape(B, D, 2).flip(-1).reshape(B, 2 * D)"],
    ),
    "patches side by side": (
        "sizes: {B: 2, C: 3, E: 5, H: 2}\nconstants: {P: 4}\ninputs: {x: [B, C, H*P], w: [E, C, P]}\nindices: {i: H}\n"
        "forward: |\n  y[b, e, i] = sum[c, u](x[b, c, i*P + u] * w[e, c, u])",
        ["y = F.conv1d(x, w, stride=4)"],
    ),
}


@pytest.mark.parametrize(("text", "parts"), CASES.values(), ids=CASES)
def test_what_is_written(text, parts):
    code = Derivation(derive(loads(f"name: around\n{text}\n"))).torch
    assert [part for part in parts if part not in code] == [], code
