"""Changes of factors, terms, signs, numbers and brackets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from symderive.claims.desk import Desk
from symderive.claims.edit_tools import (
    Edit,
    at,
    available,
    composites,
    counts,
    deltas,
    doubled,
    heads,
    in_product,
    is_complement,
    is_position,
    is_sum,
    products,
    rank,
)
from symderive.claims.fit import linear
from symderive.claims.lines import names_in
from symderive.claims.parts import as_array, in_scope
from symderive.claims.trees import (
    Place,
    binders_above,
    factors_of,
    get,
    negated,
    number,
    places,
    product_of,
    put,
    sum_of,
    tensor_of,
    terms_of,
    times,
)
from symderive.claims.world import gradient_names
from symderive.spec import syntax
from symderive.spec.functions import FUNCTIONS


def factors_dropped(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """One or two factors too many."""
    for place, inner in products(node):
        factors = factors_of(inner)
        for count in (1, 2):
            for gone in itertools.combinations(range(len(factors)), count):
                rest = [f for n, f in enumerate(factors) if n not in gone]
                out = [factors[n] for n in gone]
                words, new = _superfluous(desk, out), put(node, place, product_of(rest))
                yield Edit("factor", new, words, (place, product_of(out)))
        for n, (_, factor) in enumerate(factors):
            if isinstance(factor, syntax.Name) and (blank := _blank(desk, factor.id)) is not None:
                words = f"The factor {factor.id} is one too many."
                rest = [f for m, f in enumerate(factors) if m != n]
                yield Edit("factor", put(node, place, product_of([*rest, ("*", blank)])), words)


def factors_turned(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """One or two factors upside down."""
    for place, inner in products(node):
        factors = factors_of(inner)
        chosen = itertools.chain(*(itertools.combinations(range(len(factors)), count) for count in (1, 2)))
        for turned in (t for t in chosen if len({factors[n][0] for n in t}) == 1):
            flipped = [(_FLIPPED[op] if n in turned else op, f) for n, (op, f) in enumerate(factors)]
            done = "divided by" if factors[turned[0]][0] == "/" else "multiplied by"
            what = desk.text(product_of([("*", factors[n][1]) for n in turned]))
            words = f"The claim is {done} {what}, and it should be the other way round."
            yield Edit("factor", put(node, place, product_of(flipped)), words)


_FLIPPED = {"*": "/", "/": "*"}


def _blank(desk: Desk, name: str) -> syntax.Node | None:
    """Ones in the shape of a tensor, in array form: what is left of a factor where nothing else has axes."""
    shape = [str(extent) for extent in desk.spec.shapes.get(name, ())]
    if desk.by_index or not shape or not set(shape) <= set(desk.spec.sizes):
        return None
    return syntax.Call("ones", tuple(map(syntax.Name, shape)))


def _superfluous(desk: Desk, factors: Sequence[tuple[str, syntax.Node]]) -> str:
    """That factors are too many: ``p * (1 - p)``, or a division."""
    if all(op == "/" for op, _ in factors):
        return f"The division by {desk.text(product_of([('*', f) for _, f in factors]))} is one too many."
    return f"The factor {desk.text(product_of(factors))} is one too many."


def complements(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A gate for what it leaves over: ``1 - z`` for ``z``; a gradient is none."""
    gradients = gradient_names(desk.spec)
    for place, inner in places(node):
        gate = rank(desk, tensor_of(inner)) >= 0 and tensor_of(inner) not in gradients
        if (gate or is_complement(inner)) and not is_position(node, place):
            new = inner.right if is_complement(inner) else syntax.Binary("-", number(1), inner)
            yield Edit("wrong_operand", put(node, place, new), f"{desk.text(inner)} should be {desk.text(new)}.")


def factors_added(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A factor that is missing: a tensor of the forward, an upstream, with indices that are at hand."""
    given = {f"d{n}" for n in desk.spec.outputs}
    numbers = [syntax.Name(n) for n in (*desk.benches[0].world.constants, *desk.sizes)]
    for place, inner in heads(node):
        if isinstance(inner, syntax.Number):
            continue  # 1 for H is another operand, not a factor
        tensors = list(available(desk, node, place))
        squares = [
            syntax.Binary("**", t, number(2)) for t in tensors if isinstance(t, syntax.Name) and not rank(desk, t.id)
        ]
        outers = _outers(desk, inner) if not desk.by_index else ()
        for factor in [*tensors, *deltas(desk, node, place), *numbers, *squares, *outers]:
            kind = "missing_upstream" if tensor_of(factor) in given else "factor"
            what = "upstream" if kind == "missing_upstream" else "factor"
            words = f"The {what} {desk.text(factor)} is missing in {desk.text(inner)}."
            yield Edit(kind, put(node, place, syntax.Binary("*", inner, factor)), words)
            quotient: syntax.Node = syntax.Binary("/", inner, factor)
            words = f"The division of {desk.text(inner)} by {desk.text(factor)} is missing."
            if factor == inner:
                quotient, words = number(1), f"{desk.text(inner)} should be 1."
            yield Edit(kind, put(node, place, quotient), words)


def divisors_added(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """What a term is divided by is missing as a factor of the whole: ``m - r.T @ x / n`` for ``n * m - r.T @ x``."""
    for divisor in dict.fromkeys(
        f for n in node.walk() for op, f in factors_of(n) if op == "/" and not counts(desk.spec, f)
    ):
        words = f"The factor {desk.text(divisor)} is missing."
        yield Edit("factor", syntax.Binary("*", node, divisor), words)


def _outers(desk: Desk, node: syntax.Node) -> Iterator[syntax.Node]:
    """``outer(w, w)`` beside a square matrix with as many rows."""
    value = desk.first_value(node)
    if value is not None and value.ndim == 2 and len(set(value.shape)) == 1:
        for name, array in desk.benches[0].tensors.items():
            if np.shape(array) == value.shape[:1] and not doubled(desk, name):
                yield syntax.Call("outer", (syntax.Name(name), syntax.Name(name)))


def matrices_added(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A matrix that is missing in a product, ``K @ r`` for ``r``, or the upstream behind a Jacobian."""
    if desk.by_index:
        return
    given = {f"d{n}" for n in desk.spec.outputs}
    known = list(available(desk, node, ()))
    matrices: list[syntax.Node] = [t for t in known if rank(desk, tensor_of(t)) == 2]
    matrices = [m for t in matrices for m in (t, syntax.Attribute(t, "T"))]
    matrices += [t for t in known if tensor_of(t) in given and rank(desk, tensor_of(t)) == 1]
    for place, inner in [*heads(node), *_operands(node)]:
        if isinstance(inner, syntax.Number):
            continue
        for matrix in matrices:
            for new, where in (
                (syntax.Binary("@", matrix, inner), "in front of"),
                (syntax.Binary("@", inner, matrix), "behind"),
            ):
                upstream = bool(names_in(matrix) & given)
                kind, what = ("missing_upstream", "upstream") if upstream else ("factor", "factor")
                words = f"The {what} {desk.text(matrix)} is missing {where} {desk.text(inner)}."
                yield Edit(kind, put(node, place, new), words)


def _operands(node: syntax.Node, ops: str = "*") -> Iterator[tuple[Place, syntax.Node]]:
    """The operands of products that are no numbers."""
    for place, inner in places(node):
        above = get(node, place[:-1]) if place else None
        if isinstance(above, syntax.Binary) and above.op in ops and not isinstance(inner, syntax.Number):
            yield place, inner


def derivatives_added(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """An inner derivative that is missing: ``1 - p``, ``exp(z)``."""
    for place, inner in heads(node):
        if isinstance(inner, syntax.Number):
            continue
        for factor in dict.fromkeys([*composites(desk, node, place), *_of_forward(desk, node, place)]):
            words = f"The factor {desk.text(factor)} is missing in {desk.text(inner)}."
            yield Edit("factor", put(node, place, syntax.Binary("*", inner, factor)), words)


def _of_forward(desk: Desk, node: syntax.Node, place: Place) -> Iterator[syntax.Node]:
    """The functions of sums that the forward takes, and what it takes them of: ``relu(1 - m - c)``."""
    calls = (n for e in desk.spec.equations for n in e.right.walk() if isinstance(n, syntax.Call))
    scope = [*desk.free, *binders_above(node, place)]
    for call in dict.fromkeys(c for c in calls if c.function in FUNCTIONS and is_sum(c.arguments[0])):
        for part in (call, call.arguments[0]):
            if desk.by_index:
                yield from in_scope(desk, part, scope, node)
            elif (array := as_array(part)) is not None:
                yield array


def signs(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A sign that is wrong somewhere inside: of an argument, of a term under a function."""
    for place, inner in places(node):
        if is_position(node, place):
            continue
        if isinstance(inner, syntax.Unary) and inner.op == "-":
            yield Edit("sign", put(node, place, inner.operand), f"The sign of {desk.text(inner)} is wrong.")
        elif isinstance(inner, syntax.Call) and inner.function in FUNCTIONS and inner.arguments:
            new = replace(inner, arguments=(negated(inner.arguments[0]), *inner.arguments[1:]))
            yield Edit("sign", put(node, place, new), f"The sign inside {desk.text(inner)} is wrong.")
        elif isinstance(inner, syntax.Binary) and inner.op in ("+", "-"):
            for flipped in _flips(inner):
                words = f"The signs in {desk.text(inner)} are wrong: it should be {desk.text(flipped)}."
                yield Edit("sign", put(node, place, flipped), words)
        if isinstance(inner, syntax.Binary) and inner.op == "**":
            power = replace(inner, right=negated(inner.right))
            yield Edit("sign", put(node, place, power), f"The sign of the power in {desk.text(inner)} is wrong.")


def _flips(node: syntax.Node) -> Iterator[syntax.Node]:
    terms = terms_of(node)
    for n in range(len(terms)):
        changed = [(-s if m == n else s, t) for m, (s, t) in enumerate(terms)]
        yield sum_of(changed)
    yield sum_of([(-s, t) for s, t in terms])


def terms_dropped(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A term too many, also where the claim is not linear in it."""
    for place, inner in places(node):
        if is_sum(inner) and not (place and is_sum(get(node, place[:-1]))) and not is_position(node, place):
            terms = terms_of(inner)
            for n, (sign, term) in enumerate(terms):
                rest = [t for m, t in enumerate(terms) if m != n]
                if len(rest) == 1 and rest[0][1] == number(1):
                    continue  # 1 - p is a factor as a whole
                new = sum_of(rest)
                if counts(desk.spec, inner):
                    words = f"{desk.text(inner)} should be {desk.text(new)}."
                    yield Edit("factor", put(node, place, new), words)
                    continue
                words = f"There is a term too many: {desk.text(term)}."
                yield Edit("extra_term", put(node, place, new), words, (place, sum_of([(sign, term)])))


def multiplied_terms(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A product where a sum is meant: what comes along two ways adds up."""
    for place, inner in places(node):
        if isinstance(inner, syntax.Binary) and inner.op == "*" and not is_position(node, place):
            new = replace(inner, op="+")
            yield Edit("missing_term", put(node, place, new), f"{desk.text(inner)} should be {desk.text(new)}.")


def terms_added(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A term that is missing: a tensor, a delta or a number, with indices that are at hand."""
    known = [number(1), *(syntax.Name(n) for n in (*desk.benches[0].world.constants, *desk.sizes))]
    for place, _ in heads(node):
        yield from _beside(desk, node, place, [*deltas(desk, node, place), *available(desk, node, place), *known])
    free = desk.free
    for place, inner in _operands(node, "*/"):
        if not is_sum(inner) and linear(node, place):
            scope = [*free, *binders_above(node, place)]
            ordered = [t for t in available(desk, node, place) if _in_order(t, scope)]
            yield from _beside(desk, node, place, [*ordered, *known])


def _beside(desk: Desk, node: syntax.Node, place: Place, extras: Sequence[syntax.Node]) -> Iterator[Edit]:
    inner = get(node, place)
    own = terms_of(inner)
    for extra, sign in itertools.product(extras, (1, -1)):
        if (-sign, extra) in own:
            continue  # a term too many
        if (sign, extra) in own:
            twice = times(number(2), extra)
            words = f"{desk.text(extra)} should be {desk.text(twice)}."
            doubled = [(s, twice if (s, t) == (sign, extra) else t) for s, t in own]
            yield Edit("factor", put(node, place, sum_of(doubled)), words)
            continue
        words = f"The term {'+' if sign > 0 else '-'} {desk.text(extra)} is missing beside {desk.text(inner)}."
        yield Edit("missing_term", put(node, place, sum_of([*own, (sign, extra)])), words)


def _in_order(node: syntax.Node, scope: Sequence[str]) -> bool:
    """Whether the indices of an access stand in the order of those at hand."""
    if not isinstance(node, syntax.Access):
        return True
    at = [scope.index(i.id) for i in node.indices if isinstance(i, syntax.Name) and i.id in scope]
    return at == sorted(at)


def entries_added(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """The same term at the entry beside it is missing: ``dy[2*i] + dy[2*i + 1]``."""
    for place, inner in places(node):
        if not isinstance(inner, syntax.Access):
            continue
        for n, by in itertools.product(range(len(inner.indices)), (1, -1)):
            if isinstance(inner.indices[n], syntax.Batch):
                continue
            moved = sum_of([*terms_of(inner.indices[n]), (by, number(1))])
            term = put(node, place, replace(inner, indices=(*inner.indices[:n], moved, *inner.indices[n + 1 :])))
            for op in ("+", "-"):
                words = f"A term is missing: {op} {desk.text(term)}."
                yield Edit("missing_term", syntax.Binary(op, node, term), words)


def upstreams(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A 1 where the upstream should stand."""
    for place, inner in at(node, syntax.Number):
        if not isinstance(inner, syntax.Number) or inner.value != 1 or is_position(node, place):
            continue
        for new in available(desk, node, place):
            if tensor_of(new).removeprefix("d") in desk.spec.outputs and tensor_of(new).startswith("d"):
                yield Edit("missing_upstream", put(node, place, new), f"The upstream is missing: {desk.text(new)}.")
            elif not in_product(node, place):  # of 1 / x a factor is missing
                yield Edit("wrong_operand", put(node, place, new), f"The 1 should be {desk.text(new)}.")
        for new in deltas(desk, node, place):
            words = f"The 1 should be {desk.text(new)}: off the diagonal it is 0."
            yield Edit("missing_cross_terms", put(node, place, new), words)


def brackets(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Brackets that are missing: ``a + b / c`` for ``(a + b) / c``, ``A @ x - b`` for ``A @ (x - b)``."""
    for place, inner in places(node):
        if not is_sum(inner) or (place and is_sum(get(node, place[:-1]))):
            continue
        terms = terms_of(inner)
        for new in itertools.chain(_regrouped(terms), _rejoined(terms)):
            words = f"Brackets are missing: {desk.text(inner)} should be {desk.text(new)}."
            yield Edit("factor", put(node, place, new), words)
    for place, inner in places(node):
        if isinstance(inner, syntax.Binary) and inner.op in ("*", "/"):
            for head, tail in itertools.islice(_splits(inner.left), 2):
                new = syntax.Binary("@", head, replace(inner, left=tail))
                words = f"Brackets are missing: {desk.text(inner)} should be {desk.text(new)}."
                yield Edit("shape" if desk.misshapen else "factor", put(node, place, new), words)
        elif isinstance(inner, syntax.Binary) and inner.op == "@":
            for new in itertools.chain(_moved_out(inner), _loosened(inner)):
                words = f"The brackets are wrong: {desk.text(inner)} should be {desk.text(new)}."
                yield Edit("shape" if desk.misshapen else "factor", put(node, place, new), words)


def _moved_out(node: syntax.Binary) -> Iterator[syntax.Node]:
    """``x * (A @ r)`` for ``A @ (x * r)``."""
    for side in ("left", "right"):
        factors = factors_of(getattr(node, side))
        for n, (op, factor) in enumerate(factors if len(factors) > 1 else ()):
            rest: dict[str, Any] = {side: product_of([f for m, f in enumerate(factors) if m != n])}
            product = replace(node, **rest)
            yield times(factor, product) if op == "*" else syntax.Binary("/", product, factor)


def _loosened(node: syntax.Binary) -> Iterator[syntax.Node]:
    """``A @ (B @ x - y)`` for ``A @ B @ (x - y)``."""
    first, *rest = terms_of(node.right)
    for head, tail in _splits(node.left) if rest else ():
        yield syntax.Binary("@", head, sum_of([(first[0], syntax.Binary("@", tail, first[1])), *rest]))


def _rejoined(terms: Sequence[tuple[int, syntax.Node]]) -> Iterator[syntax.Node]:
    """Matrix products that should hold a sum as their last operand, or as their first."""
    (first_sign, first), (last_sign, last) = terms[0], terms[-1]
    for head, tail in _splits(first):
        whole = syntax.Binary("@", head, sum_of([(1, tail), *((first_sign * s, t) for s, t in terms[1:])]))
        yield whole if first_sign > 0 else negated(whole)
    for head, tail in _splits(last):
        yield syntax.Binary("@", sum_of([*terms[:-1], (last_sign, head)]), tail)


def _splits(node: syntax.Node) -> Iterator[tuple[syntax.Node, syntax.Node]]:
    """The ways to split a chain of products in two, at an ``@``: ``A`` and ``B @ x``, ``A @ B`` and ``x``."""
    if not (isinstance(node, syntax.Binary) and node.op in ("@", "*", "/")):
        return
    if node.op == "@":
        yield node.left, node.right
    for head, tail in _splits(node.left):
        yield head, replace(node, left=tail)


def _regrouped(terms: Sequence[tuple[int, syntax.Node]]) -> Iterator[syntax.Node]:
    sign, last = terms[-1]
    factors = factors_of(last)
    for cut in range(1, len(factors)):
        kept, moved = factors[:cut], factors[cut:]
        whole = sum_of([*terms[:-1], (sign, product_of(kept))])
        yield product_of([("*", whole), *moved])
    first_sign, first = terms[0]
    factors = factors_of(first)
    for cut in range(1, len(factors)):
        if factors[cut][0] == "*":
            rest = sum_of([(1, product_of([("*", factors[cut][1]), *factors[cut + 1 :]])), *terms[1:]])
            grouped = product_of([*factors[:cut], ("*", rest)])
            yield grouped if first_sign > 0 else negated(grouped)
