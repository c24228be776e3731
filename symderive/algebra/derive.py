"""Gradients of a program by a reverse sweep over its equations.

For the outputs' upstream gradients ``dy`` the sweep gives every tensor T its adjoint, ``dT[p] = sum dy d(y)/d(T[p])``,
equation by equation from the last to the first, once for every occurrence. The adjoints are equations of the same
language. They are simplified, written with the tensors that the forward has named, and adjoints that cost more than
they explain are put into the equations that use them.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cached_property

from sympy import Add, Expr, S

from symderive.algebra.adjoint import Occurrence, occurrences
from symderive.algebra.arguments import with_named_arguments
from symderive.algebra.build import build_program
from symderive.algebra.calls import Called, calls_with_rules, in_words_of_caller
from symderive.algebra.deltas import collapsed, solve
from symderive.algebra.forward import prune, stable_program
from symderive.algebra.inline import inline_adjoints, put
from symderive.algebra.letters import Letters
from symderive.algebra.nodes import Access, Index, Sum
from symderive.algebra.products import write_out_products
from symderive.algebra.program import Derivation, Equation, Gradient, Program, Step
from symderive.algebra.readable import with_batch_count
from symderive.algebra.recognise import Knowledge
from symderive.algebra.saved import choose_saved, with_inputs
from symderive.algebra.shared import share_values
from symderive.algebra.simplify import Trail, simplify
from symderive.algebra.steps import Received, Story, gradient_steps
from symderive.algebra.terms import tensors
from symderive.algebra.ties import has_unnamed_ties, with_extremes_again, with_named_entries, with_named_ties
from symderive.algebra.unbuild import statement
from symderive.record import record
from symderive.spec import model, syntax


def derive(spec: model.Spec) -> Derivation:
    """The gradients of a spec's outputs with respect to each of its ``wrt``, with the steps that lead to them."""
    sweep, story, backward = _adjoints(spec)
    display = _display(sweep, backward)
    built, forward, letters = sweep.built, sweep.forward, sweep.letters
    one = _upstream_of_loss(forward, sweep.upstreams)
    backward = write_out_products(backward)
    taken = {*letters.taken, *forward.shapes, *(e.tensor for e in backward.equations), *sweep.upstreams}
    forward, backward = share_values(forward, backward, sweep.indices_of, taken)
    backward, saved = choose_saved(forward, backward, sweep.upstreams)
    telling = Told(display, story, sweep, letters, one)
    gradients = {name: Gradient(name, f"d{name}", telling) for name in spec.wrt}
    forward = prune(forward, {*forward.outputs, *saved})
    return Derivation(spec, forward, backward, display, sweep.upstreams, saved, gradients, telling, built)


@record
class Formulas:
    """The gradients as formulas print them, and the forward that they read: of a derivation what is quicker found."""

    forward: Program
    display: Program


def formulas(spec: model.Spec) -> Formulas:
    """The same as :func:`derive` prints, without what only a program that computes them needs."""
    sweep, _, backward = _adjoints(spec)
    return Formulas(sweep.forward, _display(sweep, backward))


def _adjoints(spec: model.Spec) -> tuple[SpecSweep, Story, Program]:
    sweep, story = swept(spec)
    backward = _backward(spec, sweep, story)
    if has_unnamed_ties(backward):
        sweep, story = swept(spec, entries=True)
        backward = _backward(spec, sweep, story)
    return sweep, story, backward


def _display(sweep: SpecSweep, backward: Program) -> Program:
    one = _upstream_of_loss(sweep.forward, sweep.upstreams)
    display = with_batch_count(backward.put(one), sweep.letters.taken)
    return _with_introduced(display, sweep.forward, sweep.built, sweep.upstreams)


def _backward(spec: model.Spec, sweep: SpecSweep, story: Story) -> Program:
    """The adjoints as a program, in which what is compared with its own maximum has a name."""
    forward, letters = sweep.forward, sweep.letters
    backward = Program(
        f"{spec.name}_grad",
        (),
        tuple(story.equations),
        tuple(f"d{name}" for name in spec.wrt),
        forward.sizes,
        forward.constants,
        tuple(forward.shapes),
    )
    taken = {*letters.taken, *forward.shapes, *(e.tensor for e in backward.equations), *sweep.upstreams}
    backward = with_named_ties(backward, letters, taken)
    return with_extremes_again(backward, forward, forward.shapes.keys() - sweep.built.shapes.keys(), taken)


def _with_introduced(display: Program, forward: Program, built: Program, upstreams: tuple[str, ...]) -> Program:
    """The gradients as formulas print them, after the equations of what they read that the spec has no name for.

    What is read in one place only is written out there.
    """
    equations = {e.tensor: e for e in display.equations}
    spoken = display.read | {name.removeprefix("d") for name in equations}
    introduced = [e for e in prune(forward, spoken - built.shapes.keys()).equations if e.tensor not in built.shapes]
    for equation in reversed(introduced):
        places = [a for e in equations.values() for a in e.right.atoms(Access) if a.tensor == equation.tensor]
        if len(places) == 1 and f"d{equation.tensor}" not in equations:
            equations = {n: replace(e, right=put(e.right, equation)) for n, e in equations.items()}
        elif places or f"d{equation.tensor}" in equations:
            equations = {equation.tensor: equation, **equations}
    given = replace(forward, equations=tuple(e for e in forward.equations if e.tensor not in equations))
    return with_inputs(given, replace(display, equations=tuple(equations.values())), upstreams)


def swept(spec: model.Spec, naming: bool = True, entries: bool = False) -> tuple[SpecSweep, Story]:
    """The adjoints of a spec, those put into their users that are better read there; see :class:`SpecSweep`."""
    sweep = SpecSweep(spec, naming, entries)
    return sweep, inline_adjoints(sweep.run(), sweep.knowledge, spec.wrt)


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
        letters.reserve(name, extent)
    return letters


def _letters_of(node: syntax.Node) -> tuple[str, ...]:
    if isinstance(node, syntax.Binder):
        return node.indices
    return (node.id,) if isinstance(node, syntax.Name) else ()


def needed_tensors(forward: Program, wrt: tuple[str, ...]) -> set[str]:
    """Tensors on a way from an input to be differentiated to an output."""
    depend = set(wrt)
    for equation in forward.equations:
        if tensors(equation.right) & depend:
            depend.add(equation.tensor)
    reach = set(forward.outputs)
    for equation in reversed(forward.equations):
        if equation.tensor in reach:
            reach |= tensors(equation.right)
    return depend & reach


class Sweep:
    """One reverse sweep: which tensors need an adjoint, and what each equation gives to them."""

    def __init__(self, forward: Program, wrt: tuple[str, ...], letters: Letters) -> None:
        self.forward = forward
        self.wrt = wrt
        self.letters = letters
        named = Knowledge(forward, named=True)
        plain, solved = Knowledge(forward, solve=False), Knowledge(forward)
        self.knowledge = (plain, *([solved] if solved.solves else []), *([named] if named.solves_named else []))
        self.needed = needed_tensors(forward, wrt)
        self.upstreams = tuple(f"d{o}" for o in forward.outputs)
        self.contributions: dict[str, list[Received]] = {t: [] for t in self.needed}
        self.axes: dict[str, tuple[Index, ...]] = {}
        own = forward.shapes
        self.shapes = own | {f"d{t}{end}": s for t, s in own.items() for end in ("", "_total", "_upstream")}

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
            if equation.tensor not in self.needed or self.through_call(equation, story):
                continue
            self._finish(equation.tensor, story)
            adjoint = Access(self.adjoint_of(equation.tensor), *equation.indices)
            for occurrence in occurrences(equation, adjoint)[1]:
                if occurrence.tensor in self.needed:
                    raw = self.contribution(occurrence)
                    self.contributions[occurrence.tensor].append(Received(equation, raw, occurrence))
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

    def through_call(self, equation: Equation, story: Story) -> bool:
        """Whether the equation is part of a call, whose own rule gives the adjoints."""
        return False

    def _finish(self, tensor: str, story: Story, name: str = "") -> None:
        """The adjoint of one tensor is complete: state its equation."""
        received = self.contributions.get(tensor, [])
        is_output = tensor in self.forward.outputs
        if is_output and not received:
            return
        place = self.indices_of(tensor)
        parts = [r.raw for r in received]
        if is_output:
            parts.append(Access(f"d{tensor}", *place))
        name = name or self.adjoint_of(tensor)
        trail = simplify(Add(*parts), self.knowledge)
        story.add(Equation(name, place, trail.expression), tensor, received, trail)


class SpecSweep(Sweep):
    """The sweep of a spec, which goes through the calls of other specs by their own rules."""

    def __init__(self, spec: model.Spec, naming: bool = True, entries: bool = False) -> None:
        """With ``naming``, costly arguments of functions get names; a rule for callers speaks of its spec's alone.

        With ``entries``, so does what a maximum is taken of: see :func:`with_named_entries`.
        """
        self.spec = spec
        self.built = build_program(spec)
        forward = stable_program(self.built)
        calls = calls_with_rules(spec, self.built, forward)
        self.calls = {tensor: called for called in calls for tensor in called.tensors}
        if naming:
            own = needed_tensors(forward, spec.wrt) - self.calls.keys()
            forward = with_named_arguments(forward, spec_letters(spec, forward), own)
        if entries:
            own = needed_tensors(forward, spec.wrt) - self.calls.keys()
            forward = with_named_entries(forward, spec_letters(spec, forward), own)
        super().__init__(forward, spec.wrt, spec_letters(spec, forward))
        self.done: set[int] = set()
        self.upstream: dict[str, str] = {}

    def adjoint_of(self, tensor: str) -> str:
        """The name of the adjoint that the equation or the call defining the tensor receives."""
        return self.upstream.get(tensor) or super().adjoint_of(tensor)

    def through_call(self, equation: Equation, story: Story) -> bool:
        """``d<argument>`` by the rule of what is called, with the caller's adjoints for its upstreams."""
        called = self.calls.get(equation.tensor)
        if called is None:
            return False
        if id(called) not in self.done:
            self.done.add(id(called))
            self._through(called, story)
        return True

    def _through(self, called: Called, story: Story) -> None:
        names, zero = self._names(called, story)
        inputs = {f"d{i}": a for i, a in called.call.inputs.items() if i in called.rule.spec.wrt and a in self.needed}
        own = {e.tensor: e for e in self.forward.equations}
        given = [own[t] for o, t in called.call.outputs.items() if names[f"d{o}"] not in zero]
        kind = called.call.spec.name
        for name, made in in_words_of_caller(called, names, zero, {*inputs}, self.spec):
            if name in inputs:
                argument = inputs[name]
                raw = made.right.xreplace(dict(zip(made.indices, self.indices_of(argument), strict=True)))
                for n, output in enumerate(given):
                    self.contributions[argument].append(Received(output, S.Zero if n else raw, call=kind))
            elif made.right is not S.Zero:
                tensor = called.call.names.get(name.removesuffix("_total").removeprefix("d"), name)
                first = [Received(output, S.Zero if n else made.right, call=kind) for n, output in enumerate(given)]
                story.add(made, tensor, first, Trail(made.right))

    def _names(self, called: Called, story: Story) -> tuple[dict[str, str], set[str]]:
        """The caller's names for the tensors of the rule, and those among them that are 0."""
        call, zero = called.call, set[str]()
        names = dict(call.names) | {f"d{t}": f"d{n}" for t, n in call.names.items()}
        for output, tensor in call.outputs.items():
            received, is_output = self.contributions.get(tensor, []), tensor in self.forward.outputs
            name = super().adjoint_of(tensor)
            if output in called.rule.totals:
                names[f"d{output}_total"] = f"d{tensor}_total" if is_output else f"d{tensor}"
                name = f"d{tensor}_upstream" if received or not is_output else f"d{tensor}"
            if not received and not is_output:
                zero.add(name)
            else:
                self._finish(tensor, story, name)
            names[f"d{output}"] = self.upstream[tensor] = name
        for equation in called.rule.equations:
            if equation.tensor not in names:
                names[equation.tensor] = self._new_name(f"{call.spec.name}_{equation.tensor}", story)
        return names, zero

    def _new_name(self, wanted: str, story: Story) -> str:
        candidates = itertools.chain([wanted], (f"{wanted}_{n}" for n in itertools.count(2)))
        return next(c for c in candidates if c not in self.forward.shapes and c not in story.told)


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
        return self.write(self.equations[tensor])

    def write(self, equation: Equation) -> syntax.Statement:
        """Any equation as syntax."""
        return statement(equation, self.letters)

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
