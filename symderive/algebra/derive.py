"""Gradients of a program by a reverse sweep over its equations.

For the outputs' upstream gradients ``dy`` the sweep gives every tensor T its adjoint, ``dT[p] = sum dy d(y)/d(T[p])``,
equation by equation from the last to the first, once for every occurrence. The adjoints are equations of the same
language. They are simplified, written with the tensors that the forward has named, and adjoints that cost more than
they explain are put into the equations that use them.
"""

from __future__ import annotations

from functools import cached_property

from sympy import Add, Expr, S

from symderive.algebra.adjoint import Occurrence, occurrences
from symderive.algebra.build import build_program
from symderive.algebra.deltas import collapsed, solve
from symderive.algebra.forward import prune, stable_program
from symderive.algebra.inline import inline_adjoints
from symderive.algebra.letters import Letters
from symderive.algebra.nodes import Access, Index, Sum
from symderive.algebra.program import Derivation, Equation, Gradient, Program, Step
from symderive.algebra.readable import with_batch_count
from symderive.algebra.recognise import Knowledge
from symderive.algebra.saved import choose_saved, with_inputs
from symderive.algebra.simplify import simplify
from symderive.algebra.steps import Story, gradient_steps
from symderive.algebra.terms import tensors
from symderive.algebra.unbuild import statement
from symderive.record import record
from symderive.spec import model, syntax


def derive(spec: model.Spec) -> Derivation:
    """The gradients of a spec's outputs with respect to each of its ``wrt``, with the steps that lead to them."""
    built = build_program(spec)
    forward = stable_program(built)
    letters = spec_letters(spec, forward)
    sweep = Sweep(forward, spec.wrt, letters)
    story = sweep.run()
    story = inline_adjoints(story, sweep.knowledge, spec.wrt)
    backward = Program(
        f"{spec.name}_grad",
        (),
        tuple(story.equations),
        tuple(f"d{name}" for name in spec.wrt),
        forward.sizes,
        forward.constants,
    )
    one = _upstream_of_loss(forward, sweep.upstreams)
    display = with_batch_count(backward.put(one), letters.taken)
    display = with_inputs(forward, display, sweep.upstreams)
    backward, saved = choose_saved(forward, backward, sweep.upstreams)
    telling = Told(display, story, sweep, letters, one)
    gradients = {name: Gradient(name, f"d{name}", telling) for name in spec.wrt}
    forward = prune(forward, {*forward.outputs, *saved})
    return Derivation(spec, forward, backward, display, sweep.upstreams, saved, gradients, telling, built)


def spec_letters(spec: model.Spec, program: Program) -> Letters:
    """The letters of the spec's text: those of left sides first, then bound ones in reading order."""
    letters = Letters(program, taken=[f"d{t}" for t in spec.shapes])
    for equation in spec.equations:
        for node in equation.right.walk():
            for name in _letters_of(node):
                if name in equation.ranges:
                    letters.declare(name, equation.ranges[name])
        for access in equation.right.walk():
            if isinstance(access, syntax.Access):
                for place, index in enumerate(access.indices):
                    name = index.id if isinstance(index, syntax.Name) else syntax.BATCH
                    if name in equation.ranges and isinstance(index, syntax.Name | syntax.Batch):
                        letters.axes.setdefault((access.tensor, place), name)
    for name, extent in spec.indices.items():
        letters.declare(name, extent)
    return letters


def _letters_of(node: syntax.Node) -> tuple[str, ...]:
    if isinstance(node, syntax.Binder):
        return node.indices
    return (node.id,) if isinstance(node, syntax.Name) else ()


class Sweep:
    """One reverse sweep: which tensors need an adjoint, and what each equation gives to them."""

    def __init__(self, forward: Program, wrt: tuple[str, ...], letters: Letters) -> None:
        self.forward = forward
        self.wrt = wrt
        self.letters = letters
        named = Knowledge(forward, named=True)
        plain, solved = Knowledge(forward, solve=False), Knowledge(forward)
        self.knowledge = (plain, *([solved] if solved.solves else []), *([named] if named.solves_named else []))
        self.needed = self._needed()
        self.upstreams = tuple(f"d{o}" for o in forward.outputs)
        self.contributions: dict[str, list[tuple[Equation, Occurrence, Expr]]] = {t: [] for t in self.needed}
        self.axes: dict[str, tuple[Index, ...]] = {}
        own = forward.shapes
        self.shapes = own | {f"d{t}": s for t, s in own.items()} | {f"d{t}_total": s for t, s in own.items()}

    def _needed(self) -> set[str]:
        """Tensors on a way from an input to be differentiated to an output."""
        depend = set(self.wrt)
        for equation in self.forward.equations:
            if tensors(equation.right) & depend:
                depend.add(equation.tensor)
        reach = set(self.forward.outputs)
        for equation in reversed(self.forward.equations):
            if equation.tensor in reach:
                reach |= tensors(equation.right)
        return depend & reach

    def indices_of(self, tensor: str) -> tuple[Index, ...]:
        """Named indices for the axes of a tensor, in the author's letters, pairwise different."""
        if tensor not in self.axes:
            used: dict[str, Expr] = {}
            result = []
            for place, extent in enumerate(self.forward.shapes[tensor]):
                name = self.letters.axes.get((tensor, place), "")
                if not name or name in used or extent not in self._extents(name):
                    name = self.letters.choose(extent, used)
                used[name] = extent
                result.append(Index(name, extent))
            self.axes[tensor] = tuple(result)
        return self.axes[tensor]

    def _extents(self, name: str) -> list[Expr]:
        return [e for e, names in self.letters.by_extent.items() if name in names]

    def adjoint_of(self, tensor: str) -> str:
        """The name of the adjoint that the equation defining the tensor receives."""
        total = tensor in self.forward.outputs and self.contributions.get(tensor)
        return f"d{tensor}_total" if total else f"d{tensor}"

    def run(self) -> Story:
        """The adjoint equations, from the outputs to the inputs."""
        story = Story()
        for equation in reversed(self.forward.equations):
            if equation.tensor not in self.needed:
                continue
            self._finish(equation.tensor, story)
            adjoint = Access(self.adjoint_of(equation.tensor), *equation.indices)
            for occurrence in occurrences(equation, adjoint)[1]:
                if occurrence.tensor in self.needed:
                    raw = self.contribution(occurrence)
                    self.contributions[occurrence.tensor].append((equation, occurrence, raw))
        for name in self.wrt:
            self._finish(name, story)
        return story

    def contribution(self, occurrence: Occurrence) -> Expr:
        """``sum adjoint * delta(p, position)`` over all indices that are not p, its deltas collapsed."""
        place = self.indices_of(occurrence.tensor)
        solution = solve(zip(place, occurrence.positions, strict=True), occurrence.summed)
        body = collapsed(occurrence.adjoint, solution, self.shapes)
        for delta in solution.left:
            body = delta * body
        return Sum.over(body, [i for i in (*occurrence.summed, *solution.digits) if i not in solution.values])

    def _finish(self, tensor: str, story: Story) -> None:
        """The adjoint of one tensor is complete: state its equation."""
        received = self.contributions.get(tensor, [])
        is_output = tensor in self.forward.outputs
        if is_output and not received:
            return
        place = self.indices_of(tensor)
        parts = [raw for _, _, raw in received]
        if is_output:
            parts.append(Access(f"d{tensor}", *place))
        name = self.adjoint_of(tensor)
        trail = simplify(Add(*parts), self.knowledge)
        story.add(Equation(name, place, trail.expression), tensor, received, trail)


def _upstream_of_loss(forward: Program, upstreams: tuple[str, ...]) -> dict[Expr, Expr]:
    """Formulas print the upstream of a sole scalar output as 1."""
    if len(forward.outputs) != 1 or forward.shapes[forward.outputs[0]]:
        return {}
    return {Access(upstreams[0]): S.One}


@record
class Told:
    """Tells of every adjoint of a derivation how it came about: see :class:`symderive.algebra.program.Telling`."""

    display: Program
    story: Story
    sweep: Sweep
    letters: Letters
    one: dict[Expr, Expr]

    @cached_property
    def equations(self) -> dict[str, Equation]:
        """The displayed equations by name."""
        return {e.tensor: e for e in self.display.equations}

    def needed(self, tensor: str) -> tuple[Equation, ...]:
        """The backward equations that the adjoint needs, its own last."""
        wanted, result = {tensor}, []
        for equation in reversed(self.display.equations):
            if equation.tensor in wanted:
                result.append(equation)
                wanted |= tensors(equation.right)
        return tuple(reversed(result))

    def statement(self, tensor: str) -> syntax.Statement:
        """Its equation as syntax."""
        return statement(self.equations[tensor], self.letters)

    def steps(self, tensor: str) -> tuple[Step, ...]:
        """The steps that lead to its equation."""
        return gradient_steps(self.story.told[tensor], self.sweep, self.letters, self.one)

    def told(self) -> tuple[str, ...]:
        """Every adjoint that its steps speak of, in order."""
        return tuple(self.story.told)

    def reads(self, tensor: str) -> tuple[str, ...]:
        """The forward tensors and inputs that its equations read."""
        read = {name for e in self.needed(tensor) for name in tensors(e.right)} - self.equations.keys()
        return tuple(t for t in self.letters.tensors if t in read)

    def is_zero(self, tensor: str) -> bool:
        """Whether it is identically zero."""
        return self.equations[tensor].right is S.Zero
