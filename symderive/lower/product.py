"""Products under a sum, taken apart."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache

from sympy import Expr, Mul, Pow, S, exp, log, tan

from symderive.algebra import nodes
from symderive.algebra.bounds import holds_somewhere
from symderive.algebra.nodes import Index
from symderive.lower.arithmetic import content
from symderive.lower.context import Lowering, plain_sizes


@dataclass
class Product:
    """``number * product(factors)`` where all ``masks`` hold, else 0, summed over ``bound``."""

    bound: list[Index]
    number: Expr = S.One
    factors: list[Expr] = field(default_factory=list)
    masks: list[Expr] = field(default_factory=list)

    def add(self, e: Expr, ctx: Lowering) -> None:
        """Multiply by ``e``, taken apart: products, branches that are 0, conditions, sums of products."""
        if ctx.is_scalar(e):
            self.number *= plain_sizes(e)
        elif isinstance(e, Mul):
            apart = [f for f in e.args if masks_entries(f) and any(may_be_infinite(o) for o in e.args if o is not f)]
            self.factors += apart
            for factor in e.args:
                if factor not in apart:
                    self.add(factor, ctx)
        elif isinstance(e, nodes.Where) and e.args[2] is S.Zero:
            self._add_branch(e.args[0], e.args[1], ctx)
        elif isinstance(e, nodes.Stop):
            self.add(e.args[0], ctx)
        elif isinstance(e, nodes.And):
            self.masks.extend(e.args)
        elif isinstance(e, nodes.Condition):
            self.masks.append(e)
        elif isinstance(e, nodes.Sum) and isinstance(e.body, Mul | nodes.Where):
            body, bound = e.open()
            self.bound += bound
            self.add(body, ctx)
        else:
            number, rest = content(e)
            self.number *= number
            self.factors.append(rest)

    def _add_branch(self, test: Expr, e: Expr, ctx: Lowering) -> None:
        """Multiply by ``where(test, e, 0)``: what may be infinite in e must not count where the test fails."""
        inner = Product([])
        inner.add(e, ctx)
        tests = test.args if isinstance(test, nodes.And) else (test,)
        guard = nodes.And(*(t for t in tests if not is_delta(t)))
        self.number *= inner.number
        self.bound += inner.bound
        self.add(test, ctx)
        self.masks += inner.masks
        self.factors += [guarded(f, guard, ctx) if may_be_infinite(f) else f for f in inner.factors]


def masks_entries(e: Expr) -> bool:
    """Whether it is a sum of entries that a condition picks. What divides such a sum divides nothing that is masked:
    the quotient of two that are 0 is NaN, not 0."""
    if not isinstance(e, nodes.Sum) or not isinstance(e.body, nodes.Where):
        return False
    test = e.body.args[0]
    return not all(is_delta(t) for t in (test.args if isinstance(test, nodes.And) else (test,)))


def is_delta(test: Expr) -> bool:
    """Whether a condition picks entries by an index, so that no others are computed at all."""
    return isinstance(test, nodes.Eq) and any(isinstance(a, Index) for a in test.args)


def guarded(factor: Expr, guard: Expr, ctx: Lowering) -> Expr:
    """``where(guard, factor, 0)``; where neither has the other's indices, the guard is that it holds anywhere.

    That leaves what is infinite to be multiplied by 0 elsewhere, so a factor with a pole is guarded entry by entry.
    """
    if guard is S.One:
        return factor
    own, other = ctx.free(factor), ctx.free(guard)
    if not (own <= other or other <= own or has_pole(factor)):
        if holds_somewhere(guard, tuple(other - own)):
            return factor
        guard = nodes.Any.over(guard, sorted(other - own, key=lambda i: (i.name, i.level)))
    return nodes.Where(guard, factor, S.Zero)


def bare(factor: Expr, masks: Collection[Expr]) -> Expr:
    """A factor without its guard, where ``masks`` hold for whatever it is multiplied into."""
    if not isinstance(factor, nodes.Where) or factor.args[2] is not S.Zero:
        return factor
    test = factor.args[0]
    return factor.args[1] if set(test.args if isinstance(test, nodes.And) else (test,)) <= {*masks} else factor


@lru_cache(maxsize=4096)
def may_be_infinite(e: Expr) -> bool:
    """Whether an expression of finite tensors may be infinite or undefined: a quotient, a root, a log, an exp."""
    return bool(e.atoms(exp)) or has_pole(e)


@lru_cache(maxsize=4096)
def has_pole(e: Expr) -> bool:
    """Whether an expression may be infinite or undefined at a finite place, which an exponential is not."""
    if isinstance(e, Pow):
        base, exponent = e.args
        if not (exponent.is_Integer and exponent.is_nonnegative) and not base.is_extended_positive:
            return True
    if isinstance(e, log) and not e.args[0].is_extended_positive:
        return True
    if isinstance(e, tan | nodes.LogDet) or (isinstance(e, nodes.Apply) and e.function == "log1p"):
        return True
    return any(has_pole(a) for a in e.args if isinstance(a, Expr))
