"""The checks of emitted ops: what PyTorch expects of an op of its own. One row for each kind of op.

Every check is a function of an emitted op, its inputs and its upstreams that raises ``AssertionError``, or what torch
raises, where something is wrong. A new one is a function and an entry of :data:`CHECKS`.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from symderive.check import ops_behaviour, ops_tracing, sizes
from symderive.check.cells import Cell, draw
from symderive.check.devices import to_torch
from symderive.check.kinds.gradcheck import STEP
from symderive.check.ops import OpError, run
from symderive.check.ops_emitted import KINDS, EmittedOp, emitted, kernels
from symderive.check.ops_point import Point
from symderive.check.results import CheckResult
from symderive.check.sample import Draw, draw_inputs, draw_upstreams
from symderive.check.subject import Subject
from symderive.spec.syntax import BATCH

NO_BATCHES = tuple(f"Batching rule not implemented for aten::{op}" for op in ("einsum", "alias"))
"""What torch says where ``vmap`` below autograd, which batched gradients use, lacks an operation."""

Check = Callable[[EmittedOp, Point], None]


def gradgradcheck(op: EmittedOp, point: Point) -> None:
    """Second derivatives against differences of the first ones, reverse over reverse and forward over reverse."""
    if any(o.requires_grad for o in op.outputs(*point.leaves())):
        for batched in (True, False):
            try:
                torch.autograd.gradcheck(op.function, point.leaves(), check_batched_grad=batched)
                torch.autograd.gradgradcheck(
                    op.function, point.leaves(), check_fwd_over_rev=True, check_batched_grad=batched
                )
            except RuntimeError as error:
                if not batched or not any(n in str(error) for n in NO_BATCHES):
                    raise
            else:
                return


def jvp(op: EmittedOp, point: Point) -> None:
    """Tangents against differences; ``torch.func`` in every order; what has no forward mode raises."""
    if not any(o.requires_grad for o in op.outputs(*point.leaves())):
        return
    torch.autograd.gradcheck(
        op.function, point.leaves(), check_forward_ad=True, check_backward_ad=False, check_batched_grad=False
    )
    ops_behaviour.transforms(op, point)
    ops_behaviour.registered_forward_mode(op, point.inputs, point.wrt)


def vmap(op: EmittedOp, point: Point) -> None:
    """A batch at once against one entry at a time: outputs and gradients, each input batched or not."""
    ops_behaviour.batches(op, point)


def opcheck(op: EmittedOp, point: Point) -> None:
    """``torch.library.opcheck`` with several inputs, and how the op behaves in a training run."""
    if op.op is not None:
        for inputs in (point.inputs, point.leaves(), tuple(map(ops_behaviour.strided, point.inputs))):
            torch.library.opcheck(op.op, inputs)
    for behaves in ops_behaviour.BEHAVIOURS:
        behaves(op, point)
    ops_tracing.fake(op, point.inputs, point.wrt)
    for inputs in point.empty.values():
        ops_behaviour.empty(op, inputs, point.wrt)


def compiles(op: EmittedOp, point: Point) -> None:
    """``torch.compile`` with dynamic shapes and without a graph break, at two sizes, and ``torch.export``."""
    ops_tracing.transformed(op, point)
    ops_tracing.exported(op, point)
    ops_tracing.compiled(op, point)


CHECKS: dict[str, Check] = {
    "gradgradcheck": gradgradcheck,
    "jvp": jvp,
    "vmap": vmap,
    "opcheck": opcheck,
    "compile": compiles,
}
"""The kinds of check, in the order in which they run."""

DIFFERENCES = ("gradgradcheck", "jvp")
"""Those that hold derivatives against differences."""


def check_kind(name: str) -> Callable[[Subject, Cell], Iterator[CheckResult]]:
    """The check of that kind, for the matrix."""

    def run(subject: Subject, cell: Cell) -> Iterator[CheckResult]:
        if not subject.emitted:
            yield cell.result("emitted ops", "skip", "checks emitted ops, not one's own")
            return
        if name == "compile" and not (shutil.which("c++") or shutil.which("g++")):
            yield cell.result("emitted ops", "skip", "torch.compile needs a C++ compiler, and there is none")
            return
        if subject.stops and name in DIFFERENCES:
            yield cell.result(
                "emitted ops", "skip", "the spec stops a gradient, and differences know nothing of stop(...)"
            )
            return
        point = _point(subject, cell)
        if isinstance(point, str):
            yield cell.result("emitted ops", "skip", point)
            return
        for kind in KINDS:
            yield judged(cell, kind, CHECKS[name], emitted(subject, kind), point)

    return run


def judged(cell: Cell, target: str, check: Check, op: EmittedOp, point: Point) -> CheckResult:
    """The row of one check of one op; whatever the op raises is a failure."""
    try:
        with warnings.catch_warnings(), torch.enable_grad(), ops_behaviour.comparing() as compared:
            warnings.simplefilter("ignore")
            check(op, point)
    except ops_tracing.CannotCompileError as error:
        return cell.result(target, "skip", f"TorchInductor compiles nothing here, not even a sum: {error}")
    except Exception as error:
        return cell.result(target, "fail", f"{type(error).__name__}: {ops_behaviour.in_short(error)}")
    said = next(iter((check.__doc__ or "").splitlines()), "")
    if not compared.undecided:
        return cell.result(target, "pass", said)
    unsaid = ", ".join(dict.fromkeys(compared.undecided))
    why = f"no bound: rounding could move a denominator to 0 or flip an index here ({unsaid})"
    passed = len(compared.undecided) < compared.count
    return cell.result(target, "pass" if passed else "skip", f"{said} Not judged, {why}" if passed else why)


def _point(subject: Subject, cell: Cell) -> Point | str:
    """A smooth point at the cell's sizes, or why there is none."""
    case = draw(subject, cell)
    if case is None:
        return "no inputs were found at which the forward is finite"
    touched = subject.bounds(case.all, cell.sizes, "float64", errors=STEP).touched
    if touched:
        return f"no point was found from which a small step crosses no kink ({', '.join(dict.fromkeys(touched))})"
    wrt = tuple(n for n, i in enumerate(subject.spec.inputs) if i.name in subject.spec.wrt)
    inputs, upstreams = case.tensors(subject, "float64", cell.device)
    other, empty = _other(subject, cell), _empty(subject, cell)
    return Point(kernels(subject), tuple(inputs), tuple(upstreams), wrt, other, empty)


def _other(subject: Subject, cell: Cell) -> tuple[Tensor, ...]:
    """Inputs of other sizes, with as many batch axes."""
    square = sizes.square(subject.spec)
    if square is None or cell.check != "compile":
        return ()
    batch = {BATCH: cell.sizes[BATCH]} if BATCH in cell.sizes else {}
    case = draw(subject, replace(cell, sizes=square | batch))
    return () if case is None else tuple(case.tensors(subject, "float64", cell.device)[0])


def _empty(subject: Subject, cell: Cell) -> dict[str, tuple[Tensor, ...]]:
    """Inputs with a size of 0, for every size that can be 0 in PyTorch's own op, or in the emitted functions."""
    if cell.check != "opcheck":
        return {}
    found = {}
    for given in sizes.degenerate(subject.spec):
        if 0 not in {e for n in given.values() for e in (n if isinstance(n, tuple) else (n,))}:
            continue
        rng = cell.rng()
        point = draw_inputs(subject.spec, given, Draw(rng)) | draw_upstreams(subject.spec, given, Draw(rng))
        inputs = [to_torch(point[i.name], "float64", cell.device) for i in subject.spec.inputs]
        upstreams = [to_torch(point[n], "float64", cell.device) for n in subject.upstreams]
        try:
            run(subject.op, inputs, upstreams)
        except OpError:
            continue  # ``layout`` says whether it should have been taken
        found[sizes.shown(given)] = tuple(inputs)
    return found
