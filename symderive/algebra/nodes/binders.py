"""Binders: reductions, and the functions of a matrix named by its two indices."""

from __future__ import annotations

from collections.abc import Iterable

from sympy import Expr, S, preorder_traversal

from symderive.algebra.nodes.entries import Access, Node
from symderive.algebra.nodes.index import Index, indices_in


class Binder(Node):
    """An expression that binds indices: the first argument is the body, the next ``bound`` ones are the indices."""

    def __new__(cls, body: Expr, *rest: Expr) -> Expr:
        return Expr.__new__(cls, body, *rest)

    @classmethod
    def over(cls, body: Expr, indices: Iterable[Index], at: Iterable[Expr] = ()) -> Expr:
        """The binder of ``indices`` in ``body``, which names them freely; ``at`` are the places where it is read."""
        ordered = _canonical_order(body, tuple(indices))
        bound = _levels(body, ordered)
        closed = body.xreplace(dict(zip(ordered, bound, strict=True))) if bound else body
        return cls(closed, *bound, *at)

    @property
    def body(self) -> Expr:
        """What stands under the binder, with the bound indices in it; see :meth:`open`."""
        return self.args[0]

    @property
    def bound(self) -> tuple[Index, ...]:
        """The indices that it binds."""
        return tuple(a for a in self.args[1:] if isinstance(a, Index) and a.is_bound)

    @property
    def at(self) -> tuple[Expr, ...]:
        """The integer expressions at which a matrix-valued binder is read; empty for a reduction."""
        return ()

    def open(self) -> tuple[Expr, tuple[Index, ...]]:
        """The body with fresh indices in place of the bound ones, and those indices."""
        fresh = tuple(i.fresh() for i in self.bound)
        return self.args[0].xreplace(dict(zip(self.bound, fresh, strict=True))), fresh


def _levels(body: Expr, indices: tuple[Index, ...]) -> list[Index]:
    """Bound indices for a new binder: the next levels above those bound in the body.

    The body may itself hold indices that a binder further out binds; theirs are higher, unless binders were nested
    deeper by a rewriting: then the new ones go above them.
    """
    inner: set[int] = set()
    present: set[int] = set()
    for node in preorder_traversal(body):
        if isinstance(node, Binder):
            inner.update(i.level for i in node.bound)
        elif isinstance(node, Index) and node.is_bound:
            present.add(node.level)
    base = max(inner, default=0)
    if any(base < level <= base + len(indices) for level in present - inner):
        base = max(present)
    return [Index("", index.extent, base + n) for n, index in enumerate(indices, 1)]


def _canonical_order(body: Expr, indices: tuple[Index, ...]) -> tuple[Index, ...]:
    """The indices in an order that does not depend on their names: by extent, then by where they stand."""
    if len(indices) < 2:
        return indices
    places: dict[Index, list[tuple[str, int]]] = {i: [] for i in indices}
    for access in body.atoms(Access):
        for position, expression in enumerate(access.indices):
            for index in indices_in(expression) & places.keys():
                places[index].append((access.tensor, position))
    return tuple(sorted(indices, key=lambda i: (str(i.extent), sorted(places[i]))))


class Sum(Binder):
    """``sum[k](body)``; several indices are one flat sum."""

    @classmethod
    def over(cls, body: Expr, indices: Iterable[Index], at: Iterable[Expr] = ()) -> Expr:
        """The sum of ``body`` over ``indices``, merged with a sum that is its whole body."""
        indices = tuple(indices)
        if not indices or body is S.Zero:
            return body
        if isinstance(body, Sum):
            inner, more = body.open()
            return cls.over(inner, (*indices, *more))
        return super().over(body, indices)


class Prod(Binder):
    """``prod[k](body)``."""


class Max(Binder):
    """``max[k](body)``; ties share the derivative evenly."""


class Min(Binder):
    """``min[k](body)``; ties share the derivative evenly."""


class LogSumExp(Binder):
    """``logsumexp[k](body)``, the log of the sum of exponentials."""


class Any(Binder):
    """``any[k](condition)``."""

    is_nonnegative = True
    is_integer = True


class All(Binder):
    """``all[k](condition)``."""

    is_nonnegative = True
    is_integer = True


class ArgMax(Binder):
    """``argmax[k](body)``: the first index at which the body is largest."""

    is_nonnegative = True
    is_integer = True


class ArgMin(Binder):
    """``argmin[k](body)``: the first index at which the body is smallest."""

    is_nonnegative = True
    is_integer = True


class MatrixBinder(Binder):
    """A function of the matrix with entries ``body``, named by its row and its column index; their order has a meaning.

    One that is matrix-valued is read ``at`` two places, its row and its column.
    """

    @property
    def bound(self) -> tuple[Index, ...]:
        """The row and the column index."""
        return self.args[1:3]

    @property
    def at(self) -> tuple[Expr, ...]:
        """The row and the column that are read."""
        return self.args[3:]

    @classmethod
    def over(cls, body: Expr, indices: Iterable[Index], at: Iterable[Expr] = ()) -> Expr:
        """The function of the matrix over (row, column) ``indices``."""
        indices = tuple(indices)
        bound = _levels(body, indices)
        return cls(body.xreplace(dict(zip(indices, bound, strict=True))), *bound, *at)


class Inverse(MatrixBinder):
    """``inv[p, q](body)`` read at two places. Summed with a vector or a matrix it solves a system of equations."""


class Cholesky(MatrixBinder):
    """``cholesky[p, q](body)`` read at two places: the lower triangular L whose ``L L^T`` is the symmetric part."""


class Det(MatrixBinder):
    """``det[p, q](body)``."""


class LogDet(MatrixBinder):
    """``logdet[p, q](body)``: the log of the determinant, NaN where that is negative."""
