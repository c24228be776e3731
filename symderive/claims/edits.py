"""The changes that people forget or make too often, each tried on every place of a claim."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from symderive.check.sample import numbers_of
from symderive.claims.bench import free_names
from symderive.claims.desk import Desk, Finding
from symderive.claims.lines import names_in
from symderive.claims.trees import (
    Place,
    axis,
    binders_above,
    bound_in,
    factors_of,
    get,
    method,
    negated,
    number,
    places,
    product_of,
    put,
    rename,
    sum_of,
    tensor_of,
    terms_of,
)
from symderive.claims.world import gradient_names
from symderive.record import record
from symderive.spec import syntax
from symderive.spec.functions import FUNCTIONS, NORMALISERS, STRUCTURAL


@record
class Edit:
    """A changed claim, the kind of mistake that the change mends, and words for it."""

    kind: str
    node: syntax.Node
    words: str


Family = Callable[[Desk, syntax.Node], Iterator[Edit]]


def single_edits(desk: Desk, node: syntax.Node | None = None) -> Finding | None:
    """The first single change that makes the claim right."""
    node = desk.node if node is None else node
    tried: set[syntax.Node] = {node}
    for family in FAMILIES:
        for edit in family(desk, node):
            if desk.late:
                return None
            if edit.node in tried:
                continue
            tried.add(edit.node)
            if desk.fits(edit.node):
                return Finding(edit.kind, edit.words, edit.node)
    return None


def _at(node: syntax.Node, kinds: type | tuple[type, ...]) -> Iterator[tuple[Place, syntax.Node]]:
    for place, inner in places(node):
        if isinstance(inner, kinds):
            yield place, inner


# Transposes


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
    elif isinstance(inner, syntax.Name) and _rank(desk, inner.id) >= 2 and not _under_transpose(root, place):
        yield syntax.Attribute(inner, "T" if _rank(desk, inner.id) == 2 else "mT")
    elif isinstance(inner, syntax.Binary) and inner.op == "@":
        yield replace(inner, left=inner.right, right=inner.left)
        yield syntax.Attribute(inner, "T")
    elif isinstance(inner, syntax.Call) and inner.function == "outer":
        yield replace(inner, arguments=inner.arguments[::-1])
    elif isinstance(inner, syntax.Subscript) and len(inner.items) == 2:
        yield replace(inner, items=inner.items[::-1])
    elif isinstance(inner, syntax.Method) and inner.name in ("inv", "inverse"):
        yield syntax.Attribute(inner, "T")


def _under_transpose(root: syntax.Node, place: Place) -> bool:
    return bool(place) and isinstance(get(root, place[:-1]), syntax.Attribute)


def _rank(desk: Desk, name: str) -> int:
    array = desk.benches[0].tensors.get(name)
    return -1 if array is None else np.ndim(array)


# Sums and means


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
        yield Edit("mean_vs_sum", changed, f"Each {_this(found[0][1])} should be a {_name(found[0][1])}.")


def _this(node: syntax.Node) -> str:
    return node.op if isinstance(node, syntax.Binder) else node.name if isinstance(node, syntax.Method) else ""


def _name(node: syntax.Node) -> str:
    return "mean" if _this(node) == "sum" else "sum"


def _other(node: syntax.Node) -> syntax.Node:
    if isinstance(node, syntax.Binder):
        return replace(node, op=_name(node))
    assert isinstance(node, syntax.Method)
    return replace(node, name=_name(node))


def _called(node: syntax.Method | syntax.Call) -> str:
    return node.name if isinstance(node, syntax.Method) else node.function


_REDUCING = ("sum", "mean", "amax", "amin", "logsumexp", "softmax", "log_softmax", "prod")


def dims(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Another axis, or ``keepdim`` where there is none, or none where there is one."""
    for place, inner in places(node):
        if not isinstance(inner, syntax.Method | syntax.Call) or _called(inner) not in _REDUCING:
            continue
        skip = 0 if isinstance(inner, syntax.Method) else 1
        near = [0, 1, 2, -1, -2, -3] if "-" not in desk.text(inner) else [-1, -2, -3, 0, 1, 2]
        for other in near:
            for position in range(skip, len(inner.arguments)):
                arguments = list(inner.arguments)
                arguments[position] = axis(other)
                new = replace(inner, arguments=tuple(arguments))
                yield Edit("wrong_index", put(node, place, new), f"{desk.text(inner)} runs over the wrong axis.")
    toggled = node
    count = 0
    for place, inner in _at(node, syntax.Method):
        assert isinstance(inner, syntax.Method)
        if inner.name not in _REDUCING[:5] or not inner.arguments:
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


def axes_added(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A vector that must be a column or a row, or must not."""
    new: syntax.Node
    colon, none = syntax.Slice(None, None, None), syntax.Keyword(None)
    for place, inner in places(node):
        if isinstance(inner, syntax.Subscript) and len(inner.items) == 2:
            new = inner.value
            yield Edit("shape", put(node, place, new), f"{desk.text(inner)} should be {desk.text(new)}.")
        elif isinstance(inner, syntax.Name) and _rank(desk, inner.id) >= 1:
            for items in ((colon, none), (none, colon), (syntax.Batch(), none)):
                new = syntax.Subscript(inner, items)
                words = f"{inner.id} needs an axis of its own: {desk.text(new)}."
                yield Edit("shape", put(node, place, new), words)
        elif isinstance(inner, syntax.Binary) and inner.op in ("@", "*"):
            left = inner.left
            right = inner.right.value if isinstance(inner.right, syntax.Attribute) else inner.right
            new = syntax.Call("outer", (left, right))
            words = f"{desk.text(inner)} is no outer product: .T does nothing to a vector. Write {desk.text(new)}."
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


def sums_added(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A sum that is missing, of the whole or of a part."""
    if desk.line.indices is None:
        yield from _array_sums(desk, node)
        return
    free = free_names(desk.line.indices)
    loose = [i for i in _index_names(desk, node) if i not in free and i not in bound_in(node)]
    for count in range(1, min(len(loose), 3) + 1):
        for chosen in itertools.combinations(loose, count):
            for op in ("sum", "mean"):
                new = syntax.Binder(op, chosen, None, node)
                yield Edit("missing_sum", new, f"The {op} over {', '.join(chosen)} is missing.")
    for place, inner in places(node):
        if isinstance(inner, syntax.Binder) and inner.op == "sum":
            for index in loose:
                new = replace(inner, indices=(*inner.indices, index))
                yield Edit("missing_sum", put(node, place, new), f"The sum over {index} is missing.")
        own = [i for i in loose if place and i in _index_names(desk, inner)]
        if own and isinstance(inner, syntax.Binary | syntax.Access | syntax.Call) and not _is_position(node, place):
            for op in ("sum", "mean"):
                new = syntax.Binder(op, tuple(own), None, inner)
                words = f"The {op} over {', '.join(own)} of {desk.text(inner)} is missing."
                yield Edit("missing_sum", put(node, place, new), words)


def _is_position(root: syntax.Node, place: Place) -> bool:
    return any(name == "indices" for name, _ in place)


def _index_names(desk: Desk, node: syntax.Node) -> list[str]:
    """The names in an expression that can only be indices."""
    bench = desk.benches[0]
    known = {*bench.tensors, *bench.world.sizes, *bench.world.constants, "pi", "inf"}
    names = dict.fromkeys(n.id for n in node.walk() if isinstance(n, syntax.Name) and n.id not in known)
    if any(isinstance(n, syntax.Batch) for n in node.walk()):
        names[syntax.BATCH] = None
    return list(names)


def _array_sums(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    for place, inner in places(node):
        if isinstance(inner, syntax.Binary) or (isinstance(inner, syntax.Name) and _rank(desk, inner.id) > 0):
            for dim, keep, op in itertools.product((0, 1, -1), (False, True), ("sum", "mean")):
                new = method(inner, op, axis(dim), keepdim=keep)
                yield Edit(
                    "missing_sum", put(node, place, new), f"The {op} over an axis of {desk.text(inner)} is missing."
                )


# Operands and indices


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


def with_tensor(node: syntax.Node, name: str) -> syntax.Node:
    """An access, or a bare name, of another tensor."""
    return replace(node, tensor=name) if isinstance(node, syntax.Access) else replace(node, id=name)  # type: ignore[call-arg]


def alike(desk: Desk, name: str) -> list[str]:
    """Tensors of the same rank, those of the same shape first; the gradient that is claimed is none."""
    tensors = desk.benches[0].tensors
    shape = np.shape(tensors[name])
    taken = {desk.line.name, name, f"d{desk.line.tensor}", f"d{desk.line.tensor}_total"}
    usable = [n for n in tensors if n not in taken and not n.startswith(("D:", "~")) and not _doubled(desk, n)]
    if not name.startswith("d"):  # a forward tensor is taken for an upstream, but hardly for another gradient
        gradients = gradient_names(desk.spec)
        usable = [n for n in usable if n not in gradients or gradients[n] in desk.spec.outputs]
    same = [n for n in usable if np.shape(tensors[n]) == shape]
    return same + [n for n in usable if np.ndim(tensors[n]) == len(shape) and n not in same]


def _doubled(desk: Desk, name: str) -> bool:
    return name.endswith("_total") and name.removesuffix("_total") in desk.benches[0].tensors


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
        if not place or not isinstance(inner, syntax.Name) or not _takes_index(node, place):
            continue
        for other in [*free, *binders_above(node, place)]:
            if other not in (inner.id, syntax.BATCH):
                words = f"The index {inner.id} in {desk.text(get(node, place[:-1]))} should be {other}."
                yield Edit("wrong_index", put(node, place, replace(inner, id=other)), words)
        above = get(node, place[:-1])
        if isinstance(above, syntax.Access) and _extent(desk, above, place[-1][1]) == 1:
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
            spare = next(c for c in "klmnpqruvabcdefghijost" if c not in scope | set(_index_names(desk, node)))
            new = rename(inner, {index: spare})
            words = f"{inner.op}[{index}] binds an index that is in use already: give it another letter."
            yield Edit("wrong_index", put(node, place, new), words)


def _takes_index(root: syntax.Node, place: Place) -> bool:
    above = get(root, place[:-1])
    if isinstance(above, syntax.Access):
        return True
    return isinstance(above, syntax.Call) and above.function == "delta"


def _extent(desk: Desk, access: syntax.Access, position: int | None) -> int:
    array = desk.benches[0].tensors.get(access.tensor)
    shape = np.shape(array) if array is not None else ()
    return shape[position] if position is not None and position < len(shape) else 0


# Factors


def factors_dropped(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """One or two factors too many; a factor upside down; a power one too high or too low."""
    for place, inner in _products(node):
        factors = factors_of(inner)
        for count in (1, 2):
            for gone in itertools.combinations(range(len(factors)), count):
                rest = [f for n, f in enumerate(factors) if n not in gone]
                words = " * ".join(desk.text(factors[n][1]) for n in gone)
                yield Edit("factor", put(node, place, product_of(rest)), f"The factor {words} is one too many.")
        for n, (op, factor) in enumerate(factors):
            flipped = list(factors)
            flipped[n] = ("/" if op == "*" else "*", factor)
            done = "divided by" if op == "/" else "multiplied by"
            words = f"The claim is {done} {desk.text(factor)}, and it should be the other way round."
            yield Edit("factor", put(node, place, product_of(flipped)), words)


def _products(node: syntax.Node) -> Iterator[tuple[Place, syntax.Node]]:
    for place, inner in places(node):
        if not (isinstance(inner, syntax.Binary) and inner.op in ("*", "/")):
            continue
        above = get(node, place[:-1]) if place else None
        if not (isinstance(above, syntax.Binary) and above.op in ("*", "/") and place[-1][0] == "left"):
            yield place, inner


def powers(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A power that is off by one, or a square that is missing."""
    for place, inner in places(node):
        if isinstance(inner, syntax.Binary) and inner.op == "**" and isinstance(inner.right, syntax.Number):
            for change in (-1, 1, 2):
                new = replace(inner, right=number(inner.right.value + change))
                yield Edit("factor", put(node, place, new), f"The power {desk.text(inner)} should be {desk.text(new)}.")
            yield Edit("factor", put(node, place, inner.left), f"{desk.text(inner)} should be {desk.text(inner.left)}.")
        elif _rank(desk, tensor_of(inner)) >= 0 and not _is_position(node, place):
            for power in (2, -1):
                new = syntax.Binary("**", inner, number(power))
                words = f"{desk.text(inner)} should be {desk.text(new)}."
                yield Edit("factor", put(node, place, new), words)


def factors_added(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A factor that is missing: a tensor of the forward, an upstream, with indices that are at hand."""
    given = {f"d{n}" for n in desk.spec.outputs}
    for place, inner in _heads(node):
        for factor in [*_available(desk, node, place), *_deltas(desk, node, place)]:
            name = tensor_of(factor)
            kind = "missing_upstream" if name in given else "factor"
            for op in ("*", "/"):
                new = syntax.Binary(op, inner, factor)
                what = "upstream" if kind == "missing_upstream" else "factor"
                words = f"The {what} {desk.text(factor)} is missing in {desk.text(inner)}."
                if op == "/":
                    words = f"The division of {desk.text(inner)} by {desk.text(factor)} is missing."
                yield Edit(kind, put(node, place, new), words)


def _heads(node: syntax.Node) -> Iterator[tuple[Place, syntax.Node]]:
    """Products, terms and bodies: where a factor can be missing."""
    yield (), node
    for place, inner in places(node):
        if not place or _is_position(node, place):
            continue
        above = get(node, place[:-1])
        if (
            (isinstance(above, syntax.Binder) and place[-1][0] == "body")
            or (isinstance(above, syntax.Binary) and above.op in ("+", "-"))
            or (isinstance(above, syntax.Call) and above.function in (*STRUCTURAL, *FUNCTIONS))
        ):
            yield place, inner


def _available(desk: Desk, root: syntax.Node, place: Place) -> Iterator[syntax.Node]:
    tensors = desk.benches[0].tensors
    usable = [n for n in tensors if not n.startswith(("D:", "~")) and not _doubled(desk, n) and n != desk.line.name]
    ids = {i.name for i in desk.spec.inputs if not i.is_real}
    seen = names_in(root)
    gradients = gradient_names(desk.spec)
    ids |= {n for n, of in gradients.items() if of not in desk.spec.outputs and n not in seen}
    usable = [n for n in usable if n not in ids]
    if desk.line.indices is None:
        for name in usable:
            yield syntax.Name(name)
            if np.ndim(tensors[name]) == 1:
                yield syntax.Subscript(syntax.Name(name), (syntax.Slice(None, None, None), syntax.Keyword(None)))
        return
    scope = [*free_names(desk.line.indices), *binders_above(root, place)]
    if syntax.BATCH in scope:
        scope.remove(syntax.BATCH)
    for name in usable:
        shape = desk.spec.shapes.get(name) or desk.spec.shapes.get(name[1:]) or ()
        batched = bool(shape) and str(shape[0]) == syntax.BATCH
        rank = np.ndim(tensors[name]) - (desk.benches[0].world.batch if batched else 0)
        if rank > 3 or (batched and rank < 0):
            continue
        for chosen in itertools.permutations(scope, rank):
            labels: list[syntax.Node] = [syntax.Name(i) for i in chosen]
            if batched:
                labels.insert(0, syntax.Batch())
            yield syntax.Access(name, tuple(labels)) if labels else syntax.Name(name)


# Signs, numbers, brackets


def signs(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A sign that is wrong somewhere inside: of an argument, of a term under a function."""
    for place, inner in places(node):
        if _is_position(node, place):
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
        if _is_sum(inner) and not (place and _is_sum(get(node, place[:-1]))) and not _is_position(node, place):
            terms = terms_of(inner)
            for n, (_, term) in enumerate(terms):
                rest = [t for m, t in enumerate(terms) if m != n]
                yield Edit(
                    "extra_term", put(node, place, sum_of(rest)), f"There is a term too many: {desk.text(term)}."
                )


def _is_sum(node: syntax.Node) -> bool:
    return isinstance(node, syntax.Binary) and node.op in ("+", "-")


def terms_added(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A term that is missing: a tensor, or a delta, with indices that are at hand."""
    for place, inner in _heads(node):
        for extra in [*_deltas(desk, node, place), *_available(desk, node, place)]:
            for op in ("+", "-"):
                words = f"The term {op} {desk.text(extra)} is missing beside {desk.text(inner)}."
                yield Edit("missing_term", put(node, place, syntax.Binary(op, inner, extra)), words)


def _deltas(desk: Desk, root: syntax.Node, place: Place) -> Iterator[syntax.Node]:
    if desk.line.indices is None:
        return
    scope = [*free_names(desk.line.indices), *binders_above(root, place)]
    for a, b in itertools.combinations([i for i in scope if i != syntax.BATCH], 2):
        yield syntax.Call("delta", (syntax.Name(a), syntax.Name(b)))


def upstreams(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A 1 where the upstream should stand."""
    for place, inner in _at(node, syntax.Number):
        if not isinstance(inner, syntax.Number) or inner.value != 1 or _is_position(node, place):
            continue
        for new in _available(desk, node, place):
            if tensor_of(new).removeprefix("d") in desk.spec.outputs and tensor_of(new).startswith("d"):
                yield Edit("missing_upstream", put(node, place, new), f"The upstream is missing: {desk.text(new)}.")
        for new in _deltas(desk, node, place):
            words = f"The 1 should be {desk.text(new)}: off the diagonal it is 0."
            yield Edit("missing_cross_terms", put(node, place, new), words)


def numbers(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Another number, or a size or a constant in its place."""
    known = [*desk.benches[0].world.constants, *(n for n, v in desk.points[0].sizes.items() if isinstance(v, int))]
    for place, inner in _at(node, syntax.Number):
        assert isinstance(inner, syntax.Number)
        if _is_position(node, place):
            continue
        value = inner.value
        if isinstance(get(node, place[:-1]), syntax.Compare):
            for other in sorted({v for v in numbers_of(desk.spec) if v >= 0}):
                words = f"The border {desk.text(inner)} should be {desk.text(number(other))}."
                yield Edit("wrong_operand", put(node, place, number(other)), words)
        for other in (value * 2, value / 2, value + 1, value - 1, 1 / value if value else Fraction(1)):
            if other >= 0:
                words = f"The number {desk.text(inner)} should be {desk.text(number(other))}."
                yield Edit("factor", put(node, place, number(other)), words)
        for name in known:
            yield Edit("factor", put(node, place, syntax.Name(name)), f"{desk.text(inner)} should be {name}.")
    for place, inner in _at(node, syntax.Name):
        if tensor_of(inner) in known and not _is_position(node, place):
            for name in known:
                if name != tensor_of(inner):
                    new = syntax.Name(name)
                    yield Edit("factor", put(node, place, new), f"{desk.text(inner)} should be {name}.")


def brackets(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """Brackets that are missing: ``a + b / c`` for ``(a + b) / c``, ``a * b + c`` for ``a * (b + c)``."""
    for place, inner in places(node):
        if not _is_sum(inner) or (place and _is_sum(get(node, place[:-1]))):
            continue
        terms = terms_of(inner)
        for new in _regrouped(terms):
            words = f"Brackets are missing: {desk.text(inner)} should be {desk.text(new)}."
            yield Edit("factor", put(node, place, new), words)


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


def arguments(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """The argument of a function as the forward has it, or another function of the same argument."""
    forward = [
        n for e in desk.spec.equations for n in e.right.walk() if isinstance(n, syntax.Call) and n.function in FUNCTIONS
    ]
    taken = set(free_names(desk.line.indices or ())) | bound_in(node)
    for place, inner in _at(node, syntax.Call):
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
    from symderive.claims.trees import substitute

    if desk.line.indices is None:
        return
    spare = (c for c in "klmnpqrsuvwabcdefgh" if c not in taken and c not in desk.benches[0].tensors)
    names = {i: next(spare, i) for i in sorted(bound_in(argument)) if i in taken}
    argument = rename(argument, names)
    loose = [i for i in _index_names(desk, argument) if i not in bound_in(argument) and i != syntax.BATCH]
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


FAMILIES: tuple[Family, ...] = (
    dims, transposes, means, rebound, indices, sums_dropped, sums_added, axes_added, terms_dropped, operands, hot,
    shifted, functions, signs, factors_dropped, powers, comparisons, brackets, upstreams, numbers, factors_added, terms_added, arguments,
)  # fmt: skip
"""Tried in this order: the first change that makes the claim right is the explanation."""
