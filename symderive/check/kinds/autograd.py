"""``autograd``: gradients against autograd of the reference, in float64 of the same inputs.

On ``meta`` there are no numbers: shapes, dtypes and placement are checked, which catches a constant made on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from symderive.check.cells import Case, Cell, compare, draw, judge, placement
from symderive.check.devices import to_numpy
from symderive.check.kinds.same import own_noise, same_dtype
from symderive.check.ops import OpError, Run, run
from symderive.check.oracle import shape_of
from symderive.check.results import CheckResult
from symderive.check.subject import Subject


def check_autograd(subject: Subject, cell: Cell) -> Iterator[CheckResult]:
    """One row for each gradient."""
    case = draw(subject, cell)
    if case is None:
        yield cell.result("gradients", "skip", "no inputs were found at which the forward is finite")
        return
    if cell.device == "meta":
        yield from _on_meta(subject, cell, case)
        return
    if case.touched:
        yield cell.result(
            "gradients", "skip", f"every point tried is at a kink ({case.touched}), where autograd may differ"
        )
        return
    if subject.reference is None and subject.stops:
        yield cell.result(
            "gradients", "skip", "no reference given, and autograd of the code knows nothing of stop(...)"
        )
        return
    inputs, upstreams = case.tensors(subject, cell.dtype, cell.device)
    with torch.no_grad():
        got = run(subject.op, inputs, upstreams)
    true = _autograd(subject, cell, case, "float64", "cpu")
    noise = own_noise(lambda d: _autograd(subject, cell, case, d, "cpu"), true)
    beside, dtype = same_dtype(cell, lambda d, device: _autograd(subject, cell, case, d, device))
    for name, gradient in got.gradients.items():
        if wrong := placement(subject, cell, name, gradient, true[name].shape):
            yield cell.result(name, "fail", wrong)
            continue
        allowed = case.bounds.errors[name] + case.exact.errors[name] + noise[name]
        made = compare(to_numpy(gradient), to_numpy(true[name]), allowed)
        note = "; ".join(p for p in (beside(name, gradient, dtype), _overflow(cell, case, got)) if p)
        yield judge(cell, name, made, case, note)


def _autograd(subject: Subject, cell: Cell, case: Case, dtype: str, device: str) -> dict[str, Tensor]:
    inputs, upstreams = case.tensors(subject, dtype, device)
    return run(subject.reference_op(cell.sizes), inputs, upstreams).gradients


def _overflow(cell: Cell, case: Case, got: Run) -> str:
    """Outputs that are too large for the dtype, and whether the gradients are finite all the same."""
    lost = [n for n, t in got.outputs.items() if n in case.bounds.overflow and not torch.isfinite(t).all()]
    if not lost:
        return ""
    finite = all(bool(torch.isfinite(g).all()) for g in got.gradients.values())
    after = "gradients are finite" if finite else "so do the gradients"
    return f"the forward overflows {cell.dtype} at these sizes ({', '.join(lost)}); {after}"


MIXED = ("same device", "expected device", "at least two devices")
"""What PyTorch says where a tensor lies on another device than its inputs."""


def _on_meta(subject: Subject, cell: Cell, case: Case) -> Iterator[CheckResult]:
    """Shapes, dtypes and devices. Someone's own kernel need not run there, but must not mix devices.

    What reads a number off a tensor (``item()``) cannot run there either.
    """
    inputs, upstreams = case.tensors(subject, cell.dtype, cell.device)
    try:
        with torch.no_grad():
            got = run(subject.op, inputs, upstreams)
    except OpError as error:
        text = str(error)
        mixed = any(words in text for words in MIXED)
        if mixed and not subject.emitted:
            text += "; a tensor made without device= fails on a GPU, too"
        failed = mixed or (subject.emitted and "item()" not in text)
        yield cell.result("gradients", "fail" if failed else "skip", text)
        return
    tensors = subject.spec.shapes
    shapes = {n: shape_of(tensors[n[1:] if n in got.gradients else n], cell.sizes) for n in got.targets}
    for name, tensor in got.targets.items():
        wrong = placement(subject, cell, name, tensor, shapes[name])
        if wrong or name in got.gradients:
            yield cell.result(name, "fail" if wrong else "pass", wrong or "shape, dtype and device")
