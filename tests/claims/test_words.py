"""What a claim is told: the thing that is wrong by its name, and what to write where a name means nothing."""

from __future__ import annotations

import pytest
import yaml

from symderive import spec as specs
from symderive.claims import check_text, judge_text


def spec(*, forward, claims="", **parts):
    head = yaml.safe_dump({"name": "op", "sizes": {"N": 3, "M": 2}, **parts})
    blocks = {"forward": forward, "claims": claims}
    lines = (f"{key}: |\n" + "\n".join(f"  {row}" for row in text.split("\n")) for key, text in blocks.items() if text)
    return specs.loads(head + "\n".join(lines))


ACTIVATION = spec(
    inputs={"x": ["N"]}, forward="y[n] = gelu(x[n])", claims="twice = 2 * dy\nonce = twice / 2\ndx = once"
)
RECTIFIED = spec(inputs={"x": ["N"]}, forward="y[n] = relu(x[n])")
MATRICES = spec(
    inputs={"A": ["N", "N"], "B": ["N", "N"]},
    forward="V[i, j] = inv[i, j](A[i, j])\nY[i, j] = sum[k](V[i, k] * B[k, j])",
)
LENGTHS = spec(
    inputs={"x": ["N", "M"], "n": {"shape": ["N"], "index": "M + 1"}},
    forward="y[b] = sum[t : t < n[b]](x[b, t]**2)",
)
ROUNDS = spec(
    inputs={"W": ["N", "N"], "h0": ["N"]},
    forward="h1[i] = sum[j](W[i, j] * h0[j])\nh2[i] = sum[j](W[i, j] * h1[j])",
)
SLOPE = spec(inputs={"x": ["N"], "b": ["N"], "t": []}, forward="s[n] = t * (x[n] - b[n])\ny[n] = tanh(s[n])")
MASKED = spec(
    inputs={"z": ["N", "M"], "m": {"shape": ["N", "M"], "bool": True}},
    forward="p[i, j] = softmax[j : m[i, j]](z[i, j])",
)


@pytest.mark.parametrize(
    ("op", "claim", "kind", "words"),
    [
        (ACTIVATION, "dx = dy * gelu_prime(x)", "unknown", "that of gelu(x) is (erf("),
        (ACTIVATION, "dx[n] = dy[n] * dgelu(x[n])", "unknown", "There is no function dgelu"),
        (ACTIVATION, "dx = dy * Phi(x)", "unknown", "in a line above, Phi = ..., and write Phi without brackets"),
        (ACTIVATION, "dx = dy * sigmod(x)", "unknown", "did you mean sigmoid?"),
        (ACTIVATION, "dx = y(x)", "unknown", "y is a tensor, not a function"),
        (RECTIFIED, "dx = dy * y", "factor", "y should be its derivative, where(x > 0, 1, 0)"),
        (MATRICES, "dB = (A**-1).T @ dY", "wrong_operand", "where that of a matrix is needed: A.inv()"),
        (MATRICES, "dB = V.T * dY", "wrong_operand", "where a product of matrices is needed: V.T @ dY"),
        (MATRICES, "dB = (1 / A).T @ dY", "wrong_operand", "where the inverse of a matrix is needed: A.inv()"),
        (MATRICES, "dV = dY * B.T", "wrong_operand", "where a product of matrices is needed: dY @ B.T"),
        (LENGTHS, "dx[b, t] = 2 * dy[b] * x[b, t]", "factor", "The condition t < n[b] is missing"),
        (ROUNDS, "dW = outer(dh2, h2) + outer(dh1, h1)", "wrong_operand", "h2 should be h1 and h1 should be h0"),
        (SLOPE, "dt = (ds * s).sum()", "wrong_operand", "s should be x - b"),
        (
            MASKED,
            "dz[i, j] = softmax[j](z[i, j]) * (dp[i, j] - sum[k](softmax[k](z[i, k]) * dp[i, k]))",
            "wrong_operand",
            "Each softmax should be p",
        ),
    ],
)
def test_the_mistake_is_named(op, claim, kind, words):
    (result,) = judge_text(op, claim)
    assert (result.diagnosis.kind, words in result.diagnosis.sentence) == (kind, True), result
    for line in (result.diagnosis.correction or "").split("\n"):
        assert "there is no function" not in line


def test_a_claim_given_as_text_uses_the_helpers_of_the_spec():
    (result,) = judge_text(ACTIVATION, "dx = once * 3")
    assert result.verdict == "wrong"
    (row,) = check_text(ACTIVATION, "dx = twice")
    assert (row.status, row.verdict, row.target) == ("fail", "wrong", "dx")
    own = judge_text(ACTIVATION, "once = x\ndx = once")
    assert [r.text for r in own] == ["dx = once"]
    (unknown,) = judge_text(ACTIVATION, "dx = never")
    assert unknown.verdict == "invalid"


def test_a_right_claim_says_where_nothing_was_decided():
    for claim in ("dx = dy * where(x >= 0, 1, 0)", "dx = where(x > 0, dy, 0)"):
        (result,) = judge_text(RECTIFIED, claim)
        assert result.verdict == "right"
        assert result.detail == "where x is 0 the forward has a kink, and nothing was decided"
    (plain,) = judge_text(SLOPE, "ds = dy * (1 - y**2)")
    assert plain.detail == ""


BUMPS = spec(inputs={"x": ["N"], "c": ["M"]}, forward="y[n, m] = exp(-4 * (x[n] - c[m])**2)")


@pytest.mark.parametrize(
    "claim", ["dc = (4 * (x[:, None] - c) * y * dy).sum(0)", "dx[n] = 8 * sum[m](y[n, m] * dy[n, m])"]
)
def test_a_counterexample_is_of_ordinary_numbers(claim):
    """At the points that are tried first, entries are as small as 1e-60."""
    (result,) = judge_text(BUMPS, claim)
    example = result.diagnosis.counterexample
    assert all(0.01 < abs(example[side]) < 1000 for side in ("claimed", "true"))
    assert abs(example["claimed"] - example["true"]) > 0.01


TWICE = spec(
    inputs={"X": ["N", "M"], "W": ["M", "M"], "t": {"shape": ["N", "M"], "grad": False}},
    forward="e[n, j] = sum[k](X[n, k] * W[k, j]) - t[n, j]\nL = mean[n](sum[j](e[n, j]**2))",
)


@pytest.mark.parametrize(
    ("claim", "kind", "first", "second"),
    [
        ("dW = -2 * e.T @ X / N", "transpose", "e.T @ X should be", "The sign of the whole is wrong"),
        ("dX = 2 * e @ W / N + X", "transpose", "W should be W.T", "There is a term too many: X"),
        ("dW[k, j] = 2 * X[n, k] * t[n, j] / N", "missing_sum", "The sum over n is missing", "t should be e"),
    ],
)
def test_both_of_two_mistakes_are_told(claim, kind, first, second):
    (result,) = judge_text(TWICE, claim)
    said = result.diagnosis.sentence
    assert (result.diagnosis.kind, first in said, second in said) == (kind, True, True), said
