from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest

from symderive.check.exact import EXACT
from symderive.check.floats import FLOAT
from symderive.check.oracle import Evaluator
from symderive.errors import SpecError
from symderive.spec.functions import FUNCTIONS
from tests.oracle.helpers import program

RNG = np.random.default_rng(0)
NAN, INF = float("nan"), float("inf")


def run(text, inputs, ranges=None, domain=FLOAT, sizes=None, **more):
    inputs = {k: np.asarray(v) for k, v in inputs.items()}
    equations = program(text, {k: v.shape for k, v in inputs.items()}, ranges)
    evaluator = Evaluator(equations, inputs, sizes or {}, domain, **more)
    return evaluator.tensor(equations[-1].tensor)


X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])

REDUCTIONS = [
    ("y[i] = sum[k](x[i, k])", X.sum(1)),
    ("y[i] = mean[k](x[i, k])", X.mean(1)),
    ("y[i] = prod[k](x[i, k])", X.prod(1)),
    ("y[i] = max[k](x[i, k])", X.max(1)),
    ("y[i] = min[k](x[i, k])", X.min(1)),
    ("y[i] = logsumexp[k](x[i, k])", np.log(np.exp(X).sum(1))),
    ("y[i] = argmax[k](x[i, k])", X.argmax(1)),
    ("y[i] = argmin[k](x[i, k])", X.argmin(1)),
    ("y[i] = any[k](x[i, k] > 3)", [0, 1]),
    ("y[i] = all[k](x[i, k] > -2)", [0, 1]),
    ("y = sum[i, k : k <= i](x[i, k])", X[0, 0] + X[1, 0] + X[1, 1]),
    ("y[i] = mean[k : k <= i](x[i, k])", [X[0, 0], X[1, :2].mean()]),
    ("y[i, k] = softmax[k](x[i, k])", np.exp(X) / np.exp(X).sum(1, keepdims=True)),
    ("y[i, k] = log_softmax[k](x[i, k])", X - np.log(np.exp(X).sum(1, keepdims=True))),
    ("y[i] = sum[k](softmax[k](x[i, k]) * k)", (np.exp(X) / np.exp(X).sum(1, keepdims=True)) @ np.arange(3)),
    ("y[i] = x[i, argmax[k](x[i, k])]", X.max(1)),
]


@pytest.mark.parametrize(("text", "expected"), REDUCTIONS)
def test_binders(text, expected):
    np.testing.assert_allclose(run(text, {"x": X}), expected, rtol=1e-15)


EMPTY = [
    ("sum", 0), ("prod", 1), ("max", -INF), ("min", INF), ("mean", NAN), ("logsumexp", -INF), ("any", 0), ("all", 1),
]  # fmt: skip


@pytest.mark.parametrize("domain", [FLOAT, EXACT], ids=["float", "exact"])
@pytest.mark.parametrize(("op", "expected"), EMPTY)
def test_empty_reductions(op, expected, domain):
    value = run(f"y = {op}[k : k > 7](x[k])", {"x": X[0]}, domain=domain)
    np.testing.assert_equal(float(value), float(expected))


def test_conditional_softmax_has_zeros_outside_and_in_rows_where_nothing_qualifies():
    y = run("y[i, k] = softmax[k : k < i](x[i, k])", {"x": X})
    np.testing.assert_array_equal(y, [[0, 0, 0], [1, 0, 0]])
    y = run("y[i, k] = log_softmax[k : k < i](x[i, k])", {"x": X})
    np.testing.assert_array_equal(y, [[-INF, -INF, -INF], [0, -INF, -INF]])


@pytest.mark.parametrize("domain", [FLOAT, EXACT], ids=["float", "exact"])
def test_softmax_of_a_row_of_minus_infinity_is_nan(domain):
    y = run("y[i, k] = softmax[k](where(k < i, x[i, k], -inf))", {"x": X}, domain=domain)
    np.testing.assert_array_equal(y.astype(float), [[NAN, NAN, NAN], [1, 0, 0]])


def test_ties_go_to_the_first():
    assert run("y = argmax[k](x[k])", {"x": [1.0, 2.0, 2.0]}) == 1
    assert run("y = argmin[k](x[k])", {"x": [2.0, 1.0, 1.0]}) == 1


def test_nan_spreads_through_maxima_as_in_torch():
    assert math.isnan(run("y = max[k](x[k])", {"x": [1.0, NAN, 2.0]}))
    assert math.isnan(run("y = max(x[0], x[1])", {"x": [1.0, NAN]}))
    assert run("y = argmax[k](x[k])", {"x": [1.0, NAN, 2.0]}) == 1


@pytest.mark.parametrize("domain", [FLOAT, EXACT], ids=["float", "exact"])
def test_branch_not_taken_is_not_evaluated(domain):
    text = "y[i] = where(i < 2, x[i], E[t[i], 0])"
    inputs = {"x": [1.0, 2.0, 3.0], "E": [[5.0]], "t": [9, 9, 0]}
    np.testing.assert_array_equal(run(text, inputs, domain=domain).astype(float), [1, 2, 5])
    with pytest.raises(SpecError, match="E is read at"):
        run("y[i] = E[t[i], 0] + x[i]", inputs, domain=domain)


def test_pad_and_index_arithmetic():
    x = np.arange(1.0, 5.0)
    np.testing.assert_array_equal(run("y[i] = pad(x[i - 1]) + 0 * x[i]", {"x": x}), [0, 1, 2, 3])
    np.testing.assert_array_equal(run("y[i] = max(pad(x[i - 1], -inf), x[i])", {"x": x}), x)
    np.testing.assert_array_equal(run("y[i] = x[(i + 1) % 4] + 0 * x[i]", {"x": x}), np.roll(x, -1))
    np.testing.assert_array_equal(run("y[i] = x[(i - 3) // 2 + 2] + 0 * x[i]", {"x": x}), x[[0, 1, 1, 2]])
    np.testing.assert_array_equal(run("y[i] = x[N - 1 - i] + 0 * x[i]", {"x": x}, sizes={"N": 4}), x[::-1])
    np.testing.assert_array_equal(run("y[i] = delta(i, 2) * x[i]", {"x": x}), [0, 0, 3, 0])


def test_integer_and_boolean_tensors():
    E, t = RNG.standard_normal((4, 3)), np.array([3, 0, 3])
    np.testing.assert_array_equal(run("y[n, k] = E[t[n], k]", {"E": E, "t": t}), E[t])
    m = np.array([True, False, True])
    np.testing.assert_array_equal(run("y[n] = where(m[n], 2, 5) + m[n]", {"m": m}), [3, 5, 3])
    np.testing.assert_array_equal(run("y[n] = not m[n] and 1 < 2", {"m": m}), [0, 1, 0])


def test_matrix_functions_with_batch_indices():
    A = RNG.standard_normal((2, 3, 3))
    inputs = {"A": A}
    np.testing.assert_allclose(run("y[n, i, j] = inv[i, j](A[n, i, j])", inputs), np.linalg.inv(A), rtol=1e-10)
    np.testing.assert_allclose(run("y[n] = det[i, j](A[n, i, j])", inputs), np.linalg.det(A), rtol=1e-10)
    S = A @ A.transpose(0, 2, 1)
    expected = np.linalg.slogdet(S)[1]
    np.testing.assert_allclose(run("y[n] = logdet[i, j](A[n, i, j])", {"A": S}), expected, rtol=1e-10)
    assert math.isnan(run("y = logdet[i, j](A[i, j])", {"A": [[0.0, 1.0], [1.0, 0.0]]}))


def test_systems_and_factors_with_batch_indices():
    A, B = RNG.standard_normal((2, 3, 3)), RNG.standard_normal((2, 3, 4))
    S = A @ A.transpose(0, 2, 1) + np.eye(3)
    inputs = {"A": A, "B": B, "S": S}
    X = run("y[n, j, k] = solve[i, j](A[n, i, j], B[n, i, k])", inputs)
    np.testing.assert_allclose(X, np.linalg.solve(A, B), rtol=1e-9)
    X = run("y[n, j, k] = solve[i, j](A[n, j, i], B[n, i, k])", inputs)
    np.testing.assert_allclose(X, np.linalg.solve(A.transpose(0, 2, 1), B), rtol=1e-9)
    L = run("y[n, i, j] = cholesky[i, j](S[n, i, j])", inputs)
    np.testing.assert_allclose(L, np.linalg.cholesky(S), rtol=1e-9, atol=1e-12)
    tilted = S + np.array([[0, 1, 0], [-1, 0, 2], [0, -2, 0]])
    L = run("y[n, i, j] = cholesky[i, j](S[n, i, j])", {"S": tilted})
    np.testing.assert_allclose(L, np.linalg.cholesky(S), rtol=1e-9, atol=1e-12)  # of the symmetric part
    singular = [[1.0, 2.0], [2.0, 4.0]]
    assert np.isnan(run("y[j] = solve[i, j](A[i, j], b[i])", {"A": singular, "b": [1.0, 2.0]})).all()
    assert np.isnan(run("y[i, j] = cholesky[i, j](A[i, j])", {"A": [[1.0, 2.0], [2.0, 1.0]]})[1, 1])


def test_exact_systems_and_factors():
    A = np.array([[Fraction(1, 3), Fraction(2)], [Fraction(5, 7), Fraction(1, 2)]], dtype=object)
    b = np.array([Fraction(1), Fraction(2, 5)], dtype=object)
    x = run("y[j] = solve[i, j](A[i, j], b[i])", {"A": A, "b": b}, domain=EXACT)
    assert (A @ x).tolist() == b.tolist()
    L = np.array([[Fraction(2, 3), 0], [Fraction(-1, 5), Fraction(7)]], dtype=object)
    assert run("y[i, j] = cholesky[i, j](A[i, j])", {"A": L @ L.T}, domain=EXACT).tolist() == L.tolist()


def test_exact_matrix_functions_stay_rational():
    A = np.array([[Fraction(1, 3), Fraction(2)], [Fraction(5, 7), Fraction(1, 2)]], dtype=object)
    y = run("y[i, k] = sum[j](A[i, j] * inv[j, k](A[j, k]))", {"A": A}, {"k": 2}, domain=EXACT)
    assert y.tolist() == [[1, 0], [0, 1]]
    assert run("y = det[i, j](A[i, j])", {"A": A}, domain=EXACT)[()] == Fraction(1, 6) - Fraction(10, 7)


@pytest.mark.parametrize("batch", [(), (4,), (2, 3)])
def test_batch_axes(batch):
    x, W = RNG.standard_normal((*batch, 3)), RNG.standard_normal((2, 3))
    equations = program(
        "y[..., j] = sum[k](x[..., k] * W[j, k])\ns[j] = sum[...](y[..., j])",
        {"x": (math.prod(batch), 3), "W": (2, 3)},
    )
    evaluator = Evaluator(equations, {"x": x, "W": W}, {"...": batch})
    y = x @ W.T
    np.testing.assert_allclose(evaluator.tensor("y"), y, rtol=1e-13)
    np.testing.assert_allclose(evaluator.tensor("s"), y.reshape(-1, 2).sum(0), rtol=1e-13)


def test_float_arithmetic_never_raises():
    x = np.array([0.0, -1.0, 1000.0])
    np.testing.assert_array_equal(run("y[i] = 1 / x[i]", {"x": x}), [INF, -1, 1e-3])
    np.testing.assert_array_equal(run("y[i] = exp(x[i]) * 1", {"x": x}), [1, math.exp(-1), INF])
    np.testing.assert_array_equal(run("y[i] = log(x[i])", {"x": x}), [-INF, NAN, math.log(1000)])
    np.testing.assert_array_equal(run("y[i] = x[i] ** 0.5", {"x": [4.0, -1.0, 0.0]}), [2, NAN, 0])
    np.testing.assert_array_equal(run("y[i] = x[i] ** -1", {"x": [4.0, -0.0, 0.0]}), [0.25, -INF, INF])
    np.testing.assert_array_equal(run("y[i] = 0 * x[i] / x[i]", {"x": x}), [NAN, 0, 0])
    np.testing.assert_array_equal(run("y[i] = x[i] ** 1000", {"x": x}), [0, 1, INF])
    np.testing.assert_array_equal(run("y[i] = sqrt(x[i])", {"x": [INF, -1.0, 9.0]}), [INF, NAN, 3])


def test_exact_numbers():
    x = np.array([Fraction(4, 9), Fraction(-2, 3)], dtype=object)
    assert run("y = sqrt(x[0]) + x[1] ** 3", {"x": x}, domain=EXACT)[()] == Fraction(2, 3) - Fraction(8, 27)
    assert run("y = x[0] ** 1.5", {"x": x}, domain=EXACT)[()] == Fraction(8, 27)
    assert run("y = exp(x[0]) * 0 + 1e-5", {"x": x}, domain=EXACT)[()] == Fraction(1, 100000)
    y = run("y = exp(x[0]) / exp(x[1])", {"x": x}, domain=EXACT)[()]
    assert abs(y - EXACT.context.exp(EXACT.context.mpf(10) / 9)) < EXACT.context.mpf(10) ** -55
    assert EXACT.is_nan(run("y = 0 / (x[0] - x[0])", {"x": x}, domain=EXACT)[()])
    assert EXACT.is_nan(run("y = log(x[1])", {"x": x}, domain=EXACT)[()])
    assert run("y = round(x[0] * 9 / 8) + round(1.5)", {"x": x}, domain=EXACT)[()] == 2


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_float_code_agrees_with_the_exact_definition(name):
    domain = {"log": 3, "sqrt": 3, "rsqrt": 3, "asin": -0.5, "acos": -0.5}.get(name, 0)
    for v in (-2.5, -1.5, -0.25, 0.0, 0.3, 0.5, 2.5):
        x = v / 4 if name in ("asin", "acos", "log1p") else v + domain
        expected = run(f"y = {name}(x)", {"x": np.array(Fraction(x), dtype=object)}, domain=EXACT)[()]
        np.testing.assert_allclose(float(run(f"y = {name}(x)", {"x": x})), float(expected), rtol=4e-15, atol=1e-300)


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [("softplus", 1000.0, 1000.0), ("sigmoid", -1000.0, 0.0), ("logsigmoid", -1000.0, -1000.0), ("gelu", -1e3, -0.0),
     ("round", 2.5, 2.0), ("round", -0.5, 0.0), ("relu", NAN, NAN), ("mish", 1e3, 1e3), ("floor", -0.5, -1.0),
     ("exp", NAN, NAN), ("sin", INF, NAN), ("tanh", -INF, -1.0), ("softplus", NAN, NAN), ("sigmoid", NAN, NAN)],
)  # fmt: skip
def test_float_functions_at_extremes(name, x, expected):
    np.testing.assert_equal(float(run(f"y = {name}(x)", {"x": x})), expected)


def test_optional_arguments():
    assert run("y = leaky_relu(x)", {"x": -2.0}) == -0.02
    assert run("y = leaky_relu(x, 0.5)", {"x": -2.0}) == -1
    exact = run("y = leaky_relu(x)", {"x": np.array(Fraction(-2), dtype=object)}, domain=EXACT)
    assert exact[()] == Fraction(-1, 50)


def test_chained_comparison_and_python_modulo():
    np.testing.assert_array_equal(run("y[i] = 0 <= x[i] - 1 < 2", {"x": [0.0, 1.0, 3.0]}), [0, 1, 0])
    np.testing.assert_array_equal(run("y[i] = (0 - i) % 3 + x[i]", {"x": [0.0, 0.0]}), [0, 2])


def test_single_entries_of_large_tensors_are_lazy_and_fast():
    x, W = RNG.standard_normal((1000, 600)), RNG.standard_normal((1000, 600))
    equations = program("y[i, j] = sum[k](x[i, k] * W[j, k])\nz[i, j] = y[i, j] + 1", {"x": x.shape, "W": W.shape})
    evaluator = Evaluator(equations, {"x": x, "W": W}, {})
    evaluator.entry("y", (0, 0))
    start = time.perf_counter()
    for n in range(300):
        np.testing.assert_allclose(evaluator.entry("z", (n, n)), x[n] @ W[n] + 1, rtol=1e-11)
    assert time.perf_counter() - start < 2


def test_normalisers_do_not_repeat_their_sums():
    x = RNG.standard_normal(2000)
    start = time.perf_counter()
    np.testing.assert_allclose(run("y = sum[k](softmax[k](x[k]))", {"x": x}), 1)
    np.testing.assert_allclose(run("y = sum[k](exp(x[k]) / sum[j](exp(x[j])))", {"x": x}, {"j": 2000}), 1)
    assert time.perf_counter() - start < 2


def test_long_chains_of_equations():
    text = "\n".join(["y0 = x"] + [f"y{n} = y{n - 1} + 1" for n in range(1, 800)])
    assert run(text, {"x": 0.0}) == 799


@pytest.mark.parametrize("domain", [FLOAT, EXACT], ids=lambda d: d.name)
@pytest.mark.parametrize("name", ["relu", "leaky_relu", "abs", "sign", "elu", "softplus"])
def test_a_function_of_nan_is_nan(name, domain):
    (value,) = run(f"y[i] = {name}(x[i] / x[i])", {"x": [0]}, domain=domain)
    assert domain.is_nan(value)
