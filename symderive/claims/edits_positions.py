"""Changes of index positions: an offset, a sign, a stride, what wraps around, a factor that belongs inside of a sum."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial

from symderive.claims.desk import Desk
from symderive.claims.edit_tools import Edit, counts, is_position
from symderive.claims.lines import names_in
from symderive.claims.trees import get, is_access, map_nodes, negated, number, places, put, substitute, sum_of, terms_of
from symderive.claims.world import shape_named
from symderive.spec import syntax

Terms = list[tuple[int, syntax.Node]]


def positions(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Another index expression in an index position: ``s - r`` for ``s + r``, ``k % E`` for ``k // E``."""
    for place, inner in places(node):
        if not place or not isinstance(inner, syntax.Binary) or not is_position(node, place):
            continue
        for new in _other_positions(inner, desk):
            words = f"The index {desk.text(inner)} should be {desk.text(new)}."
            yield Edit("wrong_index", put(node, place, new), words)
    for place, access in places(node):
        if isinstance(access, syntax.Access) and sum(isinstance(i, syntax.Binary) for i in access.indices) > 1:
            for moved in _together(access, desk):
                words = f"{desk.text(access)} should be {desk.text(moved)}."
                yield Edit("wrong_index", put(node, place, moved), words)


def _together(access: syntax.Access, desk: Desk) -> Iterator[syntax.Access]:
    """An access with each of its sums of indices changed in the same way: turned round, moved by 1, with a stride."""
    changes: list[Callable[[Terms], Terms]] = [
        lambda terms: _moved(terms, 1),
        lambda terms: _moved(terms, -1),
        lambda terms: [terms[0], *((-s, t) for s, t in terms[1:])],
        lambda terms: [(s if isinstance(t, syntax.Number) else -s, t) for s, t in terms],
        lambda terms: [(1, t) for _, t in terms if not isinstance(t, syntax.Number)] or terms,
    ]
    steps = [*(syntax.Name(n) for n, v in desk.spec.constants.items() if v.denominator == 1), number(2)]
    changes += [partial(_spread, step=step, place=place) for step in steps for place in (0, 1)]
    for change in changes:
        moved = (
            sum_of(change(terms_of(i))) if isinstance(i, syntax.Binary) and i.op in ("+", "-") else i
            for i in access.indices
        )
        yield replace(access, indices=tuple(moved))


def _spread(terms: Terms, step: syntax.Node, place: int) -> Terms:
    """A position with one of its terms in steps: a stride of the windows, or the dilation of a kernel."""
    return [(s, syntax.Binary("*", step, t) if n == place else t) for n, (s, t) in enumerate(terms)]


def _other_positions(node: syntax.Binary, desk: Desk) -> Iterator[syntax.Node]:
    if node.op in ("//", "%"):
        for op in ("//", "%"):
            for name in (*desk.benches[0].world.constants, *desk.sizes):
                yield syntax.Binary(op, node.left, syntax.Name(name))
        return
    terms = terms_of(node)
    if node.op in ("+", "-"):
        for n, (sign, term) in enumerate(terms):
            yield sum_of([(-sign if m == n else s, t) for m, (s, t) in enumerate(terms)])
            yield sum_of([t for m, t in enumerate(terms) if m != n])
            yield term
            yield from (
                sum_of([(s, t) for m, (s, t) in enumerate(terms) if m != n] + [(sign, f)]) for f in _parts(term)
            )
        yield sum_of([(-s, t) for s, t in terms])
        yield sum_of([terms[0], *((-s, t) for s, t in terms[1:])])
        yield from _turned(terms, desk)
        yield from (sum_of(_moved(terms, by)) for by in (1, -1))
        bare = [(s, t) for s, t in terms if not counts(desk.spec, t)]
        if 1 < len(bare) < len(terms):  # R - 1 - r for r
            yield from (sum_of([(-s if m == n else s, t) for m, (s, t) in enumerate(bare)]) for n in range(len(bare)))


def _turned(terms: Terms, desk: Desk) -> Iterator[syntax.Node]:
    """With an index counted from the other end: a kernel that is flipped has ``R - 1 - r`` for ``r``."""
    for n, (sign, term) in enumerate(terms):
        extent = desk.spec.letters.get(term.id) if isinstance(term, syntax.Name) else None
        if str(extent) in desk.spec.sizes:
            last = syntax.Binary("-", syntax.Name(str(extent)), number(1))
            yield sum_of([*terms[:n], *((sign * s, t) for s, t in terms_of(last)), (-sign, term), *terms[n + 1 :]])


def _moved(terms: Terms, by: int) -> Terms:
    """A position one further, or one less."""
    rest = [(s, t) for s, t in terms if not isinstance(t, syntax.Number)]
    offset = sum((s * t.value for s, t in terms if isinstance(t, syntax.Number)), Fraction(by))
    return [*rest, *([(1 if offset > 0 else -1, number(abs(offset)))] if offset else [])]


def _parts(term: syntax.Node) -> Iterator[syntax.Node]:
    """The factors of a product, one without the other."""
    if isinstance(term, syntax.Binary) and term.op == "*":
        yield term.left
        yield term.right


def rolled(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Entries moved the other way, or one further or less."""
    for place, inner in places(node):
        if isinstance(inner, syntax.Method) and inner.name == "roll" and inner.arguments:
            by, *rest = inner.arguments
            for other in (negated(by), *(sum_of(_moved(terms_of(by), step)) for step in (1, -1))):
                new = replace(inner, arguments=(other, *rest))
                yield Edit("wrong_index", put(node, place, new), f"{desk.text(inner)} should be {desk.text(new)}.")


def wrapped_around(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """An access that goes round, ``f[(t + 1) % T]``, where there is nothing behind the end; and the reverse."""
    cyclic = any(isinstance(n, syntax.Binary) and n.op == "%" for e in desk.spec.equations for n in e.right.walk())
    for place, inner in places(node):
        for new in itertools.chain(_ends(desk, inner), _neighbours(desk, inner) if cyclic else ()):
            words = f"{desk.text(inner)} should be {desk.text(new)}."
            yield Edit("wrong_index", put(node, place, new), words)


def _ends(desk: Desk, node: syntax.Node) -> Iterator[syntax.Node]:
    if isinstance(node, syntax.Access):
        plain = tuple(i.left if isinstance(i, syntax.Binary) and i.op == "%" else i for i in node.indices)
        if plain != node.indices:
            yield syntax.Call("pad", (replace(node, indices=plain),))
    elif isinstance(node, syntax.Call) and node.function == "pad" and isinstance(node.arguments[0], syntax.Access):
        access = node.arguments[0]
        extents = shape_named(desk.spec, access.tensor) or ()
        if len(extents) == len(access.indices) and all(str(e) in desk.spec.sizes for e in extents):
            pairs = zip(access.indices, extents, strict=True)
            yield replace(access, indices=tuple(_modulo(i, str(e)) for i, e in pairs))


def _neighbours(desk: Desk, node: syntax.Node) -> Iterator[syntax.Node]:
    """The entry behind or before, that of the other end at an end."""
    if not is_access(node):
        return
    extents = shape_named(desk.spec, node.tensor) or ()
    if len(extents) != len(node.indices):
        return
    for n, (index, extent) in enumerate(zip(node.indices, extents, strict=True)):
        if isinstance(index, syntax.Name) and str(extent) in desk.spec.sizes:
            for by in (-1, 1):
                moved = syntax.Binary("%", sum_of([(1, index), (by, number(1))]), syntax.Name(str(extent)))
                yield replace(node, indices=(*node.indices[:n], moved, *node.indices[n + 1 :]))


def _modulo(node: syntax.Node, extent: str) -> syntax.Node:
    return syntax.Binary("%", node, syntax.Name(extent)) if isinstance(node, syntax.Binary) else node


def moved_inside(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A factor of a sum that should be inside of it, at what is summed: ``/ c[i]`` for ``/ c[k]``."""
    free = desk.free
    for place, inner in places(node):
        if not isinstance(inner, syntax.Binary) or inner.op not in ("*", "/") or not _is_sum(inner.left):
            continue
        total, factor = inner.left, inner.right
        assert isinstance(total, syntax.Binder)
        own = [i for i in free if i in {n.id for n in factor.walk() if isinstance(n, syntax.Name)}]
        for index, (position, padded) in itertools.product(own, _positions_of(total)):
            moved = substitute(factor, {index: position})
            if padded:
                moved = map_nodes(moved, lambda n: syntax.Call("pad", (n, number(1))) if is_access(n) else n)
            new = replace(total, body=syntax.Binary(inner.op, total.body, moved))
            words = f"{desk.text(factor)} should be {desk.text(moved)}, inside of the sum: {desk.text(new)}."
            yield Edit("wrong_index", put(node, place, new), words)


def _is_sum(node: syntax.Node) -> bool:
    return isinstance(node, syntax.Binder) and node.op in ("sum", "mean")


def _positions_of(total: syntax.Binder) -> dict[tuple[syntax.Node, bool], None]:
    """What stands in index positions inside of a sum and depends on what is summed over; whether it may be outside."""
    found: dict[tuple[syntax.Node, bool], None] = {}
    for place, inner in places(total.body):
        if isinstance(inner, syntax.Access):
            above = get(total.body, place[:-1]) if place else None
            padded = isinstance(above, syntax.Call) and above.function == "pad"
            found |= {(i, padded): None for i in inner.indices if names_in(i) & set(total.indices)}
    return found
