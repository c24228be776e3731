"""Indices: integers that run over the extent of an axis."""

from __future__ import annotations

import itertools
from functools import lru_cache

from sympy import Basic, Expr
from sympy.core.expr import AtomicExpr

from symderive.spec.sizes import BATCH_SIZE

_fresh = itertools.count(1)


class Index(AtomicExpr):
    """An index, an integer with 0 <= index < extent. Bound ones have the name ``""`` and a level above 0."""

    __slots__ = ("extent", "level", "name")
    is_integer = True
    is_nonnegative = True
    is_commutative = True

    name: str
    extent: Expr
    level: int

    def __new__(cls, name: str, extent: Expr, level: int = 0) -> Index:
        self = AtomicExpr.__new__(cls)
        self.name, self.extent, self.level = name, extent, level
        return self

    def __getnewargs__(self) -> tuple[str, Expr, int]:
        return self.name, self.extent, self.level

    def _hashable_content(self) -> tuple[str, int, Expr]:
        return self.name, self.level, self.extent

    def _sympystr(self, printer: object) -> str:
        """SymPy orders factors by this text: with numbers of one width, a fresh index stands where it was made,
        however many were made before."""
        return f"{self.name}{self.level:09d}" if self.level else self.name

    @property
    def is_batch(self) -> bool:
        """Whether it stands for all leading batch axes."""
        return self.extent == BATCH_SIZE

    @property
    def is_bound(self) -> bool:
        """Whether a binder binds it."""
        return not self.name

    def fresh(self) -> Index:
        """An index of the same extent that stands nowhere else."""
        return Index("~", self.extent, next(_fresh))


@lru_cache(maxsize=65536)
def indices_in(expression: Basic) -> frozenset[Index]:
    """The indices that stand in an expression, bound ones too."""
    if isinstance(expression, Index):
        return frozenset((expression,))
    return frozenset().union(*map(indices_in, expression.args))


def free_indices(expression: Expr) -> set[Index]:
    """The indices that no binder of ``expression`` binds."""
    return {i for i in indices_in(expression) if not i.is_bound}
