"""``stability``: inputs at which a careless formula gives inf or NaN: large, equal, zero, saturated, masked by -inf.

The true gradient is computed with forty digits from the forward. Where it is finite and the dtype can hold it, the
op's must be finite too, and within the bound wherever there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from symderive.check import sample
from symderive.check import sizes as sizing
from symderive.check.cells import Case, Cell, compare, make_case
from symderive.check.compare import Comparison
from symderive.check.devices import to_numpy
from symderive.check.ops import run
from symderive.check.results import CheckResult
from symderive.check.rounding import ROUNDING
from symderive.check.subject import Subject
from symderive.check.tangent import true_gradients
from symderive.check.truth import EXACT, Truth, as_floats, exactly
from symderive.spec import model

CANCELLED = 1e-28
"""What may be left of terms of the exact gradient that cancel, beside its largest entry: it has forty digits, too."""

WORK = 150_000
"""Up to how many terms times entries the exact gradient is computed."""


def _either(rng: np.random.Generator, shape: tuple[int, ...], size: float) -> np.ndarray:
    return rng.choice([size, -size], shape)


def _masked(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers with -inf among them, none first along the last axis, so that no row is all -inf."""
    values = rng.integers(-3, 4, shape).astype(float)
    hidden = rng.random(shape) < 0.4
    if shape:
        hidden[..., 0] = False
    return np.where(hidden, -np.inf, values)


Fill = Callable[[np.random.Generator, "tuple[int, ...]"], np.ndarray]

PATTERNS: dict[str, Fill] = {
    "1e3 and -1e3": lambda rng, shape: _either(rng, shape, 1000.0),
    "zeros": lambda rng, shape: np.zeros(shape),
    "ties": lambda rng, shape: np.full(shape, 2.0),
    "40 and -40": lambda rng, shape: _either(rng, shape, 40.0),
}
"""What is put into every real input that the spec leaves free."""

MASK = "-inf in "
"""The pattern of one input with -inf among its entries, the others as they are drawn."""

CONSTRAINED = frozenset({"unit", "binary", "one_hot", "simplex", "symmetric", "spd"})


def check_stability(subject: Subject, cell: Cell) -> Iterator[CheckResult]:
    """One row for each output and gradient, over all patterns."""
    if sizing.terms(subject.spec, cell.sizes) * sizing.entries(subject.spec, cell.sizes) > WORK:
        yield cell.result("gradients", "skip", "too many terms to evaluate with many digits, even at small sizes")
        return
    totals: dict[str, Total] = {}
    for pattern in (*PATTERNS, *(MASK + n for n in subject.spec.wrt)):
        for target, made in _pattern(subject, cell, pattern).items():
            totals[target] = totals.get(target, Total()).with_(pattern, made)
    for target, total in totals.items():
        yield total.result(cell, target)


@dataclass(frozen=True)
class Total:
    """The comparisons of one target over the patterns so far: the first wrong one, or the worst."""

    worst: Comparison | None = None
    at: str = ""
    judged: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()

    def with_(self, pattern: str, made: Comparison) -> Total:
        """With one more pattern."""
        if not made.judged:
            return replace(self, missed=(*self.missed, pattern))
        done = replace(self, judged=(*self.judged, pattern))
        if self.worst is None or (made.wrong and not self.worst.wrong):
            return replace(done, worst=made, at=pattern)
        if not self.worst.wrong and made.max_abs_error > self.worst.max_abs_error:
            return replace(done, worst=made, at=pattern)
        return done

    def result(self, cell: Cell, target: str) -> CheckResult:
        """The row."""
        if self.worst is None:
            return cell.result(target, "skip", f"no finite true value at {', '.join(self.missed)}")
        if self.worst.wrong:
            return cell.result(target, "fail", f"at {self.at}: {self.worst.detail}", self.worst)
        missed = f"; no finite true value at {', '.join(self.missed)}" if self.missed else ""
        return cell.result(target, "pass", f"at {', '.join(self.judged)}{missed}", self.worst)


def extreme_inputs(spec: model.Spec, cell: Cell, pattern: str) -> dict[str, np.ndarray]:
    """A point after a pattern; inputs that the spec constrains are drawn as it says, ranges give their ends."""
    rng = cell.rng(pattern)
    point = sample.draw_inputs(spec, cell.sizes, sample.Draw(rng))
    masked = pattern.removeprefix(MASK) if pattern.startswith(MASK) else ""
    for tensor in spec.inputs:
        if not tensor.is_real or CONSTRAINED & set(tensor.assume) or (masked and tensor.name != masked):
            continue
        shape = point[tensor.name].shape
        if tensor.range:
            low, high = (float(v) for v in tensor.range)
            point[tensor.name] = low + (high - low) * rng.integers(0, 2, shape)
        elif not (masked and tensor.assume):
            fill = _masked if masked else PATTERNS[pattern]
            point[tensor.name] = _allowed(tensor, fill(rng, shape))
    return point


def _allowed(tensor: model.Input, values: np.ndarray) -> np.ndarray:
    """Values of a pattern under the assumptions that there are about signs."""
    if {"positive", "nonnegative"} & set(tensor.assume):
        values = np.abs(values) + (1e-3 if "positive" in tensor.assume else 0.0)
    return np.where(values == 0, 1.0, values) if "nonzero" in tensor.assume else values


def _pattern(subject: Subject, cell: Cell, pattern: str) -> dict[str, Comparison]:
    """Every output and gradient at one pattern."""
    point = extreme_inputs(subject.spec, cell, pattern)
    upstreams = sample.draw_upstreams(subject.spec, cell.sizes, sample.Draw(cell.rng("upstream")))
    case = make_case(subject, cell, point, upstreams, steady=True)
    if pattern.startswith(MASK) and not _is_mask(subject.spec, case):
        return dict.fromkeys(subject.spec.outputs + subject.gradients, NOTHING)
    true = true_values(subject, cell, case, formula=pattern.startswith(MASK))
    if not any(np.isfinite(t).any() for t in true.values()):
        return dict.fromkeys(true, NOTHING)
    inputs, given = case.tensors(subject, cell.dtype, cell.device)
    with torch.no_grad():
        got = run(subject.op, inputs, given).targets
    return {
        n: stable(to_numpy(t).astype(np.float64), true[n], case.bounds.errors[n], cell.dtype) for n, t in got.items()
    }


NOTHING = Comparison(0.0, 0.0, 0, 0, 0)
"""Nothing was judged."""


def _is_mask(spec: model.Spec, case: Case) -> bool:
    """Whether -inf hides entries: every tensor of the forward is a number or -inf, none inf or NaN."""
    values = [case.exact.values[n] for n in spec.shapes if n in case.exact.values]
    return not any(np.isnan(v).any() or np.isposinf(v).any() for v in values)


def true_values(subject: Subject, cell: Cell, case: Case, formula: bool = False) -> dict[str, np.ndarray]:
    """Outputs and gradients with forty digits, rounded to float64 once.

    Where the forward has no value (0/0 somewhere), its gradient has none. With ``formula`` a gradient counts as finite
    only where its index form is, too: 0 times -inf has no value there.
    """
    exact = {n: exactly(a) for n, a in case.all.items()}
    truth = Truth(subject.spec, subject.equations, exact, cell.sizes, EXACT)
    tensors = {e.tensor: as_floats(truth.whole(e.tensor)) for e in subject.spec.equations}
    outputs = {n: tensors[n] for n in subject.spec.outputs}
    if any(np.isnan(t).any() for t in tensors.values()):
        return outputs | {n: np.full(case.bounds.errors[n].shape, np.nan) for n in subject.gradients}
    slopes = true_gradients(subject.spec, exact, exact, cell.sizes, EXACT)
    gradients = {n: as_floats(g) for n, g in slopes.items()}
    if formula:
        for name, gradient in gradients.items():
            gradients[name] = np.where(np.isfinite(as_floats(truth.whole(name))), gradient, np.nan)
    return outputs | gradients


def stable(got: np.ndarray, true: np.ndarray, bound: np.ndarray, dtype: str) -> Comparison:
    """Right where there is a bound, else finite; nothing is asked where the truth does not fit the dtype."""
    if got.shape != true.shape:
        return compare(got, true, bound)
    largest = ROUNDING[dtype].largest
    with np.errstate(all="ignore"):
        asked = np.where(np.abs(true) <= largest, true, np.nan)
        bound = bound + ROUNDING["float64"].unit * np.abs(true) + CANCELLED * np.nanmax(np.abs(asked), initial=1.0)
        wide = np.where(np.isfinite(bound), bound, np.where(np.isfinite(got), np.inf, largest))
    return compare(got, asked, wide)
