"""Claims about single entries, ``dx[N - 1]`` and ``D(L, x[3])``, and what is said of them."""

from __future__ import annotations

import pytest

from symderive import spec as specs
from symderive.claims import judge_text
from symderive.claims.entries import named_entries
from symderive.spec.claims import parse_lines

RING = specs.loads("""
name: ring
sizes: {N: 5}
inputs:
  x: [N]
  a: {shape: [N], grad: false}
forward: |
  y[i] = a[i] * x[(i + 1) % N]
  L = sum[i](y[i]) + 1/2 * sum[i](x[i]**2)
""")
WIDE = specs.loads("""
name: wide
sizes: {N: 5, M: 4}
inputs:
  x: [N]
  a: [N]
  z: [N, M]
forward: |
  y[i] = a[i] * x[(i + 1) % N]
  L = sum[i](y[i]) + sum[i, j](z[i, j]**2)
""")
BATCHES = specs.loads("""
name: batches
sizes: {N: 4}
inputs:
  x: [..., N]
forward: |
  y[..., i] = x[..., i]**2
""")
LOSS = specs.loads("""
name: loss
sizes: {N: 3, C: 4}
inputs:
  z: [N, C]
  t: {shape: [N], index: C}
forward: |
  p[n, c] = softmax[c](z[n, c])
  L = -sum[n](log(p[n, t[n]]))
""")


@pytest.mark.parametrize(
    ("op", "claim", "verdict", "condition"),
    [
        (RING, "D(L, x[2]) = a[1] + x[2]", "right", None),
        (RING, "dx[4] = a[3] + x[4]", "right", None),
        (RING, "dx[N - 1] = a[N - 2] + x[N - 1]", "right", None),
        (RING, "D(y[i], x[(i + 1) % N]) = a[i]", "right", None),
        (RING, "D(L, x[0]) = a[4] + x[0]", "conditional", "N = 5"),
        (RING, "D(L, x[4]) = a[2] + x[4]", "wrong", None),
        (BATCHES, "dx[..., 3] = 2 * x[..., 3] * dy[..., 3]", "right", None),
        (BATCHES, "dx[..., 3] = x[..., 3] * dy[..., 3]", "wrong", None),
        (WIDE, "dx[0] = a[4]", "conditional", "N = 5"),
        (WIDE, "dz[4, 3] = 2 * z[4, 3]", "right", None),
        (LOSS, "D(p[0, 1], z[0, 3]) = -p[0, 1] * p[0, 3]", "right", None),
        (LOSS, "D(p[0, 1], z[0, 3]) = -p[0, 1] * p[0, 2]", "wrong", None),
        (LOSS, "D(L, z[n, C - 1]) = p[n, C - 1] - delta(C - 1, t[n])", "right", None),
        (LOSS, "dz[0, 3] = (p - one_hot(t, C))[0, 3]", "right", None),
        (LOSS, "dz[n, 7] = 1", "invalid", None),
        (LOSS, "dz[n, 3] = p[n, 9]", "invalid", None),
    ],
)
def test_an_entry_is_judged_at_sizes_at_which_there_is_one(op, claim, verdict, condition):
    (result,) = judge_text(op, claim)
    assert (result.verdict, result.diagnosis and result.diagnosis.condition) == (verdict, condition), result


def test_only_entries_that_are_there_at_the_sizes_of_the_spec_count():
    assert len(named_entries(LOSS, parse_lines("dz[n, 3] = p[n, 9] + p[n, t[n]] + p[n, 0]")[0])) == 2


def test_the_number_of_an_entry_may_be_another():
    (result,) = judge_text(LOSS, "dz[n, 3] = p[n, 2] - delta(3, t[n])")
    assert result.diagnosis.sentence == "The index 2 in p[n, 2] should be 3."


def test_the_derivative_of_a_loss_is_the_gradient():
    whole, entry = (judge_text(LOSS, claim)[0] for claim in ("D(L, z) = p", "D(L, z[n, c]) = p[n, c]"))
    assert whole.diagnosis.kind == entry.diagnosis.kind == "missing_term"
    assert (whole.target, entry.target) == ("D(L, z)", "D(L, z[n, c])")
    assert judge_text(RING, "D(y[i], x[j]) = a[i] * delta(j, (i + 1) % N)")[0].ok


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("dz[n, 7] = 1", "dz is read at [0, 7], outside its shape"),
        ("dx[i] = a[i - 1] + x[i]", "a is read at [-1]"),
    ],
)
def test_a_name_is_what_it_is_called(claim, words):
    (result,) = judge_text(LOSS if "dz" in claim else RING, claim)
    assert result.diagnosis.sentence.startswith(words)
