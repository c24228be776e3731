"""Calls of other specs: the gradients of an op are derived once, and used again wherever it is called.

The gradient of a spec is a set of equations in the same language, so a call's gradient is put out into the caller's
words just as its forward was. An op's own rule gives the gradients of its inputs from the upstreams of its outputs and
from its own tensors. It holds for a call as long as those are computed as the op computes them: where the caller had to
write an equation otherwise, to keep it from overflowing (the log of a softmax that another spec computes), the call is
differentiated equation by equation, as if it had been written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sympy import Expr, Mul, S

from symderive.algebra.build import built_equation
from symderive.algebra.forward import stable_program
from symderive.algebra.nodes import Access, Pad, Sum
from symderive.algebra.program import Equation, Program
from symderive.algebra.readable import with_batch_count
from symderive.algebra.terms import tensors, transform
from symderive.algebra.unbuild import resolved
from symderive.record import record
from symderive.spec import model, syntax
from symderive.spec.calls import put_out
from symderive.spec.sizes import BATCH_SIZE


@record
class Rule:
    """The gradients of an op by all its real inputs, in equations of its own; upstreams are called ``d<output>``."""

    spec: model.Spec
    equations: tuple[model.Equation, ...]

    @property
    def totals(self) -> frozenset[str]:
        """The outputs that the op itself uses: what they receive in all is an equation of the rule."""
        own = {e.tensor for e in self.equations}
        return frozenset(o for o in self.spec.outputs if f"d{o}_total" in own)

    def needed(self, wanted: set[str]) -> list[model.Equation]:
        """The equations that the wanted tensors need."""
        kept, needed = [], set(wanted)
        for equation in reversed(self.equations):
            if equation.tensor in needed:
                kept.append(equation)
                needed.update(syntax.names(equation.right))
        return kept[::-1]


RULES: dict[str, Rule] = {}
"""The rules that this process has derived, by what was derived."""


def own_rule(spec: model.Spec) -> Rule:
    """The rule of an op, derived when it is first asked for."""
    key = repr((spec.name, spec.inputs, spec.equations, spec.outputs, spec.wrt, sorted(spec.constants.items())))
    if key not in RULES:
        RULES[key] = _derived(spec)
    return RULES[key]


def _derived(spec: model.Spec) -> Rule:
    from symderive.algebra.derive import swept  # which asks for rules in its turn

    sweep, story = swept(spec, naming=False)
    gradients = tuple(f"d{name}" for name in spec.wrt)
    program = Program(f"{spec.name}_grad", (), tuple(story.equations), gradients, sweep.forward.sizes)
    program = with_batch_count(program, sweep.letters.taken)
    return Rule(spec, tuple(resolved(e, sweep.letters) for e in program.equations))


@record
class Called:
    """A call whose op's own rule holds. ``tensors`` are those that it computes."""

    call: model.Call
    rule: Rule
    tensors: frozenset[str]


def calls_with_rules(spec: model.Spec, built: Program, forward: Program) -> list[Called]:
    """The calls of a spec that are differentiated by the rules of what they call."""
    found = []
    for call in spec.calls:
        own = frozenset(e.tensor for e in call.equations)
        if all(e in spec.equations for e in call.equations) and _holds(call, own, built, forward):
            found.append(Called(call, own_rule(_callee(call, spec)), own))
    return found


def _holds(call: model.Call, own: frozenset[str], built: Program, forward: Program) -> bool:
    """Whether the call is computed as by itself, and nothing but its outputs is read by the caller."""
    inner = own - {*call.outputs.values()}
    outside = set().union(*(tensors(e.right) for e in forward.equations if e.tensor not in own), forward.outputs)
    alone = stable_program(replace(built, equations=tuple(e for e in built.equations if e.tensor in own)))
    computed = tuple(e for e in forward.equations if e.tensor in own)
    return not inner & outside and alone.equations == computed


def _callee(call: model.Call, caller: model.Spec) -> model.Spec:
    """The called spec with what is known of the arguments assumed of its inputs, differentiated by all of them."""
    known = {i.name: i for i in caller.inputs}
    inputs = tuple(
        replace(i, assume=known[call.names[i.name]].assume if call.names[i.name] in known else (), range=None)
        for i in call.spec.inputs
    )
    taken = call.spec.shapes
    wrt = tuple(i.name for i in inputs if i.is_real and f"d{i.name}" not in taken)
    return replace(call.spec, inputs=inputs, wrt=wrt)


def in_words_of_caller(
    called: Called, names: dict[str, str], zero: set[str], wanted: set[str], spec: model.Spec
) -> Iterator[tuple[str, Equation]]:
    """The equations of the rule that ``wanted`` needs, each with the name that it has in the rule.

    ``names`` are the caller's for the tensors of the rule; those in ``zero`` are 0, and with them what they make 0.
    """
    call = replace(called.call, names=names)
    taken = {*spec.shapes, *spec.sizes, *spec.constants, *names.values()} - {syntax.BATCH}
    equations = called.rule.needed(wanted)
    put: dict[str, Expr] = dict.fromkeys(zero, S.Zero)
    for equation, definition in zip(equations, put_out(call, equations, taken, spec.indices), strict=True):
        ranges = {syntax.BATCH: BATCH_SIZE, **definition.ranges}
        left = definition.statement.left
        places = left.indices if isinstance(left, syntax.Access) else ()
        indices = tuple(n.id if isinstance(n, syntax.Name) else syntax.BATCH for n in places)
        own = model.Equation(names[equation.tensor], indices, definition.statement.right, ranges)
        made = built_equation(own, spec)
        made = replace(made, right=_put(made.right, put))
        if isinstance(made.right, Sum) and made.right.body is S.One:
            put[made.tensor] = Mul(*(i.extent for i in made.right.bound))  # a number of batch entries
        elif not made.right.atoms(Access):
            put[made.tensor] = made.right
        if made.tensor not in put or equation.tensor in wanted:
            yield equation.tensor, made


def _put(expression: Expr, values: Mapping[str, Expr]) -> Expr:
    """The expression with numbers in place of the entries of some tensors."""
    if not values.keys() & tensors(expression):
        return expression

    def rule(node: Expr) -> Expr:
        if isinstance(node, Access) and node.tensor in values:
            return values[node.tensor]
        return S.Zero if isinstance(node, Pad) and node.args[0] is S.Zero and node.args[1] is S.Zero else node

    return transform(expression, rule)
