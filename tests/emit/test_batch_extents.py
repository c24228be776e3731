"""``...`` may stand for no axes at all, and only an input may tell which axes it stands for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import symderive
from symderive.check.ops import load_text
from symderive.emit.autograd import autograd_module
from symderive.emit.custom_op import custom_op_module
from symderive.spec import loads
from tests.emit.running import module_of

TEXT = """name: op
sizes: {{K: 3, '...': [2]}}
inputs: {inputs}
forward: |
  {equation}
"""

OPS = [
    ("{z: [K], x: [...]}", "y[...] = mean[k](z[k])"),
    ("{z: [1], x: [..., K]}", "y[...] = z[0] + x[..., 0]"),
    ("{z: [1, 1, K], x: [..., 1]}", "y[..., k] = x[..., 0] * z[0, 0, k] + z[0, 0, 0]"),
    ("{x: [..., K]}", "y[k] = sum[...](x[..., k])"),
    ("{x: [..., K]}", "y = sum[..., k](3 * x[..., k])"),
    ("{x: [..., K]}", "y[k] = mean[...](x[..., k])"),
]


@pytest.mark.parametrize("batch", [(), (2,), (2, 4)])
@pytest.mark.parametrize(("inputs", "equation"), OPS)
def test_any_number_of_batch_axes(inputs, equation, batch):
    spec = loads(TEXT.format(inputs=inputs, equation=equation))
    derivation = symderive.derive(spec)
    rng, extents = np.random.default_rng(0), {"K": 3, "1": 1}
    shapes = [[n for e in i.shape for n in (batch if "..." in str(e) else (extents[str(e)],))] for i in spec.inputs]
    point = [torch.tensor(rng.normal(size=shape), requires_grad=True) for shape in shapes]
    module = module_of(derivation.torch)
    y, saved = module["forward"](*point)
    upstream = torch.tensor(rng.normal(size=tuple(y.shape)))
    true = torch.autograd.grad(y, point, upstream, materialize_grads=True)
    arrays = module_of(derivation.numpy)
    kept = arrays["forward"](*(x.detach().numpy() for x in point))[1]
    for code, found in (
        ("torch", module["backward"](saved, upstream)),
        ("numpy", arrays["backward"](kept, upstream.numpy())),
    ):
        for gradient, wanted in zip(found, true, strict=True):
            value = gradient.detach().numpy() if code == "torch" else gradient
            np.testing.assert_allclose(value, wanted.numpy(), rtol=1e-12)


@pytest.mark.parametrize(("inputs", "equation"), OPS)
@pytest.mark.parametrize("write", [autograd_module, custom_op_module])
def test_ops_of_ones_own_keep_the_extents(inputs, equation, write):
    spec = loads(TEXT.format(inputs=inputs, equation=equation))
    module = load_text(write(spec), "op")
    shapes = [[{"K": 3, "1": 1}.get(str(e), 2) for e in i.shape] for i in spec.inputs]
    point = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    assert torch.autograd.gradcheck(module.op, point)
