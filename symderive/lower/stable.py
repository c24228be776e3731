"""Element-wise expressions in the form in which array libraries compute them accurately.

The algebra works with ``exp``, ``log`` and ``erf``; here the kernels for what would cancel or overflow are found:
``log1p``, ``expm1``, ``erfc``, ``softplus``, ``logsigmoid``, and the other tail of a sigmoid.
"""

from __future__ import annotations

import sympy
from sympy import Add, Expr, Mul, S

from symderive.algebra.nodes import Access, Apply, Index


def stable(e: Expr, memo: dict[Expr, Expr] | None = None) -> Expr:
    """The same value in a form that neither overflows nor cancels where the value is finite."""
    memo = {} if memo is None else memo
    if not e.args or not e.has(sympy.exp, sympy.log, sympy.erf, Apply) or not e.has(Access, Index):
        return e  # a number is computed once, in double precision
    if (known := memo.get(e)) is None:
        args = [stable(a, memo) if isinstance(a, Expr) else a for a in e.args]
        changed = any(a is not b for a, b in zip(args, e.args, strict=True))
        known = _rewritten(e.func(*args) if changed else e)
        memo[e] = known
    return known


def _rewritten(e: Expr) -> Expr:
    if isinstance(e, sympy.log):
        return _log(e)
    if isinstance(e, Add):
        return _add(e)
    return e


def _log(e: Expr) -> Expr:
    """``log(1 + exp(x))``, ``log(sigmoid(x))``, ``log(1 + x)``."""
    inside = e.args[0]
    if isinstance(inside, Apply) and inside.function == "sigmoid":
        return Apply("logsigmoid", inside.arguments[0])
    if isinstance(inside, Add) and S.One in inside.args:
        rest = inside - 1
        if isinstance(rest, sympy.exp):
            return Apply("softplus", rest.args[0])
        return Apply("log1p", rest)
    return e


def _add(e: Add) -> Expr:
    """``exp(x) - 1``, ``1 - erf(x)``, ``1 + erf(x)``, ``1 - sigmoid(x)``, each with a factor and other terms."""
    number = e.as_coeff_Add()[0]
    if not number.is_Rational or number is S.Zero:
        return e
    for term in e.args:
        coefficient, rest = term.as_coeff_Mul()
        sign = coefficient / number
        if sign not in (S.One, S.NegativeOne):
            continue
        if (known := _with_one(rest, sign is S.One)) is not None:
            others = [a for a in e.args if a is not term and a is not number]
            return Add(*others, Mul(number, known))
    return e


def _with_one(e: Expr, positive: bool) -> Expr | None:
    """``1 + e`` or ``1 - e`` where there is a kernel for it."""
    if isinstance(e, sympy.erf):
        return Apply("erfc", -e.args[0] if positive else e.args[0])
    if positive:
        return None
    if isinstance(e, sympy.exp):
        return -Apply("expm1", e.args[0])
    if isinstance(e, Apply) and e.function == "sigmoid":
        return Apply("sigmoid", -e.arguments[0])
    return None
