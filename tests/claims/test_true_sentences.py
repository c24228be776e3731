"""What is said of a wrong claim is true of it: of operands that it has, steps that it lacks, factors that it needs."""

from __future__ import annotations

import numpy as np
import pytest

from symderive import spec as specs
from symderive.claims import candidates, judge_text
from tests.claims.trials import trial_of

BERHU = specs.loads("""
name: berhu
sizes: {N: 5, P: 3}
constants: {d: 1, c: 0.5}
inputs:
  X: {shape: [N, P], grad: false}
  w: [P]
  y: {shape: [N], grad: false}
forward: |
  r[n] = sum[p](X[n, p] * w[p]) - y[n]
  h[n] = where(abs(r[n]) <= d, r[n]**2 / 2, d * (abs(r[n]) - d / 2))
  b[p] = where(abs(w[p]) <= c, abs(w[p]), (w[p]**2 + c**2) / (2 * c))
  L = sum[n](h[n]) + sum[p](b[p])
""")
SOFT = specs.loads("""
name: soft
sizes: {N: 4, C: 3}
constants: {T: 2}
inputs:
  z: [N, C]
  t: {shape: [N, C], grad: false}
  m: {shape: [N], grad: false}
forward: |
  lp[n, c] = log_softmax[c](z[n, c] / T)
  l[n] = -sum[c](t[n, c] * lp[n, c])
  L = sum[n](m[n] * l[n])
""")
RATIO = specs.loads("""
name: ratio
sizes: {T: 5, A: 3}
inputs:
  r: {shape: [T, A], grad: false}
  w: [A]
forward: |
  p[t] = sum[a](w[a] * r[t, a])
  m = mean[t](p[t])
  s = sqrt(sum[t]((p[t] - m)**2) / (T - 1))
  S = m / s
""")
ELBO = specs.loads("""
name: elbo
sizes: {N: 3, Z: 2, D: 4}
inputs:
  m: [N, Z]
  e: {shape: [N, Z], grad: false}
  W: [D, Z]
forward: |
  z[n, k] = m[n, k] + e[n, k]
  a[n, d] = sum[k](W[d, k] * z[n, k])
  L = sum[n, d](softplus(a[n, d])) + sum[n, k](m[n, k]**2) / 2
""")
SMOOTH = specs.loads("""
name: smooth
sizes: {N: 4, D: 3, F: 2}
constants: {lam: 0.1}
inputs:
  A: {shape: [N, N], assume: [symmetric, nonnegative], grad: false}
  X: [N, D]
  W: [D, F]
forward: |
  deg[i] = 1 + sum[j](A[i, j])
  S[i, j] = (A[i, j] + delta(i, j)) / sqrt(deg[i] * deg[j])
  Z[i, f] = sum[j, d](S[i, j] * X[j, d] * W[d, f])
  H[i, f] = relu(Z[i, f])
  L = sum[i, f](H[i, f]**2) / 2 + lam * sum[i, j](A[i, j] * sum[f]((Z[i, f] - Z[j, f])**2)) / 2
""")
COSINE = specs.loads("""
name: cosine
sizes: {N: 4, D: 3}
inputs:
  p: [N, D]
  z: {shape: [N, D], grad: false}
forward: |
  np_[n] = sqrt(sum[d](p[n, d]**2))
  nz[n] = sqrt(sum[d](z[n, d]**2))
  c[n] = sum[d](p[n, d] * z[n, d]) / (np_[n] * nz[n])
  L = -mean[n](c[n])
""")
NORM = specs.loads("""
name: norm
sizes: {N: 4, C: 3}
constants: {eps: 0.1}
inputs:
  x: [N, C]
  g: [C]
  v: {shape: [C], assume: positive}
forward: |
  h[n, c] = x[n, c] / sqrt(v[c] + eps)
  y[n, c] = sigmoid(g[c] * h[n, c])
""")
GATED = specs.loads("""
name: gated
sizes: {N: 3, H: 4}
inputs:
  a: [N, H]
  b: [N, H]
forward: |
  u[n, h] = silu(a[n, h]) * b[n, h]
""")
HINGED = specs.loads("""
name: hinged
sizes: {N: 4}
inputs:
  x: [N]
  b: []
forward: |
  y[n] = x[n] * where(b > 20, 2, 1)
""")
DECAY = specs.loads("""
name: decay
sizes: {N: 4}
inputs:
  a: [N]
forward: |
  y[n] = exp(-2 * a[n])
""")
WINDOWS = specs.loads("""
name: windows
sizes: {N: 2, L: 9, R: 3}
inputs:
  x: [N, L]
  w: [R]
indices: {p: (L - R) // 2 + 1}
forward: |
  a[n, p] = sum[r](x[n, 2*p + r] * w[r])
  y[n] = mean[p](a[n, p])
""")
PAIRS = specs.loads("""
name: pairs
sizes: {N: 2, L: 4}
inputs:
  x: [N, L]
indices: {p: 2*L - 1, l: L}
forward: |
  y[n, p] = (x[n, p // 2] + x[n, (p + 1) // 2]) / 2
""")


@pytest.mark.parametrize(
    ("op", "claim", "wanted", "unwanted"),
    [
        (BERHU, "dw = X.T @ clamp(r, -d, d) + where(abs(w) <= c, 1, w / c)", "", "b stands where"),
        (BERHU, "dw = X.T @ clamp(r, -d, d) + where(abs(w) <= c, sign(w), w / (2 * c))", "2 is one too many", "by c"),
        (
            SOFT,
            "dz[n, c] = where(m[n] == 1, (sum[k](t[n, k]) * exp(lp[n, c]) - t[n, c]) / T, 0)",
            "m binary",
            "the sum over",
        ),
        (RATIO, "dp = 1 / (T * s)", "Its shape is []", "the same all over"),
        (ELBO, "dm = dz", "A term is missing", "last step"),
        (ELBO, "dm = sigmoid(a) @ W", "A term is missing: + m[n, k]", "last step"),
        (SMOOTH, "dZ = H", "A term is missing", "last step"),
        (
            SMOOTH,
            "dZ = H + 2 * lam * (eye(N) - A) @ Z",
            "2 * lam * eye(N) @ Z should be",
            "H + 2 * lam * eye(N) @ Z should",
        ),
        (
            COSINE,
            "dp[n, d] = -(z[n, d] / (np_[n] * nz[n]) - c[n] * p[n, d] / np_[n]) / N",
            "The division by np_[n] is missing",
            "the gradient has c[n] * p[n, d] / np_[n].",
        ),
        (
            NORM,
            "dv[c] = -g[c] / 2 * sum[n](dy[n, c] * y[n, c] * (1 - y[n, c]) * h[n, c])",
            "The division by",
            "the gradient has 2 *",
        ),
        (GATED, "da = du * b * sigmoid(a) * (1 - sigmoid(a))", "is the derivative of a sigmoid", "one too many"),
        (GATED, "da = du * b * silu(a) * (1 - silu(a))", "should be", "is the derivative of a sigmoid"),
        (HINGED, "dx = N * dy", "", "It holds"),
        (WINDOWS, "da[n, p] = dy[n]", "is missing", "N = L"),
        (PAIRS, "dx[n, l] = sum[p : p // 2 == l](dy[n, p])", "", "should be 2 * l + i - 1"),
    ],
)
def test_nothing_is_said_that_is_not_true(op, claim, wanted, unwanted):
    (result,) = judge_text(op, claim)
    assert result.verdict != "right"
    assert wanted in result.diagnosis.sentence, result.diagnosis.sentence
    assert unwanted not in result.diagnosis.sentence, result.diagnosis.sentence


def test_a_note_names_a_border_that_is_come_to():
    (result,) = judge_text(BERHU, "dr = r / max(1, abs(r) / d)")
    assert (result.verdict, result.detail) == (
        "right",
        "where 1 - abs(r) / d is 0 the forward has a kink, and nothing was decided",
    )


@pytest.mark.parametrize(
    ("op", "claim", "correction"),
    [
        (DECAY, "da = -2 * (1 + 0 * y) * dy * y * N / (N * N)", None),
        (ELBO, "da = 2 * sigmoid(a) / (N * 2) * 1", None),
    ],
)
def test_corrections_are_tidy(op, claim, correction):
    (result,) = judge_text(op, claim)
    text = result.diagnosis.correction
    assert correction is None or text == correction, text
    assert "N / (N" not in text, text
    assert "-a - a" not in text, text


def test_each_entry_of_a_one_hot_vector_is_the_one_where_a_claim_failed():
    """Else a condition may be named under which an entry that is read by its number only happens to be 0."""
    op = specs.loads(
        "name: op\nsizes: {N: 5}\ninputs: {x: [N], a: {shape: [N], grad: false}}\nforward: L = sum[i](a[i] * x[i])\n"
    )
    trial = trial_of(op, "dx = 2 * a")
    (condition,) = (c for c in candidates.candidates(trial) if c.kind == "one_hot" and c.about == "a")
    list(condition.points(trial.court))
    made = [*condition.made_of(trial.court.points.main[0], trial.court)]
    assert {int(np.argmax(p.inputs["a"])) for p in made} == set(range(len(made[0].inputs["a"])))
