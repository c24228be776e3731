"""A sample of PyTorch's OpInfo database as the inputs and constants of a spec.

A :class:`Row` says what PyTorch calls an op and its arguments, which of them are the spec's inputs and constants, and
so what the others have to be. A sample that the spec does not describe raises :class:`SkipError`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

Arguments = dict[str, Any]
Arrange = Callable[[Arguments], None]
NEEDED = object()
"""The default of an argument that has none."""


class SkipError(Exception):
    """A sample that the spec does not describe; the message says why."""


@dataclass(frozen=True)
class Point:
    """The spec's ``inputs`` and ``constants``, and PyTorch's op as a function of those inputs."""

    inputs: tuple[Tensor, ...]
    constants: Mapping[str, str]
    original: Callable[..., Any]


@dataclass(frozen=True)
class Row:
    """``op`` is PyTorch's name. ``arguments`` are the op's, in order, with what the spec takes for granted of them.

    ``inputs`` are the arguments that become the spec's inputs, in its order; ``constants`` has the argument of each
    constant of the spec; every other argument must be as it says, or left out. ``arrange`` rewrites the arguments
    beforehand into those of another call of the op, one that the spec describes. What PyTorch needs may be anything.
    ``called`` gives PyTorch's function the inputs in its own shapes, where the spec has an axis more.
    """

    op: str
    arguments: Mapping[str, Any]
    inputs: str = "input"
    constants: Mapping[str, str] = field(default_factory=dict)
    arrange: tuple[Arrange, ...] = ()
    called: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda function: function


def point(row: Row, sample: Any) -> Point:
    """The sample as a point of the spec."""
    positional = dict(zip(row.arguments, (sample.input, *sample.args), strict=False))
    given: Arguments = {**row.arguments, **positional, **sample.kwargs}
    for change in row.arrange:
        change(given)
    wanted = row.inputs.split()
    for name in wanted:
        if not isinstance(given.get(name), Tensor):
            raise SkipError(f"no {name}")
    for name, value in given.items():
        free = name in (*wanted, *row.constants.values()) or row.arguments.get(name) is NEEDED
        if not free and not _equal(value, row.arguments.get(name)):
            raise SkipError(f"{name} = {_shown(value)}")
    constants = {c: _number(given[a], a) for c, a in row.constants.items()}
    function = row.called(functools.reduce(getattr, row.op.split("."), torch))
    rest = {n: v for n, v in given.items() if n not in wanted and n in row.arguments}

    def original(*inputs: Tensor) -> Any:
        return function(**dict(zip(wanted, inputs, strict=True)), **rest)

    return Point(tuple(given[n] for n in wanted), constants, original)


def _equal(value: Any, default: Any) -> bool:
    if isinstance(value, Tensor) or isinstance(default, Tensor):
        return value is default
    return bool(plain(value) == plain(default))


def plain(value: Any) -> Any:
    """2 for ``(2, 2)``, as windows and strides have it."""
    if isinstance(value, tuple | list) and value and len(set(value)) == 1:
        return value[0]
    return value


def _number(value: Any, name: str) -> str:
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SkipError(f"{name} = {_shown(value)}")
    return repr(value)


def _shown(value: Any) -> str:
    return "a tensor" if isinstance(value, Tensor) else f"{value:.3g}" if isinstance(value, float) else str(value)


# --- arrangements


def at_least_one_axis(*names: str) -> Arrange:
    """A scalar becomes a vector of one entry."""

    def change(given: Arguments) -> None:
        for name in names:
            if isinstance(given[name], Tensor) and not given[name].dim():
                given[name] = given[name].reshape(1)

    return change


def last_axis(*names: str, default: int | None = None) -> Arrange:
    """The axes ``dim`` are moved to the end and made one, ``keepdim`` is dropped: ``dim`` is -1. None are all.

    A scalar becomes a vector of one entry, shapes that are broadcast become one.
    """

    def change(given: Arguments) -> None:
        dims = default if given["dim"] is NEEDED else given["dim"]
        broadcast(*names)(given)
        at_least_one_axis(*names)(given)
        rank = given[names[0]].dim()
        chosen = tuple(range(rank)) if dims is None or dims == () else dims if isinstance(dims, Sequence) else (dims,)
        for name in names:
            x = given[name].movedim(chosen, tuple(range(-len(chosen), 0)))
            given[name] = x.flatten(-len(chosen)) if len(chosen) > 1 else x
        given["dim"] = -1
        if "keepdim" in given:
            given["keepdim"] = False
        if given.get("dtype") == given[names[0]].dtype:
            given["dtype"] = None

    return change


def broadcast(*names: str) -> Arrange:
    """Arguments that PyTorch broadcasts have the shape that they are broadcast to."""

    def change(given: Arguments) -> None:
        if all(isinstance(given[n], Tensor) for n in names):
            given.update(
                zip(names, (x.clone() for x in torch.broadcast_tensors(*(given[n] for n in names))), strict=True)
            )

    return change


def no_indices(given: Arguments) -> None:
    """The values of a pooling are the same without the places that they are from."""
    given["return_indices"] = False


def padded(value: float, axes: int) -> Arrange:
    """The padding of a pooling is part of the input: ``padding`` on both sides, and what ``ceil_mode`` adds behind."""

    def change(given: Arguments) -> None:
        kernel, stride, padding, dilation = (
            _each(given[n], axes) for n in ("kernel_size", "stride", "padding", "dilation")
        )
        sides: list[int] = []
        for axis in range(axes):
            length, p = given["input"].shape[axis - axes], padding[axis]
            over = length + 2 * p - dilation[axis] * (kernel[axis] - 1) - 1
            more = -over % stride[axis] if given["ceil_mode"] else 0
            if (over + more) // stride[axis] * stride[axis] >= length + p:
                more = 0  # a window begins in the input or in the padding before it
            sides = [p, p + more, *sides]
        if any(sides):
            given["input"] = torch.nn.functional.pad(given["input"], sides, value=value)
        given["padding"], given["ceil_mode"] = 0, False

    return change


def _each(value: Any, count: int) -> tuple[int, ...]:
    """One number for each axis."""
    return tuple(value) if isinstance(value, tuple | list) and len(value) > 1 else (plain(value),) * count


def plain_padding(given: Arguments) -> None:
    """``valid`` is no padding, ``same`` as much on each side as keeps the length, where the sides are alike."""
    if given["padding"] == "valid":
        given["padding"] = 0
    elif given["padding"] == "same":
        sizes = given["weight"].shape[2:]
        totals = {d * (n - 1) for d, n in zip(_each(given["dilation"], len(sizes)), sizes, strict=True)}
        if len(totals) > 1 or (total := totals.pop()) % 2:
            raise SkipError("padding that differs between sides or axes")
        given["padding"] = total // 2


def averaged(own: str, over: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A loss that the spec reduces as ``own`` does, in a sample that reduces it in any way, or not at all.

    What is added up is the same, and is divided by the number of entries of the argument ``over``, or by that of its
    rows for ``batchmean``.
    """

    def called(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(reduction: Any, **given: Any) -> Tensor:
            reduction = own if reduction is NEEDED else reduction
            result = function(reduction=reduction, **given)
            counts = {"mean": given[over].numel(), "batchmean": len(given[over]), "sum": 1, "none": 1}
            total = result.sum() if reduction == "none" else result
            return result if reduction == own else total * counts[reduction] / counts[own]

        return call

    return called


def in_groups(function: Callable[..., Any]) -> Callable[..., Any]:
    """A convolution of input and weight with an axis of groups."""

    def call(input: Tensor, weight: Tensor, groups: int, **rest: Any) -> Tensor:
        result = function(input=input.flatten(1, 2), weight=weight.flatten(0, 1), groups=groups, **rest)
        return result.unflatten(1, (groups, -1))

    return call


def split_groups(given: Arguments) -> None:
    """Input and weight get an axis of groups."""
    given["input"] = given["input"].unflatten(1, (given["groups"], -1))
    given["weight"] = given["weight"].unflatten(0, (given["groups"], -1))


def rows(*names: str) -> Arrange:
    """All axes but the last are made one."""

    def change(given: Arguments) -> None:
        for name in names:
            x = given[name]
            given[name] = x.flatten(0, -2) if x.dim() > 1 else x[None]

    return change


def pairs(*names: str) -> Arrange:
    """Two axes, of entries that all count alike: the first, and all others as one."""

    def change(given: Arguments) -> None:
        broadcast(*names)(given)
        for name in names:
            x = given[name]
            given[name] = x[:, None] if x.dim() == 1 else x.flatten(1) if x.dim() else x.reshape(1, 1)

    return change


def one_axis(*names: str) -> Arrange:
    """One axis, of entries that all count alike."""

    def change(given: Arguments) -> None:
        broadcast(*names)(given)
        for name in names:
            given[name] = given[name].reshape(-1)

    return change


def ones(name: str, like: str, axis: int) -> Arrange:
    """A weight that is missing is 1, which PyTorch's op takes, too."""
    return _filled(name, like, axis, 1.0)


def zeros(name: str, like: str, axis: int) -> Arrange:
    """A bias that is missing is 0."""
    return _filled(name, like, axis, 0.0)


def _filled(name: str, like: str, axis: int, value: float) -> Arrange:
    def change(given: Arguments) -> None:
        if given[name] is None and given[like].dim() > axis:
            given[name] = given[like].new_full((given[like].shape[axis],), value)

    return change


def default(name: str, value: Any) -> Arrange:
    """What the argument is where it is None: a number, or another argument."""

    def change(given: Arguments) -> None:
        if given[name] is None or given[name] == ():
            given[name] = given[value] if isinstance(value, str) and value in given else value

    return change


def normalised(given: Arguments) -> None:
    """The axes that are normalised are made one."""
    count = len(given["normalized_shape"])
    for name in ("input", "weight", "bias"):
        if isinstance(given.get(name), Tensor):
            given[name] = given[name].flatten(-count)
    given["normalized_shape"] = given["input"].shape[-1:]


def first_of_batch(*names: str) -> Arrange:
    """The first matrix of each batch."""

    def change(given: Arguments) -> None:
        for name in names:
            x = given[name]
            if 0 in x.shape[:-2]:
                raise SkipError("an empty batch")
            given[name] = x.flatten(0, -3)[0] if x.dim() > 2 else x

    return change


def unbatched(*names: str, rank: int) -> Arrange:
    """A batch of one, where there is none."""

    def change(given: Arguments) -> None:
        for name in names:
            if given[name].dim() == rank - 1:
                given[name] = given[name][None]

    return change
