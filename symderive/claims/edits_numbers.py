"""Changes of numbers, sizes and constants, and of powers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from symderive.check.sample import numbers_of
from symderive.claims.desk import Desk
from symderive.claims.edit_tools import (
    BOUNDING,
    Edit,
    at,
    counts,
    in_product,
    index_names,
    is_axis,
    is_position,
    is_sum,
    rank,
)
from symderive.claims.lines import names_in
from symderive.claims.parts import as_array, in_scope
from symderive.claims.trees import binders_above, bound_in, column, get, lowered, number, places, put, tensor_of
from symderive.spec import syntax


def numbers(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Another number, or a size or a constant in its place."""
    known = [*desk.benches[0].world.constants, *desk.sizes]
    for place, inner in at(node, syntax.Number):
        assert isinstance(inner, syntax.Number)
        if is_position(node, place) or is_axis(node, place):
            continue
        value, above = inner.value, get(node, place[:-1]) if place else None
        if not value and isinstance(above, syntax.Call) and above.function in BOUNDING:
            for name in desk.benches[0].world.constants:
                for bound in (syntax.Name(name), syntax.Unary("-", syntax.Name(name))):
                    words = f"The border {desk.text(inner)} should be {desk.text(bound)}."
                    yield Edit("wrong_operand", put(node, place, bound), words)
        if isinstance(above, syntax.Compare):
            for name in known:
                words = f"The border {desk.text(inner)} should be {name}."
                yield Edit("wrong_operand", put(node, place, syntax.Name(name)), words)
            for other in sorted({v for v in numbers_of(desk.spec) if v >= 0}):
                words = f"The border {desk.text(inner)} should be {desk.text(number(other))}."
                yield Edit("wrong_operand", put(node, place, number(other)), words)
        near = (value * 2, value / 2, value + 1, value - 1, 1 / value if value else Fraction(1))
        for other in dict.fromkeys((*near, *sorted(numbers_of(desk.spec)))):
            raised = isinstance(above, syntax.Binary) and above.op == "**"
            if other >= 0 and other != value and not (raised and other in (0, 1)):
                words = f"The number {desk.text(inner)} should be {desk.text(number(other))}."
                if other == 1 and in_product(node, place):
                    words = f"The factor {desk.text(inner)} is one too many."
                yield Edit("factor", put(node, place, number(other)), words)
        for name in known:
            yield Edit("factor", put(node, place, syntax.Name(name)), f"{desk.text(inner)} should be {name}.")


def constants(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Another constant or size in the place of one, what it leaves of 1, or one more or less."""
    known = [*desk.benches[0].world.constants, *desk.sizes]
    for place, inner in at(node, (syntax.Name, syntax.Unary)):
        if isinstance(inner, syntax.Unary) and tensor_of(inner.operand) in desk.spec.constants:
            left = syntax.Binary("-", number(1), inner.operand)
            yield Edit("factor", put(node, place, left), f"{desk.text(inner)} should be {desk.text(left)}.")
        if tensor_of(inner) in known and not is_position(node, place):
            others: list[syntax.Node] = [syntax.Name(name) for name in known if name != tensor_of(inner)]
            others += [syntax.Binary(op, inner, number(1)) for op in ("-", "+")]
            if tensor_of(inner) not in desk.sizes:
                others.append(syntax.Binary("-", number(1), inner))
            for new in others:
                yield Edit("factor", put(node, place, new), f"{desk.text(inner)} should be {desk.text(new)}.")


def powers(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A power that is off by one, or a square that is missing."""
    for place, inner in places(node):
        if isinstance(inner, syntax.Binary) and inner.op == "**" and isinstance(inner.right, syntax.Number):
            for change in (-1, 1, 2):
                raised = inner.right.value + change
                new = inner.left if raised == 1 else replace(inner, right=number(raised))
                yield Edit("factor", put(node, place, new), f"The power {desk.text(inner)} should be {desk.text(new)}.")
            yield Edit("factor", put(node, place, inner.left), f"{desk.text(inner)} should be {desk.text(inner.left)}.")
        elif isinstance(inner, syntax.Binary) and inner.op == "**":
            for by in (1, -1):
                new = lowered(inner, by)
                yield Edit("factor", put(node, place, new), f"The power {desk.text(inner)} should be {desk.text(new)}.")
        elif is_sum(inner) and not is_position(node, place) and in_product(node, place):
            new = syntax.Binary("**", inner, number(2))
            yield Edit("factor", put(node, place, new), f"{desk.text(inner)} should be {desk.text(new)}.")
        elif rank(desk, tensor_of(inner)) >= 0 and not is_position(node, place):
            for power in (2, -1):
                new = syntax.Binary("**", inner, number(power))
                words = f"{desk.text(inner)} should be {desk.text(new)}."
                yield Edit("factor", put(node, place, new), words)


def counted(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A size where what the forward counts, or has a scalar or a vector for, is meant: ``T`` for ``n[b]``."""
    made = [(e.tensor, e.indices) for e in desk.spec.equations if len(e.indices) < 2 and syntax.BATCH not in e.indices]
    for place, inner in at(node, syntax.Name):
        if tensor_of(inner) not in desk.sizes or not in_product(node, place):
            continue
        scope = [*desk.free, *binders_above(node, place)]
        for name, indices in made:
            named = syntax.Access(name, tuple(map(syntax.Name, indices))) if indices else syntax.Name(name)
            array = [syntax.Name(name), *([column(syntax.Name(name))] if indices else [])]
            for new in in_scope(desk, named, scope, node) if desk.by_index else array:
                words = f"{desk.text(inner)} should be {desk.text(new)}."
                yield Edit("wrong_operand", put(node, place, new), words)


def totals(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A number or a size where a sum of the forward is meant: ``N`` for ``1 + sum[n](m[n])``."""
    array = not desk.by_index
    for part in dict.fromkeys(n for e in desk.spec.equations for n in e.right.walk() if _is_total(desk, n)):
        new = as_array(part) if array else next(in_scope(desk, part, (), node), None)
        if new is None:
            continue
        for place, inner in places(node):
            if not isinstance(inner, syntax.Name | syntax.Number) or is_position(node, place):
                continue
            if counts(desk.spec, inner) and in_product(node, place):
                words = f"{desk.text(inner)} should be {desk.text(new)}."
                yield Edit("wrong_operand", put(node, place, new), words)


def _is_total(desk: Desk, node: syntax.Node) -> bool:
    """Whether a part of the forward sums over all indices that it has."""
    if not isinstance(node, syntax.Binary | syntax.Binder) or not names_in(node) & set(desk.spec.shapes):
        return False
    return set(index_names(desk, node)) <= bound_in(node) and any(isinstance(n, syntax.Binder) for n in node.walk())
