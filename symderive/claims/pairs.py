"""Two mistakes in one claim: a first change after which a second one makes the claim right.

All single changes were tried before, in floats. From their values it is seen which of them can be the first of two,
without trying pairs: what is left to do is one factor, one term, another of the changes, or the truth is one change
away from the same values. Only what is then right exactly is said.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from symderive.check.kept import keeping
from symderive.claims.bench import Bench
from symderive.claims.desk import Desk, Finding
from symderive.claims.edit_tools import Edit, Tried, available, composites, deltas
from symderive.claims.edits import FAMILIES, single_edits
from symderive.claims.expansion import MOST_TERMS, lacking, multiplied_out
from symderive.claims.factors import factor_words, scaled
from symderive.claims.fit import SEVERAL, linear, term_by_term
from symderive.claims.lines import FAULTS, ClaimError, names_in
from symderive.claims.mistakes import alone, line_of, truth_with_mistake
from symderive.claims.ratios import Ratio, constant_ratio
from symderive.claims.residual import lacking_factor, lacking_term
from symderive.claims.trees import Place, factors_of, get, multiplied, negated, number, places, put, sum_of, terms_of
from symderive.errors import SymderiveError
from symderive.spec import syntax

MOST_FIRST = 12
"""Changes that are tried as the first of two."""

MOST_NEARER = 4
"""Changes that only bring the claim nearer to the truth, behind which all others are tried."""

CLOSE = 1e-9
"""How near numbers are, relative to the largest of them, that may be the same."""

Second = Callable[[Desk, Tried], Finding | None]


def two_changes(desk: Desk) -> Finding | None:
    """The first pair of changes that makes the claim right, in the order in which single ones are tried."""
    values = Values(desk)
    seen: set[tuple[syntax.Node, Second]] = set()
    for first, second in values.promising():
        if desk.late or len(seen) >= MOST_FIRST:
            return None
        if (first.edit.node, second) in seen:
            continue
        seen.add((first.edit.node, second))
        try:
            found = second(desk, first)
        except (ClaimError, *FAULTS):
            continue
        if found is not None and not _is_idle(desk, first, found) and not _undoes(first, found):
            return _as_one(desk, first, found) or _both(first, found)
    return None


def _both(first: Tried, found: Finding) -> Finding:
    """Two mistakes, the first of which gives its kind; the same at two places is one."""
    if first.edit.words == found.sentence:
        return replace(found, kind=first.edit.kind)
    return replace(found, kind=first.edit.kind, sentence=f"{SEVERAL} {first.edit.words} {found.sentence}")


def _as_one(desk: Desk, first: Tried, found: Finding) -> Finding | None:
    """Where one term, or one factor, is too many and one is missing: one stands in the place of the other."""
    if first.edit.gone is None or found.several:
        return None
    corrected = found.corrected
    if found.lacked is not None:
        exchanged, corrected = _exchanged(desk, first, first.edit.gone, found)
    else:
        exchanged = None if corrected is None else replaced(desk.node, corrected)
    if exchanged is None:
        return None
    old, new = exchanged
    if desk.text(old).startswith("-"):
        old, new = negated(old), negated(new)
    elif all(isinstance(n, syntax.Binary) and n.op == "/" and n.left == number(1) for n in (old, new)):
        old, new = (n.right for n in (old, new))  # type: ignore[attr-defined]
    accesses = isinstance(old, syntax.Access) and isinstance(new, syntax.Access) and old.tensor == new.tensor
    kind = "wrong_index" if accesses else "wrong_operand"
    return Finding(kind, f"{desk.text(old)} should be {desk.text(new)}.", corrected)


def _exchanged(
    desk: Desk, first: Tried, gone: tuple[Place, syntax.Node], found: Finding
) -> tuple[tuple[syntax.Node, syntax.Node] | None, syntax.Node | None]:
    """What is too many and what belongs there, with the right claim where it can be written."""
    place, old = gone
    assert found.lacked is not None
    lacked = found.lacked
    rest = get(first.edit.node, place)
    term = first.edit.kind == "extra_term"
    if term:
        sign = -1 if desk.text(lacked).startswith("-") else 1
        new = sum_of([*terms_of(rest), (sign, lacked if sign > 0 else negated(lacked))])
    else:
        new = multiplied(rest, lacked)
    if desk.fits(corrected := put(desk.node, place, new), like=found.corrected):
        return (old, lacked), corrected
    if term and linear(desk.node, place):
        return (alone(desk.node, place, old), lacked), None
    return None, None


def _undoes(first: Tried, found: Finding) -> bool:
    """Whether the second change takes the first one back: ``a should be b`` and ``b should be a``."""
    pairs = [_SHOULD.fullmatch(words) for words in (first.edit.words, found.sentence)]
    return all(pairs) and pairs[0].groups() == pairs[1].groups()[::-1]  # type: ignore[union-attr]


_SHOULD = re.compile(r"(?:The index )?(.+) should be (.+)\.")


def _is_idle(desk: Desk, first: Tried, found: Finding) -> bool:
    """Whether a term or a factor that is exchanged is all there is, or what has no value: that explains nothing."""
    if first.edit.gone is None or found.lacked is None:
        return False
    rest = names_in(first.edit.node) & desk.benches[0].tensors.keys()
    return desk.outcome.error is not None or not rest


def replaced(old: syntax.Node, new: syntax.Node) -> tuple[syntax.Node, syntax.Node] | None:
    """The operand, term or factor in which two expressions differ, in each of them; None where there are more."""
    for place in [p for p, _ in places(old) if len(p) == 1 and type(old) is type(new)]:
        pair = get(old, place), get(new, place)
        if pair[0] != pair[1] and put(old, place, pair[1]) == new:
            return replaced(*pair) or pair
    for split in (terms_of, factors_of):
        parts, others = split(old), split(new)
        gone, come = ([p for p in a if p not in b] for a, b in ((parts, others), (others, parts)))
        if len(parts) == len(others) > 1 and len(gone) == len(come) == 1 and gone[0][0] == come[0][0]:
            return gone[0][1], come[0][1]
    return None


# What a second change may be


def _whole_factor(desk: Desk, first: Tried) -> Finding | None:
    """A factor of all that is left, or its sign."""
    node = first.edit.node
    ratios: list[float] = []
    for bench in desk.ratio_benches:
        value = constant_ratio(desk.truth(bench), desk.value(bench, node))
        if value is None:
            break
        ratios.append(value)
    ratio = desk.named(ratios) if len(ratios) >= len(desk.benches) else None
    if ratio is None:
        return None
    if ratio == Ratio(ratio.number) and ratio.number == -1:
        corrected = negated(node)
        return Finding("sign", "The sign of the whole is wrong.", corrected) if desk.fits(corrected) else None
    corrected = scaled(ratio, node)
    return Finding(*factor_words(ratio, desk), corrected) if desk.fits(corrected) else None


def _terms(desk: Desk, first: Tried) -> Finding | None:
    """A term that is missing, or one of another sign or factor, or one too many."""
    node = first.edit.node
    return term_by_term(desk, node) or _aside(desk, first, lacking) or lacking_term(desk, node)


def _lacking_factor(desk: Desk, first: Tried) -> Finding | None:
    return lacking_factor(desk, first.edit.node)


def _other_change(desk: Desk, first: Tried) -> Finding | None:
    """Another change, or a mistake in the derived formula that gives what is left."""
    return _aside(desk, first, truth_with_mistake) or single_edits(desk, first.edit.node)


def _aside(desk: Desk, first: Tried, explainer: Callable[[Desk], Finding | None]) -> Finding | None:
    """What explains the changed claim, taken for a claim of its own."""
    other = desk.about(desk.line, first.edit.node)
    other.allow(desk.most - desk.spent)
    try:
        return explainer(other)
    finally:
        desk.spent += other.spent


def _changes_like(other: Tried) -> Second:
    """Another change, of the sort that was tried on the claim itself."""

    def second(desk: Desk, first: Tried) -> Finding | None:
        for edit in other.family(desk, first.edit.node):
            if desk.late:
                return None
            if desk.fits(edit.node):
                return Finding(edit.kind, edit.words, edit.node)
        return None

    return second


# Which changes can be the first


class Values:
    """What the changed claims were worth at one point, in rows, without those worth the same."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.true = np.asarray(desk.truths[0], dtype=float).ravel()
        self.scale = float(np.abs(self.true).max(initial=0.0)) or 1.0
        rows: dict[bytes, tuple[Tried, np.ndarray]] = {}
        own = self._own()
        for tried in desk.tried:
            row = self._row(tried.value)
            if row is not None and row.any() and not (own is not None and self._same(row, own)):
                key = np.round(row / self.scale, 9).tobytes()
                if key not in rows or (rows[key][0].edit.kind == "shape" and tried.edit.kind != "shape"):
                    rows[key] = tried, row
        self.own = own
        self.tried = [t for t, _ in rows.values()]
        self.rows = np.array([r for _, r in rows.values()]).reshape(len(rows), self.true.size)

    def _own(self) -> np.ndarray | None:
        return None if self.desk.claimed is None else self._row(self.desk.claimed[0])

    def _row(self, value: np.ndarray | None) -> np.ndarray | None:
        """An array of the right shape as a row; None where it has another or is not finite."""
        if value is None or value.shape != self.desk.truths[0].shape or not np.isfinite(value).all():
            return None
        return value.ravel()

    def _same(self, a: np.ndarray, b: np.ndarray) -> bool:
        return bool((np.abs(a - b) <= CLOSE * self.scale).all())

    def promising(self) -> Iterator[tuple[Tried, Second]]:
        """Changes that can be the first of two, and what comes after each: what is cheapest to tell first."""
        if not len(self.rows) or not np.isfinite(self.true).all():
            return
        if self.true.size > 1:
            yield from ((t, _whole_factor) for t in self._along(self.rows, self.true[None, :]))
        yield from self._together()
        if self.true.size > 2:
            desk, candidates = self.desk, self._candidates()
            yield from (
                (t, _terms)
                for t in itertools.chain(
                    self._made_of(terms_of_truth(desk)), self._along(self.true - self.rows, candidates)
                )
            )
            yield from ((t, _lacking_factor) for t in self._quotients(candidates))
        yield from ((t, _other_change) for t in itertools.chain(self._met(), self._nearer()))

    def _along(self, rows: np.ndarray, others: np.ndarray) -> Iterator[Tried]:
        """The changes whose rows are multiples of one of some others."""
        if not len(others):
            return
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        directions = others / np.linalg.norm(others, axis=1, keepdims=True)
        cosines = np.abs(units @ directions.T)
        found = np.nan_to_num(cosines).max(axis=1) > 1 - 1e-12
        yield from (t for t, hit in zip(self.tried, found, strict=True) if hit)

    def _made_of(self, terms: list[np.ndarray]) -> Iterator[Tried]:
        """The changes whose rows are made of the terms of the truth, some of them in another multiple or not at all."""
        columns = [c.ravel() for c in terms if c.size == self.true.size and np.isfinite(c).all() and c.any()]
        if not 1 < len(columns) < self.true.size:
            return
        basis, scales, _ = np.linalg.svd(np.stack([c / np.linalg.norm(c) for c in columns], 1), full_matrices=False)
        basis = basis[:, scales > CLOSE]
        rests = self.rows - self.rows @ basis @ basis.T
        found = np.linalg.norm(rests, axis=1) <= CLOSE * np.linalg.norm(self.rows, axis=1)
        yield from (t for t, hit in zip(self.tried, found, strict=True) if hit)

    def _together(self) -> Iterator[tuple[Tried, Second]]:
        """Changes of different terms, or of different factors: what each does to the claim adds up, or multiplies."""
        if self.own is None:
            return
        found = [*self._pairs(self.rows - self.own, self.true - self.own)]
        used = (self.own != 0) & (self.true != 0)
        if used.any():
            logs = np.log(np.abs(self.rows[:, used] / self.own[used]))
            found += self._pairs(logs, np.log(np.abs(self.true[used] / self.own[used])))
        order = {family: n for n, family in enumerate(FAMILIES)}
        found.sort(key=lambda pair: sum(order[self.tried[n].family] for n in pair))
        yield from ((self.tried[i], _changes_like(self.tried[j])) for i, j in found)

    def _pairs(self, rows: np.ndarray, wanted: np.ndarray) -> Iterator[tuple[int, int]]:
        """The pairs of rows that add up to what is wanted."""
        weights = np.random.default_rng(0).uniform(1, 2, len(wanted))
        sums, target = rows @ weights, float(wanted @ weights)
        usable = np.flatnonzero(np.isfinite(sums))
        order = usable[np.argsort(sums[usable])]
        ordered = sums[order]
        near = CLOSE * max(1.0, float(np.abs(wanted).max(initial=0.0))) * len(wanted)
        for i in usable:
            low, high = np.searchsorted(ordered, [target - sums[i] - near, target - sums[i] + near])
            for j in order[low:high]:
                if i < j and bool((np.abs(rows[i] + rows[j] - wanted) <= near).all()):
                    yield int(i), int(j)

    def _candidates(self) -> np.ndarray:
        """The rows of what may be missing as a term or as a factor."""
        desk, shape = self.desk, self.desk.truths[0].shape
        rows = []
        sorts = (deltas, available, composites)
        for node in dict.fromkeys([number(1), *(n for sort in sorts for n in sort(desk, desk.node, ()))]):
            try:
                row = np.broadcast_to(desk.value(desk.benches[0], node), shape).ravel()
            except (ClaimError, SymderiveError, ValueError):
                continue
            if np.isfinite(row).all() and row.any():
                rows.append(row)
        return np.array(rows).reshape(len(rows), self.true.size)

    def _quotients(self, candidates: np.ndarray) -> Iterator[Tried]:
        """The changes after which one factor is missing, or a division."""
        used = self.true != 0
        if used.sum() < 3:
            return
        quotients = np.log(np.abs(self.true[used] / self.rows[:, used]))
        factors = np.log(np.abs(candidates[:, used]))
        quotients, factors = (a - a.mean(axis=1, keepdims=True) for a in (quotients, factors))
        factors = factors[np.isfinite(factors).all(axis=1) & (np.abs(factors).max(axis=1, initial=0.0) > CLOSE)]
        for tried, quotient in zip(self.tried, quotients, strict=True):
            if np.isfinite(quotient).all() and len(factors):
                gaps = np.minimum(np.abs(factors - quotient).max(axis=1), np.abs(factors + quotient).max(axis=1))
                if gaps.min() < CLOSE:
                    yield tried

    def _met(self) -> Iterator[Tried]:
        """The changes whose values are those of the truth with a mistake in it."""
        rows = [r for value in mistaken(self.desk) if (r := self._reshaped(value)) is not None]
        if not rows:
            return
        weights = np.random.default_rng(1).uniform(1, 2, self.true.size)
        others = np.array(rows)
        sums = np.sort(others @ weights)
        near = CLOSE * self.scale * self.true.size
        for tried, row in zip(self.tried, self.rows, strict=True):
            low, high = np.searchsorted(sums, [row @ weights - near, row @ weights + near])
            if high > low and bool((np.abs(others - row) <= CLOSE * self.scale).all(axis=1).any()):
                yield tried

    def _nearer(self) -> list[Tried]:
        """The changes after which more entries are right, or the shape is: those with the most right ones first."""
        right = (np.abs(self.rows - self.true) <= CLOSE * self.scale).sum(axis=1)
        before = -1 if self.own is None else int((np.abs(self.own - self.true) <= CLOSE * self.scale).sum())
        order = np.argsort(-right, kind="stable")
        return [self.tried[n] for n in order if right[n] > before][:MOST_NEARER]

    def _reshaped(self, value: np.ndarray) -> np.ndarray | None:
        if value.size != self.true.size or not np.isfinite(value).all() or self._same(value.ravel(), self.true):
            return None
        return value.ravel()


def terms_of_truth(desk: Desk) -> list[np.ndarray]:
    """What the terms of the derived formula are worth, multiplied out."""
    if desk.stated is None:
        return []
    line = line_of(desk, desk.stated)
    terms = [term for _, term in multiplied_out(desk.stated.right)]
    return [desk.value(desk.benches[0], t, line) for t in terms] if len(terms) <= MOST_TERMS else []


def mistaken(desk: Desk) -> Iterator[np.ndarray]:
    """What the derived formula is worth with each single change in it."""
    statement = desk.stated
    if statement is None:
        return
    other = desk.about(line_of(desk, statement), statement.right)
    bench = desk.benches[0]
    seen: set[syntax.Node] = {statement.right}
    with keeping(bench.interpreter, statement.right):
        for edit in itertools.chain.from_iterable(family(other, statement.right) for family in FAMILIES):
            if desk.late:
                return
            if edit.node not in seen:
                seen.add(edit.node)
                if (value := _value(desk, bench, edit, other)) is not None:
                    yield value


def _value(desk: Desk, bench: Bench, edit: Edit, other: Desk) -> np.ndarray | None:
    try:
        return desk.value(bench, edit.node, other.line)
    except (ClaimError, SymderiveError, ValueError, ArithmeticError):
        return None
