"""``emit --as autograd``: a ``torch.autograd.Function`` for an op, one for its backward, and a function to call.

The op's Function gives its saved intermediate tensors as outputs, so that autograd knows how they came about; the
function named after the op returns only what is an output of the spec. The backward is a Function of its own: its
derivative is the derived second derivative. Third and higher derivatives are autograd's of those formulas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from symderive.algebra.second_order import Differentiable, differentiable
from symderive.emit.autograd_kernels import STEP, Kernel, assignment, docstring, head, target, unpacking
from symderive.emit.autograd_op import KernelSet, class_name
from symderive.emit.autograd_parts import CAST, NESTED, WITHOUT_AUTOCAST, verification
from symderive.emit.module import AMBIGUOUS, cleaned, import_lines, names_line, signature
from symderive.emit.numbers import rational
from symderive.emit.sizes import SizeReader
from symderive.emit.statements import WIDTH, wrapped
from symderive.emit.torch import TorchPrinter
from symderive.lower import plan as p
from symderive.lower.sizes import SizeSource
from symderive.spec import model
from symderive.wording import listed


def autograd_module(spec: model.Spec) -> str:
    """The module of a spec as text."""
    return AutogradModule(differentiable(spec)).text()


METHOD = ("@staticmethod", "@_without_autocast")


@dataclass
class AutogradModule:
    """Writes the module."""

    op: Differentiable
    fresh: bool = False

    def __post_init__(self) -> None:
        self.kernels = KernelSet(self.op, self.fresh)
        self.spec = self.op.spec
        self.names = self.kernels.names
        self.name = function_name(self.spec.name)
        self.cls = class_name(self.spec.name)
        self.inner = f"{self.cls}Backward"

    # --- the module

    def text(self) -> str:
        """The whole module."""
        sections = [
            *self.functions(),
            *self.helpers(),
            self.backward_class(),
            self.forward_class("forward"),
            self.function(),
            verification(self.op, self.name),
        ]
        body = "\n\n\n".join(sections)
        return "\n\n".join((*self.front(body), *self.constants())) + f"\n\n\n{body}\n"

    def front(self, body: str) -> list[str]:
        """Docstring and imports."""
        parts = ["\n".join(self.docstring())]
        if AMBIGUOUS & set(self.names.values()):
            parts.append("# ruff: noqa: E741")
        library = [line for line in import_lines(body) if line and line != "import math"]
        standard = ["import functools", *(["import math"] if "math." in body else [])]
        standard += ["import warnings"] if "warnings." in body else []
        typing = ["from collections.abc import Callable", "from typing import Any"]
        torch = [*library, "from torch import Tensor"]
        parts.append("from __future__ import annotations")
        parts.append("\n".join((*standard, *typing)))
        parts.append("\n".join(torch))
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
        return [*lines, '"""']

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
        k, spec = self.kernels, self.spec
        carried = f", and {listed(self.op.carried)} for the backward" if self.op.carried else ""
        upstreams = listed(self.op.derivation.upstreams)
        written = [
            k.forward.text("_forward", f"{listed(spec.outputs)}{carried}."),
            k.backward.text("_backward", f"{listed(_gradients(spec))} from {upstreams} and what was saved."),
            k.tangents.text("_tangents", f"How {listed(k.tangents.plan.outputs)} move with the inputs."),
        ]
        if k.through is not None:
            given = listed([f"d{c}" for c in self.op.carried])
            text = f"What {listed(k.through.plan.outputs)} receive from {given}, in a second derivative."
            written.append(k.through.text("_through_saved", text))
        if k.second.plan.outputs:
            text = f"The gradients of ``_backward``, whose results are called {self._grads()} here."
            written.append(k.second.text("_second_backward", text))
        if k.backward_tangents.plan.outputs:
            text = f"How {listed(k.backward_tangents.plan.outputs)} move with what ``_backward`` reads."
            written.append(k.backward_tangents.text("_backward_tangents", text))
        return written

    def _grads(self) -> str:
        return listed([self.op.renamed[g] for g in _gradients(self.spec)])

    def helpers(self) -> list[str]:
        """Functions that say how autograd and autocast are met."""
        return [WITHOUT_AUTOCAST, NESTED.format(name=self.name), CAST[lowers(self.op, self.kernels)]]

    # --- the Function of the op

    def forward_class(self, forward: str) -> str:
        """``class Softmax(torch.autograd.Function)``; its forward calls ``forward``."""
        spec = self.spec
        more = (
            f" The outputs {listed(self.op.carried)} are saved; ``{self.name}`` hides them." if self.op.carried else ""
        )
        lines = [
            f"class {self.cls}(torch.autograd.Function):",
            *docstring(f"{listed(spec.outputs)} of {listed([i.name for i in spec.inputs])}, differentiable.{more}"),
            "",
            f"{STEP}generate_vmap_rule = True",
            "",
            *self._method("forward", self._inputs(typed=True), self._forward_lines(forward), ctx=False),
            "",
            *self._method("setup_context", ["inputs: tuple[Any, ...]", "output: Any"], self._setup_lines(), plain=True),
            "",
            *self._method("backward", self._upstreams(), self._backward_lines()),
            "",
            *self._method("jvp", self._tangents(), self._jvp_lines()),
        ]
        return "\n".join(lines)

    def _inputs(self, typed: bool = False) -> list[str]:
        own = [self.names[i.name] for i in self.spec.inputs]
        return [f"{n}: Tensor" for n in own] if typed else own

    def _outputs(self) -> list[str]:
        return [self.names[o] for o in self.kernels.forward.plan.outputs]

    def _forward_lines(self, forward: str) -> list[str]:
        return assignment("return", f"_{forward}", [self.names[r.name] for r in self.kernels.forward.given])

    def _setup_lines(self) -> list[str]:
        k = self.kernels
        saved = [self.names[s] for s in self.op.saved]
        used = {*saved, *(self.names[s.tensor] for s in self._sources())}
        lines = ["ctx.set_materialize_grads(False)"]
        lines += _unpacked(self._inputs(), "inputs", used)
        fixed = [self.names[o] for o in k.forward.plan.outputs if o not in k.moving]
        lines += _unpacked(self._outputs(), "output", {*saved, *fixed}, bare=True)
        if fixed:
            lines.append(f"ctx.mark_non_differentiable({', '.join(fixed)})")
        if k.sizes:
            lines += k.size_lines()
            lines.append(f"ctx.sizes = {tupled(self._sizes())}")
        if saved:
            lines += assignment("", "ctx.save_for_backward", saved)
            lines += assignment("", "ctx.save_for_forward", saved)
        return lines

    def _sources(self) -> list[SizeSource]:
        inputs = {r.name: r.shape for r in self.kernels.forward.plan.inputs}
        reader = SizeReader(inputs, TorchPrinter(self.names))
        return [reader.sources[s] for s in reader._closure(self.kernels.sizes)]

    def _sizes(self) -> list[str]:
        return [self.kernels.backward.symbol(s) for s in self.kernels.sizes]

    def _upstreams(self) -> list[str]:
        names = [f"d{o}" for o in self.kernels.forward.plan.outputs]
        moving = {f"d{o}" for o in self.kernels.moving}
        return [f"{self.names.get(n, n) if n in moving else f'_{n}'}: Tensor | None" for n in names]

    def _restored(self, *kernels: Kernel | None) -> list[str]:
        """The lines that unpack what was saved, as far as the kernels read it."""
        used = {r.name for kernel in kernels if kernel is not None for r in kernel.given}
        lines = []
        if self.op.saved and used & set(self.op.saved):
            shown = [self.names[s] if s in used else "_" for s in self.op.saved]
            lines += unpacking(shown, "ctx.saved_tensors")
        if any(kernel.sizes for kernel in kernels if kernel is not None):
            lines += unpacking(self._sizes(), "ctx.sizes")
        return lines

    def _needs(self) -> list[str]:
        flags = [f"needs_{i.name}" if i.name in self.spec.wrt else "_" for i in self.spec.inputs]
        return unpacking(flags, "ctx.needs_input_grad") if len(self.spec.wrt) > 1 else []

    def _backward_lines(self) -> list[str]:
        k, spec = self.kernels, self.spec
        gradients = {i.name: self.names[f"d{i.name}"] if i.name in spec.wrt else "None" for i in spec.inputs}
        own = [gradients[w] for w in spec.wrt]
        upstreams = [self.names[r.name] for r in k.upstreams]
        arguments = [self.names[r.name] for r in k.inner_arguments]
        inner = [*(k.backward.flags.values() if len(spec.wrt) > 1 else ()), *arguments]
        inner += [k.backward.symbol(s) for s in k.inner_sizes]
        call = assignment(", ".join(own), f"{self.inner}.apply", inner)
        given = " or ".join(f"{u} is not None" for u in upstreams)
        return [
            *self._restored_for_backward(),
            *self._needs(),
            f"{' = '.join(own)} = None",
            f"if {given}:",
            *(STEP + line for line in (*k.zero_lines(), *call)),
            *self._through_lines(),
            f"return {', '.join(gradients.values())}",
        ]

    def _restored_for_backward(self) -> list[str]:
        k = self.kernels
        used = {r.name for r in k.inner_arguments} | {r.name for r in (k.through.given if k.through else ())}
        used |= {s.tensor for s in k.zeros_reader().sources.values()} if k.zero_lines() else set()
        lines = []
        if self.op.saved:
            shown = [self.names[s] if s in used else "_" for s in self.op.saved]
            lines += unpacking(shown, "ctx.saved_tensors")
        if k.sizes:
            lines += unpacking(self._sizes(), "ctx.sizes")
        return lines

    def _through_lines(self) -> list[str]:
        """In a second derivative the saved tensors have a gradient, too."""
        k = self.kernels
        if k.through is None:
            return []
        given = [self.names[f"d{c}"] for c in self.op.carried if c in k.moving]
        outputs = k.through.plan.outputs
        parts = [f"{self.names[o]}_through" for o in outputs]
        some = " or ".join(f"{g} is not None" for g in given)
        flags = list(k.through.flags.values()) if len(outputs) < len(self.spec.wrt) else []
        needed = " or ".join(flags)
        test = f"{_grouped(needed)} and {_grouped(some)}" if flags else some
        lines = [
            f"if {test}:",
            *(STEP + c for c in assignment(", ".join(parts), "_through_saved", k.through.arguments())),
        ]
        for output, part in zip(outputs, parts, strict=True):
            name = self.names[output]
            line = f"{STEP}{name} = {part} if {name} is None else {name} + {part}"
            longer = [f"{STEP}if {name} is not None:", f"{STEP * 2}{part} = {name} + {part}", f"{STEP}{name} = {part}"]
            lines += [line] if len(line) <= WIDTH - 8 else longer
        return lines

    def _tangents(self) -> list[str]:
        given = dict(zip(self.spec.wrt, self.op.tangents.given, strict=True))
        own = (self.names[given[i.name]] if i.name in given else f"_{self.names[i.name]}" for i in self.spec.inputs)
        return [f"{n}: Tensor | None" for n in own]

    def _jvp_lines(self) -> list[str]:
        k = self.kernels
        made = [self.names[o] for o in k.tangents.plan.outputs]
        by_output = {o: self.names[self.op.tangents.names[o]] for o in k.moving}
        shown = [by_output.get(o, "None") for o in k.forward.plan.outputs]
        call = [*self._restored(k.tangents), *self._called(k.tangents, "_tangents", made, shown)]
        return ["_refuse_forward_over_forward()", *call]

    def _called(self, kernel: Kernel, function: str, made: Sequence[str], shown: Sequence[str]) -> list[str]:
        if list(made) == list(shown):
            return assignment("return", function, kernel.arguments())
        return [*assignment(", ".join(made), function, kernel.arguments()), f"return {', '.join(shown)}"]

    # --- the Function of the backward

    def backward_class(self) -> str:
        """``class SoftmaxBackward(torch.autograd.Function)``."""
        k = self.kernels
        lines = [
            f"class {self.inner}(torch.autograd.Function):",
            *docstring("The backward as an op of its own, whose derivative is derived, too."),
            "",
            f"{STEP}generate_vmap_rule = True",
            "",
            *self._method("forward", self._inner_parameters(), self._inner_forward(), ctx=False),
            "",
            *self._method("setup_context", ["inputs: tuple[Any, ...]", "output: Any"], self._inner_setup(), plain=True),
            "",
            *self._method("backward", [f"{n}: Tensor | None" for n in self._inner_upstreams()], self._inner_backward()),
            "",
            *self._method("jvp", self._inner_tangents(), self._inner_jvp()),
        ]
        assert k.inner_arguments
        return "\n".join(lines)

    def _flags(self) -> list[str]:
        return list(self.kernels.backward.flags.values()) if len(self.spec.wrt) > 1 else []

    def _inner_parameters(self) -> list[str]:
        k = self.kernels
        return [
            *(f"{f}: bool" for f in self._flags()),
            *(f"{self.names[r.name]}: Tensor" for r in k.inner_arguments),
            *(f"{k.backward.symbol(s)}: int" for s in k.inner_sizes),
        ]

    def _inner_names(self) -> list[str]:
        """The arguments of the backward as the second derivative calls them: ``grad_y`` for ``dy``."""
        return [self.names[self.op.renamed.get(r.name, r.name)] for r in self.kernels.inner_arguments]

    def _inner_forward(self) -> list[str]:
        return assignment("return", "_backward", self.kernels.backward.arguments())

    def _inner_setup(self) -> list[str]:
        k = self.kernels
        names = self._inner_names()
        sizes = [k.backward.symbol(s) for s in k.inner_sizes]
        targets = [*("_" for _ in self._flags()), *names, *sizes]
        lines = ["ctx.set_materialize_grads(False)", *unpacking(targets, "inputs")]
        if sizes:
            lines.append(f"ctx.sizes = {tupled(sizes)}")
        if self._flags():
            lines.append(f"ctx.wanted = inputs[:{len(self._flags())}]")
        return [
            *lines,
            *assignment("", "ctx.save_for_backward", names),
            *assignment("", "ctx.save_for_forward", names),
        ]

    def _inner_upstreams(self) -> list[str]:
        return [self.names[f"d{self.op.renamed[g]}"] for g in _gradients(self.spec)]

    def _inner_restored(self, kernel: Kernel) -> list[str]:
        k = self.kernels
        used = {self.names[r.name] for r in kernel.given}
        lines = []
        if used & set(self._inner_names()):
            lines += unpacking([n if n in used else "_" for n in self._inner_names()], "ctx.saved_tensors")
        if kernel.sizes:
            lines += unpacking([k.backward.symbol(s) for s in k.inner_sizes], "ctx.sizes")
        return lines

    def _inner_backward(self) -> list[str]:
        k = self.kernels
        outputs = {o.removeprefix("d"): self.names[o] for o in k.second.plan.outputs}
        arguments = [self.op.renamed.get(r.name, r.name) for r in k.inner_arguments]
        nothing = len(self._flags())
        gradients = ["None"] * nothing + [outputs.get(a, "None") for a in arguments] + ["None"] * len(k.inner_sizes)
        if not outputs:
            return [f"return {tupled(gradients)[1:-1]}"]
        given = " and ".join(f"{u} is None" for u in self._inner_upstreams())
        lines = [f"if {given}:", f"{STEP}return {', '.join(['None'] * len(gradients))}"]
        if len(outputs) > 1:
            flags = ["_"] * nothing + [f"needs_{a}" if a in outputs else "_" for a in arguments]
            flags += ["_"] * len(k.inner_sizes)
            lines += unpacking(flags, "ctx.needs_input_grad")
        lines += self._inner_restored(k.second)
        made = list(outputs.values())
        return [*lines, *self._called(k.second, "_second_backward", made, gradients)]

    def _inner_tangents(self) -> list[str]:
        names = self.op.backward_tangents.names
        moving = set(self.op.backward_tangents.given)
        arguments = [self.op.renamed.get(r.name, r.name) for r in self.kernels.inner_arguments]
        shown = [self.names[names[a]] if names.get(a) in moving else f"_{self.names[a]}" for a in arguments]
        sizes = [self.kernels.backward.symbol(s) for s in self.kernels.inner_sizes]
        return [
            *(f"_{f}: None" for f in self._flags()),
            *(f"{n}: Tensor | None" for n in shown),
            *(f"_{s}: None" for s in sizes),
        ]

    def _inner_jvp(self) -> list[str]:
        k = self.kernels
        kernel = k.backward_tangents
        names = self.op.backward_tangents.names
        grads = [self.op.renamed[g] for g in _gradients(self.spec)]
        made = [self.names[o] for o in kernel.plan.outputs]
        lines = ["_refuse_forward_over_forward()", *self._inner_restored(kernel)]
        if not made:
            return [*lines, f"return {tupled(['None'] * len(grads))[1:-1]}"]
        lines += assignment(", ".join(made), "_backward_tangents", kernel.arguments())
        shown = [self.names[names[g]] if g in names else "None" for g in grads]
        if len(shown) == 1:
            return [*lines[:-1], *_returned(lines[-1], made[0])]
        lines.append(f"moved = ({', '.join(shown)})")
        return [*lines, "return tuple(m if w else None for m, w in zip(moved, ctx.wanted, strict=True))"]

    # --- the function

    def function(self) -> str:
        """The function named after the spec."""
        spec, refs = self.spec, self.kernels.forward.plan.refs
        inputs = self._inputs()
        returns = f"tuple[{', '.join(['Tensor'] * len(spec.outputs))}]" if len(spec.outputs) > 1 else "Tensor"
        title = cleaned(spec.title or spec.name).rstrip(".") + "."
        shown = signature([refs[i.name] for i in spec.inputs], [refs[o] for o in spec.outputs])
        formulas = [cleaned(f) for a in self.kernels.forward.plan.assignments for f in a.comment.splitlines()]
        constant = [i.name for i in spec.inputs if i.name not in spec.wrt]
        note = f"{listed(constant)} {'has' if len(constant) == 1 else 'have'} no gradient." if constant else ""
        result = self._result()
        lines = [
            *head(self.name, self._inputs(typed=True), returns),
            *docstring(title, *formulas, shown, note),
            *(STEP + line for line in assignment(target(inputs), "_cast", inputs)),
            *(STEP + line for line in result),
        ]
        return "\n".join(lines)

    def _result(self) -> list[str]:
        count, every = len(self.spec.outputs), len(self._outputs())
        if count == every:
            return assignment("return", f"{self.cls}.apply", self._inputs())
        taken = "0" if count == 1 else f":{count}"
        lines = assignment("return", f"{self.cls}.apply", self._inputs())
        return [*lines[:-1], f"{lines[-1]}[{taken}]"]

    # --- methods

    def _method(
        self, name: str, parameters: Iterable[str], lines: Iterable[str], *, ctx: bool = True, plain: bool = False
    ) -> list[str]:
        first = ["ctx: Any"] if ctx else []
        decorators = METHOD[:1] if plain else METHOD
        returns = "None" if name == "setup_context" else "Any"
        return [
            STEP + line
            for line in (*decorators, *head(name, [*first, *parameters], returns), *(STEP + x for x in lines))
        ]


def function_name(name: str) -> str:
    """The name of the exported function: the spec's, or with ``_`` behind where the module needs it."""
    from symderive.emit.autograd_op import OWN_NAMES
    from symderive.emit.names import RESERVED, identifiers

    return identifiers([name], (*RESERVED, *OWN_NAMES))[name]


def lowers(op: Differentiable, kernels: KernelSet) -> bool:
    """Whether autocast takes the op to the lower precision, as it takes matrix products, not losses and norms."""
    nodes = [n for a in kernels.forward.plan.assignments for n in p.walk(a.value)]
    contracts = any(isinstance(n, p.MatMul | p.Einsum | p.Conv) for n in nodes)
    return contracts and all(kernels.forward.plan.refs[o].shape for o in op.spec.outputs)


def _gradients(spec: model.Spec) -> list[str]:
    return [f"d{w}" for w in spec.wrt]


def tupled(items: Sequence[str]) -> str:
    """``(x,)``."""
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _unpacked(names: Sequence[str], source: str, used: set[str], bare: bool = False) -> list[str]:
    """``x, _ = inputs``, where something of it is used; a single output is no tuple."""
    if not used & set(names):
        return []
    if bare and len(names) == 1:
        return [f"{names[0]} = {source}"]
    return unpacking([n if n in used else "_" for n in names], source)


def _grouped(condition: str) -> str:
    return f"({condition})" if " or " in condition else condition


def _returned(line: str, name: str) -> list[str]:
    return [line.replace(f"{name} = ", "return ", 1)]
