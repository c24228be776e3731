"""A claim as the truth with a mistake in it: the derived formula without a term, say, gives what is claimed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from symderive.claims.compare import close_floats
from symderive.claims.desk import Desk, Finding
from symderive.claims.edit_tools import alike, counts, is_position, with_tensor
from symderive.claims.exactly import worth_the_claim
from symderive.claims.fit import chains
from symderive.claims.lines import ClaimError, Line, names_in
from symderive.claims.trees import (
    Place,
    factors_of,
    get,
    map_nodes,
    negated,
    places,
    product_of,
    put,
    sum_of,
    tensor_of,
    terms_of,
    tidied,
)
from symderive.claims.world import gradient_names
from symderive.errors import SymderiveError
from symderive.record import record
from symderive.spec import syntax
from symderive.spec.format import to_text


def missing_terms(desk: Desk) -> Finding | None:
    """The claim is the derived formula without some of its terms."""
    return _first_mistake(desk, _dropped_terms)


def missing_factors(desk: Desk) -> Finding | None:
    """The claim is the derived formula without one of its factors."""
    return _first_mistake(desk, _dropped_simple_factors)


def truth_with_mistake(desk: Desk) -> Finding | None:
    """The mistake that turns the derived formula into the claim: a sign, an operand, a term of an argument."""
    return _first_mistake(desk, _mistakes)


@record
class Mistake:
    """A kind of mistake, the formula with it, words for it, and what that lacks of the formula, if it does."""

    kind: str
    node: syntax.Node
    words: str
    lacked: syntax.Node | None = None


Mistakes = Callable[[Desk, syntax.Node], Iterator[Mistake]]


def _first_mistake(desk: Desk, mistakes: Mistakes) -> Finding | None:
    if desk.claimed is None or (statement := desk.stated) is None or desk.vanishes:
        return None
    line = line_of(desk, statement)
    if tensor_of(statement.right) or not gives(desk, statement.right, line, desk.truths):
        return None
    for mistake in mistakes(desk, statement.right):
        if desk.late:
            return None
        if gives(desk, mistake.node, line, desk.claimed) and gives_everywhere(desk, mistake.node, line):
            return Finding(mistake.kind, mistake.words, lacked=mistake.lacked)
    return None


def line_of(desk: Desk, statement: syntax.Statement) -> Line:
    """A formula of what is claimed as a line of its own."""
    if desk.line.role == "jacobian":
        return desk.line
    left = statement.left
    indices = left.indices if isinstance(left, syntax.Access) else None
    return Line(statement, to_text(statement), "gradient", desk.line.name, indices, desk.line.tensor)


def gives_everywhere(desk: Desk, node: syntax.Node, line: Line) -> bool:
    """Whether an expression is the claim at all points, on every side of every kink."""
    try:
        varied = desk.ratio_benches[len(desk.benches) :] if desk.trial.mentions() & set(desk.spec.constants) else []
        if not all(
            close_floats(np.reshape(desk.value(b, node, line), claimed.shape), claimed, 1e-9)
            for b in (*desk.elsewhere, *varied)  # 2 * c is not missing just because it is 1
            for claimed in [desk.value(b, desk.node)]
        ):
            return False
        return desk.outcome.error is not None or worth_the_claim(
            desk, lambda point, base: desk.court.bench(point, base).sides(line, node).claimed
        )
    except (ClaimError, SymderiveError, ValueError):
        return False


def gives(desk: Desk, node: syntax.Node, line: Line, wanted: list[Any]) -> bool:
    """Whether an expression has some values at the points, whatever their shape."""
    for bench, array in zip(desk.benches, wanted, strict=True):
        try:
            value = desk.value(bench, node, line)
        except (ClaimError, SymderiveError):
            return False
        if value.size != array.size or not close_floats(value.reshape(array.shape), array, 1e-9):
            return False
    return True


def _mistakes(desk: Desk, right: syntax.Node) -> Iterator[Mistake]:
    yield from _dropped_inside(desk, right)
    yield from _flipped_terms(desk, right)
    yield from _dropped_factors(desk, right)
    yield from _other_operands(desk, right)


_INDICES = re.compile(r"\[[^\[\]]*\]")

MOST_QUOTED = 120
"""Characters of a formula that still help in a sentence."""


def _within(desk: Desk, root: syntax.Node, place: Place = ()) -> str:
    """Where something belongs, if that is short enough to be read, and not just what the claim has beside it."""
    text = to_text(get(root, place))
    if _INDICES.sub("", text) in _INDICES.sub("", desk.text(desk.node)):
        text = to_text(root)
    what = "derivative" if desk.line.role == "jacobian" else "gradient"
    return f": the {what} has {text}" if len(text) <= MOST_QUOTED else ""


def _dropped_terms(desk: Desk, right: syntax.Node) -> Iterator[Mistake]:
    for place, terms in chains(right):
        for count in range(1, len(terms)):
            for gone in itertools.combinations(range(len(terms)), count):
                rest = [t for n, t in enumerate(terms) if n not in gone]
                if _is_one(rest):
                    continue  # 1 - p is missing as a factor
                words = ", ".join(_signed(alone(right, place, sum_of([terms[n]]))) for n in gone)
                text = f"{'A term is' if count == 1 else 'Terms are'} missing: {words}{_within(desk, right)}."
                lacked = sum_of([terms[n] for n in gone])
                yield Mistake("missing_term", put(right, place, sum_of(rest)), text, put(right, place, lacked))


def alone(root: syntax.Node, place: Place, term: syntax.Node) -> syntax.Node:
    """What a term contributes to an expression: without the terms beside it, and beside what it stands in."""
    if not place:
        return term
    inner = alone(get(root, place[:1]), place[1:], term)
    if isinstance(root, syntax.Binary) and _is_chain(root):
        return negated(inner) if root.op == "-" and place[0][0] == "right" else inner
    return put(root, place[:1], inner)


def _signed(term: syntax.Node) -> str:
    """A term as it is added: ``- p[k] * L`` for ``p[k] * -L``."""
    term, turned = map_nodes(term, tidied), map_nodes(negated(term), tidied)
    minus = "-" in (text := to_text(term)) and len(to_text(turned)) < len(text)
    return f"- {to_text(turned)}" if minus else f"+ {text}"


def _dropped_inside(desk: Desk, right: syntax.Node) -> Iterator[Mistake]:
    """Terms of arguments, conditions and index positions."""
    for place, inner in places(right):
        above = get(right, place[:-1]) if place else None
        if not _is_chain(inner) or (_is_chain(above) and place[-1][0] in ("left", "right")):
            continue
        terms = terms_of(inner)
        for n, (sign, term) in enumerate(terms):
            rest = [t for m, t in enumerate(terms) if m != n]
            if is_position(right, place):
                if to_text(sum_of(rest)) not in desk.text(desk.node):
                    continue  # nothing that the claim has
                words = f"The index {to_text(sum_of(rest))} should be {to_text(inner)}."
                yield Mistake("wrong_index", put(right, place, sum_of(rest)), words)
            elif counts(desk.spec, inner):
                words = f"{to_text(sum_of(rest))} should be {to_text(inner)}."
                yield Mistake("factor", put(right, place, sum_of(rest)), words)
            elif not _is_one(rest):
                words = f"A term is missing: {'-' if sign < 0 else '+'} {to_text(term)}{_within(desk, right, place)}."
                lacked = None if place else sum_of([(sign, term)])
                yield Mistake("missing_term", put(right, place, sum_of(rest)), words, lacked)


def _is_one(terms: list[tuple[int, syntax.Node]]) -> bool:
    """Whether nothing but the number 1 is left."""
    return len(terms) == 1 and isinstance(terms[0][1], syntax.Number) and terms[0][1].value == 1


def _is_chain(node: syntax.Node | None) -> bool:
    return isinstance(node, syntax.Binary) and node.op in ("+", "-")


def _flipped_terms(desk: Desk, right: syntax.Node) -> Iterator[Mistake]:
    for place, terms in chains(right):
        for n, (_, term) in enumerate(terms):
            changed = [(-s if m == n else s, t) for m, (s, t) in enumerate(terms)]
            words = f"The sign of {to_text(term)} is wrong."
            yield Mistake("sign", put(right, place, sum_of(changed)), words)


def _dropped_simple_factors(desk: Desk, right: syntax.Node) -> Iterator[Mistake]:
    """A factor that is no sum, or one such as ``1 - p**2`` or ``n + 1``: where more is missing, it is a term as well.

    Of a divisor that all terms have in common, the claim may lack it in one.
    """
    tensors = desk.benches[0].tensors.keys()
    yield from _dropped_factors(
        desk, right, lambda f: not _is_chain(f) or _is_one(terms_of(f)[:1]) or not names_in(f) & tensors
    )
    yield from _dropped_factors(desk, _spread(right), lambda f: not _is_chain(f), "/")
    yield from _dropped_alike(right)


def _dropped_alike(right: syntax.Node) -> Iterator[Mistake]:
    """The same factor of every term, each of its own tensor: ``1 - h1[i]**2`` and ``1 - h2[i]**2``."""
    terms = [(sign, factors_of(term)) for sign, term in terms_of(right)]
    for _, first in terms[0][1] if len(terms) > 1 else ():
        gone = [next((f for f in factors if _pattern(f[1]) == _pattern(first)), None) for _, factors in terms]
        if None in gone or len(set(gone)) < len(gone):
            continue
        rest = [(s, product_of([f for f in fs if f != g])) for (s, fs), g in zip(terms, gone, strict=True)]
        named = ", ".join(to_text(g[1]) for g in gone if g is not None)
        yield Mistake("factor", sum_of(rest), f"In each term a factor is missing: {named}.")


def _pattern(node: syntax.Node) -> syntax.Node:
    """An expression without the names of its tensors."""
    return map_nodes(node, lambda n: with_tensor(n, "_") if isinstance(n, syntax.Access) else n)


def _spread(right: syntax.Node) -> syntax.Node:
    """``(a - b) / c`` as ``a / c - b / c``."""
    factors = factors_of(right)
    sums = [n for n, (op, f) in enumerate(factors) if op == "*" and _is_chain(f)]
    if len(sums) != 1:
        return right
    (n,) = sums
    return sum_of([(s, product_of([*factors[:n], ("*", t), *factors[n + 1 :]])) for s, t in terms_of(factors[n][1])])


def _dropped_factors(
    desk: Desk, right: syntax.Node, counts: Callable[[syntax.Node], bool] = lambda factor: True, ops: str = "*/"
) -> Iterator[Mistake]:
    upstreams = {f"d{n}" for n in desk.spec.outputs}
    for place, inner in places(right):
        above = get(right, place[:-1]) if place else None
        nested = isinstance(above, syntax.Binary) and above.op in ("*", "/") and place[-1][0] == "left"
        if not (isinstance(inner, syntax.Binary) and inner.op in ("*", "/")) or nested:
            continue
        factors = factors_of(inner)
        for n, (op, factor) in enumerate(factors):
            if op not in ops or not counts(factor):
                continue
            rest = [f for m, f in enumerate(factors) if m != n]
            upstream = tensor_of(factor) in upstreams
            what = "upstream" if upstream else "factor"
            around = _quotient(right, place)
            text = f"The {what} {to_text(factor)} is missing{_within(desk, right, place)}."
            if op == "/" or around is not None:
                whole = _within(desk, right, place if around is None else around)
                text = f"The division by {to_text(factor)} is missing{whole}."
            kind = "missing_upstream" if upstream else "factor"
            yield Mistake(kind, put(right, place, product_of(rest)), text, product_of([(op, factor)]))


def _quotient(root: syntax.Node, place: Place) -> Place | None:
    """The quotient in whose divisor a place is; None where it is in none."""
    for n in range(len(place) - 1, -1, -1):
        above = get(root, place[:n])
        if isinstance(above, syntax.Binary) and above.op == "/" and place[n][0] == "right":
            return place[:n]
    return None


def _other_operands(desk: Desk, right: syntax.Node) -> Iterator[Mistake]:
    tensors = desk.benches[0].tensors
    helpers = {h.name for h in desk.court.helpers}  # any helper stands where something else should be
    written = {*desk.trial.mentions(), *gradient_names(desk.spec)}  # gradients are often written out
    for place, inner in places(right):
        name = tensor_of(inner)
        if name not in tensors or any(part == "indices" for part, _ in place):
            continue
        for other in (n for n in alike(desk, name) if n in written and n not in helpers):
            text = f"{other} stands where {name} should be{_within(desk, right)}."
            yield Mistake("wrong_operand", put(right, place, with_tensor(inner, other)), text)
