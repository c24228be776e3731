"""Whole modules: ``forward`` and ``backward`` of an op as importable code with no dependency but its library."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from sympy import Symbol

from symderive.algebra.derive import spec_letters
from symderive.algebra.letters import Letters
from symderive.algebra.program import Derivation, Equation, Program
from symderive.algebra.unbuild import statement
from symderive.emit.memory import Origins, origins_of
from symderive.emit.names import RESERVED, identifiers
from symderive.emit.numbers import rational, shape_text
from symderive.emit.numpy import NumpyPrinter
from symderive.emit.numpy_helpers import HELPERS
from symderive.emit.printer import size_identifier
from symderive.emit.share import Namer
from symderive.emit.sizes import SizeReader
from symderive.emit.statements import WIDTH, Writer, wrapped
from symderive.emit.tidy import tidy
from symderive.emit.torch import TorchPrinter
from symderive.emit.torch_helpers import TORCH_HELPERS
from symderive.lower import lower, sizes
from symderive.lower import plan as p
from symderive.lower.shapes import BATCH_SIZE, ROWS, Shape
from symderive.record import record
from symderive.spec import syntax
from symderive.spec.format import to_text
from symderive.wording import listed


class Library(Protocol):
    """A printer class of a library."""

    def __call__(self, names: Mapping[str, str], real: str, any: str) -> TorchPrinter | NumpyPrinter:
        """A printer that takes the dtype of new tensors from the tensor ``real``, their device from ``any``."""


LIBRARIES: dict[str, Library] = {"torch": TorchPrinter, "numpy": NumpyPrinter}

DEFINITIONS: dict[str, Mapping[str, str]] = {"torch": TORCH_HELPERS, "numpy": HELPERS}
"""What the code of a library may call that a module has to define."""

IMPORTS = {
    "math": "import math",
    "np": "import numpy as np",
    "torch": "import torch",
    "F": "import torch.nn.functional as F",
    "special": "from scipy import special",
}
"""The import line of every name that emitted code may use, in the order in which they stand."""

STANDARD = ("math",)


@record
class Op:
    """What a module is made of: the two plans, and what their inputs and outputs are.

    ``backward`` computes the gradients (its outputs, in the order of ``wrt``) from ``upstreams`` and saved tensors.
    ``forward`` may have more outputs than the op: tensors that are saved and that no output needs.
    """

    name: str
    title: str
    outputs: tuple[str, ...]
    wrt: tuple[str, ...]
    upstreams: tuple[str, ...]
    forward: p.Plan
    backward: p.Plan

    @property
    def saved(self) -> tuple[p.Ref, ...]:
        """The forward's tensors that the backward reads."""
        read = {n.name for a in self.backward.assignments for n in p.walk(a.value) if isinstance(n, p.Ref)}
        read |= set(self.backward.outputs)
        return tuple(r for r in self.backward.inputs if r.name in read and r.name not in self.upstreams)


def functions_module(derivation: Derivation, forward: p.Plan, backward: p.Plan, library: str = "torch") -> str:
    """The module of a derivation, from the plans of its forward and its backward program."""
    return write_module(op_of(derivation, forward, backward), library)


def op_of(derivation: Derivation, forward: p.Plan, backward: p.Plan) -> Op:
    """The op of a derivation; each assignment of its plans has its formula as a comment."""
    spec = derivation.spec
    letters = spec_letters(spec, derivation.forward)
    if any(r.name not in forward.refs for r in backward.inputs if r.name not in derivation.upstreams):
        saved = tuple(s for s in derivation.saved if s not in derivation.forward.outputs)
        forward = lower(replace(derivation.forward, outputs=(*derivation.forward.outputs, *saved)))
    forward = explained(forward, derivation.forward, derivation, letters)
    backward = explained(backward, derivation.backward, derivation, letters)
    return Op(spec.name, spec.title, spec.outputs, spec.wrt, derivation.upstreams, forward, backward)


def explained(plan: p.Plan, program: Program, derivation: Derivation, letters: Letters) -> p.Plan:
    """The plan with the formula of each equation of its program as a comment, in the author's words if they hold."""
    written = derivation.as_written(program)
    formulas = {
        e.tensor: _worded(written[e.tensor], e, derivation) if e.tensor in written else to_text(statement(e, letters))
        for e in program.equations
    }
    assigns = (replace(a, comment=a.comment or formulas.get(a.name, "")) for a in plan.assignments)
    return replace(plan, assignments=tuple(assigns))


def _worded(said: syntax.Statement, equation: Equation, derivation: Derivation) -> str:
    """The author's equation, and the numbers that stand in the code for constants which it names, such as a stride."""
    code = {s.name for s in equation.right.free_symbols}
    names = dict.fromkeys(n.id for n in said.right.walk() if isinstance(n, syntax.Name))
    values = derivation.spec.constants
    numbers = [f"{n} = {to_text(syntax.Number(values[n]))}" for n in names if n in values and n not in code]
    return to_text(said) + (f"\nwhere {listed(numbers)}" if numbers else "")


def write_module(op: Op, library: str = "torch") -> str:
    """The module of an op as text."""
    pair = FunctionPair(op, LIBRARIES[library])
    functions = ["\n".join(pair.forward()), "\n".join(pair.backward())]
    functions = [*needed("\n".join(functions), DEFINITIONS[library]), *functions]
    body = "\n\n\n".join(("\n".join(pair.constants()), *functions))
    head = ["\n".join(_docstring(op))]
    if AMBIGUOUS & set(pair.names.values()):
        head.append("# ruff: noqa: E741")
    if imports := import_lines(body):
        head.append("\n".join(imports))
    return "\n\n".join([*head, body]) + "\n"


AMBIGUOUS = {"I", "O", "l"}
"""Names that a linter takes for digits; mathematics has them."""


@dataclass
class FunctionPair:
    """``forward`` and ``backward`` as lines of code, and the constants that they use."""

    op: Op
    library: Library

    def __post_init__(self) -> None:
        op = self.op
        plans = (op.forward, op.backward)
        symbols = sizes.symbols(e for plan in plans for r in plan.refs.values() for e in r.shape)
        names = [n for plan in plans for n in (*plan.refs, *plan.constants)]
        names += [s.name for s in symbols if s not in (BATCH_SIZE, ROWS)]
        self.names = identifiers(names, (*RESERVED, *HELPERS))
        inputs = {r.name: r.shape for r in op.forward.inputs}
        self.front = Body(op.forward, inputs, self.names, self.library)
        origins = origins_of(op.forward, {})
        tensors = {r.name: r.shape for r in (*op.saved, *(op.backward.refs[u] for u in op.upstreams))}
        self.back = Body(op.backward, tensors, self.names, self.library, op.upstreams[:1], origins=origins)
        self.extra = self.back.missing()
        """Sizes that the backward cannot read off a shape, and which are saved: integers, batch extents as a tuple."""
        self.saved = [self.names[r.name] for r in op.saved]
        self.saved += [size_identifier(s, self.names) for s in self.extra]

    def forward(self, name: str = "forward") -> list[str]:
        """``def forward(x, W): ... return y, (x, W)``."""
        op = self.op
        outputs = ", ".join(self.names[o] for o in op.outputs)
        if len(op.outputs) > 1:
            outputs = f"({outputs})"
        parameters = ", ".join(self.names[r.name] for r in op.forward.inputs)
        doc = [
            f"{listed(op.outputs)}, and what ``backward`` needs.",
            "",
            signature(op.forward.inputs, [op.forward.refs[o] for o in op.outputs]),
        ]
        return _function(
            f"{name}({parameters})", doc, [*self.front.lines(self.extra), f"return {outputs}, {_tuple(self.saved)}"]
        )

    def backward(self, name: str = "backward") -> list[str]:
        """``def backward(saved, dy): ... return dx, dW``."""
        op = self.op
        several = len(self.saved) > 1
        unpack = [f"{', '.join(self.saved) if several else _tuple(self.saved)} = saved"] if self.saved else []
        gradients = [self.names[o] for o in op.backward.outputs]
        parameters = ", ".join(("saved", *(self.names[u] for u in op.upstreams)))
        given = [op.backward.refs[u] for u in op.upstreams]
        plural = "s" if len(op.upstreams) > 1 else ""
        doc = [
            f"{listed(op.backward.outputs)}, from what ``forward`` saved and the upstream gradient{plural}.",
            "",
            signature(given, [op.backward.refs[o] for o in op.backward.outputs]),
        ]
        result = f"return {', '.join(gradients)}" if len(gradients) > 1 else f"return {_tuple(gradients)}"
        return _function(f"{name}({parameters})", doc, [*unpack, *self.back.lines(), result])

    def constants(self) -> list[str]:
        """``INPUTS``, ``OUTPUTS``, ``WRT`` and the named constants."""
        op = self.op
        values = {**op.forward.constants, **op.backward.constants}
        named = {
            "INPUTS": tuple(r.name for r in op.forward.inputs),
            "OUTPUTS": op.outputs,
            "WRT": op.wrt,
        }
        lines = [line for key, names in named.items() for line in names_line(key, names)]
        symbols = (*self.front.printer.symbols, *self.back.printer.symbols)
        used = dict.fromkeys(s.name for s in symbols if s.name in values)
        defined = [f"{self.names[c]} = {rational(values[c]).text}" for c in used]
        return [*lines, "", *defined] if defined else lines


class Body:
    """The lines between a function's head and its return."""

    def __init__(
        self,
        plan: p.Plan,
        tensors: Mapping[str, Shape],
        names: Mapping[str, str],
        library: Library,
        like: Sequence[str] = (),
        *,
        origins: Origins | None = None,
    ) -> None:
        self.plan = plan
        real = [*like, *(r.name for r in plan.inputs if r.kind == "real" and r.name in tensors)]
        first = names[next(iter(tensors), "")] if tensors and not real else ""
        self.printer = library(names, names[real[0]] if real else "like", first)
        self.printer.origins = origins_of(plan, origins or {})
        self.reader = SizeReader(tensors, self.printer)
        self.statements = self.write(tidy(plan), (*RESERVED, *HELPERS, *names.values(), *names))

    def write(self, plan: p.Plan, taken: Iterable[str]) -> list[str]:
        """The statements of a plan; ``taken`` are names that helpers may not have."""
        return Writer(plan, self.printer, Namer(taken)).lines()

    def needed(self) -> list[Symbol]:
        """The sizes that the statements mention."""
        return [s for s in self.printer.symbols if s.name not in self.plan.constants]

    def missing(self) -> list[Symbol]:
        """The sizes that no tensor's shape determines."""
        return self.reader.missing(self.needed())

    def lines(self, also: Iterable[Symbol] = ()) -> list[str]:
        """The sizes, the statements; ``also`` are further sizes to define."""
        return [*self.reader.lines([*self.needed(), *also]), *self.printer.prologue(), *self.statements]


def needed(code: str, definitions: Mapping[str, str]) -> list[str]:
    """The definitions that ``code`` needs, in order."""
    found: set[str] = set()
    pending = [code]
    while pending:
        calls = {n.id for n in ast.walk(ast.parse(pending.pop())) if isinstance(n, ast.Name)} & definitions.keys()
        pending += [definitions[name] for name in calls - found]
        found |= calls
    return [text.strip() for name, text in definitions.items() if name in found]


def import_lines(code: str) -> list[str]:
    """The imports that ``code`` needs, the standard library's first."""
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    first = [IMPORTS[n] for n in IMPORTS if n in used and n in STANDARD]
    rest = [IMPORTS[n] for n in IMPORTS if n in used and n not in STANDARD]
    return [*first, *([""] if first and rest else []), *rest]


def _docstring(op: Op) -> list[str]:
    title = f"{op.name}: {op.title}" if op.title else op.name
    lines = [*textwrap.wrap(cleaned(title).rstrip(".") + ".", WIDTH - 3)]
    for heading, plan in (("Forward", op.forward), (f"Backward, from {listed(op.upstreams)}", op.backward)):
        formulas = [f for a in plan.assignments for f in a.comment.splitlines()]
        if formulas:
            lines += ["", f"{heading}:", ""]
            lines += [line for f in formulas for line in wrapped(cleaned(f), WIDTH, " " * 4, " " * 8)]
    return [f'"""{lines[0]}', *lines[1:], '"""'] if len(lines) > 1 else [f'"""{lines[0]}"""']


def cleaned(text: str) -> str:
    """``text`` without anything that would end a docstring or escape in it."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return printable.replace("\\", "/").replace('"', "'")


def _function(head: str, doc: Sequence[str], body: Sequence[str]) -> list[str]:
    shown = [line for d in doc for line in (wrapped(d, WIDTH - 8, "", "") or [""])]
    text = [f'"""{shown[0]}', *shown[1:], '"""'] if len(shown) > 1 else [f'"""{shown[0]}"""']
    return [*_head(head), *(f"    {line}" if line else "" for line in (*text, *body))]


def _head(head: str) -> list[str]:
    if len(head) + 5 <= WIDTH:
        return [f"def {head}:"]
    name, _, parameters = head.rstrip(")").partition("(")
    return [
        f"def {name}(",
        *textwrap.wrap(parameters + ",", WIDTH, initial_indent="    ", subsequent_indent="    "),
        "):",
    ]


def names_line(key: str, names: Sequence[str]) -> list[str]:
    """``INPUTS = ("x", "W")``."""
    quoted = [f'"{n}"' for n in names]
    line = f"{key} = {_tuple(quoted)}"
    return [line] if len(line) <= WIDTH else [f"{key} = (", *(f"    {q}," for q in quoted), ")"]


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def signature(given: Iterable[p.Ref], made: Iterable[p.Ref]) -> str:
    """``x [N, K], W [J, K] -> y [N, J]``."""
    left, right = (", ".join(f"{r.name} {shape_text(r.shape)}" for r in refs) for refs in (given, made))
    return f"{left} -> {right}"


__all__ = ["LIBRARIES", "Body", "FunctionPair", "Op", "functions_module", "write_module"]
