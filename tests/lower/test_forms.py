"""What a plan looks like: matrix products where there are some, nothing larger than need be, one name a quantity."""

from __future__ import annotations

import math

import pytest

from symderive.algebra.derive import derive
from symderive.algebra.forward import stable_program
from symderive.lower import lower
from symderive.lower import plan as p
from symderive.lower.context import Lowering
from symderive.spec import load, loads

from .cases import CASES, text
from .helpers import CATALOGUE, program
from .show import show


def plan_of(name):
    return lower(stable_program(program(text(name))))


def gradients_of(name):
    return lower(derive(loads(text(name))).backward)


FORWARD = {
    "transpose": "y = x.T",
    "transpose_add": "y = 2 * x.T + b",
    "outer_sum": "y = x[-1] - w + 1",
    "batch_linear": "y = x @ W.T + b",
    "batch_matmul": "y = a @ b",
    "softmax": "y = softmax(2 * z, -1); l = log_softmax(z, -1); L = sum(l * y, -2, -1)",
    "softmax_first": "y = log_softmax(z, -2) + softmax(z, -2)",
    "softmax_by_hand": "y = softmax(z, -1); l = logsumexp(z, -1)",
    "softmax_where": "y = softmax(where(arange(K) <= arange(N)[-1], z, -oo), -1)",
    "keepdim": "y = x / sum(square(x), -1, keep) + amax(x, -1, keep) - mean(x, -2)",
    "cumulative_others": "y = scan_logsumexp(x, -1) + scan_amax(x, -1) + scan_amin(x, -1, reverse) + scan_prod(x, -1)",
    "chain": "y = a @ b @ c",
    "quadratic": "f = x @ (A @ x)",
    "weighted_gram": "G = (x * w[-1]).T @ x",
    "tensordot": "y = reshape(x, A, B*C) @ reshape(w, D, B*C).T",
    "masked_product": "y = where(arange(K) <= arange(N)[-1], x, 0) @ v",
    "divided": "y = x @ (A / (square(w) + 1)).T",
    "pairwise_weighted": "y = x * sum(P, -1, keep) - P @ x",
    "sum_of_sums": "L = sum(x * b + W * x - 2, -2, -1)",
    "flattened": "y = reshape(x, D*N)",
    "mixed_radix": "y = reshape(x, 2, 3, 4).permute(-2, -3, -1)",
    "rolled": "y = roll(x, 1, -1) + roll(x, -2, -1) - roll(flip(x, -1), 2, -1)",
    "strided": "y = x[1:1+2*3:2]",
    "off_diagonal": "y = diagonal(A[0:N - 1, 1:N])",
    "embedding": "y = take(E, t, :)",
    "gather": "y = gather(z, t[-1], -1)[:, at 0]",
    "gather_many": "y = gather(z, t, -1)",
    "scatter": "E = index_add(d, t, :)",
    "scatter_counts": "c = x * index_add(full(N, 1), t)",
    "scatter_rows": "y = scatter_add(d, t, -1)",
    "scatter_kept": "y = scatter_add(-g[-1], t[-1], -1, onto z)",
    "identity": "y = diag_embed(x) - x[-1] * x; z = eye(N) + 1",
    "conv": "y = conv(x, w, stride 1, padding 0, dilation 1)",
    "conv_weight": "w = conv_weight(x, d, stride 1, padding 0, dilation 1)",
    "windows": "y = unfold(x, -1, 3, 2); m = amax(y, -1)",
    "repeated_quantity": "d = x - mean(x, -1, keep); y = d * exp(d)",
    "constants": "y = scale/N * x + pi*eps",
}

BACKWARD = {
    "batch_linear": "dx = dy @ W; dW = reshape(dy, ...rows, J).T @ reshape(x, ...rows, K); db = sum(dy, -2)",
    "batch_matmul": "da = dy @ b.T; db = a.T @ dy",
    "embedding": "dE = index_add(dy, t, :)",
    "gather": "dz = scatter_add(dy[-1], t[-1], -1)",
    "flattened": "dx = reshape(dy, N, D)",
    "strided": "dx = place(dy, 1:1+2*3:2)",
    "scatter": "dd = take(dE, t, :)",
    "reversed_stride": "dx = place(flip(dy, -1), 2:2+2*3:2)",
    "unflattened": "dx = reshape(dy, 6)",
}


@pytest.mark.parametrize("name", FORWARD)
def test_form_of_a_forward(name):
    assert show(plan_of(name)) == FORWARD[name]


@pytest.mark.parametrize("name", BACKWARD)
def test_form_of_a_gradient(name):
    assert show(gradients_of(name)) == BACKWARD[name]


@pytest.mark.parametrize("name", ["conv", "conv_grouped", "conv_depthwise", "conv_2d", "conv_pad", "conv_lopsided"])
def test_adjoints_of_a_convolution_are_convolutions(name):
    kinds = [type(n) for a in gradients_of(name).assignments for n in p.walk(a.value)]
    assert p.ConvTranspose in kinds
    assert p.ConvWeight in kinds
    assert p.IndexAdd not in kinds
    assert p.Unfold not in kinds


def largest(plan, ctx):
    """The number of entries of the largest array that a plan makes, views aside."""
    views = (p.Expand, p.BroadcastTo, p.Permute, p.Reshape, p.Slice, p.Unfold, p.Ref)
    sizes = [
        math.prod(ctx.number(e) for e in n.shape)
        for a in plan.assignments
        for n in p.walk(a.value)
        if not isinstance(n, views) and n.kind == "real"
    ]
    return max(sizes, default=0)


@pytest.mark.parametrize("path", CATALOGUE, ids=lambda path: path.stem)
def test_no_gradient_makes_anything_larger_than_the_tensors_of_the_op(path):
    spec = load(path)
    derivation = derive(spec)
    ctx = Lowering(spec.sizes)
    forward = lower(derivation.forward)
    tensors = {**derivation.forward.shapes, **derivation.backward.shapes}
    most = max(math.prod(ctx.number(e) + 1 for e in shape) for shape in tensors.values())  # a shift pads by one
    allowed = max(most, largest(forward, ctx)) * (3 if "pool" in path.stem else 1)
    if path.stem in ("cumprod", "logcumsumexp"):
        allowed *= spec.sizes["T"]  # a pair of positions each: one scan would have to divide, or to overflow
    assert largest(lower(derivation.backward), ctx) <= allowed


@pytest.mark.parametrize("name", CASES)
def test_lowering_is_the_same_every_time(name):
    assert show(plan_of(name)) == show(plan_of(name))


def test_an_unused_equation_is_left_out():
    assert [a.name for a in plan_of("two_outputs").assignments] == ["s", "y"]


def test_a_helper_takes_no_name_of_the_program():
    source = """
    name: names
    sizes: {d: 3}
    inputs: {e: [d]}
    forward: |
      y[i] = exp(e[i]) * sin(exp(e[i]))
    """
    (helper, y) = lower(program(source.replace("\n    ", "\n"))).assignments
    assert helper.name not in ("e", "d", "i", "y")
    assert y.name == "y"


def chain(count):
    lines = "".join(
        f"  y{i}[a, b] = tanh(sum[k]({'x' if i == 0 else f'y{i - 1}'}[a, k] * W{i}[b, k]))\n" for i in range(count)
    )
    inputs = ", ".join(f"W{i}: [K, K]" for i in range(count))
    return f"name: chain\nsizes: {{N: 2, K: 3}}\ninputs: {{x: [N, K], {inputs}}}\nforward: |\n{lines}"


def test_a_chain_makes_a_plan_as_long_as_itself():
    short, long = (len(lower(program(chain(n))).assignments) for n in (5, 50))
    assert (short, long) == (5, 50)
