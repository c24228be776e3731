"""What a written derivation consists of, in order, whatever it is written as: Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from symderive.algebra.derive import spec_letters
from symderive.algebra.program import Derivation, Gradient, Step
from symderive.algebra.unbuild import resolved
from symderive.emit.code_math import code_latex
from symderive.emit.latex import array_latex, equation_latex, input_latex, statement_latex
from symderive.emit.latex_calls import DIRECT
from symderive.emit.latex_lines import measure
from symderive.emit.latex_names import Notation
from symderive.errors import UnsupportedError
from symderive.record import record
from symderive.spec.sizes import BATCH_SIZE
from symderive.spec.write import forward_statements, inner_equations

ArrayForms = Mapping[str, str | None]
"""The array form of each gradient by the name of its input: lines of text, or None where it has none."""


@record
class Heading:
    """A heading; level 1 is the title."""

    text: str
    level: int = 2


@record
class Prose:
    """A sentence or two; code in it stands between backticks. ``lead`` are the words that it opens with, set bold."""

    text: str
    lead: str = ""


@record
class Formula:
    """A displayed formula, in LaTeX."""

    latex: str


@record
class Code:
    """Source code in Python."""

    text: str


Block = Heading | Prose | Formula | Code

_NOTES = (
    (
        r"\ell",
        "ℓ is any scalar function of {outputs}; its derivative with respect to {outputs} is the upstream gradient,"
        " {upstreams}.",
    ),
    (r"\ldots", "The dots stand for all leading batch axes, which act as one index."),
    (r"\mathrm{pad}", "pad reads 0, or the value at its foot, outside of the range of its tensor."),
    (r"\mathbf{1}[", "A bold 1 before a condition in square brackets is 1 where the condition holds, else 0."),
    (
        r"\mathrm{d} ",
        "Upright d's mark what an output has received in all: from the caller and from what else uses it.",
    ),
    (
        DIRECT,
        "A derivative marked direct goes by the equation of that tensor alone, through no other in between.",
    ),
    (
        r"\odot",
        "A circled dot multiplies entry by entry, after products of matrices; functions, quotients and powers "
        "go entry by entry too.",
    ),
    (r"\text{axis", "An operator's foot names the axis that it goes along, counted from 0, or from the end by -1, -2."),
    (r"\text{keep}", "Where it says keep, the reduced axis stays, with one entry."),
    (r"\mathrm{new}", "A new axis has one entry, and broadcasts."),
    (r"\mathrm{stop}", "stop(x) is x, but no gradient flows through it."),
)
"""What a reader needs to know where a piece of LaTeX occurs."""


def writeup(derivation: Derivation, array_forms: ArrayForms | None = None, torch_code: str = "") -> list[Block]:
    """The derivation as blocks: what is differentiated, each gradient step by step, and the code that computes it.

    ``array_forms`` are the matrix forms to show, ``torch_code`` is the emitted module.
    """
    notation = Notation.of_derivation(derivation)
    spec = derivation.spec
    forms = array_forms or {}
    body = [*_forward(derivation, notation), *_intermediate(derivation, notation, forms)]
    for name, gradient in derivation.gradients.items():
        body += _gradient(derivation, gradient, notation, forms.get(name, forms.get(gradient.tensor)))
    body += _code(derivation, notation, torch_code)
    head: list[Block] = [Heading(spec.title or spec.name, 1)]
    head += [Prose(text) for text in (f"Source: {spec.source}" if spec.source else "", spec.notes) if text]
    return [*head, Prose(_conventions(derivation, body)), *body]


def formulas(blocks: Sequence[Block]) -> list[str]:
    """Every formula of a derivation, as LaTeX."""
    return [block.latex for block in blocks if isinstance(block, Formula)]


def _names(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _conventions(derivation: Derivation, body: Sequence[Block]) -> str:
    shown = "\n".join(formulas(body))
    names = {"outputs": _names(derivation.spec.outputs), "upstreams": f"{_names(derivation.upstreams)} in code"}
    batched = any(BATCH_SIZE in shape for shape in derivation.spec.shapes.values())
    marked = [(m, note) for m, note in _NOTES if m in shown and (batched or m != r"\ldots")]
    notes = [note.format(**names) for _, note in marked]
    if any(name.startswith("grad_") for name in derivation.spec.shapes):
        notes.append("A bar marks a gradient that the spec itself computes from or with: `grad_y` in code.")
    return " ".join(["Indices count from 0.", *notes])


def _forward(derivation: Derivation, notation: Notation) -> Iterator[Block]:
    spec = derivation.spec
    yield Heading("Forward")
    yield Formula(_gathered([input_latex(given, notation) for given in spec.inputs]))
    constants = [rf"{notation.text(name)} = {_constant(derivation, name)}" for name in spec.constants]
    if constants:
        yield Formula(_gathered(constants))
    for statement in forward_statements(spec):
        yield Formula(statement_latex(statement, notation))
    for equation in inner_equations(spec, derivation.read):
        yield Formula(equation_latex(equation, notation))
    constrained = [given for given in spec.inputs if given.assume and given.name in spec.wrt]
    for given in constrained:
        yield Prose(
            f"`{given.name}` is {_list(given.assume)}; its gradient is taken entry by entry as if it were free."
        )


def _list(words: Sequence[str]) -> str:
    return ", ".join(word.replace("_", "-") for word in words)


def _constant(derivation: Derivation, name: str) -> str:
    from symderive.emit.latex import expression_latex
    from symderive.spec.syntax import Number, Unary

    value = derivation.spec.constants[name]
    number = Number(abs(value))
    return expression_latex(Unary("-", number) if value < 0 else number)


def _gathered(parts: Sequence[str]) -> str:
    """Short formulas side by side, over as many lines as they need."""
    lines: list[str] = []
    for part in parts:
        if lines and measure(lines[-1] + part) < 60:
            lines[-1] += r", \quad " + part
        else:
            lines.append(part)
    if len(lines) == 1:
        return lines[0]
    return "\\begin{gathered}\n" + " \\\\\n".join(lines) + "\n\\end{gathered}"


def _intermediate(derivation: Derivation, notation: Notation, forms: ArrayForms) -> Iterator[Block]:
    """The gradients of intermediate tensors that the others are computed from, in order."""
    letters = spec_letters(derivation.spec, derivation.forward)
    own = {gradient.tensor for gradient in derivation.gradients.values()}
    kept = {e.tensor: e for e in derivation.display.equations if e.tensor not in own}
    for tensor in dict.fromkeys((*derivation.named, *derivation.intermediate, *kept)):
        of = notation.gradients.get(tensor) or notation.totals.get(tensor)
        yield Heading(f"Gradient with respect to the intermediate `{of}`" if of else f"The helper `{tensor}`")
        yield from _steps(derivation.intermediate.get(tensor, ()), notation)
        if tensor in kept:
            yield from _result(equation_latex(resolved(kept[tensor], letters), notation), forms.get(tensor), notation)
        else:
            yield Prose("It is put in below, where it is used.")


def _gradient(derivation: Derivation, gradient: Gradient, notation: Notation, array: str | None) -> Iterator[Block]:
    yield Heading(f"Gradient with respect to `{gradient.wrt}`")
    if gradient.zero:
        verb = "does" if len(derivation.spec.outputs) == 1 else "do"
        yield Prose(f"{_names(derivation.spec.outputs)} {verb} not depend on `{gradient.wrt}`: its gradient is 0.")
    yield from _steps(gradient.steps, notation)
    yield from _result(statement_latex(gradient.index, notation), array, notation)
    yield Prose(
        f"Reads of the forward: {_names(gradient.saves)}." if gradient.saves else "Reads nothing of the forward."
    )


def _result(index: str, array: str | None, notation: Notation) -> Iterator[Block]:
    yield Prose("", "Index form.")
    yield Formula(index)
    if array:
        yield Prose("", "Array form.")
        try:
            yield Formula(array_latex(array, notation))
        except UnsupportedError:
            yield Code(array)


def _steps(steps: Sequence[Step], notation: Notation) -> Iterator[Block]:
    shown = [(step, statement_latex(step.after, notation)) for step in steps]
    telling = [(step, latex) for step, latex in shown if not _says_nothing(latex)]
    for number, (step, latex) in enumerate(telling, 1):
        yield _step(number, step)
        yield Formula(latex)


def _says_nothing(latex: str) -> bool:
    """Whether an equation has the same on both sides, as where the derivative of a loss is called by its name."""
    left, _, right = latex.partition(" = ")
    return right in (left, rf"\left.{left}\right|{DIRECT}")


def _step(number: int, step: Step) -> Prose:
    rule = step.rule.replace("_", " ")
    text = step.text.removeprefix(f"{rule}: ").rstrip(".")
    return Prose(f"{text[:1].upper()}{text[1:]}.", f"Step {number}, {rule}.")


def _code(derivation: Derivation, notation: Notation, torch_code: str) -> Iterator[Block]:
    if derivation.saved:
        yield Heading("Saved for backward")
        yield Prose(f"{_names(derivation.saved)}{', where' if derivation.introduced else '.'}")
        for statement in derivation.introduced:
            yield Formula(statement_latex(statement, notation))
    if not torch_code:
        return
    yield Heading("Code")
    for function in ("forward", "backward"):
        try:
            latex = code_latex(torch_code, replace(notation, objective=r"\ell"), function)
        except UnsupportedError as error:
            yield Prose(f"`{function}` has no mathematical form: {error.message}.")
        else:
            yield Prose(f"`{function}` as mathematics:")
            yield Formula(latex)
    yield Code(torch_code)
