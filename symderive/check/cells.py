"""A cell of the matrix of checks, the point that belongs to it, and how a comparison becomes a result."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor

from symderive.check import sample
from symderive.check import sizes as sizing
from symderive.check.compare import Comparison, compare
from symderive.check.devices import DTYPES, rounded, to_torch
from symderive.check.results import CheckResult, Status
from symderive.check.rounding import ROUNDING
from symderive.check.subject import Bounds, Subject
from symderive.check.truth import Sizes
from symderive.spec import model

WATCHED = 2_000
"""Up to how many terms of the forward the sampler evaluates entry by entry to keep away from kinks."""

TRIES = 20


@dataclass(frozen=True)
class Cell:
    """One check in one dtype on one device at one set of sizes."""

    check: str
    dtype: str
    device: str
    sizes: Sizes
    label: str
    seed: int
    required: bool = False

    def rng(self, salt: str = "") -> np.random.Generator:
        """Random numbers that depend on the seed, the check and the sizes, and on neither dtype nor device."""
        text = f"{self.seed} {self.check} {sorted(self.sizes.items())} {salt}"
        return np.random.default_rng([self.seed, zlib.crc32(text.encode())])

    def result(self, target: str, status: Status, detail: str = "", made: Comparison | None = None) -> CheckResult:
        """A row for this cell."""
        row = CheckResult(self.check, target, status, self.dtype, self.device, dict(self.sizes), detail=detail)
        if made is None or not made.judged:
            return row
        return replace(row, max_abs_error=made.max_abs_error, bound=made.bound)


@dataclass(frozen=True)
class Case:
    """A point as the cell's dtype holds it, in float64, with the bounds there for that dtype and for float64."""

    inputs: Mapping[str, np.ndarray]
    upstreams: Mapping[str, np.ndarray]
    bounds: Bounds
    exact: Bounds

    @property
    def all(self) -> dict[str, np.ndarray]:
        """Inputs and upstreams."""
        return {**self.inputs, **self.upstreams}

    @property
    def touched(self) -> str:
        """The kinks that the point is at, in words; empty if it is at none."""
        return ", ".join(dict.fromkeys(self.exact.touched))

    def tensors(self, subject: Subject, dtype: str, device: str) -> tuple[list[Tensor], list[Tensor]]:
        """Inputs and upstreams as tensors, in the order of the op."""
        inputs = [to_torch(self.inputs[i.name], dtype, device) for i in subject.spec.inputs]
        return inputs, [to_torch(self.upstreams[n], dtype, device) for n in subject.upstreams]


def draw(subject: Subject, cell: Cell) -> Case | None:
    """A random point at which the forward is finite, away from kinks if one is found; None if it is finite nowhere."""
    return _remembered(subject, ("case", cell.dtype, *_key(cell)), lambda: _draw(subject, cell))


def _key(cell: Cell) -> tuple[Any, ...]:
    return cell.check, cell.seed, tuple(sorted(cell.sizes.items()))


def _remembered(subject: Subject, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    if key not in subject.memory:
        subject.memory[key] = make()
    return subject.memory[key]


def _draw(subject: Subject, cell: Cell) -> Case | None:
    best: Case | None = None
    for n in range(TRIES):
        point, upstreams = _remembered(subject, ("point", n, *_key(cell)), partial(_point, subject, cell, n))
        if not point:
            continue
        case = make_case(subject, cell, point, upstreams)
        finite = all(np.isfinite(case.exact.values[o]).all() for o in subject.spec.outputs)
        if finite and not case.exact.touched:
            return case
        best = case if finite and best is None else best
    return best


def _point(subject: Subject, cell: Cell, attempt: int) -> tuple[sample.Point, sample.Point]:
    """Inputs and upstreams. Where evaluating them entry by entry is cheap, inputs stay well away from kinks."""
    rng = cell.rng(str(attempt))
    avoided = [float(v) for v in sample.numbers_of(subject.spec)]
    if not attempt and sizing.terms(subject.spec, cell.sizes) <= WATCHED:
        point = sample.away_from_kinks(subject.spec, cell.sizes, rng)
    else:
        late = attempt > TRIES // 3
        scale = sample.SCALES[attempt % len(sample.SCALES)] if late else 1.0
        point = sample.draw_inputs(
            subject.spec, cell.sizes, sample.Draw(rng, scale=scale, positive=late and attempt % 2 == 1)
        )
    for tensor in subject.spec.inputs:
        if tensor.is_real and not tensor.assume and point:
            point[tensor.name] = _apart(point[tensor.name], avoided)
    return point, sample.draw_upstreams(subject.spec, cell.sizes, sample.Draw(rng))


def _apart(values: np.ndarray, avoided: Sequence[float]) -> np.ndarray:
    """Entries next to a number of the spec moved away, so that no dtype rounds them to it: its kinks may lie there."""
    for number in avoided:
        near = np.abs(values - number) <= 0.01 * max(abs(number), 1.0)
        values = np.where(near, number + 0.03 * max(abs(number), 1.0), values)
    return values


def make_case(
    subject: Subject,
    cell: Cell,
    point: Mapping[str, np.ndarray],
    upstreams: Mapping[str, np.ndarray],
    steady: bool = False,
) -> Case:
    """The point as the cell's dtype holds it; ``steady`` where its arithmetic is exact, so that no condition flips."""
    inputs, given = inside(subject.spec, point, cell.dtype), rounded(upstreams, cell.dtype)
    exact = subject.bounds({**inputs, **given}, cell.sizes, "float64", steady=steady)
    if cell.dtype == "float64":
        return Case(inputs, given, exact, exact)
    return Case(inputs, given, subject.bounds({**inputs, **given}, cell.sizes, cell.dtype, steady=steady), exact)


def inside(spec: model.Spec, point: Mapping[str, np.ndarray], dtype: str) -> dict[str, np.ndarray]:
    """The inputs rounded to the dtype, and still strictly inside of their ranges: 0.9999 rounds to 1 in bfloat16."""
    values = rounded(point, dtype)
    gap = 4 * ROUNDING[dtype].unit
    for tensor in spec.inputs:
        low, high = tensor.range or ((0, 1) if "unit" in tensor.assume else (None, None))
        if low is not None and high is not None and tensor.is_real:
            room = gap * float(high - low)
            values[tensor.name] = np.clip(values[tensor.name], float(low) + room, float(high) - room)
    return rounded(values, dtype)


def placement(subject: Subject, cell: Cell, target: str, got: Tensor, shape: Sequence[int]) -> str:
    """What is wrong with a result's shape, dtype or device; empty if nothing is."""
    if tuple(got.shape) != tuple(shape):
        return f"{target} has shape {list(got.shape)}, should be {list(shape)}"
    if subject.is_real(target) and got.dtype != DTYPES[cell.dtype]:
        return f"{target} is {str(got.dtype).removeprefix('torch.')}, should be {cell.dtype} as its inputs are"
    if got.device.type != cell.device.partition(":")[0]:
        return f"{target} is on {got.device}, should be on {cell.device}"
    return ""


def judge(cell: Cell, target: str, made: Comparison, case: Case, note: str = "") -> CheckResult:
    """A row for a comparison: what could not be judged is skipped, and says why."""
    if made.wrong:
        return cell.result(target, "fail", _join(made.detail, note), made)
    if made.undecided or made.vacuous:
        return cell.result(target, "skip", _join(_undecided(cell, target, made, case), note), made)
    if made.judged < made.total:
        note = _join(note, f"{made.total - made.judged} of {made.total} entries could not be judged")
    return cell.result(target, "pass", note, made)


def _undecided(cell: Cell, target: str, made: Comparison, case: Case) -> str:
    lost = [n for n in case.bounds.overflow if n not in case.bounds.errors or n == target]
    if lost:
        return f"{cell.dtype} overflows at these sizes ({', '.join(lost[:3])})"
    if made.vacuous:
        return f"rounding in {cell.dtype} allows errors as large as the values themselves here"
    return f"no bound: rounding in {cell.dtype} could move a denominator to 0 or flip an index here"


def _join(*parts: str) -> str:
    return "; ".join(p for p in parts if p)


__all__ = ["Case", "Cell", "compare", "draw", "judge", "make_case", "placement"]
