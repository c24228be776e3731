"""Emitted modules among others in one program: names that clash, devices without autocast, threads."""

from __future__ import annotations

import ast
import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import pytest
import torch

from symderive.api import loads
from symderive.emit.autograd import autograd_module
from symderive.emit.autograd_op import OWN_NAMES
from symderive.emit.custom_op import custom_op_module

SPEC = """
name: scaled
sizes: {N: 3}
inputs: {x: [N]}
forward: |
  r = sqrt(sum[n](x[n]**2))
  y[n] = FACTOR * x[n] / r
"""


def loaded(name: str, namespace: str, factor: int = 2) -> ModuleType:
    """A module of this name, as an import would make it."""
    found = ModuleType(name)
    exec(custom_op_module(loads(SPEC.replace("FACTOR", str(factor)), "scaled"), namespace), found.__dict__)
    return found


def test_an_op_that_another_module_has_registered_is_not_overwritten():
    first = loaded("first", "clash")
    with pytest.raises(RuntimeError, match=r"clash::scaled is registered by the module first.* --namespace"):
        loaded("second", "clash", 3)
    other = loaded("second", "clash2", 3)
    x = torch.tensor([3.0, 4.0])
    assert torch.allclose(first.scaled(x), torch.tensor([1.2, 1.6]))
    assert torch.allclose(other.scaled(x), torch.tensor([1.8, 2.4]))


def test_a_module_can_be_loaded_again():
    loaded("again", "reload")
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    loaded("again", "reload", 5).scaled(x).sum().backward()
    assert torch.allclose(x.grad, torch.tensor([0.16, -0.12]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_device_without_autocast_is_none_the_less_a_device(dtype):
    x = torch.zeros(3, device="meta", dtype=dtype, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        loaded("meta", "meta").scaled(x).sum().backward()
    assert (x.grad.shape, x.grad.dtype, x.grad.device.type) == ((3,), dtype, "meta")


def test_an_op_is_pickled_copied_and_called_in_threads(monkeypatch):
    module = ModuleType("threads")
    monkeypatch.setitem(sys.modules, "threads", module)
    exec(autograd_module(loads(SPEC.replace("FACTOR", "2"), "scaled")), module.__dict__)
    f = pickle.loads(pickle.dumps(module.scaled))
    assert copy.deepcopy(module.scaled) is f
    xs = [torch.arange(1.0, 4.0).add(n).requires_grad_() for n in range(8)]

    def gradient(x: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(f(x).prod(), x)[0]

    with ThreadPoolExecutor(4) as pool:
        assert all(map(torch.equal, pool.map(gradient, xs), map(gradient, xs)))


@pytest.mark.parametrize("write", [autograd_module, custom_op_module])
def test_tensors_may_be_called_what_the_module_calls_its_own_things(write):
    text = write(loads(NAMES, "own"))
    defined = {n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    assert defined - {"own"} <= {*OWN_NAMES, "Own", "OwnBackward", "OwnReverse"}, "a name that is not kept free"
    module = ModuleType("own")
    exec(text, module.__dict__)
    xs = [torch.rand(3, dtype=torch.float64, requires_grad=True) for _ in range(4)]
    assert torch.allclose(module.own(*xs), xs[0] * xs[1] * xs[2].exp() + xs[3])
    assert torch.autograd.gradcheck(module.own, xs, check_forward_ad=True)


@pytest.mark.parametrize(
    ("inputs", "forward"),
    [
        ("a b d", "y[n] = a[n] * b[n] + d[n]"),  # dd is dy, which is saved
        ("a b", "y[n] = exp(a[n] + b[n])"),  # da is db
        ("a b", "u[n] = a[n]; y[n] = a[n] * b[n]"),  # u is a, which is saved
        ("a b", "y[n] = exp(a[n])"),  # db is 0, and has a tangent none the less
    ],
)
def test_results_are_tensors_of_their_own_that_can_be_differentiated(inputs, forward):
    given = "".join(f"  {name}: [N]\n" for name in inputs.split())
    lines = "".join(f"  {line}\n" for line in forward.split("; "))
    outputs = "output: [u, y]" if forward.startswith("u") else ""
    spec = loads(f"name: alias\nsizes: {{N: 3}}\ninputs:\n{given}forward: |\n{lines}{outputs}", "alias")
    for write in (autograd_module, custom_op_module):
        module = ModuleType("alias")
        exec(write(spec), module.__dict__)
        xs = [torch.rand(3, dtype=torch.float64, requires_grad=True) for _ in spec.inputs]
        assert torch.autograd.gradcheck(module.alias, xs, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(module.alias, xs, check_fwd_over_rev=True)


def test_what_is_put_in_places_has_the_batch_of_all_that_it_is_made_of():
    forward = "  h[n] = x[2*n]**2 + x[2*n + 1]\n  L = sum[n](h[n]**2) / 2\n"
    spec = loads(
        f"name: placed\nsizes: {{N: 2}}\ninputs: {{x: [2*N]}}\nindices: {{n: N}}\nforward: |\n{forward}", "placed"
    )
    module = ModuleType("placed")
    exec(autograd_module(spec), module.__dict__)
    x = torch.rand(4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(module.placed, x, check_batched_grad=True)


NAMES = """
name: own
sizes: {N: 3}
inputs: {_apply: [N], _cast: [N], _op: [N], OwnBackward: [N]}
forward: |
  y[n] = _apply[n] * _cast[n] * exp(_op[n]) + OwnBackward[n]
"""
