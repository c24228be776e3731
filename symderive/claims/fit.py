"""Term by term: which multiple of each term of the claim adds up to the truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from symderive.claims.bench import Bench
from symderive.claims.desk import Desk, Finding
from symderive.claims.factors import factor_words, scaled
from symderive.claims.lines import ClaimError
from symderive.claims.ratios import Ratio
from symderive.claims.trees import Place, get, number, places, put, sum_of, terms_of
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
        if linear(node, place):
            yield place, terms_of(inner)


def _is_sum(node: syntax.Node) -> bool:
    return isinstance(node, syntax.Binary) and node.op in ("+", "-")


def linear(node: syntax.Node, place: Place) -> bool:
    """Whether an expression is linear in what stands at a place."""
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
    """A sign, a factor or a term too many: one change, which several terms may share."""
    return next((f for f in _fitted(desk, node) if not f.several), None)


def several_changes(desk: Desk, node: syntax.Node | None = None) -> Finding | None:
    """Terms that need changes that have nothing to do with each other: more than one mistake."""
    return next((f for f in _fitted(desk, node) if f.several), None)


def _fitted(desk: Desk, node: syntax.Node | None) -> Iterator[Finding]:
    """What multiples of the terms of a sum would make the claim right, for each sum in it."""
    node = desk.node if node is None else node
    for place, terms in chains(node):
        if desk.late or not 2 <= len(terms) <= 8:
            continue
        ratios = _fit(desk, node, place, terms)
        if ratios is None or any(r is not None and r.is_mixed for r in ratios):
            continue
        if all(r is not None and r.is_one for r in ratios):
            continue
        changed = [
            (sign, term if ratio.is_one else _scaled(ratio, term))
            for (sign, term), ratio in zip(terms, ratios, strict=True)
            if ratio is not None
        ]
        if len(changed) == 1 and changed[0][1] == number(1):
            continue  # 1 - p is a factor as a whole
        corrected = put(node, place, sum_of(_signed(changed)))
        if desk.fits(corrected):
            kind, sentence, several = _words(desk, terms, ratios)
            yield Finding(kind, sentence, corrected, several=several)


def _scaled(ratio: Ratio, term: syntax.Node) -> syntax.Node:
    positive = scaled(Ratio(abs(ratio.number), ratio.powers), term)
    return syntax.Unary("-", positive) if ratio.number < 0 else positive


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
        systems = _systems(desk, bench, node, place, terms)
        solution = solve(*systems) if systems else None
        if solution is None:
            break
        solutions.append(solution)
    return named_ratios(desk, solutions)


def named_ratios(desk: Desk, solutions: Sequence[Sequence[float]]) -> list[Ratio | None] | None:
    """The multiples found on the first of the ratio benches by name, None for 0; None as a whole where one has none."""
    if len(solutions) < len(desk.benches):
        return None
    ratios: list[Ratio | None] = []
    for values in zip(*solutions, strict=True):
        ratio = None if (gone := all(abs(v) < 1e-9 for v in values)) else desk.named(values)
        if ratio is None and not gone:
            return None
        ratios.append(ratio)
    return ratios


System = tuple[np.ndarray, np.ndarray, np.ndarray]


def _systems(
    desk: Desk, bench: Bench, node: syntax.Node, place: Place, terms: Sequence[tuple[int, syntax.Node]]
) -> System | None:
    """The entries that each term contributes, of the claim and of the truth, on a bench and on one more where few."""
    found = _system(desk, bench, node, place, terms)
    for attempt in range(MOST_ALONGSIDE):
        if found is None or (found[2].size >= 2 * len(terms) and found[0].any(axis=0).all()):
            return found
        more = _system(desk, desk.alongside(bench, attempt), node, place, terms)
        if more is None:
            return None
        found = tuple(np.concatenate(pair) for pair in zip(found, more, strict=True))  # type: ignore[assignment]
    return found


MOST_ALONGSIDE = 3
"""How many more points of the same sizes help out where a term has few entries, or is 0 throughout."""


def _system(
    desk: Desk, bench: Bench, node: syntax.Node, place: Place, terms: Sequence[tuple[int, syntax.Node]]
) -> System | None:
    try:
        true = desk.truth(bench)
        parts = [desk.value(bench, put(node, place, sum_of([t]))) for t in terms]
        whole = desk.value(bench, node)
        if whole.shape != true.shape:
            return None
        parts = [np.broadcast_to(p, true.shape) for p in parts]
    except (ClaimError, SymderiveError, ValueError):
        return None
    return np.stack([p.ravel() for p in parts], 1), whole.ravel(), true.ravel()


def solve(columns: np.ndarray, whole: np.ndarray, true: np.ndarray) -> list[float] | None:
    """The multiples of the parts that give the truth, where they are unique and the parts do add up to the whole."""
    if not (np.isfinite(columns).all() and np.isfinite(true).all()) or columns.shape[0] < columns.shape[1]:
        return None
    if not np.allclose(columns.sum(1), whole, rtol=1e-9, atol=1e-12):
        return None
    scale = np.linalg.norm(columns, axis=0)
    if (scale == 0).any():
        return None
    solution, _, rank, _ = np.linalg.lstsq(columns / scale, true, rcond=1e-9)
    if rank < columns.shape[1]:
        return None
    residual = np.abs(columns / scale @ solution - true).max(initial=0)
    if residual > 1e-8 * max(1e-3, np.abs(true).max(initial=0)):
        return None
    return [float(v) for v in solution / scale]


def _words(
    desk: Desk, terms: Sequence[tuple[int, syntax.Node]], ratios: Sequence[Ratio | None]
) -> tuple[str, str, bool]:
    """The kind and the sentence for the terms that must change, and whether they are mistakes of several kinds."""
    changed = [(t, r) for (_, t), r in zip(terms, ratios, strict=True) if r is None or not r.is_one]
    return together(changes(desk, [t for t, _ in changed], [r for _, r in changed]))


def changes(desk: Desk, terms: Sequence[syntax.Node], ratios: Sequence[Ratio | None]) -> list[tuple[str, str]]:
    """The kinds and sentences: terms that change alike share one mistake; others are mistakes of their own."""
    alike: dict[Ratio | None, list[syntax.Node]] = {}
    for term, ratio in zip(terms, ratios, strict=True):
        alike.setdefault(ratio, []).append(term)
    return [_changed(desk, ratio, which) for ratio, which in alike.items()]


def together(told: Sequence[tuple[str, str]]) -> tuple[str, str, bool]:
    """The kinds and sentences of several mistakes as one: the kind is that of the first; whether there are several."""
    sentences = " ".join(sentence for _, sentence in told)
    several = len({kind for kind, _ in told}) > 1
    return told[0][0], f"{SEVERAL} {sentences}" if several else sentences, several


SEVERAL = "There is more than one mistake."


def _changed(desk: Desk, ratio: Ratio | None, which: Sequence[syntax.Node]) -> tuple[str, str]:
    """The kind and the sentence for terms that must be multiplied by one ratio, or go."""
    if ratio is None:
        words = "There is a term too many" if len(which) == 1 else "There are terms too many"
        return "extra_term", f"{words}: {_list(desk, which)}."
    if ratio.number == -1 and not ratio.powers:
        subject, verb = ("sign", "is") if len(which) == 1 else ("signs", "are")
        return "sign", f"The {subject} of {_list(desk, which)} {verb} wrong."
    return factor_words(ratio, desk, f"the term{'s' if len(which) > 1 else ''} {_list(desk, which)}", len(which))


def _list(desk: Desk, terms: Sequence[syntax.Node]) -> str:
    return " and ".join(desk.text(t) for t in terms)
