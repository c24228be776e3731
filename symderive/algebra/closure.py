"""What an op keeps so that it can be differentiated again: a set of tensors that is closed under differentiation.

A backward that reads an intermediate tensor c makes c an output of the op, with a gradient of its own, whose formula
reads tensors, too: those are kept as well. What is then a cheap function of the others is computed again instead.
"""

from __future__ import annotations

from dataclasses import replace

from sympy import S

from symderive.algebra.derive import Sweep, spec_letters
from symderive.algebra.forward import prune
from symderive.algebra.forward_mode import tangent_names
from symderive.algebra.inline import inline_adjoints
from symderive.algebra.letters import Letters
from symderive.algebra.nodes import Condition
from symderive.algebra.program import Derivation, Equation, Program
from symderive.algebra.recognise import Knowledge
from symderive.algebra.saved import as_input, compared, computed_again
from symderive.algebra.simplify import simplify
from symderive.algebra.terms import cost
from symderive.errors import InternalError
from symderive.record import record
from symderive.spec import model


@record
class Closure:
    """The ``saved`` tensors, those among them that are ``carried`` as outputs, and programs that read no others.

    ``backward`` gives the gradients from the outputs' upstreams; ``through`` gives them from those of the carried
    tensors, and is None where no such tensor moves.
    """

    saved: tuple[str, ...]
    carried: tuple[str, ...]
    backward: Program
    through: Program | None


def closure(spec: model.Spec, derivation: Derivation) -> Closure:
    """The tensors that the backward needs, and those that are needed to differentiate it in turn."""
    forward, saved = derivation.forward, derivation.saved
    truths = {e.tensor for e in forward.equations if isinstance(e.right, Condition)}
    moving = tangent_names(spec.wrt, forward).keys() - truths
    for _ in range(len(forward.equations) + 1):
        carried = _carried(spec, saved)
        outputs = tuple(c for c in carried if c in moving)
        through = pullback(spec, forward, outputs) if outputs else None
        read = set() if through is None else through.read & forward.shapes.keys()
        exact = compared(forward, derivation.backward)
        again = {e.tensor for e in computed_again(forward, {*saved, *read}, exact)}
        kept = tuple(t for t in forward.shapes if t in {*saved, *read} - again)
        if kept == saved:
            whole = from_saved(derivation.backward, forward, derivation.upstreams, saved)
            return Closure(saved, carried, whole, through and _of_moving(through, forward, saved))
        saved = kept
    raise InternalError(f"no set of tensors of {spec.name} is closed under differentiation")


def _of_moving(through: Program, forward: Program, saved: tuple[str, ...]) -> Program:
    """The pullback of what is intermediate, without gradients that are identically 0."""
    ups = tuple(i.name for i in through.inputs)
    return nonzero(from_saved(through, forward, ups, saved))


def pullback(spec: model.Spec, forward: Program, outputs: tuple[str, ...]) -> Program:
    """The gradients of some tensors of the forward by the inputs, in terms of any others."""
    forward = replace(forward, outputs=outputs)
    found, known = reverse(forward, spec.wrt, spec_letters(spec, forward))
    return replace(found, equations=tuple(_simpler(e, known) for e in found.equations))


def reverse(program: Program, wrt: tuple[str, ...], letters: Letters) -> tuple[Program, tuple[Knowledge, ...]]:
    """The gradients of a program's outputs by ``wrt``, from its upstreams, and what is known of its tensors."""
    sweep = Sweep(program, wrt, letters)
    story = inline_adjoints(sweep.run(), sweep.knowledge, wrt)
    given = tuple(model.Input(u, program.shapes[o]) for u, o in zip(sweep.upstreams, program.outputs, strict=True))
    gradients, equations = tuple(f"d{w}" for w in wrt), tuple(story.equations)
    found = Program(f"{program.name}_grad", given, equations, gradients, program.sizes, program.constants)
    return found, sweep.knowledge


def _simpler(equation: Equation, known: tuple[Knowledge, ...]) -> Equation:
    """What one way to recognise tensors has left another one may see."""
    right = simplify(equation.right, known).expression
    return replace(equation, right=right) if cost(right) < cost(equation.right) else equation


def from_saved(program: Program, forward: Program, upstreams: tuple[str, ...], saved: tuple[str, ...]) -> Program:
    """The program as one of upstreams and saved tensors: others of the forward that it reads are computed again."""
    program = replace(program, equations=tuple(e for e in program.equations if e.tensor not in forward.shapes))
    unsaved = tuple(e for e in forward.equations if e.tensor not in saved)
    again = prune(replace(forward, equations=unsaved), program.read).equations
    program = replace(program, equations=(*again, *program.equations))
    inputs = {i.name: i for i in program.inputs} | {e.tensor: as_input(e) for e in forward.equations}
    inputs |= {i.name: i for i in forward.inputs}
    return replace(program, inputs=tuple(inputs[n] for n in (*upstreams, *(s for s in saved if s in program.read))))


def reads_only(program: Program, forward: Program, saved: tuple[str, ...]) -> bool:
    """Whether all that a program reads of the forward is saved, or a cheap function of that."""
    read = program.read & forward.shapes.keys()
    again = {e.tensor for e in computed_again(forward, {*saved, *read})}
    return read - again <= {*saved}


def nonzero(program: Program) -> Program:
    """The program without outputs that are identically zero, and without what only those need."""
    zero = {e.tensor for e in program.equations if e.right is S.Zero}
    outputs = tuple(o for o in program.outputs if o not in zero)
    return prune(replace(program, outputs=outputs), set(outputs))


def _carried(spec: model.Spec, saved: tuple[str, ...]) -> tuple[str, ...]:
    """The saved tensors that are neither inputs nor outputs."""
    own = {i.name for i in spec.inputs} | set(spec.outputs)
    return tuple(s for s in saved if s not in own)
