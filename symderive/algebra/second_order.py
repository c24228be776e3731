"""What an op needs beyond its gradient to be differentiated again, in reverse and in forward mode.

The backward B of an op is a function of the upstreams and of what the forward saved, S. Its own derivative takes
the tensors in S as they are: those that are inputs or outputs of the op have a derivative already, and those that are
intermediate are made outputs of the op, so that a change of S reaches the inputs through the op once more. Nothing is
taken for a constant, and nothing is saved for it either.

For an op with inputs x, outputs y and intermediate tensors c in S this gives

* ``backward``: dx from dy, S;
* ``through``: dx from dc, S, which only a second derivative reads;
* ``tangents``: y_t and c_t from x_t, S;
* ``second``: dS and dgrad_y from the upstream dgrad_x of ``grad_x = B(S, grad_y)``;
* ``backward_tangents``: grad_x_t from S_t and grad_y_t.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sympy import S as SYMPY
from sympy.core.symbol import Str

from symderive.algebra.closure import Closure, closure, from_saved, nonzero, pullback, reads_only, reverse
from symderive.algebra.derive import derive, spec_letters
from symderive.algebra.forward import prune
from symderive.algebra.forward_mode import Tangents, tangent_names, tangents
from symderive.algebra.letters import Letters
from symderive.algebra.nodes import Access
from symderive.algebra.program import Derivation, Equation, Program
from symderive.spec import model

CONSTRAINTS = frozenset(("binary", "one_hot", "simplex", "symmetric", "spd"))
"""Assumptions that hold on a set without an interior: a formula that uses one is not the gradient beside that set."""

PREFIX = "grad_"


@dataclass(frozen=True)
class Differentiable:
    """An op with the programs of the module's docstring. ``saved`` is S, ``carried`` are its intermediate tensors."""

    derivation: Derivation
    saved: tuple[str, ...]
    carried: tuple[str, ...]
    forward: Program
    backward: Program
    through: Program | None
    tangents: Tangents
    second: Program
    backward_tangents: Tangents
    renamed: Mapping[str, str]
    """What tensors of ``backward`` are called in ``second`` and ``backward_tangents``: ``dx`` is ``grad_x``."""

    @property
    def spec(self) -> model.Spec:
        """What was derived."""
        return self.derivation.spec


def differentiable(spec: model.Spec) -> Differentiable:
    """The programs of an op that can be differentiated twice."""
    spec = unconstrained(spec)
    derivation = derive(spec)
    kept = closure(spec, derivation)
    wanted, backward = (*spec.outputs, *kept.carried), kept.backward
    forward = replace(prune(derivation.forward, set(wanted)), outputs=wanted)
    renamed = _grad_names(derivation, backward)
    own = rename(backward, renamed)
    moving = tangent_names(spec.wrt, forward)
    given = tuple(i.name for i in own.inputs)
    wrt = tuple(n for n in given if n in moving or n in renamed.values())
    return Differentiable(
        derivation,
        kept.saved,
        kept.carried,
        forward,
        backward,
        kept.through,
        _tangents_reading(spec, forward, kept),
        _second(own, wrt),
        _computed_again(tangents(own, wrt, own.outputs, Letters(own)), own),
        renamed,
    )


def unconstrained(spec: model.Spec) -> model.Spec:
    """The spec without the constraints that its differentiated inputs have: an op's gradient holds everywhere."""
    free = (
        replace(i, assume=tuple(a for a in i.assume if a not in CONSTRAINTS)) if i.name in spec.wrt else i
        for i in spec.inputs
    )
    return replace(spec, inputs=tuple(free))


def rename(program: Program, names: Mapping[str, str]) -> Program:
    """The program with other names for some tensors."""
    mapping = {Str(old): Str(new) for old, new in names.items()}

    def changed(equation: Equation) -> Equation:
        found = [a for a in equation.right.atoms(Access) if a.args[0] in mapping]
        entries = {a: Access(mapping[a.args[0]], *a.indices) for a in found}
        right = equation.right.xreplace(entries)
        return Equation(names.get(equation.tensor, equation.tensor), equation.indices, right)

    return replace(
        program,
        inputs=tuple(replace(i, name=names.get(i.name, i.name)) for i in program.inputs),
        equations=tuple(map(changed, program.equations)),
        outputs=tuple(names.get(o, o) for o in program.outputs),
    )


def _grad_names(derivation: Derivation, backward: Program) -> dict[str, str]:
    """``dx`` is called ``grad_x`` where it is differentiated itself."""
    own = [*derivation.upstreams, *(e.tensor for e in backward.equations)]
    own = [d for d in own if d not in derivation.spec.shapes]
    taken = {*derivation.spec.shapes, *derivation.spec.constants, *derivation.spec.sizes}
    prefix = PREFIX
    while taken & {prefix + d.removeprefix("d") for d in own}:
        prefix = f"{prefix[:-1]}ient_" if prefix == PREFIX else f"{prefix}_"
    return {d: prefix + d.removeprefix("d") for d in own}


def _second(own: Program, wrt: tuple[str, ...]) -> Program:
    """The gradients of a backward by ``wrt``; what it computes on the way is computed again."""
    found, _ = reverse(own, wrt, Letters(own, taken=[f"d{t}" for t in own.shapes]))
    return nonzero(_with_equations(replace(found, inputs=(*found.inputs, *own.inputs)), own))


def _with_equations(program: Program, own: Program) -> Program:
    """The program, preceded by the equations of the tensors of ``own`` that it reads."""
    return replace(program, equations=(*prune(own, program.read).equations, *program.equations))


def _computed_again(found: Tangents, own: Program) -> Tangents:
    """The tangents of every output, also of those that do not move, by a program that reads nothing but inputs."""
    given = [i for i in found.program.inputs if i.name in found.given]
    suffix = next(t.removeprefix(n) for n, t in found.names.items())
    names = {**{o: o + suffix for o in own.outputs}, **found.names}
    still = (e for e in own.equations if e.tensor in own.outputs and e.tensor not in found.names)
    zeros = (Equation(names[e.tensor], e.indices, SYMPY.Zero) for e in still)
    program = replace(
        found.program,
        inputs=(*given, *own.inputs),
        equations=(*found.program.equations, *zeros),
        outputs=tuple(names[o] for o in own.outputs),
    )
    return replace(found, program=_with_equations(program, own), names=names)


def _tangents_reading(spec: model.Spec, forward: Program, kept: Closure) -> Tangents:
    """Tangents that read only what is saved.

    Where the forward sweep reads more, a reverse sweep's result is transposed instead: ``dx = J.T dy`` is linear in
    dy, and its gradient by dy for the upstream x_t is ``J x_t = y_t``. The sweep of all outputs at once says most in
    common; where it reads more, too, those that the op has anyway serve.
    """
    found = tangents(forward, spec.wrt, forward.outputs, spec_letters(spec, forward))
    if reads_only(found.program, forward, kept.saved):
        return replace(found, program=_merged(from_saved(found.program, forward, found.given, kept.saved)))
    whole = pullback(spec, forward, tuple(o for o in forward.outputs if o in found.names))
    sweeps = (whole,) if reads_only(whole, forward, kept.saved) else (kept.backward, kept.through)
    made: dict[str, Equation] = {}
    for own in sweeps:
        if own is not None and own.outputs:
            transposed = _transposed(own, found.names, {*made}, forward).equations
            made |= {e.tensor: e for e in transposed if e.tensor not in made}
    still = (e for e in forward.equations if found.names.get(e.tensor) in {*found.program.outputs} - {*made})
    zeros = (Equation(found.names[e.tensor], e.indices, SYMPY.Zero) for e in still)
    program = replace(found.program, equations=(*made.values(), *zeros))
    return replace(found, program=from_saved(program, forward, found.given, kept.saved))


def _transposed(own: Program, names: Mapping[str, str], taken: set[str], forward: Program) -> Program:
    """What moves the upstreams' tensors, of a backward; names of its own are none of those that are ``taken``."""
    upstreams = tuple(i.name for i in own.inputs if i.name not in forward.shapes)
    found, _ = reverse(own, upstreams, Letters(own, taken=[f"d{t}" for t in own.shapes]))
    saved = (i for i in own.inputs if i.name not in upstreams)
    program = _with_equations(replace(found, inputs=(*found.inputs, *saved)), own)
    program = _merged(prune(program, set(program.outputs)))
    renamed = {f"dd{t}": n for t, n in names.items()}
    return rename(program, {d: n for d, n in renamed.items() if d in program.shapes} | _others(program, renamed, taken))


def _others(program: Program, renamed: Mapping[str, str], taken: set[str]) -> dict[str, str]:
    """Names for the tangents of intermediate adjoints, which no tensor of the op has."""
    left = [e.tensor for e in program.equations if e.tensor.startswith("dd") and e.tensor not in renamed]
    stems = {name: f"{name.removeprefix('dd').removesuffix('_total')}_part" for name in left}
    return {name: stem if stem not in taken else f"{stem}2" for name, stem in stems.items()}


def _merged(program: Program) -> Program:
    """The program without equations that give a tensor of its own another name."""
    names: dict[str, str] = {}
    own = {e.tensor: e for e in program.equations}
    for equation in program.equations:
        right = equation.right
        if not isinstance(right, Access) or right.tensor not in own or right.tensor in {*names, *program.outputs}:
            continue
        if right.indices == equation.indices == own[right.tensor].indices:
            names[right.tensor] = equation.tensor
    kept = replace(program, equations=tuple(e for e in program.equations if e.tensor not in names.values()))
    return rename(kept, names)
