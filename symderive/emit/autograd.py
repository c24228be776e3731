"""``emit --as autograd``: a ``torch.autograd.Function`` for an op, one for its backward, and a function to call.

The op's Function gives its saved intermediate tensors as outputs, so that autograd knows how they came about; the
function named after the op returns only what is an output of the spec. The backward is a Function of its own: its
derivative is the derived second derivative. Third and higher derivatives are autograd's of those formulas.
"""

from __future__ import annotations

from dataclasses import dataclass

from symderive.algebra.second_order import Differentiable, differentiable
from symderive.emit.autograd_backward import BackwardFunction
from symderive.emit.autograd_forward import ForwardFunction
from symderive.emit.autograd_kernels import STEP, assignment, docstring, head, target
from symderive.emit.autograd_op import KernelSet, class_name, function_name
from symderive.emit.autograd_parts import CAST, COMPILED, NESTED, WITHOUT_AUTOCAST, precision, verification
from symderive.emit.module import AMBIGUOUS, cleaned, import_lines, names_line, needed, signature
from symderive.emit.numbers import rational
from symderive.emit.statements import WIDTH, wrapped
from symderive.emit.torch_helpers import TORCH_HELPERS
from symderive.spec import model
from symderive.wording import listed


def autograd_module(spec: model.Spec) -> str:
    """The module of a spec as text."""
    return AutogradModule(differentiable(spec)).text()


@dataclass
class AutogradModule:
    """Writes the module; another kind of op says what differs. ``fresh`` has the forward copy what would be a view."""

    op: Differentiable
    fresh: bool = False

    def __post_init__(self) -> None:
        self.kernels = KernelSet(self.op, self.fresh)
        self.spec = self.op.spec
        self.names = self.kernels.names
        self.name = function_name(self.spec.name)
        self.cls = class_name(self.spec.name)
        self.precision = precision(self.op, self.kernels.forward.plan)
        inner = f"{self.cls}Backward"
        self.derivative = BackwardFunction(self.kernels, inner)
        self.classes = ForwardFunction(self.kernels, self.cls, inner, self.name)
        self.inputs, self.outputs = self.classes.inputs, self.classes.outputs

    # --- what differs between kinds of ops

    def operators(self) -> list[str]:
        """The op's Function, in two: torch.compile takes none that has a forward mode."""
        return [self.classes.in_two(f"{self.cls}Reverse", self.formulas())]

    def result(self) -> list[str]:
        """The lines that give the outputs."""
        return ["if _is_compiled():", *(STEP + x for x in self.call(f"{self.cls}Reverse.apply")), *self.call("_apply")]

    def verified(self) -> tuple[str, ...]:
        """More lines of the module's test of itself."""
        return ()

    # --- the module

    def text(self) -> str:
        """The whole module."""
        functions = self.functions()
        sections = [
            *needed("\n".join(functions), TORCH_HELPERS),
            *functions,
            *self.helpers(),
            self.derivative.text(),
            *self.operators(),
            self.function(),
            verification(self.op, self.name, self.verified()),
        ]
        body = "\n\n\n".join(sections)
        return "\n\n".join((*self.front(body), *self.constants())) + f"\n\n\n{body}\n"

    def front(self, body: str) -> list[str]:
        """Docstring and imports."""
        parts = ["\n".join(self.docstring())]
        if AMBIGUOUS & set(self.names.values()):
            parts.append("# ruff: noqa: E741")
        library = [line for line in import_lines(body) if line and line != "import math"]
        standard = ["import functools", *(f"import {m}" for m in ("math", "warnings") if f"{m}." in body)]
        typing = ["from collections.abc import Callable", "from typing import Any"]
        parts.append("from __future__ import annotations")
        parts.append("\n".join((*standard, *typing)))
        parts.append("\n".join((*library, "from torch import Tensor")))
        return parts

    def docstring(self) -> list[str]:
        """The title, and every formula."""
        spec, plans = self.spec, self.kernels.plans
        title = cleaned(f"{spec.name}: {spec.title}" if spec.title else spec.name).rstrip(".") + "."
        lines = wrapped(f'"""{title}', WIDTH, "", "")
        headings = (
            ("Forward", "forward"),
            (f"Backward, from {listed(self.op.derivation.upstreams)}", "backward"),
            (f"Tangents (forward mode), from {listed(self.op.tangents.given)}", "tangents"),
        )
        for heading, key in headings:
            plan = plans[key]
            formulas = [f for a in (plan.assignments if plan else ()) for f in a.comment.splitlines()]
            lines += ["", f"{heading}:", ""]
            lines += [line for f in formulas for line in wrapped(cleaned(f), WIDTH, STEP, STEP * 2)]
        remark = wrapped(self.remark(), WIDTH, "", "")
        return [*lines, *(["", *remark] if remark else []), '"""']

    def remark(self) -> str:
        """What a user of the module should know beside its formulas."""
        return ""

    def constants(self) -> list[str]:
        """``INPUTS``, ``OUTPUTS``, ``WRT`` and the named constants."""
        spec = self.spec
        named = {"INPUTS": tuple(i.name for i in spec.inputs), "OUTPUTS": spec.outputs, "WRT": spec.wrt}
        lines = ["\n".join(line for key, names in named.items() for line in names_line(key, names))]
        values = {c: v for q in self.kernels.plans.values() if q is not None for c, v in q.constants.items()}
        used = [f"{own} = {rational(values[c]).text}" for c, own in self.kernels.constants.items()]
        return [*lines, "\n".join(used)] if used else lines

    def functions(self) -> list[str]:
        """The formulas as functions."""
        k, op = self.kernels, self.op
        gradients = [f"d{w}" for w in self.spec.wrt]
        inputs = listed([i.name for i in self.spec.inputs])
        carried = f", and {listed(op.carried)} for the backward" if op.carried else ""
        upstreams = listed(op.derivation.upstreams)
        written = [
            k.forward.text("_forward", f"{listed(self.spec.outputs)} of {inputs}{carried}."),
            k.backward.text("_backward", f"{listed(gradients)} from {upstreams} and what was saved."),
            k.tangents.text("_tangents", f"{_moving(k.tangents.plan.outputs)} with the inputs."),
        ]
        if k.through is not None:
            outputs, given = k.through.plan.outputs, listed([f"d{c}" for c in op.carried if c in k.moving])
            verb = "receives" if len(outputs) == 1 else "receive"
            text = f"What {listed(outputs)} {verb} from {given}, in a second derivative."
            written.append(k.through.text("_through_saved", text))
        if k.second.plan.outputs:
            made = listed([op.renamed[g] for g in gradients])
            verb = "result is" if len(gradients) == 1 else "results are"
            text = f"The gradients of ``_backward``, whose {verb} called {made} here."
            written.append(k.second.text("_second_backward", text))
        if k.backward_tangents.plan.outputs:
            text = f"{_moving(k.backward_tangents.plan.outputs)} with what ``_backward`` reads."
            written.append(k.backward_tangents.text("_backward_tangents", text))
        return written

    def helpers(self) -> list[str]:
        """Functions that say how autograd and autocast are met."""
        told = [text.format(name=self.name, cls=self.cls) for text in (NESTED, COMPILED)]
        return [WITHOUT_AUTOCAST, *told, *([CAST[self.precision]] if self.casts else [])]

    @property
    def casts(self) -> bool:
        """Whether autocast may change the dtype of an input."""
        return self.precision != "widest" or sum(i.is_real for i in self.spec.inputs) > 1

    def formulas(self) -> list[str]:
        """The lines that call the forward's formulas."""
        return assignment("return", "_forward", [self.names[r.name] for r in self.kernels.forward.given])

    # --- the function

    def function(self) -> str:
        """The function named after the spec."""
        spec, plan = self.spec, self.kernels.forward.plan
        shown = signature([plan.refs[i.name] for i in spec.inputs], [plan.refs[o] for o in spec.outputs])
        constant = [i.name for i in spec.inputs if i.name not in spec.wrt]
        note = f"{listed(constant)} {'has' if len(constant) == 1 else 'have'} no gradient." if constant else ""
        doc = docstring(cleaned(spec.title or spec.name).rstrip(".") + ".", shown, note)
        formulas = [cleaned(f) for a in plan.assignments for f in a.comment.splitlines()]
        told = [line for f in formulas for line in wrapped(f, WIDTH, STEP * 2, STEP * 3)]
        cast = assignment(target(self.inputs), "_cast", self.inputs, 4) if self.casts else []
        lines = [
            *head(self.name, self.typed, _tensors(len(spec.outputs))),
            *(doc[:1] if len(doc) == 1 else [*doc[:-1], "", *told, doc[-1]]),
            *(STEP + line for line in cast),
            *(STEP + line for line in self.result()),
        ]
        return "\n".join(lines)

    @property
    def typed(self) -> list[str]:
        """The inputs as parameters."""
        return [f"{n}: Tensor" for n in self.inputs]

    def call(self, function: str) -> list[str]:
        """The lines that call it and return what is an output of the spec."""
        count, every = len(self.spec.outputs), len(self.outputs)
        taken = "" if count == every else "[0]" if count == 1 else f"[:{count}]"
        lines = assignment("return", function, self.inputs)
        return [*lines[:-1], lines[-1] + taken]


def _moving(names: tuple[str, ...]) -> str:
    return f"How {listed(names)} {'moves' if len(names) == 1 else 'move'}"


def _tensors(count: int) -> str:
    return f"tuple[{', '.join(['Tensor'] * count)}]" if count > 1 else "Tensor"
