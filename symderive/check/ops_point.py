"""Where an emitted op is checked: inputs and upstreams, and what its results may be off by there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symderive.check.devices import to_numpy
from symderive.check.ops_bounds import OpBounds
from symderive.check.rounding import ROUNDING
from symderive.check.uncertain import Uncertain
from symderive.emit.autograd_op import KernelSet

DTYPE = "float64"
UNIT = ROUNDING[DTYPE].unit
PLACES = 4
"""Of how many entries of a tensor rows and columns of Jacobians are judged; ``gradcheck`` judges them all."""


@dataclass(frozen=True)
class Point:
    """Inputs away from kinks, upstreams, which inputs are differentiated, and the formulas of the op.

    ``other`` are inputs of other sizes; ``empty`` have a size of 0, each with its name.
    """

    kernels: KernelSet
    inputs: tuple[Tensor, ...]
    upstreams: tuple[Tensor, ...]
    wrt: tuple[int, ...]
    other: tuple[Tensor, ...] = ()
    empty: Mapping[str, tuple[Tensor, ...]] = field(default_factory=dict)

    def leaves(self) -> tuple[Tensor, ...]:
        """Fresh copies of the inputs that record gradients."""
        return tuple(x.clone().requires_grad_() if n in self.wrt else x.clone() for n, x in enumerate(self.inputs))

    @cached_property
    def own_bounds(self) -> PointBounds:
        """The bounds at the point itself."""
        return PointBounds(self.kernels, self.inputs)

    def bounds(self, inputs: tuple[Tensor, ...] | None = None, dtype: str = DTYPE) -> PointBounds:
        """The bounds at some inputs, or at the point's own."""
        return self.own_bounds if inputs is None else PointBounds(self.kernels, inputs, dtype)


def weights(like: Tensor) -> Tensor:
    """What the entries of an output count in a loss: no two the same."""
    return torch.linspace(0.5, 1.5, like.numel(), dtype=like.dtype).reshape(like.shape)


class PointBounds:
    """What one computation of an op in float64 may be off by at some inputs: arrays in the order of the results."""

    def __init__(self, kernels: KernelSet, inputs: Sequence[Tensor], dtype: str = DTYPE) -> None:
        spec = kernels.op.spec
        given = {i.name: Uncertain.exact(to_numpy(x)) for i, x in zip(spec.inputs, inputs, strict=True)}
        self.analysis = OpBounds(kernels, given, dtype)
        self.spec = spec
        self.wrt = [i.name for i in spec.inputs if i.name in spec.wrt]

    def of_outputs(self) -> list[Any]:
        """The outputs."""
        return [u.error for u in self.analysis.outputs.values()]

    def of_gradients(self, upstreams: Sequence[Any]) -> list[Any]:
        """The gradients for some upstreams, one for each output."""
        ups = dict(zip(self.spec.outputs, upstreams, strict=True))
        return self._gradients({o: Uncertain.exact(to_numpy(ups[o])) for o in self.analysis.real})

    def of_loss(self, linear: bool = True) -> list[Any]:
        """The gradients of ``sum weights * y + sum y**2``, or of the squares alone."""
        return self._gradients(self._loss(linear))

    def of_jacobians(self) -> list[Any]:
        """The Jacobians of every output by every input, by rows and by columns: the mean of the two errors."""
        outputs, inputs, real = self.analysis.outputs, self.analysis.inputs, self.analysis.real
        rows = {(o, w): _unknown(u, inputs[w], o in real) for o, u in outputs.items() for w in self.wrt}
        columns = {pair: array.copy() for pair, array in rows.items()}
        for o in real:
            for place, one in _ones(outputs[o].shape):
                for w, error in zip(self.wrt, self._gradients({o: one}), strict=True):
                    rows[o, w][place] = error
        for w in self.wrt:
            for place, one in _ones(inputs[w].shape):
                moved, column = self.analysis.tangents({w: one}), (..., *place)
                for o in real:
                    columns[o, w][column] = moved[o].error
        return [(rows[pair] + columns[pair]) / 2 for pair in rows]

    def of_hessian(self) -> list[Any]:
        """The second derivatives of the loss, forward over reverse and reverse over reverse: the mean of the errors."""
        inputs, ups = self.analysis.inputs, self._loss(True)
        rows = {(v, w): _unknown(inputs[v], inputs[w], True) for v in self.wrt for w in self.wrt}
        columns = {pair: array.copy() for pair, array in rows.items()}
        for w in self.wrt:
            for place, one in _ones(inputs[w].shape):
                moved = self.analysis.gradient_tangents(ups, {w: one}, 2.0)
                found, column = self.analysis.second(ups, {w: one}, 2.0), (..., *place)
                for v in self.wrt:
                    columns[v, w][column] = moved[v].error
                    rows[w, v][place] = found[v].error
        return [(rows[pair] + columns[pair]) / 2 for pair in rows]

    def _gradients(self, ups: Mapping[str, Uncertain]) -> list[Any]:
        if not ups:
            return [np.zeros(self.analysis.inputs[w].shape) for w in self.wrt]
        found = self.analysis.gradients(ups)
        return [found[w].error for w in self.wrt]

    def _loss(self, linear: bool) -> dict[str, Uncertain]:
        """The upstreams of the loss, ``weights + 2 y``."""
        made = {}
        for o in self.analysis.real:
            y = self.analysis.outputs[o]
            first = to_numpy(weights(torch.zeros(y.shape, dtype=torch.float64))) * linear
            value = first + 2 * y.value
            made[o] = Uncertain(value, 2 * y.error + UNIT * (np.abs(value) + 2 * y.error))
        return made


def _unknown(first: Uncertain, second: Uncertain, moves: bool) -> Any:
    """The errors of a matrix of derivatives, before any is known: of one that is 0 there are none."""
    return np.full((*first.shape, *second.shape), np.inf if moves else 0.0)


def _ones(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Uncertain]]:
    """A 1 at some places in turn, from the first to the last, and the place."""
    count = math.prod(shape)
    for n in np.unique(np.linspace(0, count - 1, min(count, PLACES)).round().astype(int)):
        one = np.zeros(shape)
        one.flat[n] = 1.0
        yield tuple(map(int, np.unravel_index(n, shape))), Uncertain.exact(one)
