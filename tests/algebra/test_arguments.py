"""What goes into a function is named where it is costly, so that its gradient is computed once."""

from __future__ import annotations

import pytest

from symderive.algebra.derive import derive
from symderive.api import Derivation
from symderive.emit.writeup import Heading, writeup
from symderive.report.derivation import mathematics
from symderive.report.document import Formula, StepLine
from symderive.spec import loads

ATTENTION = """
name: attend
sizes: {T: 5, D: 3}
inputs: {q: [T, D], k: [T, D], v: [T, D]}
forward: |
  y[t, d] = sum[u](softmax[u : u <= t](sum[e](q[t, e] * k[u, e]) / sqrt(D)) * v[u, d])
"""

HIDDEN = """
name: hidden
sizes: {N: 4, K: 3, J: 2}
inputs: {x: [N, K], W: [J, K]}
forward: |
  y[n, j] = relu(sum[k](x[n, k] * W[j, k]))
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            HIDDEN,
            [
                "y_in[n, j] = sum[k](x[n, k] * W[j, k])",
                "dy_in[n, j] = where(y_in[n, j] > 0, dy[n, j], 0)",
                "dx[n, k] = sum[j](dy_in[n, j] * W[j, k])",
                "dW[j, k] = sum[n](dy_in[n, j] * x[n, k])",
            ],
        ),
        (
            ATTENTION,
            [
                "dy_in[t, u] = y_in2[t, u] * (dy_in2[t, u] - sum[i](dy_in2[t, i] * y_in2[t, i]))",
                "dq[t, e] = rsqrt(D) * sum[u](dy_in[t, u] * k[u, e])",
                "dv[u, d] = sum[t](y_in2[t, u] * dy[t, d])",
            ],
        ),
    ],
)
def test_the_gradient_of_an_argument_is_computed_once(text, lines):
    equations = Derivation(derive(loads(text))).equations()
    assert [line for line in lines if line not in equations] == [], equations


def test_a_name_that_is_taken_is_left_alone():
    text = HIDDEN.replace("x: [N, K],", "x: [N, K], y_in: [N],").replace("x[n, k] * W", "y_in[n] * x[n, k] * W")
    assert "y_in2[n, j] = sum[k](y_in[n] * x[n, k] * W[j, k])" in Derivation(derive(loads(text))).equations()


def test_what_is_read_once_is_written_out():
    text = HIDDEN.replace("inputs: {x: [N, K],", "inputs: {x: {shape: [N, K], grad: false},")
    derivation = Derivation(derive(loads(text.replace("y[n, j] = relu(", "L = sum[n, j](").replace("k]))", "k])**2)"))))
    assert derivation.array_form("dW") == "dW = W @ x.T @ x * 2", derivation.array_form("dW")
    assert "L_in" in derivation.saved


def test_what_was_named_is_said_before_it_is_used():
    spec = loads(HIDDEN)
    blocks = list(mathematics(Derivation(derive(spec))))
    where = next(n for n, b in enumerate(blocks) if isinstance(b, Formula) and b.label == "where")
    assert blocks[where].text == "y_in[n, j] = sum[k](x[n, k] * W[j, k])"
    assert where < min(n for n, b in enumerate(blocks) if isinstance(b, StepLine))
    headings = [b.text for b in writeup(derive(spec)) if isinstance(b, Heading)]
    assert headings.index("The helper `y_in`") < headings.index("Gradient with respect to the intermediate `y_in`")
