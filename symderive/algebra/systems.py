"""Inverses that solve a system of equations: ``sum[b](inv(M)[a, b] * f[b])`` is the x of ``M x = f``.

Core form knows inverses only. Whoever prints or computes a sum looks for the systems in it: solving one is cheaper and
more accurate than multiplying by an inverse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sympy import Expr, Mul

from symderive.algebra.nodes import Cholesky, Index, Inverse, Sum
from symderive.algebra.program import Equation
from symderive.record import record


@record
class System:
    """``sum[summed, ...](inverse * right * rest)`` where the inverse is read at ``summed`` and ``kept``.

    ``pair`` are the indices for the rows and the columns of the inverse's body: (summed, kept), or the other way round
    where the transposed matrix is solved with. ``right`` depends on ``summed``, not on ``kept``; what the system gives
    and ``rest`` are still to be multiplied and summed over ``bound``.
    """

    inverse: Inverse
    summed: Index
    kept: Index
    right: Expr
    rest: tuple[Expr, ...]
    bound: tuple[Index, ...]

    @property
    def transposed(self) -> bool:
        """Whether it is the rows of the inverse that are summed."""
        return bool(self.inverse.at[0] == self.summed)

    @property
    def columns(self) -> set[Index]:
        """What the right side runs over besides the rows."""
        return {i for i in self.right.atoms(Index) if not i.is_bound and i != self.summed}

    @property
    def pair(self) -> tuple[Index, Index]:
        """The indices of the rows and the columns of the matrix."""
        return (self.kept, self.summed) if self.transposed else (self.summed, self.kept)


def is_triangular(equation: Equation) -> bool:
    """Whether an equation defines a lower triangular matrix, in its last two axes."""
    return isinstance(equation.right, Cholesky) and equation.right.at == equation.indices[-2:]


def system_of(factors: Sequence[Expr], bound: Sequence[Index]) -> System | None:
    """The system of equations in the sum over ``bound`` of a product that is to be solved first.

    It is one whose right side has the fewest columns, with the matrix as it stands rather than transposed.
    """
    return min(systems(factors, bound), key=lambda s: (len(s.columns), s.transposed), default=None)


def systems(factors: Sequence[Expr], bound: Sequence[Index]) -> Iterator[System]:
    """Every system of equations in the sum over ``bound`` of a product."""
    if not any(isinstance(f, Inverse) for f in factors):
        return
    free = [f.atoms(Index) for f in factors]
    for summed in bound:
        for n, factor in enumerate(factors):
            if not isinstance(factor, Inverse) or not all(isinstance(a, Index) for a in factor.at):
                continue
            kept = next((a for a in factor.at if a != summed), None)
            if summed not in factor.at or kept is None or {summed, kept} & factor.body.atoms(Index):
                continue
            if (chosen := _right_side(free, n, summed, kept, bound)) is not None:
                yield _system(factors, n, chosen, System(factor, summed, kept, factor, (), tuple(bound)))


def _right_side(
    free: Sequence[set[Index]], own: int, summed: Index, kept: Index, bound: Sequence[Index]
) -> frozenset[int] | None:
    """The factors of the right side: those over ``summed``, and what is summed with them if that makes it smaller."""
    near = frozenset(n for n, f in enumerate(free) if n != own and summed in f)
    whole = near
    while True:
        over = {i for n in whole for i in free[n] if i in bound and i != kept}
        more = frozenset(n for n, f in enumerate(free) if n != own and f & over)
        if more == whole:
            break
        whole = more
    options = [c for c in (near, whole) if c and all(kept not in free[n] for n in c)]
    return min(options, key=lambda c: len(_columns(free, c, own, summed, bound)), default=None)


def _columns(
    free: Sequence[set[Index]], chosen: frozenset[int], own: int, summed: Index, bound: Sequence[Index]
) -> set[Index]:
    """The indices of the right side but for the summed one."""
    others = {i for n, f in enumerate(free) if n not in chosen for i in f}
    within = {i for n in chosen for i in free[n]}
    return {i for i in within if not i.is_bound and i != summed and (i in others or i not in bound)}


def _system(factors: Sequence[Expr], own: int, chosen: frozenset[int], found: System) -> System:
    """The system with its right side and what is left of the product."""
    rest = tuple(f for n, f in enumerate(factors) if n != own and n not in chosen)
    outside = {i for f in (found.inverse, *rest) for i in f.atoms(Index)}
    inner = [i for i in found.bound if i not in outside]
    right = Sum.over(Mul(*(factors[n] for n in sorted(chosen))), inner)
    left = tuple(i for i in found.bound if i != found.summed and i not in inner)
    return replace(found, right=right, rest=rest, bound=left)
