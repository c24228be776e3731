"""Term by term: which multiple of each term of the claim adds up to the truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from symderive.claims.desk import Desk, Finding
from symderive.claims.lines import ClaimError
from symderive.claims.ratios import Ratio
from symderive.claims.trees import Place, get, places, put, sum_of, terms_of, times
from symderive.claims.values import factor_words
from symderive.errors import SymderiveError
from symderive.spec import syntax

_LINEAR_FIELDS = {
    syntax.Unary: {"operand"},
    syntax.Binary: {"left", "right"},
    syntax.Binder: {"body"},
    syntax.Attribute: {"value"},
    syntax.Method: {"value"},
    syntax.Subscript: {"value"},
    syntax.Call: {"arguments"},
}


def chains(node: syntax.Node) -> Iterator[tuple[Place, list[tuple[int, syntax.Node]]]]:
    """Every chain of ``+`` and ``-`` that stands where the whole is linear in it, outermost first."""
    for place, inner in places(node):
        if not _is_sum(inner) or (place and _is_sum(get(node, place[:-1])) and place[-1][0] != "arguments"):
            continue
        if _linear(node, place):
            yield place, terms_of(inner)


def _is_sum(node: syntax.Node) -> bool:
    return isinstance(node, syntax.Binary) and node.op in ("+", "-")


def _linear(node: syntax.Node, place: Place) -> bool:
    for depth in range(len(place)):
        above = get(node, place[:depth])
        name, position = place[depth]
        if name not in _LINEAR_FIELDS.get(type(above), set()):
            return False
        if isinstance(above, syntax.Binary) and (
            above.op in ("**", "//", "%") or (above.op == "/" and name == "right")
        ):
            return False
        if isinstance(above, syntax.Binder) and above.op not in ("sum", "mean"):
            return False
        if isinstance(above, syntax.Method) and above.name not in ("sum", "mean", "reshape", "transpose"):
            return False
        if isinstance(above, syntax.Call):
            linear = {"where": (1, 2), "outer": (0, 1), "diag": (0,), "trace": (0,)}.get(above.function, ())
            if position not in linear:
                return False
    return True


def term_by_term(desk: Desk, node: syntax.Node | None = None) -> Finding | None:
    """A sign, a factor or a term too many, of one or several terms."""
    node = desk.node if node is None else node
    for place, terms in chains(node):
        if desk.late or not 2 <= len(terms) <= 8:
            continue
        ratios = _fit(desk, node, place, terms)
        if ratios is None or all(r is not None and r.is_one for r in ratios):
            continue
        changed = [
            (sign, term if ratio.is_one else _scaled(ratio, term))
            for (sign, term), ratio in zip(terms, ratios, strict=True)
            if ratio is not None
        ]
        corrected = put(node, place, sum_of(_signed(changed)))
        if desk.fits(corrected):
            kind, sentence = _words(desk, terms, ratios)
            return Finding(kind, sentence, corrected)
    return None


def _scaled(ratio: Ratio, term: syntax.Node) -> syntax.Node:
    if ratio.number < 0:
        positive = Ratio(-ratio.number, ratio.powers)
        return syntax.Unary("-", term if positive.is_one else times(positive.node, term))
    return times(ratio.node, term)


def _signed(terms: Sequence[tuple[int, syntax.Node]]) -> list[tuple[int, syntax.Node]]:
    """Terms with the signs in front of them merged."""
    return [
        (-sign, term.operand) if isinstance(term, syntax.Unary) and term.op == "-" else (sign, term)
        for sign, term in terms
    ]


def _fit(
    desk: Desk, node: syntax.Node, place: Place, terms: Sequence[tuple[int, syntax.Node]]
) -> list[Ratio | None] | None:
    """The multiple of each term, None for one that must go; None as a whole where there are no such multiples."""
    solutions = []
    for bench in desk.ratio_benches:
        try:
            true = desk.truth(bench)
            parts = [desk.value(bench, put(node, place, sum_of([t]))) for t in terms]
            whole = desk.value(bench, node)
        except (ClaimError, SymderiveError):
            return None
        if any(p.shape != true.shape for p in [*parts, whole]):
            return None
        solution = _solve(parts, whole, true)
        if solution is None:
            break
        solutions.append(solution)
    if len(solutions) < len(desk.benches):
        return None
    ratios: list[Ratio | None] = []
    for values in zip(*solutions, strict=True):
        if all(abs(v) < 1e-9 for v in values):
            ratios.append(None)
            continue
        ratio = desk.named(values)
        if ratio is None:
            return None
        ratios.append(ratio)
    return ratios


def _solve(parts: Sequence[np.ndarray], whole: np.ndarray, true: np.ndarray) -> list[float] | None:
    """The multiples of the parts that give the truth, where they are unique and the parts do add up to the whole."""
    columns = np.stack([p.ravel() for p in parts], 1)
    if not (np.isfinite(columns).all() and np.isfinite(true).all()) or columns.shape[0] < columns.shape[1]:
        return None
    if not np.allclose(columns.sum(1), whole.ravel(), rtol=1e-9, atol=1e-12):
        return None
    scale = np.linalg.norm(columns, axis=0)
    if (scale == 0).any():
        return None
    solution, _, rank, _ = np.linalg.lstsq(columns / scale, true.ravel(), rcond=1e-9)
    if rank < columns.shape[1]:
        return None
    residual = np.abs(columns / scale @ solution - true.ravel()).max(initial=0)
    if residual > 1e-8 * max(1e-3, np.abs(true).max(initial=0)):
        return None
    return [float(v) for v in solution / scale]


def _words(desk: Desk, terms: Sequence[tuple[int, syntax.Node]], ratios: Sequence[Ratio | None]) -> tuple[str, str]:
    changed = [(t, r) for (_, t), r in zip(terms, ratios, strict=True) if r is None or not r.is_one]
    gone = [t for t, r in changed if r is None]
    flipped = [t for t, r in changed if r is not None and r.number == -1 and not r.powers]
    if len(flipped) == len(changed):
        return "sign", f"The sign of {_list(desk, flipped)} is wrong."
    if len(gone) == len(changed):
        return "extra_term", f"There is a term too many: {_list(desk, gone)}."
    term, ratio = next((t, r) for t, r in changed if r is not None and not (r.number == -1 and not r.powers))
    assert ratio is not None
    kind, sentence = factor_words(ratio, desk, f"the term {desk.text(term)}")
    others = [t for t, r in changed if t is not term]
    if others:
        sentence += f" {_list(desk, others)} must change, too."
    return kind, sentence


def _list(desk: Desk, terms: Sequence[syntax.Node]) -> str:
    return " and ".join(desk.text(t) for t in terms)
