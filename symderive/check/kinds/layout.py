"""``layout``: inputs and upstreams transposed, strided, expanded; sizes of 0 and 1; nothing modified in place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symderive.check import sizes as sizing
from symderive.check.cells import Case, Cell, compare, draw, judge, make_case, placement
from symderive.check.devices import to_numpy, to_torch
from symderive.check.ops import OpError, run
from symderive.check.results import CheckResult, fault
from symderive.check.sample import Draw, draw_inputs, draw_upstreams
from symderive.check.subject import Subject
from symderive.check.truth import Entries, Truth
from symderive.errors import SymderiveError


def transposed(x: Tensor) -> Tensor:
    """The same numbers with the last axis outermost in memory."""
    return x.movedim(-1, 0).contiguous().movedim(0, -1) if x.ndim > 1 else strided(x)


def strided(x: Tensor) -> Tensor:
    """The same numbers, every other one of a larger buffer."""
    if not x.ndim:
        return offset(x)
    buffer = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype, device=x.device)
    buffer[..., ::2] = x
    return buffer[..., ::2]


def offset(x: Tensor) -> Tensor:
    """The same numbers in the middle of a larger buffer."""
    buffer = torch.zeros(x.numel() + 3, dtype=x.dtype, device=x.device)
    buffer[1 : 1 + x.numel()] = x.reshape(-1)
    return buffer[1 : 1 + x.numel()].view(x.shape)


def expanded(x: Tensor) -> Tensor:
    """The first slice of the first axis, seen again and again with stride 0, as the backward of a sum gives it."""
    return x[:1].expand(x.shape) if x.ndim and x.shape[0] else x


LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": transposed,
    "strided": strided,
    "offset": offset,
    "expanded": expanded,
}
"""Other ways to lay the same numbers out; ``expanded`` repeats some instead."""


TERMS = 5_000
"""Up to how many terms of a tensor are computed entry by entry, for each size of 0 and 1."""


def check_layout(subject: Subject, cell: Cell) -> Iterator[CheckResult]:
    """One row for each layout, and one for each size of 0 and 1."""
    case = draw(subject, cell)
    if case is None:
        yield cell.result("layouts", "skip", "no inputs were found at which the forward is finite")
        return
    for name, change in LAYOUTS.items():
        yield _arranged(subject, cell, case, name, change)
    yield from _degenerate(subject, cell)


def _arranged(subject: Subject, cell: Cell, case: Case, name: str, change: Callable[[Tensor], Tensor]) -> CheckResult:
    """The same numbers laid out otherwise give the same results, and stay as they are."""
    plain, given = case.tensors(subject, cell.dtype, cell.device)
    inputs, upstreams = [change(x) for x in plain], [change(u) for u in given]
    before = [x.clone() for x in (*inputs, *upstreams)]
    same = [x.clone(memory_format=torch.contiguous_format) for x in before]
    with torch.no_grad():
        try:
            want = run(subject.op, same[: len(inputs)], same[len(inputs) :]).targets
        except OpError as error:
            if name != "expanded":
                raise
            return cell.result(name, "skip", f"the op has no value where a slice repeats: {error}")
        got = run(subject.op, inputs, upstreams).targets
        changed = [n for n, x, old in _named(subject, inputs, upstreams, before) if not torch.equal(x, old)]
        if changed:
            return cell.result(name, "fail", f"{', '.join(changed)} was modified in place")
    if name == "expanded":
        case = _seen(subject, cell, before)
    return _worst(subject, cell, name, case, got, {n: Entries(_numbers(t)) for n, t in want.items()})


def _seen(subject: Subject, cell: Cell, tensors: list[Tensor]) -> Case:
    """The case of the numbers that an expanded layout shows."""
    names = [i.name for i in subject.spec.inputs]
    arrays = [to_numpy(t) for t in tensors]
    point, upstreams = arrays[: len(names)], arrays[len(names) :]
    return make_case(
        subject, cell, dict(zip(names, point, strict=True)), dict(zip(subject.upstreams, upstreams, strict=True))
    )


def _named(subject: Subject, inputs: list[Tensor], upstreams: list[Tensor], before: list[Tensor]) -> Iterator[Any]:
    names = (*(i.name for i in subject.spec.inputs), *subject.upstreams)
    return zip(names, (*inputs, *upstreams), before, strict=True)


def _some(truth: Truth, name: str, cell: Cell) -> Entries:
    """A tensor as the index form has it; of one with too many terms, as many random entries as may be computed."""
    total = count = math.prod(truth.shape(name))
    while count > 1 and truth.cost(name, count) > TERMS:
        count //= 2
    if count == total:
        return Entries(truth.whole(name))
    return truth.entries(name, count, cell.rng(name), math.inf)


def _worst(  # noqa: PLR0917
    subject: Subject, cell: Cell, name: str, case: Case, got: dict[str, Tensor], want: dict[str, Entries]
) -> CheckResult:
    """One row for all results of a layout: the first wrong one, or the one with the largest error."""
    rows = []
    for target, tensor in got.items():
        if wrong := placement(subject, cell, target, tensor, case.bounds.errors[target].shape):
            return cell.result(name, "fail", wrong)
        entries = want[target]
        bound = entries.of(2 * case.bounds.errors[target])
        made = compare(entries.of(_numbers(tensor)), entries.values, bound, entries.where)
        row = judge(cell, name, made, case, f"in {target}" if made.wrong else "")
        if row.status == "fail":
            return row
        rows.append((row.status == "pass", made.max_abs_error, row))
    worst = max(rows, key=lambda r: r[:2])[2]
    chosen = [f"{len(e.where)} entries of {n}" for n, e in want.items() if e.where is not None]
    note = f"at random: {', '.join(chosen)}" if chosen else ""
    return replace(worst, detail="; ".join(part for part in (worst.detail, note) if part))


def _numbers(tensor: Tensor) -> np.ndarray:
    return to_numpy(tensor).astype(np.float64)


def _degenerate(subject: Subject, cell: Cell) -> Iterator[CheckResult]:
    """Sizes of 0 and 1, against the index form."""
    base = {k: v for k, v in cell.sizes.items() if isinstance(v, int)}
    for sizes in sizing.degenerate(subject.spec):
        label = sizing.shown({k: v for k, v in sizes.items() if base.get(k) != v})
        yield _at_sizes(subject, Cell(**{**vars(cell), "sizes": sizes}), f"size {label}")


def _at_sizes(subject: Subject, cell: Cell, target: str) -> CheckResult:
    """One row. Where PyTorch's own op refuses the sizes, so may this one."""
    try:
        return _compared(subject, cell, target)
    except OpError as error:
        refusal = _refusal(subject, cell) or (_empty_axis(error) if 0 in cell.sizes.values() else "")
        return cell.result(target, "skip" if refusal else "fail", refusal or str(error))
    except IndexError as error:
        if 0 in cell.sizes.values():
            return cell.result(target, "skip", "the forward reads an entry of an axis that has none here")
        return cell.result(target, "fail", fault(error))
    except Exception as error:
        return cell.result(target, "fail", fault(error))


def _refusal(subject: Subject, cell: Cell) -> str:
    """What the reference says to these sizes; empty where it takes them, or there is none."""
    if subject.reference is None:
        return ""
    rng = cell.rng()
    point = draw_inputs(subject.spec, cell.sizes, Draw(rng)) | draw_upstreams(subject.spec, cell.sizes, Draw(rng))
    inputs = [to_torch(point[i.name], cell.dtype, cell.device) for i in subject.spec.inputs]
    upstreams = [to_torch(point[n], cell.dtype, cell.device) for n in subject.upstreams]
    try:
        run(subject.reference_op(cell.sizes), inputs, upstreams)
    except (OpError, SymderiveError) as error:
        words = error.message if isinstance(error, SymderiveError) else str(error)
        return f"PyTorch's own op does not take this size: {words}"
    return ""


_REFUSALS = (
    *("to have non-zero size", "kernel size should be greater than zero", "greater than actual input size"),
    *("expected weight to be at least 1", "create a primitive descriptor", "non-positive groups is not supported"),
    *("maximum size for tensor at dimension", "the input is not positive-definite"),
)
"""What PyTorch says where it takes no maximum, or no convolution or windows, of nothing or by nothing, and what it says
of a matrix that is NaN because something was divided by 0."""


def _empty_axis(error: OpError) -> str:
    """What is to be said where PyTorch refuses something empty, whichever op it is that asks for it."""
    return f"PyTorch does not take this size: {error}" if any(r in str(error) for r in _REFUSALS) else ""


def _compared(subject: Subject, cell: Cell, target: str) -> CheckResult:
    rng = cell.rng()
    case = make_case(
        subject,
        cell,
        draw_inputs(subject.spec, cell.sizes, Draw(rng)),
        draw_upstreams(subject.spec, cell.sizes, Draw(rng)),
    )
    inputs, upstreams = case.tensors(subject, cell.dtype, cell.device)
    with torch.no_grad():
        got = run(subject.op, inputs, upstreams).targets
    truth = Truth(subject.spec, subject.equations, case.all, cell.sizes)
    want = {n: _some(truth, n, cell) for n in got}
    return _worst(subject, cell, target, case, got, want)
