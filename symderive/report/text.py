"""Results as text: what failed comes first and in full, then what passed in a line a check, then what was skipped."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from symderive.check.results import CheckResult, Results, SpecResult

WIDTH = 110


def results_table(results: Results, verbose: bool = False) -> str:
    """All specs, then one line that says how it ended. ``verbose`` shows every row."""
    parts = [spec_table(s, verbose) for s in results.specs]
    if len(results.specs) > 1:
        parts.append(_summary(results))
    return "\n".join(parts)


def spec_table(spec: SpecResult, verbose: bool = False) -> str:
    """One spec: its failures, a table of what was checked, the reasons of what was not, and the verdict."""
    lines = [f"{spec.spec}  {spec.path}".rstrip()]
    if spec.error is not None:
        place = ":".join(str(spec.error[k]) for k in ("line", "column") if spec.error.get(k))
        lines.append(f"  ERROR {spec.path}{':' if place else ''}{place}: {spec.error['message']}")
        return "\n".join(lines) + "\n"
    groups = [[row] for row in spec.failures] if verbose else alike(spec.failures)
    for n, rows in enumerate(groups):
        lines += _failure(rows, n if not verbose else 0)
    if spec.failures:
        lines += [_next(spec, spec.failures[0]), ""]
    lines += _rows(spec.checks) if verbose else _kinds(spec.checks)
    lines += _skips(spec.checks)
    return "\n".join([*lines, _verdict(spec)]) + "\n"


def alike(rows: Iterable[CheckResult]) -> list[list[CheckResult]]:
    """Failures that are one to whoever reads them: of one check and tensor, or that say the same but for numbers."""
    found: dict[tuple[Any, ...], list[CheckResult]] = {}
    for row in rows:
        words = re.sub(r"\d+", "#", row.detail)
        key = ("", words) if row.max_abs_error is None else (row.check, row.target)
        found.setdefault((row.line, row.side, row.text, *key), []).append(row)
    return list(found.values())


def _failure(rows: Sequence[CheckResult], number: int) -> list[str]:
    """Failed rows that are alike: where the first stands and how many more there are on a line, below what is wrong."""
    if number >= MOST:
        return ["  ... and more: --verbose shows them all"] if number == MOST else []
    row = rows[0]
    measured = "" if row.max_abs_error is None else f"  error {row.max_abs_error:.2g}, allowed {row.bound or 0:.2g}"
    if row.check == "claim":
        return [f"  FAIL  claim, line {row.line}: {row.text}", *_indented(_verdict_words(row)), *_counterexample(row)]
    checks = dict.fromkeys(r.check for r in rows)
    name = ", ".join(checks) if len(checks) > 1 or row.target in checks else f"{row.check} of {row.target}"
    more = f"  and {len(rows) - 1} more like it" if len(rows) > 1 else ""
    return [f"  FAIL  {name}{_where(row)}{measured}{more}", *_indented(row.detail)]


def _indented(text: str) -> list[str]:
    margin = " " * (8 + len(text) - len(text.lstrip()))
    return textwrap.wrap(text.lstrip(), WIDTH, initial_indent=margin, subsequent_indent=margin)


def _verdict_words(row: CheckResult) -> str:
    """The verdict on a claim and what is wrong with it."""
    found = row.diagnosis or {}
    kind = f" ({found['kind']})" if found.get("kind") else ""
    words = [f"{row.verdict or 'not judged'}{kind}: {found.get('sentence') or row.detail}"]
    if found.get("condition"):
        words.append(f"It holds only under a condition: {found['condition']}.")
    if row.detail and found.get("sentence"):
        words.append(row.detail)
    return " ".join(words)


def _counterexample(row: CheckResult) -> list[str]:
    """Where the claim and the truth differ, and the right formula."""
    found = row.diagnosis or {}
    lines = []
    if example := found.get("counterexample"):
        at = ", ".join(f"{k}={v}" for k, v in {**(example.get("sizes") or {}), **_places(example)}.items())
        lines += _indented(f"at {at}: claimed {example.get('claimed')}, true {example.get('true')}")
    if found.get("correction"):
        first, *more = found["correction"].splitlines()
        lines += [line for part in (f"right: {first}", *(f"       {m}" for m in more)) for line in _indented(part)]
    return lines


def _places(example: Mapping[str, Any]) -> dict[str, Any]:
    indices = example.get("indices") or {}
    return dict(indices) if isinstance(indices, Mapping) else {"entry": indices}


MOST = 12
"""How many failures are shown in full."""


def _where(row: CheckResult) -> str:
    parts = [p for p in (row.dtype, row.device, sizes_text(row)) if p]
    return f"  [{', '.join(parts)}]" if parts else ""


def sizes_text(row: CheckResult) -> str:
    """``N=2 K=64 ...=(4, 8)``."""
    return " ".join(f"{k}={v}" for k, v in (row.sizes or {}).items())


def _next(spec: SpecResult, row: CheckResult) -> str:
    """What to do about the first failure."""
    what = AT_KINKS if AT_KINKS_MARK in row.detail else NEXT.get(row.check, "")
    gradient = row.max_abs_error is not None and row.target.startswith("d")
    if spec.op and what != AT_KINKS:
        what = OWN.get(row.check) or (OWN_GRADIENT if gradient else OWN_OUTPUT)
        what = OWN_FAILED if row.max_abs_error is None and row.check != "layout" else what
    wrt = f" --wrt {row.target.removeprefix('d')}" if gradient else ""
    words = what.format(path=spec.path or spec.spec, target=row.target, wrt=wrt, op=spec.op)
    return f"  next: {words}" if words else ""


AT_KINKS_MARK = "at kinks: "
AT_KINKS = (
    "at a kink the derivative is PyTorch's for the op of that name: relu, abs 0; max(a, b) one half each; clamp 1"
)

NEXT = {
    "reference": "the forward of {path} and its reference compute different things; compare the lines of {target}",
    "oracle": "the code does not compute the index form; 'symderive derive {path}{wrt}' prints both",
    "autograd": "'symderive derive {path}{wrt}' prints how {target} was derived, step by step",
    "gradcheck": "the backward is not the derivative of the forward; 'symderive derive {path}{wrt}' prints it",
    "stability": "rewrite the forward of {path} so that nothing overflows there, with logsumexp, softmax or softplus",
    "layout": "the code depends on how its inputs lie in memory: no view, stride or size may be taken for granted",
    "claim": "correct the line, or the forward that it is about",
}
"""What to do next when a check of that kind fails."""


OWN = {
    "stability": "{op} computes inf or NaN, or loses every digit, where the true value is plain: rewrite that line",
    "layout": "{op} depends on how its inputs lie in memory: no view, stride or size may be taken for granted",
}
OWN_OUTPUT = "the forward of {op} is not that of {path}: compare the lines of {target}"
OWN_GRADIENT = "{target} of {op} is not the gradient; 'symderive derive {path}{wrt}' prints the right one"
OWN_FAILED = "mend {op} there first, or name with --dtype and --device what it is made for"
"""What to do next where someone's own implementation was checked."""


def _kinds(rows: Sequence[CheckResult]) -> list[str]:
    """One line a kind of check: how many passed, in what, and how near to what was allowed."""
    lines = []
    for kind in dict.fromkeys(r.check for r in rows):
        own = [r for r in rows if r.check == kind]
        passed = [r for r in own if r.status == "pass"]
        failed = sum(r.status == "fail" for r in own)
        skipped = sum(r.status == "skip" for r in own)
        counts = (
            f"{len(passed):>4} passed"
            + (f", {failed} failed" if failed else "")
            + (f", {skipped} skipped" if skipped else "")
        )
        lines.append((f"  {kind:<11}{counts}", _span(passed), _nearest(passed)))
    width = max((len(a) for a, _, _ in lines), default=0)
    return [f"{a:<{width}}  {b}{c}".rstrip() for a, b, c in lines]


def _span(rows: Iterable[CheckResult]) -> str:
    dtypes = dict.fromkeys(r.dtype for r in rows if r.dtype)
    devices = dict.fromkeys(r.device for r in rows if r.device)
    return f"{', '.join(dtypes)} on {', '.join(devices)}" if dtypes else ""


def _nearest(rows: Sequence[CheckResult]) -> str:
    """The row that came nearest to what it was allowed."""
    measured = [r for r in rows if r.max_abs_error is not None and r.bound is not None]
    if not measured:
        return ""
    worst = max(measured, key=lambda r: r.ratio)
    return f"; nearest {worst.max_abs_error:.1e} of {worst.bound:.1e} allowed ({worst.target}, {worst.dtype})"


def _rows(rows: Sequence[CheckResult]) -> list[str]:
    """Every row that did not fail, as a table."""
    cells = [("check", "target", "dtype", "device", "sizes", "error", "allowed", "")]
    for row in rows:
        if row.status != "fail":
            error, bound = (("" if v is None else f"{v:.1e}") for v in (row.max_abs_error, row.bound))
            own = (row.dtype or "", row.device or "", sizes_text(row), error, bound, row.status)
            cells.append((row.check, row.target, *own))
    widths = [max(len(r[n]) for r in cells) for n in range(len(cells[0]))]
    return ["  " + "  ".join(f"{c:<{w}}" for c, w in zip(r, widths, strict=True)).rstrip() for r in cells]


def _skips(rows: Sequence[CheckResult]) -> list[str]:
    """The reasons of what was skipped, each once, with the checks that it concerns; several devices share a line."""
    reasons: dict[str, list[CheckResult]] = {}
    for row in rows:
        if row.status == "skip":
            reasons.setdefault(
                row.detail.replace(row.device or "", DEVICE, 1) if row.device else row.detail, []
            ).append(row)
    lines = []
    for reason, own in reasons.items():
        kinds = ", ".join(dict.fromkeys(r.check for r in own))
        devices = " or ".join(dict.fromkeys(r.device for r in own if r.device))
        text = f"skipped {len(own)} ({kinds}): {reason.replace(DEVICE, devices)}"
        lines += textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")
    return lines


DEVICE = "\0"
"""Stands for the name of a device in a reason."""


def _verdict(spec: SpecResult) -> str:
    counts = {s: sum(r.status == s for r in spec.checks) for s in ("pass", "fail", "skip")}
    words = f"{counts['pass']} passed, {counts['fail']} failed, {counts['skip']} skipped"
    note = " (nothing was checked)" if not counts["pass"] and not counts["fail"] else ""
    return f"  {spec.status.upper()}  {words}{note}"


def _summary(results: Results) -> str:
    ok = sum(s.ok for s in results.specs)
    bad = [s.spec for s in results.specs if not s.ok]
    return f"{ok} of {len(results.specs)} specs pass" + (f"; not: {', '.join(bad)}" if bad else "") + "\n"
