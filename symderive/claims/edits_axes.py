"""Changes of axes: transposes, sums and means, ``keepdim``, columns and rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from symderive.claims.desk import Desk
from symderive.claims.edit_tools import (
    REDUCING,
    Edit,
    at,
    axes_of,
    called,
    index_names,
    is_position,
    rank,
    reduction,
    spare_letter,
    under_transpose,
)
from symderive.claims.trees import (
    Place,
    axis,
    binders_above,
    column,
    get,
    is_access,
    map_nodes,
    method,
    negated,
    places,
    put,
    rename,
    transpose,
)
from symderive.spec import syntax


def transposes(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """An operand transposed, or two indices of an access swapped."""
    products = [(p, n) for p, n in places(node) if isinstance(n, syntax.Binary)]
    for place, inner in [*((p, n) for p, n in places(node) if not isinstance(n, syntax.Binary)), *products]:
        text = desk.text(inner)
        for new in _transposed(desk, inner, place, node):
            yield Edit("transpose", put(node, place, new), f"{text} should be {desk.text(new)}.")


def _transposed(desk: Desk, inner: syntax.Node, place: Place, root: syntax.Node) -> Iterator[syntax.Node]:
    if isinstance(inner, syntax.Attribute) and inner.name in ("T", "mT"):
        yield inner.value
    elif isinstance(inner, syntax.Access) and len(inner.indices) >= 2:
        for a, b in itertools.combinations(range(len(inner.indices)), 2):
            swapped = list(inner.indices)
            swapped[a], swapped[b] = swapped[b], swapped[a]
            if isinstance(swapped[0], syntax.Batch) or not any(isinstance(i, syntax.Batch) for i in swapped):
                yield replace(inner, indices=tuple(swapped))
    elif isinstance(inner, syntax.Name) and rank(desk, inner.id) >= 2 and not under_transpose(root, place):
        yield syntax.Attribute(inner, "T" if rank(desk, inner.id) == 2 else "mT")
    elif isinstance(inner, syntax.Binary) and inner.op == "@":
        yield replace(inner, left=inner.right, right=inner.left)
        left, right = transpose(inner.right), transpose(inner.left)
        minus = isinstance(right, syntax.Unary)
        yield syntax.Binary("@", negated(left), right.operand) if minus else syntax.Binary("@", left, right)  # type: ignore[attr-defined]
        for side in ("left", "right"):
            operand = getattr(inner, side)
            product = isinstance(operand, syntax.Binary) and operand.op != "@"
            if product or isinstance(operand, syntax.Call | syntax.Method | syntax.Subscript):
                flipped = transpose(operand) if axes_of(desk, operand) <= 2 else syntax.Attribute(operand, "mT")
                changed: dict[str, Any] = {side: flipped}
                yield replace(inner, **changed)
    elif isinstance(inner, syntax.Binary) and desk.line.indices is not None and not is_position(root, place):
        yield from _exchanged(inner, desk.free)
    elif isinstance(inner, syntax.Call) and inner.function == "outer":
        yield replace(inner, arguments=inner.arguments[::-1])
    elif isinstance(inner, syntax.Subscript) and len(inner.items) == 2:
        yield replace(inner, items=inner.items[::-1])
    elif isinstance(inner, syntax.Method) and inner.name in ("inv", "inverse"):
        yield syntax.Attribute(inner, "T")


def _exchanged(node: syntax.Node, free: Sequence[str]) -> Iterator[syntax.Node]:
    """A term with two of its indices exchanged throughout."""
    letters = [
        i for i in free if i != syntax.BATCH and any(isinstance(n, syntax.Name) and n.id == i for n in node.walk())
    ]
    for a, b in itertools.combinations(letters, 2):
        yield rename(node, {a: b, b: a})


def means(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A mean for a sum or a sum for a mean, of one or of all."""
    found = [
        (p, n)
        for p, n in places(node)
        if (isinstance(n, syntax.Binder) and n.op in ("sum", "mean"))
        or (isinstance(n, syntax.Method) and n.name in ("sum", "mean"))
    ]
    for place, inner in found:
        yield Edit("mean_vs_sum", put(node, place, _other(inner)), f"{desk.text(inner)} should be a {_name(inner)}.")
    if len(found) > 1:
        changed = node
        for place, _ in found:
            changed = put(changed, place, _other(get(changed, place)))
        yield Edit("mean_vs_sum", changed, f"Each {reduction(found[0][1])} should be a {_name(found[0][1])}.")


def _name(node: syntax.Node) -> str:
    return "mean" if reduction(node) == "sum" else "sum"


def _other(node: syntax.Node) -> syntax.Node:
    if isinstance(node, syntax.Binder):
        return replace(node, op=_name(node))
    assert isinstance(node, syntax.Method)
    return replace(node, name=_name(node))


def _with_axis(argument: syntax.Node, other: syntax.Node) -> Iterator[syntax.Node]:
    """Another axis in place of the one that an argument names, or of one in its tuple."""
    if not isinstance(argument, syntax.Listing):
        yield other
        return
    for n in range(len(argument.items)):
        yield replace(argument, items=(*argument.items[:n], other, *argument.items[n + 1 :]))


def _batch(desk: Desk) -> list[syntax.Node]:
    """``...`` for all batch axes, where there are any."""
    return [syntax.Batch()] if syntax.BATCH in desk.points[0].sizes else []


def dims(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Another axis, or ``keepdim`` where there is none, or none where there is one."""
    last = [syntax.Listing((axis(a), axis(b))) for a, b in itertools.combinations(range(-3, 0), 2)]
    pairs = last if desk.truths[0].ndim > 3 else []
    for place, inner in places(node):
        if not isinstance(inner, syntax.Method | syntax.Call) or called(inner) not in REDUCING:
            continue
        skip = 0 if isinstance(inner, syntax.Method) else 1
        near = [0, 1, 2, -1, -2, -3] if "-" not in desk.text(inner) else [0, -1, -2, -3, 1, 2]
        for other in [*_batch(desk), *map(axis, near), *pairs]:
            for position in range(skip, len(inner.arguments)):
                for changed in _with_axis(inner.arguments[position], other):
                    arguments = (*inner.arguments[:position], changed, *inner.arguments[position + 1 :])
                    new = replace(inner, arguments=arguments)
                    yield Edit("wrong_index", put(node, place, new), f"{desk.text(inner)} runs over the wrong axis.")
        if isinstance(inner, syntax.Method) and not inner.arguments:
            for one, keep in itertools.product((0, 1, -1), (False, True)):
                new = method(inner.value, inner.name, axis(one), keepdim=keep)
                words = f"{desk.text(inner)} runs over all axes, and should be {desk.text(new)}."
                yield Edit("wrong_index", put(node, place, new), words)
    yield from _dims_together(desk, node)
    toggled = node
    count = 0
    for place, inner in at(node, syntax.Method):
        assert isinstance(inner, syntax.Method)
        if inner.name not in REDUCING[:5] or not inner.arguments:
            continue
        kept = any(k == "keepdim" for k, _ in inner.keywords)
        new = method(inner.value, inner.name, *inner.arguments, keepdim=not kept)
        what = "keeps an axis that should go" if kept else "needs keepdim=True"
        yield Edit("shape", put(node, place, new), f"{desk.text(inner)} {what}.")
        current = get(toggled, place)
        assert isinstance(current, syntax.Method)
        toggled = put(toggled, place, method(current.value, current.name, *current.arguments, keepdim=not kept))
        count += 1
    if count > 1:
        yield Edit("shape", toggled, "The reductions need keepdim=True, or must not have it.")
    yield from _kept(desk, node)


def _kept(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A sum or a mean over another axis, which it keeps besides."""
    for place, inner in at(node, syntax.Method):
        assert isinstance(inner, syntax.Method)
        if inner.name in REDUCING[:5] and inner.arguments and not inner.keywords:
            for changed in (c for other in (0, 1, -1) for c in _with_axis(inner.arguments[0], axis(other))):
                new = method(inner.value, inner.name, changed, *inner.arguments[1:], keepdim=True)
                yield Edit("wrong_index", put(node, place, new), f"{desk.text(inner)} runs over the wrong axis.")


def _dims_together(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Another axis in each of several reductions over the same one."""
    found = [n for _, n in at(node, syntax.Method) if isinstance(n, syntax.Method)]
    over = [n.arguments[0] for n in found if n.name in REDUCING and n.arguments]
    others: list[syntax.Node] = [axis(n) for n in (0, 1, 2, -1, -2)]
    if desk.truths[0].ndim > 3:
        others += [syntax.Listing((axis(a), axis(b))) for a, b in ((2, 3), (-2, -1), (0, 1), (1, 2))]
    for old in (a for a in dict.fromkeys(over) if over.count(a) > 1):
        for other in others:
            words = f"The reductions run over axis {desk.text(old)}, and should run over axis {desk.text(other)}."
            yield Edit("wrong_index", map_nodes(node, _moved(old, other)), words)


def _moved(old: syntax.Node, new: syntax.Node) -> Callable[[syntax.Node], syntax.Node]:
    def change(node: syntax.Node) -> syntax.Node:
        if isinstance(node, syntax.Method) and node.name in REDUCING and node.arguments[:1] == (old,):
            return replace(node, arguments=(new, *node.arguments[1:]))
        return node

    return change


def axes_added(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A vector that must be a column or a row, or must not."""
    new: syntax.Node
    colon, none = syntax.Slice(None, None, None), syntax.Keyword(None)
    for place, inner in places(node):
        if isinstance(inner, syntax.Subscript) and len(inner.items) == 2:
            new = inner.value
            yield Edit("shape", put(node, place, new), f"{desk.text(inner)} should be {desk.text(new)}.")
        elif isinstance(inner, syntax.Name) and rank(desk, inner.id) >= 1:
            for items in ((colon, none), (none, colon), (syntax.Batch(), none)):
                new = syntax.Subscript(inner, items)
                words = f"{inner.id} needs an axis of its own: {desk.text(new)}."
                yield Edit("shape", put(node, place, new), words)
        elif isinstance(inner, syntax.Binary) and inner.op in ("@", "*"):
            left = inner.left
            right = inner.right.value if isinstance(inner.right, syntax.Attribute) else inner.right
            new = syntax.Call("outer", (left, right))
            why = ": .T does nothing to a vector" if right is not inner.right else ""
            words = f"{desk.text(inner)} is no outer product{why}. Write {desk.text(new)}."
            yield Edit("shape", put(node, place, new), words)


def sums_dropped(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A sum or a mean too many."""
    for place, inner in places(node):
        if isinstance(inner, syntax.Method) and inner.name in ("sum", "mean"):
            words = f"{desk.text(inner)} is a {inner.name} too many."
            yield Edit("extra_sum", put(node, place, inner.value), words)
        elif isinstance(inner, syntax.Binder) and inner.op in ("sum", "mean"):
            for index in inner.indices:
                rest = tuple(i for i in inner.indices if i != index)
                new = replace(inner, indices=rest) if rest else inner.body
                yield Edit("extra_sum", put(node, place, new), f"The {inner.op} over {index} is one too many.")
                for own in _unread(desk, inner):
                    words = f"The {inner.op} over {index} is one too many: {index} should be {own}."
                    yield Edit("extra_sum", put(node, place, rename(new, {index: own})), words)


def _unread(desk: Desk, node: syntax.Node) -> list[str]:
    """The indices of the left side that an expression does not read."""
    inside = {n.id for n in node.walk() if isinstance(n, syntax.Name)}
    return [i for i in desk.free if i != syntax.BATCH and i not in inside]


def sums_added(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A sum that is missing, of the whole or of a part."""
    if desk.line.indices is None:
        yield from _array_sums(desk, node)
    if desk.line.indices is None and desk.truths[0].ndim:
        return
    free = desk.free  # of a scalar, index form has none
    loose = _unbound(node, [i for i in index_names(desk, node) if i not in free])
    for count in range(1, min(len(loose), 3) + 1):
        for chosen in itertools.combinations(loose, count):
            for op in ("sum", "mean"):
                new = syntax.Binder(op, chosen, None, node)
                if isinstance(node, syntax.Binder) and node.op == op and node.condition is None:
                    new = replace(node, indices=(*chosen, *node.indices))
                yield Edit("missing_sum", new, f"The {op} over {', '.join(chosen)} is missing.")
    for place, inner in places(node):
        if isinstance(inner, syntax.Binder) and inner.op == "sum":
            for index in loose:
                new = replace(inner, indices=(*inner.indices, index))
                yield Edit("missing_sum", put(node, place, new), f"The sum over {index} is missing.")
        yield from _index_reused(desk, node, place, inner)
        own = _unbound(inner, [i for i in loose if i not in binders_above(node, place)]) if place else []
        if own and isinstance(inner, syntax.Binary | syntax.Access | syntax.Call) and not is_position(node, place):
            for op in ("sum", "mean"):
                new = syntax.Binder(op, tuple(own), None, inner)
                words = f"The {op} over {', '.join(own)} of {desk.text(inner)} is missing."
                yield Edit("missing_sum", put(node, place, new), words)


def _unbound(node: syntax.Node, names: Sequence[str]) -> list[str]:
    """Those of some indices that an expression reads where they are not bound."""
    if isinstance(node, syntax.Binder):
        names = [i for i in names if i not in node.indices]
    if isinstance(node, syntax.Name | syntax.Batch):
        return [i for i in names if i == (node.id if isinstance(node, syntax.Name) else syntax.BATCH)]
    found = {i for child in node.children() for i in _unbound(child, names)} if names else set()
    return [i for i in names if i in found]


def _index_reused(desk: Desk, node: syntax.Node, place: Place, inner: syntax.Node) -> Iterator[Edit]:
    """A part that should be summed over an index of its own, not read at that of the left side."""
    if not (isinstance(inner, syntax.Binary) and inner.op in ("*", "/")) or is_position(node, place):
        return
    names = {n.id for n in inner.walk() if isinstance(n, syntax.Name)}
    for index in desk.free:
        if index in names:
            spare = spare_letter(desk, node)
            for at_place, n in _repeated(inner, index):
                kept = put(rename(inner, {index: spare}), (*at_place, ("indices", n)), syntax.Name(index))
                new = syntax.Binder("sum", (spare,), None, kept)
                words = f"{desk.text(inner)} should be {desk.text(new)}: only what is on a diagonal is taken."
                yield Edit("missing_cross_terms", put(node, place, new), words)
            new = syntax.Binder("sum", (spare,), None, rename(inner, {index: spare}))
            words = f"{desk.text(inner)} is a sum over an index of its own: {desk.text(new)}."
            yield Edit("missing_sum", put(node, place, new), words)


def _repeated(node: syntax.Node, index: str) -> Iterator[tuple[Place, int]]:
    """The positions of an index in the accesses that have it more than once."""
    for place, inner in places(node):
        found = [n for n, i in enumerate(inner.indices) if i == syntax.Name(index)] if is_access(inner) else []
        yield from ((place, n) for n in found if len(found) > 1)


def _array_sums(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    for place, inner in places(node):
        axes = axes_of(desk, inner) if isinstance(inner, syntax.Binary | syntax.Name) else 0
        last = axes > 2 or "-1" in desk.text(node)
        dims_of = [*_batch(desk), *map(axis, range(min(axes, 2))), *([axis(-1)] if axes and last else [])]
        keeps = (False, True) if desk.misshapen or axes == 1 else (True,)  # else one axis less would not fit
        for dim, keep, op in itertools.product(dims_of, keeps, ("sum", "mean")):
            new = method(inner, op, dim, keepdim=keep)
            yield Edit("missing_sum", put(node, place, new), f"The {op} over an axis of {desk.text(inner)} is missing.")


def columns(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Every vector as a column, and every reduction with the axis that it runs over: for claims that do not fit."""
    if not desk.misshapen or desk.by_index:
        return

    def change(inner: syntax.Node) -> syntax.Node:
        if isinstance(inner, syntax.Name) and rank(desk, inner.id) == 1:
            return column(inner)
        if isinstance(inner, syntax.Method) and inner.name in REDUCING[:5] and inner.arguments:
            return method(inner.value, inner.name, *inner.arguments, keepdim=True)
        return inner

    words = "What is summed needs keepdim=True, and vectors need an axis of their own: [:, None]."
    yield Edit("shape", map_nodes(node, change), words)


def einsums(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """An ``einsum`` with other letters: those of the result, or two of an operand in each other's place."""
    for place, inner in at(node, syntax.Call):
        assert isinstance(inner, syntax.Call)
        if inner.function != "einsum" or not isinstance(inner.arguments[0], syntax.Text):
            continue
        operands, arrow, result = inner.arguments[0].value.replace(" ", "").partition("->")
        letters = sorted({c for c in operands if c.isalpha()})
        if not arrow or "." in operands or len(letters) > MOST_LETTERS:
            continue
        results = ("".join(p) for p in itertools.permutations(letters, len(result)))
        changed = [("wrong_index", f"{operands}->{r}") for r in results]
        parts = operands.split(",")
        for n, part in enumerate(parts):
            for a, b in itertools.combinations(dict.fromkeys(part), 2):
                other = part.translate(str.maketrans(a + b, b + a))
                changed.append(("transpose", f"{','.join([*parts[:n], other, *parts[n + 1 :]])}->{result}"))
        for kind, text in changed:
            new = replace(inner, arguments=(syntax.Text(text), *inner.arguments[1:]))
            yield Edit(kind, put(node, place, new), f"'{operands}->{result}' should be '{text}'.")


MOST_LETTERS = 6
"""Letters of an ``einsum`` whose orders are tried."""
