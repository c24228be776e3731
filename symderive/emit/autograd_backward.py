"""The Function of an op's backward, whose derivative is the derived second derivative."""

from __future__ import annotations

from collections.abc import Sequence

from symderive.emit.autograd_class import (
    absent,
    backward,
    called,
    class_text,
    forward,
    jvp,
    kept,
    restored,
    setup,
)
from symderive.emit.autograd_kernels import STEP, Kernel, assignment, listing, size_type, unpacking, when
from symderive.emit.autograd_op import KernelSet
from symderive.emit.statements import WIDTH


class BackwardFunction:
    """Writes ``class SoftmaxBackward``.

    Its arguments are the flags that say which gradients are wanted, where there are several; the saved tensors and
    the upstreams; and sizes that no shape tells. Only tensors have derivatives.
    """

    def __init__(self, kernels: KernelSet, name: str) -> None:
        self.kernels, self.name = kernels, name
        spec, self.names = kernels.op.spec, kernels.names
        self.flags = kernels.wanted
        self.sizes = [kernels.backward.symbol(s) for s in kernels.inner_sizes]
        self.gradients = [kernels.op.renamed[f"d{w}"] for w in spec.wrt]
        renamed = kernels.op.renamed
        self.arguments = [renamed.get(r.name, r.name) for r in kernels.inner_arguments]
        """The tensors as the second derivative calls them: ``grad_y`` for ``dy``."""

    def text(self) -> str:
        """The class."""
        methods = (
            forward(self._parameters(), assignment("return", "_backward", self.kernels.backward.arguments())),
            setup(self._setup()),
            backward((f"{n}: Tensor | None" for n in self._upstreams()), self._backward()),
            jvp(self._tangents(), self._jvp()),
        )
        return class_text(self.name, "The backward as an op of its own, whose derivative is derived, too.", methods)

    def _parameters(self) -> list[str]:
        tensors = (self.names[r.name] for r in self.kernels.inner_arguments)
        return [
            *(f"{f}: bool" for f in self.flags),
            *(f"{t}: Tensor" for t in tensors),
            *(f"{s}: {size_type(s)}" for s in self.sizes),
        ]

    def _places(self, tensors: Sequence[str], other: str = "None") -> list[str]:
        """One item for every argument: the tensors', and ``other`` for flags and sizes."""
        return [*(other for _ in self.flags), *tensors, *(other for _ in self.sizes)]

    def _kept(self) -> list[str]:
        """The tensors that a derivative reads."""
        read = {r.name for k in (self.kernels.second, self.kernels.backward_tangents) for r in k.given}
        return [self.names[a] for a in self.arguments if a in read]

    def _setup(self) -> list[str]:
        kept_names = self._kept()
        sizes = self._kept_sizes()
        targets = [*("_" for _ in self.flags)]
        targets += [n if n in kept_names else "_" for n in (self.names[a] for a in self.arguments)]
        targets += [s if s in sizes else "_" for s in self.sizes]
        lines = unpacking(targets, "inputs") if set(targets) != {"_"} else []
        if self.flags:
            lines.append(f"ctx.wanted = inputs[:{len(self.flags)}]")
        return [*lines, *kept(kept_names, sizes)]

    def _kept_sizes(self) -> list[str]:
        k = self.kernels
        return [k.backward.symbol(s) for s in k.inner_sizes if s in (*k.second.sizes, *k.backward_tangents.sizes)]

    def _restored(self, kernel: Kernel) -> list[str]:
        used = (self.names[r.name] for r in kernel.given)
        return restored(self._kept(), self._kept_sizes(), used, bool(kernel.sizes))

    def _upstreams(self) -> list[str]:
        return [self.names[f"d{g}"] for g in self.gradients]

    def _backward(self) -> list[str]:
        second = self.kernels.second
        outputs = {o.removeprefix("d"): self.names[o] for o in second.plan.outputs}
        gradients = self._places([outputs.get(a, "None") for a in self.arguments])
        if not outputs:
            return listing("return", gradients, 8)
        lines = when("if", absent(self._upstreams()), WIDTH - 8)
        lines += [STEP + line for line in listing("return", ["None"] * len(gradients), 12)]
        if len(outputs) > 1:
            flags = self._places([f"needs_{a}" if a in outputs else "_" for a in self.arguments], "_")
            lines += unpacking(flags, "ctx.needs_input_grad")
        return [*lines, *self._restored(second), *called(second, "_second_backward", gradients)]

    def _tangents(self) -> list[str]:
        names, moving = self.kernels.op.backward_tangents.names, set(self.kernels.op.backward_tangents.given)
        tensors = (self.names[names[a]] if names.get(a) in moving else f"_{self.names[a]}" for a in self.arguments)
        return [
            *(f"_{f}: None" for f in self.flags),
            *(f"{t}: Tensor | None" for t in tensors),
            *(f"_{s}: None" for s in self.sizes),
        ]

    def _jvp(self) -> list[str]:
        kernel, names = self.kernels.backward_tangents, self.kernels.op.backward_tangents.names
        made = [self.names[o] for o in kernel.plan.outputs]
        shown = [self.names[names[g]] if g in names else "None" for g in self.gradients]
        if not made:
            return listing("return", shown, 8)
        if len(shown) == 1:
            return [*self._restored(kernel), *called(kernel, "_backward_tangents", shown)]
        return [
            *self._restored(kernel),
            *assignment(", ".join(made), "_backward_tangents", kernel.arguments()),
            *listing("moved =", shown, 8),
            "# a gradient that was not wanted is None, and has no tangent",
            "return tuple(m if w else None for m, w in zip(moved, ctx.wanted, strict=True))",
        ]
