"""``emit --as custom_op``: an op of ``torch.library``, and a function that is differentiable in every way.

Under ``torch.compile`` and ``torch.export`` the function calls the op, whose backward is registered. Otherwise it calls
a Function whose forward calls the op, since an op of ``torch.library`` has no forward mode and no ``torch.func``.
"""

from __future__ import annotations

from dataclasses import dataclass

from symderive.algebra.second_order import differentiable
from symderive.emit.autograd import AutogradModule
from symderive.emit.autograd_class import tupled
from symderive.emit.autograd_kernels import STEP, assignment, docstring, head
from symderive.emit.autograd_parts import ALONE, REGISTERED, guard
from symderive.spec import model
from symderive.spec.sizes import BATCH_SIZE
from symderive.wording import listed


def custom_op_module(spec: model.Spec, namespace: str = "symderive") -> str:
    """The module of a spec as text; the op is ``namespace::name``."""
    return CustomOpModule(differentiable(spec), True, namespace).text()


@dataclass
class CustomOpModule(AutogradModule):
    """Writes the module."""

    namespace: str = "symderive"

    def operators(self) -> list[str]:
        """The op, the Function that calls it, and what is registered."""
        alone = ALONE.format(address=self.address)
        return [alone, self.operator(), self.classes.whole(self.forward_lines()), self.registrations()]

    def remark(self) -> str:
        """How long PyTorch remembers the op's backward."""
        return (
            "torch.compile finds graphs on disk by the op's name, whatever its backward has become: after a change of"
            " the formulas, run once with TORCHINDUCTOR_AUTOGRAD_CACHE=0."
        )

    @property
    def address(self) -> str:
        """``symderive::softmax``."""
        return f"{self.namespace}::{self.spec.name}"

    def operator(self) -> str:
        """The op and its fake kernel."""
        outputs = self.outputs
        kinds = ", ".join("Tensor" for _ in outputs)
        returns = f"({kinds})" if len(outputs) > 1 else kinds
        schema = f"({', '.join(f'Tensor {n}' for n in self.inputs)}) -> {returns}"
        parts = [schema[i : i + 70] for i in range(0, len(schema), 70)]
        written = [f'{STEP}schema="{schema}",'] if len(schema) < 80 else [f"{STEP}schema=("]
        if len(schema) >= 80:
            written += [*(f'{STEP * 2}"{q}"' for q in parts), f"{STEP}),"]
        typed = f"tuple[{kinds}]" if len(outputs) > 1 else kinds
        note = f"{listed([*self.spec.outputs, *self.op.carried])}: the op itself. Call ``{self.name}`` instead."
        lines = [
            "@torch.library.custom_op(",
            f'{STEP}"{self.address}",',
            f"{STEP}mutates_args=(),",
            *written,
            ")",
            *head("_op", self.typed, typed),
            *docstring(note),
            *(STEP + line for line in self.formulas()),
        ]
        return "\n".join(lines)

    def forward_lines(self) -> list[str]:
        """The lines of the Function's forward."""
        return [
            "# torch.func differentiates inside of vmap: there the formulas take the batch as a whole",
            f"inputs = {tupled(self.inputs)}",
            "if any(map(torch._C._functorch.is_batchedtensor, inputs)):",
            *(STEP + line for line in self.formulas()),
            *assignment("return", "_op", self.inputs),
        ]

    def registrations(self) -> str:
        """Shapes, ``vmap`` and autograd of the op."""
        several = len(self.outputs) > 1
        outputs = f"tuple[{', '.join('Tensor' for _ in self.outputs)}]" if several else "Tensor"
        fake = [
            "@_op.register_fake",
            *head("_shapes", self.typed, outputs),
            *docstring("What the op gives, without its values: the formulas say it."),
            *(STEP + line for line in self.formulas()),
        ]
        batch = [
            "@_op.register_vmap",
            *head("_batched", ["info: Any", "in_dims: tuple[int | None, ...]", "*inputs: Tensor"], "Any"),
            *(STEP + line for line in self._batch_rule(several)),
        ]
        methods = [f"{self.cls}.backward", f"setup_context={self.cls}.setup_context"]
        auto = "\n".join(assignment("", "_op.register_autograd", methods, 0))
        end = guard(self.namespace, self.spec.name, self.name)
        return "\n\n\n".join(["\n".join(fake), "\n".join(batch), f"{auto}\n{end}"])

    def _batch_rule(self, several: bool) -> list[str]:
        """The lines of the op's rule for ``vmap``: one more batch axis where every input has them, else a loop."""
        dims = f"(0,) * {len(self.outputs)}" if several else "0"
        if all(i.shape[:1] == (BATCH_SIZE,) for i in self.spec.inputs):
            return [
                '"""The op for a batch, which is one more of its leading axes."""',
                "size = info.batch_size",
                "pairs = zip(inputs, in_dims, strict=True)",
                "whole = (x.expand(size, *x.shape) if d is None else x.movedim(d, 0) for x, d in pairs)",
                f"return _op(*whole), {dims}",
            ]
        rows = "tuple(torch.stack(part) for part in zip(*rows, strict=True))" if several else "torch.stack(rows)"
        return [
            *docstring(f"The op for each entry of a batch. (``{self.name}`` treats the batch as a whole.)", indent=""),
            "rows = []",
            "for n in range(info.batch_size):",
            f"{STEP}pairs = zip(inputs, in_dims, strict=True)",
            f"{STEP}rows.append(_op(*(x if d is None else x.select(d, n) for x, d in pairs)))",
            f"return {rows}, {dims}",
        ]

    def result(self) -> list[str]:
        """The lines that give the outputs."""
        compiled = (STEP + line for line in self.call("_op"))
        return ["if _is_compiled():", *compiled, *self.call("_apply")]

    def verified(self) -> tuple[str, ...]:
        """More lines of the module's test of itself."""
        return REGISTERED
