"""Number domains: what an evaluator computes with.

A domain is a small set of operations that never raise: :data:`symderive.check.floats.FLOAT` is float64 with IEEE
behaviour, :data:`symderive.check.exact.EXACT` keeps rationals as long as it can. Booleans are the integers 0 and 1.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

Value = Any
"""A number of some domain."""

Matrix = list[list[Value]]

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}

MATRIX_METHODS = {
    "inv": "inverse",
    "det": "determinant",
    "logdet": "logdet",
    "solve": "solve",
    "cholesky": "cholesky",
}
"""The method of a domain that computes each function of matrices."""


class Domain:
    """The operations of one kind of number. Subclasses give the primitive ones; the rest is written with them."""

    name = ""
    pi: Value
    inf: Value
    functions: Mapping[str, Callable[..., Value]] = {}

    def number(self, value: Fraction | int) -> Value:
        """The number of the domain nearest to a rational."""
        raise NotImplementedError

    def add(self, a: Value, b: Value) -> Value:
        """The sum of two numbers."""
        raise NotImplementedError

    def sub(self, a: Value, b: Value) -> Value:
        """The difference of two numbers."""
        raise NotImplementedError

    def mul(self, a: Value, b: Value) -> Value:
        """The product of two numbers."""
        raise NotImplementedError

    def div(self, a: Value, b: Value) -> Value:
        """The quotient; by zero it is infinite, and 0/0 is NaN."""
        raise NotImplementedError

    def neg(self, a: Value) -> Value:
        """The negative of a number."""
        raise NotImplementedError

    def power(self, a: Value, b: Value) -> Value:
        """``a ** b``, NaN where it is not real."""
        raise NotImplementedError

    def compare(self, op: str) -> Callable[[Value, Value], bool]:
        """The comparison that ``op`` stands for; with NaN only ``!=`` holds."""
        return COMPARISONS[op]

    def plain(self, a: Value) -> Any:
        """The number itself, without what a domain may carry along with it."""
        return a

    def define(self, a: Value) -> Value:
        """What is stored as an entry of a tensor whose value is ``a``."""
        return a

    def tag(self, a: Value, label: Any) -> Value:
        """The same number, labelled where a domain keeps a record."""
        return a

    def stop(self, a: Value) -> Value:
        """The same number, with no gradient."""
        return a

    def is_nan(self, a: Value) -> bool:
        """Whether a number is NaN, the only one that does not equal itself."""
        a = self.plain(a)
        return bool(a != a)  # noqa: PLR0124

    def truth(self, a: Value) -> bool:
        """A number as a condition: whether it is not zero."""
        return bool(self.plain(a) != 0)

    def floordiv(self, a: Value, b: Value) -> Value:
        """``a // b`` as in Python: rounded down."""
        return self.functions["floor"](self.div(a, b))

    def modulo(self, a: Value, b: Value) -> Value:
        """``a % b`` as in Python: of the sign of ``b``."""
        return self.sub(a, self.mul(b, self.floordiv(a, b)))

    def maximum(self, a: Value, b: Value) -> Value:
        """The larger of two; NaN if one is."""
        if self.is_nan(a):
            return a
        return b if self.is_nan(b) or self.compare(">")(b, a) else a

    def minimum(self, a: Value, b: Value) -> Value:
        """The smaller of two; NaN if one is."""
        if self.is_nan(a):
            return a
        return b if self.is_nan(b) or self.compare("<")(b, a) else a

    def clamp(self, x: Value, low: Value, high: Value) -> Value:
        """``min(max(x, low), high)``."""
        return self.minimum(self.maximum(x, low), high)

    def total(self, values: Sequence[Value]) -> Value:
        """The sum, 0 of nothing."""
        result = self.number(0)
        for value in values:
            result = self.add(result, value)
        return result

    def product(self, values: Sequence[Value]) -> Value:
        """The product, 1 of nothing."""
        result = self.number(1)
        for value in values:
            result = self.mul(result, value)
        return result

    def mean(self, values: Sequence[Value]) -> Value:
        """The sum divided by how many there are, NaN of nothing."""
        return self.div(self.total(values), self.number(len(values)))

    def largest(self, values: Sequence[Value]) -> Value:
        """The maximum, -inf of nothing."""
        result = self.neg(self.inf)
        for position, value in enumerate(values):
            result = value if position == 0 else self.maximum(result, value)
        return result

    def smallest(self, values: Sequence[Value]) -> Value:
        """The minimum, inf of nothing."""
        result = self.inf
        for position, value in enumerate(values):
            result = value if position == 0 else self.minimum(result, value)
        return result

    def first(self, values: Sequence[Value], op: str) -> int:
        """Where the first extremum under ``op`` (``>`` or ``<``) stands; NaN counts as extreme."""
        better = self.compare(op)
        best = 0
        for position, value in enumerate(values):
            if self.is_nan(value):
                return position
            if better(value, values[best]):
                best = position
        return best

    def logsumexp(self, values: Sequence[Value]) -> Value:
        """log sum exp, -inf of nothing."""
        exp = self.functions["exp"]
        return self.functions["log"](self.total([exp(v) for v in values]))

    def softmax(self, values: Sequence[Value]) -> Callable[[Value], Value]:
        """The function that takes one of ``values`` to exp(value) / sum exp(values)."""
        exp = self.functions["exp"]
        total = self.total([exp(v) for v in values])
        return lambda value: self.div(exp(value), total)

    def log_softmax(self, values: Sequence[Value]) -> Callable[[Value], Value]:
        """The function that takes one of ``values`` to value - log sum exp(values)."""
        total = self.logsumexp(values)
        return lambda value: self.sub(value, total)

    def determinant(self, matrix: Matrix) -> Value:
        """The determinant, by elimination."""
        rows = [list(row) for row in matrix]
        result = self.number(1)
        for column in range(len(rows)):
            pivot = self._pivot(rows, column)
            if pivot is None:
                return self.number(0)
            if pivot != column:
                result = self.neg(result)
            result = self.mul(result, rows[column][column])
            for below in range(column + 1, len(rows)):
                self._eliminate(rows, column, below)
        return result

    def inverse(self, matrix: Matrix) -> Matrix:
        """The inverse, by Gauss and Jordan; NaN everywhere if the matrix is singular."""
        n = len(matrix)
        rows = [[*row, *(self.number(int(r == c)) for c in range(n))] for r, row in enumerate(matrix)]
        for column in range(n):
            if self._pivot(rows, column) is None:
                return [[self._undefined(entry for row in matrix for entry in row)] * n for _ in range(n)]
            diagonal = rows[column][column]
            rows[column] = [self.div(entry, diagonal) for entry in rows[column]]
            for other in range(n):
                if other != column:
                    self._eliminate(rows, column, other)
        return [row[n:] for row in rows]

    def solve(self, matrix: Matrix, right: Sequence[Value]) -> list[Value]:
        """The x of ``matrix @ x = right``, by elimination; NaN everywhere if the matrix is singular."""
        rows = [[*row, entry] for row, entry in zip(matrix, right, strict=True)]
        for column in range(len(rows)):
            if self._pivot(rows, column) is None:
                return [self._undefined([*right, *(entry for row in matrix for entry in row)])] * len(rows)
            for below in range(column + 1, len(rows)):
                self._eliminate(rows, column, below)
        found: list[Value] = []
        for row in reversed(range(len(rows))):
            known = self.total([self.mul(a, x) for a, x in zip(rows[row][row + 1 : -1], found, strict=True)])
            found.insert(0, self.div(self.sub(rows[row][-1], known), rows[row][row]))
        return found

    def _undefined(self, entries: Iterable[Value]) -> Value:
        """NaN that depends on entries, so that its derivatives by them are NaN, too."""
        return self.mul(self.sub(self.inf, self.inf), self.total(list(entries)))

    def cholesky(self, matrix: Matrix) -> Matrix:
        """The lower triangular factor of the symmetric part of a matrix, row by row; NaN where it is not positive."""
        half = self.div(self.number(1), self.number(2))
        zero, sqrt = self.number(0), self.functions["sqrt"]
        lower: Matrix = []
        for i, row in enumerate(matrix):
            lower.append([zero] * len(matrix))
            for j in range(i + 1):
                entry = self.mul(half, self.add(row[j], matrix[j][i])) if i != j else row[i]
                known = self.total([self.mul(a, b) for a, b in zip(lower[i][:j], lower[j][:j], strict=True)])
                rest = self.sub(entry, known)
                lower[i][j] = sqrt(rest) if i == j else self.div(rest, lower[j][j])
        return lower

    def logdet(self, matrix: Matrix) -> Value:
        """The log of the determinant, NaN where that is negative."""
        return self.functions["log"](self.determinant(matrix))

    def _pivot(self, rows: Matrix, column: int) -> int | None:
        """Bring the largest entry of what is left of a column to its diagonal; the row it stood in, None if it is 0."""
        size = [abs(self.plain(rows[r][column])) for r in range(column, len(rows))]
        best = column + self.first(size, ">")
        rows[column], rows[best] = rows[best], rows[column]
        return best if self.truth(rows[column][column]) else None

    def _eliminate(self, rows: Matrix, column: int, row: int) -> None:
        factor = self.div(rows[row][column], rows[column][column])
        rows[row] = [self.sub(a, self.mul(factor, b)) for a, b in zip(rows[row], rows[column], strict=True)]
