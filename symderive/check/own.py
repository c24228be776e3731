"""An implementation of someone's own, watched as it runs: it changes no argument, and gives the same twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from symderive.check.ops import Op, OpError, TorchOp, named, run

Saved = tuple[Any, Sequence[Tensor]]


@dataclass(frozen=True)
class Own:
    """An op that is checked in place of the emitted code, and what is found out about it on the way.

    ``missing`` are the gradients for which autograd gave None, ``said`` holds what is wrong with a second call and
    ``alone`` with a gradient that is asked for by itself: each empty where nothing is.
    """

    op: Op
    missing: set[str] = field(default_factory=set)
    said: list[str] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)

    @property
    def INPUTS(self) -> tuple[str, ...]:
        """As the op has them."""
        return self.op.INPUTS

    @property
    def OUTPUTS(self) -> tuple[str, ...]:
        """As the op has them."""
        return self.op.OUTPUTS

    @property
    def WRT(self) -> tuple[str, ...]:
        """As the op has them."""
        return self.op.WRT

    def forward(self, *inputs: Tensor) -> tuple[Any, Any]:
        """The op's, which may change none of its inputs. The first call is made twice, and must give the same."""
        before = [x.clone() for x in inputs]
        result = self.op.forward(*inputs)
        _unchanged("forward", self.INPUTS, before, inputs)
        if not isinstance(result, tuple) or len(result) != 2:
            return result  # the caller says so
        outputs = named(self.OUTPUTS, result[0], "forward")
        if not self.said:
            again = named(self.OUTPUTS, self.op.forward(*inputs)[0], "forward")
            self.said.append("".join(TWICE.format(n, a) for n, a in _apart(outputs, again)[:1]))
        if self.said[0]:
            raise OpError(self.said[0])
        return result[0], (result[1], inputs)

    def backward(self, saved: Saved, *upstreams: Tensor) -> tuple[Tensor, ...]:
        """The op's, which may change neither the upstreams nor the inputs."""
        kept, inputs = saved
        names = (*(f"d{n}" for n in self.OUTPUTS), *self.INPUTS)
        arguments = (*upstreams, *inputs)
        before = [x.clone() for x in arguments]
        result = self.op.backward(kept, *upstreams)
        _unchanged("backward", names, before, arguments)
        if isinstance(self.op, TorchOp):
            self.missing.update(self.op.unreached)
            if not self.alone:
                whole = dict(zip(self.WRT, result, strict=True))
                self.alone.append(_alone(self.op, inputs, upstreams, whole))
        if any(self.alone):
            raise OpError(self.alone[0])
        return result


TWICE = (
    "two calls with the same inputs give values of {} that are {:.2g} apart: nothing may be drawn at random, or kept "
    "from one call to the next"
)


def _alone(op: TorchOp, inputs: Sequence[Tensor], upstreams: Sequence[Tensor], whole: dict[str, Tensor]) -> str:
    """What is wrong where only one input requires a gradient, as where the others are frozen; empty if nothing is."""
    for name in op.WRT if len(op.WRT) > 1 else ():
        where = f"where {name} is the only input that requires a gradient"
        try:
            got = run(replace(op, WRT=(name,), unreached=set()), inputs, upstreams).gradients
        except OpError as error:
            return f"{where}, {error}"
        for gradient, apart in _apart({f"d{name}": whole[name]}, got):
            return f"{where}, {gradient} is {apart:.2g} off: does the backward heed ctx.needs_input_grad?"
    return ""


def _unchanged(what: str, names: Sequence[str], before: Sequence[Tensor], after: Sequence[Tensor]) -> None:
    for name, old, new in zip(names, before, after, strict=True):
        if not old.is_meta and not bool(((old == new) | (old.isnan() & new.isnan())).all()):
            raise OpError(f"{what} changes {name} in place: another op may still read it")


def _apart(first: dict[str, Tensor], second: dict[str, Tensor]) -> list[tuple[str, float]]:
    """What differs between two calls by more than the order of a summation may explain, and by how much."""
    found = []
    for name, one in first.items():
        other = second[name]
        if one.is_meta or not one.numel() or one.shape != other.shape:
            continue
        size = float(one.double().abs().nan_to_num().max())
        unit = torch.finfo(one.dtype).eps if one.dtype.is_floating_point else 0.0
        apart = float((one.double() - other.double()).abs().nan_to_num().max())
        if apart > unit**0.5 * size:
            found.append((name, apart))
    return found
