"""What is said of the sizes at which a wrong claim is right, and that it is true."""

from __future__ import annotations

import pytest

from symderive import spec as specs
from symderive.claims import candidates, judge_text

RING = specs.loads("""
name: ring
sizes: {N: 5}
inputs:
  x: [N]
  a: {shape: [N], grad: false}
forward: |
  y[i] = a[i] * x[(i + 1) % N]
  E = sum[i]((x[(i + 1) % N] - x[i])**2) / 2
output: [y, E]
""")


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("dx[i] = dy[i]*a[i] + dE*(2*x[i] - x[(i + 1) % N] - x[(i - 1) % N])", "It holds only where N = 1."),
        (
            "dx[i] = dy[(i+1)%N]*a[(i+1)%N] + dE*(2*x[i] - x[(i + 1) % N] - x[(i - 1) % N])",
            "It holds where N = 1 or 2, but not in general.",
        ),
    ],
)
def test_the_sizes_are_all_that_were_found(claim, said):
    (result,) = judge_text(RING, claim)
    assert result.verdict == "wrong"
    assert result.diagnosis.sentence.endswith(said), result


@pytest.mark.parametrize(
    ("claim", "condition"),
    [
        ("D(dx[i], x[(i + 1) % N]) = -dE", "N >= 3"),
        ("dx[i] = dy[(i+4)%N]*a[(i+4)%N] + dE*(2*x[i] - x[(i + 1) % N] - x[(i - 1) % N])", "N = 5"),
    ],
)
def test_a_size_from_which_on_a_claim_is_right_is_named(claim, condition):
    (result,) = judge_text(RING, claim)
    assert (result.verdict, result.diagnosis.condition) == ("conditional", condition)


def test_without_a_look_at_larger_sizes_too_few_would_be_named(monkeypatch):
    monkeypatch.setattr(candidates, "widened", lambda trial, condition, failed: condition)
    (result,) = judge_text(RING, "D(dx[i], x[(i + 1) % N]) = -dE")
    assert result.diagnosis.condition == "N = 5"
