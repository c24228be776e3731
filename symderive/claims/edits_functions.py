"""Changes of functions and of what they are applied to."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from symderive.check.objects import floats
from symderive.claims.compare import close_floats
from symderive.claims.desk import Desk
from symderive.claims.edit_tools import (
    BOUNDING,
    Edit,
    at,
    called,
    derivative,
    forward_functions,
    is_position,
    is_sum,
    products,
)
from symderive.claims.lines import names_in
from symderive.claims.parts import as_array, in_scope
from symderive.claims.trees import (
    binders_above,
    bound_in,
    factors_of,
    map_nodes,
    number,
    places,
    product_of,
    put,
    substitute,
    tensor_of,
    terms_of,
)
from symderive.claims.world import gradient_names
from symderive.spec import model, syntax
from symderive.spec.functions import FUNCTIONS, NORMALISERS


def wrapped(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A tensor where a function of it is meant that the forward has: ``z`` for ``exp(z)``."""
    applied = forward_functions(desk)
    for place, inner in places(node):
        for call in applied.get(tensor_of(inner) or _recomputed(desk, inner, applied), ()):
            if not is_position(node, place):
                new = replace(call, arguments=(inner, *call.arguments[1:]))
                yield Edit("wrong_operand", put(node, place, new), f"{desk.text(inner)} should be {desk.text(new)}.")


def _recomputed(desk: Desk, node: syntax.Node, names: Iterable[str]) -> str:
    """The one of some tensors that a product of matrices is, like ``z`` for ``X @ w``; empty for none."""
    if not isinstance(node, syntax.Binary) or node.op != "@":
        return ""
    tensors = desk.benches[0].tensors
    value = desk.first_value(node)
    known = ((n, np.asarray(tensors[n])) for n in names if n in tensors)
    return next((n for n, a in known if value is not None and close_floats(value, floats(a))), "")


def wrapped_as_others(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A tensor, or a sum, where a function of it is meant that the forward has of another: ``y`` for ``abs(y)``."""
    applied = {c.function: c for c in [*_calls(desk), *itertools.chain(*forward_functions(desk).values())]}
    for place, inner in places(node):
        if (tensor_of(inner) in desk.benches[0].tensors or is_sum(inner)) and not is_position(node, place):
            for call in applied.values():
                new = replace(call, arguments=(inner, *call.arguments[1:]))
                yield Edit("wrong_operand", put(node, place, new), f"{desk.text(inner)} should be {desk.text(new)}.")


def _calls(desk: Desk) -> Iterator[syntax.Call]:
    """The calls of functions in the forward."""
    for equation in desk.spec.equations:
        for node in equation.right.walk():
            if isinstance(node, syntax.Call) and node.function in FUNCTIONS:
                yield node


def roots(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A factor, or a divisor, of which the root is meant: ``sqrt(1 - c**2)``."""
    for place, inner in products(node):
        factors = factors_of(inner)
        for n, (op, factor) in enumerate(factors):
            if not isinstance(factor, syntax.Number) and getattr(factor, "op", "") != "**":
                root = syntax.Call("sqrt", (factor,))
                words = f"{desk.text(factor)} should be {desk.text(root)}."
                new = product_of([*factors[:n], (op, root), *factors[n + 1 :]])
                yield Edit("factor", put(node, place, new), words)


def underived(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A function, or a name of one, where its derivative is meant: ``x**2`` for ``2 * x``, ``log(x)`` for ``1 / x``."""
    for place, inner in places(node):
        if is_position(node, place):
            continue
        for whole in (inner, *(part for _, part in _definitions(desk, inner))):
            if (new := derivative(whole)) is not None:
                words = f"{desk.text(inner)} should be its derivative, {desk.text(new)}."
                yield Edit("factor", put(node, place, new), words)


def unfolded(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A tensor where a part of its definition is meant: ``s`` for the ``x - b`` in ``s = t * (x - b)``."""
    for place, inner in places(node):
        if is_position(node, place):
            continue
        for equation, whole in _definitions(desk, inner):
            right = desk.text(equation.right)
            for _, part in list(places(whole))[1:]:
                if isinstance(part, syntax.Binary | syntax.Call | syntax.Binder) and not _free_in(part, whole):
                    words = f"{desk.text(inner)} should be {desk.text(part)}: {equation.tensor} is {right}."
                    yield Edit("wrong_operand", put(node, place, part), words)


def recomputed(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A function of something else than in the forward, which has a name for it: ``softmax(z, 1)`` for ``p``."""
    named: dict[str, list[model.Equation]] = {}
    for equation in desk.spec.equations:
        if function := _function(equation.right):
            named.setdefault(function, []).append(equation)
    free = desk.free
    for place, inner in places(node):
        for equation in named.get(_function(inner), ()):
            for new in _named(desk, equation, [*free, *binders_above(node, place)]):
                right = desk.text(equation.right)
                words = f"{desk.text(inner)} should be {desk.text(new)}, which is {right}."
                yield Edit("wrong_operand", put(node, place, new), words)
    for equation in itertools.chain.from_iterable(named.values()):
        found = [n for _, n in places(node) if _corresponding(n, equation) is not None]
        if len(found) > 1:
            changed = map_nodes(node, lambda n, e=equation: _corresponding(n, e) or n)  # type: ignore[misc]
            words = f"Each {_function(found[0])} should be {equation.tensor}, which is {desk.text(equation.right)}."
            yield Edit("wrong_operand", changed, words)


def _corresponding(node: syntax.Node, equation: model.Equation) -> syntax.Node | None:
    """The tensor of an equation in the indices with which a claim computes it anew; None where it does not."""
    right = equation.right
    if not isinstance(node, syntax.Binder) or not isinstance(right, syntax.Binder) or node.op != right.op:
        return None
    here, there = (next((n for n in r.body.walk() if isinstance(n, syntax.Access)), None) for r in (node, right))
    if here is None or there is None or here.tensor != there.tensor:
        return None
    pairs = zip(there.indices, here.indices, strict=True)
    labels = {old.id: new for old, new in pairs if isinstance(old, syntax.Name)}
    if not set(equation.indices) <= set(labels):
        return None
    return syntax.Access(equation.tensor, tuple(labels[i] for i in equation.indices))


def _function(node: syntax.Node) -> str:
    """The function that an expression applies last."""
    if isinstance(node, syntax.Binder):
        return node.op if node.op in NORMALISERS else ""
    return called(node) if isinstance(node, syntax.Call) else ""


def _definitions(desk: Desk, node: syntax.Node) -> Iterator[tuple[model.Equation, syntax.Node]]:
    """The equation of a tensor of the forward, and its right side in the indices of an access, if it can be written."""
    for equation in desk.spec.equations:
        if equation.tensor != tensor_of(node):
            continue
        if isinstance(node, syntax.Access) and len(node.indices) == len(equation.indices):
            used = {n.id for i in node.indices for n in i.walk() if isinstance(n, syntax.Name)}
            if not used & bound_in(equation.right):
                yield equation, substitute(equation.right, dict(zip(equation.indices, node.indices, strict=True)))
        elif isinstance(node, syntax.Name) and (whole := as_array(equation.right, equation.indices)) is not None:
            yield equation, whole


def _free_in(part: syntax.Node, whole: syntax.Node) -> bool:
    """Whether a part of an expression uses indices that are bound outside of it."""
    return bool(names_in(part) & (bound_in(whole) - bound_in(part)))


def _named(desk: Desk, equation: model.Equation, scope: Sequence[str]) -> Iterator[syntax.Node]:
    if desk.line.indices is None or not equation.indices:
        yield syntax.Name(equation.tensor)
        return
    for chosen in itertools.permutations(scope, len(equation.indices)):
        yield syntax.Access(equation.tensor, tuple(syntax.Name(i) for i in chosen))


def arguments(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """The argument of a function as the forward has it, or another function of the same argument."""
    if not desk.by_index:
        return
    forward = list(_calls(desk))
    free = desk.free
    for place, inner in at(node, syntax.Call):
        assert isinstance(inner, syntax.Call)
        if inner.function not in FUNCTIONS:
            continue
        for other in forward:
            for argument in in_scope(desk, other.arguments[0], [*free, *binders_above(node, place)], node):
                new = replace(inner, arguments=(argument, *inner.arguments[1:]))
                words = f"The argument of {desk.text(inner)} should be {desk.text(argument)}."
                yield Edit("wrong_operand", put(node, place, new), words)


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
    for place, inner in places(node):
        if isinstance(inner, syntax.Binder) and inner.op in NORMALISERS:
            for other in _SWAPS[inner.op]:
                if other in NORMALISERS:
                    words = f"{inner.op} should be {other}."
                    yield Edit("wrong_operand", put(node, place, replace(inner, op=other)), words)
        elif isinstance(inner, syntax.Call) and inner.function in BOUNDING:
            for argument in inner.arguments[BOUNDING[inner.function]]:
                words = f"{desk.text(inner)} should be {desk.text(argument)}."
                yield Edit("wrong_operand", put(node, place, argument), words)
        elif isinstance(inner, syntax.Call) and inner.arguments and inner.function in (*_SWAPS, *FUNCTIONS):
            others: list[syntax.Node] = [syntax.Call(f, inner.arguments[:1]) for f in _swaps(inner) if f in FUNCTIONS]
            if inner.function in FUNCTIONS:
                others.append(inner.arguments[0])
            for new in others:
                words = f"{desk.text(inner)} should be {desk.text(new)}."
                yield Edit("wrong_operand", put(node, place, new), words)


def normalised(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """An exponential that should be divided by the sum of all, or another normaliser."""
    for place, inner in at(node, syntax.Call):
        assert isinstance(inner, syntax.Call)
        for other in (f for f in _swaps(inner) if f not in FUNCTIONS):
            for new in _normaliser(desk, other, inner):
                words = f"{desk.text(inner)} should be {desk.text(new)}."
                yield Edit("wrong_operand", put(node, place, new), words)


def _swaps(call: syntax.Call) -> Sequence[str]:
    return _SWAPS.get(call.function, ()) if call.arguments else ()


def _normaliser(desk: Desk, name: str, call: syntax.Call) -> Iterator[syntax.Node]:
    """A normaliser of what a function is applied to, along each index of the left side, or along an axis."""
    if not desk.by_index:
        yield syntax.Call(name, (call.arguments[0], *(call.arguments[1:] or (number(-1),))))
        return
    yield from (syntax.Binder(name, (i,), None, call.arguments[0]) for i in desk.free)


def slopes(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """The derivative of one function by its value where that of another is meant: ``y * (1 - y)`` for ``1 - y**2``."""
    for place, inner in products(node):
        factors = factors_of(inner)
        for value, taken, rest in _by_value(factors):
            meant = {"tanh": "sigmoid", "sigmoid": "tanh"}[taken]
            if _applied(desk, value) == meant:
                new = product_of([*rest, *(("*", f) for f in _SLOPES[meant](value))])
                yield Edit("factor", put(node, place, new), _of_slopes(desk, value, meant, taken))
            if not place and (slope := _derived_slope(desk, rest)) is not None:
                text = desk.text(product_of([("*", f) for f in _SLOPES[taken](value)]))
                kind, words = "wrong_operand", f"{text} should be {desk.text(slope)}."
                if _applied(desk, value) == taken:
                    kind, words = "factor", f"{text} is the derivative of a {taken}: here it is {desk.text(slope)}."
                yield Edit(kind, product_of([*rest, ("*", slope)]), words)


Factors = list[tuple[str, syntax.Node]]


def _by_value(factors: Factors) -> Iterator[tuple[syntax.Node, str, Factors]]:
    """The derivatives of a tanh or a sigmoid among some factors: by which value they are, and what else there is."""
    for n, (op, factor) in enumerate(factors):
        rest = [f for m, f in enumerate(factors) if m != n]
        square = _squared(factor)
        if op == "*" and square is not None:
            yield square, "tanh", rest
        elif op == "*" and ("*", _left_over(factor)) in rest:
            rest.remove(("*", _left_over(factor)))
            yield factor, "sigmoid", rest


def _derived_slope(desk: Desk, beside: Factors) -> syntax.Node | None:
    """What the derived formula has beside gradients and some factors of a claim, where all of it is one product."""
    if desk.stated is None or len(terms_of(desk.stated.right)) > 1:
        return None
    gradients = gradient_names(desk.spec)
    factors = factors_of(desk.stated.right)
    own = [f for f in factors if f[0] == "/" or tensor_of(f[1]) not in gradients]
    if desk.line.indices is None:
        arrays = [(op, as_array(f)) for op, f in own]
        if any(f is None for _, f in arrays):
            return None
        own = [(op, f) for op, f in arrays if f is not None]
    elif not (isinstance(desk.stated.left, syntax.Access) and desk.stated.left.indices == desk.line.indices):
        return None
    rest = [f for f in own if f not in beside]
    return product_of(rest) if rest else None


_SLOPES: dict[str, Callable[[syntax.Node], tuple[syntax.Node, ...]]] = {
    "tanh": lambda value: (syntax.Binary("-", number(1), syntax.Binary("**", value, number(2))),),
    "sigmoid": lambda value: (value, _left_over(value)),
}
"""The derivatives of functions by their values, in factors."""


def _of_slopes(desk: Desk, value: syntax.Node, meant: str, taken: str) -> str:
    text = desk.text(value)
    slope = {"tanh": f"1 - {text}**2", "sigmoid": f"{text} * (1 - {text})"}
    return f"{slope[taken]} is the derivative of a {taken}: that of {meant} is {slope[meant]}."


def _left_over(node: syntax.Node) -> syntax.Node:
    return syntax.Binary("-", number(1), node)


def _squared(node: syntax.Node) -> syntax.Node | None:
    """``y`` of ``1 - y**2``."""
    if isinstance(node, syntax.Binary) and node.op == "-" and node.left == number(1):
        power = node.right
        if isinstance(power, syntax.Binary) and power.op == "**" and power.right == number(2):
            return power.left
    return None


def _applied(desk: Desk, node: syntax.Node) -> str:
    """The function whose value an expression is: one that it calls, or that its equation calls."""
    rights = [node, *(e.right for e in desk.spec.equations if e.tensor == tensor_of(node))]
    return next((n.function for n in rights if isinstance(n, syntax.Call)), "")
