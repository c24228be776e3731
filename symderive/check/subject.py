"""What is checked and what it is held against: an op, its spec, the derivation, plans for bounds, and the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor

from symderive.algebra.program import Derivation
from symderive.check.bounds import Analysis, analyse
from symderive.check.ops import Op, TorchOp
from symderive.check.truth import Sizes, index_form
from symderive.check.uncertain import Uncertain
from symderive.lower.plan import Plan
from symderive.spec import model, syntax

Point = dict[str, np.ndarray]
Reference = Callable[[Mapping[str, Tensor], Sizes], "dict[str, Tensor]"]


@dataclass(frozen=True)
class Bounds:
    """Bounds on the errors of outputs and gradients, and the forward values in float64 that they were made from.

    ``touched`` are kinks at or next to the point, ``overflow`` the tensors too large for the dtype.
    """

    errors: Mapping[str, np.ndarray]
    values: Mapping[str, np.ndarray]
    touched: tuple[str, ...]
    overflow: tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """One op under check. ``own`` is the emitted code where ``op`` is someone's own."""

    spec: model.Spec
    op: Op
    derivation: Derivation
    forward: Plan
    backward: Plan
    reference: Reference | None = None
    own: Op | None = None
    memory: dict[Any, Any] = field(default_factory=dict, compare=False)

    @property
    def emitted(self) -> bool:
        """Whether the op is the emitted code."""
        return self.own is None

    @property
    def stops(self) -> bool:
        """Whether the spec stops a gradient somewhere."""
        calls = (n for e in self.spec.equations for n in e.right.walk() if isinstance(n, syntax.Call))
        return any(c.function == "stop" for c in calls)

    def is_real(self, name: str) -> bool:
        """Whether an output or a gradient holds real numbers, rather than truth values or integers."""
        return name not in self.spec.outputs or self.forward.refs[name].kind == "real"

    @cached_property
    def equations(self) -> tuple[model.Equation, ...]:
        """The index form of forward and backward."""
        return index_form(self.derivation)

    @property
    def gradients(self) -> tuple[str, ...]:
        """The names of the gradients, ``d<input>``."""
        return tuple(f"d{n}" for n in self.spec.wrt)

    @property
    def upstreams(self) -> tuple[str, ...]:
        """The names of the upstreams, ``d<output>``."""
        return tuple(f"d{n}" for n in self.spec.outputs)

    def bounds(
        self, point: Mapping[str, np.ndarray], sizes: Sizes, dtype: str, errors: float = 0.0, steady: bool = False
    ) -> Bounds:
        """The error analysis of forward and backward at a point that is exact, or off by ``errors`` in what is derived.

        ``steady`` takes conditions as they fall, for points whose arithmetic is exact.
        """
        tensors = {n: Uncertain.exact(a) for n, a in point.items()}
        if errors:
            for name in self.spec.wrt:
                tensors[name] = Uncertain(tensors[name].value, np.full(tensors[name].shape, errors))
        extents = {k: v for k, v in sizes.items() if isinstance(v, int)}
        forward = analyse(self.forward, tensors, dtype, extents, self.spec.wrt, steady=steady, fused=self.emitted)
        known = {**tensors, **forward.tensors}
        given = {r.name: known[r.name] for r in self.backward.inputs}
        backward = analyse(self.backward, given, dtype, extents, steady=steady, fused=self.emitted)
        return Bounds(
            {n: forward.error(n) for n in self.spec.outputs} | {n: backward.error(n) for n in self.gradients},
            {n: u.value for n, u in {**forward.tensors, **backward.tensors}.items()},
            forward.touched,
            _overflowing(forward, backward),
        )

    def reference_op(self, sizes: Sizes) -> Op:
        """The reference at these sizes, or the emitted forward where there is none, differentiated by autograd."""
        names = tuple(i.name for i in self.spec.inputs)
        label = "the reference: " if self.reference else "autograd of the emitted forward: "
        return TorchOp(self._function(sizes), names, self.spec.outputs, self.spec.wrt, label)

    def _function(self, sizes: Sizes) -> Callable[..., Any]:
        names = tuple(i.name for i in self.spec.inputs)
        reference = self.reference
        if reference is None:
            emitted = self.own or self.op
            return lambda *inputs: emitted.forward(*inputs)[0]

        def call(*inputs: Tensor) -> tuple[Tensor, ...]:
            defined = reference(dict(zip(names, inputs, strict=True)), sizes)
            return tuple(defined[n] for n in self.spec.outputs)

        return call


def _overflowing(forward: Analysis, backward: Analysis) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*forward.overflow, *backward.overflow)))
