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
    """

    op: str
    arguments: Mapping[str, Any]
    inputs: str = "input"
    constants: Mapping[str, str] = field(default_factory=dict)
    arrange: tuple[Arrange, ...] = ()


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
    function = functools.reduce(getattr, row.op.split("."), torch)
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
    """The axes ``dim`` are moved to the end and made one, ``keepdim`` is dropped: ``dim`` is -1. None are all."""

    def change(given: Arguments) -> None:
        dims = default if given["dim"] is NEEDED else given["dim"]
        ranks = {given[n].dim() for n in names}
        if len(ranks) > 1 or len({given[n].shape for n in names}) > 1:
            raise SkipError("shapes that are broadcast")
        rank = ranks.pop()
        if not rank:
            raise SkipError("a scalar, which has no axis")
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
        if len({given[n].shape for n in names}) > 1:
            raise SkipError("shapes that are broadcast")
        for name in names:
            x = given[name]
            given[name] = x[:, None] if x.dim() == 1 else x.flatten(1) if x.dim() else x.reshape(1, 1)

    return change


def one_axis(*names: str) -> Arrange:
    """One axis, of entries that all count alike."""

    def change(given: Arguments) -> None:
        if len({given[n].shape for n in names}) > 1:
            raise SkipError("shapes that are broadcast")
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
            given[name] = x.reshape(-1, *x.shape[-2:])[0]

    return change


def unbatched(*names: str, rank: int) -> Arrange:
    """A batch of one, where there is none."""

    def change(given: Arguments) -> None:
        for name in names:
            if given[name].dim() == rank - 1:
                given[name] = given[name][None]

    return change
