"""How an op has to behave where torch traces it: ``torch.compile``, ``torch.export``, tensors without values.

Each function takes an emitted op and inputs, and raises :class:`symderive.check.ops_behaviour.WrongError`, or what
torch raises, where something is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch._inductor.exc import InductorError
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves

from symderive.check.ops_behaviour import Tensors, in_short, leaves, require, same, scalar
from symderive.check.ops_emitted import EmittedOp
from symderive.check.ops_point import Point
from symderive.check.rounding import COMPILED

WAYS: tuple[tuple[dict[str, Any], ...], ...] = (
    ({"dynamic": True},),
    ({"dynamic": False}, {"dynamic": True, "backend": "aot_eager"}),
)
"""How an op is compiled: by Inductor with dynamic shapes; where Inductor itself fails at those, each by itself."""


class CannotCompileError(Exception):
    """TorchInductor compiles nothing on this machine; the text says why."""


def compiled(op: EmittedOp, point: Point) -> None:
    """``torch.compile`` without a graph break, with dynamic shapes: outputs and gradients are those of eager mode."""
    for ways in WAYS:
        try:
            for options in ways:
                _compiled(op, point, options)
        except InductorError:
            if ways is WAYS[-1]:
                try_out()
                raise
        else:
            return


def try_out() -> None:
    """Raise :class:`CannotCompileError` where not even a sum is compiled: there may be no compiler that works."""
    torch._dynamo.reset()
    try:
        torch.compile(lambda x: x + 1)(torch.ones(2))
    except InductorError as error:
        raise CannotCompileError(in_short(error)) from error


def _compiled(op: EmittedOp, point: Point, options: dict[str, Any]) -> None:
    torch._dynamo.reset()
    function = torch.compile(op.function, fullgraph=True, **options)
    # Graphs are kept on disk by the names of the ops in them: one of an op as it was before would be taken.
    caches = torch._functorch.config, torch._inductor.config
    with caches[0].patch(enable_autograd_cache=False), caches[1].patch(fx_graph_cache=False):
        for given in (point.inputs, point.other):
            if given:
                same_results(op.function, function, given, point)


def same_results(eager: Callable[..., Any], other: Callable[..., Any], inputs: Tensors, point: Point) -> None:
    """Outputs and gradients of two functions agree."""
    found, wrt, bounds = [], point.wrt, point.bounds(inputs, COMPILED)
    for f in (other, eager):
        given = leaves(inputs, wrt)
        outputs = [o for o in tree_leaves(f(*given)) if o.is_floating_point()]
        total = sum(((o * o).sum() for o in outputs), torch.zeros((), dtype=torch.float64))
        grads = torch.autograd.grad(total, [given[n] for n in wrt], allow_unused=True) if total.requires_grad else ()
        found.append((outputs, list(grads)))
    (got, gradients), (wanted, true) = found
    real = [e for o, e in zip(tree_leaves(eager(*inputs)), bounds.of_outputs(), strict=True) if o.is_floating_point()]
    same("outputs", got, wanted, real)
    same("gradients", gradients, true, bounds.of_loss(linear=False) if true else [])


class _Module(torch.nn.Module):
    """A function as a module, which is what ``torch.export`` takes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        """The function's result."""
        return self.function(*inputs)


def transformed(op: EmittedOp, point: Point) -> None:
    """``torch.compile`` of a transform of ``torch.func``: the gradient is the derived one, in a graph or outside."""
    inputs, wrt, loss = point.inputs, point.wrt, scalar(op)

    def differentiated(*given: Tensor) -> Any:
        return torch.func.grad(loss, wrt)(*given)

    torch._dynamo.reset()
    parameters = tuple(torch.nn.Parameter(x) if n in wrt[1:] else x for n, x in enumerate(inputs))
    with importable(op.function):
        found = torch.compile(differentiated, backend="eager", fullgraph=True)(*parameters)
    same("torch.func.grad, compiled", found, differentiated(*inputs), point.bounds().of_loss())


@contextmanager
def importable(function: Callable[..., Any]) -> Iterator[None]:
    """Lets torch.compile import the function's module, which it does where another module calls the function."""
    names = function.__globals__
    module = ModuleType(names["__name__"])
    module.__dict__.update(names)
    added = sys.modules.setdefault(module.__name__, module) is module
    try:
        yield
    finally:
        if added:
            del sys.modules[module.__name__]


def exported(op: EmittedOp, point: Point) -> None:
    """The program that ``torch.export`` makes of the op gives the same outputs."""
    given = leaves(point.inputs, point.wrt)
    program = torch.export.export(_Module(op.function), given)
    same("the exported program", program.module()(*given), op.function(*given), point.bounds().of_outputs())


def fake(op: EmittedOp, inputs: Tensors, wrt: tuple[int, ...]) -> None:
    """Of tensors without values, outputs and gradients have the shapes and dtypes that they have of others."""
    true = _shapes(op, leaves(inputs, wrt), wrt)
    mode = FakeTensorMode()
    given = tuple(mode.from_tensor(x).requires_grad_(x.requires_grad) for x in leaves(inputs, wrt))
    with mode:
        found = _shapes(op, given, wrt)
    for (shape, dtype), (wanted, kind) in zip(found, true, strict=True):
        require(shape == wanted, f"of tensors without values, shape {list(shape)} for {list(wanted)}")
        require(dtype == kind, f"of tensors without values, {dtype} for {kind}")


def _shapes(op: EmittedOp, given: Tensors, wrt: tuple[int, ...]) -> list[tuple[torch.Size, torch.dtype]]:
    outputs = op.outputs(*given)
    moving = [o for o in outputs if o.requires_grad]
    want = [given[n] for n in wrt]
    ones = [torch.ones_like(o) for o in moving]
    grads = torch.autograd.grad(moving, want, ones, allow_unused=True) if moving else ()
    return [(t.shape, t.dtype) for t in (*outputs, *(g for g in grads if g is not None))]
