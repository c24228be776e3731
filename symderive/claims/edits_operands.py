"""Changes of what is read: another tensor, another index, another function or another condition."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from symderive.claims.bench import free_names
from symderive.claims.desk import Desk
from symderive.claims.edit_tools import (
    Edit,
    alike,
    at,
    extent,
    index_names,
    takes_index,
    with_tensor,
)
from symderive.claims.trees import (
    Place,
    binders_above,
    bound_in,
    get,
    number,
    places,
    put,
    rename,
    substitute,
    tensor_of,
)
from symderive.spec import syntax
from symderive.spec.functions import FUNCTIONS, NORMALISERS


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
                for index in free_names(desk.line.indices or ()):
                    new = syntax.Call("delta", (syntax.Name(index), inner))
                    yield Edit(
                        "wrong_operand", put(node, place, new), f"{desk.text(inner)} should be {desk.text(new)}."
                    )


def _size_node(text: str) -> syntax.Node:
    return number(int(text)) if text.isdigit() else syntax.Name(text)


def indices(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Another index at one position of an access."""
    if desk.line.indices is None:
        return
    free = [*free_names(desk.line.indices)]
    for place, inner in places(node):
        if not place or not isinstance(inner, syntax.Name) or not takes_index(node, place):
            continue
        for other in [*free, *binders_above(node, place)]:
            if other not in (inner.id, syntax.BATCH):
                words = f"The index {inner.id} in {desk.text(get(node, place[:-1]))} should be {other}."
                yield Edit("wrong_index", put(node, place, replace(inner, id=other)), words)
        above = get(node, place[:-1])
        if isinstance(above, syntax.Access) and extent(desk, above, place[-1][1]) == 1:
            words = f"{desk.text(above)} has one entry along that axis: its index is 0."
            yield Edit("shape", put(node, place, number(0)), words)


def rebound(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """An index that is bound though it is in use: another letter is needed."""
    if desk.line.indices is None:
        return
    for place, inner in places(node):
        if not isinstance(inner, syntax.Binder) or inner.op in NORMALISERS:
            continue
        scope = {*free_names(desk.line.indices), *binders_above(node, place)}
        for index in scope & set(inner.indices):
            spare = next(c for c in "klmnpqruvabcdefghijost" if c not in scope | set(index_names(desk, node)))
            new = rename(inner, {index: spare})
            words = f"{inner.op}[{index}] binds an index that is in use already: give it another letter."
            yield Edit("wrong_index", put(node, place, new), words)


def arguments(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """The argument of a function as the forward has it, or another function of the same argument."""
    forward = [
        n for e in desk.spec.equations for n in e.right.walk() if isinstance(n, syntax.Call) and n.function in FUNCTIONS
    ]
    taken = set(free_names(desk.line.indices or ())) | bound_in(node)
    for place, inner in at(node, syntax.Call):
        assert isinstance(inner, syntax.Call)
        if inner.function not in FUNCTIONS:
            continue
        for other in forward:
            for argument in _fitted(desk, other.arguments[0], taken, node, place):
                new = replace(inner, arguments=(argument, *inner.arguments[1:]))
                words = f"The argument of {desk.text(inner)} should be {desk.text(argument)}."
                yield Edit("wrong_operand", put(node, place, new), words)


def _fitted(
    desk: Desk, argument: syntax.Node, taken: set[str], root: syntax.Node, place: Place
) -> Iterator[syntax.Node]:
    """A part of the forward with its bound indices out of the way and its free ones among those at hand."""

    if desk.line.indices is None:
        return
    spare = (c for c in "klmnpqrsuvwabcdefgh" if c not in taken and c not in desk.benches[0].tensors)
    names = {i: next(spare, i) for i in sorted(bound_in(argument)) if i in taken}
    argument = rename(argument, names)
    loose = [i for i in index_names(desk, argument) if i not in bound_in(argument) and i != syntax.BATCH]
    scope = [*free_names(desk.line.indices), *binders_above(root, place)]
    for chosen in itertools.permutations(scope, len(loose)):
        yield substitute(argument, {i: syntax.Name(c) for i, c in zip(loose, chosen, strict=True)})


_SWAPS = {
    "softmax": ("log_softmax", "exp"),
    "log_softmax": ("softmax",),
    "exp": ("softmax", "log"),
    "log": ("exp",),
    "sin": ("cos",),
    "cos": ("sin",),
    "sigmoid": ("tanh", "logsigmoid"),
    "tanh": ("sigmoid",),
    "sqrt": ("rsqrt", "square"),
    "rsqrt": ("sqrt",),
    "relu": ("sign", "abs"),
    "abs": ("sign",),
    "sign": ("abs",),
}


def functions(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Another function of the same argument, or none."""
    free = free_names(desk.line.indices or ())
    for place, inner in places(node):
        if isinstance(inner, syntax.Binder) and inner.op in NORMALISERS:
            for other in _SWAPS[inner.op]:
                if other in NORMALISERS:
                    words = f"{inner.op} should be {other}."
                    yield Edit("wrong_operand", put(node, place, replace(inner, op=other)), words)
        elif isinstance(inner, syntax.Call) and inner.arguments and inner.function in (*_SWAPS, *FUNCTIONS):
            for new in _other_functions(inner, free, array=desk.line.indices is None):
                words = f"{desk.text(inner)} should be {desk.text(new)}."
                yield Edit("wrong_operand", put(node, place, new), words)


def _other_functions(call: syntax.Call, free: Sequence[str], *, array: bool) -> Iterator[syntax.Node]:
    for other in _SWAPS.get(call.function, ()):
        if other in FUNCTIONS:
            yield syntax.Call(other, call.arguments[:1])
        elif array:
            yield syntax.Call(other, (call.arguments[0], *(call.arguments[1:] or (number(-1),))))
        else:
            yield from (syntax.Binder(other, (i,), None, call.arguments[0]) for i in free)
    if call.function in FUNCTIONS:
        yield call.arguments[0]


def shifted(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A reduction or a normaliser that runs over the wrong axis of a tensor."""
    if desk.line.indices is None:
        return
    free = [i for i in free_names(desk.line.indices) if i != syntax.BATCH]
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
        elif isinstance(inner, syntax.Call) and inner.function == "where" and len(inner.arguments) == 3:
            c, a, b = inner.arguments
            swapped = replace(inner, arguments=(c, b, a))
            yield Edit("wrong_operand", put(node, place, swapped), f"The branches of {desk.text(inner)} are swapped.")
