"""Writing an expression with the tensors that a program has already named.

A definition ``T[i] = e`` is also read backwards: an expression of the form of e is T. Where e is a product of one
unnamed factor and others that are never 0, the unnamed factor is what T and the others leave:
``xhat = (x - mu) * rstd`` says ``x - mu = xhat / rstd``, and so does ``xhat = (x - mu) / sqrt(var + eps)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from sympy import Add, Expr, Mul, Pow, S
from sympy.functions.elementary.exponential import exp as Exp

from symderive.algebra.bounds import always, in_range, plain_comparison
from symderive.algebra.nodes import (
    Access,
    And,
    Apply,
    Binder,
    Eq,
    Index,
    Inverse,
    LogSumExp,
    Lt,
    Max,
    Min,
    Or,
    Pad,
    Stop,
    Sum,
    Where,
)
from symderive.algebra.program import Equation, Program
from symderive.algebra.rules import SUMS
from symderive.algebra.rules.sums import is_finite
from symderive.algebra.systems import systems
from symderive.algebra.terms import Pass, depends, factors, is_rounded_once, powers, product, tensors, terms, transform
from symderive.record import record

Binding = dict[Index, Expr]


def unify(pattern: Expr, expression: Expr, free: set[Index], binding: Binding) -> Iterator[Binding]:
    """Every way to put index expressions for the ``free`` indices of the pattern so that it equals the expression."""
    if isinstance(pattern, Index) and pattern in free:
        yield from _bind(pattern, expression, binding)
    elif not pattern.args or not expression.args:
        if pattern == expression:
            yield binding
    elif type(pattern) is not type(expression) or len(pattern.args) != len(expression.args):
        return
    elif isinstance(pattern, Add | Mul | And | Or | Eq):
        yield from _unify_any_order(pattern.args, expression.args, free, binding)
    else:
        yield from _unify_in_order(pattern.args, expression.args, free, binding)


def _bind(pattern: Index, expression: Expr, binding: Binding) -> Iterator[Binding]:
    if pattern in binding:
        if binding[pattern] == expression:
            yield binding
    elif (isinstance(expression, Index) and expression.extent == pattern.extent) or isinstance(expression, Access):
        yield binding | {pattern: expression}


def _unify_in_order(
    patterns: tuple[Expr, ...], expressions: tuple[Expr, ...], free: set[Index], binding: Binding
) -> Iterator[Binding]:
    if not patterns:
        yield binding
        return
    first, other = patterns[0], expressions[0]
    if not isinstance(first, Expr):
        if first == other:
            yield from _unify_in_order(patterns[1:], expressions[1:], free, binding)
        return
    for found in unify(first, other, free, binding):
        yield from _unify_in_order(patterns[1:], expressions[1:], free, found)


def _unify_any_order(
    patterns: tuple[Expr, ...], expressions: tuple[Expr, ...], free: set[Index], binding: Binding
) -> Iterator[Binding]:
    if not patterns:
        yield binding
        return
    first = patterns[0]
    wanted = _signature(first)
    for n, other in enumerate(expressions):
        if _signature(other) == wanted:
            for found in unify(first, other, free, binding):
                yield from _unify_any_order(patterns[1:], expressions[:n] + expressions[n + 1 :], free, found)


def _signature(expression: Expr) -> tuple[type, frozenset[str]]:
    return type(expression), frozenset(tensors(expression))


@record
class Definition:
    """``pattern`` can be written as ``value``, in the same free ``indices``."""

    indices: frozenset[Index]
    pattern: Expr
    value: Expr

    @cached_property
    def reads(self) -> frozenset[str]:
        """The tensors that the pattern reads."""
        return frozenset(tensors(self.pattern))

    def match(self, expression: Expr) -> Expr | None:
        """The expression in terms of the named tensor, or None."""
        for binding in unify(self.pattern, expression, set(self.indices), {}):
            if len(binding) == len(self.indices):
                return self.value.xreplace(binding)
        return None


class Knowledge:
    """What a program says of its tensors: definitions read backwards, known sums, and where they vanish."""

    def __init__(self, program: Program, solve: bool = True, named: bool = False) -> None:
        """``solve`` reads products backwards for an unnamed sum in them, ``named`` also for a named tensor."""
        self.program = program
        self.solves = self.solves_named = False
        self.equations = {e.tensor: e for e in program.equations}
        self._by_head: dict[tuple[type, str], list[Definition]] = {}
        self._sums: dict[tuple[str, int], Expr | None] = {}
        self.passes = {
            "recognise": Pass(self.named),
            "masked": Pass(self.masked),
            "known_sum": Pass(self.known_sum, self.vanishing_sum),
            "mask": Pass(self.drop_mask),
        }
        self._masked: list[tuple[frozenset[Index], Expr, Expr, Expr]] = []
        self._ones = {i.name for i in program.inputs if {"simplex", "one_hot"} & set(i.assume)}
        for equation in program.equations:
            masked = _masked_form(equation)
            if masked is not None:
                self._masked.append((frozenset(equation.indices), *masked, Access(equation.tensor, *equation.indices)))
            for definition in self._definitions(equation, solve, named):
                # found by one tensor that it reads, so that a long program costs no more per expression
                self._by_head.setdefault((type(definition.pattern), max(definition.reads)), []).append(definition)

    def _definitions(self, equation: Equation, solve: bool, named: bool) -> Iterator[Definition]:
        right = equation.right
        if named and (definition := self._solved_for_named(equation)) is not None:
            self.solves_named = True
            yield definition
            return
        if not right.atoms(Access) or isinstance(right, Access) or _is_log_softmax(right):
            return
        if isinstance(right, Max | Min) and not is_rounded_once(right.body):
            return  # what is compared with it would have to be computed again to the last bit
        name = Access(equation.tensor, *equation.indices)
        indices = frozenset(equation.indices)
        number, parts = powers(right)
        unnamed = [b for b in parts if b.atoms(Access) and not isinstance(b, Access)]
        if isinstance(right, Pow) and not isinstance(right, Exp):
            yield Definition(indices, right, name)
        elif len(plain := [b for b in unnamed if parts[b] > 0]) == 1 and parts[plain[0]] == 1:
            others = {b: e for b, e in parts.items() if b is not plain[0]}
            wanted = (solve or not others or not plain[0].is_Add) and indices <= plain[0].atoms(Index)
            if wanted and all(self._never_zero(b, e) for b, e in others.items()):
                self.solves = self.solves or bool(others and plain[0].is_Add)
                value = product(1 / number, {b: -e for b, e in others.items()} | {name: S.One})
                yield Definition(indices, plain[0], value)
                return
            yield Definition(indices, right, name)
        elif unnamed:
            yield Definition(indices, right, name)

    def _solved_for_named(self, equation: Equation) -> Definition | None:
        """``xhat = x * r`` with r never 0 says ``x = xhat / r``: what is saved anyway may do for x as well."""
        number, parts = powers(equation.right)
        if not all(isinstance(b, Access) or not b.atoms(Access) for b in parts):
            return None
        for base, exponent in parts.items():
            others = {b: e for b, e in parts.items() if b is not base}
            whole = isinstance(base, Access) and exponent == 1 and set(base.indices) == set(equation.indices)
            if whole and others and all(self._never_zero(b, e) for b, e in others.items()):
                name = Access(equation.tensor, *equation.indices)
                value = product(1 / number, {b: -e for b, e in others.items()} | {name: S.One})
                return Definition(frozenset(equation.indices), base, value)
        return None

    def _never_zero(self, base: Expr, exponent: Expr) -> bool:
        """Whether a power is certainly not 0 where it is finite; an exponential is none such, it underflows."""
        if exponent < 0 or base.is_positive or (not base.atoms(Access) and base.is_nonzero):
            return True
        if isinstance(base, Access) and base.tensor in self.equations:
            right = self.equations[base.tensor].right
            return isinstance(right, Pow) and not isinstance(right, Exp) and right.exp.is_number and right.exp < 0
        return False

    def named(self, expression: Expr) -> Expr:
        """Recognition of a known subexpression: a rule for :func:`transform`."""
        if isinstance(expression, Pow) and not isinstance(expression, Exp):
            found = self._power(expression)
            return expression if found is None else found
        if isinstance(expression, Apply) and expression.function == "sigmoid":
            found = self._complement(expression)
            if found is not None:
                return found
        for definition in self._candidates(type(expression), expression):
            found = self._match(definition, expression)
            if found is not None:
                return found
        return self._solution(expression) if isinstance(expression, Sum) else expression

    def _solution(self, expression: Sum) -> Expr:
        """``sum_{b,k} inv(A)[a, b] f[b, k] g[k] = sum_k x[a, k] g[k]`` where ``x = inv(A) f`` is named."""
        if not expression.atoms(Inverse):
            return expression
        body, bound = expression.open()
        for system in systems(factors(body), bound):
            solution = Sum.over(system.inverse * system.right, [system.summed])
            for definition in self._candidates(Sum, solution):
                found = definition.match(solution)
                if found is not None:
                    return Sum.over(Mul(found, *system.rest), system.bound)
        return expression

    def _complement(self, expression: Apply) -> Expr | None:
        """``sigmoid(-x) = 1 - p`` where ``p = sigmoid(x)`` is named."""
        opposite = Apply("sigmoid", -expression.arguments[0])
        for definition in self._candidates(Apply, opposite):
            found = definition.match(opposite)
            if found is not None:
                return 1 - found
        return None

    def _candidates(self, head: type, expression: Expr) -> Iterator[Definition]:
        read = tensors(expression)
        for name in sorted(read):
            for definition in self._by_head.get((head, name), ()):
                if definition.reads <= read:
                    yield definition

    def _match(self, definition: Definition, expression: Expr) -> Expr | None:
        found = definition.match(expression)
        if found is None and expression.is_Add:
            found = self._part_of_sum(definition, expression)
        return found

    def _part_of_sum(self, definition: Definition, expression: Expr) -> Expr | None:
        """Some terms of a sum are the definition, or its negative."""
        size = len(definition.pattern.args)
        if len(expression.args) < size or size < 2:
            return None
        for sign in (S.One, S.NegativeOne):
            wanted = Add(*(sign * t for t in definition.pattern.args))
            candidates = [t for t in expression.args if tensors(t) <= definition.reads]
            if len(candidates) < size:
                return None
            found = Definition(definition.indices, wanted, sign * definition.value).match(Add(*candidates))
            if found is not None:
                return Add(found, *(t for t in expression.args if t not in candidates))
        return None

    def _power(self, expression: Pow) -> Expr | None:
        """``T = u**a`` says ``u**b = T**(b/a)`` where that is a whole power."""
        for definition in self._candidates(Pow, expression):
            ratio = expression.exp / definition.pattern.exp
            if not ratio.is_Integer:
                continue
            found = Definition(definition.indices, definition.pattern.base, definition.value).match(expression.base)
            if found is not None:
                return found**ratio
        return None

    def known_sum(self, expression: Expr) -> Expr:
        """``sum_k T[.., k, ..]`` where the definition of T says what it is: 0 for a centred tensor, 1 for a softmax."""
        if not isinstance(expression, Sum) or len(expression.bound) != 1:
            return expression
        access, bound = _stopped(expression.body), expression.bound[0]
        if not isinstance(access, Access):
            return expression
        places = [n for n, i in enumerate(access.indices) if bound in i.atoms(Index)]
        if len(places) != 1 or access.indices[places[0]] != bound:
            return expression
        value = self._sum_along(access.tensor, places[0], bound.extent)
        if value is None:
            return expression
        equation = self.equations.get(access.tensor)
        if equation is None:
            return value
        outer = [i for n, i in enumerate(equation.indices) if n != places[0]]
        return value.xreplace(
            dict(zip(outer, [i for n, i in enumerate(access.indices) if n != places[0]], strict=True))
        )

    def vanishing_sum(self, expression: Expr) -> Expr:
        """``sum_{i,n} a_i (x_{in} - mean_n x_i) = 0``: a sum of which one factor sums to 0 along an index of its own.

        Where there is but one index, linearity shows it step by step.
        """
        if not isinstance(expression, Sum) or len(expression.bound) < 2:
            return expression
        if not any(f.is_Add for f in factors(expression.body)):
            return expression
        body, bound = expression.open()
        for index in bound:
            own = [f for f in factors(body) if depends(f, [index])]
            if len(own) == 1 and own[0].is_Add and self._summed(Sum.over(own[0], [index])) is S.Zero:
                return S.Zero
        return expression

    def _summed(self, value: Expr) -> Expr:
        """An expression with the sums in it worked out, known ones written as what they are."""
        for rule in (*SUMS, self._known_total, self.known_sum):
            value = transform(value, rule)
        return value

    def _sum_along(self, tensor: str, axis: int, extent: Expr) -> Expr | None:
        key = (tensor, axis)
        if key not in self._sums:
            self._sums[key] = None  # a tensor's own definition must not be asked while it is worked out
            self._sums[key] = self._work_out_sum(tensor, axis, extent)
        return self._sums[key]

    def _work_out_sum(self, tensor: str, axis: int, extent: Expr) -> Expr | None:
        if tensor in self._ones:
            shape = self.program.shapes[tensor]
            return S.One if axis == len(shape) - 1 else None
        equation = self.equations.get(tensor)
        if equation is None or equation.indices[axis].extent != extent:
            return None
        value = self._summed(self._summed(Sum.over(_stopped(equation.right), [equation.indices[axis]])))
        return value if not value.atoms(Binder) and not value.atoms(Access) else None

    def _known_total(self, expression: Expr) -> Expr:
        """A sum that is another tensor's definition, such as ``sum_d x = D mu``."""
        return self.named(expression) if isinstance(expression, Sum) else expression

    def masked(self, expression: Expr) -> Expr:
        """``where(c, e f, 0) = where(c, T f, 0)`` where ``T = where(c, e, 0)``."""
        if not isinstance(expression, Where) or expression.args[2] is not S.Zero or not self._masked:
            return expression
        condition, value, _ = expression.args
        found: dict[Expr, Expr] = {}
        for indices, own_condition, pattern, named in self._masked:
            for candidate in value.atoms(type(pattern)):
                for binding in unify(pattern, candidate, set(indices), {}):
                    if _implied(own_condition.xreplace(binding), condition):
                        found[candidate] = named.xreplace(binding)
        return Where(condition, value.xreplace(found), S.Zero) if found else expression

    def drop_mask(self, expression: Expr) -> Expr:
        """``where(c, T f, 0) = T f`` where T is 0 unless c holds; of several conditions, those that T implies."""
        if not isinstance(expression, Where) or expression.args[2] is not S.Zero:
            return expression
        condition, value, _ = expression.args
        conjuncts = condition.args if isinstance(condition, And) else (condition,)
        kept = [c for c in conjuncts if not all(self._is_zero_unless(t, c) for t in terms(value))]
        return expression if len(kept) == len(conjuncts) else Where(And(*kept), value, S.Zero)

    def _is_zero_unless(self, term: Expr, condition: Expr) -> bool:
        parts = factors(term)
        if any(isinstance(f, Access) and self._vanishes(f, condition) for f in parts):
            return True
        if any(self._is_out_of_range(f, condition) for f in parts):
            return all(isinstance(f, Pad) or is_finite(f) for f in parts)
        return all(map(is_finite, parts)) and any(self._is_rectified(f, condition) for f in parts)

    def _is_out_of_range(self, factor: Expr, condition: Expr) -> bool:
        """Whether it is a padded entry, which is 0 unless its position is in range, as the condition asks."""
        if not isinstance(factor, Pad) or factor.args[1] is not S.Zero:
            return False
        access, shapes = factor.args[0], self.program.shapes
        shape = shapes.get(access.tensor) or shapes.get(access.tensor.removeprefix("d").removesuffix("_total"), ())
        needed = (c for p, extent in zip(access.indices, shape, strict=False) for c in in_range(p, extent))
        return any(plain_comparison(c) == condition for c in needed)

    def _is_rectified(self, factor: Expr, condition: Expr) -> bool:
        """Whether it is a tensor that is named for ``relu(u)``, which is 0 unless ``u > 0``."""
        right = self._defined(factor) if isinstance(factor, Access) else None
        return isinstance(right, Apply) and right.function == "relu" and condition == Lt(S.Zero, right.arguments[0])

    def _defined(self, access: Access) -> Expr | None:
        """What the program says that an entry is."""
        equation = self.equations.get(access.tensor)
        return equation and equation.right.xreplace(dict(zip(equation.indices, access.indices, strict=True)))

    def _vanishes(self, access: Access, condition: Expr) -> bool:
        right = self._defined(access)
        return right is not None and vanishes_unless(right, condition)


def _stopped(expression: Expr) -> Expr:
    """The x of ``stop(x)``."""
    return expression.args[0] if isinstance(expression, Stop) else expression


def _masked_form(equation: Equation) -> tuple[Expr, Expr] | None:
    """(c, e) where the equation says ``where(c, e, 0)``, or the exponential of something that is -inf outside c."""
    right = equation.right
    if isinstance(right, Where) and right.args[2] is S.Zero:
        return (right.args[0], right.args[1]) if isinstance(right.args[1], Exp) else None
    if not isinstance(right, Exp):
        return None
    for term in terms(right.args[0]):
        if isinstance(term, Where) and term.args[2] is S.NegativeInfinity and vanishes_unless(right, term.args[0]):
            return term.args[0], Exp(right.args[0] - term + term.args[1])
    return None


def _implied(condition: Expr, by: Expr) -> bool:
    """Whether every conjunct of a condition is one of another's."""
    known = by.args if isinstance(by, And) else (by,)
    return all(c in known for c in (condition.args if isinstance(condition, And) else (condition,)))


def vanishes_unless(expression: Expr, condition: Expr) -> bool:
    """Whether an expression is 0 wherever the condition does not hold."""
    if isinstance(expression, Where):
        own, a, b = expression.args
        needed = condition.args if isinstance(condition, And) else (condition,)
        given = own.args if isinstance(own, And) else (own,)
        return (b is S.Zero and all(c in given for c in needed)) or (
            vanishes_unless(a, condition) and vanishes_unless(b, condition)
        )
    if isinstance(expression, Mul):
        return any(vanishes_unless(f, condition) for f in expression.args)
    if isinstance(expression, Exp):
        parts = terms(expression.args[0])
        masked = any(isinstance(t, Where) and t.args[0] == condition and t.args[2] is S.NegativeInfinity for t in parts)
        normalisers = [t.as_coeff_Mul()[1] for t in parts if isinstance(t.as_coeff_Mul()[1], LogSumExp)]
        return masked and all(_keeps_an_entry(n) for n in normalisers)
    return expression is S.Zero


def _keeps_an_entry(normaliser: LogSumExp) -> bool:
    """Whether some entry is never masked, as the diagonal in a causal mask; else 0 / 0 would be NaN, not 0."""
    body, opened = normaliser.open()
    if not isinstance(body, Where) or len(opened) != 1:
        return not isinstance(body, Where)
    k = opened[0]
    entries = [S.Zero, k.extent - 1, *(i for i in body.args[0].atoms(Index) - {k} if i.extent == k.extent)]
    return any(always(body.args[0].xreplace({k: e})) is True for e in entries)


def _is_log_softmax(expression: Expr) -> bool:
    """``f - logsumexp f`` is left alone: its exponential is better known as a softmax."""
    if not expression.is_Add:
        return False
    return any(t.as_coeff_Mul()[0] == -1 and isinstance(t.as_coeff_Mul()[1], LogSumExp) for t in expression.args)
