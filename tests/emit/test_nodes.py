"""Every operation of a plan, printed for both libraries and run, against the plan's interpreter."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sympy import Integer, Rational, S, oo

from symderive.lower import plan as p
from symderive.lower.execute import execute
from symderive.lower.plan import BATCH_SIZE, ROWS
from symderive.spec.functions import FUNCTIONS
from symderive.spec.sizes import size
from tests.emit.running import as_torch, draw, function_text, module_of

N, K, J, C = (size(n) for n in "NKJC")
SIZES = {"N": 3, "K": 5, "J": 4, "C": 2}
BATCHES = ((), (2,), (2, 3))

x, w, v, s = p.Ref("x", (N, K)), p.Ref("w", (N, K)), p.Ref("v", (K,)), p.Ref("s", ())
xb, wb, vb = p.Ref("xb", (BATCH_SIZE, N, K)), p.Ref("wb", (BATCH_SIZE, K)), p.Ref("vb", (BATCH_SIZE,))
cube, hyper = p.Ref("cube", (N, K, J)), p.Ref("hyper", (N, K, J, C))
m, mb = p.Ref("m", (N, N)), p.Ref("mb", (BATCH_SIZE, N, N))
t, u = p.Ref("t", (J,), "integer"), p.Ref("u", (J,), "integer")
tt, tb = p.Ref("tt", (J, N), "integer"), p.Ref("tb", (BATCH_SIZE,), "integer")
tn = p.Ref("tn", (N,), "integer")
flag, flagb = p.Ref("flag", (N, K), "boolean"), p.Ref("flagb", (BATCH_SIZE, K), "boolean")


def num(value) -> p.Scalar:
    return p.Scalar(S(value))


def fn(name: str, *args: p.Node) -> p.Map:
    return p.Map(name, args)


def square(of: p.Ref) -> p.Node:
    """A well-conditioned matrix with a positive determinant."""
    return fn("add", p.MatMul(of, p.Permute(of, (-1, -2))), p.Eye(N))


positive = fn("add", fn("abs", x), num(1))
half = fn("mul", fn("tanh", x), num(Rational(1, 2)))
DOMAIN = {"log": positive, "sqrt": positive, "rsqrt": positive, "log1p": positive, "asin": half, "acos": half}
ONE, TWO = Integer(1), Integer(2)


def span(start, length, step=1) -> p.Span:
    return p.Span(S(start), S(length), S(step))


def conv_cases():
    image, kernel = p.Ref("image", (N, J, K + 6)), p.Ref("kernel", (C, J, Integer(3)))
    grouped = p.Ref("grouped", (J, Integer(1), Integer(3)))
    plane, stamp = p.Ref("plane", (N, C, K + 4, J + 4)), p.Ref("stamp", (J, C, Integer(3), TWO))
    for name, value, weight, window in (
        ("plain", image, kernel, p.Window.plain()),
        ("strided", image, kernel, p.Window((TWO,), (ONE,), (TWO,))),
        ("padded", image, kernel, p.Window((Integer(3),), (TWO,), (ONE,))),
        ("grouped", image, grouped, p.Window((TWO,), (ONE,), (ONE,), J)),
        ("plane", plane, stamp, p.Window((TWO, ONE), (ONE, S.Zero), (ONE, TWO))),
    ):
        forward = p.Conv(value, weight, window)
        source = p.Ref("source", forward.shape)
        space, sides = value.shape[2:], weight.shape[2:]
        yield f"conv_{name}", forward
        yield (
            f"conv_transpose_{name}",
            fn("add", p.ConvTranspose(source, weight, window, space), fn("mul", value, num(0))),
        )
        yield f"conv_weight_{name}", p.ConvWeight(value, source, window, sides)
    yield "conv_bias", fn("add", p.Conv(image, kernel, p.Window.plain()), p.Expand(p.Ref("bias", (C,)), (-1,)))


EXPRESSIONS: dict[str, p.Node] = {
    **{f"function_{f}": fn(f, DOMAIN.get(f, x)) for f in FUNCTIONS},
    "function_nested": fn("gelu", fn("mul", x, x)),
    "function_slope": fn("leaky_relu", x, num(Rational(1, 5))),
    "add_neg": fn("add", fn("neg", x), fn("neg", w)),
    "sub_sub": fn("sub", x, fn("sub", w, fn("neg", v))),
    "mul_neg": fn("mul", fn("neg", fn("add", x, w)), num(-2)),
    "div_div": fn("div", x, fn("div", fn("add", fn("square", w), num(1)), num(3))),
    "by_size": fn("mul", x, p.Scalar(1 / (N * K))),
    "by_root": fn("mul", x, p.Scalar(S(2) ** Rational(1, 2) / (2 * K))),
    "power": fn("pow", fn("neg", x), num(2)),
    "power_half": fn("pow", positive, num(Rational(-1, 2))),
    "power_third": fn("pow", positive, num(Rational(-1, 3))),
    "power_inverse": fn("pow", positive, num(-1)),
    "power_of_two": fn("pow", num(2), x),
    "power_power": fn("pow", fn("pow", positive, num(3)), num(2)),
    "floordiv": fn("floordiv", x, positive),
    "mod": fn("mod", x, positive),
    "integer_mod": p.Cast(fn("mod", fn("add", p.Arange(K), num(2)), p.Scalar(K))),
    "compare": p.Cast(fn("lt", num(0), x)),
    "compare_le": fn("mul", fn("le", num(0), x), w),
    "logic": fn("where", fn("and", fn("lt", x, w), fn("or", fn("not", flag), fn("ge", v, num(0)))), x, num(-oo)),
    "where_numbers": fn("where", fn("eq", x, w), num(Rational(1, 2)), num(oo)),
    "where_number": fn("where", flag, num(1), x),
    "maximum": fn("maximum", x, w),
    "maximum_number": fn("maximum", num(0), x),
    "minimum_number": fn("minimum", x, num(Rational(1, 3))),
    "clamp": fn("clamp", x, num(-1), num(Rational(1, 2))),
    "clamp_arrays": fn("clamp", x, fn("neg", positive), fn("mul", positive, num(Rational(1, 2)))),
    "clamp_mixed": fn("clamp", x, num(-1), fn("abs", w)),
    "clamp_mixed_high": fn("clamp", x, fn("neg", fn("abs", w)), num(1)),
    "cast_flag": p.Cast(flag),
    "cast_index": fn("add", p.Cast(p.Arange(K)), x),
    "constant": fn("add", p.Full((N, K), Rational(1, 2)), x),
    "full": p.Full((N, K), oo),
    "full_batch": fn("mul", p.Full((BATCH_SIZE, K), S(2)), wb),
    "full_integer": fn(
        "where", fn("eq", p.Full((N,), S(3), "integer"), p.Arange(N)), p.Full((N,), S.Zero), p.Full((N,), S(1))
    ),
    "eye": fn("mul", p.Eye(N), p.Reduce("sum", x, (-1, -2))),
    "transpose": p.Permute(x, (-1, -2)),
    "transpose_batch": p.Permute(xb, (-1, -2)),
    "swap": p.Permute(cube, (-2, -3, -1)),
    "cycle": p.Permute(cube, (-1, -3, -2)),
    "cycle_batch": p.Permute(p.Expand(xb, (-1,)), (-1, -3, -2)),
    "expand": fn("mul", p.Expand(v, (-1,)), p.Expand(v, (-2,))),
    "expand_batch": fn("mul", p.Expand(wb, (-2,)), xb),
    "reshape": p.Reshape(cube, (N * K, J)),
    "reshape_batch": p.Reshape(xb, (BATCH_SIZE, N * K)),
    "flatten_batch": p.Reduce(
        "sum", p.MatMul(p.Permute(p.Reshape(wb, (ROWS, K)), (-1, -2)), p.Reshape(wb, (ROWS, K))), (-1,)
    ),
    "broadcast": p.BroadcastTo(v, (N, K)),
    "broadcast_batch": p.BroadcastTo(p.Expand(vb, (-1,)), (BATCH_SIZE, J)),
    "flip": p.Flip(cube, (-1, -3)),
    "flip_batch": p.Flip(xb, (-2,)),
    "roll": p.Roll(x, Integer(2), -1),
    "roll_batch": p.Roll(xb, K - 1, -2),
    "slice": p.Slice(x, (None, span(1, K - 2))),
    "slice_at": p.Slice(cube, (None, p.At(K - 1), None)),
    "slice_first": p.Slice(x, (p.At(S.Zero), None)),
    "slice_step": p.Slice(x, (None, span(0, (K + 1) // 2, 2))),
    "slice_batch": p.Slice(xb, (span(0, N - 1), None)),
    "slice_last": p.Slice(cube, (None, None, span(1, J - 1))),
    "slice_third": p.Slice(hyper, (None, None, span(1, J - 1), None)),
    "slice_third_at": p.Slice(hyper, (None, None, p.At(ONE), None)),
    "slice_all": p.Slice(x, (None, None)),
    "squeeze": p.Slice(p.Reduce("sum", x, (-1,), True), (None, p.At(S.Zero))),
    "place": p.Place(v, (N, K), (p.At(ONE), None)),
    "place_inside": fn("mul", p.Place(x, (N, 2 * K), (None, span(1, K, 2))), num(3)),
    "place_batch": p.Place(wb, (BATCH_SIZE, K + 2), (span(1, K),)),
    "pad": p.Pad(x, ((S.Zero, S.Zero), (ONE, TWO))),
    "pad_rows": p.Pad(x, ((ONE, S.Zero), (S.Zero, S.Zero)), -oo),
    "pad_batch": p.Pad(xb, ((ONE, ONE), (S.Zero, TWO)), S(3)),
    "unfold": p.Unfold(x, -1, Integer(3), TWO),
    "unfold_rows": p.Unfold(cube, -2, Integer(2)),
    "unfold_batch": p.Unfold(xb, -2, Integer(2), Integer(1)),
    "diagonal": p.Diagonal(m),
    "diagonal_batch": p.Diagonal(mb),
    "diag_embed": p.DiagEmbed(v),
    "diag_embed_batch": p.DiagEmbed(wb),
    "take": p.Take(x, (t, None)),
    "take_last": p.Take(cube, (None, None, t)),
    "take_two": p.Take(cube, (t, u, None)),
    "take_grid": p.Take(x, (tt, None)),
    "take_batch": p.Take(xb, (None, t)),
    "take_by_batch": p.Take(x, (tb, None)),
    "take_computed": p.Take(x, (None, fn("sub", p.Scalar(K - 1), p.Arange(K)))),
    "index_add": p.IndexAdd(p.Take(x, (t, None)), (N, K), (t, None)),
    "index_add_last": p.IndexAdd(p.Ref("src", (N, J)), (N, C), (None, t)),
    "index_add_middle": p.IndexAdd(p.Ref("src", (N, J, K)), (N, C, K), (None, t, None)),
    "index_add_two": p.IndexAdd(p.Ref("src", (J, K)), (C, N, K), (t, u, None)),
    "index_add_last_two": p.IndexAdd(p.Ref("src", (N, J)), (N, C, K), (None, t, u)),
    "index_add_two_batch": p.IndexAdd(p.Ref("src", (BATCH_SIZE, J, K)), (BATCH_SIZE, C, N, K), (t, u, None)),
    "index_add_two_base": p.IndexAdd(p.Ref("src", (N, J)), (N, K, C), (None, t, u), base=p.Ref("old", (N, K, C))),
    "index_add_two_grid": p.IndexAdd(p.Ref("src", (K, J, N)), (K, C, J), (None, tt, p.Expand(u, (-1,)))),
    "index_add_grid": p.IndexAdd(p.Ref("src", (J, N, K)), (C, K), (tt, None)),
    "index_add_by_batch": p.IndexAdd(wb, (C, K), (tb, None)),
    "index_add_batch": p.IndexAdd(p.Ref("src", (BATCH_SIZE, J, K)), (BATCH_SIZE, C, K), (t, None)),
    "index_add_base": p.IndexAdd(p.Take(x, (t, None)), (N, K), (t, None), base=x),
    "index_add_fresh": p.IndexAdd(p.Take(x, (t, None)), (N, K), (t, None), base=fn("add", x, w)),
    "index_add_inside": fn("mul", p.IndexAdd(p.Take(x, (t, None)), (N, K), (t, None)), w),
    "gather": p.Gather(x, p.Expand(tn, (-1,)), -1),
    "gather_rows": p.Gather(p.Ref("wide_", (C, N)), p.Expand(tn, (-2,)), -2),
    "gather_batch": p.Gather(wb, p.Expand(tb, (-1,)), -1),
    "scatter_add": p.ScatterAdd(p.Reduce("sum", x, (-1,), True), (N, K), p.Expand(tn, (-1,)), -1),
    "scatter_add_base": p.ScatterAdd(
        p.BroadcastTo(num(-1), (N, 1)), (N, K), p.Expand(tn, (-1,)), -1, base=p.Normalise("softmax", x, -1)
    ),
    "scatter_add_scaled": fn(
        "div",
        p.ScatterAdd(
            p.BroadcastTo(num(-1), (N, 1)), (N, K), p.Expand(tn, (-1,)), -1, base=p.Normalise("softmax", x, -1)
        ),
        p.Scalar(N),
    ),
    "scatter_add_batch": p.ScatterAdd(
        p.Expand(vb, (-1,)), (BATCH_SIZE, K), p.Expand(tb, (-1,)), -1, base=fn("neg", wb)
    ),
    **{f"reduce_{op}": p.Reduce(op, x, (-1,)) for op in p.REDUCE_OPS[:6]},
    **{f"reduce_{op}_keep": p.Reduce(op, cube, (-2, -1), True) for op in p.REDUCE_OPS[:6]},
    **{f"reduce_{op}_pair": p.Reduce(op, cube, (-3, -1)) for op in p.REDUCE_OPS[:6]},
    **{f"reduce_{op}_all": p.Reduce(op, x, (-1, -2)) for op in p.REDUCE_OPS[:6]},
    **{f"reduce_{op}_batch": p.Reduce(op, xb, (-3,)) for op in p.REDUCE_OPS[:6]},
    **{f"reduce_{op}_batch_rows": p.Reduce(op, xb, (-3, -1)) for op in p.REDUCE_OPS[:6]},
    **{f"reduce_{op}_batch_all": p.Reduce(op, xb, (-3, -2, -1)) for op in p.REDUCE_OPS[:6]},
    "reduce_any": p.Cast(p.Reduce("any", flag, (-1,))),
    "reduce_all": p.Cast(p.Reduce("all", flagb, (-1,))),
    "argmax": p.Cast(p.Reduce("argmax", x, (-1,))),
    "argmin": p.Cast(p.Reduce("argmin", xb, (-2,), True)),
    **{f"scan_{op}": p.Scan(op, x, -1) for op in p.SCAN_OPS},
    **{f"scan_{op}_back": p.Scan(op, xb, -2, reverse=True) for op in p.SCAN_OPS},
    "softmax": p.Normalise("softmax", x, -2),
    "log_softmax": p.Normalise("log_softmax", wb, -1),
    **{f"grouped_{op}": p.Grouped(op, p.Ref("src", (J,)), t, -1, N) for op in p.GROUP_OPS},
    **{f"grouped_{op}_rows": p.Grouped(op, p.Ref("src", (J, K)), t, -2, N) for op in p.GROUP_OPS},
    **{f"grouped_{op}_batch": p.Grouped(op, p.Ref("src", (BATCH_SIZE, J, K)), t, -2, N) for op in p.GROUP_OPS},
    "matmul": p.MatMul(p.Permute(x, (-1, -2)), w),
    "matmul_vector": p.MatMul(x, v),
    "vector_matmul": p.MatMul(v, p.Permute(x, (-1, -2))),
    "dot": p.MatMul(v, v),
    "matmul_batch": p.MatMul(xb, p.Permute(x, (-1, -2))),
    "matmul_rows": p.MatMul(wb, p.Permute(x, (-1, -2))),
    "matmul_rows_vector": p.MatMul(wb, v),
    "matmul_scaled": fn("mul", num(2), p.MatMul(x, fn("mul", v, s))),
    "einsum": p.Einsum("nk,nkj,k->jn", (x, cube, v)),
    "einsum_batch": p.Einsum("...nk,...k->...n", (xb, wb)),
    "inv": p.Matrix("inv", square(x)),
    "inv_batch": p.Matrix("inv", square(xb)),
    "det": p.Matrix("det", square(xb)),
    "logdet": p.Matrix("logdet", square(x)),
    "cholesky": p.Matrix("cholesky", square(x)),
    "cholesky_batch": p.Matrix("cholesky", square(xb)),
    "solve": p.Solve(square(x), x),
    "solve_batch": p.Solve(square(xb), xb),
    "solve_lower": p.Solve(p.Matrix("cholesky", square(xb)), xb, "lower"),
    "solve_upper": p.Solve(p.Permute(p.Matrix("cholesky", square(x)), (-1, -2)), x, "upper"),
    "solve_vector": p.Solve(square(x), p.Slice(x, (None, p.At(num(0).value)))),
    **dict(conv_cases()),
}


def plan_of(node: p.Node) -> p.Plan:
    """The expression alone, with an input besides that has every size."""
    refs = dict.fromkeys(n for n in p.walk(node) if isinstance(n, p.Ref))
    return p.Plan("one", (*refs, p.Ref("every", (N, K, J, C))), (p.Assign("out", node),), ("out",))


def inputs_of(plan: p.Plan, numbers: dict) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {r.name: draw(r, numbers, rng) for r in plan.inputs}


def batches(plan: p.Plan):
    return BATCHES if any(r.has_batch for r in plan.inputs) else ((),)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_numpy_text_computes_what_the_plan_means(name):
    plan = plan_of(EXPRESSIONS[name])
    text = function_text(plan, "numpy")
    for batch in batches(plan):
        inputs = inputs_of(plan, SIZES | {"...": batch})
        expected = execute(plan, inputs)["out"]
        (got,) = module_of(text)["f"](*inputs.values())
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-11, err_msg=text)
        assert np.shape(got) == expected.shape, text


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_torch_text_computes_what_the_plan_means(name):
    plan = plan_of(EXPRESSIONS[name])
    text = function_text(plan, "torch")
    for batch in batches(plan):
        inputs = inputs_of(plan, SIZES | {"...": batch})
        expected = execute(plan, inputs)["out"]
        (got,) = module_of(text)["f"](*map(as_torch, inputs.values()))
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-11, err_msg=text)
        assert got.shape == expected.shape, text


NO_KERNEL = {torch.float16: {"scan_logsumexp", "scan_logsumexp_back"}, torch.bfloat16: set()}
"""What this build of torch cannot run in a low precision on a CPU."""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", [n for n in EXPRESSIONS if not n.startswith("full_integer")])
def test_torch_text_keeps_the_dtype(name, dtype):
    plan = plan_of(EXPRESSIONS[name])
    inputs = inputs_of(plan, SIZES | {"...": (2,)})
    (got,) = module_of(function_text(plan, "torch"))["f"](*(as_torch(a, dtype) for a in inputs.values()))
    assert got.dtype == dtype


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_numpy_text_keeps_float32(name):
    plan = plan_of(EXPRESSIONS[name])
    inputs = inputs_of(plan, SIZES | {"...": (2,)})
    single = (a.astype(np.float32) if a.dtype == float else a for a in inputs.values())
    (got,) = module_of(function_text(plan, "numpy"))["f"](*single)
    assert got.dtype == np.float32


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_torch_text_makes_nothing_on_another_device(name):
    plan = plan_of(EXPRESSIONS[name])
    inputs = inputs_of(plan, SIZES | {"...": (2,)})
    expected = execute(plan, inputs)["out"]
    (got,) = module_of(function_text(plan, "torch"))["f"](*(as_torch(a, device="meta") for a in inputs.values()))
    assert got.device.type == "meta"
    assert got.shape == expected.shape
