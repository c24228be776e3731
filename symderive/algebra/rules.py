"""Rewrite rules, each a named function from an expression to an equal one; its docstring is its mathematics."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import sympy
from sympy import Add, Expr, Mul, Pow, S, log
from sympy.functions.elementary.exponential import exp as Exp

from symderive.algebra import nodes
from symderive.algebra.bounds import always, in_range
from symderive.algebra.deltas import contract
from symderive.algebra.nodes import Access, And, Eq, Index, LogSumExp, Not, Or, Sum, Where, free_indices
from symderive.algebra.terms import depends, factors, powers, product, terms, transform
from symderive.spec.functions import FUNCTIONS
from symderive.spec.sizes import BATCH_SIZE

Rule = Callable[[Expr], Expr]


# --- sums -----------------------------------------------------------------------------------------------------------


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
    number, parts = powers(term)
    outside, inside = [number], []
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
    if isinstance(body, Where) and body.args[2] is S.Zero and not depends(body.args[0], present):
        return Where(body.args[0], scale * _sum_of_term(body.args[1], present), S.Zero)
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
            deltas = [c for c in conjuncts if isinstance(c, Eq) and all(a.is_integer for a in c.args)]
            if not any(free_indices(d) & set(indices) for d in deltas):
                continue
            rest = And(*(c for c in conjuncts if c not in deltas))
            others = Mul(*(f for f in factors(term) if f is not factor))
            new, left = contract(Mul(*deltas, Where(rest, factor.args[1], S.Zero), others), indices)
            if left != indices and not any(isinstance(f, Eq) for f in factors(new)):
                return new, left
    return term, indices


def _out_of_where(body: Expr, indices: tuple[Index, ...]) -> tuple[Expr, list[Expr]]:
    """Factors of a masked body that every entry shares; only those that are finite wherever their tensors are."""
    if not (isinstance(body, Where) and body.args[2] is S.Zero):
        return body, []
    condition, value, _ = body.args
    pulled = [f for f in factors(value) if not depends(f, indices) and _is_finite(f)]
    rest = Mul(*(f for f in factors(value) if f not in pulled))
    return Where(condition, rest, S.Zero), pulled


def _is_finite(factor: Expr) -> bool:
    """Whether it is polynomial in tensors, so that a mask may be applied after it."""
    if isinstance(factor, Pow):
        return factor.exp.is_Integer and factor.exp > 0 and _is_finite(factor.base)
    return isinstance(factor, Access) or factor.is_Number or factor.is_Symbol


def normalised_sum(expression: Expr) -> Expr:
    """``sum_k exp(f_k - logsumexp_k f_k) = 1``."""
    if not isinstance(expression, Sum):
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


# --- conditions and branches ---------------------------------------------------------------------------------------


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
    taken = _under(a, condition, True)
    other = _under(b, condition, False)
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


def merge_branches(expression: Expr) -> Expr:
    """``where(c, a, 0) + where(c, b, d) = where(c, a + b, d)``, and ``where(c, a, 0) + where(not c, b, 0) = where(c, a, b)``."""
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
    for condition, (a, b) in list(branches.items()):
        opposite = _opposite(condition)
        if b is S.Zero and opposite in branches and branches[opposite][1] is S.Zero:
            branches[condition][1] = Where(opposite, branches.pop(opposite)[0], S.Zero)
            break
    if sum(isinstance(t.as_coeff_Mul()[1], Where) for t in expression.args) == len(branches):
        return expression
    return Add(*rest, *(Where(c, a, b) for c, (a, b) in branches.items()))


def _opposite(condition: Expr) -> Expr | None:
    """``x < 0`` for ``x > 0``, which cannot hold with it."""
    if isinstance(condition, nodes.Lt) and condition.args[0] is S.Zero:
        return nodes.Lt(condition.args[1], S.Zero)
    return None


def common_factor_of_branches(expression: Expr) -> Expr:
    """``where(c, f a, f b) = f where(c, a, b)`` where neither branch is 0."""
    if not isinstance(expression, Where) or S.Zero in expression.args[1:2]:
        return expression
    condition, a, b = expression.args
    leaves = [leaf for leaf in _leaves(expression) if leaf is not S.Zero]
    if len(leaves) < 2:
        return expression
    shared = set(f for f in factors(leaves[0]) if not f.is_Number)
    for leaf in leaves[1:]:
        shared &= set(factors(leaf))
    if not shared or not all(_is_finite(f) for f in shared):
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


def sign_of_number(expression: Expr) -> Expr:
    """SymPy's own ``Abs`` and ``sign`` are the language's ``abs`` and ``sign``."""
    if isinstance(expression, sympy.Abs):
        return nodes.Apply("abs", expression.args[0])
    if isinstance(expression, sympy.sign):
        return nodes.Apply("sign", expression.args[0])
    return expression


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


# --- exponentials --------------------------------------------------------------------------------------------------


def log_of_sum_of_exponentials(expression: Expr) -> Expr:
    """``log(sum_k exp(f_k)) = logsumexp_k f_k``; a mask becomes -inf, a common factor a term."""
    if not isinstance(expression, log):
        return expression
    result, rest = [], []
    for factor in factors(expression.args[0]):
        exponents = _sum_of_exponentials(factor)
        if exponents is not None:
            result.append(exponents)
        elif isinstance(factor, Exp):
            result.append(factor.args[0])
        elif (shift := _largest_exponent(factor)) is not None:
            result.append(shift)
            rest.append(_shifted(factor, shift))
        elif isinstance(factor, Pow) and (inner := _sum_of_exponentials(factor.base)) is not None:
            result.append(factor.exp * inner)
        else:
            rest.append(factor)
    if not result:
        return expression
    return Add(*result, log(Mul(*rest)) if rest else S.Zero)


def _sum_of_exponentials(expression: Expr) -> Expr | None:
    """The logsumexp whose exponential the sum is, or None."""
    if not isinstance(expression, Sum):
        return None
    body, indices = expression.open()
    exponent = _exponent(body)
    return None if exponent is None else LogSumExp.over(exponent, indices)


def _exponent(body: Expr) -> Expr | None:
    if isinstance(body, Exp):
        return body.args[0]
    if isinstance(body, Where) and body.args[2] is S.Zero:
        inner = _exponent(body.args[1])
        return None if inner is None else Where(body.args[0], inner, S.NegativeInfinity)
    return None


def quotient_of_exponentials(expression: Expr) -> Expr:
    """``exp(f_j) / sum_k exp(f_k) = exp(f_j - logsumexp_k f_k)``, which cannot overflow.

    A weighted sum, ``sum_k w_k exp(f_k)``, is ``exp(logsumexp f) sum_k w_k exp(f_k - logsumexp f)``.
    """
    if not isinstance(expression, Mul | Pow):
        return expression
    number, parts = powers(expression)
    changed = False
    for base, exponent in list(parts.items()):
        if not (exponent.is_number and exponent < 0):
            continue
        whole = _sum_of_exponentials(base)
        if whole is not None:
            del parts[base]
            parts[Exp(exponent * whole)] = parts.get(Exp(exponent * whole), S.Zero) + 1
            changed = True
            continue
        shift = _largest_exponent(base)
        if shift is not None:
            del parts[base]
            parts[_shifted(base, shift)] = exponent
            parts[Exp(exponent * shift)] = parts.get(Exp(exponent * shift), S.Zero) + 1
            changed = True
    if not changed:
        return expression
    return absorb_normaliser(product(number, parts))


def one_exponential(expression: Expr) -> Expr:
    """``exp(a) exp(f - logsumexp f) = exp(a + f - logsumexp f)``: a normaliser joins what it normalises."""
    if not expression.is_Mul:
        return expression
    exponentials = [f for f in expression.args if isinstance(f, Exp)]
    if len(exponentials) < 2 or not any(_normalises(e) for e in exponentials):
        return expression
    rest = [f for f in expression.args if f not in exponentials]
    return Mul(*rest, Exp(Add(*(e.args[0] for e in exponentials))))


def _normalises(exponential: Expr) -> bool:
    return any(isinstance(t.as_coeff_Mul()[1], LogSumExp) for t in terms(exponential.args[0]))


def _largest_exponent(expression: Expr) -> Expr | None:
    """For ``sum_k w_k exp(f_k)`` the logsumexp of f."""
    if not isinstance(expression, Sum):
        return None
    body, indices = expression.open()
    exponentials = [f for f in factors(body) if isinstance(f, Exp)]
    if len(exponentials) != 1 or any(isinstance(t.as_coeff_Mul()[1], LogSumExp) for t in terms(exponentials[0].args[0])):
        return None
    return LogSumExp.over(exponentials[0].args[0], indices)


def _shifted(expression: Sum, shift: Expr) -> Expr:
    body, indices = expression.open()
    exponential = next(f for f in factors(body) if isinstance(f, Exp))
    rest = Mul(*(f for f in factors(body) if f is not exponential))
    return Sum.over(rest * Exp(exponential.args[0] - shift), indices)


def shift_of_exponents(expression: Expr) -> Expr:
    """``logsumexp_k (f_k + c) = c + logsumexp_k f_k``."""
    if not isinstance(expression, LogSumExp):
        return expression
    body, indices = expression.open()
    shift = [t for t in terms(body) if not depends(t, indices)]
    if not shift or len(shift) == len(terms(body)):
        return expression
    return Add(*shift, LogSumExp.over(Add(*(t for t in terms(body) if t not in shift)), indices))


def absorb_normaliser(expression: Expr) -> Expr:
    """``exp(-logsumexp_k f_k) sum_k w_k exp(f_k) = sum_k w_k exp(f_k - logsumexp f)``, and the like for masks."""
    if not expression.is_Mul:
        return expression
    result = list(expression.args)
    for factor in expression.args:
        if not isinstance(factor, Exp):
            continue
        bound = [t for t in terms(factor.args[0]) if isinstance(t.as_coeff_Mul()[1], LogSumExp)]
        for n, other in enumerate(result):
            if bound and isinstance(other, Sum) and _largest_exponent(other) == -Add(*bound):
                result.remove(factor)
                result[n - 1 if result.index(other) < n else n] = _shifted(other, -Add(*bound))
                rest = factor.args[0] - Add(*bound)
                return Mul(*result, Exp(rest))
            if isinstance(other, Where) and other.args[2] is S.Zero and isinstance(other.args[1], Exp):
                result.remove(factor)
                result[result.index(other)] = Where(other.args[0], other.args[1] * factor, S.Zero)
                return Mul(*result)
    return expression


def logistic(expression: Expr) -> Expr:
    """``1 / (1 + exp(-x)) = sigmoid(x)``, ``exp(x) sigmoid(-x) = sigmoid(x)``, ``1 - sigmoid(x) = sigmoid(-x)`` in products."""
    if not isinstance(expression, Mul | Pow):
        return expression
    number, parts = powers(expression)
    changed = False
    for base, exponent in list(parts.items()):
        argument = _one_plus_exponential(base)
        if argument is not None and exponent.is_Integer and exponent < 0:
            del parts[base]
            name = nodes.Apply("sigmoid", -argument)
            parts[name] = parts.get(name, S.Zero) - exponent
            changed = True
    for base, exponent in list(parts.items()):
        if isinstance(base, Exp) and exponent == 1:
            mate = nodes.Apply("sigmoid", -base.args[0])
            if mate in parts and parts[mate].is_Integer and parts[mate] > 0:
                del parts[base]
                parts[mate] -= 1
                name = nodes.Apply("sigmoid", base.args[0])
                parts[name] = parts.get(name, S.Zero) + 1
                changed = True
    return product(number, parts) if changed else expression


def _one_plus_exponential(base: Expr) -> Expr | None:
    if base.is_Add and len(base.args) == 2 and S.One in base.args:
        other = base.args[0] if base.args[1] is S.One else base.args[1]
        if isinstance(other, Exp):
            return other.args[0]
    return None


def log_of_sigmoid(expression: Expr) -> Expr:
    """``log(sigmoid(x)) = logsigmoid(x)``, ``log(1 - sigmoid(x)) = logsigmoid(-x)``, ``log(1 + exp(x)) = softplus(x)``."""
    if not isinstance(expression, log):
        return expression
    argument = expression.args[0]
    if isinstance(argument, nodes.Apply) and argument.function == "sigmoid":
        return nodes.Apply("logsigmoid", argument.arguments[0])
    if argument.is_Add and len(argument.args) == 2 and S.One in argument.args:
        other = argument - 1
        if isinstance(other, Exp):
            return nodes.Apply("softplus", other.args[0])
        if isinstance(-other, nodes.Apply) and (-other).function == "sigmoid":
            return nodes.Apply("logsigmoid", -(-other).arguments[0])
    return expression


def complement(expression: Expr) -> Expr:
    """``sigmoid(-x) = 1 - sigmoid(x)``."""
    if isinstance(expression, nodes.Apply) and expression.function == "sigmoid":
        argument = expression.arguments[0]
        if argument.could_extract_minus_sign():
            return 1 - nodes.Apply("sigmoid", -argument)
    return expression


def complement_of_sigmoid(expression: Expr) -> Expr:
    """``sigmoid(x) sigmoid(-x) = sigmoid(x) (1 - sigmoid(x))``: the textbook's form."""
    if not expression.is_Mul:
        return expression
    number, parts = powers(expression)
    for base, exponent in list(parts.items()):
        if isinstance(base, nodes.Apply) and base.function == "sigmoid" and exponent == 1:
            argument = base.arguments[0]
            mate = nodes.Apply("sigmoid", -argument)
            if parts.get(mate) == 1 and not argument.could_extract_minus_sign():
                del parts[mate]
                parts[1 - base] = parts.get(1 - base, S.Zero) + 1
                return product(number, parts)
    return expression


def tidy_function(derivative: Expr, call: Expr, body: Expr) -> Expr:
    """A derivative in terms of the function itself and others of the table."""
    rules: list[Rule] = [
        sign_of_number,
        same_branch,
        certain_condition,
        merge_branches,
        common_factor_of_branches,
        named_branch,
        logistic,
        complement_of_sigmoid,
    ]
    result = derivative
    for rule in rules:
        result = transform(result, rule)
    folded = {body: call}
    for factor in factors(body):
        if not isinstance(factor, Access) and factor.atoms(Access) and FUNCTIONS and factor == body:
            folded[factor] = call
    return result.xreplace(folded)


STABLE: tuple[Rule, ...] = (
    log_of_sum_of_exponentials,
    log_of_sigmoid,
    quotient_of_exponentials,
    shift_of_exponents,
    absorb_normaliser,
    one_exponential,
    logistic,
    sign_of_number,
)
"""What makes an expression safe to compute, whatever it was written as."""

SUMS: tuple[Rule, ...] = (whole_quotient, certain_condition, same_branch, into_branch, linearity, normalised_sum, merge_branches)

