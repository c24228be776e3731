"""Sums of products: which factors are multiplied first, and as which array operation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import reduce
from string import ascii_lowercase

import sympy
from sympy import Expr, Mul, S

from symderive.algebra import nodes
from symderive.algebra.nodes import Index
from symderive.algebra.terms import substitute
from symderive.lower import conv, groups, matrices, plan, scatter
from symderive.lower.arithmetic import Term, condition, multiply, quotient, total
from symderive.lower.axes import Labelled, batch_first, shape_of, without
from symderive.lower.context import Lowering
from symderive.lower.delta import has_delta, is_integral, is_target
from symderive.lower.integers import in_range, same
from symderive.lower.mean import divided
from symderive.lower.order import pair_order
from symderive.lower.plan import BATCH_SIZE, ROWS
from symderive.lower.product import Product, bare
from symderive.lower.scan import reduce_axes, running, running_condition


def sum_of(body: Expr, bound: Sequence[Index], ctx: Lowering) -> Labelled:
    """``sum[bound](body)``."""
    if isinstance(body, sympy.Add) and _worth_splitting(body, bound, ctx):
        return _sum_of_terms(body.args, bound, ctx)
    product = Product(list(bound))
    product.add(body, ctx)
    return sum_of_product(product, ctx)


def sum_of_product(product: Product, ctx: Lowering) -> Labelled:
    """The sum of a product: what does not depend on the summed indices is pulled out in front."""
    for n, factor in enumerate(product.factors):
        if isinstance(factor, sympy.Add) and (
            any(has_delta(t, ctx, product.bound) for t in factor.args) or _too_large(factor, product, ctx)
        ):
            others = [f for m, f in enumerate(product.factors) if m != n]
            rest = Mul(product.number, *others, evaluate=False) if others else product.number
            terms = [nodes.Where(nodes.And(*product.masks), t * rest, S.Zero) for t in factor.args]
            return _sum_of_terms(terms, product.bound, ctx)
    if (solved := _solved(product, ctx)) is not None:
        return sum_of_product(solved, ctx)
    if any(is_target(m, product.bound, ctx) for m in product.masks):
        return scatter.scattered(product, ctx)
    if (by_group := groups.summed(product, ctx)) is not None:
        return by_group
    return plain_sum(product, ctx)


def _solved(product: Product, ctx: Lowering) -> Product | None:
    """A delta ``Eq(k, e)`` with k summed and e free of it picks the term at e."""
    for n, mask in enumerate(product.masks):
        if not isinstance(mask, nodes.Eq):
            continue
        for k, place in (mask.args, mask.args[::-1]):
            if not isinstance(k, Index) or k not in product.bound or k.is_batch or k in ctx.free(place):
                continue
            if not is_integral(place, ctx) or (isinstance(place, Index) and not same(place.extent, k.extent)):
                continue
            masks = [m for i, m in enumerate(product.masks) if i != n]
            guards: list[Expr] = []
            if not in_range(place, k.extent, ctx.ranges):
                guards = [nodes.Le(S.Zero, place), nodes.Le(place, k.extent - 1)]
                place = nodes.Clamp(place, S.Zero, k.extent - 1)  # noqa: PLW2901
            change = {k: place}
            return Product(
                [i for i in product.bound if i != k],
                product.number,
                [substitute(f, change) for f in product.factors],
                [*(substitute(m, change) for m in masks), *guards],
            )
    return None


def plain_sum(product: Product, ctx: Lowering) -> Labelled:
    """The sum of a product in which every condition is a mask."""
    if (known := matrices.solved(product, ctx)) is not None:
        return plain_sum(known, ctx)
    bound = set(product.bound)
    masks = [m for m in product.masks if ctx.free(m) & bound]
    guards = [m for m in product.masks if not ctx.free(m) & bound]
    factors = [bare(f, guards) for f in product.factors]
    inside = [f for f in factors if ctx.free(f) & bound]
    outside = [f for f in factors if not ctx.free(f) & bound]
    used = frozenset().union(*(ctx.free(e) for e in (*inside, *masks)))
    number = product.number * Mul(*(i.extent for i in product.bound if i not in used))
    summed = [i for i in product.bound if i in used]
    if summed:
        core, number = _core(inside, masks, summed, number, ctx)
        parts = [(1, core)]
    else:
        parts = []
    above = [f for f in outside if not _is_reciprocal(f)]
    below = [f.base ** (-f.exp) for f in outside if _is_reciprocal(f)]  # type: ignore[attr-defined]
    parts += [(ctx.weight(f), ctx.lower(f)) for f in above]
    bottom = [(ctx.weight(f), ctx.lower(f)) for f in below]
    result = quotient(parts, bottom, number, ctx) if parts else multiply((number, *outside), ctx)
    if not guards:
        return result
    guard = reduce(lambda a, b: ctx.combine("and", a, b), (condition(g, ctx) for g in guards))
    return ctx.combine("where", guard, result, Labelled(ctx.graph.scalar(0)))


def _is_reciprocal(e: Expr) -> bool:
    return isinstance(e, sympy.Pow) and e.exp.is_Integer and bool(e.exp.is_negative)


def _core(
    factors: list[Expr], masks: list[Expr], bound: list[Index], number: Expr, ctx: Lowering
) -> tuple[Labelled, Expr]:
    """The sum of factors and masks that all depend on ``bound``, and what is left of the number to multiply with."""
    found = running_condition(masks[0], bound[0]) if len(masks) == 1 and len(bound) == 1 else None
    terms = [bare(f, masks) for f in factors]
    if found is not None and factors and all(found[0] not in ctx.free(f) for f in terms):
        value = _product(terms, ctx)
        if bound[0] in value.axes:
            return running("sum", value, bound[0], found, ctx), number
    if (known := conv.recognised(factors, masks, bound, ctx)) is not None:
        return known, number
    values = _groups(factors, masks, ctx)
    number *= Mul(*(i.extent for i in bound if all(i not in v.axes for v in values)))
    free = frozenset(i for v in values for i in v.axes if i not in bound)
    if number is not S.One:
        values, number = _scaled(values, free, number, ctx)
    return contract(values, free, ctx), number


def _product(factors: Iterable[Expr], ctx: Lowering) -> Labelled:
    return multiply(list(factors), ctx)


def _scaled(values: list[Labelled], free: frozenset[Index], number: Expr, ctx: Lowering) -> tuple[list[Labelled], Expr]:
    """A number is multiplied onto the smallest operand where that is smaller than the result."""
    if number.as_coeff_Mul()[0].is_negative:
        values, number = _scaled(values, free, -number, ctx)
        return values, -number
    smallest = min(range(len(values)), key=lambda n: ctx.bulk(values[n].axes))
    if number is S.One or len(values) == 1 or ctx.bulk(values[smallest].axes) >= ctx.bulk(free):
        return values, number
    scaled = divided(values[smallest], number, ctx)
    return [scaled if n == smallest else v for n, v in enumerate(values)], S.One


# --- factors


def _groups(factors: list[Expr], masks: list[Expr], ctx: Lowering) -> list[Labelled]:
    """Operands: factors over the same indices are one, a divisor and a mask go to an operand that has their indices."""
    groups: dict[frozenset[Index], list[Expr]] = {}
    for factor in sorted(factors, key=_is_reciprocal):
        home = _home(ctx.free(factor), groups, ctx) if _is_reciprocal(factor) else None
        groups.setdefault(ctx.free(factor) if home is None else home, []).append(factor)
    by_axes: dict[frozenset[Index], list[Expr]] = {}
    for mask in masks:
        by_axes.setdefault(ctx.free(mask), []).append(mask)
    tests: dict[frozenset[Index], list[Expr]] = {}
    for axes, some in sorted(by_axes.items(), key=lambda m: -len(m[0])):
        for home in _masked_groups(axes, groups, ctx):
            tests.setdefault(home, []).extend(some)
    return [_operand(groups[axes], tests.get(axes, []), ctx) for axes in groups]


def _masked_groups(
    axes: frozenset[Index], groups: dict[frozenset[Index], list[Expr]], ctx: Lowering
) -> list[frozenset[Index]]:
    """The groups that a mask over ``axes`` is applied to: those that have its axes, or one made of smaller ones.

    Of groups that are tensors as they stand, which are taken to be finite, one is enough.
    """
    homes = [a for a in groups if axes <= a]
    computed = [a for a in homes if not all(isinstance(f, nodes.Access) for f in groups[a])]
    if computed or homes:
        return computed or [min(homes, key=ctx.bulk)]
    smaller = [a for a in groups if a <= axes]
    groups[axes] = [f for a in smaller for f in groups.pop(a)]
    return [axes]


def _operand(factors: list[Expr], masks: list[Expr], ctx: Lowering) -> Labelled:
    """The product of factors where all masks hold, else 0."""
    value = _product([bare(f, masks) for f in factors], ctx)
    if not masks:
        return value
    test = reduce(lambda a, b: ctx.combine("and", a, b), (condition(m, ctx) for m in masks))
    if not factors:
        return Labelled(ctx.graph.cast(test.node, "real"), test.axes)
    return ctx.combine("where", test, value, Labelled(ctx.graph.scalar(0)))


def _home(axes: frozenset[Index], groups: Collection[frozenset[Index]], ctx: Lowering) -> frozenset[Index] | None:
    return min((g for g in groups if axes <= g), key=ctx.bulk, default=None)


# --- sums of sums


def _worth_splitting(body: sympy.Add, bound: Sequence[Index], ctx: Lowering) -> bool:
    """Whether the terms are summed apart: where together they would be larger than any tensor of the program."""
    return ctx.bulk(ctx.free(body)) > max(ctx.limit, ctx.bulk(ctx.free(body) - set(bound)))


def _too_large(factor: sympy.Add, product: Product, ctx: Lowering) -> bool:
    whole = ctx.free(factor)
    if not whole & set(product.bound) or ctx.bulk(whole) <= ctx.limit:
        return False
    free = frozenset().union(*(ctx.free(f) for f in product.factors)) - set(product.bound)
    return ctx.bulk(whole) > ctx.bulk(free) and all(ctx.free(t) != whole for t in factor.args)


def _sum_of_terms(terms: Sequence[Expr], bound: Sequence[Index], ctx: Lowering) -> Labelled:
    signed: list[Term] = []
    number: Expr = S.Zero
    for term in terms:
        negative = bool(term.as_coeff_Mul()[0].is_negative)
        value = sum_of(-term if negative else term, bound, ctx)
        if isinstance(value.node, plan.Scalar):
            number += -value.node.value if negative else value.node.value
        else:
            signed.append((negative, ctx.weight(term), value))
    return total(signed, number, ctx)


# --- products of arrays


def contract(values: Sequence[Labelled], output: frozenset[Index], ctx: Lowering) -> Labelled:
    """The product of ``values``, summed over every index that is not in ``output``."""
    if len(values) == 1:
        return reduce_axes("sum", values[0], without(values[0].axes, output), ctx)
    live: dict[int, Labelled] = dict(enumerate(values))
    place = len(values)
    for a, b in pair_order([frozenset(v.axes) for v in values], output, ctx.extent):
        left, right = live.pop(a), live.pop(b)
        kept = output.union(*(v.axes for v in live.values()))
        live[place] = multiply_pair(left, right, kept, ctx)
        place += 1
    return next(iter(live.values()))


def multiply_pair(a: Labelled, b: Labelled, kept: frozenset[Index], ctx: Lowering) -> Labelled:
    """``a * b``, summed over what is not ``kept``: element by element, a dot, a matrix product, or an einsum."""
    a = reduce_axes("sum", a, tuple(i for i in a.axes if i not in kept and i not in b.axes), ctx)
    b = reduce_axes("sum", b, tuple(i for i in b.axes if i not in kept and i not in a.axes), ctx)
    gone = [i for i in a.axes if i in b.axes and i not in kept]
    if not gone:
        a, b = (a, b) if len(a.axes) >= len(b.axes) else (b, a)
        return ctx.combine("mul", a, b)
    a, b = (Labelled(ctx.graph.cast(v.node, "real"), v.axes) for v in (a, b))
    free_a, free_b = without(a.axes, b.axes), without(b.axes, a.axes)
    if not free_a or not free_b:
        return _matrix_vector(a, b, gone, ctx) if free_a or not free_b else _matrix_vector(b, a, gone, ctx)
    a, b, gone = _one_row_axis(a, b, gone, ctx)
    if len(gone) > 1:
        a, b, gone = _merged(a, b, gone, ctx)
    if len(gone) == 1 and (product := _matmul(a, b, gone[0], ctx)) is not None:
        return product
    return _einsum(a, b, gone, ctx)


def _matrix_vector(a: Labelled, v: Labelled, gone: list[Index], ctx: Lowering) -> Labelled:
    """``a`` has every axis of ``v``: ``a @ v`` for a vector, else an element-wise product that is summed."""
    if len(v.axes) == 1 and not v.axes[0].is_batch:
        (k,) = gone
        if len(a.axes) == 2 and a.axes[0] == k:
            return Labelled(ctx.graph.intern(plan.MatMul(v.node, a.node)), a.axes[1:])
        rest = without(a.axes, gone)
        node = _ordered(a, (*rest, k), ctx)
        return Labelled(ctx.graph.intern(plan.MatMul(node, v.node)), rest)
    return reduce_axes("sum", ctx.combine("mul", a, v), tuple(gone), ctx)


def _ordered(value: Labelled, axes: Sequence[Index], ctx: Lowering) -> plan.Node:
    return ctx.graph.permute(value.node, [value.position(i) for i in axes if not i.is_batch])


def _one_row_axis(a: Labelled, b: Labelled, gone: list[Index], ctx: Lowering) -> tuple[Labelled, Labelled, list[Index]]:
    """Where the batch is summed over, all batch axes become one."""
    if not gone[0].is_batch:
        return a, b, gone
    rows = Index("~", ROWS, 0).fresh()

    def flat(v: Labelled) -> Labelled:
        shape = (ROWS, *v.node.shape[1:])
        return Labelled(ctx.graph.reshape(v.node, shape), (rows, *v.axes[1:]))

    return flat(a), flat(b), [rows, *gone[1:]]


def _merged(a: Labelled, b: Labelled, gone: list[Index], ctx: Lowering) -> tuple[Labelled, Labelled, list[Index]]:
    """Several summed axes that stand side by side in both operands, in one order, become one axis."""

    def stand_together(v: Labelled) -> bool:
        first = v.axes.index(gone[0])
        return v.axes[first : first + len(gone)] == tuple(gone)

    if not (stand_together(a) and stand_together(b)):
        return a, b, gone
    joined = Index("~", Mul(*(BATCH_SIZE if i.extent == ROWS else i.extent for i in gone))).fresh()

    def flat(v: Labelled) -> Labelled:
        first = v.axes.index(gone[0])
        axes = (*v.axes[:first], joined, *v.axes[first + len(gone) :])
        return Labelled(ctx.graph.reshape(v.node, shape_of(axes)), axes)

    return flat(a), flat(b), [joined]


def _matmul(a: Labelled, b: Labelled, k: Index, ctx: Lowering) -> Labelled | None:
    """``a @ b`` over k: shared axes in front, then the left operand's own, k, and the right operand's only one."""
    stack = tuple(i for i in a.axes if i in b.axes and i != k)
    left, right = _sides(a, b, k, ctx)
    own_left, own_right = without(left.axes, right.axes), without(right.axes, left.axes)
    rows = own_left[0].is_batch
    if len(own_right) != 1 or own_right[0].is_batch or (stack and len(own_left) - rows != 1):
        return None
    front = own_left[:1] if rows else ()
    middle = own_left[len(front) :]
    node = ctx.graph.intern(
        plan.MatMul(
            _ordered(left, (*front, *stack, *middle, k), ctx),
            _ordered(right, (*stack, k, *own_right), ctx),
        )
    )
    return Labelled(node, (*front, *stack, *middle, *own_right))


def _sides(a: Labelled, b: Labelled, k: Index, ctx: Lowering) -> tuple[Labelled, Labelled]:
    """Which operand stands on the left: the one with more own axes, else the one whose axis the result has first.

    Where the result has not both, one of them is summed later, and what counts is that nothing is transposed.
    """
    own_a, own_b = without(a.axes, b.axes), without(b.axes, a.axes)
    if len(own_a) != len(own_b):
        return (a, b) if len(own_a) > len(own_b) else (b, a)
    if own_a[0].is_batch or own_b[0].is_batch:
        return (a, b) if own_a[0].is_batch else (b, a)
    places = {index: n for n, index in enumerate(ctx.hint)}
    if own_a[0] in places and own_b[0] in places:
        return (a, b) if places[own_a[0]] < places[own_b[0]] else (b, a)
    return (a, b) if (a.axes[-1] == k) >= (b.axes[-1] == k) else (b, a)


def _einsum(a: Labelled, b: Labelled, gone: list[Index], ctx: Lowering) -> Labelled:
    """Any other product of two arrays."""
    places = {index: n for n, index in enumerate(ctx.hint)}
    kept = [i for i in dict.fromkeys((*a.axes, *b.axes)) if i not in gone]
    axes = batch_first(sorted(kept, key=lambda i: places.get(i, len(places))))
    letters = _letters(dict.fromkeys((*axes, *a.axes, *b.axes)))
    terms = ["".join(letters[i] for i in part) for part in (a.axes, b.axes, axes)]
    node = plan.Einsum(f"{terms[0]},{terms[1]}->{terms[2]}", (a.node, b.node))
    return Labelled(ctx.graph.intern(node), axes)


def _letters(indices: Iterable[Index]) -> dict[Index, str]:
    """A letter for each index: that of its name where it has one that is still free."""
    letters: dict[Index, str] = {}
    indices = list(indices)
    for index in indices:
        if index.is_batch:
            letters[index] = "..."
        elif index.name[0] in ascii_lowercase and index.name[0] not in letters.values():
            letters[index] = index.name[0]
    spare = (c for c in ascii_lowercase if c not in letters.values())
    for index in indices:
        if index not in letters:
            letters[index] = next(spare)
    return letters
