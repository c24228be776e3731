"""Kronecker deltas that are left: ``Eq(v, t[n])`` scatters, ``Eq(i, j)`` makes a diagonal, any other is a mask."""

from __future__ import annotations

from collections.abc import Sequence

from sympy import Add, Expr, Mul, S

from symderive.algebra import nodes
from symderive.algebra.nodes import Access, Clamp, Eq, Index
from symderive.lower.context import Lowering
from symderive.lower.integers import same
from symderive.record import record

_COMPUTED = (Access, Index, nodes.ArgMax, nodes.ArgMin)
"""Places that scatter even where nothing is summed: one entry for each."""


@record
class Target:
    """``Eq(index, place)``: what is multiplied by it goes to entry ``place`` of the axis ``index``."""

    index: Index
    place: Expr
    mask: Expr


def target_of(mask: Expr, bound: Sequence[Index], ctx: Lowering) -> Target | None:
    """The target of a delta: a free index on one side that the other side does not have."""
    if not isinstance(mask, Eq):
        return None
    sides = sorted(mask.args, key=lambda a: not isinstance(a, Index))
    for index, place in (sides, sides[::-1]):
        if not isinstance(index, Index) or index in bound or index.is_batch or not is_integral(place, ctx):
            continue
        inside = ctx.free(place)
        if inside and index not in inside and not (isinstance(place, Index) and not same(place.extent, index.extent)):
            return Target(index, place, mask)
    return None


def is_integral(e: Expr, ctx: Lowering) -> bool:
    """Whether an expression is an integer at all places."""
    if isinstance(e, Access):
        return ctx.tensors[e.tensor].kind == "integer"
    if isinstance(e, nodes.Node) and not isinstance(e, Clamp | nodes.Maximum | nodes.Minimum | nodes.Where):
        return bool(e.is_integer)
    if e.args and isinstance(e, Add | Mul | nodes.Node):
        return all(is_integral(a, ctx) for a in e.args)
    return bool(e.is_integer)


def is_target(mask: Expr, bound: Sequence[Index], ctx: Lowering) -> bool:
    """Whether a condition is a delta that scatters; without a summed or a computed place it is a mask."""
    target = target_of(mask, bound, ctx)
    if target is None:
        return False
    return bool(ctx.free(target.place) & set(bound)) or isinstance(target.place, _COMPUTED)


def has_delta(e: Expr, ctx: Lowering, bound: Sequence[Index] = ()) -> bool:
    """Whether a product or a ``where(c, a, 0)`` holds a delta that scatters."""
    return any(is_target(c, bound, ctx) for c in _conditions(e))


def _conditions(e: Expr) -> list[Expr]:
    if isinstance(e, Mul):
        return [c for a in e.args for c in _conditions(a)]
    if isinstance(e, nodes.Where) and e.args[2] is S.Zero:
        return [*_conditions(e.args[0]), *_conditions(e.args[1])]
    if isinstance(e, nodes.And):
        return list(e.args)
    return [e] if isinstance(e, nodes.Condition) else []


def split_terms(terms: Sequence[Expr], ctx: Lowering) -> tuple[list[Expr], list[Expr]]:
    """The terms without and with a delta that scatters."""
    deltas = [t for t in terms if has_delta(t, ctx)]
    return [t for t in terms if t not in deltas], deltas
