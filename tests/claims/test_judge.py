"""Verdicts and diagnoses of single lines."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from symderive import derive
from symderive import spec as specs
from symderive.claims import judge, judge_text

CATALOGUE = Path(__file__).parents[2] / "derivations"

SPECS = {
    "stopped": """
name: stopped
sizes: {N: 3}
inputs:
  s: [N]
  t: [N]
forward: |
  L = sum[i](stop(t[i]) * s[i]**2)
""",
    "scaled": """
name: scaled
inputs:
  s: []
forward: |
  y = s**2
""",
    "softmax": """
name: softmax
sizes: {N: 3, C: 4}
inputs:
  z: [N, C]
forward: |
  y[n, c] = softmax[c](z[n, c])
""",
    "linear_mse": """
name: linear_mse
sizes: {N: 3, K: 2, J: 4}
inputs:
  x: [N, K]
  W: [J, K]
  t: {shape: [N, J], grad: false}
  ids: {shape: [N], index: J}
forward: |
  y[i, j] = sum[k](x[i, k] * W[j, k])
  L = sum[i, j]((y[i, j] - t[i, j])**2) / 2
""",
    "huber": """
name: huber
sizes: {N: 3}
constants: {d: 1}
inputs:
  y: [N]
  t: [N]
forward: |
  e[i] = y[i] - t[i]
  L = sum[i](where(abs(e[i]) <= d, e[i]**2 / 2, d * (abs(e[i]) - d / 2)))
""",
    "ridge": """
name: ridge
sizes: {N: 3, K: 4}
constants: {lam: 0.1}
inputs:
  W: [N, K]
  x: [K]
  y: [N]
forward: |
  L = sum[n]((sum[k](W[n, k] * x[k]) - y[n])**2) / N + lam * sum[n, k](W[n, k]**2)
""",
    "distance": """
name: distance
sizes: {N: 3, D: 2}
inputs:
  a: [N, D]
  b: [N, D]
forward: |
  d[n] = sum[k]((a[n, k] - b[n, k])**2)
""",
    "shared": """
name: shared
sizes: {N: 3}
inputs:
  x: [N]
forward: |
  y[i] = x[i]
  z[i] = sum[j](y[i] * x[j])
output: [y, z]
""",
    "batch": """
name: batch
sizes: {K: 3, J: 2}
inputs:
  x: [..., K]
  W: [J, K]
forward: |
  y[..., j] = sum[k](x[..., k] * W[j, k])
""",
    "relu": """
name: relu
sizes: {N: 4}
inputs:
  x: [N]
forward: |
  y[i] = relu(x[i])
""",
}

ROWS = [
    # the right ones, in unusual forms
    ("softmax", "D(y[n, i], z[n, j]) = y[n, i] * (delta(i, j) - y[n, j])", "right", None),
    ("softmax", "D(y[n, i], z[m, j]) = where(n == m, y[n, i] * (delta(i, j) - y[n, j]), 0)", "right", None),
    ("softmax", "dz[n, j] = sum[i](dy[n, i] * D(y[n, i], z[n, j]))", "right", None),
    ("softmax", "dz[n, c] = (y * (dy - (dy * y).sum(-1, keepdim=True)))[n, c]", "right", None),
    ("softmax", "y[n, c] = exp(z[n, c]) / sum[k](exp(z[n, k]))", "right", None),
    ("softmax", "dz = y * (dy - (dy * y).sum(-1, keepdim=True)) + y.sum(1, keepdim=True) - 1", "right", None),
    ("linear_mse", "D(dW[j, k], W[p, q]) = delta(j, p) * sum[i](x[i, k] * x[i, q])", "right", None),
    ("linear_mse", "D(L, W[j, k]) = dW[j, k]", "right", None),
    ("linear_mse", "dL = 1", "right", None),
    ("linear_mse", "dy_total = dy", "right", None),
    ("linear_mse", "dW = dL * (y - t).T @ x", "right", None),
    ("linear_mse", "dt = t - y", "right", None),
    ("linear_mse", "L = 0.5 * ((y - t)**2).sum()", "right", None),
    ("huber", "dy = clamp(e, -d, d)", "right", None),
    ("huber", "dy[i] = max(-d, min(d, e[i]))", "right", None),
    ("shared", "dx[i] = dy_total[i] + sum[k](dz[k] * y[k])", "right", None),
    ("shared", "dy_total[i] = dy[i] + dz[i] * sum[j](x[j])", "right", None),
    ("batch", "dW = einsum('...j,...k->jk', dy, x)", "right", None),
    ("batch", "dW[j, k] = sum[...](dy[..., j] * x[..., k])", "right", None),
    ("batch", "dx = dy @ W", "right", None),
    ("batch", "dx[..., k] = sum[j](dy[..., j] * D(y[..., j], x[..., k]))", "right", None),
    ("batch", "D(y[..., j], x[..., k]) = W[j, k]", "right", None),
    ("relu", "dx = dy * (1 + sign(x)) / 2", "right", None),
    ("relu", "dx = dy * y / x", "right", None),
    ("stopped", "dt = 0", "right", None),
    ("stopped", "dt[i] = 0", "right", None),
    ("scaled", "ds = 2 * s * dy * where(s < 70, 1, 1)", "right", None),
    # the wrong ones
    ("softmax", "D(y[n, i], z[n, j]) = y[n, i] * (1 - y[n, j])", "wrong", "missing_cross_terms"),
    ("softmax", "dz = y * (dy - (dy * y).sum(-1))", "invalid", "shape"),
    ("softmax", "dz[n, k] = y[n, k] * (dy[n, k] - sum[k](dy[n, k] * y[n, k]))", "invalid", "wrong_index"),
    ("softmax", "dz = dz", "invalid", "unknown"),
    ("softmax", "dy = z", "wrong", "unknown"),
    ("stopped", "ds = 0", "wrong", "unknown"),
    ("softmax", "dz[n] = y[n, c]", "invalid", "shape"),
    ("softmax", "dz = y * (dy - foo)", "invalid", "unknown"),
    ("softmax", "dz = 2 * y * (dy - (dy * y).sum(-1, keepdim=True))", "wrong", "factor"),
    ("linear_mse", "D(dW[j, k], W[p, q]) = sum[i](x[i, k] * x[i, q])", "wrong", "factor"),
    ("linear_mse", "dW = x.T @ dy", "invalid", "transpose"),
    ("linear_mse", "dW = dy.T @ x * 1.00000001", "wrong", "factor"),
    ("linear_mse", "dW[j, k] = dy[i, j] * x[i, k]", "invalid", "missing_sum"),
    ("linear_mse", "dids = y", "invalid", "unknown"),
    ("linear_mse", "N = 3", "invalid", "unknown"),
    ("linear_mse", "dw = dy.T @ x", "invalid", "unknown"),
    ("linear_mse", "dx = dy", "invalid", "other_variable"),
    ("huber", "dy = e", "wrong", "other_variable"),
    ("ridge", "dW = 2 * outer(W @ x - y, x) / N", "wrong", "missing_term"),
    ("ridge", "dW = 2 * outer(W @ x - y, x) / N - 2 * lam * W", "wrong", "sign"),
    ("ridge", "dW = 2 * outer(W @ x - y, x) + 2 * lam * W", "wrong", "mean_vs_sum"),
    ("ridge", "dW[n, k] = 2 * (W[n, j] * x[j] - y[n]) * x[k] / N + 2 * lam * W[n, k]", "invalid", "missing_sum"),
    ("distance", "da = dd[:, None] * (a - b) / sqrt(d)[:, None]", "wrong", "other_variable"),
    ("distance", "da = 2 * dd * (a - b)", "invalid", "shape"),
    ("distance", "da[n, k] = 2 * dd[k] * (a[n, k] - b[n, k])", "invalid", "wrong_index"),
    ("relu", "dx = where(x > 0.5, dy, 0)", "wrong", "wrong_operand"),
    ("relu", "dx = dy", "wrong", "other_variable"),
    ("batch", "dW = dy.T @ x", "invalid", "shape"),
    # under a condition
    ("distance", "da[n, k] = 2 * (a[n, k] - b[n, k])", "conditional", "missing_upstream"),
    ("ridge", "dW = 2 * outer(W @ x - y, x) / N + 2 * 0.1 * W", "conditional", "factor"),
    ("ridge", "dW = 2 * outer(W @ x - y, x) / 3 + 2 * lam * W", "conditional", "factor"),
    ("huber", "dy = clamp(e, -1, 1)", "conditional", "factor"),
]


def one(name, text):
    (result,) = judge_text(specs.loads(SPECS[name]), text)
    return result


@pytest.mark.parametrize(("name", "text", "verdict", "kind"), ROWS, ids=[r[1] for r in ROWS])
def test_single_lines(name, text, verdict, kind):
    result = one(name, text)
    assert (result.verdict, result.diagnosis and result.diagnosis.kind) == (verdict, kind)
    assert result.ok == (verdict == "right")


CONDITIONS = [
    ("distance", "da[n, k] = 2 * (a[n, k] - b[n, k])", "dd = 1"),
    ("ridge", "dW = 2 * outer(W @ x - y, x) / N + 2 * 0.1 * W", "lam = 0.1"),
    ("ridge", "dW = 2 * outer(W @ x - y, x) / 3 + 2 * lam * W", "N = 3"),
    ("distance", "da = 2 * dd[:, None] * (a - b) * a / a", "a without zeros"),
]


@pytest.mark.parametrize(("name", "text", "condition"), CONDITIONS)
def test_conditions_are_named(name, text, condition):
    result = one(name, text)
    assert result.verdict == "conditional"
    assert result.diagnosis.condition == condition


CORRECTIONS = [
    ("linear_mse", "dW = x.T @ dy", "dW = dy.T @ x"),
    ("linear_mse", "dW = -(dy.T @ x)", "dW = dy.T @ x"),
    ("softmax", "dz = y * (dy - (dy * y).sum(-1))", "dz = y * (dy - (dy * y).sum(-1, keepdim=True))"),
    ("distance", "da = 2 * dd * (a - b)", "da = 2 * dd[:, None] * (a - b)"),
    ("linear_mse", "dW[j, k] = dy[i, j] * x[i, k]", "dW[j, k] = sum[i](dy[i, j] * x[i, k])"),
]


@pytest.mark.parametrize(("name", "text", "correction"), CORRECTIONS)
def test_corrections_are_in_the_style_of_the_claim(name, text, correction):
    assert one(name, text).diagnosis.correction == correction


SENTENCES = [
    ("ridge", "dW = 2 * outer(W @ x - y, x) + 2 * lam * W", "It holds only where N = 1."),
    ("linear_mse", "dw = dy.T @ x", "did you mean dW?"),
    ("linear_mse", "dids = y", "class ids"),
    ("softmax", "dz = y * (dy - foo)", "nothing called foo"),
    ("softmax", "dy = z", "upstream that the caller gives"),
    ("distance", "da = dd[:, None] * (a - b) / sqrt(d)[:, None]", "sqrt(d), not of d"),
    ("linear_mse", "dx = dy", "gradient with respect to y, not x"),
]


@pytest.mark.parametrize(("name", "text", "part"), SENTENCES)
def test_sentences_name_the_concrete_thing(name, text, part):
    assert part in one(name, text).diagnosis.sentence


def test_chains_are_judged_side_by_side():
    results = judge_text(
        specs.loads(SPECS["ridge"]), "dy = -2 * (W @ x - y) / N = 2 * (y - W @ x) / N = 2 * (y - W @ x)"
    )
    assert [(r.side, r.verdict) for r in results] == [(1, "right"), (2, "right"), (3, "wrong")]


def test_helpers_in_both_forms_and_errors_that_do_not_cascade():
    text = "\n".join([
        "r = y - t",
        "g[i, k] = sum[j](r[i, j] * W[j, k])",
        "dy = 2 * r",
        "dx = g",
        "dW[j, k] = sum[i](dy[i, j] * x[i, k])",
    ])  # fmt: skip
    results = judge_text(specs.loads(SPECS["linear_mse"]), text)
    assert [(r.target, r.verdict) for r in results] == [("dy", "wrong"), ("dx", "right"), ("dW", "right")]


def test_a_helper_that_cannot_be_defined_is_invalid_and_what_needs_it_is_not_judged():
    results = judge_text(specs.loads(SPECS["linear_mse"]), "r = x @ t\ndx = r @ W\ndW = dy.T @ x")
    assert [r.verdict for r in results] == ["invalid", None, "right"]
    assert "line 1" in results[1].detail


def test_a_claim_that_contains_itself_by_way_of_a_helper():
    results = judge_text(specs.loads(SPECS["softmax"]), "g = 2 * dz\ndz = g / 2")
    assert [r.verdict for r in results] == ["invalid"]


def test_a_bad_line_is_invalid_and_the_others_are_judged():
    spec = specs.loads(SPECS["relu"] + "claims: |\n  dx = where(x > 0, dy, 0\n  dx = where(x > 0, dy, 0)\n")
    results = judge(spec)
    assert [(r.line, r.verdict) for r in results] == [(9, "invalid"), (10, "right")]


def test_the_line_is_that_of_the_file_and_the_text_that_of_the_author():
    spec = specs.loads(SPECS["softmax"] + "claims: |\n  dz = y * (\n    dy - (dy*y).sum(-1, keepdim=True))\n")
    (result,) = judge(spec)
    assert (result.line, result.text) == (9, "dz = y * ( dy - (dy*y).sum(-1, keepdim=True))")


def test_a_border_that_a_scalar_draws():
    assert one("scaled", "ds = 2 * s * dy * where(s < 70, 1, 2)").verdict == "wrong"


def test_a_kink_that_cannot_be_avoided_does_not_bring_others_along():
    spec = specs.loads("""
name: tied
sizes: {N: 3, K: 5, J: 4}
inputs:
  s: []
  x: [N, J, K]
output: [y, z]
forward: |
  y[n] = min[k](s)
  z[n, k] = max[j](x[n, j, k])
indices: {k: K}
""")
    claims = "dx[n, j, k] = delta(j, argmax[i](x[n, i, k])) * dz[n, k]", "ds = sum[n](dy[n])"
    assert [judge_text(spec, c)[0].verdict for c in claims] == ["right", "right"]


def test_a_rare_side_of_a_kink_is_visited():
    text = SPECS["huber"].replace("{d: 1}", "{d: 40}")
    (result,) = judge_text(specs.loads(text), "dy = e")
    assert result.verdict == "wrong"


def test_the_same_seed_gives_the_same_results():
    spec = specs.loads(SPECS["ridge"])
    first, second = (judge_text(spec, "dW = 2 * outer(W @ x - y, x)", seed=3) for _ in range(2))
    assert first == second


def test_what_is_printed_in_index_form_can_be_pasted_back():
    forward = "y[i] = max[r](pad(x[2*i + r - 1], -inf))"
    spec = specs.loads(
        f"name: op\nsizes: {{N: 8}}\ninputs: {{x: [N]}}\nindices: {{i: N // 2, r: 3}}\nforward: |\n  {forward}\n"
    )
    printed = str(derive(spec).gradients["x"].index)
    assert "k - 1" in printed, "a letter of its own, of which only its place tells the range"
    assert judge_text(spec, printed)[0].verdict == "right"
    (result,) = judge_text(spec, "dx[j] = sum[i, k](pad(x[3*i + k - 1]))")
    assert (result.verdict, result.diagnosis.kind) == ("invalid", "shape")


def test_an_index_beside_another_runs_to_the_end_of_the_axis():
    spec = specs.loads("name: op\nsizes: {H: 5}\ninputs: {x: [H]}\nindices: {h: 3*H}\nforward: |\n  y[h] = x[h // 3]\n")
    assert judge_text(spec, "dx[i] = sum[k](dy[3*i + k])")[0].verdict == "right"
    (result,) = judge_text(spec, "dx[i] = sum[k](dy[3*i + 2*k])")
    assert result.verdict == "invalid"


def test_an_index_runs_over_the_whole_axis_of_the_left_side():
    spec = specs.loads(
        "name: op\nsizes: {T: 5}\ninputs: {x: [T]}\nindices: {t: T - 1}\nforward: |\n  y[t] = x[t + 1] - x[t]\n"
    )
    (result,) = judge_text(spec, "dx[t] = pad(dy[t - 1]) - pad(dy[t])")
    assert result.verdict == "invalid"
    assert "the index t takes" in result.diagnosis.sentence.lower()


def test_what_cancels_is_computed_with_more_digits():
    spec = specs.loads(
        "name: op\nsizes: {N: 3}\ninputs: {x: [N], w: [N]}\n"
        "forward: |\n  a[n] = sigmoid(x[n] * w[n])\n  L = sum[n](a[n]**2) / 2\n"
    )
    assert judge_text(spec, "dx = a**2 * (1 - a) * w")[0].verdict == "right"
    assert judge_text(spec, "dx = a**2 * (1 - a**2) * w")[0].verdict == "wrong"


def test_of_several_mistakes_the_kind_is_that_of_the_first():
    spec = specs.loads(SPECS["ridge"])
    (result,) = judge_text(spec, "dW = -2 * outer(W @ x - y, x) / N + lam * W")
    assert (result.verdict, result.diagnosis.kind) == ("wrong", "sign")
    assert "more than one mistake" in result.diagnosis.sentence
    assert judge_text(spec, result.diagnosis.correction)[0].ok


def test_a_weak_condition_gives_way_to_an_explanation():
    spec = specs.loads("name: op\nsizes: {N: 3}\ninputs: {x: [N]}\nforward: |\n  L = sqrt(sum[i](x[i]**2))\n")
    (result,) = judge_text(spec, "dx = x")  # right where x is one-hot, and no one means that
    assert (result.verdict, result.diagnosis.condition) == ("wrong", None)


def test_torch_is_not_imported_and_a_claim_is_quick():
    code = (
        "import sys; from symderive import spec; from symderive.claims import judge_text;"
        f"r = judge_text(spec.loads({SPECS['ridge']!r}), 'dW = 2 * outer(W @ x - y, x) / N');"
        "sys.exit(r[0].verdict != 'wrong' or 'torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    spec = specs.loads(SPECS["softmax"])
    start = time.thread_time()
    judge_text(spec, "dz = y * dy")
    assert time.thread_time() - start < 1.5


@pytest.mark.filterwarnings("error")
def test_what_floats_cannot_compute_is_no_warning():
    """At D = 2 it divides by 0, and what is summed is infinite, of either sign."""
    spec = specs.load(CATALOGUE / "std.yaml")
    (result,) = judge_text(spec, "dx = (x - mu[..., None])*(dy/(D - 2))[..., None]/y[..., None]")
    assert (result.verdict, result.diagnosis.kind) == ("wrong", "factor")


def test_what_is_too_large_is_not_judged():
    text = "name: large\ninputs:\n  x: [300, 300]\nforward: |\n  L = sum[i, j](x[i, j]**2)\n"
    (result,) = judge_text(specs.loads(text), "dx = 2 * x")
    assert result.verdict is None
    assert not result.ok
    assert "too many" in result.detail


def test_a_claim_that_is_0_with_any_number_of_digits_is_wrong_where_the_gradient_is_not():
    spec = specs.loads("name: op\nsizes: {N: 3}\ninputs: {z: [N]}\nforward: |\n  y[i] = softmax[i](z[i])\n")
    (result,) = judge_text(spec, "dz[i] = sum[k](y[k] * (dy[k] - sum[j](dy[j] * y[j])))")
    assert (result.verdict, result.diagnosis.kind) == ("wrong", "extra_sum")
    assert judge_text(spec, "dz[i] = y[i] * (dy[i] - sum[k](dy[k] * y[k])) + sum[k](y[k]) - 1")[0].verdict == "right"


def test_a_condition_holds_where_floats_cancel_far_out():
    spec = specs.loads(
        "name: op\nsizes: {N: 5, K: 3}\ninputs:\n  X: [N, K]\n  w: [K]\n"
        "  y: {shape: [N], assume: binary, grad: false}\nforward: |\n  z[n] = sum[k](X[n, k] * w[k])\n"
        "  L = mean[n](softplus(z[n]) - y[n] * z[n])\n"
    )
    result = judge_text(spec, "p = 1 / (1 + exp(-z))\ndw = X.T @ (p - y)")[-1]
    assert (result.verdict, result.diagnosis.kind) == ("wrong", "mean_vs_sum")
    assert "N = 1" in result.diagnosis.sentence
