"""A derivation as a person reads it: the forward, every step like a worked example, every gradient in every form."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from symderive.api import Derivation, Gradient
from symderive.report.document import Block, Code, Formula, Heading, Prose, StepLine, Table
from symderive.spec import model
from symderive.spec.format import to_text
from symderive.spec.size_text import shape_text
from symderive.spec.write import equation_statement, forward_statements, inner_equations
from symderive.wording import listed


def mathematics(derivation: Derivation) -> Iterator[Block]:
    """Everything about a derivation that needs no torch, in the order in which it is read."""
    yield from forward_blocks(derivation.spec, derivation.core.read)
    yield from step_blocks(derivation)
    yield from gradient_blocks(derivation)
    yield from code_blocks(derivation)


def forward_blocks(spec: model.Spec, read: Collection[str] = ()) -> Iterator[Block]:
    """What is differentiated, and where it is from; of what calls compute inside, what is ``read`` elsewhere."""
    yield Heading(f"{spec.name}: {spec.title}" if spec.title else spec.name, 1)
    if spec.source:
        yield Prose(f"Source: {spec.source}")
    if spec.notes:
        yield Prose(spec.notes)
    yield Heading("Forward")
    yield Table((), tuple(_input_row(i, spec) for i in spec.inputs))
    for statement in forward_statements(spec):
        yield Formula(to_text(statement))
    for equation in inner_equations(spec, read):
        yield Formula(to_text(equation_statement(equation)), "where", 1)


def _input_row(given: model.Input, spec: model.Spec) -> tuple[str, ...]:
    said = [
        "class ids" if given.index is not None else "",
        "truth values" if given.boolean else "",
        f"assumed {', '.join(given.assume)}" if given.assume else "",
        "differentiated" if given.name in spec.wrt else "",
    ]
    return f"  {given.name}", shape_text(given.shape), ", ".join(s for s in said if s)


def step_blocks(derivation: Derivation) -> Iterator[Block]:
    """The derivation of each gradient, step by step."""
    yield Heading("Derivation")
    sole = derivation.spec.outputs[0]
    if len(derivation.spec.outputs) == 1 and not derivation.spec.shapes[sole]:
        yield Prose(f"{sole} is the only output, and a scalar: d{sole} = 1.")
    else:
        upstreams = " and ".join(f"d{o}" for o in derivation.spec.outputs)
        yield Prose(f"The caller gives the upstream {upstreams}; d<name> is the gradient contracted with it.")
    named = derivation.core.named
    for line in derivation.equations() if named else ():
        if _defined(line) in named:
            yield Formula(line, "where", 1)
    outputs = " and ".join(derivation.spec.outputs)
    for tensor, steps in ({**derivation.core.intermediate, **{g.tensor: g.steps for g in derivation}}).items():
        yield Heading(f"{tensor}, the gradient of {outputs} with respect to {_by(tensor)}", 3)
        for number, step in enumerate(steps, 1):
            yield StepLine(number, step.rule, step.text, to_text(step.after))


def _by(tensor: str) -> str:
    """What ``dW`` or ``dy_total`` is the gradient with respect to."""
    return tensor.removeprefix("d").removesuffix("_total")


def gradient_blocks(derivation: Derivation) -> Iterator[Block]:
    """Every gradient in index form and in array form, and what it reads of the forward."""
    spec = derivation.spec
    yield Heading("Gradients")
    helpers = [e for e in derivation.equations() if _defined(e).removeprefix("d") not in derivation.gradients]
    for line in helpers:
        tensor = _defined(line)
        yield Formula(line, "index")
        yield from _array(derivation, tensor)
    for gradient in derivation:
        yield Formula(f"{gradient.tensor} {shape_text(spec.shapes[gradient.name])}{_reads(gradient)}")
        if gradient.zero:
            yield Formula(f"{' and '.join(spec.outputs)} does not depend on {gradient.name}", depth=1)
        yield Formula(gradient.index, "index", 1)
        yield from _array(derivation, gradient.tensor, 1)
    unconstrained = [i for i in spec.inputs if i.name in spec.wrt and set(i.assume) & CONSTRAINED]
    for given in unconstrained:
        kinds = ", ".join(a for a in given.assume if a in CONSTRAINED)
        yield Prose(f"{given.name} is {kinds}; its gradient is taken entry by entry, as if it were not.")


CONSTRAINED = {"one_hot", "simplex", "symmetric", "spd", "binary"}
"""Assumptions that tie the entries of an input to each other, or to a few values."""


def _reads(gradient: Gradient) -> str:
    return f", reads {', '.join(gradient.saves)} of the forward" if gradient.saves else ""


def _array(derivation: Derivation, tensor: str, depth: int = 0) -> Iterator[Block]:
    form = derivation.array_form(tensor)
    yield Formula(f"none: no way to write {derivation.not_said(tensor)}" if form is None else form, "array", depth)


def _defined(line: str) -> str:
    """The tensor that a line defines."""
    return line.split(" = ", 1)[0].split("[", 1)[0]


def code_blocks(derivation: Derivation) -> Iterator[Block]:
    """The torch code, and what it saves."""
    yield Heading("PyTorch")
    yield Code(derivation.torch)
    yield Prose(f"Saved for the backward: {listed(derivation.saved) or 'nothing'}.")
    for statement in derivation.core.introduced:
        yield Formula(to_text(statement), "where", 1)
