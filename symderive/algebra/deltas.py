"""Sums of Kronecker deltas: which index a delta determines, and what is left as a condition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sympy import Expr, Mul, Pow, S

from symderive.algebra.bounds import always, in_range
from symderive.algebra.nodes import Access, And, Eq, FloorDiv, Index, Le, Lt, Mod, Pad, Where, free_indices
from symderive.algebra.terms import factors, substitute, transform


@dataclass
class Solution:
    """What solving deltas gives: expressions for indices, guards that must hold, deltas that stay."""

    values: dict[Index, Expr] = field(default_factory=dict)
    guards: list[Expr] = field(default_factory=list)
    left: list[Expr] = field(default_factory=list)

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
    solution = Solution()
    open_unknowns = list(unknowns)
    pending = _quotients(list(pairs), open_unknowns, solution)
    progress = True
    while progress:
        progress = False
        for pair in list(pending):
            target, position = (substitute(e, solution.values) for e in pair)
            found = _one_unknown(target, position, open_unknowns)
            if found is not None:
                index, value = found
                solution.put(index, value)
                open_unknowns.remove(index)
                if not any(i in substitute(pair[1], solution.values).atoms(Index) for i in open_unknowns):
                    pending.remove(pair)  # of two digits, the other is still to be read off
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
    if len(present) == 2:
        return _digits(target, position, present)
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
    return index, _as_remainder(index - difference if coefficient == 1 else index + difference)


def _as_remainder(value: Expr) -> Expr:
    """``e - D*(e // D) = e % D``."""
    for quotient in value.atoms(FloorDiv):
        number, divisor = quotient.args
        if value == number - divisor * quotient:
            return Mod(number, divisor)
    return value


def _digits(target: Expr, position: Expr, unknowns: list[Index]) -> tuple[Index, Expr] | None:
    """``p == D*a + b`` with b over all of 0..D-1 says ``a == p // D``; what is left then determines b."""
    for a, b in (unknowns, unknowns[::-1]):
        base = b.extent
        rest = target - (position - base * a - b)
        if not rest.atoms(Index) & {a, b} and not rest.atoms(FloorDiv, Mod, Access) and base != 1:
            return a, FloorDiv(rest, base)
    return None


def _rotation(target: Expr, position: Mod, index: Index) -> tuple[Index, Expr] | None:
    """``p == (i + c) % N`` with i over all of 0..N-1 says ``i == (p - c) % N``."""
    inner, modulus = position.args
    coefficient = inner.coeff(index)
    if index.extent != modulus or coefficient not in (1, -1) or inner.atoms(Access, FloorDiv, Mod):
        return None
    rest = inner - coefficient * index
    return index, Mod(coefficient * (target - rest), modulus)


def guarded(body: Expr, guards: list[Expr], shifted: Iterable[Expr]) -> Expr:
    """The body where the guards hold, else 0: a guard on where an access reads is said by ``pad``."""
    if not guards:
        return body
    shifted = {v for v in shifted if any(_guards(g, v) for g in guards)}
    padded = transform(body, lambda e: Pad(e) if _reads_at(e, shifted) else e)
    padded = transform(padded, _merge_pads)
    open_guards = [g for g in guards if not _is_said(g, padded)]
    return Where(And(*open_guards), padded, S.Zero)


def _merge_pads(expression: Expr) -> Expr:
    """An access that was padded already keeps its own value out of range."""
    if isinstance(expression, Pad) and isinstance(expression.args[0], Pad):
        return Pad(expression.args[0].args[0], expression.args[1])
    return expression


def _reads_at(expression: Expr, positions: set[Expr]) -> bool:
    return isinstance(expression, Access) and any(i in positions for i in expression.indices)


def _is_said(guard: Expr, body: Expr) -> bool:
    """Whether a padded access that is a factor of the body is 0 wherever the guard fails."""
    if not isinstance(guard, Lt | Le):
        return False
    position = _guarded_position(guard)
    accesses = [f.args[0] for f in factors(body) if isinstance(f, Pad) and f.args[1] is S.Zero]
    safe = all(p.exp.is_positive for p in body.atoms(Pow) if p.atoms(Pad))
    return safe and any(position in a.indices for a in accesses)


def _guarded_position(guard: Lt | Le) -> Expr:
    """What has to be ``>= 0``, or below an extent, for the guard to hold."""
    return guard.args[1] - guard.args[0] if isinstance(guard, Le) else guard.args[0]


def _guards(guard: Expr, position: Expr) -> bool:
    """Whether a guard is about this position; one that no guard is about is in range."""
    return isinstance(guard, Lt | Le) and _guarded_position(guard) == position


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
    new = substitute(rest, solution.values)
    new = guarded(new, solution.guards, solution.values.values())
    left = tuple(i for i in indices if i not in solution.values)
    return Mul(new, *solution.left), left


def _oriented(delta: Eq, indices: tuple[Index, ...]) -> tuple[Expr, Expr]:
    """(target, position): the side with the summed index is the position."""
    a, b = delta.args
    if a in indices and not (b in indices and free_indices(a) == {a}):
        return b, a
    return (a, b) if free_indices(b) & set(indices) else (b, a)
