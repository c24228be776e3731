"""``reference``: the forward against PyTorch's op, in float64 of the same inputs."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from symderive.check.cells import Case, Cell, compare, draw, judge, placement
from symderive.check.devices import to_numpy
from symderive.check.kinds.same import own_noise, same_dtype
from symderive.check.ops import named, run_forward
from symderive.check.results import CheckResult
from symderive.check.subject import Subject


def check_reference(subject: Subject, cell: Cell) -> Iterator[CheckResult]:
    """One row for each output."""
    if subject.reference is None:
        yield cell.result("forward", "skip", "no reference given")
        return
    case = draw(subject, cell)
    if case is None:
        yield cell.result("forward", "skip", "no inputs were found at which the forward is finite")
        return
    inputs, _ = case.tensors(subject, cell.dtype, cell.device)
    with torch.no_grad():
        outputs, _ = run_forward(subject.op, inputs)
    true = _reference(subject, cell, case, "float64", "cpu")
    noise = own_noise(lambda dtype: _reference(subject, cell, case, dtype, "cpu"), true)
    beside, note = same_dtype(cell, lambda dtype, device: _reference(subject, cell, case, dtype, device))
    for name, got in outputs.items():
        if got.shape != true[name].shape and subject.emitted:
            shapes = f"{list(got.shape)} in the forward, and {list(true[name].shape)} in the reference"
            yield cell.result(name, "fail", f"{name} has shape {shapes}")
            continue
        if wrong := placement(subject, cell, name, got, true[name].shape):
            yield cell.result(name, "fail", wrong)
            continue
        allowed = case.bounds.errors[name] + case.exact.errors[name] + noise[name]
        made = compare(to_numpy(got), to_numpy(true[name]), allowed)
        yield judge(cell, name, made, case, beside(name, got, note))


def _reference(subject: Subject, cell: Cell, case: Case, dtype: str, device: str) -> dict[str, torch.Tensor]:
    inputs, _ = case.tensors(subject, dtype, device)
    with torch.no_grad():
        output, _ = subject.reference_op(cell.sizes).forward(*inputs)
    return named(subject.spec.outputs, output, "the reference")
