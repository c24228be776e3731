"""Emitted ops over the sample inputs of PyTorch's OpInfo database: forward, first and second derivative.

``python experiments/opinfo/run.py [SPEC...]`` writes ``REPORT.md`` here. It needs ``pip install expecttest``.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from compare import differences, emitted
from samples import SkipError, point
from table import TABLE
from torch.testing._internal.common_methods_invocations import op_db

from symderive.errors import SymderiveError

HERE = Path(__file__).parent
OPS = {o.name: o for o in reversed(op_db)}
LACKING = "is not implemented"
"""What PyTorch says where an op of its own has no second derivative, as a fused one has not."""
DTYPES = {"float64": torch.float64, "float32": torch.float32}


NOTES = {
    "hardsigmoid": "PyTorch multiplies by 1/6 rounded to float32, in float64, too: dx is 0.16666667163 for 1/6.",
    "bce": "PyTorch's second derivative has 1e-12 added to p and to 1 - p: it is off by 1e-11 of its value, and the "
    "emitted one by rounding.",
    "cosine_embedding": "PyTorch adds 1e-12 to the squares of the lengths, also of those that are not 0.",
}
"""Why a spec fails, where that is known."""


def outcome(name: str, sample: Any, dtype: str, order: int) -> tuple[str, str]:
    """What became of one sample: ``passed``, ``failed`` or ``skipped``, and why."""
    try:
        found = point(TABLE[name], sample)
        op = emitted(name, tuple(sorted(found.constants.items())))
    except SkipError as reason:
        return "skipped", str(reason)
    except SymderiveError as error:
        return "skipped", f"no spec with these constants: {error.message}"
    if not op.fits(found.inputs):
        return "skipped", "other shapes than the spec's"
    try:
        results = dict(differences(op, found, order, dtype))
    except Exception as error:
        if order > 1 and LACKING in str(error):
            return outcome(name, sample, dtype, 1)
        return "failed", f"{type(error).__name__}: {error}"
    wrong = [f"{n}: {text}" for n, text in results.items() if text not in ("", "kink", "undecided")]
    if wrong:
        return "failed", wrong[0]
    if "kink" in results.values():
        return "skipped", "at a kink; the outputs agree"
    return ("passed", "") if "" in results.values() else ("skipped", "no bound")


def row(name: str) -> tuple[str, Counter[str], list[str]]:
    """One line of the table, its counts, and what failed."""
    info = OPS[TABLE[name].op]
    order = 2 if info.supports_gradgrad else 1
    counts, reasons, failures = Counter[str](), Counter[str](), []
    for dtype, kind in DTYPES.items():
        for sample in info.sample_inputs("cpu", kind, requires_grad=False):
            status, why = outcome(name, sample, dtype, order)
            counts[status] += 1
            if status == "skipped":
                reasons[why] += 1
            elif status == "failed":
                failures.append(f"`{name}` in {dtype}, {describe(sample)}: {why}")
    tried = counts["passed"] + counts["failed"]
    why = "; ".join(f"{n} x {r}" for r, n in reasons.most_common(3))
    cells = (name, info.name, order, tried, counts["passed"], counts["failed"], counts["skipped"], why)
    return f"| {' | '.join(map(str, cells))} |", counts, failures


def describe(sample: Any) -> str:
    """The shapes and options of a sample."""
    parts = [*(sample.input, *sample.args), *(f"{k}={_shown(v)}" for k, v in sample.kwargs.items())]
    return ", ".join(_shown(part) for part in parts)


def _shown(value: Any) -> str:
    return str(list(value.shape)) if isinstance(value, torch.Tensor) else str(value)


def _known(failure: str) -> bool:
    return failure.split("`")[1] in NOTES


def _failures(failures: list[str]) -> list[str]:
    """What failed, and why."""
    failed = {name: [f for f in failures if f.startswith(f"`{name}`")] for name in TABLE}
    lines = []
    for name, found in failed.items():
        if found:
            lines += ["", f"`{name}`: {NOTES.get(name, 'not known why.')}", "", *(f"- {f}" for f in found)]
    return ["", "## What failed", *lines] if lines else []


def main(names: list[str]) -> None:
    """The table, printed and written."""
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    lines, total, failures = [], Counter[str](), []
    for name in names or TABLE:
        line, counts, wrong = row(name)
        lines.append(line)
        print(line, flush=True)
        total += counts
        failures += wrong
    print("\n".join(failures))
    if names:
        return
    report = [
        "# Emitted ops over PyTorch's own test data",
        "",
        f"The sample inputs of PyTorch {torch.__version__}'s OpInfo database, in float64 and float32: outputs,",
        "gradients and second derivatives of the emitted `autograd` op against the original in float64. What they may",
        "differ by is what a running error analysis of the emitted formulas allows at the sample, and what PyTorch's",
        "own result is off by, as in `symderive check`. `order` is 1 where PyTorch has no second derivative. A sample",
        "that the spec does not describe is skipped, with the reason. Made by `python experiments/opinfo/run.py`.",
        "",
        "A normalisation over a single entry has the gradient 0. The emitted ops give 0, PyTorch its own rounding",
        "(1e-13 for an upstream of 2 in float64), which counts as what its result is off by.",
        "",
        "| spec | OpInfo | order | tried | passed | failed | skipped | most frequent reasons |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        *lines,
        "",
        f"In all {total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped."
        + (" Where one failed PyTorch's own result is off, as is said below." if all(map(_known, failures)) else ""),
        *_failures(failures),
        "",
    ]
    (HERE / "REPORT.md").write_text("\n".join(report))


if __name__ == "__main__":
    main(sys.argv[1:])
