"""Systems of equations: inverses that are summed with a right side are solved with, in print and in code."""

from __future__ import annotations

import pytest

import symderive
from symderive import api
from symderive.algebra.derive import derive
from symderive.spec import loads
from symderive.spec.format import to_text
from tests.algebra.values import truth_and_derived

HEAD = """
name: op
sizes: {N: 4, K: 2}
inputs:
  A: {shape: [N, N], assume: spd}
  B: [N, K]
  b: [N]
forward: |
"""


def op(*lines):
    return loads(HEAD + "".join(f"  {line}\n" for line in lines), "op")


def index_forms(spec):
    found = derive(spec)
    return {g.tensor: to_text(g.index) for g in found.gradients.values()}


def assert_right(spec):
    true, found = truth_and_derived(derive(spec))
    for name, value in true.items():
        assert found[name] == pytest.approx(value, rel=1e-8, abs=1e-10), name


FORWARDS = {
    "columns": ["X[j, k] = solve[i, j](A[i, j], B[i, k])"],
    "transposed": ["X[j, k] = solve[i, j](A[j, i], B[i, k])"],
    "in a sum": ["L = sum[j](b[j] * solve[i, j](A[i, j], b[i]))"],
    "of an expression": ["x[j] = exp(solve[i, j](A[i, j] + b[i] * b[j], sin(b[i])) / 9)"],
    "nested": ["x[j] = solve[i, j](A[i, j], solve[p, i](A[p, i] + delta(p, i), b[p]))"],
    "written as an inverse": ["L = sum[i, j](b[i] * inv[i, j](A[i, j]) * b[j])"],
    "a trace": ["L = sum[i, j](inv[i, j](A[i, j]) * B[i, 0] * A[j, i])"],
    "factor": ["L[i, j] = cholesky[i, j](A[i, j])"],
    "factor of a symmetric expression": ["L[i, j] = cholesky[i, j](b[i] * b[j] + delta(i, j))"],
    "factor of any expression": ["L[i, j] = cholesky[i, j](A[i, j] + b[i] / 9)"],
    "determinant by a factor": ["L[i, j] = cholesky[i, j](A[i, j])", "y = 2 * sum[i](log(L[i, i]))"],
    "read from its end": ["y = det[i, j](9 * delta(i, j) + A[N - 1 - i, j] * A[i, j])"],
    "read one row further": ["y = logdet[i, j](9 * delta(i, j) + A[i, j] + pad(A[i - 1, j]))"],
    "read from both ends": ["y = sum[i, j](b[i] * inv[i, j](9 * delta(i, j) + A[i, j] * A[N - 1 - i, N - 1 - j]))"],
    "solved from its end": ["x[j] = solve[i, j](9 * delta(i, j) + A[i, j] * A[N - 1 - i, j], b[i])"],
    "read on its diagonal": ["y = det[i, j](delta(i, j) * b[i] + 9 * delta(i, j) + b[i] * b[j])"],
    "solved with a factor": [
        "L[i, j] = cholesky[i, j](A[i, j])",
        "z[j, k] = solve[i, j](L[i, j], B[i, k])",
        "x[j, k] = solve[i, j](L[j, i], z[i, k])",
    ],
}


@pytest.mark.parametrize("name", FORWARDS)
def test_gradients_are_true(name):
    assert_right(op(*FORWARDS[name]))


def test_the_gradients_of_a_solution_are_solutions():
    forms = index_forms(op(*FORWARDS["columns"]))
    assert forms["dB"] == "dB[i, k] = solve[j, i](A[i, j], dX[j, k])"
    assert forms["dA"] == "dA[i, j] = -sum[k](X[j, k] * solve[l, i](A[i, l], dX[l, k]))"
    forms = index_forms(op(*FORWARDS["transposed"]))
    assert forms["dB"] == "dB[i, k] = solve[j, i](A[j, i], dX[j, k])"


def test_the_code_solves_and_inverts_nothing():
    for name in ("columns", "transposed", "nested"):
        text = symderive.derive(op(*FORWARDS[name])).torch
        assert "torch.linalg.solve(" in text, name
        assert "linalg.inv" not in text, name
    assert "linalg.inv" not in symderive.derive(op(*FORWARDS["written as an inverse"])).torch.split("def backward")[0]
    assert "linalg.solve" not in symderive.derive(op(*FORWARDS["a trace"])).torch.split("def backward")[0]


def test_a_factor_is_solved_with_as_a_triangle():
    text = symderive.derive(op(*FORWARDS["solved with a factor"])).torch
    assert text.count("upper=False")
    assert text.count("upper=True")
    assert "torch.linalg.solve(" not in text


def test_only_what_may_be_tilted_is_made_symmetric():
    tilted = symderive.derive(op(*FORWARDS["factor"])).torch
    assert "torch.linalg.cholesky(((A + A.T) / 2)" in tilted
    assert (
        ".T) / 2" not in symderive.derive(op(*FORWARDS["factor of a symmetric expression"])).torch.split("def backw")[0]
    )


def test_the_gradient_of_a_factor_is_symmetric():
    found = truth_and_derived(derive(op(*FORWARDS["factor"])))[1]["dA"]
    assert found == pytest.approx(found.T)


def test_claims_are_judged_exactly():
    spec = api.loads(HEAD + "  X[j, k] = solve[i, j](A[i, j], B[i, k])\n", "op")
    verdicts = {
        "dB = solve(A.T, dX)": "right",
        "dB[i, k] = solve[j, i](A[i, j], dX[j, k])": "right",
        "dA = -solve(A.T, dX) @ X.T": "right",
        "dB = solve(A, dX)": "right",  # of a symmetric A, which it is
        "dA = -X @ solve(A.T, dX).T": "wrong",
    }
    assert {claim: spec.judge(claim).verdict for claim in verdicts} == verdicts
    spec = api.loads(HEAD + "  L[i, j] = cholesky[i, j](A[i, j])\n", "op")
    half = "(L.T @ dL).tril() * (1 - eye(N) / 2)"
    gradient = f"(L.inv().T @ ({half}) @ L.inv())"
    assert spec.judge(f"dA = ({gradient} + {gradient}.T) / 2").verdict == "right"
    assert spec.judge(f"dA = {gradient}").verdict != "right"
