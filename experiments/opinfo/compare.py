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
from symderive.check.bounds import Analysis, analyse
from symderive.check.compare import compare
from symderive.check.devices import to_numpy
from symderive.check.ops import load_text
from symderive.check.rounding import ROUNDING
from symderive.check.uncertain import Uncertain
from symderive.emit.autograd import autograd_module
from symderive.emit.autograd_op import KernelSet, function_name
from symderive.lower import plan as p
from symderive.lower import sizes
from symderive.spec.model import Spec

Values = dict[str, Uncertain]


@dataclass(frozen=True)
class Emitted:
    """A spec, its emitted function, and the plans of what that computes."""

    spec: Spec
    function: Callable[..., Any]
    kernels: KernelSet

    def plan(self, key: str) -> p.Plan | None:
        """A plan of the emitted module."""
        return self.kernels.plans[key]

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


def bounds(op: Emitted, inputs: tuple[Tensor, ...], values: Mapping[str, Tensor], order: int, dtype: str) -> Analyses:
    """What the emitted op may be off by, for everything that :func:`derivatives` gives."""
    spec = op.spec
    exact = {i.name: Uncertain.exact(to_numpy(x)) for i, x in zip(spec.inputs, inputs, strict=True)}
    ups = {f"d{o}": Uncertain.exact(to_numpy(weights(values[o], 0.5, 1.5))) for o in op.real}
    seeds = {f"d{w}": Uncertain.exact(to_numpy(weights(values[f"d{w}"], 1.25, -0.75))) for w in spec.wrt}
    found = Analyses(op, dtype)
    found.first(exact, ups)
    if order > 1:
        found.second(seeds)
    return found


class Analyses:
    """The analyses of the emitted plans, one after the other: what one gives the next one takes."""

    def __init__(self, op: Emitted, dtype: str) -> None:
        self.op, self.dtype = op, dtype
        self.errors: dict[str, Any] = {}
        self.touched: list[str] = []

    def run(self, key: str, known: Mapping[str, Uncertain], active: tuple[str, ...] = ()) -> Analysis:
        """The analysis of one plan; upstreams that are not known are 0."""
        plan = self.op.plan(key)
        assert plan is not None
        given = {r.name: known[r.name] if r.name in known else self._zeros(r) for r in plan.inputs}
        made = analyse(plan, given, self.dtype, self.extents, active)
        self.touched += made.touched
        return made

    def _zeros(self, ref: p.Ref) -> Uncertain:
        name = ref.name.removeprefix("d")
        return Uncertain.exact(np.zeros(self.known[name].shape))

    def first(self, inputs: Values, ups: Values) -> None:
        """Outputs and gradients."""
        op = self.op
        shapes = {i.name: i.shape for i in op.spec.inputs}
        known = sizes.values(shapes, {n: u.shape for n, u in inputs.items()})
        self.extents = {("..." if s == sizes.BATCH_SIZE else s.name): v for s, v in known.items()}
        self.inputs, self.ups = inputs, ups
        self.known = {**inputs, **self.run("forward", inputs, op.spec.wrt).tensors}
        made = self.run("backward", {**self.known, **ups})
        self.gradients = {f"d{w}": made.tensors[f"d{w}"] for w in op.spec.wrt}
        self.errors |= {o: self.known[o].error for o in op.spec.outputs}
        self.errors |= {n: u.error for n, u in self.gradients.items()}

    def second(self, seeds: Values) -> None:
        """The gradients of the gradients: by what was saved, and through it by the inputs."""
        op = self.op
        renamed = op.kernels.op.renamed
        own = {renamed[n]: u for n, u in {**self.ups, **self.gradients}.items() if n in renamed}
        known = {**self.known, **own, **{f"d{renamed[n]}": u for n, u in seeds.items()}}
        second = op.plan("second")
        made: Mapping[str, Uncertain] = self.run("second", known).tensors if second and second.outputs else {}
        given = {o: made[o] for o in (second.outputs if second else ())}
        parts: dict[str, list[Uncertain]] = {w: [] for w in op.spec.wrt}
        for w in op.spec.wrt:
            parts[w] += [given[f"d{w}"]] if f"d{w}" in given else []
        for key in ("backward", "through"):
            plan = op.plan(key)
            names = {f"d{o}" for o in (op.spec.outputs if key == "backward" else op.kernels.op.carried)}
            ups = {n: u for n, u in given.items() if n in names}
            if plan is None or not ups:
                continue
            tensors = self.run(key, {**self.known, **ups}).tensors
            for w in op.spec.wrt:
                parts[w] += [tensors[f"d{w}"]] if f"d{w}" in plan.outputs else []
        unit = ROUNDING[self.dtype].unit
        for w, terms in parts.items():
            sizes_ = sum((np.abs(t.value) + t.error for t in terms), np.zeros(self.inputs[w].shape))
            self.errors[f"dd{w}"] = sum((t.error for t in terms), np.zeros(())) + len(terms) * unit * sizes_


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
