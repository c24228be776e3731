"""What is missing altogether: a multiple of something at hand that makes up the difference, or the quotient."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from symderive.claims.bench import Bench
from symderive.claims.desk import Desk, Finding
from symderive.claims.edit_tools import available, composites, deltas
from symderive.claims.lines import ClaimError
from symderive.claims.ratios import Ratio, constant_ratio
from symderive.claims.trees import number, sum_of
from symderive.claims.values import scaled
from symderive.errors import SymderiveError
from symderive.spec import syntax


def missing_multiple(desk: Desk) -> Finding | None:
    """The claim lacks a term that is a multiple of a tensor, of a delta or of 1."""
    try:
        benches = desk.ratio_benches
        rests = [desk.truth(b) - desk.value(b, desk.node) for b in benches]
    except (ClaimError, SymderiveError, ValueError):
        return None
    for candidate in _candidates(desk):
        if desk.late:
            return None
        ratio = _ratio(desk, benches, rests, candidate)
        if ratio is None:
            continue
        positive = Ratio(abs(ratio.number), ratio.powers)
        term = positive.node if candidate == number(1) else scaled(positive, candidate)
        sign = 1 if ratio.number > 0 else -1
        corrected = sum_of([(1, desk.node), (sign, term)])
        if desk.fits(corrected):
            words = f"A term is missing: {'+' if sign > 0 else '-'} {desk.text(term)}."
            return Finding("missing_term", words, corrected)
    return None


def multiple_of_factor(desk: Desk) -> Finding | None:
    """The claim lacks a factor that is a multiple of a tensor, or has one too many: ``2 * m``."""
    for candidate in [*available(desk, desk.node, ()), *composites(desk, desk.node, ())]:
        for op in ("*", "/"):
            if desk.late:
                return None
            node = syntax.Binary(op, desk.node, candidate)
            ratio = _quotient(desk, node)
            if ratio is None or not desk.fits(corrected := scaled(ratio, node)):
                continue
            factor = scaled(ratio, candidate) if op == "*" else syntax.Binary("/", ratio.node, candidate)
            return Finding("factor", f"The factor {desk.text(factor)} is missing.", corrected)
    return None


def _quotient(desk: Desk, node: syntax.Node) -> Ratio | None:
    values: list[float] = []
    for bench in desk.ratio_benches:
        try:
            value = constant_ratio(desk.truth(bench), desk.value(bench, node))
        except (ClaimError, SymderiveError, ValueError):
            return None
        if value is None:
            break
        values.append(value)
    return desk.named(values) if len(values) >= len(desk.benches) else None


def _candidates(desk: Desk) -> Iterator[syntax.Node]:
    yield number(1)
    yield from deltas(desk, desk.node, ())
    yield from available(desk, desk.node, ())


def _ratio(desk: Desk, benches: list[Bench], rests: list[np.ndarray], candidate: syntax.Node) -> Ratio | None:
    values: list[float] = []
    for bench, rest in zip(benches, rests, strict=True):
        try:
            part = np.broadcast_to(desk.value(bench, candidate), rest.shape)
        except (ClaimError, SymderiveError, ValueError):
            return None
        value = constant_ratio(rest, part)
        if value is None:
            break
        values.append(value)
    return desk.named(values) if len(values) >= len(desk.benches) else None
