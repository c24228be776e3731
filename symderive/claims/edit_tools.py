"""What the changes of claims share: a change, and what stands at a place of a claim or could stand there."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeGuard

import numpy as np

from symderive.check.kept import keeping
from symderive.claims.desk import Desk, Finding
from symderive.claims.lines import names_in
from symderive.claims.trees import (
    Place,
    binders_above,
    bound_in,
    column,
    get,
    lowered,
    number,
    places,
    product_of,
    tensor_of,
)
from symderive.claims.world import gradient_names, sole_scalar
from symderive.record import record
from symderive.spec import model, syntax
from symderive.spec.functions import FUNCTIONS, STRUCTURAL


@record
class Edit:
    """A changed claim, the kind of mistake that the change mends, and words for it.

    Where it leaves out a term or a factor, ``gone`` is the place of the sum or the product, and that.
    """

    kind: str
    node: syntax.Node
    words: str
    gone: tuple[Place, syntax.Node] | None = None


Family = Callable[[Desk, syntax.Node], Iterator[Edit]]


@record
class Tried:
    """A change of a claim that was tried: which sort it is of, and what it makes of the claim; None for no value."""

    edit: Edit
    family: Family
    value: np.ndarray | None


def first_that_fits(desk: Desk, *families: Family) -> Finding | None:
    """The first change of some sorts that makes the claim right."""
    with keeping(desk.benches[0].interpreter, desk.node):
        for edit in itertools.chain.from_iterable(family(desk, desk.node) for family in families):
            if desk.late:
                return None
            if desk.may_fit(desk.first_value(edit.node)) and desk.fits(edit.node):
                return Finding(edit.kind, edit.words, edit.node)
    return None


def at(node: syntax.Node, kinds: type | tuple[type, ...]) -> Iterator[tuple[Place, syntax.Node]]:
    """The nodes of some kinds, with their places."""
    for place, inner in places(node):
        if isinstance(inner, kinds):
            yield place, inner


def under_transpose(root: syntax.Node, place: Place) -> bool:
    """Whether a place is under an attribute such as ``.T``."""
    return bool(place) and isinstance(get(root, place[:-1]), syntax.Attribute)


def rank(desk: Desk, name: str) -> int:
    """The number of axes of a tensor, -1 where there is none of that name."""
    array = desk.benches[0].tensors.get(name)
    return -1 if array is None else np.ndim(array)


def axes_of(desk: Desk, node: syntax.Node) -> int:
    """The number of axes of an expression in array form; 0 where it has no value."""
    value = desk.first_value(node)
    return 0 if value is None else value.ndim


def called(node: syntax.Method | syntax.Call) -> str:
    """The name of a method or a function that is called."""
    return node.name if isinstance(node, syntax.Method) else node.function


REDUCING = ("sum", "mean", "amax", "amin", "logsumexp", "softmax", "log_softmax", "prod")
"""What in array form is given the axes that it runs over."""


def reduction(node: syntax.Node) -> str:
    """The name of a reduction, in either form; nothing for what is none."""
    return node.op if isinstance(node, syntax.Binder) else node.name if isinstance(node, syntax.Method) else ""


def is_axis(root: syntax.Node, place: Place) -> bool:
    """Whether a place is inside the axes that a reduction in array form is given."""
    for n, (name, position) in enumerate(place):
        node = get(root, place[:n])
        if name == "arguments" and isinstance(node, syntax.Method) and node.name in REDUCING:
            return True
        if name == "arguments" and isinstance(node, syntax.Call) and node.function in REDUCING and position:
            return True
    return False


def is_position(root: syntax.Node, place: Place) -> bool:
    """Whether a place is inside an index position, or says how far or into what a method moves entries."""
    moved = (get(root, place[:n]) for n, (name, _) in enumerate(place) if name == "arguments")
    return any(name == "indices" for name, _ in place) or any(called(m) in MOVING for m in moved)  # type: ignore[arg-type]


MOVING = ("roll", "reshape", "view", "permute", "transpose", "expand")
"""Methods of which no argument is a value."""


def index_names(desk: Desk, node: syntax.Node) -> list[str]:
    """The names in an expression that can only be indices."""
    bench = desk.benches[0]
    known = {*bench.tensors, *bench.world.sizes, *bench.world.constants, "pi", "inf"}
    names = dict.fromkeys(n.id for n in node.walk() if isinstance(n, syntax.Name) and n.id not in known)
    if any(isinstance(n, syntax.Batch) for n in node.walk()):
        names[syntax.BATCH] = None
    return list(names)


def spare_letter(desk: Desk, node: syntax.Node) -> str:
    """A letter for an index that nothing there is called."""
    bench = desk.benches[0]
    taken = {n.id for n in node.walk() if isinstance(n, syntax.Name)} | set(desk.free)
    taken |= {*bench.tensors, *bench.world.sizes, *bench.world.constants} | bound_in(node)
    return next((c for c in "klmnpqrsuvijabcdefgho" if c not in taken), "k_")


def with_tensor(node: syntax.Node, name: str) -> syntax.Node:
    """An access, or a bare name, of another tensor."""
    return replace(node, tensor=name) if isinstance(node, syntax.Access) else replace(node, id=name)  # type: ignore[call-arg]


def alike(desk: Desk, name: str) -> list[str]:
    """Tensors that may be meant: of the same rank, those of the same shape first.

    The claimed gradient is none, nor is an upstream that is 1.
    """
    tensors = desk.benches[0].tensors
    shape = np.shape(tensors[name])
    one = f"d{desk.spec.outputs[0]}" if sole_scalar(desk.spec) else ""
    if name == one:
        return []
    taken = {one, desk.line.name, name, f"d{desk.line.tensor}", f"d{desk.line.tensor}_total"}
    usable = [n for n in tensors if n not in taken and not n.startswith(("D:", "~")) and not doubled(desk, n)]
    gradients = gradient_names(desk.spec)
    if name in gradients:  # the chain rule goes from what depends on a tensor to that tensor
        usable = [n for n in usable if n not in gradients or gradients[n] in desk.followers]
    else:  # a forward tensor is taken for an upstream, but hardly for another gradient
        usable = [n for n in usable if n not in gradients or gradients[n] in desk.spec.outputs]
    same = [n for n in usable if np.shape(tensors[n]) == shape]
    return same + [n for n in usable if np.ndim(tensors[n]) == len(shape) and n not in same]


def doubled(desk: Desk, name: str) -> bool:
    """Whether a name is just another one for a gradient."""
    return name.endswith("_total") and name.removesuffix("_total") in desk.benches[0].tensors


def takes_index(root: syntax.Node, place: Place) -> bool:
    """Whether an index may stand at a place."""
    above = get(root, place[:-1])
    if isinstance(above, syntax.Access):
        return True
    return isinstance(above, syntax.Call) and above.function == "delta"


def extent(desk: Desk, access: syntax.Access, position: int | None) -> int:
    """The extent of an axis that an access reads."""
    array = desk.benches[0].tensors.get(access.tensor)
    shape = np.shape(array) if array is not None else ()
    return shape[position] if position is not None and position < len(shape) else 0


def products(node: syntax.Node) -> Iterator[tuple[Place, syntax.Node]]:
    """The chains of ``*`` and ``/``, outermost first."""
    for place, inner in places(node):
        if not (isinstance(inner, syntax.Binary) and inner.op in ("*", "/")):
            continue
        above = get(node, place[:-1]) if place else None
        if not (isinstance(above, syntax.Binary) and above.op in ("*", "/") and place[-1][0] == "left"):
            yield place, inner


def heads(node: syntax.Node) -> Iterator[tuple[Place, syntax.Node]]:
    """Products, terms, operands and bodies: where a factor can be missing."""
    yield (), node
    first_operands = []
    for place, inner in places(node):
        if place and not is_position(node, place) and _is_head(above := get(node, place[:-1]), place[-1]):
            if isinstance(above, syntax.Binary) and above.op == "@" and place[-1][0] == "left":
                first_operands.append((place, inner))  # X.T @ (w * r) reads better than X.T * w @ r
            else:
                yield place, inner
    yield from first_operands


def _is_head(above: syntax.Node, step: tuple[str, int | None]) -> bool:
    match above:
        case syntax.Binder():
            return step[0] == "body"
        case syntax.Binary(op=op):
            return op in ("+", "-", "@")
        case syntax.Call(function="where"):
            return step != ("arguments", 0)  # a condition has no factors
        case syntax.Call(function=name):
            return name in STRUCTURAL or name in FUNCTIONS or name in ("outer", "diag")
        case syntax.Method(name=name):
            return name in ("sum", "mean") and step[0] == "value"
    return False


def composites(desk: Desk, root: syntax.Node, place: Place) -> Iterator[syntax.Node]:
    """What derivatives are made of: ``1 - p``, ``1 - p**2``, ``p * (1 - p)``, functions as in the forward."""
    made = {e.tensor for e in desk.spec.equations}
    made |= {tensor_of(n.right) for e in desk.spec.equations for n in e.right.walk() if is_complement(n)}
    applied = forward_functions(desk)
    for call in dict.fromkeys(n for n in root.walk() if isinstance(n, syntax.Call)):
        if (slope := derivative(call)) is not None:
            yield slope
    for tensor in available(desk, root, place):
        name = tensor_of(tensor)
        if name in made:
            yield syntax.Binary("-", number(1), tensor)
            yield syntax.Binary("-", number(1), syntax.Binary("**", tensor, number(2)))
            yield syntax.Binary("*", tensor, syntax.Binary("-", number(1), tensor))
        yield from (replace(call, arguments=(tensor, *call.arguments[1:])) for call in applied.get(name, ()))


def derivative(node: syntax.Node) -> syntax.Node | None:
    """The derivative of a power or a function by its argument."""
    match node:
        case syntax.Binary(op="**", left=base, right=power):
            return product_of([("*", power), ("*", lowered(node))]) if base != number(1) else None
        case syntax.Call(function="log", arguments=(argument,)):
            return syntax.Binary("/", number(1), argument)
        case syntax.Call(function="tanh"):
            return syntax.Binary("-", number(1), syntax.Binary("**", node, number(2)))
        case syntax.Call(function="sigmoid"):
            return syntax.Binary("*", node, syntax.Binary("-", number(1), node))
        case syntax.Call(function="relu" | "leaky_relu" as name, arguments=(argument, *slope)):
            above = syntax.Compare((">",), (argument, number(0)))
            below = slope[0] if slope else number(Fraction(1, 100) if name == "leaky_relu" else 0)
            return syntax.Call("where", (above, number(1), below))
        case syntax.Call(function="max", arguments=(argument, other)) if number(0) in (argument, other):
            part = other if argument == number(0) else argument
            return syntax.Call("where", (syntax.Compare((">",), (part, number(0))), number(1), number(0)))
        case syntax.Call(function="sqrt"):
            return syntax.Binary("/", number(1), syntax.Binary("*", number(2), node))
        case syntax.Call(function=name, arguments=(argument, *_)) if len(DERIVATIVES.get(name, ())) == 1:
            return replace(node, function=DERIVATIVES[name][0])
    return None


def is_complement(node: syntax.Node) -> TypeGuard[syntax.Binary]:
    """Whether a node is ``1 - t``."""
    return isinstance(node, syntax.Binary) and node.op == "-" and node.left == number(1)


def forward_functions(desk: Desk) -> dict[str, list[syntax.Call]]:
    """The functions that the forward applies to a tensor itself, by tensor, and those that derivatives apply."""
    found: dict[str, list[syntax.Call]] = {}
    for equation in desk.spec.equations:
        for node in equation.right.walk():
            if isinstance(node, syntax.Call) and node.function in FUNCTIONS and tensor_of(node.arguments[0]):
                calls = found.setdefault(tensor_of(node.arguments[0]), [])
                for name in (node.function, *DERIVATIVES.get(node.function, ())):
                    if all(c.function != name for c in calls):
                        calls.append(replace(node, function=name))
        if undone := _UNDONE.get(equation.right.op if isinstance(equation.right, syntax.Binder) else ""):
            found.setdefault(equation.tensor, []).append(syntax.Call(undone, (syntax.Name(equation.tensor),)))
    return found


DERIVATIVES = {
    "abs": ("sign",),
    "sin": ("cos",),
    "cos": ("sin",),
    "sinh": ("cosh",),
    "cosh": ("sinh",),
    "softplus": ("sigmoid",),
    "logsigmoid": ("sigmoid",),
}
"""Functions whose derivatives are written by other functions of the same argument."""

_UNDONE = {"log_softmax": "exp", "logsumexp": "exp"}
"""Reductions whose derivatives are written by a function of their value."""


def available(desk: Desk, root: syntax.Node, place: Place) -> Iterator[syntax.Node]:
    """The tensors that could stand as a factor or a term at a place, with indices at hand."""
    tensors = desk.benches[0].tensors
    one = f"d{desk.spec.outputs[0]}" if sole_scalar(desk.spec) else ""
    usable = [n for n in tensors if not n.startswith(("D:", "~")) and not doubled(desk, n) and n != desk.line.name]
    usable = [n for n in usable if n != one]
    ids = {i.name for i in desk.spec.inputs if not i.is_real}
    seen = names_in(root)
    gradients = gradient_names(desk.spec)
    none = not seen & gradients.keys()  # then that of what depends on the tensor may be missing
    ids |= {
        n
        for n, of in gradients.items()
        if of not in desk.spec.outputs and n not in seen and not (none and of in desk.followers)
    }
    usable = [n for n in usable if n not in ids]
    if not desk.by_index:
        for name in usable:
            yield syntax.Name(name)
            if np.ndim(tensors[name]) == 1:
                yield column(syntax.Name(name))
        return
    scope = [*desk.free, *binders_above(root, place)]
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


BOUNDING = {"clamp": slice(1), "max": slice(2), "min": slice(2), "where": slice(1, 3)}
"""What keeps one of its arguments, within bounds or under a condition, and which arguments those are."""


def counts(spec: model.Spec, node: syntax.Node) -> bool:
    """Whether an expression is made of sizes, constants and numbers: ``N - 1``."""
    return names_in(node) <= {*spec.sizes, *spec.constants}


def is_sum(node: syntax.Node) -> bool:
    """Whether a node is a sum or a difference."""
    return isinstance(node, syntax.Binary) and node.op in ("+", "-")


def in_product(root: syntax.Node, place: Place) -> bool:
    """Whether a place is an operand of a product or a quotient."""
    above = get(root, place[:-1]) if place else None
    return isinstance(above, syntax.Binary) and above.op in ("*", "/")


def deltas(desk: Desk, root: syntax.Node, place: Place) -> Iterator[syntax.Node]:
    """The deltas of two indices at hand, and of an index and a class id."""
    if not desk.by_index:
        return
    scope = [i for i in (*desk.free, *binders_above(root, place)) if i != syntax.BATCH]
    for a, b in itertools.combinations(scope, 2):
        yield syntax.Call("delta", (syntax.Name(a), syntax.Name(b)))
    for label in class_ids(desk, scope):
        used = names_in(label)
        yield from (syntax.Call("delta", (syntax.Name(i), label)) for i in scope if i not in used)


def class_ids(desk: Desk, scope: Sequence[str]) -> Iterator[syntax.Node]:
    """The class ids ``t[n]`` that the indices at hand can read."""
    for tensor in desk.spec.inputs:
        if tensor.index is not None and len(tensor.shape) <= 2:
            for chosen in itertools.permutations(scope, len(tensor.shape)):
                labels = tuple(map(syntax.Name, chosen))
                yield syntax.Access(tensor.name, labels) if labels else syntax.Name(tensor.name)
