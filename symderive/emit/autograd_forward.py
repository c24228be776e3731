"""The Function of an op: what it saves, and how gradients and tangents reach its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from symderive.emit.autograd_class import (
    Method,
    absent,
    backward,
    called,
    class_text,
    forward,
    given,
    jvp,
    kept,
    restored,
    setup,
)
from symderive.emit.autograd_kernels import STEP, assignment, listing, nothing, unpacking, when
from symderive.emit.autograd_op import KernelSet
from symderive.emit.sizes import SizeReader
from symderive.emit.statements import WIDTH
from symderive.emit.torch import TorchPrinter
from symderive.lower.sizes import SizeSource
from symderive.wording import listed

ROOM = WIDTH - 8


class ForwardFunction:
    """Writes the Function ``name``, whose backward applies ``inner``; ``function`` is what hides what is saved."""

    def __init__(self, kernels: KernelSet, name: str, inner: str, function: str) -> None:
        self.kernels, self.name, self.inner, self.function = kernels, name, inner, function
        self.compiled = False
        self.spec, self.names = kernels.op.spec, kernels.names
        self.inputs = [self.names[i.name] for i in self.spec.inputs]
        self.outputs = [self.names[o] for o in kernels.forward.plan.outputs]
        self.saved = [self.names[s] for s in kernels.op.saved]
        self.sizes = [kernels.backward.symbol(s) for s in kernels.sizes]

    @property
    def doc(self) -> str:
        """What it is."""
        carried = self.kernels.op.carried
        hidden = ""
        if carried:
            several = len(carried) > 1
            noun, verb, it = ("outputs", "are", "them") if several else ("output", "is", "it")
            hidden = f" The {noun} {listed(carried)} {verb} saved; ``{self.function}`` hides {it}."
        return f"{listed(self.spec.outputs)} of {listed([i.name for i in self.spec.inputs])}, differentiable.{hidden}"

    def whole(self, lines: Iterable[str]) -> str:
        """One class; ``lines`` are those of its forward."""
        return class_text(self.name, self.doc, (*self._reverse(lines), self._forward_mode()))

    def in_two(self, base: str, lines: Iterable[str]) -> str:
        """Two classes, of which ``base`` can be compiled."""
        self.compiled = True
        first = class_text(base, f"{self.doc} It has no forward mode, and can be compiled.", self._reverse(lines))
        doc = f"``{base}`` with forward mode: torch.compile takes no Function that has it."
        return f"{first}\n\n\n{class_text(self.name, doc, [self._forward_mode()], base)}"

    def _reverse(self, lines: Iterable[str]) -> tuple[Method, ...]:
        typed = (f"{n}: Tensor" for n in self.inputs)
        return forward(typed, lines), setup(self._setup()), backward(self._upstreams(), self._backward())

    def _forward_mode(self) -> Method:
        tangents = self.kernels.op.tangents
        given_names = dict(zip(self.spec.wrt, tangents.given, strict=True))
        own = (
            self.names[given_names[i.name]] if i.name in given_names else f"_{self.names[i.name]}"
            for i in self.spec.inputs
        )
        return jvp((f"{n}: Tensor | None" for n in own), self._jvp())

    # --- setup_context

    def _setup(self) -> list[str]:
        k = self.kernels
        used = {*self.saved, *(self.names[s.tensor] for s in self._sources())}
        fixed = [self.names[o] for o in k.forward.plan.outputs if o not in k.moving]
        lines = _unpacked(self.inputs, "inputs", used)
        lines += _unpacked(self.outputs, "output", {*self.saved, *fixed}, bare=True)
        if fixed:
            lines.append(f"ctx.mark_non_differentiable({', '.join(fixed)})")
        return [*lines, *k.size_lines(), *kept(self.saved, self.sizes)]

    def _sources(self) -> list[SizeSource]:
        shapes = {r.name: r.shape for r in self.kernels.forward.plan.inputs}
        return SizeReader(shapes, TorchPrinter(self.names)).used(self.kernels.sizes)

    # --- backward

    def _upstreams(self) -> list[str]:
        names = [f"d{o}" for o in self.kernels.forward.plan.outputs]
        moving = {f"d{o}" for o in self.kernels.moving}
        return [f"{self.names.get(n, n) if n in moving else f'_{n}'}: Tensor | None" for n in names]

    def _backward(self) -> list[str]:
        k, spec = self.kernels, self.spec
        made = {i.name: self.names[f"d{i.name}"] if i.name in spec.wrt else "None" for i in spec.inputs}
        result = listing("return", list(made.values()), 8)
        own = ", ".join(made[w] for w in spec.wrt)
        upstreams = [self.names[r.name] for r in k.upstreams]
        restoring, call = [*self._restored(), *self._needs()], [*k.zero_lines(), *self._call(own)]
        if k.through is None:
            none = (STEP + line for line in listing("return", ["None"] * len(made), 12))
            return [*when("if", absent(upstreams), ROOM), *none, *restoring, *call, *result]
        return [
            *restoring,
            *nothing([made[w] for w in spec.wrt], 8),
            *when("if", given(upstreams), ROOM),
            *(STEP + line for line in call),
            *self._through(),
            *result,
        ]

    def _restored(self) -> list[str]:
        k = self.kernels
        used = {r.name for r in k.inner_arguments} | {r.name for r in (k.through.given if k.through else ())}
        used |= {s.tensor for s in k.zeros_reader().sources.values()} if k.zero_lines() else set()
        return restored(self.saved, self.sizes, (self.names[n] for n in used), bool(self.sizes))

    def _needs(self) -> list[str]:
        flags = [f"needs_{i.name}" if i.name in self.spec.wrt else "_" for i in self.spec.inputs]
        return unpacking(flags, "ctx.needs_input_grad") if len(self.spec.wrt) > 1 else []

    def _call(self, own: str) -> list[str]:
        """The backward's own Function, which can be differentiated; compiled code is differentiated once."""
        k = self.kernels
        inner = [*k.wanted, *(self.names[r.name] for r in k.inner_arguments)]
        inner += [k.backward.symbol(s) for s in k.inner_sizes]
        indent = 8 + 4 * (self.compiled + (k.through is not None))
        eager = assignment(own, f"{self.inner}.apply", inner, indent)
        if not self.compiled:
            return eager
        return [
            "if torch.compiler.is_compiling():",
            *(STEP + line for line in assignment(own, "_backward", k.backward.arguments(), indent)),
            "else:",
            *(STEP + line for line in eager),
        ]

    def _through(self) -> list[str]:
        """In a second derivative the saved tensors have a gradient, too."""
        k = self.kernels
        assert k.through is not None
        outputs = k.through.plan.outputs
        parts = [f"{self.names[o]}_through" for o in outputs]
        some = given(self.names[f"d{c}"] for c in k.op.carried if c in k.moving)
        flags = list(k.through.flags.values()) if len(outputs) < len(self.spec.wrt) else []
        test = f"{_grouped(' or '.join(flags))} and {_grouped(some)}" if flags else some
        lines = ["# in a second derivative, what was saved has a gradient, too"]
        lines += when("if", test, ROOM)
        lines += [STEP + c for c in assignment(", ".join(parts), "_through_saved", k.through.arguments(), 12)]
        for output, part in zip(outputs, parts, strict=True):
            lines += [STEP + line for line in self._added(self.names[output], part)]
        return lines

    def _added(self, name: str, part: str) -> Sequence[str]:
        line = f"{name} = {part} if {name} is None else {name} + {part}"
        if len(line) <= ROOM - 4:
            return [line]
        return [f"if {name} is not None:", f"{STEP}{part} = {name} + {part}", f"{name} = {part}"]

    # --- jvp

    def _jvp(self) -> list[str]:
        k = self.kernels
        by_output = {o: self.names[k.op.tangents.names[o]] for o in k.moving}
        shown = [by_output.get(o, "None") for o in k.forward.plan.outputs]
        used = (self.names[r.name] for r in k.tangents.given)
        lines = restored(self.saved, self.sizes, used, bool(k.tangents.sizes))
        return [*lines, *called(k.tangents, "_tangents", shown)]


def _unpacked(names: Sequence[str], source: str, used: set[str], bare: bool = False) -> list[str]:
    """``x, _ = inputs``, where something of it is used; a single output is no tuple."""
    if not used & set(names):
        return []
    if bare and len(names) == 1:
        return [f"{names[0]} = {source}"]
    return unpacking([n if n in used else "_" for n in names], source)


def _grouped(test: str) -> str:
    return f"({test})" if " or " in test else test
