"""Claims made wrong on purpose, in every way of the kinds of diagnosis."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

from symderive.claims.trees import binders_above, get, number, places, put, sum_of, tensor_of, terms_of, times
from symderive.spec import syntax


def mutants(spec, statement):
    """Pairs of a kind and a statement with that mistake in it."""
    for make in (factor, sign, transpose, missing_term, extra_term, sums, means, upstream, index, operand, shape):
        for kind, node in make(spec, statement):
            if node != statement.right:
                yield kind, replace(statement, sides=(node,))


def factor(spec, statement):
    for value in (Fraction(2), Fraction(1, 2), Fraction(1001, 1000)):
        yield "factor", times(number(value), statement.right)
    for place, terms in _sums(statement.right):
        for n in range(len(terms)):
            changed = [(s, times(number(2), t)) if m == n else (s, t) for m, (s, t) in enumerate(terms)]
            yield "factor", put(statement.right, place, sum_of(changed))


def sign(spec, statement):
    yield "sign", syntax.Unary("-", statement.right)
    for place, terms in _sums(statement.right):
        for n in range(len(terms)):
            changed = [(-s if m == n else s, t) for m, (s, t) in enumerate(terms)]
            yield "sign", put(statement.right, place, sum_of(changed))


def transpose(spec, statement):
    right = statement.right
    for place, node in places(right):
        if isinstance(node, syntax.Access) and len(node.indices) == 2 and not isinstance(node.indices[0], syntax.Batch):
            yield "transpose", put(right, place, replace(node, indices=node.indices[::-1]))
        elif isinstance(node, syntax.Attribute) and node.name == "T":
            yield "transpose", put(right, place, node.value)
        elif isinstance(node, syntax.Binary) and node.op == "@":
            yield "transpose", put(right, place, replace(node, left=node.right, right=node.left))


def missing_term(spec, statement):
    for place, terms in _sums(statement.right):
        for n in range(len(terms)):
            yield "missing_term", put(statement.right, place, sum_of([t for m, t in enumerate(terms) if m != n]))


def extra_term(spec, statement):
    if isinstance(statement.left, syntax.Access):
        tensor = syntax.Access(statement.left.tensor[1:], statement.left.indices)
    else:
        tensor = syntax.Name(statement.left.id[1:])
    yield "extra_term", syntax.Binary("+", statement.right, tensor)


def sums(spec, statement):
    right = statement.right
    for place, node in places(right):
        if isinstance(node, syntax.Binder) and node.op == "sum" and node.condition is None:
            yield "missing_sum", put(right, place, node.body)
        elif isinstance(node, syntax.Method) and node.name == "sum":
            yield "missing_sum", put(right, place, node.value)
    if isinstance(statement.left, syntax.Name):
        yield "extra_sum", syntax.Method(right, "sum", (number(0),))


def means(spec, statement):
    right = statement.right
    for place, node in places(right):
        if isinstance(node, syntax.Binder) and node.op in ("sum", "mean") and node.condition is None:
            yield "mean_vs_sum", put(right, place, replace(node, op="mean" if node.op == "sum" else "sum"))
        elif isinstance(node, syntax.Method) and node.name in ("sum", "mean"):
            yield "mean_vs_sum", put(right, place, replace(node, name="mean" if node.name == "sum" else "sum"))


def upstream(spec, statement):
    right = statement.right
    for place, node in places(right):
        if tensor_of(node) in {f"d{n}" for n in spec.outputs} and spec.shapes[tensor_of(node)[1:]]:
            yield "missing_upstream", put(right, place, number(1))


def index(spec, statement):
    right = statement.right
    free = [i.id for i in statement.left.indices if isinstance(i, syntax.Name)] if isinstance(
        statement.left, syntax.Access) else []  # fmt: skip
    for place, node in places(right):
        if place and isinstance(node, syntax.Name) and isinstance(get(right, place[:-1]), syntax.Access):
            for other in [*free, *binders_above(right, place)]:
                if other not in (node.id, syntax.BATCH):
                    yield "wrong_index", put(right, place, syntax.Name(other))


def operand(spec, statement):
    right = statement.right
    real = {i.name for i in spec.inputs if i.is_real} | {e.tensor for e in spec.equations}
    shapes = {n: s for n, s in spec.shapes.items() if n in real}
    shapes |= {f"d{n}": s for n, s in shapes.items()}
    left = tensor_of(statement.left)
    for place, node in places(right):
        name = tensor_of(node)
        if name not in shapes:
            continue
        for other, shape in shapes.items():
            if other not in (name, left) and shape == shapes[name] and shape:
                new = replace(node, tensor=other) if isinstance(node, syntax.Access) else syntax.Name(other)
                yield "wrong_operand", put(right, place, new)


def shape(spec, statement):
    right = statement.right
    for place, node in places(right):
        if isinstance(node, syntax.Method) and node.keywords:
            yield "shape", put(right, place, replace(node, keywords=()))


def _sums(node):
    for place, inner in places(node):
        if isinstance(inner, syntax.Binary) and inner.op in ("+", "-"):
            above = get(node, place[:-1]) if place else None
            if not (isinstance(above, syntax.Binary) and above.op in ("+", "-")):
                inside = any(n == "indices" for n, _ in place)
                if not inside:
                    yield place, terms_of(inner)


def sampled(items, most, rng):
    """At most so many of the items, of every kind some."""
    items = list(items)
    kinds = sorted({k for k, _ in items})
    by_kind = {k: [i for i in items if i[0] == k] for k in kinds}
    for chosen in by_kind.values():
        rng.shuffle(chosen)
    rounds = itertools.zip_longest(*by_kind.values())
    return [i for r in rounds for i in r if i is not None][:most]
