"""Tangents of a program: forward mode, derived from the same equations by the same local partials.

For every tensor T of the forward its tangent is ``T_t[i] = sum d(T[i])/d(x[p]) * x_t[p]``, where ``x_t`` is the
direction in which the input x moves. The sweep goes from the inputs to the outputs, equation by equation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from sympy import Add, Expr, S

from symderive.algebra.adjoint import parts, times
from symderive.algebra.derive import Sweep
from symderive.algebra.forward import prune
from symderive.algebra.letters import Letters
from symderive.algebra.nodes import Access, Index, Pad, Sum
from symderive.algebra.program import Equation, Program
from symderive.algebra.recognise import Knowledge
from symderive.algebra.simplify import simplify
from symderive.algebra.terms import tensors
from symderive.spec import model

SUFFIXES = ("_t", "_tangent", "_forward_tangent")
"""What the tangent of ``x`` is called; the later ones serve where a spec has a tensor ``x_t``."""


@dataclass(frozen=True)
class Tangents:
    """``program`` computes the tangents of its outputs from those of the inputs (``given``) and forward tensors.

    ``names`` has the tangent of every tensor that moves; an output that it lacks does not depend on the inputs.
    """

    program: Program
    names: Mapping[str, str]
    given: tuple[str, ...]


def tangents(forward: Program, wrt: tuple[str, ...], wanted: tuple[str, ...], letters: Letters) -> Tangents:
    """The tangents of the ``wanted`` tensors, for a movement of every input in ``wrt``."""
    known = Sweep(forward, wrt, letters).knowledge
    names = tangent_names(wrt, forward)
    equations = [_tangent(e, names, known) for e in forward.equations if e.tensor in names]
    outputs = tuple(names[w] for w in wanted if w in names)
    program = Program(f"{forward.name}_jvp", (), tuple(equations), outputs, forward.sizes, forward.constants)
    program = prune(program, set(outputs))
    given = tuple(names[w] for w in wrt)
    return Tangents(replace(program, inputs=tangent_inputs(program, forward, names, wrt)), names, given)


def tangent_names(wrt: Iterable[str], forward: Program) -> dict[str, str]:
    """The tensors that move with the inputs, and what their tangents are called."""
    moving = dict.fromkeys(wrt)
    for equation in forward.equations:
        if tensors(equation.right) & moving.keys():
            moving[equation.tensor] = None
    taken = {*forward.shapes, *forward.constants, *forward.sizes}
    suffix = next(s for s in SUFFIXES if not taken & {f"{t}{s}" for t in moving})
    return {tensor: f"{tensor}{suffix}" for tensor in moving}


def _tangent(equation: Equation, names: Mapping[str, str], known: tuple[Knowledge, ...]) -> Equation:
    """The equation of the tangent of one tensor, simplified as a gradient is."""
    moved = Add(*_movements(equation.right, S.One, (), names))
    return Equation(names[equation.tensor], equation.indices, simplify(moved, known).expression)


def _movements(expression: Expr, factor: Expr, summed: tuple[Index, ...], names: Mapping[str, str]) -> Iterator[Expr]:
    """``partial * tangent`` of every entry that moves; indices opened on the way are summed.

    The partial is what the entry would receive of an adjoint of 1. Where ``pad`` reads beyond its tensor nothing moves.
    """
    if factor is S.Zero or not expression.atoms(Access):
        return
    if isinstance(expression, Access | Pad):
        access = expression.args[0] if isinstance(expression, Pad) else expression
        if access.tensor in names:
            moved: Expr = Access(names[access.tensor], *access.indices)
            moved = Pad(moved) if isinstance(expression, Pad) else moved
            yield Sum.over(times(factor, moved), summed)
        return
    for part in parts(expression, factor):
        yield from _movements(part.argument, part.adjoint, (*summed, *part.opened), names)


def tangent_inputs(
    program: Program, forward: Program, names: Mapping[str, str], wrt: tuple[str, ...]
) -> tuple[model.Input, ...]:
    """The tangents of the inputs, then every tensor of the forward that the equations read."""
    own = {i.name: i for i in forward.inputs}
    moving = (model.Input(names[w], forward.shapes[w]) for w in wrt)
    return (*moving, *(own.get(t) or model.Input(t, forward.shapes[t]) for t in forward.shapes if t in program.read))
