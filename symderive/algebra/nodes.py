"""The index algebra's nodes: SymPy expressions for tensor entries, conditions and binders.

Everything is a real scalar as a function of the indices that are free in it; a condition is worth 0 or 1.

Binders are *locally nameless*. A bound index has no name: it is numbered by its level, one more than the highest
level bound inside, so that two binders that differ only in the names of their bound indices are the same SymPy
expression, and nothing can be captured. To look inside, ``open`` a binder: that puts fresh indices in place of the
bound ones. To make one, call ``Sum.over(body, indices)``. Never ``xreplace`` an index by an expression that holds
bound indices of another binder.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import ClassVar

from sympy import Add, Expr, Integer, Pow, S, preorder_traversal
from sympy.core.expr import AtomicExpr
from sympy.core.symbol import Str

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
        return f"{self.name}{self.level or ''}" if self.name else f"_{self.level}"

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


def is_fresh(index: Index) -> bool:
    """Whether ``index`` was made by :meth:`Index.fresh`."""
    return index.name == "~"


class Node(Expr):
    """A real scalar of our own making."""

    is_commutative = True
    is_extended_real = True
    head: ClassVar[str] = ""

    def __new__(cls, *args: Expr) -> Expr:
        return Expr.__new__(cls, *args)

    def _sympystr(self, printer) -> str:  # type: ignore[no-untyped-def]
        return f"{self.head or type(self).__name__}({', '.join(printer._print(a) for a in self.args)})"


class Access(Node):
    """``x[i, k]``: one entry of the tensor named by the first argument."""

    def __new__(cls, tensor: str | Str, *indices: Expr | int) -> Expr:
        name = tensor if isinstance(tensor, Str) else Str(tensor)
        return Expr.__new__(cls, name, *(Integer(i) if isinstance(i, int) else i for i in indices))

    @property
    def tensor(self) -> str:
        """The tensor's name."""
        return self.args[0].name

    @property
    def indices(self) -> tuple[Expr, ...]:
        """The integer expressions in its index positions."""
        return self.args[1:]

    def _sympystr(self, printer) -> str:  # type: ignore[no-untyped-def]
        return f"{self.tensor}[{', '.join(printer._print(a) for a in self.indices)}]"


class Pad(Node):
    """``pad(x[f], value)``: the access where it lies in range, else the value."""

    def __new__(cls, access: Expr, value: Expr = S.Zero) -> Expr:
        return Expr.__new__(cls, access, value)


class FloorDiv(Node):
    """``a // b`` of integers, rounded down."""

    is_integer = True

    def __new__(cls, a: Expr, b: Expr) -> Expr:
        if a.is_Integer and b.is_Integer:
            return Integer(int(a) // int(b))
        if b is S.One:
            return a
        whole, rest = _divided(a, b)
        if whole is not S.Zero:
            return whole + FloorDiv(rest, b)
        return S.Zero if a is S.Zero else Expr.__new__(cls, a, b)


class Mod(Node):
    """``a % b`` of integers, with the sign of b."""

    is_integer = True

    def __new__(cls, a: Expr, b: Expr) -> Expr:
        if a.is_Integer and b.is_Integer:
            return Integer(int(a) % int(b))
        if b is S.One:
            return S.Zero
        rest = _divided(a, b)[1]
        return rest if rest is S.Zero else Expr.__new__(cls, rest, b)


def _divided(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """``a = b * whole + rest``, by the terms of a that are multiples of b."""
    whole: Expr = S.Zero
    rest: Expr = S.Zero
    for term in Add.make_args(a):
        quotient = term / b
        if quotient.is_integer and not quotient.atoms(Pow):
            whole += quotient
        else:
            rest += term
    return whole, rest


class Stop(Node):
    """``stop(x)``: the value of x, with no gradient."""


class Where(Node):
    """``where(c, a, b)``: a where the condition holds, else b; a branch not taken never contributes.

    A branch that is 0 or infinite, as a mask has, is the second one; else the condition is no negation.
    """

    def __new__(cls, condition: Expr, a: Expr, b: Expr) -> Expr:
        if condition is S.One or a == b:
            return a
        if condition is S.Zero:
            return b
        flip = isinstance(condition, Not) and b not in _MASKS
        if flip or (a in _MASKS and b not in _MASKS):
            condition, a, b = Not(condition), b, a
        return Expr.__new__(cls, condition, a, b)


_MASKS = (S.Zero, S.Infinity, S.NegativeInfinity)


class Condition(Node):
    """An expression that is 0 or 1."""

    is_nonnegative = True
    is_integer = True
    symbol: ClassVar[str] = ""

    def _sympystr(self, printer) -> str:  # type: ignore[no-untyped-def]
        return "(" + f" {self.symbol} ".join(printer._print(a) for a in self.args) + ")"


def _truth(value: bool) -> Expr:
    return S.One if value else S.Zero


class Lt(Condition):
    """``a < b``."""

    symbol = "<"

    def __new__(cls, a: Expr, b: Expr) -> Expr:
        if a.is_Number and b.is_Number:
            return _truth(bool(a < b))
        return Expr.__new__(cls, a, b)


class Le(Condition):
    """``a <= b``."""

    symbol = "<="

    def __new__(cls, a: Expr, b: Expr) -> Expr:
        if a.is_Number and b.is_Number:
            return _truth(bool(a <= b))
        return Expr.__new__(cls, a, b)


class Eq(Condition):
    """``a == b``; of integers it is the Kronecker delta."""

    symbol = "=="

    def __new__(cls, a: Expr, b: Expr) -> Expr:
        if a.is_integer and b.is_integer:
            if (difference := a - b).is_Number:
                return _truth(difference is S.Zero)
        elif a.is_Number and b.is_Number:
            return _truth(a == b)
        if b.sort_key() < a.sort_key():
            a, b = b, a
        return Expr.__new__(cls, a, b)


class And(Condition):
    """All of several conditions."""

    symbol = "and"

    def __new__(cls, *conditions: Expr) -> Expr:
        flat = _flatten(cls, conditions)
        if S.Zero in flat:
            return S.Zero
        flat.discard(S.One)
        return _several(cls, flat, S.One)


class Or(Condition):
    """Any of several conditions."""

    symbol = "or"

    def __new__(cls, *conditions: Expr) -> Expr:
        flat = _flatten(cls, conditions)
        if S.One in flat:
            return S.One
        flat.discard(S.Zero)
        return _several(cls, flat, S.Zero)


def _flatten(cls: type[Condition], conditions: Iterable[Expr]) -> set[Expr]:
    flat: set[Expr] = set()
    for condition in conditions:
        flat.update(condition.args if isinstance(condition, cls) else (condition,))
    return flat


def _several(cls: type[Condition], flat: set[Expr], neutral: Expr) -> Expr:
    if len(flat) < 2:
        return next(iter(flat), neutral)
    return Expr.__new__(cls, *sorted(flat, key=lambda c: c.sort_key()))


class Not(Condition):
    """The negation of a condition; ``a != b`` is ``Not(Eq(a, b))``."""

    symbol = "not"

    def __new__(cls, condition: Expr) -> Expr:
        if condition.is_Number:
            return _truth(condition is S.Zero)
        if isinstance(condition, Not):
            return condition.args[0]
        if isinstance(condition, Lt | Le) and all(a.is_integer for a in condition.args):
            a, b = condition.args
            return Le(b, a) if isinstance(condition, Lt) else Lt(b, a)
        return Expr.__new__(cls, condition)

    def _sympystr(self, printer) -> str:  # type: ignore[no-untyped-def]
        return f"(not {printer._print(self.args[0])})"


class Maximum(Node):
    """``max(a, b)`` of two numbers; each side has one half of the derivative at a tie."""


class Minimum(Node):
    """``min(a, b)`` of two numbers; each side has one half of the derivative at a tie."""


class Clamp(Node):
    """``clamp(x, lo, hi)``; the derivative is 1 at both ends."""


class Apply(Node):
    """An element-wise function by its name in :data:`symderive.spec.functions.FUNCTIONS`, applied to its arguments.

    Only functions that SymPy does not have under the same conventions: ``exp log sin ... erf`` and powers are
    SymPy's own, so that SymPy differentiates and combines them.
    """

    def __new__(cls, name: str | Str, *arguments: Expr) -> Expr:
        return Expr.__new__(cls, name if isinstance(name, Str) else Str(name), *arguments)

    @property
    def function(self) -> str:
        """The name of the function."""
        return self.args[0].name

    @property
    def arguments(self) -> tuple[Expr, ...]:
        """What it is applied to."""
        return self.args[1:]

    def _sympystr(self, printer) -> str:  # type: ignore[no-untyped-def]
        return f"{self.function}({', '.join(printer._print(a) for a in self.arguments)})"


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
            for index in expression.atoms(Index) & places.keys():
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


class Inverse(Binder):
    """``inv[p, q](body)`` read at two places: an entry of the inverse of the matrix with entries ``body``."""

    @property
    def bound(self) -> tuple[Index, ...]:
        """The row and the column index."""
        return self.args[1], self.args[2]

    @property
    def at(self) -> tuple[Expr, ...]:
        """The row and the column that are read."""
        return self.args[3], self.args[4]

    @classmethod
    def over(cls, body: Expr, indices: Iterable[Index], at: Iterable[Expr] = ()) -> Expr:
        """The inverse of the matrix over (row, column) ``indices``; their order has a meaning."""
        return _matrix(cls, body, tuple(indices), tuple(at))


class Det(Binder):
    """``det[p, q](body)``."""

    @classmethod
    def over(cls, body: Expr, indices: Iterable[Index], at: Iterable[Expr] = ()) -> Expr:
        """The determinant of the matrix over (row, column) ``indices``."""
        return _matrix(cls, body, tuple(indices), ())


class LogDet(Binder):
    """``logdet[p, q](body)``: the log of the determinant, NaN where that is negative."""

    @classmethod
    def over(cls, body: Expr, indices: Iterable[Index], at: Iterable[Expr] = ()) -> Expr:
        """The log-determinant of the matrix over (row, column) ``indices``."""
        return _matrix(cls, body, tuple(indices), ())


def _matrix(cls: type[Binder], body: Expr, indices: tuple[Index, ...], at: tuple[Expr, ...]) -> Expr:
    bound = _levels(body, indices)
    return cls(body.xreplace(dict(zip(indices, bound, strict=True))), *bound, *at)


def free_indices(expression: Expr) -> set[Index]:
    """The indices that no binder of ``expression`` binds."""
    return {i for i in expression.atoms(Index) if not i.is_bound}
