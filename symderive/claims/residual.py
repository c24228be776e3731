"""What is missing altogether: a multiple of something at hand that makes up the difference, or the quotient."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from symderive.claims.bench import Bench
from symderive.claims.desk import Desk, Finding
from symderive.claims.edit_tools import available, composites, deltas, is_complement
from symderive.claims.factors import scaled
from symderive.claims.fit import MOST_ALONGSIDE
from symderive.claims.lines import ClaimError
from symderive.claims.ratios import Ratio, constant_ratio
from symderive.claims.trees import factors_of, multiplied, number, product_of, sum_of, terms_of
from symderive.errors import SymderiveError
from symderive.spec import syntax

Compute = Callable[[Bench], np.ndarray]


def missing_multiple(desk: Desk) -> Finding | None:
    """The claim lacks a term that is a multiple of a tensor, of a delta or of 1."""
    return lacking_term(desk, desk.node)


def lacking_term(desk: Desk, node: syntax.Node) -> Finding | None:
    """The same of any side."""
    own = [term for _, term in terms_of(node)]
    return _missing(desk, node, lambda rest: (c for c in _candidates(desk) if c not in own))


def missing_product(desk: Desk) -> Finding | None:
    """The claim lacks a term that is a product of tensors at hand, also one on a diagonal: ``- V[i, f] * x[i]**2``."""

    def lacked(bench: Bench) -> np.ndarray:
        return np.asarray(desk.truth(bench) - desk.value(bench, desk.node))

    found = itertools.chain(_products(desk, lacked), _on_diagonals(desk, lacked))
    own = set(factors_of(desk.node))  # a product of all that the claim is would be a factor of it
    return _missing(desk, desk.node, lambda rest: (c for c in found if not own <= set(factors_of(c))))


def _on_diagonals(desk: Desk, lacked: Compute) -> Iterator[syntax.Node]:
    """Products with a delta outside of which there is nothing left: ``delta(k, j) * p[n, k]``."""
    rest = lacked(desk.benches[0])
    for delta in deltas(desk, desk.node, ()):
        ones = np.broadcast_to(desk.value(desk.benches[0], delta), rest.shape) != 0
        if not (_used(rest) & ~ones).any():
            yield from (syntax.Binary("*", delta, product) for product in _products(desk, lacked))


def _missing(
    desk: Desk, node: syntax.Node, candidates: Callable[[np.ndarray], Iterator[syntax.Node]]
) -> Finding | None:
    """A term that is a multiple of one of the candidates for what a side lacks of the truth; 0 lacks all of it."""
    if node == desk.node and desk.vanishes:
        return None
    try:
        benches = desk.ratio_benches
        rests = [desk.truth(b) - desk.value(b, node) for b in benches]
    except (ClaimError, SymderiveError, ValueError):
        return None
    for candidate in candidates(rests[0]):
        if desk.late:
            return None
        parts = (np.broadcast_to(desk.value(b, candidate), r.shape) for b, r in zip(benches, rests, strict=True))
        ratio = ratio_of(desk, zip(rests, parts, strict=False))
        if ratio is None:
            continue
        positive = Ratio(abs(ratio.number), ratio.powers)
        term = positive.node if candidate == number(1) else scaled(positive, candidate)
        sign = 1 if ratio.number > 0 else -1
        if desk.fits(corrected := sum_of([(1, node), (sign, term)])):
            words = f"A term is missing: {'+' if sign > 0 else '-'} {desk.text(term)}."
            return Finding("missing_term", words, corrected, lacked=sum_of([(sign, term)]))
    return None


def multiple_of_factor(desk: Desk) -> Finding | None:
    """The claim lacks a factor that is a multiple of a tensor or of a product of some, or has one too many."""
    return lacking_factor(desk, desk.node, several=True)


def lacking_factor(desk: Desk, node: syntax.Node, several: bool = False) -> Finding | None:
    """The same of any side; products of ``several`` tensors, too, or of one alone."""
    singles = [*available(desk, desk.node, ()), *composites(desk, desk.node, ())]

    def quotient(bench: Bench) -> np.ndarray:
        return np.asarray(desk.truth(bench) / desk.value(bench, node))

    try:
        products = list(_products(desk, quotient)) if several else []
    except (ClaimError, SymderiveError, ValueError):
        return None
    for candidate in [*singles, *(syntax.Binary("/", number(1), s) for s in singles), *products]:
        if desk.late:
            return None
        product = multiplied(node, candidate)
        ratio = ratio_of(desk, ((desk.truth(b), desk.value(b, product)) for b in desk.ratio_benches))
        if ratio is not None and desk.fits(corrected := scaled(ratio, product)):
            factor = scaled(ratio, candidate)
            return Finding("factor", f"The {_named(desk, factor)} is missing.", corrected, lacked=factor)
    return None


def _named(desk: Desk, factor: syntax.Node) -> str:
    """A factor, or a division where it is one."""
    if isinstance(factor, syntax.Binary) and factor.op == "/" and factor.left == number(1):
        return f"division by {desk.text(factor.right)}"
    return f"factor {desk.text(factor)}"


def _used(target: np.ndarray) -> np.ndarray:
    """The entries that are not 0, nor what rounding leaves of it."""
    finite = np.isfinite(target)
    return finite & (np.abs(target) > _ROUNDING * np.abs(target[finite]).max(initial=0.0))


def _products(desk: Desk, wanted: Compute) -> Iterator[syntax.Node]:
    """Products of powers of up to three tensors at hand that have the wanted entries, but for a common factor."""
    targets: dict[Bench, np.ndarray] = {}
    for bench in grounds(desk):
        if sum(int(_used(t).sum()) for t in targets.values()) < 2 * FEWEST:
            targets[bench] = np.asarray(wanted(bench), dtype=float)
    used = np.concatenate([_used(t).ravel() for t in targets.values()])
    if used.sum() < FEWEST:
        return
    goal = np.log(np.abs(np.concatenate([t.ravel() for t in targets.values()])[used]))
    logs: list[tuple[syntax.Node, np.ndarray]] = []
    for candidate in [*available(desk, desk.node, ()), *filter(is_complement, composites(desk, desk.node, ()))]:
        try:
            rows = [np.broadcast_to(desk.value(b, candidate), t.shape).ravel() for b, t in targets.items()]
        except (ClaimError, SymderiveError, ValueError):
            continue
        value = np.abs(np.concatenate(rows)[used])
        if value.all() and np.isfinite(value).all() and (value != 1).any() and len(logs) < MOST_TENSORS:
            logs.append((candidate, np.log(value)))
    yield from powers_worth(logs, goal, {1: _POWERS, 2: _POWERS, 3: _POWERS[:3]})


def powers_worth(
    factors: Sequence[tuple[syntax.Node, np.ndarray]], goal: np.ndarray, powers: Mapping[int, Sequence[int]]
) -> Iterator[syntax.Node]:
    """Products of so many factors, each raised to one of some ``powers``, that are worth a goal, but for a number.

    Goal and factors are given by the logarithms of their entries.
    """
    for count, exponents in powers.items():
        table = np.array(list(itertools.product(exponents, repeat=count)))
        for chosen in itertools.combinations(factors, count):
            gaps = goal - table @ np.array([log for _, log in chosen])
            for row in table[np.ptp(gaps, axis=1) < CLOSE].tolist():
                yield product_of([raised(n, p) for p, (n, _) in zip(row, chosen, strict=True)])


def grounds(desk: Desk) -> list[Bench]:
    """Benches of the same sizes, where one may have too few entries to tell."""
    first = desk.ratio_benches[0]
    return [first, *(desk.alongside(first, n) for n in range(MOST_ALONGSIDE))]


_POWERS = (1, 2, -1, -2)
CLOSE = 1e-8
_ROUNDING = 1e-12
FEWEST = 3
MOST_TENSORS = 10


def raised(node: syntax.Node, power: int) -> tuple[str, syntax.Node]:
    """A factor that is a power of a node."""
    base = node if abs(power) == 1 else syntax.Binary("**", node, number(abs(power)))
    return ("*" if power > 0 else "/"), base


def ratio_of(desk: Desk, sides: Iterable[tuple[np.ndarray, np.ndarray]]) -> Ratio | None:
    """The number, by name, that the first of each two sides is of the second: two for each of the ratio benches.

    They are computed as far as they are needed; where that cannot be done there is no such number.
    """
    values: list[float] = []
    try:
        for wanted, part in sides:
            if (value := constant_ratio(wanted, part)) is None:
                break
            values.append(value)
    except (ClaimError, SymderiveError, ValueError):
        return None
    return desk.named(values) if len(values) >= len(desk.benches) else None


def _candidates(desk: Desk) -> Iterator[syntax.Node]:
    yield number(1)
    yield from deltas(desk, desk.node, ())
    yield from available(desk, desk.node, ())
