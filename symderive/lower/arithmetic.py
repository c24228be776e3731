"""Sums, products and quotients of labelled arrays, put together as one would write them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import sympy
from sympy import Expr, S

from symderive.algebra import nodes
from symderive.lower import plan
from symderive.lower.axes import Labelled
from symderive.lower.context import Lowering, plain_sizes
from symderive.lower.mean import divided

Term = tuple[bool, int, Labelled]
"""Whether it is subtracted, how much there is to read in it, and its value."""

Factor = tuple[int, Labelled]
"""How much there is to read in it, and its value."""


def content(e: Expr) -> tuple[Expr, Expr]:
    """``2 a - 2 b`` is 2 and ``a - b``: the factor that all terms of a sum have, up to sign. ``-2 a - 2 b`` has -2."""
    if not isinstance(e, sympy.Add):
        return S.One, e
    numbers = {abs(t.as_coeff_Mul()[0]) for t in e.args}
    if len(numbers) != 1 or S.One in numbers or S.Infinity in numbers:
        return S.One, e
    (number,) = numbers
    if all(t.as_coeff_Mul()[0].is_negative for t in e.args):
        number = -number
    return number, sympy.Add(*(t / number for t in e.args))


def add_terms(terms: Sequence[Expr], ctx: Lowering) -> Labelled:
    """A sum of terms: small ones among themselves first, positive ones in front."""
    number, signed = signed_terms(terms, ctx)
    return total(signed, number, ctx)


def signed_terms(terms: Sequence[Expr], ctx: Lowering) -> tuple[Expr, list[Term]]:
    """The number among some terms, and the others with their signs."""
    number: Expr = S.Zero
    signed: list[Term] = []
    for term in terms:
        if ctx.is_scalar(term):
            number += plain_sizes(term)
            continue
        negative = bool(term.as_coeff_Mul()[0].is_negative)
        signed.append((negative, ctx.weight(term), ctx.lower(-term if negative else term)))
    return number, signed


def total(signed: list[Term], number: Expr, ctx: Lowering) -> Labelled:
    """The sum of (is negative, weight, value) and a number."""
    if not signed:
        return Labelled(ctx.graph.scalar(number))
    signed = _small_together(signed, ctx)
    signed.sort(key=lambda t: (t[0], 0 if t[0] else -len(t[2].axes), t[1]))
    negative, _, value = signed[0]
    rest = signed[1:]
    scalar = Labelled(ctx.graph.scalar(number))
    if negative and number.is_positive:
        value, number = ctx.combine("sub", scalar, value), S.Zero
    elif negative:
        value = ctx.combine("neg", value)
    for negative, _, other in rest:
        value = ctx.combine("sub" if negative else "add", value, other)
    if number is S.Zero:
        return value
    if number.could_extract_minus_sign():
        return ctx.combine("sub", value, Labelled(ctx.graph.scalar(-number)))
    return ctx.combine("add", value, scalar)


def _small_together(signed: list[Term], ctx: Lowering) -> list[Term]:
    most = max(len(v.axes) for _, _, v in signed)
    result = [t for t in signed if len(t[2].axes) == most]
    groups: dict[frozenset, list[Term]] = {}
    for term in signed:
        if len(term[2].axes) < most:
            groups.setdefault(frozenset(term[2].axes), []).append(term)
    for group in groups.values():
        if len(group) == 1:
            result += group
            continue
        all_negative = all(n for n, _, _ in group)
        flipped = [(n and not all_negative, w, v) for n, w, v in group]
        result.append((all_negative, sum(w for _, w, _ in group), total(flipped, S.Zero, ctx)))
    return result


def multiply(factors: Sequence[Expr], ctx: Lowering) -> Labelled:
    """A product of factors, element by element."""
    number: Expr = S.One
    above: list[Factor] = []
    below: list[Factor] = []
    masks: list[Labelled] = []
    for whole in factors:
        if ctx.is_scalar(whole):
            number *= plain_sizes(whole)
            continue
        part, factor = content(whole)
        number *= part
        if isinstance(factor, sympy.Pow) and is_divisor(factor.exp):
            base = factor.base if factor.exp is S.NegativeOne else factor.base ** (-factor.exp)
            below.append((ctx.weight(base), ctx.lower(base)))
        else:
            value = ctx.lower(factor)
            (masks.append(value) if value.node.kind == "boolean" else above.append((ctx.weight(factor), value)))
    result = quotient(above, below, number, ctx)
    if not masks:
        return result
    mask = reduce(lambda a, b: ctx.combine("and", a, b), masks)
    if not above and not below and number is S.One:
        return mask
    return ctx.combine("where", mask, result, Labelled(ctx.graph.scalar(0)))


def is_divisor(exponent: Expr) -> bool:
    """Whether a power of this exponent divides; an inverse square root is a function of its own.

    A difference of indices or entries, ``a**(t - s)``, has no sign that one could see.
    """
    if exponent.is_Add and exponent.has(nodes.Index, nodes.Access):
        return all(t.could_extract_minus_sign() for t in exponent.args)
    return bool(exponent.could_extract_minus_sign()) and not (exponent.is_Rational and exponent.q == 2)


def quotient(above: list[Factor], below: list[Factor], number: Expr, ctx: Lowering) -> Labelled:
    """``number * product(above) / product(below)`` of (weight, value); the number goes where there is least."""
    one = Labelled(ctx.graph.scalar(1))
    if not above and not below:
        return Labelled(ctx.graph.scalar(number))
    negative = bool(number.as_coeff_Mul()[0].is_negative)
    number = -number if negative else number
    if not above:
        top, number = Labelled(ctx.graph.scalar(number)), S.One
    else:
        parts = _folded(above, ctx)
        most = max(len(p.axes) for p in parts)
        if number is not S.One and len(parts[-1].axes) < most:
            parts[-1], number = divided(parts[-1], number, ctx), S.One
        top = reduce(lambda a, b: ctx.combine("mul", a, b), parts)
    if below:
        bottom = reduce(lambda a, b: ctx.combine("mul", a, b), _folded(below, ctx))
        top = ctx.combine("div", top, bottom) if top is not one else ctx.combine("div", one, bottom)
    top = divided(top, number, ctx)
    return ctx.combine("neg", top) if negative else top


def _folded(parts: list[Factor], ctx: Lowering) -> list[Labelled]:
    """The factors, large ones first; those with fewer axes are multiplied among themselves where axes agree."""
    most = max(len(v.axes) for _, v in parts)
    groups: dict[object, list[Factor]] = {}
    for n, part in enumerate(parts):
        groups.setdefault(frozenset(part[1].axes) if len(part[1].axes) < most else n, []).append(part)
    folded = []
    for group in groups.values():
        group.sort(key=_rank)
        value = reduce(lambda a, b: ctx.combine("mul", a, b), (v for _, v in group))
        folded.append((sum(w for w, _ in group), value))
    folded.sort(key=lambda f: (-len(f[1].axes), *_rank(f)))
    return [value for _, value in folded]


def _rank(part: Factor) -> tuple[int, str]:
    """Short factors first, tensors by name, whatever its case: ``dP * P``."""
    weight, value = part
    return weight, value.node.name.casefold() if isinstance(value.node, plan.Ref) else ""


def condition(e: Expr, ctx: Lowering) -> Labelled:
    """The truth value of an expression: anything but 0 is true."""
    value = ctx.lower(e)
    if isinstance(value.node, plan.Scalar):
        return ctx.combine("ne", value, Labelled(ctx.graph.scalar(0)))
    return Labelled(ctx.graph.condition(value.node), value.axes)
