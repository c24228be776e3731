"""Emitted ops beside PyTorch's own: what a call costs, and forward and backward, eager and compiled."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from emitted import CASES, SPECS, Case, draw
from timing import Row, interleaved
from torch import Tensor

import symderive
from symderive.check.ops_emitted import EmittedOp, emitted
from symderive.check.prepare import prepare

CALLS = 200
"""So many calls are one measurement of what a call costs."""

Function = Callable[..., Tensor]


def overhead_rows(repeats: int) -> list[Row]:
    """A call of the emitted linear layer, 2x64 to 600, where the arithmetic is next to nothing, beside ``F.linear``.

    On one thread: waking a second one would cost more than the call.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return list(_overheads(repeats))
    finally:
        torch.set_num_threads(threads)


def _overheads(repeats: int) -> Iterator[Row]:
    inputs = (torch.randn(2, 64), torch.randn(600, 64), torch.randn(600))
    leaves = [x.clone().requires_grad_() for x in inputs]
    upstream = torch.randn(2, 600)
    for kind in ("autograd", "custom_op"):
        op = _op("linear", kind)
        ways = {
            "a call": (inputs, lambda output: output),
            "a call and its backward": (leaves, partial(torch.autograd.grad, inputs=leaves, grad_outputs=upstream)),
        }
        for what, (given, then) in ways.items():
            own, native = (partial(_calls, f, given, then) for f in (op.function, F.linear))
            times = [[t / CALLS for t in taken] for taken in interleaved(repeats, own, native)]
            yield Row(f"{kind} linear, 2x64x600, {what}", *times, "F.linear")


def _calls(function: Function, inputs: tuple[Tensor, ...], then: Callable[[Tensor], object]) -> None:
    for _ in range(CALLS):
        then(function(*inputs))


def rows(repeats: int) -> list[Row]:
    """Two rows for each case, eager and compiled."""
    return [row for case in CASES for row in _rows(case, repeats)]


def _rows(case: Case, repeats: int) -> Iterator[Row]:
    native = case.native or case.baseline
    op = _op(case.spec, "autograd")
    sizes = "x".join(str(n) for n in next(iter(case.shapes.values())))
    yield _row(f"autograd op {case.spec}, {sizes}, eager", case, op.function, native, "native, eager", repeats)
    if shutil.which("c++") is None:
        print("torch.compile needs a C++ compiler, and there is none", file=sys.stderr)
        return
    torch._dynamo.reset()
    both = (torch.compile(op.function), torch.compile(native))
    yield _row(f"autograd op {case.spec}, {sizes}, compiled", case, *both, "native, compiled", repeats)


def _row(name: str, case: Case, own: Function, native: Function, against: str, repeats: int) -> Row:
    leaves = [x.requires_grad_(x.is_floating_point()) for x in draw(case)]
    upstream = torch.randn_like(native(*leaves))
    steps = (partial(_step, f, leaves, upstream) for f in (own, native))
    measured, yardstick = interleaved(repeats, *steps, warm=3)
    return Row(name, measured, yardstick, against)


def _step(function: Function, leaves: list[Tensor], upstream: Tensor) -> None:
    torch.autograd.grad(function(*leaves), [x for x in leaves if x.requires_grad], upstream)


def _op(name: str, kind: str) -> EmittedOp:
    return emitted(prepare(symderive.load(SPECS / f"{name}.yaml")), kind)
