"""Claims made wrong on purpose, in every way of the kinds of diagnosis."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

from symderive.claims.lines import names_in
from symderive.claims.trees import (
    binders_above,
    factors_of,
    get,
    number,
    places,
    product_of,
    put,
    rename,
    sum_of,
    tensor_of,
    terms_of,
    times,
)
from symderive.spec import syntax
from tests.claims.rewritings import ranged


def mutants(spec, statement, others=()):
    """Pairs of a kind and a statement with that mistake in it; ``others`` are gradients that it may be taken for."""
    seen = {statement.right}
    for make in MAKERS:
        for kind, node in make(spec, statement):
            if node not in seen:
                seen.add(node)
                yield kind, replace(statement, sides=(node,))
    for other in others:
        if (node := _taken_for(spec, statement, other)) is not None and node not in seen:
            seen.add(node)
            yield "other_variable", replace(statement, sides=(node,))


def pairs(spec, statement, rng):
    """Random statements with two mistakes of different kinds in them, and the kinds, without end."""
    singles = [m for m in mutants(spec, statement) if m[0] not in WHOLE]
    while kinds := sorted({k for k, _ in singles}):
        first, once = _of_kind(singles, rng.choice(kinds), rng)
        more = [m for m in mutants(spec, once) if m[0] not in (first, *WHOLE)]
        if more:
            second, twice = _of_kind(more, rng.choice(sorted({k for k, _ in more})), rng)
            yield {first, second}, twice


def _of_kind(made, kind, rng):
    return rng.choice([m for m in made if m[0] == kind])


WHOLE = ("missing_cross_terms",)
"""Mistakes that leave nothing of the claim to make another in."""


def factor(spec, statement):
    for value in (Fraction(2), Fraction(1, 2), Fraction(1001, 1000), 1 + Fraction(1, 10**8)):
        yield "factor", times(number(value), statement.right)
    for place, terms in _sums(statement.right):
        for n in range(len(terms)):
            changed = [(s, times(number(2), t)) if m == n else (s, t) for m, (s, t) in enumerate(terms)]
            yield "factor", put(statement.right, place, sum_of(changed))


def forgotten(spec, statement):
    """A factor of a product left out: an inner derivative, a division, or the gradient from which a chain starts."""
    right, left = statement.right, tensor_of(statement.left)
    known = {*spec.shapes, *(f"d{n}" for n in spec.shapes)} - {f"d{n}" for n in spec.outputs}
    whole = {n for name, shape in spec.shapes.items() if shape == spec.shapes[left[1:]] for n in (name, f"d{name}")}
    for place, node in places(right):
        above = get(right, place[:-1]) if place else None
        nested = _is_product(above) and place[-1][0] == "left"
        if not _is_product(node) or nested or any(n in ("indices", "condition", "keywords") for n, _ in place):
            continue
        factors = factors_of(node)
        for n, (_, gone) in enumerate(factors):
            rest = put(right, place, product_of(factors[:n] + factors[n + 1 :]))
            binders = (b for b in rest.walk() if isinstance(b, syntax.Binder))
            if names_in(gone) & known and names_in(rest) & whole and all(map(ranged, binders)):
                yield "factor", rest


def _is_product(node):
    return isinstance(node, syntax.Binary) and node.op in ("*", "/")


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
        elif isinstance(node, syntax.Attribute) and node.name in ("T", "mT"):
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
    if isinstance(statement.left, syntax.Name) and spec.shapes[statement.left.id[1:]]:
        yield "extra_sum", syntax.Method(right, "sum", (number(0),))
    for index in _free(statement):
        over = syntax.Binder("sum", (f"{index}_1",), None, rename(right, {index: f"{index}_1"}))
        if index != syntax.BATCH and ranged(over):
            yield "extra_sum", over


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
        name = tensor_of(node)
        if name in {f"d{n}" for n in spec.outputs} and spec.shapes[name[1:]] and not _padded(right, place):
            yield "missing_upstream", put(right, place, number(1))


def cross_terms(spec, statement):
    """The diagonal of the Jacobian alone."""
    name = tensor_of(statement.left)[1:]
    for output in spec.outputs:
        same = spec.shapes[output] == spec.shapes[name] and len(spec.outputs) == 1
        if same and output != name and isinstance(statement.left, syntax.Access):
            at = statement.left.indices
            y, x = syntax.Access(output, at), syntax.Access(name, at)
            diagonal = syntax.Call("D", (y, x))
            yield "missing_cross_terms", syntax.Binary("*", syntax.Access(f"d{output}", at), diagonal)


def index(spec, statement):
    right = statement.right
    free = _free(statement)
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


MAKERS = (
    factor, forgotten, sign, transpose, missing_term, extra_term, sums, means, upstream, cross_terms, index, operand,
    shape,
)  # fmt: skip


def _taken_for(spec, statement, other):
    """The right side of the gradient of another tensor, in the indices of this one."""
    name, taken = tensor_of(statement.left)[1:], tensor_of(other.left)[1:]
    if name == taken or spec.shapes[name] != spec.shapes.get(taken):
        return None
    if isinstance(statement.left, syntax.Name) or isinstance(other.left, syntax.Name):
        return other.right if type(statement.left) is type(other.left) else None
    pairs = zip(other.left.indices, statement.left.indices, strict=True)
    names = {a.id: b.id for a, b in pairs if isinstance(a, syntax.Name) and isinstance(b, syntax.Name)}
    bound = {i for n in other.right.walk() if isinstance(n, syntax.Binder) for i in n.indices}
    return None if bound & set(names.values()) - set(names) else rename(other.right, names)


def _free(statement):
    left = statement.left
    return [i.id for i in left.indices if isinstance(i, syntax.Name)] if isinstance(left, syntax.Access) else []


def _padded(root, place):
    above = get(root, place[:-1]) if place else None
    return isinstance(above, syntax.Call) and above.function == "pad"


def _sums(node):
    for place, inner in places(node):
        if isinstance(inner, syntax.Binary) and inner.op in ("+", "-"):
            above = get(node, place[:-1]) if place else None
            if not (isinstance(above, syntax.Binary) and above.op in ("+", "-")):
                inside = any(n in ("indices", "condition", "keywords") for n, _ in place)
                if not inside and not _of_a_comparison(node, place):
                    yield place, terms_of(inner)


def _of_a_comparison(root, place):
    """Whether a place is inside of a comparison: what is changed there is another kind of mistake."""
    above = (get(root, place[:n]) for n in range(len(place)))
    return any(isinstance(a, syntax.Compare) or (isinstance(a, syntax.Call) and a.function == "delta") for a in above)


def sampled(items, most, rng):
    """At most so many of the items, of every kind some."""
    items = list(items)
    kinds = sorted({k for k, _ in items})
    by_kind = {k: [i for i in items if i[0] == k] for k in kinds}
    for chosen in by_kind.values():
        rng.shuffle(chosen)
    rounds = itertools.zip_longest(*by_kind.values())
    return [i for r in rounds for i in r if i is not None][:most]
