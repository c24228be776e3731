"""``gradcheck``: gradients against finite differences of the op's own forward, every entry (slow mode), in float64.

Differences are central, at two steps, extrapolated after Richardson; what is allowed is the difference between the two
steps (the truncation) and the forward's own rounding over the step. The points are away from kinks. At kinks, where
differences mean nothing, gradients are held against the conventions of the language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from symderive.check import sample
from symderive.check.cells import Case, Cell, compare, draw, judge, make_case, placement
from symderive.check.compare import Comparison
from symderive.check.devices import to_numpy
from symderive.check.ops import run, run_forward
from symderive.check.oracle import shape_of
from symderive.check.results import CheckResult
from symderive.check.subject import Subject
from symderive.check.tangent import true_gradients
from symderive.check.truth import EXACT, as_floats, exactly
from symderive.spec import model, syntax

STEP = 2.0**-10
"""The larger of the two steps, relative to an input of size 1; a power of two, so that it is exact."""


def check_gradcheck(subject: Subject, cell: Cell) -> Iterator[CheckResult]:
    """One row for each gradient at a smooth point, and one for each at kinks, if there are any."""
    case = draw(subject, cell)
    if case is None:
        yield cell.result("gradients", "skip", "no inputs were found at which the forward is finite")
    else:
        yield from _smooth(subject, cell, case)
    yield from _at_kinks(subject, cell)


def _smooth(subject: Subject, cell: Cell, case: Case) -> Iterator[CheckResult]:
    """Gradients against differences at a point from which no step reaches a kink."""
    reached = subject.bounds(case.all, cell.sizes, "float64", errors=STEP).touched
    if reached:
        what = ", ".join(dict.fromkeys(reached))
        yield cell.result("gradients", "skip", f"no point was found from which a small step crosses no kink ({what})")
        return
    inputs, upstreams = case.tensors(subject, "float64", cell.device)
    with torch.no_grad():
        outputs, _ = run_forward(subject.op, inputs)
        for name, output in outputs.items():
            if wrong := placement(subject, cell, name, output, case.upstreams[f"d{name}"].shape):
                yield cell.result(name, "fail", wrong)
                return
        if _stops(subject.spec):
            for target, made in _compared(subject, cell, case).items():
                yield judge(cell, target, made, case, "entry by entry, since differences would pass a stop")
            return
        got = run(subject.op, inputs, upstreams).gradients
    for name in subject.spec.wrt:
        measured = differences(subject, cell, case, name)
        target = f"d{name}"
        made = compare(to_numpy(got[target]), measured.slopes, measured.allowed + case.bounds.errors[target])
        yield judge(cell, target, made, case)


def _stops(spec: model.Spec) -> bool:
    """Whether the forward hides anything from the gradient."""
    nodes = (n for e in spec.equations for n in e.right.walk())
    return any(isinstance(n, syntax.Call) and n.function == "stop" for n in nodes)


@dataclass(frozen=True)
class Differences:
    """Slopes measured for every entry of one input, and by how much they may be off."""

    slopes: np.ndarray
    allowed: np.ndarray


def differences(subject: Subject, cell: Cell, case: Case, name: str) -> Differences:
    """``(f(x + h) - f(x - h)) / 2h`` for ``f = sum upstream * output`` and each entry of the input ``name``."""
    wide = _central(subject, cell, case, name, STEP)
    narrow = _central(subject, cell, case, name, STEP / 2)
    noise = sum(float((np.abs(case.upstreams[f"d{o}"]) * case.bounds.errors[o]).sum()) for o in subject.spec.outputs)
    summed = sum(float(np.abs(case.upstreams[f"d{o}"] * case.bounds.values[o]).sum()) for o in subject.spec.outputs)
    rounding = 4 * (noise + 2.0**-53 * summed * (1 + _outputs(case, subject))) / STEP
    return Differences((4 * narrow - wide) / 3, np.abs(narrow - wide) + rounding)


def _outputs(case: Case, subject: Subject) -> int:
    return sum(case.upstreams[f"d{o}"].size for o in subject.spec.outputs)


def _central(subject: Subject, cell: Cell, case: Case, name: str, step: float) -> np.ndarray:
    x = case.inputs[name]
    slopes = np.empty(x.size)
    for n in range(x.size):
        ends = [_scalar(subject, cell, case, name, n, sign * step) for sign in (1, -1)]
        slopes[n] = (ends[0] - ends[1]) / (2 * step)
    return slopes.reshape(x.shape)


def _scalar(subject: Subject, cell: Cell, case: Case, name: str, entry: int, step: float) -> float:  # noqa: PLR0917
    """``sum upstream * output`` with one entry of one input moved."""
    inputs, upstreams = case.tensors(subject, "float64", cell.device)
    moved = inputs[[i.name for i in subject.spec.inputs].index(name)]
    moved.view(-1)[entry] += step
    with torch.no_grad():
        outputs, _ = run_forward(subject.op, inputs)
    return sum(float((o.double() * u).sum()) for o, u in zip(outputs.values(), upstreams, strict=True))


def _at_kinks(subject: Subject, cell: Cell) -> Iterator[CheckResult]:
    """Gradients at kinks and ties against the conventions of the language, by differentiating entry by entry."""
    points = sample.at_kinks(subject.spec, cell.sizes, cell.rng("kinks"))
    worst: dict[str, tuple[Comparison, Case]] = {}
    for point in points:
        upstreams = sample.draw_upstreams(subject.spec, cell.sizes, sample.Draw(cell.rng("upstream")))
        case = make_case(subject, cell, point, upstreams, steady=True)
        for target, made in _compared(subject, cell, case).items():
            if target not in worst or _order(made) > _order(worst[target][0]):
                worst[target] = made, case
    kinds = ", ".join(sorted(_kinds(subject, cell, points)))
    for target, (made, case) in worst.items():
        if not (made.undecided or made.vacuous):
            yield judge(cell, target, made, case, f"at kinks: {kinds}")


def _compared(subject: Subject, cell: Cell, case: Case) -> dict[str, Comparison]:
    inputs, upstreams = case.tensors(subject, "float64", cell.device)
    with torch.no_grad():
        got = run(subject.op, inputs, upstreams).gradients
    true = true_gradients(subject.spec, case.inputs, case.upstreams, cell.sizes)
    made = {n: compare(to_numpy(g), as_floats(true[n]), case.bounds.errors[n]) for n, g in got.items()}
    if any(m.wrong for m in made.values()):
        exact = {n: exactly(a) for n, a in case.all.items()}
        true = true_gradients(subject.spec, exact, exact, cell.sizes, EXACT)
        made = {n: compare(to_numpy(g), as_floats(true[n]), case.bounds.errors[n]) for n, g in got.items()}
    return made


def _order(made: Comparison) -> tuple[int, bool, float]:
    return made.wrong, not made.vacuous, made.max_abs_error


def _kinds(subject: Subject, cell: Cell, points: tuple[Mapping[str, np.ndarray], ...]) -> set[str]:
    """The names of the functions whose kinks the points are at."""
    found: set[str] = set()
    for point in points:
        kinks, _ = sample.passed(subject.spec, cell.sizes, point)
        found |= {k.kind for k in kinks if k.moves and not k.is_pole and k.distance == 0}
    return found


__all__ = ["check_gradcheck", "differences", "shape_of"]
