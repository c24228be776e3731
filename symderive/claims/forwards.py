"""Gradients of something else: of a part of the forward that has no name, or of a forward that was read differently."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from symderive.check.floats import FLOAT
from symderive.check.numbers import Domain
from symderive.check.objects import floats
from symderive.claims.bench import Bench
from symderive.claims.compare import close_in_scale
from symderive.claims.desk import Desk, Finding
from symderive.claims.edit_tools import BOUNDING
from symderive.claims.exactly import worth_the_claim
from symderive.claims.lines import ClaimError, names_in
from symderive.claims.points import Point
from symderive.claims.trees import Place, binders_above, negated, number, places, put, tensor_of
from symderive.claims.world import World
from symderive.errors import SymderiveError
from symderive.spec import model, syntax
from symderive.spec.functions import FUNCTIONS

_PART = "~part"
_TWO = Fraction(2)


def _gradients(
    desk: Desk, equations: Sequence[model.Equation], tensor: str, points: Sequence[Point] | None = None
) -> list[np.ndarray] | None:
    """The gradient of a tensor under other equations, at the desk's points or at others, as floats.

    For a claim that mentions no upstream, the upstream is 1.
    """
    desk.spend_forward()
    found = []
    for point in desk.points if points is None else points:
        first = point.world(desk.spec, FLOAT)
        try:
            upstreams = _upstreams(desk, first)
            world = World(
                desk.spec, point.sizes, first.plain_inputs, upstreams, FLOAT,
                constants=point.constants, equations=equations,
            )  # fmt: skip
            found.append(floats(world.plain(world.gradient(tensor))))
        except (SymderiveError, ValueError, KeyError, TypeError):
            return None
    return found


def _is_claim(desk: Desk, equations: Sequence[model.Equation], tensor: str) -> bool:
    """Whether the claim is the gradient of a tensor under other equations: at two points, then at all."""
    gradients = _gradients(desk, equations, tensor) if desk.line.role == "gradient" else None
    if gradients is None or desk.claimed is None or not any(np.any(g) for g in gradients):
        return False
    if not all(map(_alike, gradients, desk.claimed)):
        return False
    others = _gradients(desk, equations, tensor, desk.court.points.main)
    if others is None or not all(
        _alike(g, desk.value(b, desk.node)) for g, b in zip(others, desk.elsewhere, strict=True)
    ):
        return False
    return desk.outcome.error is not None or worth_the_claim(desk, partial(_gradient, desk, equations))


def _gradient(desk: Desk, equations: Sequence[model.Equation], point: Point, base: Domain) -> np.ndarray:
    """The gradient that the claim is about under other equations, entry by entry."""
    first = point.world(desk.spec, base)
    upstreams = _upstreams(desk, first)
    world = World(
        desk.spec, point.sizes, first.plain_inputs, upstreams, base, constants=point.constants, equations=equations
    )
    return Bench(world).sides(desk.line, number(0)).true


def _upstreams(desk: Desk, world: World) -> Mapping[str, np.ndarray]:
    """The upstreams of a world, or ones for a claim that mentions none."""
    if any(n.startswith("d") and n[1:] in desk.spec.outputs for n in names_in(desk.node)):
        return world.upstreams
    return {n: np.ones(np.shape(a), dtype=int) for n, a in world.upstreams.items()}


def _alike(gradient: np.ndarray, claimed: np.ndarray) -> bool:
    return gradient.size == claimed.size and close_in_scale(gradient.reshape(claimed.shape), claimed, 1e-9)


# Parts without a name


def unnamed_gradient(desk: Desk) -> Finding | None:
    """The claim is the gradient of a part of the forward, before the last step of the chain rule."""
    if desk.line.role != "gradient":
        return None
    for equation, place, part, free in _parts(desk.spec):
        if desk.late:
            return None
        tensor = model.Equation(_PART, free, part, equation.ranges)
        right = put(equation.right, place, _access(free))
        position = desk.spec.equations.index(equation)
        equations = [*desk.spec.equations]
        equations[position : position + 1] = [tensor, replace(equation, right=right)]
        gradients = _gradients(desk, equations, _PART)
        if gradients is None or not _claims_part(desk, tensor, gradients):
            continue
        sentence = (
            f"This is the gradient with respect to {desk.text(part)}, not {desk.line.tensor}: the last step of the"
            f" chain rule, from there to {desk.line.tensor}, is missing."
        )
        return Finding("other_variable", sentence)
    return None


def unnamed_derivative(desk: Desk) -> Finding | None:
    """A derivative ``D(y, x)`` that stops at a part of ``y``, before the last function."""
    left = desk.line.statement.left
    if desk.line.role != "jacobian" or not isinstance(left, syntax.Call):
        return None
    upper = tensor_of(left.arguments[0])
    for equation, place, part, free in _parts(desk.spec):
        if desk.late:
            return None
        if equation.tensor != upper or set(free) != set(equation.indices) or place == ():
            continue
        changed = [replace(e, right=part) if e is equation else e for e in desk.spec.equations]
        if _holds_with(desk, changed):
            text = desk.text(part)
            words = f"This is the derivative of {text}: the factor that leads from there to {upper} is missing."
            return Finding("factor", words)
    return None


def _holds_with(desk: Desk, equations: Sequence[model.Equation]) -> bool:
    """Whether the claim, without its helpers, is right under other equations."""
    desk.spend_forward()
    try:
        for point in desk.points:
            first = point.world(desk.spec, FLOAT)
            world = World(
                desk.spec, point.sizes, first.plain_inputs, first.upstreams, FLOAT,
                constants=point.constants, equations=equations,
            )  # fmt: skip
            if not Bench(world).agrees(desk.line, desk.node):
                return False
    except (ClaimError, SymderiveError, ValueError, KeyError, TypeError):
        return False
    return True


def by_a_function(desk: Desk) -> Finding | None:
    """The gradient with respect to a function of the tensor: the variance ``s**2``, say, where the tensor is ``s``."""
    if desk.line.role != "gradient" or desk.claimed is None:
        return None
    for text, derivative in _FUNCTIONS.items():
        if desk.fits_truth(lambda bench, f=derivative: _over(bench, desk, f)):  # type: ignore[misc]
            x, words = desk.line.tensor, text.format(desk.line.tensor)
            if text == _LOGARITHM:
                return Finding(
                    "factor", f"The factor {x} is one too many: this is the gradient with respect to {words}."
                )
            return Finding("other_variable", f"This is the gradient with respect to {words}, not {x} itself.")
    return None


_LOGARITHM = "log({0})"


_FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "{0}**2": lambda x: 2 * x,
    "sqrt({0})": lambda x: 1 / (2 * np.sqrt(x)),
    "exp({0})": np.exp,
    _LOGARITHM: lambda x: 1 / x,
    "1 / {0}": lambda x: -1 / x**2,
}
"""Functions of a tensor that are taken for it, with their derivatives."""


def _over(bench: Bench, desk: Desk, derivative: Callable[[np.ndarray], np.ndarray]) -> np.ndarray | None:
    values = desk.laid_out(bench, floats(bench.world.plain(bench.world.values[desk.line.tensor])))
    found = desk.truth(bench) / derivative(values)
    return found if np.isfinite(found).all() and found.any() else None


def _access(free: tuple[str, ...]) -> syntax.Node:
    if not free:
        return syntax.Name(_PART)
    return syntax.Access(_PART, tuple(syntax.Batch() if i == syntax.BATCH else syntax.Name(i) for i in free))


def _parts(spec: model.Spec) -> Iterator[tuple[model.Equation, Place, syntax.Node, tuple[str, ...]]]:
    """The reductions and the arguments of functions in the forward, with the indices that are free in them."""
    for equation in spec.equations:
        for place, node in places(equation.right):
            if not place or any(name in ("indices", "condition") for name, _ in place):
                continue
            if not _is_part(equation.right, place, node):
                continue
            scope = [*equation.indices, *binders_above(equation.right, place)]
            names = {n.id for n in node.walk() if isinstance(n, syntax.Name)}
            if any(isinstance(n, syntax.Batch) for n in node.walk()):
                names.add(syntax.BATCH)
            yield equation, place, node, tuple(i for i in scope if i in names)


def _is_part(root: syntax.Node, place: Place, node: syntax.Node) -> bool:
    from symderive.claims.trees import get

    if isinstance(node, syntax.Binder):
        return node.op in ("sum", "mean", "logsumexp", "max")
    above = get(root, place[:-1])
    if isinstance(above, syntax.Call) and above.function in FUNCTIONS:
        return not isinstance(node, syntax.Number | syntax.Access | syntax.Name)
    return isinstance(above, syntax.Binary) and above.op == "**" and place[-1][0] == "left"


def _claims_part(desk: Desk, tensor: model.Equation, gradients: list[np.ndarray]) -> bool:
    """Whether the claim, read as one about that part, gives its gradient."""
    line = desk.line
    for bench, gradient in zip(desk.benches, gradients, strict=True):
        if not np.any(gradient):
            return False
        try:
            if line.indices is None:
                claimed = floats(bench.plain_array(desk.node))
            else:
                from symderive.claims.bench import free_names

                if len(line.indices) != gradient.ndim:
                    return False
                free = free_names(line.indices, desk.spec)
                ranges = bench.ranges(free, desk.node, [(line.indices, gradient.shape, line.name)])
                claimed = floats(bench.world.plain(bench.table(desk.node, free, ranges)))
        except (ClaimError, SymderiveError):
            return False
        if not close_in_scale(claimed, gradient, 1e-9):
            return False
    return True


# Another forward


def flipped_argument(desk: Desk) -> Finding | None:
    """The claim is right for a forward in which an argument of a function has the other sign."""
    for equation, place, node in _calls(desk.spec):
        if desk.late:
            return None
        argument = node.arguments[0]
        if not (isinstance(argument, syntax.Unary) and argument.op == "-"):
            continue
        new = replace(node, arguments=(negated(argument), *node.arguments[1:]))
        if _is_changed(desk, equation, place, new):
            sentence = f"The sign inside {desk.text(node)} is lost: this is the gradient with {desk.text(new)} instead."
            return Finding("sign", sentence)
    return None


def _calls(spec: model.Spec) -> Iterator[tuple[model.Equation, Place, syntax.Call]]:
    for equation in spec.equations:
        for place, node in places(equation.right):
            if isinstance(node, syntax.Call) and node.function in FUNCTIONS and node.arguments:
                yield equation, place, node


def _is_changed(desk: Desk, equation: model.Equation, place: Place, new: syntax.Node) -> bool:
    """Whether the claim is the gradient of the forward with one part of it changed."""
    changed = replace(equation, right=put(equation.right, place, new))
    return _is_claim(desk, [changed if e is equation else e for e in desk.spec.equations], desk.line.tensor)


def other_forward(desk: Desk) -> Finding | None:
    """The claim is the gradient of a forward without a square or a root, or by a tensor that is read as its square."""
    if desk.line.role != "gradient" or desk.claimed is None:
        return None
    for equation in desk.spec.equations:
        for place, new, words in _readings(desk, equation):
            if desk.late:
                return None
            if _is_changed(desk, equation, place, new):
                return Finding("other_variable", f"This is the gradient of something else: {words}.")
    return _reparametrised(desk)


def _readings(desk: Desk, equation: model.Equation) -> Iterator[tuple[Place, syntax.Node, str]]:
    """Changes of the forward that people make without noticing."""
    whole = equation.right
    if equation.tensor in desk.spec.outputs:
        for name in ("sqrt", "log", "exp"):
            yield (), syntax.Call(name, (whole,)), f"of {name}({equation.tensor}), not of {equation.tensor}"
        yield (), syntax.Binary("**", whole, syntax.Number(_TWO)), f"of {equation.tensor}**2, not of {equation.tensor}"
    for place, node in places(whole):
        if any(name in ("indices", "condition") for name, _ in place):
            continue
        text = desk.text(node)
        if isinstance(node, syntax.Binary) and node.op == "**":
            yield place, node.left, f"the forward has {text}, and here it is read as {desk.text(node.left)}"
            square = syntax.Binary("**", node.left, syntax.Number(_TWO))
            if square != node:
                yield place, square, f"the forward has {text}, and here it is read as {desk.text(square)}"
        elif isinstance(node, syntax.Call) and node.function in BOUNDING:
            for kept in node.arguments[BOUNDING[node.function]]:
                yield place, kept, f"the forward has {text}, and here only {desk.text(kept)} is seen"
        elif isinstance(node, syntax.Call) and node.function in FUNCTIONS:
            argument = node.arguments[0]
            yield place, argument, f"the forward has {text}, and here it is read as {desk.text(argument)}"
        elif isinstance(node, syntax.Binary) and node.op in ("*", "/"):
            for kept in (node.left, node.right):
                yield place, kept, f"the forward has {text}, and here it is read as {desk.text(kept)}"
        elif isinstance(node, syntax.Binary) and node.op in ("+", "-"):
            other = replace(node, op="-" if node.op == "+" else "+")
            yield place, other, f"the forward has {text}, and here it is read as {desk.text(other)}"
            yield place, node.left, f"the forward has {text}, and here it is read as {desk.text(node.left)}"
            yield place, node.right, f"the forward has {text}, and here it is read as {desk.text(node.right)}"


def _reparametrised(desk: Desk) -> Finding | None:
    """The gradient with respect to a tensor that stands for its square, its root, its logarithm or its exponential."""
    tensor = desk.line.tensor
    if tensor not in {i.name for i in desk.spec.inputs}:
        return None
    for name, words in _MEANINGS.items():
        equations = [replace(e, right=_wrapped(e.right, tensor, name)) for e in desk.spec.equations]
        if _is_claim(desk, equations, tensor):
            sentence = (
                f"This is the gradient with respect to {words.format(tensor)}: {tensor} is read as that, not as"
                f" {tensor} itself."
            )
            return Finding("other_variable", sentence)
    return None


_MEANINGS = {"sqrt": "{0}**2", "square": "sqrt({0})", "exp": "log({0})", "log": "exp({0})"}


def _wrapped(node: syntax.Node, tensor: str, function: str) -> syntax.Node:
    from symderive.claims.trees import map_nodes

    def change(inner: syntax.Node) -> syntax.Node:
        name = tensor_of(inner)
        return syntax.Call(function, (inner,)) if name == tensor else inner

    return map_nodes(node, change)
