"""Conditions of the forward that a claim has forgotten: a mask, the length of a row, the side of a hinge."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from symderive.claims.desk import Desk, Finding
from symderive.claims.edit_tools import Edit, class_ids, heads, in_product
from symderive.claims.lines import names_in
from symderive.claims.parts import as_array, in_scope
from symderive.claims.trees import (
    Place,
    binders_above,
    column,
    get,
    is_access,
    map_nodes,
    number,
    places,
    put,
    tensor_of,
    tidied,
)
from symderive.spec import model, syntax
from symderive.spec.functions import MATRIX


def conditions(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A condition that is missing: under a sum, or of a product or a term."""
    known = list(dict.fromkeys(_of_forward(desk.spec)))
    array = not desk.by_index
    free = desk.free
    for place, inner in [*_sums(node), *heads(node), *_transposed(node)]:
        if isinstance(inner, syntax.Number):
            continue
        scope = [*free, *binders_above(node, place)]
        summed = _is_plain_sum(inner)
        for condition in known:
            whole = (
                _arrays(condition, desk.truths[0].ndim)
                if array
                else in_scope(desk, condition, [*scope, *_bound(inner, summed)], node)
            )
            for shown in whole:
                if names_in(shown) - names_in(node) or not any(shown == n for n in node.walk()):
                    yield _under(desk, node, place, shown, summed)


def other_conditions(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Another condition than that of the forward."""
    known = list(dict.fromkeys(_of_forward(desk.spec)))
    free = desk.free
    for place, inner in places(node):
        above = get(node, place[:-1]) if place else None
        if not isinstance(inner, syntax.Compare | syntax.Logical) or isinstance(above, syntax.Logical):
            continue
        scope = [*free, *binders_above(node, place)]
        for condition in known:
            for shown in in_scope(desk, condition, scope, node) if desk.by_index else _arrays(condition):
                words = f"The condition {desk.text(inner)} should be {desk.text(shown)}."
                yield Edit("wrong_operand", put(node, place, shown), words)


def indicators(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A tensor where only counts what the forward asks of it: ``dh * h`` for ``dh * (h > 0)``."""
    known = [c for c in dict.fromkeys(_of_forward(desk.spec)) if len(list(filter(is_access, c.walk()))) == 1]
    for place, inner in places(node):
        name = tensor_of(inner)
        if not place or not in_product(node, _out_of_subscript(node, place)):
            continue
        for condition in known:
            if name not in names_in(condition):
                continue
            asked = map_nodes(condition, lambda n: inner if is_access(n) else n)  # noqa: B023
            new = syntax.Call("where", (asked, number(1), number(0))) if desk.by_index else asked
            words = f"{desk.text(inner)} should be {desk.text(new)}."
            yield Edit("wrong_operand", put(node, place, new), words)


def _out_of_subscript(root: syntax.Node, place: Place) -> Place:
    """The place of ``t[:, None]`` for that of ``t``."""
    above = get(root, place[:-1])
    return place[:-1] if isinstance(above, syntax.Subscript) and place[-1][0] == "value" else place


def branches(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A branch that should be 0: what stands there for a class, say, instead of a sum."""
    for place, inner in places(node):
        if isinstance(inner, syntax.Call) and inner.function == "where" and len(inner.arguments) == 3:
            condition, *parts = inner.arguments
            for n, part in enumerate(parts):
                if part != number(0):
                    rest, gone = ([p if m == k else number(0) for m, p in enumerate(parts)] for k in (1 - n, n))
                    words = f"In {desk.text(inner)} there should be 0 instead of {desk.text(part)}."
                    whole = replace(inner, arguments=(condition, *gone))
                    new = put(node, place, replace(inner, arguments=(condition, *rest)))
                    yield Edit("extra_term", new, words, (place, whole))


def superfluous(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A condition too many: a branch is meant in any case, or one condition less."""
    for place, inner in places(node):
        if isinstance(inner, syntax.Call) and inner.function == "where" and len(inner.arguments) == 3:
            condition, *parts = inner.arguments
            for part in reversed([p for p in parts if p != number(0)]):
                words = f"The condition {desk.text(condition)} is one too many: {desk.text(part)} is meant in any case."
                if part == number(1) and in_product(node, place):
                    words = f"The factor {desk.text(inner)} is one too many."
                new = put(node, place, part)
                if place:  # no factor of 1 is left
                    new = put(new, place[:-1], tidied(get(new, place[:-1])))
                yield Edit("factor", new, words)
        elif isinstance(inner, syntax.Logical):
            for n, part in enumerate(inner.operands):
                rest = inner.operands[:n] + inner.operands[n + 1 :]
                new = replace(inner, operands=rest) if len(rest) > 1 else rest[0]
                words = f"The condition {desk.text(part)} is one too many in {desk.text(inner)}."
                yield Edit("factor", put(node, place, new), words)


def missing_class(desk: Desk) -> Finding | None:
    """A sum over all entries where only those of the class that the left side names should be taken."""
    if desk.line.role != "gradient" or desk.line.indices is None:
        return None
    free = [i for i in desk.free if i != syntax.BATCH]
    for place, inner in _sums(desk.node):
        for label in class_ids(desk, [*free, *binders_above(desk.node, place), *_bound(inner, True)]):
            if tensor_of(label) in names_in(desk.node) or not names_in(label) & set(_bound(inner, True)):
                continue
            for index in free:
                condition = syntax.Compare(("==",), (label, syntax.Name(index)))
                edit = _under(desk, desk.node, place, condition, True)
                if desk.fits(edit.node):
                    return Finding(edit.kind, edit.words, edit.node)
    return None


def bounds(desk: Desk) -> Finding | None:
    """A sum over indices of which it should leave some out, or that leaves out some that it should take."""
    free = [i for i in desk.free if i != syntax.BATCH]
    for place, inner in places(desk.node):
        if not isinstance(inner, syntax.Binder) or inner.op not in ("sum", "mean"):
            continue
        scope = [*free, *binders_above(desk.node, place)]
        for kind, words, new in _bounded(desk, inner, scope) if inner.condition is None else _loosened(desk, inner):
            if desk.late:
                return None
            if desk.fits(node := put(desk.node, place, new)):
                return Finding(kind, words, node)
    return None


def _bounded(desk: Desk, node: syntax.Binder, scope: Sequence[str]) -> Iterator[tuple[str, str, syntax.Node]]:
    """A sum without a condition under one on its own index and another."""
    for own, other, op in itertools.product(node.indices, scope, ("!=", "<", "<=", ">", ">=")):
        if own != other:
            condition = syntax.Compare((op,), (syntax.Name(own), syntax.Name(other)))
            new = replace(node, condition=condition)
            out = f"{own} = {other}" if op == "!=" else f"what is not {desk.text(condition)}"
            words = f"{desk.text(node)} should be {desk.text(new)}: {out} is left out of the sum."
            yield "extra_term", words, new


def _loosened(desk: Desk, node: syntax.Binder) -> Iterator[tuple[str, str, syntax.Node]]:
    """A sum under a condition that takes in its border or does not, or that should not be there."""
    condition = node.condition
    parts: tuple[syntax.Node, ...] = () if condition is None else (condition,)
    if isinstance(condition, syntax.Logical) and condition.op == "and":
        parts = condition.operands
    for n, part in enumerate(parts):
        if not isinstance(part, syntax.Compare) or len(part.ops) != 1 or not names_in(part) & set(node.indices):
            continue
        if not all(isinstance(o, syntax.Name) for o in part.operands):
            continue  # a length, which is no index
        (op,), text = part.ops, desk.text(part)
        for kind, other in _WIDTHS.get(op, ()):
            new = replace(part, ops=(other,))
            words = f"The condition {text} of the sum should be {desk.text(new)}."
            yield kind, words, replace(node, condition=_all((*parts[:n], new, *parts[n + 1 :])))
        words = f"The condition {text} of {desk.text(node)} is one too many: those terms belong to the sum, too."
        yield "wrong_index", words, replace(node, condition=_all((*parts[:n], *parts[n + 1 :])))


_WIDTHS = {
    ">": (("missing_term", ">="), ("missing_term", "!=")),
    "<": (("missing_term", "<="), ("missing_term", "!=")),
    ">=": (("extra_term", ">"),),
    "<=": (("extra_term", "<"),),
}
"""The comparisons that take in a little more, or a little less, and what a claim has then."""


def _all(parts: Sequence[syntax.Node]) -> syntax.Node | None:
    return None if not parts else parts[0] if len(parts) == 1 else syntax.Logical("and", tuple(parts))


def _sums(node: syntax.Node) -> Iterator[tuple[Place, syntax.Node]]:
    for place, inner in places(node):
        if _is_plain_sum(inner):
            yield place, inner


def _transposed(node: syntax.Node) -> Iterator[tuple[Place, syntax.Node]]:
    """What is transposed: ``dh`` in ``dh.T @ x``."""
    for place, inner in places(node):
        if isinstance(inner, syntax.Attribute) and inner.name in ("T", "mT"):
            yield (*place, ("value", None)), inner.value


def _is_plain_sum(node: syntax.Node) -> bool:
    """Whether a reduction or a normaliser takes all."""
    return isinstance(node, syntax.Binder) and node.op not in MATRIX and node.condition is None


def _bound(inner: syntax.Node, summed: bool) -> Sequence[str]:
    return inner.indices if summed and isinstance(inner, syntax.Binder) else ()


def _under(desk: Desk, node: syntax.Node, place: Place, condition: syntax.Node, summed: bool) -> Edit:
    """A part of a claim under a condition: one of a sum where it is about what is summed over."""
    inner = get(node, place)
    new: syntax.Node = syntax.Call("where", (condition, inner, number(0)))
    if summed and isinstance(inner, syntax.Binder) and names_in(condition) & set(inner.indices):
        new = replace(inner, condition=condition)
    words = f"The condition {desk.text(condition)} is missing in {desk.text(inner)}: elsewhere it should be 0."
    if isinstance(new, syntax.Binder):
        words = f"The condition {desk.text(condition)} is missing: {desk.text(inner)} should be {desk.text(new)}."
    return Edit("factor", put(node, place, new), words)


def _arrays(condition: syntax.Node, rank: int = 0) -> Iterator[syntax.Node]:
    """A condition in array form, and as a column beside what has so many axes."""
    if (found := as_array(condition)) is not None:
        yield found
        axes = {len(n.indices) for n in condition.walk() if isinstance(n, syntax.Access)}
        if rank == 2 and max(axes, default=0) == 1:
            yield column(found)


def _of_forward(spec: model.Spec) -> Iterator[syntax.Node]:
    """The conditions that decide what the forward takes, and their opposites."""
    for equation in spec.equations:
        if isinstance(equation.right, syntax.Call) and equation.right.function in _RECTIFIED:
            indices = [syntax.Batch() if i == syntax.BATCH else syntax.Name(i) for i in equation.indices]
            yield syntax.Compare((">",), (syntax.Access(equation.tensor, tuple(indices)), number(0)))
        for node in equation.right.walk():
            yield from _of(node)
    yield from (syntax.Access(i.name, ()) for i in spec.inputs if i.boolean and not i.shape)


_RECTIFIED = ("relu", "leaky_relu", "elu")
"""Functions that are positive where their argument is."""


def _of(node: syntax.Node) -> Iterator[syntax.Node]:
    zero = number(0)
    match node:
        case syntax.Binder(condition=condition) if condition is not None:
            yield condition
        case syntax.Call(function="where", arguments=(condition, _, _)):
            yield condition
            yield from _opposite(condition)
        case syntax.Call(function="max" | "min", arguments=(a, b)):
            a, b = (b, a) if a == zero else (a, b)
            yield from _compared(a, b)
        case syntax.Call(function=name, arguments=(a, *_)) if name in _RECTIFIED:
            yield from _compared(a, zero)
        case syntax.Call(function="clamp", arguments=(a, low, high)):
            ends = syntax.Compare((">=",), (a, low)), syntax.Compare(("<=",), (a, high))
            yield from (*ends, syntax.Logical("and", ends))


def _compared(a: syntax.Node, b: syntax.Node) -> Iterator[syntax.Node]:
    """``a`` above ``b`` and below; of a difference that is compared with 0, its terms: ``m < 1`` for ``1 - m > 0``."""
    if b == number(0) and isinstance(a, syntax.Binary) and a.op == "-":
        a, b = (a.right, a.left) if isinstance(a.left, syntax.Number) else (a.left, a.right)
    for op in (">", "<"):
        yield syntax.Compare((op,), (a, b))


def _opposite(condition: syntax.Node) -> Iterator[syntax.Node]:
    turned = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}
    if isinstance(condition, syntax.Compare) and len(condition.ops) == 1:
        yield replace(condition, ops=(turned[condition.ops[0]],))
