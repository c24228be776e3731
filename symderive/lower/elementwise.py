"""Element-wise expressions: sums and products of terms, powers, functions, conditions, branches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import sympy
from sympy import Expr, Rational, S

from symderive.algebra import nodes
from symderive.lower import delta, normalise, plan
from symderive.lower.axes import Labelled
from symderive.lower.context import Lowering, lower_node, plain_sizes
from symderive.lower.mean import divided

_FUNCTIONS = {sympy.Abs: "abs", sympy.sign: "sign"} | {
    getattr(sympy, name): name
    for name in "exp log sin cos tan asin acos atan sinh cosh tanh erf erfc floor".split()
}
"""SymPy's functions by their names in the table of functions."""


@lower_node.register
def lower_index(e: nodes.Index, ctx: Lowering) -> Labelled:
    """``i`` as a number: 0, 1, ..."""
    return Labelled(ctx.graph.arange(e.extent), (e,))


@lower_node.register
def lower_stop(e: nodes.Stop, ctx: Lowering) -> Labelled:
    """``stop(x)`` is x."""
    return ctx.lower(e.args[0])


# --- sums of terms


@lower_node.register
def lower_add(e: sympy.Add, ctx: Lowering) -> Labelled:
    """``a + b - c``: terms with a delta are scattered onto the others."""
    if (known := normalise.log_normalised(e, ctx)) is not None:
        return known
    dense, deltas = delta.split_terms(e.args, ctx)
    if deltas:
        return delta.add_onto(dense, deltas, ctx)
    return add_terms(e.args, ctx)


def add_terms(terms: Sequence[Expr], ctx: Lowering) -> Labelled:
    """A sum of terms: small ones among themselves first, positive ones in front."""
    number: Expr = S.Zero
    signed: list[tuple[bool, int, Labelled]] = []
    for term in terms:
        if ctx.is_scalar(term):
            number += plain_sizes(term)
            continue
        negative = term.as_coeff_Mul()[0].is_negative
        signed.append((bool(negative), ctx.weight(term), ctx.lower(-term if negative else term)))
    return total(signed, number, ctx)


def total(signed: list[tuple[bool, int, Labelled]], number: Expr, ctx: Lowering) -> Labelled:
    """The sum of (is negative, weight, value) and a number."""
    if not signed:
        return Labelled(ctx.graph.scalar(number))
    signed = _small_together(signed, ctx)
    signed.sort(key=lambda t: (t[0], -len(t[2].axes), t[1]))
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


def _small_together(signed: list[tuple[bool, int, Labelled]], ctx: Lowering) -> list[tuple[bool, int, Labelled]]:
    most = max(len(v.axes) for _, _, v in signed)
    result = [t for t in signed if len(t[2].axes) == most]
    groups: dict[frozenset, list[tuple[bool, int, Labelled]]] = {}
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


# --- products and powers


@lower_node.register
def lower_mul(e: sympy.Mul, ctx: Lowering) -> Labelled:
    """``a * b / c``: conditions become a mask, sizes and constants one number."""
    if delta.has_delta(e, ctx):
        return delta.lower_product(e.args, (), ctx)
    return multiply(e.args, ctx)


def multiply(factors: Sequence[Expr], ctx: Lowering) -> Labelled:
    """A product of factors, element by element."""
    number: Expr = S.One
    above: list[tuple[int, Labelled]] = []
    below: list[tuple[int, Labelled]] = []
    masks: list[Labelled] = []
    for factor in factors:
        if ctx.is_scalar(factor):
            number *= plain_sizes(factor)
        elif isinstance(factor, sympy.Pow) and _is_divisor(factor.exp):
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


def _is_divisor(exponent: Expr) -> bool:
    return bool(exponent.could_extract_minus_sign()) and not (exponent.is_Rational and exponent.q == 2)


def quotient(
    above: list[tuple[int, Labelled]], below: list[tuple[int, Labelled]], number: Expr, ctx: Lowering
) -> Labelled:
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


def _folded(parts: list[tuple[int, Labelled]], ctx: Lowering) -> list[Labelled]:
    """The factors, large ones first; those with fewer axes are multiplied among themselves where axes agree."""
    most = max(len(v.axes) for _, v in parts)
    groups: dict[object, list[tuple[int, Labelled]]] = {}
    for n, part in enumerate(parts):
        groups.setdefault(frozenset(part[1].axes) if len(part[1].axes) < most else n, []).append(part)
    folded = []
    for group in groups.values():
        group.sort(key=lambda p: p[0])
        value = reduce(lambda a, b: ctx.combine("mul", a, b), (v for _, v in group))
        folded.append((-len(value.axes), sum(w for w, _ in group), value))
    folded.sort(key=lambda f: f[:2])
    return [value for _, _, value in folded]


@lower_node.register
def lower_pow(e: sympy.Pow, ctx: Lowering) -> Labelled:
    """``x**2``, roots, reciprocals, and any other power."""
    base, exponent = e.base, e.exp
    if exponent == 2:
        return ctx.combine("square", ctx.lower(base))
    if exponent is S.Half:
        return ctx.combine("sqrt", ctx.lower(base))
    if exponent == Rational(-1, 2):
        return ctx.combine("rsqrt", ctx.lower(base))
    if _is_divisor(exponent):
        return multiply((e,), ctx)
    return ctx.combine("pow", ctx.lower(base), ctx.lower(exponent))


# --- functions


@lower_node.register
def lower_function(e: sympy.Function, ctx: Lowering) -> Labelled:
    """``exp(x)`` and the like; ``exp(z - logsumexp(z))`` is a softmax."""
    if isinstance(e, sympy.exp) and (known := normalise.normalised(e, ctx)) is not None:
        return known
    if (name := _FUNCTIONS.get(type(e))) is None:
        return lower_node.dispatch(object)(e, ctx)
    return ctx.combine(name, ctx.lower(e.args[0]))


@lower_node.register
def lower_apply(e: nodes.Apply, ctx: Lowering) -> Labelled:
    """A function of the table."""
    values = [ctx.lower(a) for a in e.arguments]
    return ctx.combine(e.function, *values)


def _named(name: str):  # type: ignore[no-untyped-def]  # noqa: ANN202
    def lower_operation(e: Expr, ctx: Lowering) -> Labelled:
        return ctx.combine(name, *(ctx.lower(a) for a in e.args))

    return lower_operation


for _node, _name in (
    (nodes.Maximum, "maximum"),
    (nodes.Minimum, "minimum"),
    (nodes.Clamp, "clamp"),
    (nodes.FloorDiv, "floordiv"),
    (nodes.Mod, "mod"),
    (nodes.Lt, "lt"),
    (nodes.Le, "le"),
    (nodes.Eq, "eq"),
):
    lower_node.register(_node)(_named(_name))


# --- conditions and branches


def condition(e: Expr, ctx: Lowering) -> Labelled:
    """The truth value of an expression: anything but 0 is true."""
    value = ctx.lower(e)
    if isinstance(value.node, plan.Scalar):
        return ctx.combine("ne", value, Labelled(ctx.graph.scalar(0)))
    return Labelled(ctx.graph.condition(value.node), value.axes)


@lower_node.register
def lower_and(e: nodes.And, ctx: Lowering) -> Labelled:
    """All of several conditions, those over few axes first."""
    return _joined("and", e, ctx)


@lower_node.register
def lower_or(e: nodes.Or, ctx: Lowering) -> Labelled:
    """Any of several conditions, those over few axes first."""
    return _joined("or", e, ctx)


def _joined(name: str, e: Expr, ctx: Lowering) -> Labelled:
    values = sorted((condition(a, ctx) for a in e.args), key=lambda v: len(v.axes))
    return reduce(lambda a, b: ctx.combine(name, a, b), values)


@lower_node.register
def lower_not(e: nodes.Not, ctx: Lowering) -> Labelled:
    """A negation; ``not a == b`` is ``a != b``."""
    inner = e.args[0]
    if isinstance(inner, nodes.Eq):
        return ctx.combine("ne", *(ctx.lower(a) for a in inner.args))
    return ctx.combine("not", condition(inner, ctx))


@lower_node.register
def lower_where(e: nodes.Where, ctx: Lowering) -> Labelled:
    """``where(c, a, b)``; a masked softmax is one, with 0 where the condition fails."""
    test, a, b = e.args
    a = normalise.under_mask(test, a, b)
    if b is S.Zero:
        if a is S.One:
            return condition(test, ctx)
        if delta.has_delta(e, ctx):
            return delta.lower_product((e,), (), ctx)
    return ctx.combine("where", condition(test, ctx), ctx.lower(a), ctx.lower(b))
