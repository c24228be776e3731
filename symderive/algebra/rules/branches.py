"""Conditions that are certain, and the branches of a ``where``."""

from __future__ import annotations

from collections.abc import Iterable

import sympy
from sympy import Add, Expr, Mul, S

from symderive.algebra import nodes
from symderive.algebra.bounds import always, in_range
from symderive.algebra.nodes import Access, And, Eq, Not, Where
from symderive.algebra.rules.sums import is_finite
from symderive.algebra.terms import factors
from symderive.spec.functions import FUNCTIONS


def whole_quotient(expression: Expr) -> Expr:
    """``r // b = 0`` and ``r % b = r`` where ``0 <= r < b``."""
    if isinstance(expression, nodes.FloorDiv | nodes.Mod):
        a, b = expression.args
        if not in_range(a, b) and not isinstance(a, Access):
            return S.Zero if isinstance(expression, nodes.FloorDiv) else a
    return expression


def certain_condition(expression: Expr) -> Expr:
    """A condition on indices that always holds is 1, one that never does is 0."""
    if isinstance(expression, nodes.Condition):
        verdict = always(expression)
        if verdict is not None:
            return S.One if verdict else S.Zero
    if isinstance(expression, And):
        return And(*(c for c in expression.args if not _said_by_others(c, expression.args)))
    return expression


def _said_by_others(condition: Expr, others: tuple[Expr, ...]) -> bool:
    """``a < b`` says ``not b < a`` and ``a != b``."""
    if not isinstance(condition, Not) or not isinstance(condition.args[0], nodes.Lt | Eq):
        return False
    a, b = condition.args[0].args
    return nodes.Lt(b, a) in others or (isinstance(condition.args[0], Eq) and nodes.Lt(a, b) in others)


def same_branch(expression: Expr) -> Expr:
    """``where(c, where(c, a, b), d) = where(c, a, d)``, and the like for the other branch."""
    if not isinstance(expression, Where):
        return expression
    condition, a, b = expression.args
    if isinstance(condition, And):
        condition = And(*(_given(c, [k for k in condition.args if k is not c]) for c in condition.args))
        if not isinstance(condition, And):
            return Where(condition, a, b)
    a = _given(a, condition.args if isinstance(condition, And) else [condition])
    taken = _larger(_under(a, condition, True), condition, True)
    other = _larger(_under(b, condition, False), condition, False)
    if isinstance(taken, Where) and taken.args[2] == other:
        return Where(And(condition, taken.args[0]), taken.args[1], other)
    if isinstance(other, Where) and other.args[2] == taken:
        return Where(And(Not(condition), other.args[0]), other.args[1], taken)
    return Where(condition, taken, other)


def _given(expression: Expr, known: Iterable[Expr]) -> Expr:
    """The expression where the conditions hold: what depends on them takes its first branch."""
    known = set(known)
    taken = {w: w.args[1] for w in expression.atoms(Where) if w.args[0] in known}
    return expression.xreplace(taken) if taken else expression


def _under(expression: Expr, condition: Expr, holds: bool) -> Expr:
    """A branch, given that the condition holds (or does not)."""
    if not isinstance(expression, Where):
        return expression
    inner = expression.args[0]
    if inner == condition:
        return expression.args[1 if holds else 2]
    known = condition.args if isinstance(condition, And) and holds else (condition,)
    if holds and isinstance(inner, And) and any(c in known for c in inner.args):
        return Where(And(*(c for c in inner.args if c not in known)), expression.args[1], expression.args[2])
    return expression


def _larger(expression: Expr, condition: Expr, holds: bool) -> Expr:
    """A branch in which the condition tells the larger of two numbers: ``max(a, b) = b`` where ``a < b``."""
    if not isinstance(condition, nodes.Lt | nodes.Le | Eq) or (isinstance(condition, Eq) and not holds):
        return expression
    low, high = condition.args if holds else condition.args[::-1]
    pairs = ((low, high), (high, low))
    known = {nodes.Maximum(*p): high for p in pairs} | {nodes.Minimum(*p): low for p in pairs}
    return expression.xreplace(known) if expression.atoms(nodes.Maximum, nodes.Minimum) & known.keys() else expression


def merge_branches(expression: Expr) -> Expr:
    """``where(c, a, 0) + where(c, b, d) = where(c, a + b, d)``; two branches that exclude each other are one."""
    if not expression.is_Add:
        return expression
    branches: dict[Expr, list[Expr]] = {}
    rest = []
    for term in expression.args:
        number, inner = term.as_coeff_Mul()
        if isinstance(inner, Where):
            condition, a, b = inner.args
            if isinstance(condition, Not):
                condition, a, b = condition.args[0], b, a
            held = branches.setdefault(condition, [S.Zero, S.Zero])
            held[0] += number * a
            held[1] += number * b
        else:
            rest.append(term)
    for condition, (_, b) in list(branches.items()):
        opposite = _opposite(condition)
        if b is S.Zero and opposite in branches and branches[opposite][1] is S.Zero:
            branches[condition][1] = Where(opposite, branches.pop(opposite)[0], S.Zero)
            break
    masked = [Where(c, a, b) for c, (a, b) in branches.items()]
    nested = _nested(masked)
    if nested is None and sum(isinstance(t.as_coeff_Mul()[1], Where) for t in expression.args) == len(branches):
        return expression
    return Add(*rest, *(masked if nested is None else nested))


def delta_beside_branch(expression: Expr) -> Expr:
    """``where(c, a, 0) + delta where(c, b, 0) = where(c, a + delta b, 0)``."""
    if not expression.is_Add:
        return expression
    plain = {t.args[0] for t in map(_without_number, expression.args) if isinstance(t, Where) and t.args[2] is S.Zero}
    terms = [_delta_inside(t, plain) for t in expression.args]
    return expression if terms == list(expression.args) else merge_branches(Add(*terms))


def _without_number(term: Expr) -> Expr:
    return term.as_coeff_Mul()[1]


def _delta_inside(term: Expr, conditions: set[Expr]) -> Expr:
    masks = [f for f in factors(term) if isinstance(f, Where) and f.args[2] is S.Zero]
    rest = [f for f in factors(term) if f not in masks]
    deltas = [f for f in rest if isinstance(f, Eq)]
    numbers = sum(f.is_number for f in rest)
    if len(masks) != 1 or not deltas or masks[0].args[0] not in conditions or len(deltas) + numbers < len(rest):
        return term
    condition, value, _ = masks[0].args
    return Where(condition, Mul(*rest, value), S.Zero)


def _nested(masked: list[Expr]) -> list[Expr] | None:
    """``where(c and k, a, 0) + where(not c and k and m, b, 0) = where(k, where(c, a, where(m, b, 0)), 0)``."""
    for n, first in enumerate(masked):
        for second in masked[n + 1 :]:
            for one, other in ((first, second), (second, first)):
                if (merged := _nest(one, other)) is not None:
                    return [merged, *(m for m in masked if m is not first and m is not second)]
    return None


def _nest(one: Expr, other: Expr) -> Expr | None:
    """Two masked terms as one; ``one`` is under no condition that ``other`` is not under, but for c."""
    if not all(isinstance(m, Where) and m.args[2] is S.Zero for m in (one, other)):
        return None
    conjuncts = conjuncts_of(one.args[0])
    others = conjuncts_of(other.args[0])
    for condition in conjuncts:
        negated = negation(condition) if negation(condition) in others else Not(condition)
        shared = [c for c in conjuncts if c != condition]
        if negated not in others or not set(shared) <= set(others) or isinstance(condition, Not):
            continue
        more = And(*(c for c in others if c != negated and c not in shared))
        if one.args[1] == other.args[1]:
            return Where(And(*shared, nodes.Or(condition, more)), one.args[1], S.Zero)
        return Where(And(*shared), Where(condition, one.args[1], Where(more, other.args[1], S.Zero)), S.Zero)
    return None


def conjuncts_of(condition: Expr) -> tuple[Expr, ...]:
    """The conditions that it joins by ``and``."""
    return condition.args if isinstance(condition, And) else (condition,)


def negation(condition: Expr) -> Expr:
    """``b <= a`` for ``a < b``, and so on; both sides are real numbers."""
    if isinstance(condition, nodes.Lt | nodes.Le):
        a, b = condition.args
        return nodes.Le(b, a) if isinstance(condition, nodes.Lt) else nodes.Lt(b, a)
    return Not(condition)


def negated_comparisons(expression: Expr) -> Expr:
    """``not a < b and c = b <= a and c``: beside other conditions a comparison is read as one."""
    if not isinstance(expression, And | nodes.Or):
        return expression
    return expression.func(
        *(
            negation(c.args[0]) if isinstance(c, Not) and isinstance(c.args[0], nodes.Lt | nodes.Le) else c
            for c in expression.args
        )
    )


def _opposite(condition: Expr) -> Expr | None:
    """``x < 0`` for ``x > 0``, which cannot hold with it."""
    if isinstance(condition, nodes.Lt) and condition.args[0] is S.Zero:
        return nodes.Lt(condition.args[1], S.Zero)
    return None


def common_factor_of_branches(expression: Expr) -> Expr:
    """``where(c, f a, f b) = f where(c, a, b)`` where neither branch is 0."""
    if not isinstance(expression, Where) or S.Zero in expression.args[1:2]:
        return expression
    leaves = [leaf for leaf in _leaves(expression) if leaf is not S.Zero]
    if len(leaves) < 2:
        return expression
    shared = {f for f in factors(leaves[0]) if not f.is_Number}
    for leaf in leaves[1:]:
        shared &= set(factors(leaf))
    if not shared or not all(is_finite(f) for f in shared):
        return expression
    common = Mul(*shared)
    return common * _divide_leaves(expression, shared)


def _leaves(expression: Expr) -> list[Expr]:
    if isinstance(expression, Where):
        return _leaves(expression.args[1]) + _leaves(expression.args[2])
    return [expression]


def _divide_leaves(expression: Expr, shared: set[Expr]) -> Expr:
    if isinstance(expression, Where):
        return Where(expression.args[0], *(_divide_leaves(a, shared) for a in expression.args[1:]))
    if expression is S.Zero:
        return expression
    rest = list(factors(expression))
    for factor in shared:
        rest.remove(factor)
    return Mul(*rest)


def into_branch(expression: Expr) -> Expr:
    """``f where(c, a, 0) = where(c, f a, 0)``: what is multiplied by 0 must not contribute, not even NaN."""
    if not expression.is_Mul:
        return expression
    masks = [f for f in expression.args if isinstance(f, Where) and f.args[2] is S.Zero]
    if not masks:
        return expression
    rest = [f for f in expression.args if f not in masks]
    deltas = [f for f in rest if isinstance(f, Eq)]
    value = Mul(*(f for f in rest if f not in deltas), *(m.args[1] for m in masks))
    return Mul(*deltas, Where(And(*(m.args[0] for m in masks)), value, S.Zero))


def into_branches(expression: Expr) -> Expr:
    """``where(c, a, where(d, b, 0)) / u = where(c, a / u, where(d, b / u, 0))`` where c is there to keep u from 0."""
    if not expression.is_Mul:
        return expression
    for chain in [f for f in expression.args if isinstance(f, Where) and _ends_in_zero(f.args[2])]:
        divisors = [f for f in expression.args if f.is_Pow and f.exp.is_negative and chain.args[0].has(f.base)]
        if divisors:
            rest = (f for f in expression.args if f is not chain and f not in divisors)
            return Mul(*rest, _times_leaves(chain, Mul(*divisors)))
    return expression


def _ends_in_zero(expression: Expr) -> bool:
    return isinstance(expression, Where) and (expression.args[2] is S.Zero or _ends_in_zero(expression.args[2]))


def _times_leaves(expression: Expr, factor: Expr) -> Expr:
    if isinstance(expression, Where):
        return Where(expression.args[0], *(_times_leaves(a, factor) for a in expression.args[1:]))
    return factor * expression


def rectified(expression: Expr) -> Expr:
    """``where(u > 0, f relu(u), 0) = f relu(u)``: where u is not positive, relu(u) is 0 already."""
    if not isinstance(expression, Where) or expression.args[2] is not S.Zero:
        return expression
    condition, value, _ = expression.args
    if not isinstance(condition, nodes.Lt) or condition.args[0] is not S.Zero:
        return expression
    relu = nodes.Apply("relu", condition.args[1])
    rest = [f for f in factors(value) if f != relu]
    return value if len(rest) < len(factors(value)) and all(is_finite(f) for f in rest) else expression


def sign_of_number(expression: Expr) -> Expr:
    """SymPy's own ``Abs`` and ``sign`` are the language's ``abs`` and ``sign``."""
    if isinstance(expression, sympy.Abs):
        return nodes.Apply("abs", expression.args[0])
    if isinstance(expression, sympy.sign):
        return nodes.Apply("sign", expression.args[0])
    return expression


def function_of_number(expression: Expr) -> Expr:
    """A function of the table at a number, or at constants and sizes, is what its definition gives there."""
    if isinstance(expression, nodes.Apply) and not expression.atoms(Access, nodes.Index):
        from symderive.algebra.adjoint import definition

        row = FUNCTIONS[expression.function]
        if row.definition:
            given = dict(zip(map(Access, row.parameters), expression.arguments, strict=True))
            return rebuilt(definition(expression.function), given)
    return expression


def rebuilt(expression: Expr, given: dict[Expr, Expr]) -> Expr:
    """The expression with values put in, conditions decided and functions inside it worked out."""
    if expression in given:
        return given[expression]
    if not expression.args or isinstance(expression, Access):
        return expression
    args = (rebuilt(a, given) if isinstance(a, Expr) else a for a in expression.args)
    return certain_condition(function_of_number(expression.func(*args)))


def named_branch(expression: Expr) -> Expr:
    """``where(x > 0, 1, where(x < 0, -1, 0)) = sign(x)``: a function of the table that is defined by branches."""
    if not isinstance(expression, Where):
        return expression
    from symderive.algebra.adjoint import definition

    for name in ("sign", "abs", "relu"):
        pattern = definition(name)
        argument = _branch_argument(expression)
        if argument is not None and pattern.xreplace({Access("x"): argument}) == expression:
            return nodes.Apply(name, argument)
    return expression


def _branch_argument(expression: Where) -> Expr | None:
    condition = expression.args[0]
    if isinstance(condition, nodes.Lt) and condition.args[0] is S.Zero:
        return condition.args[1]
    return None
