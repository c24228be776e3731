"""How many bytes are kept for the backward: by the emitted op, by autograd of its formulas, by PyTorch's own op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from emitted import SPECS
from timing import Row
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

import symderive
from symderive.check.devices import to_torch
from symderive.check.ops_emitted import emitted
from symderive.check.prepare import prepare
from symderive.check.sample import Draw, draw_inputs
from symderive.check.subject import Subject
from symderive.spec.syntax import Method, Name


def rows(repeats: int) -> list[Row]:
    """One row for each spec of the catalogue that has a gradient."""
    del repeats  # the same every time
    found = (kept_row(prepare(symderive.load(path))) for path in sorted(SPECS.glob("*.yaml")))
    return [row for row in found if row is not None]


def kept_row(subject: Subject) -> Row | None:
    """The bytes at the author's sizes, in float32; None where neither keeps anything."""
    spec = subject.spec
    sizes = dict(spec.sizes)
    drawn = draw_inputs(spec, sizes, Draw(np.random.default_rng(0)))
    inputs = [to_torch(drawn[i.name], "float32", "cpu") for i in spec.inputs]
    own = kept_bytes(emitted(subject, "autograd").function, subject, inputs)
    formulas = kept_bytes(lambda *x: subject.op.forward(*x)[0], subject, inputs)
    if not own and not formulas:
        return None
    beside = ""
    if subject.reference is not None and (calls := _native(subject)):
        reference = subject.reference
        names = [i.name for i in spec.inputs]
        native = kept_bytes(lambda *x: reference(dict(zip(names, x, strict=True)), sizes), subject, inputs)
        beside = f"{calls} {native:,} B"
    return Row(f"kept by {spec.name}", [own], [formulas], "autograd of its formulas", 1.0, beside, "B")


def kept_bytes(function: Callable[..., Any], subject: Subject, inputs: Sequence[Tensor]) -> int:
    """The bytes of the storages that autograd holds after the function was called, each counted once."""
    spec, held = subject.spec, dict[int, Tensor]()

    def pack(tensor: Tensor) -> Tensor:
        held[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    leaves = [
        x.clone().requires_grad_() if i.name in spec.wrt else x.clone()
        for i, x in zip(spec.inputs, inputs, strict=True)
    ]
    with saved_tensors_hooks(pack, lambda tensor: tensor):
        result = function(*leaves)
    total = sum(t.untyped_storage().nbytes() for t in held.values())
    del result  # which holds the graph, and with it the storages
    return total


def _native(subject: Subject) -> str:
    """The functions of ``torch.nn.functional`` that the reference calls."""
    nodes = (n for s in subject.spec.reference for n in s.right.walk())
    calls = (n.name for n in nodes if isinstance(n, Method) and n.value == Name("F"))
    return ", ".join(dict.fromkeys(f"F.{name}" for name in calls))
