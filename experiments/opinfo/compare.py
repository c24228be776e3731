"""An emitted op beside PyTorch's at one point: outputs, gradients, and the gradients of those.

What they may differ by is what a running error analysis of the emitted formulas allows there, in the dtype of the
sample, and for float64 in what PyTorch computed, as in ``symderive check``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from torch import Tensor

from symderive import api
from symderive.algebra.second_order import differentiable
from symderive.catalogue import spec_path
from symderive.check.compare import compare
from symderive.check.devices import to_numpy
from symderive.check.ops import load_text
from symderive.check.ops_bounds import OpBounds
from symderive.check.rounding import ROUNDING
from symderive.check.uncertain import Uncertain
from symderive.emit.autograd import autograd_module
from symderive.emit.autograd_op import KernelSet, function_name
from symderive.lower import sizes
from symderive.spec.model import Spec

Values = dict[str, Uncertain]


@dataclass(frozen=True)
class Emitted:
    """A spec, its emitted function, and the plans of what that computes."""

    spec: Spec
    function: Callable[..., Any]
    kernels: KernelSet

    @cached_property
    def real(self) -> tuple[str, ...]:
        """The outputs that have gradients."""
        return tuple(o for o in self.spec.outputs if o in self.kernels.moving)

    def fits(self, inputs: tuple[Tensor, ...]) -> bool:
        """Whether the inputs have the spec's shapes at some sizes."""
        shapes = {i.name: i.shape for i in self.spec.inputs}
        given = {i.name: tuple(x.shape) for i, x in zip(self.spec.inputs, inputs, strict=True)}
        batch = sizes.BATCH_SIZE
        if any(len(given[n]) < len(s) - 1 if s[:1] == (batch,) else len(given[n]) != len(s) for n, s in shapes.items()):
            return False
        known = sizes.values(shapes, given)
        return all(_extents(shapes[n], known, given[n]) == given[n] for n in shapes)


def _extents(shape: Any, known: Mapping[Any, Any], given: tuple[int, ...]) -> tuple[int, ...]:
    found: list[int] = []
    for entry in shape:
        if entry == sizes.BATCH_SIZE:
            found += known[entry]
        else:
            found.append(int(entry.xreplace({k: v for k, v in known.items() if not isinstance(v, tuple)})))
    return tuple(found)


@cache
def emitted(name: str, constants: tuple[tuple[str, str], ...] = ()) -> Emitted:
    """A spec of the catalogue, with other constants, as an emitted op."""
    text = Path(spec_path(name)).read_text()
    if constants:
        given = yaml.safe_load(text)["constants"] | dict(constants)
        line = ", ".join(f"{k}: {v}" for k, v in given.items())
        text = re.sub(r"^constants: .*$", f"constants: {{{line}}}", text, flags=re.MULTILINE)
    spec = api.loads(text, name)
    scope = load_text(autograd_module(spec), name)
    return Emitted(spec, getattr(scope, function_name(name)), KernelSet(differentiable(spec)))


@dataclass(frozen=True)
class Derivatives:
    """Outputs, gradients ``dx`` for the upstreams, and ``ddx``, the gradients of those for upstreams of their own."""

    values: dict[str, Tensor]


def weights(like: Tensor, first: float, last: float) -> Tensor:
    """An upstream in which no two entries are the same, and which every dtype holds."""
    steps = torch.linspace(first, last, max(like.numel(), 1), dtype=torch.float64)[: like.numel()]
    return ((steps * 64).round() / 64).to(like.dtype).reshape(like.shape)


def derivatives(op: Emitted, f: Callable[..., Any], inputs: tuple[Tensor, ...], order: int) -> dict[str, Tensor]:
    """The outputs and the gradients of both orders."""
    spec = op.spec
    xs = [x.detach().clone().requires_grad_(i.name in spec.wrt) for i, x in zip(spec.inputs, inputs, strict=True)]
    want = {i.name: x for i, x in zip(spec.inputs, xs, strict=True) if i.name in spec.wrt}
    result = f(*xs)
    outputs = dict(zip(spec.outputs, result if isinstance(result, tuple) else (result,), strict=True))
    found = dict(outputs)
    ups = [weights(outputs[o], 0.5, 1.5) for o in op.real]
    first = _grad([outputs[o] for o in op.real], want.values(), ups, order > 1)
    found |= {f"d{n}": g for n, g in zip(want, first, strict=True)}
    if order > 1:
        moving = [(g, weights(g, 1.25, -0.75)) for g in first if g.requires_grad]
        second = _grad([g for g, _ in moving], want.values(), [seed for _, seed in moving], False)
        found |= {f"dd{n}": g for n, g in zip(want, second, strict=True)}
    # torch has zeros that take no memory, and that NumPy cannot read
    return {n: torch.zeros_like(t) if t._is_zerotensor() else t.detach() for n, t in found.items()}


def _grad(outputs: list[Tensor], inputs: Iterable[Tensor], ups: list[Tensor], again: bool) -> list[Tensor]:
    """Gradients; one that there is none of is 0."""
    inputs = list(inputs)
    if not outputs:
        return [torch.zeros_like(x) for x in inputs]
    found = torch.autograd.grad(outputs, inputs, ups, create_graph=again, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]


def bounds(op: Emitted, inputs: tuple[Tensor, ...], values: Mapping[str, Tensor], order: int, dtype: str) -> Bounds:
    """What the emitted op may be off by, for everything that :func:`derivatives` gives, and the kinks it is at."""
    spec = op.spec
    exact = {i.name: Uncertain.exact(to_numpy(x)) for i, x in zip(spec.inputs, inputs, strict=True)}
    ups = {o: Uncertain.exact(to_numpy(weights(values[o], 0.5, 1.5))) for o in op.real}
    found = OpBounds(op.kernels, exact, dtype)
    errors = {o: u.error for o, u in found.outputs.items()}
    errors |= {f"d{w}": u.error for w, u in found.gradients(ups).items()}
    if order > 1:
        seeds = {w: Uncertain.exact(to_numpy(weights(values[f"d{w}"], 1.25, -0.75))) for w in spec.wrt}
        errors |= {f"dd{w}": u.error for w, u in found.second(ups, seeds).items()}
    return Bounds(errors, tuple(found.touched))


@dataclass(frozen=True)
class Bounds:
    """The error of each result, and the kinks that rounding could cross."""

    errors: Mapping[str, Any]
    touched: tuple[str, ...]


def differences(op: Emitted, point: Any, order: int, dtype: str) -> Iterator[tuple[str, str]]:
    """What is wrong with each result: its name, and in words, empty where nothing is. A kink yields ``kink``."""
    wide = tuple(x.double() if x.is_floating_point() else x for x in point.inputs)
    narrow = tuple(x.float() if x.is_floating_point() else x for x in point.inputs)
    with torch.enable_grad():
        true = derivatives(op, point.original, wide, order)
        single = derivatives(op, point.original, narrow, order)
        got = derivatives(op, op.function, point.inputs, order)
    made = bounds(op, point.inputs, true, order, dtype)
    exact = bounds(op, point.inputs, true, order, "float64")
    scale = 2 * ROUNDING["float64"].unit / ROUNDING["float32"].unit
    for name, tensor in got.items():
        if tensor.shape != true[name].shape:
            yield name, f"shape {list(tensor.shape)} for {list(true[name].shape)}"
            continue
        if exact.touched and name not in op.spec.outputs:
            yield name, "kink"
            continue
        apart = np.abs(to_numpy(single[name]).astype(np.float64) - to_numpy(true[name]).astype(np.float64))
        noise = float(apart[np.isfinite(apart)].max(initial=0.0)) * scale if dtype != "narrow" else 0.0
        allowed = made.errors[name] + exact.errors[name] + noise
        judged = compare(to_numpy(tensor).astype(np.float64), to_numpy(true[name]).astype(np.float64), allowed)
        yield name, judged.detail if judged.wrong else "undecided" if judged.undecided else ""
