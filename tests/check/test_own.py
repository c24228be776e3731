"""Someone's own implementation under check: what goes wrong is told of it, with its line, and once."""

from __future__ import annotations

import json
import re
import sys

import pytest
import torch

from symderive.check.runner import check
from symderive.errors import SpecError
from symderive.spec import loads

SPEC = """
name: scaled
sizes: {N: 3, K: 4}
inputs: {x: [N, K], a: []}
forward: |
  y[n, k] = a * tanh(x[n, k])
claims: |
  dx = dy
"""


def backward_of(function):
    """An autograd.Function with the right forward and this backward, as a function."""

    class Made(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, a):
            t = torch.tanh(x)
            ctx.save_for_backward(t, a)
            return a * t

        backward = staticmethod(function)

    def made(x, a):
        return Made.apply(x, a)

    return made


def right(ctx, dy):
    t, a = ctx.saved_tensors
    return dy * a * (1 - t * t), (dy * t).sum()


def no_gradient(ctx, dy):
    return right(ctx, dy)[0], None


def single(ctx, dy):
    dx, da = right(ctx, dy)
    return dx.float().to(dy.dtype), da


def changes_x(x, a):
    y = a * torch.tanh(x)
    x.data.mul_(2)
    return y


def leaves(x, a):
    sys.exit(3)


def on_the_cpu(x, a):
    return a * torch.tanh(x) + torch.zeros(x.shape, dtype=x.dtype)


def through_numpy(x, a):
    class Numpy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, a):
            t = torch.from_numpy(x.detach().numpy()).tanh()
            ctx.save_for_backward(t, a)
            return a * t

        backward = staticmethod(right)

    return Numpy.apply(x, a)


def only_what_is_needed(ctx, dy):
    return tuple(g for g, needed in zip(right(ctx, dy), ctx.needs_input_grad, strict=True) if needed)


def the_other_where_one_is_needed(ctx, dy):
    dx, da = right(ctx, dy)
    return dx, da if ctx.needs_input_grad[0] else 0 * da


FAULTS = {
    "a gradient left out": (
        backward_of(only_what_is_needed),
        "where x is the only input that requires a gradient, backward raised RuntimeError: .* number of gradients",
    ),
    "a gradient of a frozen input": (
        backward_of(the_other_where_one_is_needed),
        r"where a is the only input that requires a gradient, da is [\d.]+ off: does the backward heed",
    ),
    "an exception": (lambda x, a: x @ a @ x, r"forward raised RuntimeError: both arguments .* \(test_own\.py:\d+\)"),
    "an exit": (leaves, r"forward raised SystemExit: 3 \(test_own\.py:\d+\)"),
    "an input changed": (changes_x, "forward changes x in place"),
    "an upstream changed": (backward_of(lambda ctx, dy: right(ctx, dy.mul_(2))), "backward changes dy in place"),
    "another shape": (lambda x, a: (a * x.tanh()).sum(0), r"y has shape \[\d+\], should be \[\d+, \d+\]"),
    "random numbers": (lambda x, a: a * x.tanh() + 1e-3 * torch.rand_like(x), "two calls with the same inputs"),
}


def run(op, **options):
    return check(loads(SPEC), op=op, quick=True, **{"devices": ("cpu",)} | options)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_once(name):
    op, said = FAULTS[name]
    result = run(op)
    assert not any(c.status == "pass" for c in result.checks)
    assert all(re.search(said, c.detail) for c in result.failures), result.table()
    (line,) = [line for line in result.table().splitlines() if line.startswith("  FAIL  ") and "[" in line]
    assert line.startswith("  FAIL  oracle, autograd, gradcheck, stability, layout  [float64, cpu")
    assert f"and {len(result.failures) - 1} more like it" in line
    assert result.table(verbose=True).count("FAIL  ") == len(result.failures) + 1


def test_what_is_right_passes_and_no_claim_is_judged():
    result = run(backward_of(right))
    assert result.ok, result.table()
    assert "claim" not in {c.check for c in result.checks}
    assert not check(loads(SPEC), quick=True, devices=("cpu",), kinds=("claim",)).ok


def test_a_gradient_that_autograd_does_not_give_is_told_so():
    result = run(backward_of(no_gradient))
    rows = [c for c in result.failures if c.target == "da"]
    assert rows
    assert all(c.detail.endswith("autograd gives None for it, not a gradient") for c in rows)
    assert "da of made is not the gradient; 'symderive derive <spec> --wrt a' prints the right one" in result.table()


def test_rounding_of_another_dtype_is_named():
    details = [c.detail for c in run(backward_of(single)).failures if c.check in ("oracle", "autograd")]
    assert details
    assert all("off by the rounding of float32" in d for d in details)


def test_a_tensor_on_another_device_fails_on_meta_and_numpy_does_not():
    (row, _) = run(on_the_cpu, devices=("cpu", "meta")).failures
    assert row.device == "meta"
    assert row.detail.endswith("a tensor made without device= fails on a GPU, too")
    result = run(through_numpy, devices=("cpu", "meta"))
    assert result.ok, result.table()
    assert {c.status for c in result.checks if c.device == "meta"} == {"skip"}


def test_the_table_names_the_op_and_json_stays_as_it_is():
    table = run(lambda x, a: 2 * a * x.tanh(), kinds=("oracle",)).table()
    assert "next: the forward of <lambda> is not that of <spec>: compare the lines of y" in table
    assert "op" not in json.loads(run(leaves).json())["results"][0]


@pytest.mark.parametrize(
    ("op", "message"),
    [(lambda x: x, r"<lambda>\(x\) cannot take the spec's inputs: too many"), (torch.nn.ReLU, "ReLU is a class"),
     (5, "5 is not a function of x, a")],
)  # fmt: skip
def test_what_cannot_be_called_with_the_inputs_is_an_error(op, message):
    with pytest.raises(SpecError, match=message):
        run(op)
