"""Changes of what is read: another tensor, another index, another function or another condition."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from symderive.claims.desk import Desk, Finding
from symderive.claims.edit_tools import (
    Edit,
    alike,
    class_ids,
    extent,
    spare_letter,
    takes_index,
    with_tensor,
)
from symderive.claims.lines import names_in
from symderive.claims.trees import (
    Place,
    binders_above,
    get,
    map_nodes,
    number,
    places,
    put,
    rename,
    tensor_of,
    terms_of,
)
from symderive.spec import syntax
from symderive.spec.functions import NORMALISERS


def operands(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Another tensor in the place of one, everywhere or at one place."""
    bench = desk.benches[0]
    used = list(dict.fromkeys(tensor_of(n) for n in node.walk() if tensor_of(n) in bench.tensors))
    for name in used:
        spots = [p for p, n in places(node) if tensor_of(n) == name]
        for other in alike(desk, name):
            everywhere = node
            for place in spots:
                everywhere = put(everywhere, place, with_tensor(get(everywhere, place), other))
            yield Edit("wrong_operand", everywhere, f"{name} should be {other}.")
            if len(spots) > 1:
                for place in spots:
                    new = put(node, place, with_tensor(get(node, place), other))
                    yield Edit("wrong_operand", new, f"One {name} should be {other}.")


def undefined(desk: Desk) -> Finding | None:
    """A tensor where a sum or a difference with it is meant that has a name: ``x`` for ``z = x - m``."""
    node = desk.node
    for equation in desk.spec.equations:
        read = [tensor_of(t) for _, t in terms_of(equation.right)]
        for name in (n for n in read if len(read) > 1 and n in names_in(node) and equation.tensor in alike(desk, n)):
            words = f"{name} should be {equation.tensor}, which is {desk.text(equation.right)}."
            new = _renamed(node, {name: equation.tensor})
            if desk.fits(new):
                return Finding("wrong_operand", words, new)
    return None


def exchanged(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Two tensors that stand in each other's place; the states of a sequence, all one step too far."""
    bench = desk.benches[0]
    used = list(dict.fromkeys(tensor_of(n) for n in node.walk() if tensor_of(n) in bench.tensors))
    for a, b in itertools.combinations(used, 2):
        if b in alike(desk, a):
            kind = "transpose" if desk.misshapen else "wrong_operand"
            yield Edit(kind, _renamed(node, {a: b, b: a}), f"{a} and {b} are exchanged.")
    steps = [(m[1], int(m[2]), name) for name in used if (m := re.fullmatch(r"(.*?)(\d+)", name))]
    for stem in dict.fromkeys(s for s, _, _ in steps):
        for by in (-1, 1):
            names = {name: f"{stem}{n + by}" for s, n, name in steps if s == stem}
            if len(names) > 1 and all(n in bench.tensors for n in names.values()):
                words = " and ".join(f"{old} should be {new}" for old, new in names.items())
                yield Edit("wrong_operand", _renamed(node, names), f"One step too {_FAR[by]}: {words}.")


_FAR = {-1: "late", 1: "early"}


def _renamed(node: syntax.Node, names: Mapping[str, str]) -> syntax.Node:
    def change(inner: syntax.Node) -> syntax.Node:
        return with_tensor(inner, names[tensor_of(inner)]) if tensor_of(inner) in names else inner

    return map_nodes(node, change)


def gathered(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """All rows of a table where those are meant that ids pick: ``E`` for ``E[ids]``."""
    for tensor in desk.spec.inputs if not desk.by_index else ():
        if tensor.index is None or tensor.name in names_in(node):
            continue
        for place, inner in places(node):
            shape = desk.spec.shapes.get(inner.id, ()) if isinstance(inner, syntax.Name) else ()
            if shape and str(shape[0]) == str(tensor.index):
                new = syntax.Subscript(inner, (syntax.Name(tensor.name),))
                words = f"{desk.text(inner)} should be {desk.text(new)}: its rows are picked by {tensor.name}."
                yield Edit("wrong_index", put(node, place, new), words)


def hot(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Class ids used as numbers, where one-hot rows are meant."""
    for tensor in desk.spec.inputs:
        if tensor.index is None:
            continue
        classes = _size_node(str(tensor.index))
        for place, inner in places(node):
            if tensor_of(inner) != tensor.name:
                continue
            if isinstance(inner, syntax.Name):
                new: syntax.Node = syntax.Call("one_hot", (inner, classes))
                words = f"{tensor.name} holds class ids: write {desk.text(new)}."
                yield Edit("wrong_operand", put(node, place, new), words)
                above = place[:-1]
                if place and isinstance(get(node, above), syntax.Subscript):
                    yield Edit("wrong_operand", put(node, above, new), words)
            elif isinstance(inner, syntax.Access):
                for index in desk.free:
                    new = syntax.Call("delta", (syntax.Name(index), inner))
                    yield Edit(
                        "wrong_operand", put(node, place, new), f"{desk.text(inner)} should be {desk.text(new)}."
                    )


def _size_node(text: str) -> syntax.Node:
    return number(int(text)) if text.isdigit() else syntax.Name(text)


def indices(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Another index at one position of an access."""
    if not desk.by_index:
        return
    free = list(desk.free)
    for place, inner in places(node):
        if not place or not isinstance(inner, syntax.Name | syntax.Number) or not takes_index(node, place):
            continue
        if isinstance(inner, syntax.Number):
            yield from _other_entry(desk, node, place, inner)
            continue
        scope = [i for i in (*free, *binders_above(node, place)) if i != syntax.BATCH]
        for other in [*map(syntax.Name, scope), *class_ids(desk, scope)]:
            if other != inner and not _trivial(node, place, other):
                text = desk.text(get(node, place[:-1]))
                words = f"The index {inner.id} in {text} should be {desk.text(other)}."
                yield Edit("wrong_index", put(node, place, other), words)
        above = get(node, place[:-1])
        if isinstance(above, syntax.Access) and extent(desk, above, place[-1][1]) == 1:
            words = f"{desk.text(above)} has one entry along that axis: its index is 0."
            yield Edit("shape", put(node, place, number(0)), words)
    yield from _exchanged_inside(desk, node)


def _other_entry(desk: Desk, node: syntax.Node, place: Place, inner: syntax.Number) -> Iterator[Edit]:
    """An index, or the number of an entry that the left side names, in place of another number."""
    named = [i for i in desk.line.indices or () if isinstance(i, syntax.Number) and i != inner]
    scope = [i for i in (*desk.free, *binders_above(node, place)) if i != syntax.BATCH]
    for other in dict.fromkeys([*named, *map(syntax.Name, scope)]):
        words = f"The index {desk.text(inner)} in {desk.text(get(node, place[:-1]))} should be {desk.text(other)}."
        yield Edit("wrong_index", put(node, place, other), words)


def _exchanged_inside(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """An index of the left side and one that is summed over in each other's place throughout what is summed."""
    for place, inner in places(node):
        if not isinstance(inner, syntax.Binder) or inner.op not in ("sum", "mean"):
            continue
        names = {n.id for n in inner.body.walk() if isinstance(n, syntax.Name)}
        own = [i for i in desk.free if i in names]
        for a, b in itertools.product(own, inner.indices):
            new = replace(inner, body=rename(inner.body, {a: b, b: a}))
            words = f"{a} and {b} are exchanged in {desk.text(inner.body)}."
            yield Edit("wrong_index", put(node, place, new), words)


def _trivial(root: syntax.Node, place: Place, other: syntax.Node) -> bool:
    """Whether a delta would have two equal indices."""
    above = get(root, place[:-1])
    return isinstance(above, syntax.Call) and above.function == "delta" and other in above.arguments


def rebound(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """An index that is bound though it is in use: another letter is needed."""
    if not desk.by_index:
        return
    for place, inner in places(node):
        if not isinstance(inner, syntax.Binder) or inner.op in NORMALISERS:
            continue
        scope = {*desk.free, *binders_above(node, place)}
        for index in scope & set(inner.indices):
            new = rename(inner, {index: spare_letter(desk, node)})
            words = f"{inner.op}[{index}] binds an index that is in use already: give it another letter."
            yield Edit("wrong_index", put(node, place, new), words)


def shifted(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A reduction or a normaliser that runs over the wrong axis of a tensor."""
    if not desk.by_index:
        return
    free = [i for i in desk.free if i != syntax.BATCH]
    for place, inner in places(node):
        if isinstance(inner, syntax.Binder) and inner.op in NORMALISERS:
            for other in free:
                words = f"{inner.op} runs over {', '.join(inner.indices)}, and should run over {other}."
                yield Edit("wrong_index", put(node, place, replace(inner, indices=(other,))), words)
        elif isinstance(inner, syntax.Access) and len(inner.indices) > 1:
            for p, q in itertools.permutations(range(len(inner.indices)), 2):
                for other in free:
                    moved = list(inner.indices)
                    moved[p], moved[q] = syntax.Name(other), inner.indices[p]
                    if not any(isinstance(i, syntax.Batch) for i in inner.indices):
                        new = replace(inner, indices=tuple(moved))
                        words = f"{desk.text(inner)} should be {desk.text(new)}: the axes are mixed up."
                        yield Edit("wrong_index", put(node, place, new), words)


def comparisons(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A comparison the wrong way round, or one that takes in its border or does not; swapped branches."""
    turns = {"<": (">", "<="), ">": ("<", ">="), "<=": (">=", "<"), ">=": ("<=", ">"), "==": ("!=",), "!=": ("==",)}
    for place, inner in places(node):
        if isinstance(inner, syntax.Compare) and len(inner.ops) == 1:
            for op in turns[inner.ops[0]]:
                new: syntax.Node = replace(inner, ops=(op,))
                words = f"The condition {desk.text(inner)} should be {desk.text(new)}."
                yield Edit("wrong_index", put(node, place, new), words)
    for place, inner in places(node):
        if isinstance(inner, syntax.Call) and inner.function == "where" and len(inner.arguments) == 3:
            c, a, b = inner.arguments
            swapped = replace(inner, arguments=(c, b, a))
            yield Edit("wrong_operand", put(node, place, swapped), f"The branches of {desk.text(inner)} are swapped.")


def accesses(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Another tensor in the place of one, with indices of its own: ``A[i, j]`` for ``B[p, q]``."""
    if not desk.by_index:
        return
    free = desk.free
    for place, inner in places(node):
        if not isinstance(inner, syntax.Access) or inner.tensor not in desk.benches[0].tensors:
            continue
        scope = [i for i in (*free, *binders_above(node, place)) if i != syntax.BATCH]
        for other in alike(desk, inner.tensor):
            for chosen in itertools.permutations(scope, len(inner.indices)):
                new = syntax.Access(other, tuple(map(syntax.Name, chosen)))
                if new.indices != inner.indices:
                    words = f"{desk.text(inner)} should be {desk.text(new)}."
                    yield Edit("wrong_operand", put(node, place, new), words)
