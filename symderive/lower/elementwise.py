"""Element-wise expressions: sums and products of terms, powers, functions, conditions, branches."""

from __future__ import annotations

from functools import reduce

import sympy
from sympy import Expr, Rational, S

from symderive.algebra import nodes
from symderive.lower import normalise, scatter
from symderive.lower.arithmetic import add_terms, condition, content, is_divisor, multiply
from symderive.lower.axes import Labelled
from symderive.lower.context import Lowering, lower_node
from symderive.lower.delta import has_delta, split_terms

_NAMES = ("exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "erf", "erfc", "floor")
_FUNCTIONS = {sympy.Abs: "abs", sympy.sign: "sign"} | {getattr(sympy, name): name for name in _NAMES}
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
    number, inner = content(e)
    if number is not S.One:
        return multiply((number, inner), ctx)
    dense, deltas = split_terms(e.args, ctx)
    if deltas:
        return scatter.add_onto(dense, deltas, ctx)
    return add_terms(e.args, ctx)


# --- products and powers


@lower_node.register
def lower_mul(e: sympy.Mul, ctx: Lowering) -> Labelled:
    """``a * b / c``: conditions become a mask, sizes and constants one number."""
    if has_delta(e, ctx):
        return scatter.lower_product(e.args, (), ctx)
    return multiply(e.args, ctx)


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
    if is_divisor(exponent):
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
):
    lower_node.register(_node)(_named(_name))


# --- conditions and branches


@lower_node.register
def lower_eq(e: nodes.Eq, ctx: Lowering) -> Labelled:
    """``a == b``."""
    return _compared("eq", e, ctx)


def _compared(name: str, e: Expr, ctx: Lowering) -> Labelled:
    """Both sides, what is read from tensors first, numbers last, so that it comes out the same whatever its names."""
    places = {index: n for n, index in enumerate(ctx.hint)}

    def rank(side: Expr) -> tuple[bool, bool, int]:
        first = min((places.get(i, len(places)) for i in ctx.free(side)), default=len(places))
        return not ctx.free(side), not side.has(nodes.Access), first

    return ctx.combine(name, *(ctx.lower(a) for a in sorted(e.args, key=rank)))


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
        return _compared("ne", inner, ctx)
    return ctx.combine("not", condition(inner, ctx))


@lower_node.register
def lower_where(e: nodes.Where, ctx: Lowering) -> Labelled:
    """``where(c, a, b)``; a masked softmax is one, with 0 where the condition fails."""
    test, a, b = e.args
    a = normalise.under_mask(test, a, b)
    if b is S.Zero:
        if a is S.One:
            return condition(test, ctx)
        if has_delta(e, ctx):
            return scatter.lower_product((e,), (), ctx)
    if isinstance(test, nodes.Not) and not isinstance(test.args[0], nodes.Eq):
        test, a, b = test.args[0], b, a
    return ctx.combine("where", condition(test, ctx), ctx.lower(a), ctx.lower(b))
