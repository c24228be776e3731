"""Indices as digits: ``h = D*q + r`` with ``q = h // D`` and ``r = h % D``, and numbers that are made of digits."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sympy import Add, Expr, Mul, S, cancel, expand, floor

from symderive.algebra.bounds import in_range
from symderive.algebra.nodes import Access, FloorDiv, Index, Mod
from symderive.algebra.terms import substitute, transform


@dataclass(frozen=True)
class Split:
    """Pairs in which some unknowns are written by digits: ``values`` says how, ``digits`` are the new unknowns."""

    pairs: list[tuple[Expr, Expr]]
    values: dict[Index, Expr]
    digits: list[Index]


def in_digits(pairs: Sequence[tuple[Expr, Expr]], unknowns: Sequence[Index]) -> Split | None:
    """``h = D*q + r`` for every unknown that is read as ``f // D`` or ``f % D``, f being ``h``, ``h + c`` or ``c - h``.

    Of h itself D divides the extent; of the others the quotients run over nearly all that they are compared with.
    """
    pairs = [(t, transform(p, _quotient_of_remainder)) for t, p in pairs]
    values: dict[Index, Expr] = {}
    digits: list[Index] = []
    quotients = {n for _, p in pairs for n in p.atoms(FloorDiv, Mod)}
    for unknown in unknowns:
        chain = _chain_of(unknown, quotients)
        if chain is not None:
            values[unknown], own = chain
            digits += own
            continue
        found = {n.args for _, p in pairs for n in p.atoms(FloorDiv, Mod) if unknown in n.args[0].atoms(Index)}
        if len(found) != 1:
            continue
        ((inner, divisor),) = found
        if divisor.atoms(Index, Access):
            continue
        split = _digits_of_part(unknown, inner, divisor, pairs)
        if split is not None:
            values[unknown] = split[0]
            digits += split[1:]
    if not values:
        return None
    return Split([(t, transform(substitute(p, values), _without_remainder)) for t, p in pairs], values, digits)


def _digits_of_part(
    unknown: Index, inner: Expr, divisor: Expr, pairs: Sequence[tuple[Expr, Expr]]
) -> tuple[Expr, Index, Index] | None:
    """``h = D*(q + q0) + r - c`` for ``f = h + c``, where q0 is the least of the quotients, and the like for ``c - h``.

    Not every pair of digits is an h. Where many were none, as for a quotient that stays far below what it is compared
    with, the delta says it better.
    """
    sign = expand(inner).coeff(unknown)
    constant = expand(inner - sign * unknown)
    if sign not in (1, -1) or constant.atoms(Index, Access) or not divisor.is_positive:
        return None
    least = constant if sign == 1 else constant - unknown.extent + 1
    greatest = least + unknown.extent - 1
    first = floor(least / divisor)
    count = floor(greatest / divisor) - first + 1
    compared = [t for t, p in pairs if isinstance(t, Index) and any(n.args[0] == inner for n in p.atoms(FloorDiv))]
    if not all(_nearly(divisor * t.extent, unknown.extent, divisor) for t in compared) or not compared:
        return None
    high, low = Index("~", count).fresh(), Index("~", divisor).fresh()
    backwards = sign == -1 and not any(n.args[0] == inner for _, p in pairs for n in p.atoms(Mod))
    rest = divisor - 1 - low if backwards else low
    return expand(sign * (divisor * (high + first) + rest - constant)), high, low


def _nearly(a: Expr, b: Expr, divisor: Expr) -> bool:
    """Whether two sizes differ by a number of entries that does not grow with them."""
    difference = expand(a - b)
    plain = difference.xreplace({f: f.args[0] for f in difference.atoms(floor)})
    return expand(plain).is_number or (expand(plain).free_symbols <= divisor.free_symbols)


def _is_whole(count: Expr) -> bool:
    return bool(count.is_integer) and count.as_numer_denom()[1] == 1


def _without_remainder(expression: Expr) -> Expr:
    """``r // D = 0`` and ``r % D = r`` where ``0 <= r < D``."""
    if isinstance(expression, FloorDiv | Mod) and not in_range(*expression.args):
        return expression.args[0] if isinstance(expression, Mod) else expression.args[0] * 0
    return expression


def split_by_digits(expression: Expr, indices: Sequence[Index]) -> tuple[Expr, dict[Index, tuple[Index, ...]]]:
    """``h = 6*a + 2*b + c`` for every index that is read as ``h // 6``, ``h // 2 % 3`` and ``h % 2``, and the like.

    Gives the expression in the digits, and those of each index that was written so, the highest first.
    """
    found: dict[Index, tuple[Index, ...]] = {}
    values: dict[Index, Expr] = {}
    expression = transform(expression, _quotient_of_remainder) if expression.atoms(FloorDiv) else expression
    quotients = expression.atoms(FloorDiv, Mod)
    for index in indices:
        chain = _chain_of(index, quotients)
        if chain is not None:
            values[index], found[index] = chain
    return transform(substitute(expression, values), _without_remainder) if found else expression, found


def _chain_of(index: Index, quotients: Collection[Expr]) -> tuple[Expr, tuple[Index, ...]] | None:
    """The index by the digits that it is read by, and those, the highest first."""
    divisors = {d for n in quotients for d in _divisors(n, index)}
    scales = _chain(divisors, index.extent) if divisors else None
    if scales is None:
        return None
    radices = [cancel(b / a) for a, b in itertools.pairwise(scales)]
    digits = [Index("~", radix).fresh() for radix in radices]
    return Add(*(s * d for s, d in zip(scales, digits, strict=False))), tuple(digits[::-1])


def _quotient_of_remainder(expression: Expr) -> Expr:
    """``n % (a*d) // d = n // d % a``."""
    if isinstance(expression, FloorDiv) and isinstance(expression.args[0], Mod):
        (number, modulus), divisor = expression.args[0].args, expression.args[1]
        if isinstance(number, Index) and _is_whole(cancel(modulus / divisor)):
            return Mod(FloorDiv(number, divisor), cancel(modulus / divisor))
    return expression


def _divisors(node: Expr, index: Index) -> list[Expr]:
    """What an index is divided by in ``h // d``, ``h % d`` or ``h // a % b``."""
    inner, divisor = node.args
    if inner == index:
        return [divisor]
    if isinstance(node, Mod) and isinstance(inner, FloorDiv) and inner.args[0] == index:
        return [inner.args[1] * divisor]
    return []


def _chain(divisors: set[Expr], extent: Expr) -> list[Expr] | None:
    """1, the divisors and the extent in an order in which each divides the next, if there is one."""
    chain: list[Expr] = [S.One]
    left = set(divisors) - {S.One, extent}
    while left:
        after = [d for d in left if all(_is_whole(cancel(e / d)) for e in left | {extent})]
        if len(after) != 1 or not _is_whole(cancel(after[0] / chain[-1])) or after[0].atoms(Index, Access):
            return None
        chain.append(after[0])
        left.discard(after[0])
    return [*chain, extent] if len(chain) > 1 else None


def digits_of(target: Expr, position: Expr, unknowns: Sequence[Index]) -> list[tuple[Index, Expr]] | None:
    """``p == 6*a + 2*b + c`` with ``b < 3`` and ``c < 2`` says ``a == p // 6``, ``b == p // 2 % 3``, ``c == p % 2``.

    Digits may run backwards, ``p == 2*a + 1 - b``.
    """
    if isinstance(position, Mod):
        return _rotated_digits(target, position, unknowns)
    difference = expand(position - target)
    backwards = [i for i in unknowns if difference.coeff(i).is_negative]
    difference = expand(difference.xreplace({i: i.extent - 1 - i for i in backwards}))
    scales = {i: difference.coeff(i) for i in unknowns}
    rest = expand(sum((c * i for i, c in scales.items()), -difference))
    if rest.atoms(Index) & set(unknowns) or rest.atoms(FloorDiv, Mod, Access):
        return None
    found: list[tuple[Index, Expr]] = []
    scale: Expr = S.One
    left = list(unknowns)
    while left:
        index = next((i for i in left if expand(scales[i] - scale) == 0), None)
        if index is None:
            return None
        left.remove(index)
        value = FloorDiv(rest, scale)
        value = Mod(value, index.extent) if left else value
        found.append((index, index.extent - 1 - value if index in backwards else value))
        scale = expand(scale * index.extent)
    return found[::-1]


def _rotated_digits(target: Expr, position: Mod, unknowns: Sequence[Index]) -> list[tuple[Index, Expr]] | None:
    """``p == (2*a + b + c) % N`` with ``N`` digits ``a, b`` says that those are the digits of ``(p - c) % N``."""
    inner, modulus = position.args
    constant = inner.xreplace(dict.fromkeys(unknowns, S.Zero))
    if constant.atoms(Access, FloorDiv, Mod) or target.atoms(Index) & set(unknowns):
        return None
    if expand(Mul(*(i.extent for i in unknowns)) - modulus) != 0:
        return None
    number = Index("~", modulus).fresh()
    found = digits_of(number, inner - constant, unknowns)
    return found and [(i, v.xreplace({number: Mod(target - constant, modulus)})) for i, v in found]


def as_remainder(value: Expr) -> Expr:
    """``e - D*(e // D) = e % D``."""
    for quotient in value.atoms(FloorDiv):
        number, divisor = quotient.args
        if value == number - divisor * quotient:
            return Mod(number, divisor)
    return value


def joined_digits(expression: Expr) -> Expr:
    """``D*(n // D) + n % D = n``, and ``D*(n // (a*D)) + n // a % D = n // a``."""
    if not expression.is_Add:
        return expression
    for term in expression.args:
        remainder = next((f for f in Mul.make_args(term) if isinstance(f, Mod)), None)
        if remainder is None:
            continue
        number, divisor = remainder.args
        scale = term / remainder
        nested = isinstance(number, FloorDiv)
        whole = FloorDiv(number.args[0], number.args[1] * divisor) if nested else FloorDiv(number, divisor)
        rest = expression - term - scale * divisor * whole
        if len(Add.make_args(rest)) < len(expression.args) - 1 or rest is S.Zero:
            return joined_digits(rest + scale * number)
    return expression
