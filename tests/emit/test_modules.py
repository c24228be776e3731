"""Whole modules of well-known ops: they compute what their plans mean, and their gradients are autograd's."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from symderive.emit.module import write_module
from symderive.lower.execute import execute
from tests.emit.plans import CASES
from tests.emit.running import as_torch, draw, module_of

LIBRARIES = ("torch", "numpy")


def drawn(case, batch=None):
    sizes = dict(case.sizes)
    if batch is not None and "..." in sizes:
        sizes["..."] = batch
    rng = np.random.default_rng(1)
    inputs = {r.name: draw(r, sizes, rng, classes=sizes.get("V", 4)) for r in case.op.forward.inputs}
    upstreams = {u: draw(case.op.backward.refs[u], sizes, rng) for u in case.op.upstreams}
    return sizes, inputs, upstreams


def meaning(case, sizes, inputs, upstreams):
    """The outputs and the gradients, by the plans' interpreter."""
    forward = execute(case.op.forward, inputs)
    numbers = {n: v for n, v in sizes.items() if n != "..."}
    backward = execute(case.op.backward, {**forward, **upstreams}, numbers)
    return [forward[o] for o in case.op.outputs], [backward[o] for o in case.op.backward.outputs]


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", CASES)
def test_module_computes_what_its_plans_mean(name, library, batch):
    case = CASES[name]()
    sizes, inputs, upstreams = drawn(case, batch)
    (y,), gradients = meaning(case, sizes, inputs, upstreams)
    module = module_of(write_module(case.op, library))
    convert = as_torch if library == "torch" else np.asarray
    output, saved = module["forward"](*map(convert, inputs.values()))
    got = module["backward"](saved, *map(convert, upstreams.values()))
    assert isinstance(saved, tuple)
    assert module["WRT"] == case.op.wrt
    np.testing.assert_allclose(output, y, rtol=1e-9, atol=1e-12)
    for g, expected in zip(got, gradients, strict=True):
        np.testing.assert_allclose(g, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_autograd(name):
    case = CASES[name]()
    _, inputs, upstreams = drawn(case)
    tensors = {n: as_torch(a) for n, a in inputs.items()}
    module = module_of(write_module(case.op))
    leaves = [tensors[w].requires_grad_() for w in case.op.wrt]
    output, saved = module["forward"](*tensors.values())
    (upstream,) = map(as_torch, upstreams.values())
    expected = torch.autograd.grad(output, leaves, upstream)
    got = module["backward"](tuple(s.detach() if isinstance(s, torch.Tensor) else s for s in saved), upstream)
    for g, e in zip(got, expected, strict=True):
        torch.testing.assert_close(g, e, rtol=1e-9, atol=1e-12)
        assert g.shape == e.shape


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_gradient_is_not_that_of_autograd(name):
    """The comparison above can fail: with its first product or sum changed, it does."""
    case = CASES[name]()
    text = write_module(case.op)
    head, _, backward = text.partition("def backward")
    wrong = backward.replace("return ", "return 2 * ", 1)
    if "return 2 * (" in wrong:
        wrong = wrong.replace("return 2 * (", "return (2 * ", 1)
    _, inputs, upstreams = drawn(case)
    module = module_of(f"{head}def backward{wrong}")
    right = module_of(text)
    _, saved = right["forward"](*map(as_torch, inputs.values()))
    first, second = (m["backward"](saved, *map(as_torch, upstreams.values()))[0] for m in (module, right))
    assert not torch.allclose(first, second)


@pytest.mark.parametrize("name", CASES)
def test_backward_can_be_differentiated(name):
    """In-place work on a tensor that autograd keeps would raise here."""
    case = CASES[name]()
    _, inputs, upstreams = drawn(case)
    module = module_of(write_module(case.op))
    tensors = [as_torch(a) for a in inputs.values()]
    leaves = [t.requires_grad_() for t in tensors if t.is_floating_point()]
    _, saved = module["forward"](*tensors)
    given = [as_torch(a).requires_grad_() for a in upstreams.values()]
    gradients = module["backward"](saved, *given)
    total = sum(g.square().sum() for g in gradients)
    assert all(
        g is None or g.isfinite().all() for g in torch.autograd.grad(total, [*leaves, *given], allow_unused=True)
    )


@pytest.mark.parametrize("name", CASES)
def test_torch_module_works_under_vmap(name):
    case = CASES[name]()
    _, inputs, upstreams = drawn(case)
    module = module_of(write_module(case.op))
    _, saved = module["forward"](*map(as_torch, inputs.values()))
    (upstream,) = map(as_torch, upstreams.values())
    several = torch.stack([upstream, 2 * upstream])
    got = torch.func.vmap(lambda u: module["backward"](saved, u))(several)
    for g, e in zip(got, module["backward"](saved, upstream), strict=True):
        torch.testing.assert_close(g[1], 2 * e)


def test_modules_pass_ruff(tmp_path):
    for name, make in CASES.items():
        for library in LIBRARIES:
            (tmp_path / f"{name}_{library}.py").write_text(write_module(make().op, library))
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length", "100", "--select", "E,F,W,I,B,UP"]
    done = subprocess.run([*command, "--ignore", "B905", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    (tmp_path / "bad.py").write_text("import os\n")
    assert subprocess.run([*command, str(tmp_path)], capture_output=True, check=False).returncode == 1


def test_modules_import_nothing_else():
    for make in CASES.values():
        assert "numpy" not in write_module(make().op, "torch")
        assert "torch" not in write_module(make().op, "numpy").replace("torch.nn", "")


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", CASES)
def test_module_text(name, library, golden):
    golden(f"emit/{name}_{library}.txt", write_module(CASES[name]().op, library))
