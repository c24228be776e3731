"""A point at which claims are judged: sizes, inputs, an upstream, and everything true that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from symderive.check.exact import EXACT
from symderive.check.numbers import Domain
from symderive.check.objects import from_list, objects
from symderive.check.oracle import Evaluator, batch_extents, shape_of
from symderive.claims.tape import Adjoints, Node, Tape
from symderive.spec import model, syntax

Sizes = Mapping[str, "int | tuple[int, ...]"]
JACOBIAN = "D:"


def gradient_names(spec: model.Spec) -> dict[str, str]:
    """What ``d<name>`` and ``d<name>_total`` stand for: the tensor. A tensor of the forward of that name goes first."""
    tensors = spec.shapes
    real = [n for n in tensors if n not in {i.name for i in spec.inputs if not i.is_real}]
    names = {f"d{n}": n for n in real} | {f"d{n}_total": n for n in real}
    return {name: tensor for name, tensor in names.items() if name not in tensors}


def sole_scalar(spec: model.Spec) -> bool:
    """Whether the only output is a scalar, whose upstream formulas write as 1."""
    return len(spec.outputs) == 1 and not spec.shapes[spec.outputs[0]]


class World:
    """The values of all tensors and all gradients at one point, in the numbers of ``base``.

    ``inputs`` and ``upstreams`` (by output) are plain numbers. With ``twice`` the gradients can themselves be
    differentiated. ``equations`` replace those of the spec.
    """

    def __init__(
        self,
        spec: model.Spec,
        sizes: Sizes,
        inputs: Mapping[str, np.ndarray],
        upstreams: Mapping[str, np.ndarray],
        base: Domain = EXACT,
        *,
        constants: Mapping[str, Fraction] | None = None,
        twice: bool = False,
        equations: Sequence[model.Equation] | None = None,
    ) -> None:
        self.spec = spec
        self.sizes = sizes
        self.plain_inputs = inputs
        self.upstreams = upstreams
        self.constants = dict(spec.constants if constants is None else constants)
        self.base: Domain = Tape(base) if twice else base
        self.tape = Tape(self.base)
        self.equations = spec.equations if equations is None else tuple(equations)
        real = {i.name for i in spec.inputs if i.is_real}
        self.leaves = {n: self._leaf(a) if n in real else objects(a) for n, a in inputs.items()}
        self.evaluator = Evaluator(self.equations, self.leaves, sizes, self.tape, self.constants)
        self._gradients: dict[str, np.ndarray] = {}
        self.nodes = self.leaves | self.evaluator.tensors()

    def _leaf(self, a: np.ndarray) -> np.ndarray:
        lift = self.base.leaf if isinstance(self.base, Tape) else (lambda v: v)
        return from_list([self.tape.leaf(lift(v)) for v in objects(a).flat], a.shape)

    @property
    def batch(self) -> int:
        """The number of batch axes."""
        return len(batch_extents(self.sizes))

    @cached_property
    def values(self) -> dict[str, np.ndarray]:
        """Every tensor in the numbers of the base."""
        return {name: self.lowered(a) for name, a in self.nodes.items()}

    def lowered(self, a: np.ndarray) -> np.ndarray:
        """An array of recorded numbers as one of the base."""
        return from_list([self.tape.lower(v) for v in a.flat], a.shape)

    @cached_property
    def seeds(self) -> list[tuple[Any, Any]]:
        """The entries of the outputs, and their upstreams."""
        return [
            pair
            for name in self.spec.outputs
            for pair in zip(self.nodes[name].flat, objects(self.upstreams[name]).flat, strict=True)
        ]

    @cached_property
    def adjoints(self) -> Adjoints:
        """The derivatives of the contracted outputs by everything."""
        return self.tape.reverse(self.seeds)

    def gradient(self, tensor: str, adjoints: Adjoints | None = None) -> np.ndarray:
        """The gradient of the outputs with respect to a tensor, in its shape."""
        if adjoints is None:
            if tensor not in self._gradients:
                self._gradients[tensor] = self.gradient(tensor, self.adjoints)
            return self._gradients[tensor]
        nodes = self.nodes[tensor]
        return from_list([adjoints[n] for n in nodes.flat], nodes.shape)

    def named(self, name: str) -> np.ndarray:
        """The tensor ``d<name>``, or ``d<name>_total``: of an output, the upstream or what has accumulated."""
        tensor = gradient_names(self.spec)[name]
        if tensor in self.spec.outputs and name == f"d{tensor}":
            return objects(self.upstreams[tensor])
        return self.gradient(tensor)

    def cut(self, cut: Callable[[Node], bool], tensor: str) -> np.ndarray:
        """The gradient without what flows through the recorded numbers that ``cut`` holds for."""
        return self.gradient(tensor, self.tape.reverse(self.seeds, cut))

    @cached_property
    def known(self) -> dict[str, np.ndarray]:
        """Everything that a claim may name: tensors and true gradients."""
        return {name: self.named(name) for name in gradient_names(self.spec)} | self.values

    def jacobian(self, numerator: np.ndarray, denominator: str) -> np.ndarray:
        """The derivatives of each number of an array by each entry of a tensor; needs a world made with ``twice``."""
        tape = self.base
        assert isinstance(tape, Tape)
        targets = self.values[denominator]
        entries: list[Any] = []
        for number in numerator.flat:
            adjoints = tape.reverse([(number, 1)])
            entries.extend(adjoints[t] for t in targets.flat)
        return from_list(entries, numerator.shape + targets.shape)

    def plain(self, a: np.ndarray) -> np.ndarray:
        """An array as plain numbers."""
        return from_list([self.base.plain(v) for v in objects(a).flat], np.shape(a))


def random_upstreams(spec: model.Spec, sizes: Sizes, entries: Callable[[Sequence[int]], Any]) -> dict[str, np.ndarray]:
    """Upstreams by output; of a sole scalar output it is 1."""
    if sole_scalar(spec):
        return {spec.outputs[0]: objects(1)}
    return {name: entries(shape_of(spec.shapes[name], sizes)) for name in spec.outputs}


def is_jacobian(node: syntax.Node) -> bool:
    """Whether an expression is ``D(y[i], x[k])``."""
    return isinstance(node, syntax.Call) and node.function == "D"
