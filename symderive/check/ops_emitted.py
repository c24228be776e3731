"""Emitted ops under check: the modules of ``emit --as autograd`` and ``--as custom_op``, loaded once a subject."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from symderive.algebra.second_order import differentiable
from symderive.check.ops import load_text
from symderive.check.subject import Subject
from symderive.emit.autograd import autograd_module
from symderive.emit.autograd_op import KernelSet, function_name
from symderive.emit.custom_op import custom_op_module

NAMESPACE = "symderive_check"
KINDS: dict[str, Callable[..., str]] = {
    "autograd": autograd_module,
    "custom_op": lambda spec: custom_op_module(spec, NAMESPACE),
}


@dataclass(frozen=True)
class EmittedOp:
    """A loaded module: its ``function`` and, of a custom op, the ``op``."""

    kind: str
    function: Callable[..., Any]
    op: Any = None

    def outputs(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """What the function gives, as a tuple."""
        result = self.function(*inputs)
        return result if isinstance(result, tuple) else (result,)


def emitted(subject: Subject, kind: str) -> EmittedOp:
    """The emitted op of this kind; what a test has put in its place comes first."""
    key = ("emitted", kind)
    if key not in subject.memory:
        module = load_text(KINDS[kind](subject.spec), subject.spec.name)
        subject.memory[key] = EmittedOp(
            kind, getattr(module, function_name(subject.spec.name)), getattr(module, "_op", None)
        )
    found: EmittedOp = subject.memory[key]
    return found


def kernels(subject: Subject) -> KernelSet:
    """The formulas that its emitted ops compute."""
    if "kernels" not in subject.memory:
        subject.memory["kernels"] = KernelSet(differentiable(subject.spec))
    found: KernelSet = subject.memory["kernels"]
    return found
