"""The truth, multiplied out, against the claim: which of its terms the claim lacks, or has in another multiple.

The formula of a gradient is written in several ways: as it was derived, with the gradients and the differences of the
forward that it reads written out, and as one step of the chain rule, from the gradients of what reads the tensor.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from symderive.claims.compare import close_floats
from symderive.claims.derived import Derived, as_helper
from symderive.claims.desk import Desk, Finding
from symderive.claims.fit import changes, named_ratios, solve, together
from symderive.claims.inline import written_out
from symderive.claims.lines import ClaimError, Line
from symderive.claims.mistakes import gives_everywhere, line_of
from symderive.claims.ratios import Ratio
from symderive.claims.trees import number, sum_of, tensor_of, terms_of, times
from symderive.errors import SymderiveError
from symderive.record import record
from symderive.spec import model, syntax

MOST_TERMS = 10
Terms = list[tuple[int, syntax.Node]]


def lacking(desk: Desk) -> Finding | None:
    """The claim lacks terms of the truth, or has some with another sign or factor: one sort of mistake."""
    return next((c.finding() for c in _found(desk) if not c.told.several), None)


def in_full(desk: Desk) -> Finding | None:
    """Terms that the claim lacks where factors such as ``1 - p`` are multiplied out, too."""
    found = (c for c in _compared(desk, whole=False) if c.told.kind == "missing_term" and not c.told.several)
    return next((c.finding() for c in found), None)


def several_mistakes(desk: Desk) -> Finding | None:
    """The claim lacks terms of the truth and has others with another sign or factor."""
    if desk.condition is not None and not desk.condition.weak:
        return None  # the condition says more
    return next((c.finding() for c in _found(desk) if c.told.several), None)


@record
class Comparison:
    """What the comparison with one formula tells, and how the claim is completed, which is judged exactly."""

    told: Finding
    complete: Callable[[], syntax.Node | None]

    def finding(self) -> Finding:
        """What it tells, with the right claim where that can be written."""
        return replace(self.told, corrected=self.complete())


def _found(desk: Desk) -> list[Comparison]:
    """What the comparisons with all formulas find, made once."""
    if "multiplied out" not in desk.found:
        desk.found["multiplied out"] = list(_compared(desk))
    return desk.found["multiplied out"]  # type: ignore[no-any-return]


def _compared(desk: Desk, whole: bool = True) -> Iterator[Comparison]:
    if desk.claimed is None or desk.line.role not in ("gradient", "jacobian"):
        return
    for statement in _formulas(desk):
        if desk.late:
            return
        line = line_of(desk, statement)
        terms = multiplied_out(statement.right, whole)
        if not 2 <= len(terms) <= MOST_TERMS:
            continue
        terms = _merged(desk, line, terms)
        ratios = _multiples(desk, line, terms)
        if ratios is None or all(r is not None and r.is_one for r in ratios):
            continue
        claim = sum_of([(s, times(r.node, t)) for (s, t), r in zip(terms, ratios, strict=True) if r is not None])
        if gives_everywhere(desk, claim, line):
            kind, words, several = _words(desk, terms, ratios)
            lacked = [term for term, r in zip(terms, ratios, strict=True) if r is None]
            alone = kind == "missing_term" and not several
            told = Finding(kind, words, several=several, lacked=sum_of(lacked) if alone else None)
            yield Comparison(told, partial(_completed, desk, line, terms, ratios))


def _merged(desk: Desk, line: Line, terms: Terms) -> Terms:
    """The terms with those taken together that are worth the same, or cancel: no claim tells them apart."""
    kept: list[tuple[syntax.Node, int, list[np.ndarray]]] = []
    for sign, term in terms:
        try:
            values = [desk.value(b, term, line) for b in desk.benches]
        except (ClaimError, SymderiveError, ValueError):
            return terms
        for n, (other, count, known) in enumerate(kept):
            if all(v.shape == k.shape and close_floats(v, k) for v, k in zip(values, known, strict=True)):
                kept[n] = other, count + sign, known
                break
        else:
            kept.append((term, sign, values))
    return [(1 if n > 0 else -1, times(number(abs(n)), term)) for term, n, _ in kept if n]


def _multiples(desk: Desk, line: Line, terms: Terms) -> list[Ratio | None] | None:
    """How often the claim has each term of the truth, None for one that it lacks; None as a whole for no such."""
    solutions = []
    for bench in desk.ratio_benches:
        rows = []
        for ground in (bench, desk.alongside(bench, 0), desk.alongside(bench, 1)):
            try:
                parts = [desk.value(ground, sum_of([t]), line).ravel() for t in terms]
                claimed, true = desk.value(ground, desk.node).ravel(), desk.truth(ground).ravel()
                rows.append((np.stack([np.broadcast_to(p, true.shape) for p in parts], 1), true, claimed))
            except (ClaimError, SymderiveError, ValueError):
                return None
        solution = solve(*(np.concatenate(r) for r in zip(*rows, strict=True)))
        if solution is None:
            break
        solutions.append(solution)
    ratios = named_ratios(desk, solutions)
    return ratios if ratios and any(ratios) else None


def _words(desk: Desk, terms: Terms, ratios: Sequence[Ratio | None]) -> tuple[str, str, bool]:
    missing = [f"{'-' if s < 0 else '+'} {desk.text(t)}" for (s, t), r in zip(terms, ratios, strict=True) if r is None]
    others = [(t, r) for (_, t), r in zip(terms, ratios, strict=True) if r is not None and not r.is_one]
    told: list[tuple[str, str]] = []
    if missing:
        count = "A term is" if len(missing) == 1 else "Terms are"
        told.append(("missing_term", f"{count} missing: {', '.join(missing)}."))
    if others:
        inverse = [Ratio(1 / r.number, tuple((n, -p) for n, p in r.powers)) for _, r in others]
        told += changes(desk, [t for t, _ in others], inverse)
    return together(told)


def _completed(desk: Desk, line: Line, terms: Terms, ratios: Sequence[Ratio | None]) -> syntax.Node | None:
    """The claim with the terms that it lacks, where both are in index form and of the same letters."""
    if desk.line.indices is None or line.indices != desk.line.indices:
        return None
    if not all(r is None or r.is_one for r in ratios):
        return None
    lacked = [term for term, r in zip(terms, ratios, strict=True) if r is None]
    node = sum_of([*terms_of(desk.node), *lacked])
    return node if desk.fits(node) else None


# The formulas


def _formulas(desk: Desk) -> Iterator[syntax.Statement]:
    """Ways to write the truth."""
    derived = desk.court.derived
    seen: set[syntax.Node] = set()
    for statement in (desk.stated, desk.step, derived.stated(desk.line)):
        if statement is None or statement.right in seen:
            continue
        for right in _written(desk, derived, statement):
            if right not in seen:
                seen.add(right)
                yield replace(statement, sides=(right,))


def _written(desk: Desk, derived: Derived, statement: syntax.Statement) -> Iterator[syntax.Node]:
    """The formula itself, with gradients written out, and with sums and differences of the forward written out."""
    yield statement.right
    own = tensor_of(statement.left)
    gradients = {n: as_helper(s) for n, s in derived.statements.items() if n != own and n not in derived.spec.shapes}
    sums = {e.tensor: as_helper(_as_statement(e)) for e in derived.spec.equations if len(terms_of(e.right)) > 1}
    right = written_out(statement.right, gradients, derived.known)
    yield right
    yield written_out(right, sums, derived.known)


def _as_statement(equation: model.Equation) -> syntax.Statement:
    labels = tuple(syntax.Batch() if i == syntax.BATCH else syntax.Name(i) for i in equation.indices)
    left: syntax.Node = syntax.Access(equation.tensor, labels) if labels else syntax.Name(equation.tensor)
    return syntax.Statement(left, (equation.right,))


# Multiplied out


def multiplied_out(node: syntax.Node, whole: bool = True) -> Terms:
    """The terms of an expression when products, quotients and sums are taken of each term of what they hold.

    Factors such as ``1 - p`` stay ``whole`` or do not.
    """
    match node:
        case syntax.Binary(op="+" | "-"):
            return [(s * inner, t) for s, term in terms_of(node) for inner, t in multiplied_out(term, whole)]
        case syntax.Unary(op="-"):
            return [(-s, t) for s, t in multiplied_out(node.operand, whole)]
        case syntax.Binary(op="*"):
            pairs = itertools.product(*(_of_factor(side, whole) for side in (node.left, node.right)))
            few = itertools.islice(pairs, MOST_TERMS + 1)
            return [(s * r, a if b == number(1) else times(a, b)) for (s, a), (r, b) in few]
        case syntax.Binary(op="/"):
            return [(s, replace(node, left=t)) for s, t in multiplied_out(node.left, whole)]
        case syntax.Binder(op="sum" | "mean"):
            return [(s, replace(node, body=t)) for s, t in multiplied_out(node.body, whole)]
    return [(1, node)]


def _of_factor(node: syntax.Node, whole: bool) -> Terms:
    """The terms of a factor; ``1 - p[n]`` is one as a whole."""
    entries = any(isinstance(n, syntax.Access) for n in node.walk())
    if whole and entries and number(1) in [t for _, t in terms_of(node)]:
        return [(1, node)]
    return multiplied_out(node, whole)
