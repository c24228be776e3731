"""Sums over indices: linearity, deltas, sums that are known."""

from __future__ import annotations

from sympy import Add, Expr, Mul, Pow, S
from sympy.functions.elementary.exponential import exp as Exp

from symderive.algebra.bounds import holds_somewhere
from symderive.algebra.deltas import contract
from symderive.algebra.nodes import Access, And, Eq, Index, LogSumExp, Sum, Where, free_indices
from symderive.algebra.terms import depends, factors, powers, terms


def linearity(expression: Expr) -> Expr:
    """``sum_k (a f_k + g_k) = a sum_k f_k + sum_k g_k``, ``sum_k delta(k, e) f_k = f_e``, ``sum_k a = K a``."""
    if not isinstance(expression, Sum):
        return expression
    body, indices = expression.open()
    return Add(*(_sum_of_term(t, indices) for t in terms(_split(body))))


def _split(body: Expr) -> Expr:
    """A number or a power times a sum is written as a sum, so that its terms can be summed one by one."""
    number, parts = powers(body)
    sums = [b for b, e in parts.items() if b.is_Add and e == 1]
    if len(parts) == 1 and sums:
        return Add(*(number * t for t in sums[0].args))
    return body


def _sum_of_term(term: Expr, indices: tuple[Index, ...]) -> Expr:
    term, indices = contract(term, indices)
    term, indices = _contract_where(term, indices)
    if not indices:
        return term
    number, parts = powers(_alike(term, indices))
    outside: list[Expr] = [number]
    inside: list[Expr] = []
    for factor in (b**e for b, e in parts.items()):
        (inside if depends(factor, indices) else outside).append(factor)
    groups = _independent(inside, indices)
    return Mul(*outside, *(_sum_of_group(group, own) for group, own in groups))


def _independent(inside: list[Expr], indices: tuple[Index, ...]) -> list[tuple[list[Expr], tuple[Index, ...]]]:
    """``sum_{j,k} f_j g_k = (sum_j f_j) (sum_k g_k)``: factors grouped by the summed indices that connect them."""
    groups: list[tuple[list[Expr], set[Index]]] = []
    for factor in inside:
        members, own = [factor], {i for i in indices if depends(factor, [i])}
        for group in [g for g in groups if g[1] & own]:
            groups.remove(group)
            members, own = group[0] + members, group[1] | own
        groups.append((members, own))
    unused = set(indices).difference(*(own for _, own in groups))
    result = [(members, tuple(i for i in indices if i in own)) for members, own in groups]
    return [*result, ([], tuple(i for i in indices if i in unused))] if unused else result


def _sum_of_group(inside: list[Expr], indices: tuple[Index, ...]) -> Expr:
    outside: list[Expr] = []
    body = Mul(*inside)
    body, pulled = _out_of_where(body, indices)
    condition, body = _condition_outside(body, indices)
    if condition is not S.One:
        return Where(condition, Mul(*pulled) * _sum_of_term(body, indices), S.Zero)
    absent = tuple(i for i in indices if not depends(body, [i]))
    present = tuple(i for i in indices if i not in absent)
    scale = Mul(*outside, *pulled, *(i.extent for i in absent))
    if isinstance(body, Where) and not depends(body.args[0], present):
        condition, *branches = body.args
        return Where(condition, *(scale * _sum_of_term(b, present) for b in branches))
    return scale * Sum.over(body, present)


def _condition_outside(body: Expr, indices: tuple[Index, ...]) -> tuple[Expr, Expr]:
    """``sum_k where(a and b_k, f_k, 0) = where(a, sum_k where(b_k, f_k, 0), 0)``."""
    if not (isinstance(body, Where) and body.args[2] is S.Zero and isinstance(body.args[0], And)):
        return S.One, body
    own = [c for c in body.args[0].args if depends(c, indices)]
    rest = [c for c in body.args[0].args if c not in own]
    return And(*rest), Where(And(*own), body.args[1], S.Zero)


def _contract_where(term: Expr, indices: tuple[Index, ...]) -> tuple[Expr, tuple[Index, ...]]:
    """``sum_k where(k == e and c, f_k, 0) = where(c, f_e, 0)``."""
    for factor in factors(term):
        if isinstance(factor, Where) and factor.args[2] is S.Zero:
            conjuncts = factor.args[0].args if isinstance(factor.args[0], And) else (factor.args[0],)
            deltas = [c for c in conjuncts if isinstance(c, Eq)]
            if not any(free_indices(d) & set(indices) for d in deltas):
                continue
            rest = And(*(c for c in conjuncts if c not in deltas))
            others = Mul(*(f for f in factors(term) if f is not factor))
            new, left = contract(Mul(*deltas, Where(rest, factor.args[1], S.Zero), others), indices)
            if left != indices and _number_of_deltas(new) <= _number_of_deltas(others):
                return new, left
    return term, indices


def _alike(term: Expr, indices: tuple[Index, ...]) -> Expr:
    """``sum_k delta(t_k, t_e) a(t_k) f_k = a(t_e) sum_k delta(t_k, t_e) f_k``: a factor that is the same for all terms.

    Of a group that may be empty none is: ``a(i)`` may be infinite there, as a logsumexp of nothing is.
    """
    parts = [_alike_in_branch(f, indices) for f in factors(term)]
    for delta in [f for f in parts if isinstance(f, Eq)]:
        parts = [f if f is delta else _read_alike(f, delta, indices) for f in parts]
    return Mul(*parts)


def _alike_in_branch(factor: Expr, indices: tuple[Index, ...]) -> Expr:
    if not (isinstance(factor, Where) and factor.args[2] is S.Zero):
        return factor
    condition, value, _ = factor.args
    return Where(condition, Mul(*(_read_alike(f, condition, indices) for f in factors(value))), S.Zero)


def _read_alike(factor: Expr, delta: Expr, indices: tuple[Index, ...]) -> Expr:
    """The factor with what a delta says of a summed entry in its place, if then it depends on no summed index."""
    if not holds_somewhere(delta, indices) or not depends(factor, indices):
        return factor
    for read, given in (delta.args, delta.args[::-1]):
        if isinstance(read, Access) and isinstance(given, Access) and not depends(given, indices):
            alike = factor.xreplace({read: given})
            return factor if depends(alike, indices) else alike
    return factor


def _number_of_deltas(term: Expr) -> int:
    return sum(isinstance(f, Eq) for f in factors(term))


def _out_of_where(body: Expr, indices: tuple[Index, ...]) -> tuple[Expr, list[Expr]]:
    """Factors of a masked body that every entry shares: those that are finite wherever their tensors are.

    Where some entry is not masked, as in a sum over its own group, all of them.
    """
    if not (isinstance(body, Where) and body.args[2] is S.Zero):
        return body, []
    condition, value, _ = body.args
    number, parts = powers(value)
    own = [b**e for b, e in parts.items()]
    taken = holds_somewhere(condition, indices)
    pulled = [f for f in own if not depends(f, indices) and (taken or is_finite(f))]
    return Where(condition, Mul(*(f for f in own if f not in pulled)), S.Zero), [number, *pulled]


def is_finite(factor: Expr) -> bool:
    """Whether it is polynomial in tensors, so that a mask may be applied after it."""
    if isinstance(factor, Pow):
        if factor.base.is_Symbol and factor.base.is_positive:
            return True  # a size, or a constant that cannot be 0
        return factor.exp.is_Integer and factor.exp > 0 and is_finite(factor.base)
    return isinstance(factor, Access) or factor.is_Number or factor.is_Symbol


def normalised_sum(expression: Expr) -> Expr:
    """``sum_k exp(f_k - logsumexp_k f_k) = 1``."""
    if not isinstance(expression, Sum) or not isinstance(expression.body, Where | Exp):
        return expression
    body, indices = expression.open()
    inner = body.args[1] if isinstance(body, Where) and body.args[2] is S.Zero else body
    if not isinstance(inner, Exp):
        return expression
    for term in terms(inner.args[0]):
        number, rest = term.as_coeff_Mul()
        if number == -1 and isinstance(rest, LogSumExp):
            value = inner.args[0] - term
            if inner is not body:
                value = Where(body.args[0], value, S.NegativeInfinity)
            if inner is body and LogSumExp.over(value, indices) == rest:
                return S.One
    return expression
