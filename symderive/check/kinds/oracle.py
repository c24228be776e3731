"""``oracle``: outputs and gradients against the index form, evaluated entry by entry in float64 by other code.

At small sizes every entry is compared, and gradients also with the forward differentiated entry by entry, which knows
nothing of the derivation. At the author's sizes a thousand random entries are.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch

from symderive.check import sizes as sizing
from symderive.check.cells import Case, Cell, compare, draw, judge, placement
from symderive.check.compare import Comparison
from symderive.check.devices import to_numpy
from symderive.check.ops import run
from symderive.check.results import CheckResult
from symderive.check.subject import Subject
from symderive.check.tangent import true_gradients
from symderive.check.truth import EXACT, Entries, Truth, as_floats, exactly

ENTRIES = 1000
"""How many entries of a large tensor are compared."""

SECONDS = 20.0
"""How long the entries of one tensor may take at most; those done by then are compared."""

MANY = 1e6
"""The number of entries is cut down to so many terms."""

AFFORDABLE = 4e6
"""More terms than this for a single entry are not begun."""

WHOLE = 400_000
"""Up to how many terms times entries the forward is differentiated entry by entry."""


def check_oracle(subject: Subject, cell: Cell) -> Iterator[CheckResult]:
    """One row for each output and each gradient."""
    case = draw(subject, cell)
    if case is None:
        yield cell.result("forward", "skip", "no inputs were found at which the forward is finite")
        return
    inputs, upstreams = case.tensors(subject, cell.dtype, cell.device)
    with torch.no_grad():
        got = run(subject.op, inputs, upstreams).targets
    truth = Truth(subject.spec, subject.equations, case.all, cell.sizes)
    slopes = _slopes(subject, cell, case)
    for name, tensor in got.items():
        if wrong := placement(subject, cell, name, tensor, truth.shape(name)):
            yield cell.result(name, "fail", wrong)
            continue
        entries = _entries(truth, name, cell)
        if entries is None:
            yield cell.result(name, "skip", "too many terms to evaluate entry by entry at these sizes")
            continue
        values, bound = to_numpy(tensor).astype(np.float64), case.bounds.errors[name] + case.exact.errors[name]
        made = compare(entries.of(values), entries.values, entries.of(bound), entries.where)
        if made.wrong:
            entries = _settled(truth, name, entries, entries.of(values), entries.of(bound))
            made = compare(entries.of(values), entries.values, entries.of(bound), entries.where)
        if name in slopes and made.ok:
            beside = compare(values, slopes[name], bound)
            if beside.wrong:
                beside = compare(values, _exact_slopes(subject, cell, case)[name], bound)
            made = _worse(made, beside)
        yield judge(cell, name, made, case, _note(entries, truth.shape(name)))


def _entries(truth: Truth, name: str, cell: Cell) -> Entries | None:
    total = int(np.prod(truth.shape(name), dtype=np.int64))
    count = min(ENTRIES, total)
    while count > 1 and truth.cost(name, count) > MANY:
        count //= 2
    if truth.cost(name, max(count, 1)) > AFFORDABLE:
        return None
    return truth.entries(name, count, cell.rng(name), SECONDS)


def _settled(truth: Truth, name: str, entries: Entries, got: np.ndarray, bound: np.ndarray) -> Entries:
    """The entries that differ, evaluated again with exact numbers: a formula may cancel where its code does not.

    ``1 - sigmoid(x)`` loses in float64 what ``sigmoid(-x)`` keeps. It ends with the first that does differ.
    """
    with np.errstate(all="ignore"):
        doubtful = np.argwhere(~(np.abs(got - entries.values) <= bound) & np.isfinite(got))
    exact = replace(truth, point={n: exactly(a) for n, a in truth.point.items()}, domain=EXACT)
    values = entries.values.copy()
    end = time.monotonic() + SECONDS
    for place in doubtful:
        where = tuple(place)
        position = place if entries.where is None else entries.where[place[0]]
        values[where] = exact.entry(name, position)
        if not abs(got[where] - values[where]) <= bound[where] or time.monotonic() > end:
            break
    return replace(entries, values=values)


def _slopes(subject: Subject, cell: Cell, case: Case) -> dict[str, np.ndarray]:
    """The gradients by differentiating the forward entry by entry, where that is cheap."""
    work = sizing.terms(subject.spec, cell.sizes) * sizing.entries(subject.spec, cell.sizes)
    if work > WHOLE or case.touched:
        return {}
    gradients = true_gradients(subject.spec, case.inputs, case.upstreams, cell.sizes)
    return {name: as_floats(values) for name, values in gradients.items()}


def _exact_slopes(subject: Subject, cell: Cell, case: Case) -> dict[str, np.ndarray]:
    """The gradients by differentiating the forward entry by entry, with forty digits."""
    exact = {n: exactly(a) for n, a in case.all.items()}
    return {n: as_floats(g) for n, g in true_gradients(subject.spec, exact, exact, cell.sizes, EXACT).items()}


def _worse(a: Comparison, b: Comparison) -> Comparison:
    if b.wrong:
        detail = f"against the forward differentiated entry by entry: {b.detail}"
        return Comparison(b.max_abs_error, b.bound, b.wrong, b.judged, b.total, detail)
    return a if a.max_abs_error >= b.max_abs_error else b


def _note(entries: Entries, shape: tuple[int, ...]) -> str:
    if entries.where is None:
        return ""
    return f"{len(entries.where)} of {int(np.prod(shape, dtype=np.int64))} entries, chosen at random"
