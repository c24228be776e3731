"""A factor that only one term of a claim lacks: the inner derivative of one of two parts, say."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from symderive.claims.bench import Bench
from symderive.claims.desk import Desk, Finding
from symderive.claims.edit_tools import available, composites, counts, is_complement, rank, spare_letter
from symderive.claims.factors import scaled
from symderive.claims.fit import chains
from symderive.claims.lines import ClaimError, names_in
from symderive.claims.parts import as_array, in_scope
from symderive.claims.ratios import Ratio
from symderive.claims.residual import CLOSE, FEWEST, grounds, powers_worth, ratio_of
from symderive.claims.trees import axis, factors_of, method, multiplied, number, put, sum_of, tensor_of
from symderive.errors import SymderiveError
from symderive.spec import syntax

Signed = tuple[int, syntax.Node]


def lacking_in_a_term(desk: Desk) -> Finding | None:
    """One term of a sum, in which the claim is linear, lacks a factor, a division, or a product of two."""
    factors: list[tuple[syntax.Node, np.ndarray]] | None = None
    for place, terms in chains(desk.node):
        if not 2 <= len(terms) <= MOST_TERMS:
            continue
        factors = _known(desk) if factors is None else factors
        for n, (sign, term) in enumerate(terms):
            rest = [put(desk.node, place, sum_of([t])) for m, t in enumerate(terms) if m != n]
            wanted = _quotient(desk, rest, put(desk.node, place, sum_of([(sign, term)])))
            for factor in _made(factors, wanted) if wanted is not None else ():
                if desk.late:
                    return None
                if _takes_away(term, factor):
                    continue
                product = multiplied(term, factor)
                ratio = _ratio(desk, rest, put(desk.node, place, sum_of([(sign, product)])))
                if ratio is None:
                    continue
                size, turn = Ratio(abs(ratio.number), ratio.powers), 1 if ratio.number > 0 else -1
                changed = [*terms[:n], (turn * sign, scaled(size, product)), *terms[n + 1 :]]
                if desk.fits(corrected := put(desk.node, place, sum_of(changed))):
                    words = _words(desk, scaled(size, factor), term)
                    return Finding("factor", f"{words}{'' if turn > 0 else ' and its sign is wrong'}.", corrected)
    return None


MOST_FACTORS = 14

MOST_TERMS = 4
"""Terms of a sum that are looked at one by one."""


def _takes_away(term: syntax.Node, factor: syntax.Node) -> bool:
    """Whether a factor divides by all that a term is made of, or has another for a part: no factor is missing then."""
    above, below = ([f for op, f in factors_of(factor) if op == kind and f != number(1)] for kind in "*/")
    divisors = {f.left if isinstance(f, syntax.Binary) and f.op == "**" else f for f in below}
    parts = {f for op, f in factors_of(term) if op == "*" and not isinstance(f, syntax.Number)}
    return parts <= divisors or bool(above and parts & divisors)


def _words(desk: Desk, factor: syntax.Node, term: syntax.Node) -> str:
    if not isinstance(factor, syntax.Binary) or factor.op != "/" or factor.left != number(1):
        return f"The factor {desk.text(factor)} is missing in the term {desk.text(term)}"
    if ("*", factor.right) in factors_of(term):
        return f"The term {desk.text(term)} has the factor {desk.text(factor.right)} too much"
    return f"The division of the term {desk.text(term)} by {desk.text(factor.right)} is missing"


def _known(desk: Desk) -> list[tuple[syntax.Node, np.ndarray]]:
    """What may be a factor, with its entries, as logarithms; NaN where it is 0."""
    found = []
    parts = [n for n in composites(desk, desk.node, ()) if is_complement(n)]
    made = (_derivatives(desk), _divisors(desk), _totals(desk), available(desk, desk.node, ()), parts)
    for node in dict.fromkeys(itertools.chain.from_iterable(made)):
        try:
            rows = [np.broadcast_to(desk.value(b, node), desk.truth(b).shape).ravel() for b in grounds(desk)]
        except (ClaimError, SymderiveError, ValueError):
            continue
        values = np.concatenate(rows)
        if values.any() and np.isfinite(values).all():
            found.append((node, _log(values)))
    return found[:MOST_FACTORS]


def _derivatives(desk: Desk) -> Iterator[syntax.Node]:
    """``D(s, x[n])`` of the scalars that the claim reads and that depend on its tensor."""
    x, indices = desk.line.tensor, desk.line.indices
    if desk.line.role != "gradient" or x is None:
        return
    helpers = {h.name for h in desk.court.helpers}
    for name in sorted(names_in(desk.node) & {*helpers, *desk.followers}):
        if rank(desk, name) == 0:
            lower: syntax.Node = syntax.Access(x, indices) if indices else syntax.Name(x)
            yield syntax.Call("D", (syntax.Name(name), lower))


def _divisors(desk: Desk) -> Iterator[syntax.Node]:
    """What the forward divides by and has no name for: ``max(k[i], 1)``."""
    for equation in desk.spec.equations:
        for node in equation.right.walk():
            if isinstance(node, syntax.Binary) and node.op == "/" and not isinstance(node.right, syntax.Number):
                if tensor_of(node.right) or counts(desk.spec, node.right):
                    continue
                if desk.by_index:
                    yield from in_scope(desk, node.right, desk.free, desk.node)
                elif (array := as_array(node.right)) is not None:
                    yield array


def _totals(desk: Desk) -> Iterator[syntax.Node]:
    """The tensors that the claim reads, summed over one axis: how many entries of a mask there are, say."""
    seen = [n for n in desk.node.walk() if tensor_of(n) in desk.benches[0].tensors]
    if not desk.by_index:
        for name in dict.fromkeys(n for n in seen if isinstance(n, syntax.Name) and rank(desk, n.id) == 2):
            yield from (method(name, "sum", axis(a), keepdim=True) for a in (0, 1))
        return
    spare = syntax.Name(spare_letter(desk, desk.node))
    for access in dict.fromkeys(n for n in seen if isinstance(n, syntax.Access)):
        for n, index in enumerate(access.indices):
            if isinstance(index, syntax.Name):
                body = replace(access, indices=(*access.indices[:n], spare, *access.indices[n + 1 :]))
                yield syntax.Binder("sum", (spare.id,), None, body)


def _log(values: np.ndarray) -> np.ndarray:
    return np.where(values != 0, np.log(np.abs(values)), np.nan)


def _left(desk: Desk, bench: Bench, rest: Sequence[syntax.Node]) -> np.ndarray:
    """What a term must be worth beside the others."""
    true = desk.truth(bench)
    return np.asarray(true - sum(np.broadcast_to(desk.value(bench, r), true.shape) for r in rest))


def _quotient(desk: Desk, rest: Sequence[syntax.Node], term: syntax.Node) -> np.ndarray | None:
    """What a term must be multiplied by at each entry, as logarithms; None where there is no such thing."""
    rows = []
    try:
        for bench in grounds(desk):
            wanted = _left(desk, bench, rest)
            has = np.broadcast_to(desk.value(bench, term), wanted.shape)
            scale = np.abs(wanted).max(initial=0.0)
            if np.abs(wanted[has == 0]).max(initial=0.0) > CLOSE * scale:
                return None
            rows.append(np.where(has != 0, wanted / has, 0).ravel())
    except (ClaimError, SymderiveError, ValueError):
        return None
    values = np.concatenate(rows)
    return _log(values) if np.isfinite(values).all() and np.count_nonzero(values) >= FEWEST else None


def _made(factors: Sequence[tuple[syntax.Node, np.ndarray]], wanted: np.ndarray) -> Iterator[syntax.Node]:
    """Products of powers of one or two factors that have these entries, but for a number."""
    used = ~np.isnan(wanted)
    complete = [(n, log[used]) for n, log in factors if not np.isnan(log[used]).any()]
    return powers_worth(complete, wanted[used], {1: POWERS, 2: POWERS})


POWERS = (1, -1, 2, -2)


def _ratio(desk: Desk, rest: Sequence[syntax.Node], term: syntax.Node) -> Ratio | None:
    """The number by which a term must be multiplied, by name."""
    wanted = ((b, _left(desk, b, rest)) for b in desk.ratio_benches)
    return ratio_of(desk, ((w, np.broadcast_to(desk.value(b, term), w.shape)) for b, w in wanted))
