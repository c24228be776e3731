"""Choosing the form that a textbook would print: like terms collected, common factors taken out, the cheapest wins."""

from __future__ import annotations

from sympy import Add, Expr, Mul, S

from symderive.algebra.nodes import Access, And, Eq, Index, Le, Lt, Not, Sum, Where
from symderive.algebra.rules.branches import conjuncts_of
from symderive.algebra.rules.sums import linearity
from symderive.algebra.terms import Powers, cost, factors, powers, product, terms


def expanded(expression: Expr) -> Expr:
    """Products multiplied out, in the bodies of sums too, so that like terms can meet.

    Squares are not: ``sum (x - m)**2`` is accurate, ``sum x**2 - N m**2`` is not.
    """
    if expression.is_Add:
        return Add(*(expanded(t) for t in expression.args))
    if isinstance(expression, Sum):
        body = expanded(expression.body)
        if body == expression.body:
            return expression
        fresh = {i: i.fresh() for i in expression.bound}
        return Sum.over(body.xreplace(fresh), fresh.values())
    if expression.is_Mul:
        inner = Mul(*(expanded(f) if isinstance(f, Sum) else f for f in expression.args))
        return Add(*(e for t in terms(inner) for e in _multiply_out(t)))
    return expression


def _multiply_out(term: Expr) -> list[Expr]:
    number, parts = powers(term)
    for base, exponent in parts.items():
        if base.is_Add and exponent == 1:
            rest = product(number, {b: e for b, e in parts.items() if b != base})
            return [e for t in base.args for e in _multiply_out(t * rest)]
    return [term]


def factor_sum(expression: Expr) -> Expr:
    """``f a + f b = f (a + b)``, and ``sum_k f_k a_k + sum_k f_k b_k = sum_k f_k (a_k + b_k)``."""
    if not expression.is_Add:
        return expression
    parts = [powers(t) for t in expression.args]
    best = _factor(parts)
    return best if cost(best) <= cost(expression) else expression


def _factor(parts: list[tuple[Expr, Powers]]) -> Expr:
    if len(parts) < 2:
        return Add(*(product(*p) for p in parts))
    common = _shared(parts)
    if common:
        rest = [(n, _without(p, common)) for n, p in parts]
        inner = merge_sums(Add(*(product(*r) for r in rest)))
        if inner.is_Add:
            inner = _factor_part([powers(t) for t in inner.args])
        return product(S.One, common) * inner
    return _factor_part(parts)


def _shared(parts: list[tuple[Expr, Powers]]) -> Powers:
    """The factors of every term, each with the exponent that all of them have."""
    first = parts[0][1]
    shared: Powers = {}
    for base in first:
        exponents = [p.get(base, S.Zero) for _, p in parts]
        if all(e > 0 for e in exponents):
            shared[base] = min(exponents)
        elif all(e < 0 for e in exponents):
            shared[base] = max(exponents)
    return {b: e for b, e in shared.items() if e}


def _without(parts: Powers, common: Powers) -> Powers:
    return {b: e - common.get(b, S.Zero) for b, e in parts.items() if e != common.get(b, S.Zero)}


def _factor_part(parts: list[tuple[Expr, Powers]]) -> Expr:
    """Take the most valuable factor that some terms share out of those terms, as long as that is cheaper."""
    whole = merge_sums(Add(*(product(*p) for p in parts)))
    if not whole.is_Add:
        return whole
    parts = [powers(t) for t in whole.args]
    counts: dict[Expr, int] = {}
    for _, powers_of_term in parts:
        for base, exponent in powers_of_term.items():
            if exponent > 0 and base.atoms(Access):
                counts[base] = counts.get(base, 0) + 1
    candidates = sorted((b for b, n in counts.items() if n > 1), key=lambda b: (-counts[b] * cost(b), b.sort_key()))
    best = whole
    for base in candidates[: _width(len(parts))]:
        having = [p for p in parts if p[1].get(base, S.Zero) > 0]
        others = [p for p in parts if p[1].get(base, S.Zero) <= 0]
        if not others:
            continue
        candidate = Add(_factor(having), _factor_part(others) if len(others) > 1 else product(*others[0]))
        if cost(candidate) < cost(best):
            best = candidate
    return best


def _width(terms_left: int) -> int:
    """How many factors are tried: all that matter in a short sum, the best one in a long one, where each costs more."""
    return 4 if terms_left <= 4 else 2 if terms_left <= 7 else 1


def merge_sums(expression: Expr) -> Expr:
    """``c sum_k f_k a_k + c sum_k f_k b_k = c sum_k f_k (a_k + b_k)`` where the f_k are worth it."""
    if not expression.is_Add:
        return expression
    groups: dict[tuple[Expr, ...], list[tuple[Expr, Sum]]] = {}
    rest = []
    for term in expression.args:
        sums = [f for f in factors(term) if isinstance(f, Sum)]
        if len(sums) == 1:
            outside = Mul(*(f for f in factors(term) if f is not sums[0] and not f.is_Number))
            key = (outside, *(i.extent for i in sums[0].bound))
            groups.setdefault(key, []).append((term.as_coeff_Mul()[0], sums[0]))
        else:
            rest.append(term)
    if all(len(g) == 1 for g in groups.values()):
        return expression
    return Add(*rest, *(key[0] * _merge(group) for key, group in groups.items()))


def _merge(group: list[tuple[Expr, Sum]]) -> Expr:
    """One group of sums over indices of the same extents; merged where the bodies share a factor."""
    if len(group) == 1:
        return Mul(*group[0])
    if (both := _over_both_sides(group)) is not None:
        return both
    _, indices = group[0][1].open()
    bodies = [n * s.body.xreplace(dict(zip(s.bound, indices, strict=True))) for n, s in group]
    parts = [powers(b) for b in bodies]
    shared = _shared(parts)
    separate = Add(*(n * s for n, s in group))
    if not any(b.atoms(Access) for b in shared) or any(isinstance(b, Where) for b in shared):
        return separate
    if not _elementwise([_without(p, shared) for _, p in parts]):
        return separate
    merged = linearity(
        Sum.over(product(S.One, shared) * _factor([(n, _without(p, shared)) for n, p in parts]), indices)
    )
    return merged if cost(merged) < cost(separate) else separate


def _over_both_sides(group: list[tuple[Expr, Sum]]) -> Expr | None:
    """``sum[k : k < i](f) + sum[k : i < k](f) = sum[k : k != i](f)``: a pair is met from both of its ends."""
    if len(group) != 2:
        return None
    _, indices = group[0][1].open()
    masked = [s.body.xreplace(dict(zip(s.bound, indices, strict=True))) for _, s in group]
    if not all(isinstance(m, Where) and m.args[2] is S.Zero for m in masked):
        return None
    values = [powers(n * m.args[1]) for (n, _), m in zip(group, masked, strict=True)]
    one, other = (conjuncts_of(m.args[0]) for m in masked)
    alone, opposite = set(one) - set(other), set(other) - set(one)
    if values[0] != values[1] or len(alone) != 1 or len(opposite) != 1:
        return None
    (a,), (b,) = alone, opposite
    kinds = {type(a), type(b)}
    if not kinds <= {Lt, Le} or kinds == {Le} or a.args != b.args[::-1]:
        return None
    rest = [c for c in one if c != a] + ([Not(Eq(*a.args))] if type(a) is type(b) else [])
    return linearity(Sum.over(Where(And(*rest), product(*values[0]), S.Zero), indices))


def _elementwise(rests: list[Powers]) -> bool:
    """Whether adding the rests makes no tensor of more axes than each of their factors has: no outer products."""
    supports = [frozenset(b.atoms(Index)) for rest in rests for b in rest if b.atoms(Access)]
    return len(set(supports)) <= 1
