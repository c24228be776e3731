"""Terms that meet: pairs from both ends, exponentials under one log, masks that padding says, constants put in."""

from __future__ import annotations

import pytest

from symderive.algebra.derive import derive
from symderive.api import Derivation
from symderive.spec import loads

CASES = [
    (
        "a pair is met from both of its ends",
        "sizes: {F: 4, K: 3}\ninputs: {V: [F, K]}\nforward: |\n  y = sum[f, g : f < g](sum[k](V[f, k] * V[g, k]))",
        "dV[f, k] = sum[g : f != g](V[g, k])",
    ),
    (
        "the log of a sum of exponentials",
        "sizes: {N: 3}\ninputs: {a: [N], b: [N]}\nforward: |\n  y[n] = log(exp(a[n]) + exp(b[n]))",
        "da[n] = dy[n] * sigmoid(a[n] - b[n])",
    ),
    (
        "a quotient by a sum of exponentials",
        "sizes: {N: 3}\ninputs: {a: [N], b: [N]}\nforward: |\n  y[n] = exp(a[n]) / (exp(a[n]) + exp(b[n]))",
        "da[n] = dy[n] * y[n] * (1 - y[n])",
    ),
    (
        "one more class of logit 0",
        "sizes: {N: 3, K: 4}\ninputs: {x: [N, K]}\nforward: |\n  y[n] = log(1 + sum[k](exp(x[n, k])))",
        "dx[n, k] = dy[n] * sigmoid(logsumexp[i](x[n, i])) * softmax[k](x[n, k])",
    ),
    (
        "a stopped softmax sums to 1",
        "sizes: {N: 3, K: 4}\ninputs: {s: [N, K], t: [N, K]}\nforward: |\n  p[n, k] = stop(softmax[k](t[n, k]))\n"
        "  L = -sum[n, k](p[n, k] * log_softmax[k](s[n, k]))",
        "ds[n, k] = softmax[k](s[n, k]) - p[n, k]",
    ),
    (
        "padding is 0 where the mask is",
        "sizes: {T: 5, C: 4}\nconstants: {F: 2}\ninputs: {x: [T, C]}\nforward: |\n"
        "  y[t, c] = where(c < F, pad(x[t + 1, c]), x[t, c])",
        "dx[t, c] = where(c >= 2, dy[t, c], pad(dy[t - 1, c]))",
    ),
    (
        "the weight of a loss is put in",
        "sizes: {N: 3}\nconstants: {a: 2}\ninputs: {x: [N], t: {shape: [N], grad: false}}\nforward: |\n"
        "  d[n] = x[n] - t[n]\n  f = mean[n](d[n]**2)\n  g = mean[n](abs(d[n]))\n  L = f + a * g",
        "dx[n] = (2 * d[n] + a * sign(d[n])) / N",
    ),
    (
        "a named constant under a quotient",
        "sizes: {N: 3}\nconstants: {nu: 4}\ninputs: {r: [N]}\nforward: |\n"
        "  L = sum[n]((nu + 1) * log(1 + r[n]**2 / nu))",
        "dr[n] = 2 * (nu + 1) * r[n] / (nu + r[n]**2)",
    ),
    (
        "what a clamped norm is divided by stays under its condition",
        "sizes: {N: 3, D: 2}\nconstants: {eps: 1e-6}\ninputs: {x: [N, D]}\nforward: |\n"
        "  n[i] = max(sqrt(sum[d](x[i, d]**2)), eps)\n  y[i, d] = x[i, d] / n[i]",
        "dx[i, d] = dy[i, d] / n[i] + x[i, d] * where(sqrt(sum[j](x[i, j]**2)) > eps, ",
    ),
]


@pytest.mark.parametrize(("text", "line"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_what_meets(text, line):
    equations = Derivation(derive(loads(f"name: met\n{text}\n"))).equations()
    assert any(e.startswith(line) for e in equations), equations
