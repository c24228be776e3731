"""Sums of Kronecker deltas: which index a delta determines, and what is left as a condition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sympy import Expr, Function, Mul, Pow, S

from symderive.algebra.bounds import always, in_range, plain_comparison
from symderive.algebra.digits import as_remainder, digits_of, in_digits
from symderive.algebra.nodes import Access, And, Apply, Eq, FloorDiv, Index, Le, Lt, Mod, Pad, Where, free_indices
from symderive.algebra.terms import factors, substitute, transform


@dataclass
class Solution:
    """What solving deltas gives: expressions for indices, guards that must hold, deltas that stay.

    ``digits`` are new indices that the expressions speak of, to be summed over: ``h // D == p`` says ``h = D*p + r``.
    """

    values: dict[Index, Expr] = field(default_factory=dict)
    guards: list[Expr] = field(default_factory=list)
    left: list[Expr] = field(default_factory=list)
    digits: tuple[Index, ...] = ()

    def put(self, index: Index, value: Expr) -> None:
        """Determine one index and use it in what is known so far."""
        one = {index: value}
        self.values = {i: substitute(v, one) for i, v in self.values.items()} | one
        self.guards = [substitute(g, one) for g in self.guards] + in_range(value, index.extent)
        self.left = [substitute(d, one) for d in self.left]


def solve(pairs: Iterable[tuple[Expr, Expr]], unknowns: Iterable[Index]) -> Solution:
    """Solve ``target == position`` for the summed indices ``unknowns``.

    A position with a single unknown of coefficient 1 or -1 determines it; so do a quotient and a remainder of the
    same number, and a rotation. A window, ``s*h + r``, has several unknowns and stays a delta, as does a gather.
    """
    pairs, unknowns = list(pairs), list(unknowns)
    solution = _solve(pairs, unknowns)
    if solution.left and (split := in_digits(pairs, unknowns)) is not None:
        by_digits = _solve(split.pairs, [i for i in unknowns if i not in split.values] + split.digits)
        if len(by_digits.left) < len(solution.left):
            for index, value in split.values.items():
                by_digits.put(index, substitute(value, by_digits.values))
            known = by_digits.values
            values = {i: v for i, v in known.items() if i not in split.digits}
            guards = [g for g in dict.fromkeys(by_digits.guards) if always(g) is not True]
            return Solution(values, guards, by_digits.left, tuple(d for d in split.digits if d not in known))
    return solution


def _solve(pairs: list[tuple[Expr, Expr]], unknowns: list[Index]) -> Solution:
    solution = Solution()
    open_unknowns = list(unknowns)
    pending = _quotients(list(pairs), open_unknowns, solution)
    progress = True
    while progress:
        progress = False
        for pair in list(pending):
            target, position = (substitute(e, solution.values) for e in pair)
            found = _one_unknown(target, position, open_unknowns)
            present = [i for i in open_unknowns if i in position.atoms(Index) | target.atoms(Index)]
            determined = [found] if found else digits_of(target, position, present) if len(present) > 1 else None
            if determined:
                for index, value in determined:
                    solution.put(index, value)
                    open_unknowns.remove(index)
                pending.remove(pair)
                progress = True
    solution.left += [Eq(substitute(t, solution.values), substitute(p, solution.values)) for t, p in pending]
    solution.guards = [g for g in dict.fromkeys(solution.guards) if always(g) is not True]
    return solution


def _quotients(pairs: list[tuple[Expr, Expr]], unknowns: list[Index], solution: Solution) -> list[tuple[Expr, Expr]]:
    """``p == e // D`` with ``q == e % D`` says ``e == D*p + q``."""
    rest = list(pairs)
    for quotient in pairs:
        for remainder in pairs:
            p, q = quotient[1], remainder[1]
            if not (isinstance(p, FloorDiv) and isinstance(q, Mod) and p.args == q.args and p.args[0] in unknowns):
                continue
            index, divisor = p.args
            solution.put(index, divisor * quotient[0] + remainder[0])
            solution.guards += in_range(remainder[0], divisor)
            unknowns.remove(index)
            rest = [r for r in rest if r not in (quotient, remainder)]
    return rest


def _one_unknown(target: Expr, position: Expr, unknowns: list[Index]) -> tuple[Index, Expr] | None:
    """The unknown that the delta determines and its value, if there is one that can be isolated."""
    if position in unknowns and position not in target.atoms(Index):
        return position, target
    present = [i for i in unknowns if i in position.atoms(Index) | target.atoms(Index)]
    if len(present) > 1 and isinstance(position, Mod):
        found = (_rotation(target, position, i) for i in present if i not in target.atoms(Index))
        return next((f for f in found if f is not None), None)
    if len(present) != 1:
        return None
    index = present[0]
    if target == index and index not in position.atoms(Index):
        return index, position
    if isinstance(position, Mod):
        return _rotation(target, position, index)
    if any(index in a.atoms(Index) for a in (target - position).atoms(Access, FloorDiv, Mod)):
        return None
    difference = target - position
    coefficient = difference.coeff(index)
    if coefficient not in (1, -1):
        return None  # the guard of a stride would ask for divisibility, which reads worse than the delta
    return index, as_remainder(index - difference if coefficient == 1 else index + difference)


def _rotation(target: Expr, position: Mod, index: Index) -> tuple[Index, Expr] | None:
    """``p == (i + c) % N`` with i over all of 0..N-1 says ``i == (p - c) % N``."""
    inner, modulus = position.args
    coefficient = inner.coeff(index)
    if index.extent != modulus or coefficient not in (1, -1) or inner.atoms(Access, FloorDiv, Mod):
        return None
    rest = inner - coefficient * index
    return index, Mod(coefficient * (target - rest), modulus)


Shapes = Mapping[str, tuple[Expr, ...]]


def collapsed(body: Expr, solution: Solution, shapes: Shapes = MappingProxyType({})) -> Expr:
    """The body at the values that a solution gives its indices, and 0 where a value is out of its index's range.

    There, accesses with the index would leave their axes, so each is padded, but for those that ``shapes`` shows never
    to. Where a padded one is a factor of the body that says all; else, as under a division, the guards are said by a
    ``where``.
    """
    risky = {i for i, v in solution.values.items() if in_range(v, i.extent)}
    if risky:
        body = _merge_pads(transform(body, lambda e: Pad(e) if _reads_at(e, risky) else _merge_pads(e)))
    body = substitute(body, solution.values)
    if risky:
        body = transform(body, lambda e: e.args[0] if isinstance(e, Pad) and _stays(e.args[0], shapes) else e)
    open_guards = [g for g in solution.guards if not _is_said(g, body)]
    return Where(And(*map(plain_comparison, open_guards)), body, S.Zero)


def _stays(access: Access, shapes: Shapes) -> bool:
    """Whether an access certainly stays in the shape of its tensor."""
    shape = shapes.get(access.tensor)
    return shape is not None and not any(in_range(p, n) for p, n in zip(access.indices, shape, strict=True))


def _merge_pads(expression: Expr) -> Expr:
    """An access that was padded already keeps its own value out of range."""
    if isinstance(expression, Pad) and isinstance(expression.args[0], Pad):
        return Pad(expression.args[0].args[0], expression.args[1])
    return expression


def _reads_at(expression: Expr, indices: set[Index]) -> bool:
    """Whether it is an access whose own positions hold one of the indices; what those read is another access."""
    return isinstance(expression, Access) and any(_own_indices(p) & indices for p in expression.indices)


def _own_indices(position: Expr) -> set[Index]:
    if isinstance(position, Index):
        return {position}
    if isinstance(position, Access | Pad):
        return set()
    return set().union(*(_own_indices(a) for a in position.args if isinstance(a, Expr)))


def _is_said(guard: Expr, body: Expr) -> bool:
    """Whether a padded access that is a factor of the body is 0 wherever the guard fails, and no other is infinite."""
    if not isinstance(guard, Lt | Le):
        return False
    offset, position = (-guard.args[0], guard.args[1]) if isinstance(guard, Le) else (S.Zero, guard.args[0])
    position = position + offset
    accesses = [f.args[0] for f in factors(body) if isinstance(f, Pad) and f.args[1] is S.Zero]
    finite = not body.atoms(Function, Apply) and all(p.exp.is_positive for p in body.atoms(Pow))
    return finite and any(position in a.indices for a in accesses)


def contract(body: Expr, indices: Iterable[Index]) -> tuple[Expr, tuple[Index, ...]]:
    """Collapse the deltas that are factors of a sum's body; gives the body and the indices that are left to sum.

    Mathematics: ``sum_k delta(k, e) f(k) = f(e)`` for e in the range of k.
    """
    indices = tuple(indices)
    deltas = [f for f in factors(body) if isinstance(f, Eq) and free_indices(f) & set(indices)]
    if not deltas:
        return body, indices
    rest = Mul(*(f for f in factors(body) if f not in deltas))
    solution = solve([_oriented(d, indices) for d in deltas], indices)
    if not solution.values:
        return body, indices
    new = collapsed(rest, solution)
    left = tuple(i for i in (*indices, *solution.digits) if i not in solution.values)
    return Mul(new, *solution.left), left


def _oriented(delta: Eq, indices: tuple[Index, ...]) -> tuple[Expr, Expr]:
    """(target, position): the side with the summed index is the position."""
    a, b = delta.args
    if a in indices and not (b in indices and free_indices(a) == {a}):
        return b, a
    return (a, b) if free_indices(b) & set(indices) else (b, a)
