"""What the forward keeps for the backward: the tensors that the gradients' formulas read, and no others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sympy import Expr, Function

from symderive.algebra.nodes import Access, All, Any, Apply, ArgMax, ArgMin, Binder, Condition, Eq
from symderive.algebra.program import Equation, Program
from symderive.algebra.systems import is_triangular
from symderive.algebra.terms import is_rounded_once, tensors
from symderive.spec import model
from symderive.spec.functions import FUNCTIONS


def choose_saved(forward: Program, backward: Program, upstreams: tuple[str, ...]) -> tuple[Program, tuple[str, ...]]:
    """The backward with its inputs, upstreams first, and the names of those that the forward saves.

    A tensor that is a cheap function of others that are saved anyway, as ``relu(a)`` of a, is computed again instead;
    but not what is compared with its own maximum, which might come out otherwise.
    """
    read: set[str] = set()
    for equation in backward.equations:
        read |= tensors(equation.right)
    again = computed_again(forward, read, compared(forward, backward))
    saved = tuple(t for t in forward.shapes if t in read - {e.tensor for e in again})
    equations = (*again, *backward.equations)
    return replace(backward, inputs=_given(forward, upstreams, saved), equations=equations), saved


def compared(forward: Program, backward: Program) -> set[str]:
    """The tensors of the forward that the backward compares for equality, and which take more than one rounding."""
    ties = [tie for e in backward.equations for tie in e.right.atoms(Eq)]
    read = {a.tensor for tie in ties for a in tie.args if isinstance(a, Access)}
    return {e.tensor for e in forward.equations if e.tensor in read and not is_rounded_once(e.right)}


def computed_again(forward: Program, read: set[str], exact: Collection[str] = ()) -> tuple[Equation, ...]:
    """The equations of those tensors among ``read``, save ``exact`` ones, that are cheap functions of the others."""
    kept = set(read)
    again: list[Equation] = []
    for equation in reversed(forward.equations):
        needs = tensors(equation.right)
        if equation.tensor in exact:
            continue
        if equation.tensor in kept and needs <= kept - {equation.tensor} and _is_cheap(equation.right):
            kept.discard(equation.tensor)
            again.insert(0, equation)
    return tuple(again)


def with_inputs(forward: Program, backward: Program, upstreams: tuple[str, ...]) -> Program:
    """The backward with the upstreams and every tensor of the forward that it reads as inputs."""
    return replace(backward, inputs=_given(forward, upstreams, tuple(t for t in forward.shapes if t in backward.read)))


def _given(forward: Program, upstreams: tuple[str, ...], kept: tuple[str, ...]) -> tuple[model.Input, ...]:
    """The upstreams and the kept tensors of the forward as inputs."""
    inputs = {e.tensor: as_input(e) for e in forward.equations} | {i.name: i for i in forward.inputs}
    upstream = tuple(model.Input(u, forward.shapes[o]) for u, o in zip(upstreams, forward.outputs, strict=True))
    return (*upstream, *(inputs[t] for t in kept))


def as_input(equation: Equation) -> model.Input:
    """A tensor of the forward as an input of the backward: class ids and truth values stay what they are."""
    right = equation.right
    classes = right.bound[0].extent if isinstance(right, ArgMax | ArgMin) else None
    truth = isinstance(right, Condition | Any | All)
    lower = is_triangular(equation)
    return model.Input(equation.tensor, equation.shape, index=classes, boolean=truth, triangular=lower)


def _is_cheap(expression: Expr) -> bool:
    """Whether it is one pass over its tensors without a transcendental function."""
    if expression.atoms(Binder) or expression.atoms(Function):
        return False
    return all(FUNCTIONS[a.function].kinks for a in expression.atoms(Apply))
