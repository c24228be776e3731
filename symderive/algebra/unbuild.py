"""From the index algebra back to syntax, with the letters that the author uses and the forms that people write.

Core form is folded on the way: a sum over N becomes a mean, ``exp(f - logsumexp f)`` a softmax, a ``where`` with a
neutral branch a condition of the reduction.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import singledispatchmethod

import sympy
from sympy import Add, Expr, Function, Mul, Pow, S, Symbol
from sympy.functions.elementary.exponential import exp as Exp

from symderive.algebra import nodes
from symderive.algebra.comparisons import CONDITIONS
from symderive.algebra.heads import CALLS, MATRICES, REDUCTIONS, UNORDERED
from symderive.algebra.letters import Letters
from symderive.algebra.nodes import Access, Eq, Index, LogSumExp, Where
from symderive.algebra.program import Equation
from symderive.algebra.reading import (
    by_appearance,
    fraction,
    is_negative,
    product_of,
    reading_order,
    split_condition,
    split_roots,
)
from symderive.algebra.systems import System, system_of
from symderive.algebra.terms import content, depends, factors, primitive, terms
from symderive.errors import InternalError
from symderive.spec import model, syntax
from symderive.spec.functions import FUNCTIONS
from symderive.spec.syntax import BATCH, Binary, Binder, Call, Name, Node, Number, Statement, Unary


def statement(equation: Equation, letters: Letters) -> Statement:
    """An equation as syntax."""
    writer = Writer(letters, {i.name: i.extent for i in equation.indices})
    return writer.statement(equation.tensor, equation.indices, equation.right)


def resolved(equation: Equation, letters: Letters) -> model.Equation:
    """An equation as resolved syntax, which the oracle evaluates: with the range of every index of it."""
    writer = Writer(letters, {i.name: i.extent for i in equation.indices})
    right = writer.write(equation.right)
    return model.Equation(equation.tensor, tuple(i.name for i in equation.indices), right, writer.ranges)


class Writer:
    """Writes one equation; ``used`` are the letters that are taken in it, with their extents.

    ``deltas`` keeps deltas as factors, as a derivation shows them before they collapse.
    """

    def __init__(self, letters: Letters, used: dict[str, Expr], deltas: bool = False) -> None:
        self.letters = letters
        self.deltas = deltas
        self.used = dict(used)
        self.order = {name: place for place, name in enumerate(used)}
        self.ranges = dict(used)
        self.names: dict[Index, str] = {}

    def statement(self, tensor: str, indices: Iterable[Index], right: Expr) -> Statement:
        """``tensor[indices] = right``."""
        places = tuple(self.index(i) for i in indices)
        left: Node = syntax.Access(tensor, places) if places else Name(tensor)
        return Statement(left, (self.write(right),))

    def index(self, index: Index) -> Node:
        """An index by its name."""
        name = self.names.get(index, index.name)
        return syntax.Batch() if name == BATCH else Name(name)

    def open(self, binder: nodes.Binder) -> tuple[Expr, tuple[Index, ...]]:
        """The body with named indices in place of the bound ones; the names hold until :meth:`close`."""
        bound = by_appearance(binder.body, binder.bound, self.order) if type(binder) in UNORDERED else binder.bound
        opened = self._new_letters(bound)
        return binder.body.xreplace(dict(zip(bound, opened, strict=True))), tuple(opened)

    def _new_letters(self, bound: Iterable[Index]) -> list[Index]:
        """Named indices of the same extents, whose letters are taken from now on."""
        opened = []
        for index in bound:
            # a letter has one range in an equation, also where an author gives it others elsewhere
            others = {n: e for n, e in self.ranges.items() if e != index.extent}
            name = self.letters.choose(index.extent, self.used | others)
            self.used[name] = self.ranges[name] = index.extent
            opened.append(Index(name, index.extent))
        return opened

    def close(self, opened: Iterable[Index]) -> None:
        """A sibling may use the letters again."""
        for index in opened:
            self.used.pop(index.name, None)

    @singledispatchmethod
    def write(self, expression: Expr) -> Node:
        """The syntax of an expression."""
        raise InternalError(f"no syntax for {type(expression).__name__}: add a case to algebra/unbuild.py")

    @write.register
    def _number(self, expression: sympy.Rational) -> Node:
        value = Fraction(int(expression.p), int(expression.q))
        if value.numerator < 0 and value.denominator > 1:
            return Binary("/", Unary("-", Number(Fraction(-value.numerator))), Number(Fraction(value.denominator)))
        if value < 0:
            return Unary("-", self.write(-expression))
        if value.denominator == 1 or (value.denominator > 4 and 10**15 % value.denominator == 0):
            return Number(value)
        return Binary("/", Number(Fraction(value.numerator)), Number(Fraction(value.denominator)))

    @write.register(sympy.core.numbers.Infinity)
    def _infinity(self, expression: Expr) -> Node:
        return Name("inf")

    @write.register(sympy.core.numbers.NegativeInfinity)
    def _minus_infinity(self, expression: Expr) -> Node:
        return Unary("-", Name("inf"))

    @write.register(sympy.core.numbers.Pi)
    def _pi(self, expression: Expr) -> Node:
        return Name("pi")

    @write.register(sympy.core.numbers.Exp1)
    def _e(self, expression: Expr) -> Node:
        return Call("exp", (Number(Fraction(1)),))

    @write.register
    def _symbol(self, expression: Symbol) -> Node:
        return Name(expression.name)

    @write.register
    def _index(self, expression: Index) -> Node:
        return self.index(expression)

    @write.register
    def _access(self, expression: Access) -> Node:
        if not expression.indices:
            return Name(expression.tensor)
        return syntax.Access(expression.tensor, tuple(self.write(i) for i in expression.indices))

    @write.register
    def _add(self, expression: Add) -> Node:
        softmax = self._log_softmax(expression)
        if softmax is not None:
            return softmax
        number, parts = content(expression)
        ordered = sorted(parts, key=reading_order)
        if is_negative(ordered[0]) and (positive := [t for t in ordered if not is_negative(t)]):
            ordered.remove(positive[0])
            ordered.insert(0, positive[0])
        result = self.write(ordered[0])
        for term in ordered[1:]:
            if is_negative(term):
                result = Binary("-", result, self.write(-term))
            else:
                result = Binary("+", result, self.write(term))
        return _scaled(number, result, self)

    @write.register
    def _mul(self, expression: Mul) -> Node:
        number, parts = self._numbers(expression)
        number, roots, parts = split_roots(number, parts)
        rest, mean = self._mean(Mul(*parts, evaluate=False))
        above, below = fraction([f for f in factors(rest) if f is not S.One], self.order)
        head = [self.write(f) for f in above]
        if mean is not None:
            head.append(mean)
        head[:0] = [self.write(r) for r in roots[0]]
        decimal = abs(number.p) != 1 and number.q > 100 and 10**15 % number.q == 0
        if decimal:
            head.insert(0, Number(Fraction(abs(int(number.p)), int(number.q))))
        elif abs(number.p) != 1 or not head:
            head.insert(0, Number(Fraction(abs(int(number.p)))))
        if number.is_negative:
            head[0] = Unary("-", head[0])
        tail = [self.write(f) for f in (*roots[1], *below)]
        if number.q != 1 and not decimal:
            tail.insert(0, Number(Fraction(int(number.q))))
        result = product_of(head)
        return Binary("/", result, product_of(tail)) if tail else result

    def _numbers(self, expression: Mul) -> tuple[Expr, list[Expr]]:
        """The number in front of a product, those inside its sums included, and the other factors."""
        number, parts = S.One, []
        for factor in expression.args:
            if factor.is_Rational:
                number *= factor
            elif factor.is_Add and self._log_softmax(factor) is None:
                inside, rest = primitive(factor)
                number *= inside
                parts.append(rest)
            else:
                parts.append(factor)
        mixed = [p for p in parts if p.is_Add and any(t.could_extract_minus_sign() for t in p.args)]
        if number.is_negative and mixed:
            parts[parts.index(mixed[-1])] = -mixed[-1]
            number = -number
        return number, parts

    def _mean(self, expression: Expr) -> tuple[Expr, Node | None]:
        """Split ``sum_k f / K`` off a product as a mean."""
        parts = list(factors(expression))
        for total in parts:
            if not isinstance(total, nodes.Sum) or isinstance(total.body, Where | Eq):
                continue
            extents = [i.extent for i in total.bound]
            sizes = [1 / e for e in extents]
            if all(not e.is_Integer for e in extents) and all(parts.count(s) >= sizes.count(s) for s in sizes):
                for s in sizes:
                    parts.remove(s)
                parts.remove(total)
                body, opened = self.open(total)
                mean = Binder("mean", self._letters(opened), None, self.write(body))
                self.close(opened)
                return Mul(*parts), mean
        return expression, None

    @write.register
    def _pow(self, expression: Pow) -> Node:
        base, exponent = expression.args
        if exponent == sympy.Rational(1, 2):
            return Call("sqrt", (self.write(base),))
        if exponent == sympy.Rational(-1, 2):
            return Call("rsqrt", (self.write(base),))
        if exponent.is_number and exponent < 0:
            return Binary("/", Number(Fraction(1)), self.write(base**-exponent))
        return Binary("**", self.write(base), self.write(exponent))

    @write.register
    def _exp(self, expression: Exp) -> Node:
        softmax = self._softmax(expression)
        return Call("exp", (self.write(expression.args[0]),)) if softmax is None else softmax

    def _softmax(self, expression: Exp) -> Node | None:
        return self._normaliser("softmax", expression.args[0]) if expression.args[0].is_Add else None

    def _log_softmax(self, expression: Add) -> Node | None:
        return self._normaliser("log_softmax", expression)

    def _normaliser(self, name: str, expression: Expr, condition: Expr | None = None) -> Node | None:
        """``f_j - logsumexp_k f_k`` read as the log of a softmax over j."""
        for term in terms(expression):
            number, normaliser = term.as_coeff_Mul()
            if number == -1 and isinstance(normaliser, LogSumExp) and len(normaliser.bound) == 1:
                own = expression - term
                masked = own if condition is None else Where(condition, own, S.NegativeInfinity)
                for index in sorted(own.atoms(Index), key=lambda i: i.name):
                    if not depends(normaliser, [index]) and LogSumExp.over(masked, [index]) == normaliser:
                        where = None if condition is None else self.condition(condition)
                        return Binder(name, (index.name,), where, self.write(own))
        return None

    @write.register
    def _function(self, expression: Function) -> Node:
        name = {"Abs": "abs"}.get(type(expression).__name__, type(expression).__name__)
        return Call(name, tuple(self.write(a) for a in expression.args))

    @write.register
    def _apply(self, expression: nodes.Apply) -> Node:
        row = FUNCTIONS[expression.function]
        arguments = list(expression.arguments)
        for default in reversed(row.defaults):
            if len(arguments) > 1 and arguments[-1] == sympy.Rational(default):
                arguments.pop()
        return Call(expression.function, tuple(self.write(a) for a in arguments))

    @write.register
    def _pad(self, expression: nodes.Pad) -> Node:
        access, value = expression.args
        more = () if value is S.Zero else (self.write(value),)
        return Call("pad", (self.write(access), *more))

    @write.register
    def _where(self, expression: Where) -> Node:
        condition, a, b = expression.args
        if b is S.NegativeInfinity and a.is_Add and (node := self._normaliser("log_softmax", a, condition)) is not None:
            return node
        if b is S.Zero and isinstance(a, Exp) and a.args[0].is_Add:
            softmax = self._normaliser("softmax", a.args[0], condition)
            if softmax is not None:
                return softmax
        if isinstance(condition, nodes.Not) and not isinstance(condition.args[0], Eq):
            condition, a, b = condition.args[0], b, a
        return Call("where", (self.condition(condition), self.write(a), self.write(b)))

    @write.register
    def _condition(self, expression: nodes.Condition) -> Node:
        if isinstance(expression, Eq) and any(a.is_integer for a in expression.args):
            a, b = sorted(expression.args, key=lambda e: not isinstance(e, Index))
            return Call("delta", (self.write(a), self.write(b)))
        return self.condition(expression)

    def condition(self, expression: Expr) -> Node:
        """A condition as a comparison, for where it is not a factor but a condition."""
        if type(expression) in CONDITIONS:
            return CONDITIONS[type(expression)](self, expression)
        return self.write(expression)

    @write.register
    def _binder(self, expression: nodes.Binder) -> Node:
        op, neutral = REDUCTIONS[type(expression)]
        body, opened = self.open(expression)
        condition = None
        if not self.deltas:
            condition, body = split_condition(body, neutral, opened)
        node = Binder(
            op, self._letters(opened), None if condition is None else self.condition(condition), self.write(body)
        )
        self.close(opened)
        return node

    @write.register(nodes.Inverse)
    @write.register(nodes.Cholesky)
    def _matrix(self, expression: nodes.MatrixBinder) -> Node:
        """An entry; at a place that is no index of its own it is ``sum[k : k == N - 1 - i](inv[k, j](A[k, j]))``."""
        p, q = expression.at
        own = (isinstance(p, Index) and p != q, isinstance(q, Index))
        put = self._new_letters(i for i, plain in zip(expression.bound, own, strict=True) if not plain)
        letters = iter(put)
        pair = [i if plain else next(letters) for i, plain in zip((p, q), own, strict=True)]
        body = expression.body.xreplace(dict(zip(expression.bound, pair, strict=True)))
        names = tuple(self.names.get(i, i.name) for i in pair)
        node: Node = Binder(MATRICES[type(expression)], names, None, self.write(body))
        if put:
            places = ((i, e) for i, e in zip(pair, (p, q), strict=True) if i in put)
            equal = tuple(syntax.Compare(("==",), (self.write(i), self.write(e))) for i, e in places)
            node = Binder("sum", self._letters(put), syntax.Logical("and", equal) if equal[1:] else equal[0], node)
        self.close(put)
        return node

    @write.register
    def _sum(self, expression: nodes.Sum) -> Node:
        body, opened = self.open(expression)
        system = None if self.deltas or isinstance(body, Where) else system_of(factors(body), opened)
        if system is None:
            self.close(opened)
            return self._binder(expression)
        self.close(i for i in opened if i != system.summed and i not in system.bound)
        whole = self._system(system)
        self.close(opened)
        return whole

    def _system(self, system: System) -> Node:
        """``solve[i, j](A[i, j], b[i])``, times what does not go into it."""
        body = system.inverse.body.xreplace(dict(zip(system.inverse.bound, system.pair, strict=True)))
        names = tuple(self.names.get(i, i.name) for i in (system.summed, system.kept))
        node: Node = Binder("solve", names, None, self.write(body), (self.write(system.right),))
        number, rest = Mul(*system.rest).as_coeff_Mul()
        if rest is not S.One:
            node = product_of([self.write(rest), node])
        node = Binder("sum", self._letters(system.bound), None, node) if system.bound else node
        return _scaled(number, node, self)

    @write.register(nodes.Maximum)
    @write.register(nodes.Minimum)
    @write.register(nodes.Clamp)
    @write.register(nodes.Stop)
    def _call(self, expression: Expr) -> Node:
        return Call(CALLS[type(expression)], tuple(self.write(a) for a in expression.args))

    @write.register
    def _floor_div(self, expression: nodes.FloorDiv) -> Node:
        return Binary("//", *(self.write(a) for a in expression.args))

    @write.register(sympy.floor)
    def _floor(self, expression: Expr) -> Node:
        above, below = expression.args[0].as_numer_denom()
        return Binary("//", self.write(above), self.write(below))

    @write.register
    def _mod(self, expression: nodes.Mod) -> Node:
        return Binary("%", *(self.write(a) for a in expression.args))

    def _letters(self, opened: Iterable[Index]) -> tuple[str, ...]:
        return tuple(i.name for i in opened)


def _scaled(number: Expr, node: Node, writer: Writer) -> Node:
    if number == 1:
        return node
    if number == -1:
        return Unary("-", node)
    if number.p == -1:
        return Unary("-", _scaled(-number, node, writer))
    result = node if number.p == 1 else Binary("*", writer.write(sympy.Integer(number.p)), node)
    return result if number.q == 1 else Binary("/", result, Number(Fraction(int(number.q))))
