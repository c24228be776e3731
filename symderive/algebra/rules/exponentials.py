"""Exponentials, their sums and quotients, written so that none can overflow."""

from __future__ import annotations

from sympy import Add, Expr, Mul, Pow, S, log
from sympy.functions.elementary.exponential import exp as Exp

from symderive.algebra import nodes
from symderive.algebra.nodes import Access, Index, LogSumExp, Stop, Sum, Where, free_indices
from symderive.algebra.terms import depends, factors, powers, product, terms


def log_of_sum_of_exponentials(expression: Expr) -> Expr:
    """``log(sum_k exp(f_k)) = logsumexp_k f_k``; a mask becomes -inf, a common factor a term."""
    if not isinstance(expression, log):
        return expression
    result, rest = [], []
    for factor in factors(expression.args[0]):
        exponents = _sum_of_exponentials(factor) or _log_of_terms(factor)
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


def _log_of_terms(expression: Expr) -> Expr | None:
    """``log(exp(a) + exp(b)) = a + softplus(b - a)`` for the terms of a sum one after the other; 1 is ``exp(0)``."""
    exponents = [_term_exponent(t) for t in terms(expression)] if expression.is_Add else []
    known = sorted((e for e in exponents if e is not None), key=lambda e: (bool(e.atoms(LogSumExp)), e.sort_key()))
    if len(known) < 2 or len(known) < len(exponents):
        return None
    whole = known.pop()
    while known:
        exponent = known.pop()
        whole = exponent + nodes.Apply("softplus", whole - exponent)
    return whole


def _term_exponent(term: Expr) -> Expr | None:
    """The e for which a term is ``exp(e)``."""
    number, rest = term.as_coeff_Mul()
    if not number.is_positive or (number == 1 and rest is S.One and term is not S.One):
        return None
    scale = log(number)
    if rest is S.One:
        return scale
    if isinstance(rest, Exp):
        return scale + rest.args[0]
    inner = _sum_of_exponentials(rest)
    return None if inner is None else scale + inner


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
        if whole is None and any(isinstance(b, Exp) for b in parts):
            whole = _log_of_terms(base)
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
    """``exp(a) exp(b) = exp(a + b)``, finite where one of them overflows and the other underflows.

    A normaliser joins what it normalises; others, where one has every index of all, so that nothing is computed of more
    entries.
    """
    if not expression.is_Mul:
        return expression
    exponentials = [f for f in expression.args if isinstance(f, Exp)]
    if len(exponentials) < 2:
        return expression
    indices = [free_indices(e) for e in exponentials]
    if not any(_normalises(e) for e in exponentials) and set().union(*indices) not in indices:
        return expression
    rest = [f for f in expression.args if f not in exponentials]
    return Mul(*rest, Exp(Add(*(e.args[0] for e in exponentials))))


def power_of_stopped(expression: Expr) -> Expr:
    """``stop(exp(a))**b = exp(b stop(a))``, which is finite where ``exp(a)`` overflows."""
    if not isinstance(expression, Pow) or not isinstance(expression.base, Stop):
        return expression
    (stopped,) = expression.base.args
    return Exp(expression.exp * Stop(stopped.args[0])) if isinstance(stopped, Exp) else expression


def _normalises(exponential: Expr) -> bool:
    parts = [t.as_coeff_Mul()[1] for t in terms(exponential.args[0])]
    return any(isinstance(p, LogSumExp) or (isinstance(p, nodes.Apply) and p.function == "softplus") for p in parts)


def exponential_of_softplus(expression: Expr) -> Expr:
    """``exp(x - softplus(x)) = sigmoid(x)``, and ``exp(f - softplus(s)) = exp(f - s) sigmoid(s)`` for a logsumexp s."""
    if not isinstance(expression, Exp):
        return expression
    for term in terms(expression.args[0]):
        number, inner = term.as_coeff_Mul()
        if number != -1 or not isinstance(inner, nodes.Apply) or inner.function != "softplus":
            continue
        argument, rest = inner.arguments[0], expression.args[0] - term
        if rest is S.Zero:
            return nodes.Apply("sigmoid", -argument)
        if rest == argument or any(isinstance(t, LogSumExp) for t in terms(argument)):
            return Exp(rest - argument) * nodes.Apply("sigmoid", argument)
    return expression


def _largest_exponent(expression: Expr) -> Expr | None:
    """For ``sum_k w_k exp(f_k)`` the logsumexp of f."""
    if not isinstance(expression, Sum):
        return None
    body, indices = expression.open()
    exponentials = [f for f in factors(body) if isinstance(f, Exp)]
    if len(exponentials) != 1 or any(
        isinstance(t.as_coeff_Mul()[1], LogSumExp) for t in terms(exponentials[0].args[0])
    ):
        return None
    return LogSumExp.over(exponentials[0].args[0], indices)


def _shifted(expression: Sum, shift: Expr) -> Expr:
    body, indices = expression.open()
    exponential = next(f for f in factors(body) if isinstance(f, Exp))
    rest = Mul(*(f for f in factors(body) if f is not exponential))
    return Sum.over(rest * Exp(exponential.args[0] - shift), indices)


def shift_of_exponents(expression: Expr) -> Expr:
    """``logsumexp_k (f_k + c) = c + logsumexp_k f_k``, and ``logsumexp_k c = c + log K``."""
    if not isinstance(expression, LogSumExp):
        return expression
    body, indices = expression.open()
    shift = [t for t in terms(body) if not depends(t, indices)]
    if not depends(body, indices) and body.is_finite is not False:
        return body + log(Mul(*(i.extent for i in indices)))
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
    """``1 / (1 + exp(-x)) = sigmoid(x)``, and ``exp(x) sigmoid(-x) = sigmoid(x)``."""
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
        if isinstance(other, Exp) and other.atoms(Access, Index):  # of constants it is a number, and stays one
            return other.args[0]
    return None


def log_of_sigmoid(expression: Expr) -> Expr:
    """``log(sigmoid(x)) = logsigmoid(x)``, ``log(1 - sigmoid(x)) = logsigmoid(-x)``, ``log(1 + exp(x)) = softplus``."""
    if not isinstance(expression, log):
        return expression
    argument = expression.args[0]
    if not argument.atoms(Access, Index):
        return expression
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
