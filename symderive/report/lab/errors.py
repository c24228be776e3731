"""Errors of the derived gradients over random runs, against autograd of the same dtype and against float64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from symderive.check import sample
from symderive.check import sizes as sizing
from symderive.check.cells import WATCHED, Case, Cell, make_case
from symderive.check.devices import to_numpy
from symderive.check.kinds.same import own_noise
from symderive.check.ops import OpError, Run, TorchOp, run
from symderive.check.oracle import shape_of
from symderive.check.subject import Subject
from symderive.errors import SymderiveError
from symderive.record import record
from symderive.report.lab.data import ErrorRow, Kernels, Sizes

TRIES = 12
"""How often a point is drawn anew that is at a kink, or at which the forward is not finite."""


@record
class Bench:
    """The op on its table: prepared, with sizes and the seed of its random numbers."""

    subject: Subject
    sizes: Sizes
    seed: int

    @property
    def scalar(self) -> bool:
        """Whether the op has one output, a scalar, so that ``L.backward()`` needs no upstream."""
        spec = self.subject.spec
        return len(spec.outputs) == 1 and not spec.shapes[spec.outputs[0]]

    def point(self, number: int, attempt: int = 0) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Inputs and upstreams of one run, in float64; the upstream of a sole scalar output is 1."""
        spec, rng = self.subject.spec, np.random.default_rng([self.seed, number, attempt])
        if sizing.terms(spec, self.sizes) <= WATCHED:
            inputs = sample.away_from_kinks(spec, self.sizes, rng)
        else:
            scale = 1.0 if attempt < TRIES // 2 else sample.SCALES[attempt % len(sample.SCALES)]
            draw = sample.Draw(rng, scale=scale, positive=attempt >= TRIES // 2 and attempt % 2 == 1)
            inputs = sample.draw_inputs(spec, self.sizes, draw)
        upstreams = sample.draw_upstreams(spec, self.sizes, sample.Draw(rng))
        if self.scalar:
            upstreams = {name: np.ones(()) for name in upstreams}
        return inputs, upstreams

    def case(self, number: int, dtype: str, device: str = "cpu") -> Case:
        """One run as the dtype holds it, with its error bounds; the forward is finite there, away from kinks."""
        cell = Cell("report", dtype, device, dict(self.sizes), "author", self.seed)
        best: Case | None = None
        for attempt in range(TRIES):
            inputs, upstreams = self.point(number, attempt)
            case = make_case(self.subject, cell, inputs, upstreams)
            finite = all(np.isfinite(case.exact.values[o]).all() for o in self.subject.spec.outputs)
            if finite and not case.exact.touched:
                return case
            best = case if best is None or finite else best
        assert best is not None
        return best

    def tensors(self, case: Case, dtype: str, device: str = "cpu") -> tuple[list[Tensor], list[Tensor]]:
        """Inputs and upstreams as tensors."""
        return case.tensors(self.subject, dtype, device)

    def derived(self, case: Case, dtype: str, device: str = "cpu") -> Run:
        """The emitted code."""
        inputs, upstreams = self.tensors(case, dtype, device)
        with torch.no_grad():
            return run(self.subject.op, inputs, upstreams)

    def autograd(self, case: Case, dtype: str, device: str = "cpu") -> Run:
        """Autograd of the reference, or of the emitted forward where there is none."""
        inputs, upstreams = self.tensors(case, dtype, device)
        return run(self.subject.reference_op(dict(self.sizes)), inputs, upstreams)

    def leaves(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The inputs, those that are differentiated as leaves of a graph."""
        names = [i.name for i in self.subject.spec.inputs]
        wrt = self.subject.spec.wrt
        return [x.detach().requires_grad_() if n in wrt else x for n, x in zip(names, inputs, strict=True)]

    def wrt(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Of the inputs those that are differentiated."""
        names = [i.name for i in self.subject.spec.inputs]
        return [x for n, x in zip(names, inputs, strict=True) if n in self.subject.spec.wrt]

    def reference(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The outputs of the reference, or of the emitted forward where there is none."""
        made = self.subject.reference_op(dict(self.sizes))
        assert isinstance(made, TorchOp)
        result = made.function(*inputs)
        return result if isinstance(result, tuple) else (result,)

    def shape(self, tensor: str) -> tuple[int, ...]:
        """The extents of a tensor of the spec."""
        return shape_of(self.subject.spec.shapes[tensor], self.sizes)


def error_rows(bench: Bench, number: int, dtype: str, device: str) -> Iterator[ErrorRow]:
    """One row for each gradient of one run."""
    case = bench.case(number, dtype, device)
    got = bench.derived(case, dtype, device)
    true = bench.autograd(case, "float64")
    same = _same_dtype(bench, case, dtype, device)
    noise = own_noise(lambda d: bench.autograd(case, d).gradients, true.gradients)
    lost = overflowing(got.targets, true.targets)
    outputs = tuple(name for name in lost if name in got.outputs)
    for name, gradient in got.gradients.items():
        value, exact = to_numpy(gradient).astype(np.float64), to_numpy(true.gradients[name]).astype(np.float64)
        allowed = case.bounds.errors[name] + case.exact.errors[name] + noise[name]
        beside = None if same is None else most(value, to_numpy(same[name]).astype(np.float64))
        yield ErrorRow(
            number,
            name,
            dtype,
            device,
            beside,
            most(value, exact),
            _relative(value, exact),
            float(np.max(allowed, initial=0.0)),
            (*outputs, *(n for n in lost if n == name)),
        )


def _same_dtype(bench: Bench, case: Case, dtype: str, device: str) -> Mapping[str, Tensor] | None:
    try:
        return bench.autograd(case, dtype, device).gradients
    except (OpError, SymderiveError):
        return None


def most(got: np.ndarray, true: np.ndarray) -> float:
    """The largest difference of two arrays; equal infinities do not differ, NaN where one is and the other is not."""
    with np.errstate(all="ignore"):
        alike = (got == true) | (np.isnan(got) & np.isnan(true))
        apart = np.where(alike, 0.0, np.abs(got - true))
    return float(np.max(apart, initial=0.0))


def _relative(got: np.ndarray, true: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        apart = np.abs(got - true) / np.abs(true)
    return float(np.max(np.where(true == 0, 0.0, apart), initial=0.0))


def overflowing(got: Mapping[str, Tensor], true: Mapping[str, Tensor]) -> tuple[str, ...]:
    """The tensors with an entry that is finite in ``true`` only."""
    lost = []
    for name, tensor in got.items():
        if tensor.is_floating_point():
            missing = torch.isfinite(true[name].cpu()) & ~torch.isfinite(tensor.cpu())
            if bool(missing.any()):
                lost.append(name)
    return tuple(lost)


def kernels(bench: Bench, dtype: str = "float32") -> Kernels | None:
    """The operators of the two backward passes, as PyTorch dispatches them on the CPU; None where one cannot run."""
    from symderive.report.lab.memory import Operators

    case = bench.case(0, dtype)
    reference = bench.subject.reference_op(dict(bench.sizes))
    try:
        inputs, upstreams = bench.tensors(case, dtype)
        _, graph = reference.forward(*inputs)
        with Operators() as theirs:
            reference.backward(graph, *upstreams)
        with torch.no_grad():
            _, saved = bench.subject.op.forward(*inputs)
            with Operators() as ours:
                bench.subject.op.backward(saved, *upstreams)
    except (RuntimeError, SymderiveError, OpError):
        return None
    return Kernels(tuple(theirs.names), tuple(ours.names))
