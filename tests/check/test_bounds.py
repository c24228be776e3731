"""The running error analysis: it covers what torch computes, and rejects what is off by a thousandth."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from symderive.check.bounds import analyse
from symderive.check.rounding import ARITHMETIC, COMPILED, ROUNDING
from symderive.check.uncertain import FUNCTIONS, Arithmetic, Uncertain
from symderive.spec import functions as language

from . import plans

DTYPES = {name: getattr(torch, name) for name in ROUNDING}
EXTENTS = {"N": 1024, "D": 40, "J": 5}


def draw(plan, dtype, extents, scale=1.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    tensors = []
    for ref in plan.inputs:
        shape = [int(e.xreplace({plans.size(k): plans.Integer(v) for k, v in extents.items()})) for e in ref.shape]
        if ref.kind == "integer":
            tensors.append(torch.randint(5, shape, generator=generator))
        else:
            tensors.append((scale * torch.randn(shape, generator=generator, dtype=torch.float64)).to(dtype))
    return tensors


def bounded(plan, tensors, dtype, extents):
    inputs = {r.name: Uncertain.exact(t.double().numpy()) for r, t in zip(plan.inputs, tensors, strict=True)}
    return analyse(plan, inputs, dtype, extents)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", plans.PLANS)
def test_a_correct_computation_stays_within_its_bound(name, dtype):
    plan, code = plans.PLANS[name]()
    for seed in range(3):
        tensors = draw(plan, DTYPES[dtype], EXTENTS, seed=seed)
        result = bounded(plan, tensors, dtype, EXTENTS).tensors[plan.outputs[0]]
        got = code(*tensors).double().numpy()
        longer = [t.double() if t.is_floating_point() else t for t in tensors]
        true = code(*longer).numpy()
        error = np.abs(got - true)
        if np.isfinite(got).all():
            assert (error <= result.error).all(), (error / result.error).max()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "name", ["linear_weight", "layer_norm", "softmax_gradient", "scatter", "grouped_logsumexp", "grouped_softmax"]
)
def test_a_thousandth_is_rejected(name, dtype):
    plan, code = plans.PLANS[name]()
    tensors = draw(plan, DTYPES[dtype], EXTENTS)
    result = bounded(plan, tensors, dtype, EXTENTS).tensors[plan.outputs[0]]
    true = code(*(t.double() if t.is_floating_point() else t for t in tensors)).numpy()
    assert (np.abs(0.001 * true) > result.error).any()


def test_default_tolerances_would_reject_what_the_bound_accepts():
    plan, code = plans.linear_weight()
    tensors = draw(plan, torch.float32, EXTENTS, scale=3.0)
    got, true = code(*tensors), code(*(t.double() for t in tensors))
    assert not torch.allclose(got.double(), true, rtol=1.3e-6, atol=1e-5)
    assert (np.abs(got.double() - true).numpy() <= bounded(plan, tensors, "float32", EXTENTS).error("dW")).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "axis"), [((6, 40), -1), ((40, 6), 0), ((3, 17, 8), 1), ((3, 17, 8), -3)])
def test_a_softmax_is_covered_along_every_axis(shape, axis, dtype):
    """PyTorch's kernels round once along the last axis, twice along any other."""
    unit = ROUNDING[dtype].unit
    for seed in range(5):
        z = 3 * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        z = z.to(DTYPES[dtype]).double()
        got = torch.softmax(z.to(DTYPES[dtype]), axis).double().numpy()
        bound = Arithmetic(ROUNDING[dtype]).softmax(Uncertain.exact(z.numpy()), (axis,))
        assert (np.abs(got - bound.value) <= bound.error).all()
        if dtype == "bfloat16" and axis == -1:
            assert (bound.error <= 1.1 * unit * bound.value).all()


def test_overflow_is_reported_as_what_it_is():
    plan, code = plans.half_squares()
    tensors = draw(plan, torch.float16, {"N": 200, "D": 600}, scale=2.0)
    assert torch.isinf(code(*tensors))
    result = bounded(plan, tensors, "float16", {"N": 200, "D": 600})
    assert result.overflow == ("L",)
    assert np.isinf(result.error("L"))
    assert bounded(plan, tensors, "float32", {"N": 200, "D": 600}).overflow == ()


def test_a_condition_that_rounding_could_flip_covers_both_branches():
    x = plans.p.Ref("x", (plans.N,))
    shifted = plans.m("add", x, plans.p.Scalar(plans.Rational(1, 3)))
    value = plans.m(
        "where", plans.m("gt", shifted, plans.p.Scalar(plans.Rational(1, 3))), x, plans.p.Scalar(plans.Integer(7))
    )
    plan = plans.p.Plan("step", (x,), (plans.p.Assign("y", value),), ("y",))
    points = np.array([0.0, 1e-9, 1.0])
    error = analyse(plan, {"x": Uncertain.exact(points)}, "float32").error("y")
    assert error[0] >= 7
    assert error[1] >= 6.9
    assert error[2] == 0


def test_ties_and_kinks_are_noticed_only_in_what_is_differentiated():
    plan, _ = plans.max_gradient()
    x = np.array([[1.0, 2.0, 2.0]])
    inputs = {"x": Uncertain.exact(x), "dy": Uncertain.exact([1.0])}
    assert analyse(plan, inputs, "float64", active=("x",)).touched
    assert not analyse(plan, inputs, "float64", active=("dy",)).touched
    inputs["x"] = Uncertain.exact([[1.0, 2.0, 3.0]])
    assert not analyse(plan, inputs, "float64", active=("x",)).touched


def test_the_maximum_of_computed_numbers_is_in_no_doubt_without_a_rival():
    plan, _ = plans.max_gradient()
    tensors = draw(plan, torch.float32, {"N": 7, "D": 5})
    assert (bounded(plan, tensors, "float32", {"N": 7, "D": 5}).error("ds") < 1e-5).all()


def test_every_function_of_the_language_has_a_rule():
    assert FUNCTIONS.keys() == language.FUNCTIONS.keys()


POINTS = {
    "log": (0.01, 50), "sqrt": (0.01, 50), "rsqrt": (0.01, 50), "log1p": (-0.9, 50), "asin": (-0.99, 0.99),
    "acos": (-0.99, 0.99), "tan": (-1.2, 1.2), "exp": (-20, 10), "sinh": (-9, 9), "cosh": (-9, 9), "expm1": (-20, 10),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", language.FUNCTIONS)
def test_functions_keep_within_their_bound(name, dtype):
    row = language.FUNCTIONS[name]
    low, high = POINTS.get(name, (-8, 8))
    x = torch.linspace(low, high, 4001, dtype=torch.float64).to(DTYPES[dtype])
    code = eval(f"lambda x: {row.torch.format('x', *row.defaults)}", {"torch": torch, "F": torch.nn.functional})
    got = code(x).double().numpy()
    result = Arithmetic(ROUNDING[dtype]).function(name, [Uncertain.exact(x.double().numpy())])
    assert (np.abs(got - result.value) <= result.error).all()


@pytest.mark.parametrize("name", ["expm1", "elu"])
def test_an_exponential_less_1_is_within_the_bound_of_compiled_code_alone(name):
    x = np.linspace(-0.5, -1e-9, 4001)
    errors = {
        dtype: np.abs(np.exp(x) - 1 - result.value) / result.error
        for dtype in ("float64", COMPILED)
        for result in [Arithmetic(ARITHMETIC[dtype]).function(name, [Uncertain.exact(x)])]
    }
    assert errors[COMPILED].max() <= 1 < errors["float64"].max()


@pytest.mark.parametrize("name", language.FUNCTIONS)
def test_functions_move_no_more_than_their_bound(name):
    low, high = POINTS.get(name, (-8, 8))
    x = np.linspace(low, high, 997)
    for error in (1e-3, 1e-2):
        result = Arithmetic(ROUNDING["float64"]).function(name, [Uncertain(x, np.full_like(x, error))])
        for s in np.linspace(-1, 1, 9):
            moved = np.abs(FUNCTIONS[name].compute(x + s * error) - result.value)
            assert (moved <= result.error * (1 + 1e-9)).all()


def test_indices_of_a_sum_outlast_those_of_what_is_summed():
    from symderive.algebra.derive import derive
    from symderive.lower import lower
    from symderive.spec import loads

    spec = loads(
        "name: op\nsizes: {N: 3, K: 4}\n"
        "inputs: {x: [N, N], a: {shape: [K], index: N}, b: {shape: [K], index: N}}\n"
        "forward: |\n  y[k] = x[a[k], b[k]]**2 * x[b[k], a[k]]\n"
    )
    rng = np.random.default_rng(0)
    x, dy = rng.standard_normal((3, 3)), rng.standard_normal(4)
    a, b = np.array([0, 1, 2, 0]), np.array([1, 1, 0, 2])
    true = np.zeros((3, 3))
    np.add.at(true, (a, b), dy * 2 * x[a, b] * x[b, a])
    np.add.at(true, (b, a), dy * x[a, b] ** 2)
    arrays = {"x": x, "a": a, "b": b, "dy": dy}
    inputs = {n: Uncertain.exact(np.asarray(v, float)) for n, v in arrays.items()}
    found = analyse(lower(derive(spec).backward), inputs, "float64", {"N": 3, "K": 4}).tensors["dx"]
    assert np.allclose(found.value, true, rtol=1e-12)
