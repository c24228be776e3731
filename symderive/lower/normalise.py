"""Softmax, recognised in core form: ``exp(z - logsumexp[k](z))``, its logarithm, and both under a mask."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import sympy
from sympy import Add, Expr, S, oo

from symderive.algebra.nodes import Index, LogSumExp, Where
from symderive.lower import groups, plan
from symderive.lower.arithmetic import signed_terms, total
from symderive.lower.axes import Labelled, spread
from symderive.lower.context import Lowering


def normalised(e: Expr, ctx: Lowering) -> Labelled | None:
    """``exp(z - logsumexp[k](z))`` is ``softmax[k](z)``."""
    return _recognised("softmax", e.args[0], ctx)


def log_normalised(e: Expr, ctx: Lowering) -> Labelled | None:
    """``z - logsumexp[k](z)`` is ``log_softmax[k](z)``, also among other terms."""
    known = _recognised("log_softmax", e, ctx)
    if known is not None or not isinstance(e, Add) or len(e.args) < 3:
        return known
    for norm in e.args:
        if not isinstance(-norm, LogSumExp):
            continue
        for term in e.args:
            if term is not norm and (known := _recognised("log_softmax", term + norm, ctx)) is not None:
                number, signed = signed_terms([a for a in e.args if a not in (term, norm)], ctx)
                return total([(False, ctx.weight(term), known), *signed], number, ctx)
    return None


def _recognised(op: str, e: Expr, ctx: Lowering) -> Labelled | None:
    if not isinstance(e, Add):
        return None
    for term in e.args:
        coefficient, norm = term.as_coeff_Mul()
        if not isinstance(norm, LogSumExp) or not coefficient.is_negative:
            continue
        if op == "softmax" and coefficient is not S.NegativeOne:
            continue
        body = Add(*(a for a in e.args if a is not term)) / -coefficient
        if op == "softmax" and (grouped := groups.normalised(body, norm, ctx)) is not None:
            return grouped
        axes = normalised_axes(body, norm, ctx)
        if axes is None or len(axes) != 1 or axes[0].is_batch:
            continue
        value = ctx.lower(body)
        value = spread(ctx.graph, value, dict.fromkeys((*value.axes, *axes)))
        node = plan.Normalise(op, ctx.graph.cast(value.node, "real"), value.position(axes[0]))
        known = Labelled(ctx.graph.intern(node), value.axes)
        if coefficient is S.NegativeOne:
            return known
        return ctx.combine("mul", Labelled(ctx.graph.scalar(-coefficient)), known)
    return None


def normalised_axes(body: Expr, norm: LogSumExp, ctx: Lowering) -> tuple[Index, ...] | None:
    """The indices of ``body`` over which ``norm`` is its logsumexp, or None."""
    for chosen in _choices(body, norm, ctx):
        if LogSumExp.over(body, chosen) == norm:
            return chosen
    return None


def _choices(body: Expr, norm: LogSumExp, ctx: Lowering) -> Iterator[tuple[Index, ...]]:
    candidates = sorted(ctx.free(body) - ctx.free(norm), key=lambda i: (i.name, i.level))
    extents = sorted(str(i.extent) for i in norm.bound)
    for chosen in permutations(candidates, len(norm.bound)):
        if sorted(str(i.extent) for i in chosen) == extents:
            yield chosen


def under_mask(test: Expr, a: Expr, b: Expr) -> Expr:
    """In ``where(c, exp(z - logsumexp(where(c, z, -inf))), 0)`` the first z becomes the masked one."""
    if b is not S.Zero and b != -oo:
        return a
    if b is S.Zero:
        changes = {e: sympy.exp(_masked(test, e.args[0])) for e in a.atoms(sympy.exp)}
        changes = {old: new for old, new in changes.items() if old != new}
        return a.xreplace(changes) if changes else a
    return _masked(test, a)


def _masked(test: Expr, e: Expr) -> Expr:
    if not isinstance(e, Add):
        return e
    norms = [a for a in e.args if isinstance(-a, LogSumExp)]
    if len(norms) != 1 or not isinstance((-norms[0]).args[0], Where):
        return e
    body = Where(test, Add(*(a for a in e.args if a is not norms[0])), -oo)
    norm = -norms[0]
    free = sorted(_free(body) - _free(norm), key=lambda i: (i.name, i.level))
    for chosen in permutations(free, len(norm.bound)):
        if LogSumExp.over(body, chosen) == norm:
            return body + norms[0]
    return e


def _free(e: Expr) -> set[Index]:
    return {i for i in e.atoms(Index) if not i.is_bound}
