"""The sizes at which claims are judged: those that tell lengths apart, that take little time, that have a value."""

from __future__ import annotations

import itertools

import pytest

from symderive import spec as specs
from symderive.claims import judge_text, points
from symderive.claims.points import Points
from symderive.claims.sizing import SizeChooser, SmallSizes

STRIDED = specs.loads("""
name: strided
sizes: {N: 2, C: 2, O: 3, H: 6, W: 6, R: 3, S: 3}
constants: {st: 2, pd: 1}
inputs:
  x: [N, C, H, W]
  w: [O, C, R, S]
indices: {p: (H + 2*pd - R) // st + 1, q: (W + 2*pd - S) // st + 1}
forward: |
  a[n, o, p, q] = sum[c, r, s](w[o, c, r, s] * pad(x[n, c, st*p + r - pd, st*q + s - pd]))
  y[n, o] = mean[p, q](a[n, o, p, q])
""")
WINDOWS = specs.loads("""
name: windows
sizes: {L: 6, R: 3}
inputs:
  x: [L]
  w: [R]
indices: {p: (L - R) // 2 + 1}
forward: |
  a[p] = sum[r](w[r] * x[2*p + r])
  y = mean[p](a[p]**2)
""")
VOLUME = specs.loads("""
name: volume
sizes: {B: 2, C: 2, O: 3, T: 8, H: 6, W: 6, Q: 3, R: 3, S: 3}
inputs:
  x: [B, C, T, H, W]
  w: [O, C, Q, R, S]
indices: {u: T - Q + 1, p: H - R + 1, q: W - S + 1}
forward: |
  a[b, o, u, p, q] = sum[c, i, r, s](w[o, c, i, r, s] * x[b, c, u + i, p + r, q + s])
""")
COVARIANCE = specs.loads("""
name: covariance
sizes: {N: 5, D: 3}
constants: {a: 0.1}
inputs:
  X: [N, D]
forward: |
  m[d] = mean[n](X[n, d])
  S[i, j] = sum[n]((X[n, i] - m[i]) * (X[n, j] - m[j])) / (N - 1) + a * delta(i, j)
  L = logdet[i, j](S[i, j])
""")


@pytest.mark.parametrize(
    ("op", "claim", "verdict"),
    [
        (STRIDED, "da[n, o, p, q] = dy[n, o] / (a.shape[2] * a.shape[3])", "right"),
        (STRIDED, "da[n, o, p, q] = dy[n, o] / 4", "wrong"),
        (STRIDED, "da[n, o, p, q] = dy[n, o] / (2 * a.shape[2])", "wrong"),
        (STRIDED, "da[n, o, p, q] = dy[n, o] / a.shape[2]**2", "wrong"),
        (WINDOWS, "da[p] = 2 * a[p] / ((L - R) // 2 + 1)", "right"),
        (WINDOWS, "da[p] = a[p]", "wrong"),
        (VOLUME, "dw[o, c, i, r, s] = sum[b, u, p, q](da[b, o, u, p, q] * x[b, c, u + i, p + r, q + s])", "right"),
        (VOLUME, "dw[o, c, i, r, s] = sum[b, u, p, q](da[b, o, u, p, q] * x[b, c, u + i, p + r, q + s]) / 2", "wrong"),
        (COVARIANCE, "dX = 2 / (N - 1) * (X - m) @ S.inv()", "right"),
        (COVARIANCE, "dX = 2 / N * (X - m) @ S.inv()", "wrong"),
    ],
)
def test_a_claim_is_judged_at_sizes_that_tell(op, claim, verdict):
    (result,) = judge_text(op, claim)
    assert result.verdict == verdict, result


@pytest.mark.parametrize("chooser", [SizeChooser(WINDOWS), SizeChooser(STRIDED), SmallSizes(STRIDED)])
def test_lengths_that_are_made_of_sizes_vary(chooser):
    plan = chooser.plan()
    assert chooser.made
    for extent in chooser.made:
        assert len({chooser.extents[extent](sizes) for sizes in plan}) > 1
    for pair in itertools.combinations(chooser.made, 2):
        assert any(len({chooser.extents[e](sizes) for e in pair}) > 1 for sizes in plan)


def test_without_a_look_at_them_they_would_be_the_same(monkeypatch):
    monkeypatch.setattr(points, "LARGE", 10**9)
    assert judge_text(STRIDED, "da[n, o, p, q] = dy[n, o] / 4")[0].verdict == "wrong"
    monkeypatch.setattr(SizeChooser, "_telling", lambda self, chosen: [])
    assert judge_text(STRIDED, "da[n, o, p, q] = dy[n, o] / 4")[0].verdict == "right"


def test_sizes_at_which_a_forward_takes_long_are_small():
    drawn = Points(VOLUME)
    assert max(map(drawn.chooser.work, drawn.plan)) < drawn.chooser.work(SizeChooser(VOLUME).plan()[0]) / 2
    assert isinstance(drawn.chooser, SmallSizes)
    assert type(Points(WINDOWS).chooser) is SizeChooser
