"""Array form: what textbooks print, and what the language's own interpreter reads back with the same value."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import S

from symderive.api import derive, load, loads
from symderive.check.arrays import Interpreter
from symderive.check.arrays_exact import ExactArrays
from symderive.check.floats import FLOAT
from symderive.emit.arrays import array_form, not_said
from symderive.lower import plan as p
from symderive.lower.execute import execute
from symderive.spec.parse import parse_statements
from tests.emit.plans import CASES
from tests.emit.test_nodes import EXPRESSIONS, SIZES, J, N, batches, inputs_of, plan_of

TEXTBOOK = {
    "linear": {"dx": "dx = dy @ W", "dW": "dW = dy.T @ x", "db": "db = dy.sum(0)"},
    "linear_batch": {"dx": "dx = dy @ W", "dW": 'dW = einsum("...j,...k->jk", dy, x)'},
    "relu": {"dx": "dx = where(x > 0, dy, 0)"},
    "softmax": {"dz": "dz = y * (dy - (dy * y).sum(-1, keepdim=True))"},
    "cross_entropy": {"dz": "dz = softmax(z, -1) * (dL / N) - dL / N * one_hot(t, C)"},
    "layer_norm": {
        "dgamma": "dgamma = (dy * xhat).sum(...)",
        "dbeta": "dbeta = dy.sum(...)",
        "dx": "dxhat = dy * gamma\ndx = rstd[..., None] * "
        "(dxhat - dxhat.mean(-1, keepdim=True) - xhat * (dxhat * xhat).mean(-1, keepdim=True))",
    },
    "attention": {
        "dV": "dV = P.T @ dO",
        "dQ": "dP = dO @ V.T\ndS = P * (dP - (dP * P).sum(-1, keepdim=True))\ndQ = dS @ K * scale",
    },
    "conv1d": {"dx": None, "dw": None, "db": "db = dy.sum((0, 2))"},
    "embedding": {"dE": "dE = one_hot(t, V).T @ dy"},
}

WITHOUT = (
    *("pad", "place", "unfold", "conv", "scan", "reshape_batch", "diagonal_batch", "diag_embed_batch"),
    *("gather_rows", "index_add_middle", "index_add_two", "index_add_last_two", "index_add_batch"),
)
"""The beginnings of the names of expressions that array form may leave out."""


@pytest.mark.parametrize(("name", "target"), [(n, t) for n, forms in TEXTBOOK.items() for t in forms])
def test_array_form_is_the_textbooks(name, target):
    assert array_form(CASES[name]().op.backward, target) == TEXTBOOK[name][target]


READ_BACK = [n for n, e in EXPRESSIONS.items() if array_form(plan_of(e)) is not None]


def test_most_operations_have_an_array_form():
    left_out = [n for n in EXPRESSIONS if n not in READ_BACK and not any(n.startswith(w) for w in WITHOUT)]
    assert left_out == []


@pytest.mark.parametrize("name", READ_BACK)
def test_array_form_reads_back(name):
    plan = plan_of(EXPRESSIONS[name])
    text = array_form(plan)
    for batch in batches(plan):
        inputs = inputs_of(plan, SIZES | {"...": batch})
        tensors = {n: np.array(a.tolist(), dtype=object).reshape(a.shape) for n, a in inputs.items()}
        interpreter = Interpreter(ExactArrays(FLOAT), tensors, SIZES, {}, len(batch))
        (statement,) = parse_statements(text)
        got = np.array(interpreter.evaluate(statement.right), dtype=float)
        expected = execute(plan, inputs)["out"]
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-11, err_msg=text)


def test_helpers_that_a_gradient_does_not_need_are_left_out():
    x = p.Ref("x", ())
    plan = p.Plan("two", (x,), (p.Assign("a", p.Map("exp", (x,))), p.Assign("b", p.Map("neg", (x,)))), ("a", "b"))
    assert array_form(plan, "b") == "b = -x"
    assert array_form(plan) == "a = exp(x)\nb = -x"


def test_helpers_have_no_name_of_the_forward():
    spec = loads("""
name: named
sizes: {N: 3, J: 4}
inputs:
  a: []
  b: []
  t: [N, J]
output: [mask, y]
forward: |
  mask[n] = t[n, 0] + 1
  h[j] = t[0, j]
  y[n, j] = where(t[n, j] > 0, min(a, b), 0) + h[j] * 0
""")
    derivation = derive(spec)
    lines = (derivation.array_form("da") or "").splitlines()
    made = {line.partition(" = ")[0] for line in lines}
    assert len(lines) > 1
    assert not made & set(spec.shapes)
    assert spec.judge("\n".join(lines)).verdict == "right"


def test_a_mask_counts_as_a_number_without_another_name():
    x, mask = p.Ref("x", (N,)), p.Ref("m", (N,), "boolean")
    cast = p.Assign("h", p.Cast(mask))
    plan = p.Plan(
        "cast", (x, mask), (cast, p.Assign("y", p.Map("mul", (cast.ref, p.Map("add", (cast.ref, x)))))), ("y",)
    )
    assert array_form(plan) == "y = m * (m + x)"


def test_it_is_said_what_has_no_array_form():
    x = p.Ref("x", (N, J))
    plan = p.Plan("two", (x,), (p.Assign("a", p.Scan("amax", x, -1)), p.Assign("b", p.Map("neg", (x,)))), ("a", "b"))
    assert not_said(plan, "a", plan.outputs) == "a running amax"
    assert not_said(plan, "b", plan.outputs) == ""


GATED = """
name: gated
sizes: {N: 3}
inputs: {a: [N], b: [N], x: [N]}
forward: |
  y[n] = a[n] * sigmoid(b[n])
  z[n] = sin(x[n]**2) * exp(x[n]**2)
output: [y, z]
"""


def test_a_helper_is_what_one_gradient_reads_more_than_once():
    forms = {n: g.array for n, g in derive(loads(GATED)).gradients.items()}
    assert forms["a"] == "da = dy * sigmoid(b)"
    assert forms["b"] == "db = a * dy * sigmoid(b) * sigmoid(-b)"
    assert forms["x"] == "h = square(x)\ndx = 2 * (dz * x * exp(h) * (cos(h) + sin(h)))"


def test_an_operand_of_an_einsum_has_a_name():
    forms = {n: g.array for n, g in derive(load("derivations/bilinear.yaml")).gradients.items()}
    assert forms["u"] == 'h = dy[..., None] * v[:, None, :]\ndu = einsum("nab,akb->nk", h, W)'
    assert "\n" not in forms["W"]


def test_the_opposite_of_a_comparison_is_one():
    x = p.Ref("x", (N,))
    for function, text in (("gt", "x <= 0"), ("le", "x > 0"), ("eq", "x != 0")):
        plan = p.Plan("op", (x,), (p.Assign("m", p.Map("not", (p.Map(function, (x, p.Scalar(S.Zero))),))),), ("m",))
        assert array_form(plan) == f"m = {text}"
    both = p.Map("and", (p.Map("gt", (x, p.Scalar(S.Zero))), p.Map("lt", (x, p.Scalar(S.One)))))
    plan = p.Plan("op", (x,), (p.Assign("m", p.Map("not", (both,))),), ("m",))
    assert array_form(plan) == "m = not (x > 0 and x < 1)"
