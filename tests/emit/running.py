"""Emitted text, run: against the plan's own meaning, in NumPy and in torch."""

from __future__ import annotations

import numpy as np
import torch

from symderive.emit.module import DEFINITIONS, LIBRARIES, Body, import_lines, needed
from symderive.emit.names import identifiers
from symderive.lower import plan as p
from symderive.lower import sizes as plan_sizes
from symderive.lower.shapes import BATCH_SIZE, has_batch, plain
from symderive.spec.sizes import size

TORCH_DTYPES = {"integer": torch.long, "boolean": torch.bool}


def module_of(text: str) -> dict:
    scope: dict = {}
    exec(compile(text, "<emitted>", "exec"), scope)
    return scope


def function_text(plan: p.Plan, library: str) -> str:
    """A plan as one function that returns its outputs as a tuple."""
    symbols = plan_sizes.symbols(e for r in plan.refs.values() for e in r.shape)
    names = identifiers([*plan.refs, *plan.constants, *(s.name for s in symbols if not s.name.startswith("..."))])
    body = Body(plan, {r.name: r.shape for r in plan.inputs}, names, LIBRARIES[library])
    lines = [*body.lines(), f"return {', '.join(names[o] for o in plan.outputs)},"]
    head = f"def f({', '.join(names[r.name] for r in plan.inputs)}):"
    code = "\n".join([head, *(f"    {line}" for line in lines)])
    extra = needed(code, DEFINITIONS[library])
    return "\n".join([*import_lines("\n".join([*extra, code])), *extra, code, ""])


def extents_of(shape: p.Shape, numbers: dict) -> tuple[int, ...]:
    batch = numbers.get("...", ()) if has_batch(shape) else ()
    values = {size(n): v for n, v in numbers.items() if n != "..."}
    return (*batch, *(int(e.xreplace({s: p.Integer(v) for s, v in values.items()})) for e in plain(shape)))


def draw(ref: p.Ref, numbers: dict, rng: np.random.Generator, classes: int = 2) -> np.ndarray:
    shape = extents_of(ref.shape, numbers)
    if ref.kind == "integer":
        return rng.integers(0, classes, shape)
    if ref.kind == "boolean":
        return rng.random(shape) < 0.5
    return rng.standard_normal(shape)


def as_torch(value: np.ndarray, dtype: torch.dtype = torch.float64, device: str = "cpu") -> torch.Tensor:
    tensor = torch.from_numpy(np.array(value))
    return tensor.to(device, dtype) if tensor.is_floating_point() else tensor.to(device)


__all__ = ["BATCH_SIZE", "as_torch", "draw", "extents_of", "function_text", "module_of"]
