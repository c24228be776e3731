"""What the errors say. Every sentence is chosen by the numbers: other numbers, another sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from symderive.report.lab.data import ErrorRow, Kernels, Lab, Orders, Summary, summaries
from symderive.report.lab.words import all_runs, code, number, plural, runs
from symderive.wording import listed

CLOSE = 1e-5
"""Differences from autograd below this are counted."""

ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}


def error_findings(lab: Lab) -> dict[tuple[str, str], list[str]]:
    """The sentences about the errors, for each device and dtype."""
    found: dict[tuple[str, str], list[str]] = {}
    table = lab.summaries
    for key in dict.fromkeys((s.device, s.dtype) for s in table):
        own = [s for s in table if (s.device, s.dtype) == key]
        rows = [r for r in lab.rows if (r.device, r.dtype) == key]
        found[key] = [
            *_against_autograd(own, lab.kernels.get(key[1]) if key[0] == "cpu" else None),
            *_counted(rows, key[1]),
            *(_against_float64(own) if key[1] != "float64" else ()),
            *_overflow(rows, own, [k.name for k in lab.derived]),
        ]
    return found


def _where(own: Sequence[Summary]) -> str:
    first = own[0]
    return f"in {first.dtype}" if first.device == "cpu" else f"in {first.dtype} on {first.device}"


def _against_autograd(own: Sequence[Summary], kernels: Kernels | None) -> Iterator[str]:
    known = [s for s in own if s.autograd is not None]
    if not known:
        yield f"PyTorch cannot run the reference {_where(own)}, so nothing of the same dtype is there to compare with."
        return
    exact, apart = [s for s in known if s.exact], [s for s in known if not s.exact]
    if exact:
        who = "Every gradient" if not apart else code(s.gradient for s in exact)
        verb = "equals" if not apart or len(exact) == 1 else "equal"
        yield f"{who} {verb} autograd's to the last bit in {all_runs(own[0].runs)}: the difference is exactly 0."
        if not apart:
            yield from _why_exact(own, kernels)
    if apart:
        values = listed(f"{number(s.autograd[1])} (`{s.gradient}`)" for s in apart if s.autograd)
        yield f"The largest difference from autograd of the same dtype is {values}."


def _why_exact(own: Sequence[Summary], kernels: Kernels | None) -> Iterator[str]:
    off = [s for s in own if s.float64[1] > 0]
    if kernels is not None and kernels.shared:
        ops = code(f"aten::{k}" for k in kernels.shared)
        yield f"Both backward passes call {ops}, and with the same numbers they round alike."
    if off and own[0].dtype != "float64":
        yield "So this agreement is no measure of accuracy; the error against float64 is."


def _counted(rows: Sequence[ErrorRow], dtype: str) -> Iterator[str]:
    """How many comparisons with autograd are close; of float32 only, where that is what one asks."""
    known = [r for r in rows if r.autograd is not None]
    if dtype != "float32" or not known:
        return
    near = sum(r.autograd < CLOSE for r in known if r.autograd is not None)
    yield f"{near} of {len(known)} comparisons with autograd ({runs(len({r.run for r in known}))}, " + (
        f"{plural(len({r.gradient for r in known}), 'gradient')}) differ by less than {CLOSE:g}."
    )


def _against_float64(own: Sequence[Summary]) -> Iterator[str]:
    if all(s.float64[1] == 0 for s in own):
        yield "Against float64 of the same inputs there is no error at any entry."
        return
    finite = [s for s in own if math.isfinite(s.float64[1])]
    lost = [s for s in own if not math.isfinite(s.float64[1])]
    if finite:
        values = listed(f"{number(s.float64[1])} for `{s.gradient}`" for s in finite)
        yield f"Against float64 of the same inputs the largest error is {values}."
    if lost:
        yield f"{code(s.gradient for s in lost)} came out as inf or NaN where float64 is finite."
    yield from _allowed(finite)


def _allowed(own: Sequence[Summary]) -> Iterator[str]:
    over = [s for s in own if not s.float64[1] <= s.bound]
    if over:
        values = listed(f"`{s.gradient}` ({number(s.float64[1])} of {number(s.bound)})" for s in over)
        yield f"That is more than the error analysis allows for {values}: rounding does not explain it."
        return
    bounded = [s for s in own if math.isfinite(s.bound) and s.bound > 0]
    if bounded:
        near = max(bounded, key=lambda s: s.float64[1] / s.bound)
        part = near.float64[1] / near.bound
        share = f"{100 * part:.0f} %" if part >= 0.01 else "less than 1 %"
        yield (
            "All of that is rounding that the error analysis allows; nearest to its bound is "
            f"`{near.gradient}` with {share}."
        )


def _overflow(rows: Sequence[ErrorRow], own: Sequence[Summary], read: Sequence[str]) -> Iterator[str]:
    """Outputs that overflow, and what becomes of the gradients; ``read`` is what the derived backward reads."""
    gradients = {s.gradient for s in own}
    lost: dict[str, set[int]] = {}
    for row in rows:
        for name in row.overflow:
            lost.setdefault(name, set()).add(row.run)
    total = len({r.run for r in rows})
    outputs = {n: hit for n, hit in lost.items() if n not in gradients}
    for name, hit in outputs.items():
        yield f"The forward overflows: `{name}` is not finite in {len(hit)} of {runs(total)}."
    bad = [n for n in lost if n in gradients]
    if outputs and not bad:
        worst = max(own, key=lambda s: s.float64[1])
        why = "" if set(outputs) & set(read) else f" (the backward does not read {code(outputs)})"
        yield (
            f"The gradients are finite all the same{why}; they are off by up to "
            f"{number(worst.float64[1])} (`{worst.gradient}`)."
        )
    elif bad:
        parts = listed(f"`{n}` in {len(lost[n])}" for n in bad)
        yield f"Of the gradients {parts} of {runs(total)} {'has' if len(bad) == 1 else 'have'} entries that overflow."


def degrading(lab: Lab) -> Iterator[str]:
    """How the errors grow from float32 to the low precisions, a sentence a dtype."""
    table = {(s.device, s.dtype, s.gradient): s for s in lab.summaries}
    for dtype in ("bfloat16", "float16"):
        grown = {}
        for (device, kind, gradient), low in table.items():
            base = table.get((device, "float32", gradient))
            if device == "cpu" and kind == dtype and base is not None and 0 < base.float64[1] < math.inf:
                grown[gradient] = low.float64[1] / base.float64[1]
        values = listed(f"{number(v)} times (`{n}`)" for n, v in grown.items() if math.isfinite(v))
        if values:
            unit = ROUNDOFF[dtype] / ROUNDOFF["float32"]
            yield f"From float32 to {dtype} the unit roundoff grows {unit:g} times, and the largest error {values}."


def order_findings(lab: Lab) -> list[str]:
    """What summing in two orders shows."""
    orders = lab.orders
    if not orders:
        return ["No gradient has few enough terms to be summed one at a time here, so nothing was measured."]
    same, apart = [o for o in orders if o.apart == 0], [o for o in orders if o.apart != 0]
    found = []
    if apart:
        values = listed(f"{number(o.apart)} for `{o.gradient}`" for o in apart)
        found.append(
            f"The same formula on the same float32 inputs, summed in another order, gives other numbers: {values}."
        )
    if same:
        found.append(f"For {code(o.gradient for o in same)} both orders give the same numbers at every entry compared.")
    found += _explained(lab, apart)
    return found


def _explained(lab: Lab, apart: Sequence[Orders]) -> Iterator[str]:
    """Whether the order of summation accounts for the error against float64."""
    alike = [o for o in apart if o.apart * 10 >= o.array > 0]
    less = [o for o in apart if o.array > 0 and o not in alike]
    if alike:
        parts = listed(f"{100 * o.apart / o.array:.0f} % (`{o.gradient}`)" for o in alike)
        yield f"As a part of the error against float64 that is {parts}: the order alone makes differences of that size."
    if less:
        values = listed(f"`{o.gradient}` ({number(o.apart)} of {number(o.array)})" for o in less)
        yield f"For {values} the order moves the result by less than a tenth of the error against float64."
    better = [o for o in apart if o.sequential < o.array]
    if better and len(better) < len(apart):
        yield f"The loop is nearer to float64 for {code(o.gradient for o in better)} only."
    elif better:
        yield "Here the loop is nearer to float64 for all of them."
    yield from _not_the_formula(lab, alike)


def _not_the_formula(lab: Lab, alike: Sequence[Orders]) -> Iterator[str]:
    """The same code in float64 beside autograd: if it agrees far better than float32 does, rounding is what is left."""
    double = [s for s in summaries(lab.rows) if s.dtype == "float64" and s.device == "cpu" and s.autograd is not None]
    if not double or not alike:
        return
    top = max(s.autograd[1] for s in double if s.autograd is not None)
    how = "equals autograd to the last bit" if top == 0 else f"is within {number(top)} of autograd"
    if top * 1000 <= max(o.array for o in alike):
        why = "rounding and the order of summation explain the float32 error, not the formula"
        yield f"In float64 the same code {how}: {why}."
    else:
        yield f"In float64 the same code {how}."


def headlines(lab: Lab) -> list[str]:
    """The first lines of a report: one for each dtype on the CPU, and what float64 says."""
    lines = []
    for key in dict.fromkeys((s.device, s.dtype) for s in lab.summaries):
        own = [s for s in lab.summaries if (s.device, s.dtype) == key]
        lines.append(f"**{key[1]}{'' if key[0] == 'cpu' else f' on {key[0]}'}**: {_headline(own)}")
    return lines


def _headline(own: Sequence[Summary]) -> str:
    known = [s.autograd[1] for s in own if s.autograd is not None]
    same = (
        "no reference in this dtype"
        if not known
        else ("equal to autograd to the last bit" if max(known) == 0 else f"within {number(max(known))} of autograd")
    )
    if own[0].dtype == "float64":
        return f"{same}."
    worst = max(own, key=lambda s: math.inf if math.isnan(s.float64[1]) else s.float64[1])
    text = f"{same}, within {number(worst.float64[1])} of float64 of the same inputs"
    if not math.isfinite(worst.float64[1]):
        text = f"{same}; `{worst.gradient}` is not finite where float64 is"
    lost = dict.fromkeys(n for s in own for n in s.overflow if n not in {o.gradient for o in own})
    over = any(not s.float64[1] <= s.bound for s in own)
    return (
        text + (f"; {code(lost)} overflows" if lost else "") + ("; **more than rounding allows**" if over else "") + "."
    )
