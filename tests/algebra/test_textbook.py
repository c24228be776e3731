"""What is derived is what a textbook prints, however the op was written."""

from __future__ import annotations

import re

import pytest

import symderive
from symderive.algebra.derive import derive
from symderive.spec import loads
from symderive.spec.format import to_text

ARRAY = [
    ("linear", {"x": "dx = dy @ W", "W": "dW = dy.T @ x", "b": "db = dy.sum(0)"}),
    ("relu", {"x": "dx = where(x > 0, dy, 0)"}),
    ("softmax", {"z": "dz = y * (dy - (dy * y).sum(-1, keepdim=True))"}),
    ("log_softmax", {"z": "dz = dy - softmax(z, -1) * dy.sum(-1, keepdim=True)"}),
    ("cross_entropy", {"z": "dz = (softmax(z, -1) - one_hot(t, C)) / N"}),
    ("cross_entropy_soft", {"z": "dz = softmax(z, -1) * p.sum(-1, keepdim=True) - p"}),
    ("sigmoid_bce", {"z": "dz = dL * (sigmoid(z) - t)"}),
    ("embedding", {"E": "dE = one_hot(t, V).T @ dy"}),
]


@pytest.mark.parametrize(("name", "forms"), ARRAY, ids=[n for n, _ in ARRAY])
def test_array_form(name, forms):
    derivation = symderive.derive(symderive.load(f"derivations/{name}.yaml"))
    assert {n: g.array for n, g in derivation.gradients.items()} == forms


LOGISTIC = ["s[n] = sigmoid(sum[k](x[n, k] * w[k]))", "L = -sum[n](t[n] * log(s[n]) + (1 - t[n]) * log(1 - s[n]))"]
NORMALISED = [
    "mu[k] = mean[n](x[n, k])",
    "var[k] = mean[n]((x[n, k] - mu[k])**2)",
    "y[n, k] = (x[n, k] - mu[k]) / sqrt(var[k] + 1/1000)",
]
LOW_RANK = "(sum[k](x[n, k] * W[j, k]) + sum[r, k](x[n, k] * A[r, k] * B[j, r]))**2"
WRITTEN = [
    ("logistic", "{x: {shape: [N, K], grad: false}, w: [K], t: {shape: [N], grad: false}}", LOGISTIC,
     ["dw = (sigmoid(x @ w) - t) @ x"]),
    ("batch norm", "{x: [N, K]}", NORMALISED, ["dx = (dy - dy.mean(0) - y * (dy * y).mean(0)) * rsqrt(var + 0.001)"]),
    ("Rayleigh quotient", "{x: [N], A: {shape: [N, N], grad: false}}",
     ["r = sum[i, j](x[i] * A[i, j] * x[j]) / sum[i](x[i]**2)"],
     ["dx = ((A + A.T) @ x - x * (2 * r)) / square(x).sum()"]),
    ("weighted mean", "{x: {shape: [N], grad: false}, w: [N]}", ["y = sum[n](w[n] * x[n]) / sum[n](w[n])"],
     ["dw = (x - y) / w.sum()"]),
    ("least squares", "{x: {shape: [N, K], grad: false}, W: [K, J], t: {shape: [N, J], grad: false}}",
     ["L = sum[n, j]((sum[k](x[n, k] * W[k, j]) - t[n, j])**2)"], ["dW = x.T @ (x @ W - t) * 2"]),
    ("low rank", "{x: {shape: [N, K], grad: false}, W: {shape: [J, K], grad: false}, A: [R, K], B: [J, R]}",
     [f"L = sum[n, j]({LOW_RANK}) / 2"], ["dA = B.T @ (L_in.T @ x)", "dB = L_in.T @ x @ A.T"]),
    ("a form squared", "{W: [K, J], E: {shape: [N, K], grad: false}, X: {shape: [N, K], grad: false}}",
     ["L = -2 * sum[n, k, m, j](E[n, k] * W[k, j] * W[m, j] * X[n, m])"],
     ["dW = -2 * (X.T @ (E @ W) + E.T @ (X @ W))"]),
]  # fmt: skip


@pytest.mark.parametrize(("inputs", "forward", "forms"), [w[1:] for w in WRITTEN], ids=[w[0] for w in WRITTEN])
def test_array_form_of_what_people_write(inputs, forward, forms):
    text = op(inputs, forward).replace("K: 5", "K: 5, J: 2, R: 4")
    found = [g.array.splitlines()[-1] for g in symderive.derive(loads(text)).gradients.values()]
    assert found == forms


def index_forms(text):
    derivation = derive(loads(text, name="op"))
    from symderive.algebra.derive import spec_letters
    from symderive.algebra.unbuild import statement

    letters = spec_letters(derivation.spec, derivation.forward)
    return [to_text(statement(e, letters)) for e in derivation.display.equations]


def op(inputs, forward, more=""):
    return f"name: op\nsizes: {{N: 3, K: 5}}\n{more}inputs: {inputs}\nforward: |\n" + "".join(
        f"  {line}\n" for line in forward
    )


SOFTMAX = ["dx[n, k] = y[n, k] * (dy[n, k] - sum[j](dy[n, j] * y[n, j]))"]


@pytest.mark.parametrize(
    "forward",
    [
        ["y[n, k] = softmax[k](x[n, k])"],
        ["y[n, k] = exp(x[n, k]) / sum[j](exp(x[n, j]))"],
        ["e[n, k] = exp(x[n, k])", "s[n] = sum[j](e[n, j])", "y[n, k] = e[n, k] / s[n]"],
        ["m[n] = max[j](x[n, j])", "e[n, k] = exp(x[n, k] - m[n])", "y[n, k] = e[n, k] / sum[j](e[n, j])"],
        [
            "m[n] = max[j](x[n, j])",
            "e[n, k] = exp(x[n, k] - m[n])",
            "s[n] = sum[j](e[n, j])",
            "y[n, k] = e[n, k] / s[n]",
        ],
        ["y[n, k] = exp(x[n, k] - logsumexp[j](x[n, j]))"],
    ],
    ids=["softmax", "quotient", "in three equations", "shifted", "shifted, in four", "logsumexp"],
)
def test_a_softmax_is_recognised(forward):
    derived = index_forms(op("{x: [N, K]}", forward))
    free, bound = re.search(r"^dx\[n, (\w)\].*sum\[(\w)\]", derived[0]).groups()
    assert [d.translate(str.maketrans(free + bound, "kj")) for d in derived] == SOFTMAX


@pytest.mark.parametrize(
    ("forward", "gradient"),
    [
        ("log(sum[k](exp(x[n, k])))", "dx[n, k] = dy[n] * exp(x[n, k] - y[n])"),
        ("log(1 + exp(sum[k](x[n, k])))", "dx[n, k] = dy[n] * sigmoid(sum[i](x[n, i]))"),
        ("mean[k](abs(x[n, k]))", "dx[n, k] = dy[n] * sign(x[n, k]) / K"),
        ("sum[k](max(x[n, k], 0))", "dx[n, k] = dy[n] * where(x[n, k] > 0, 1, where(x[n, k] == 0, 1 / 2, 0))"),
        ("prod[k](x[n, k])", "dx[n, k] = dy[n] * prod[i : i != k](x[n, i])"),
        ("sum[k](x[n, k] * stop(x[n, k]))", "dx[n, k] = dy[n] * stop(x[n, k])"),
        (
            "sum[k](x[n, (k + 1) % K] * x[n, k]**2)",
            "dx[n, k] = dy[n] * (x[n, (k - 1) % K]**2 + 2 * x[n, k] * x[n, (k + 1) % K])",
        ),
    ],
)
def test_one_reduction(forward, gradient):
    assert index_forms(op("{x: [N, K]}", [f"y[n] = {forward}"])) == [gradient]


def test_a_simplex_sums_to_one():
    text = op(
        "{z: [N, K], p: {shape: [N, K], assume: simplex, grad: false}}",
        ["L = -sum[n, k](p[n, k] * log_softmax[k](z[n, k]))"],
    )
    assert index_forms(text) == ["dz[n, k] = softmax[k](z[n, k]) - p[n, k]"]


def test_the_statistics_of_a_norm_collapse_into_three_terms():
    forms = index_forms(
        op(
            "{x: [N, K]}",
            [
                "m[n] = mean[k](x[n, k])",
                "r[n] = rsqrt(mean[k]((x[n, k] - m[n])**2) + eps)",
                "y[n, k] = (x[n, k] - m[n]) * r[n]",
            ],
            "constants: {eps: 1e-5}\n",
        )
    )
    assert forms == ["dx[n, k] = r[n] * (dy[n, k] - mean[i](dy[n, i]) - y[n, k] * mean[i](dy[n, i] * y[n, i]))"]


def test_a_gradient_that_is_zero_says_so():
    derivation = derive(loads(op("{x: [N, K], z: [K]}", ["L = sum[n, k](x[n, k])"]), name="op"))
    assert derivation.gradients["z"].zero
    assert not derivation.gradients["x"].zero
    assert [s.rule for s in derivation.gradients["z"].steps] == ["zero"]
    assert "no output depends on z" in derivation.gradients["z"].steps[0].text


def test_steps_lead_from_the_chain_rule_to_the_result():
    derivation = derive(loads(op("{x: [N, K]}", ["y[n, k] = softmax[k](x[n, k])"]), name="op"))
    gradient = derivation.gradients["x"]
    rules = [s.rule for s in gradient.steps]
    assert rules == ["chain_rule", "local_partial", "delta", "recognise", "sum", "factor"]
    for before, after in zip(gradient.steps, gradient.steps[1:], strict=False):
        assert after.before == before.after
    assert gradient.steps[-1].after == gradient.index


def test_what_is_saved_is_what_is_read():
    derivation = derive(loads(LINEAR, name="linear"))
    assert derivation.saved == ("x", "W")
    assert derivation.gradients["W"].saves == ("x",)
    assert derivation.gradients["b"].saves == ()


LINEAR = """
name: linear
sizes: {N: 2, K: 3, J: 4}
inputs: {x: [N, K], W: [J, K], b: [J]}
forward: |
  y[i, j] = sum[k](x[i, k] * W[j, k]) + b[j]
"""


def test_a_division_by_what_can_underflow_is_never_made():
    derivation = derive(loads(op("{x: [N, K]}", ["y[n, k] = softmax[k](x[n, k])"]), name="op"))
    from symderive.emit.gradient_spec import gradient_spec

    second = derive(loads(gradient_spec(derivation), name="op_grad"))
    assert not any("/ y[" in to_text(s) for s in (second.gradients["x"].index, second.gradients["grad_y"].index))
