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
