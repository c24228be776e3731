"""Functions of constants: a kernel takes an array, so a number is made one, or is computed in Python."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from symderive.algebra.derive import derive
from symderive.api import Derivation
from symderive.spec import loads

TEXT = """
name: numbers
sizes: {{N: 3}}
constants: {{c: 1.3}}
inputs: {{x: [N]}}
forward: |
  y[n] = x[n] / (1 + {0}) + {0}
"""


@pytest.mark.parametrize(
    "function",
    [
        *("softplus(c)", "floor(c)", "round(c)", "erfc(c)", "erf(c)", "gelu(c)", "mish(c)", "log(1 + c / N)"),
        *("expm1(c)", "abs(c)", "relu(c)", "leaky_relu(c, 0.1)", "logsigmoid(c)"),
    ],
)
def test_a_function_of_a_number_runs_and_keeps_the_dtype(function):
    derivation = Derivation(derive(loads(TEXT.format(function))))
    values = []
    for code, x in ((derivation.torch, torch.ones(3, dtype=torch.float32)), (derivation.numpy, np.ones(3, "f4"))):
        module: dict = {}
        exec(compile(code, "<emitted>", "exec"), module)
        y, saved = module["forward"](x)
        assert y.dtype == module["backward"](saved, x)[0].dtype == x.dtype
        values.append(np.asarray(y))
    assert np.allclose(*values, rtol=1e-6)


@pytest.mark.parametrize(
    "right",
    [
        *("clamp(2, x[n], z[n])", "clamp(2, x[n], 3) * z[n]", "clamp(2, 1, x[n]) + z[n]", "clamp(2, 1, 3) * x[n]"),
        *("(N > 2) + x[n]", "sum[k : K <= N](x[n] * w[k])", "where(not K <= N, x[n], 2 * x[n])"),
        "where(N < 2 or K <= N and x[n] > 0, x[n], 2)",
    ],
)
def test_numbers_and_comparisons_of_sizes_stand_where_arrays_do(right):
    text = "name: op\nsizes: {N: 3, K: 2}\ninputs: {x: [N], z: [N], w: [K]}\n"
    derivation = Derivation(derive(loads(f"{text}forward: |\n  y[n] = {right}\n")))
    point = [torch.tensor(v) for v in ([0.5, -1.5, 2.5], [1.0, 4.0, 2.75], [0.5, 2.0])]
    found = []
    for code, given in ((derivation.torch, point), (derivation.numpy, [v.numpy() for v in point])):
        module: dict = {}
        exec(compile(code, "<emitted>", "exec"), module)
        y, saved = module["forward"](*given)
        found.append([np.asarray(v) for v in (y, *module["backward"](saved, y))])
    variables = [v.clone().requires_grad_() for v in point]
    y = module_forward(derivation.torch, variables)
    true = torch.autograd.grad(y, variables, y.detach(), materialize_grads=True)
    for values in found:
        for value, wanted in zip(values, (y.detach(), *true), strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-6)


def module_forward(code: str, given: list[torch.Tensor]) -> torch.Tensor:
    """The output of emitted code, which autograd differentiates."""
    module: dict = {}
    exec(compile(code, "<emitted>", "exec"), module)
    return module["forward"](*given)[0]
