"""What a lab measures, as frozen data: a report says nothing that does not follow from these numbers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from symderive.record import record

Sizes = Mapping[str, "int | tuple[int, ...]"]


@record
class ErrorRow:
    """One gradient in one run: how far the derived code is from autograd and from float64 of the same inputs.

    ``autograd`` is the largest error against autograd of the same dtype, None where PyTorch has no kernel for that
    dtype. ``relative`` is the largest quotient of an error against float64 and the true entry. ``bound`` is what the
    error analysis allows against float64. ``overflow`` names the tensors that are finite in float64 and not in this
    dtype, the gradient itself among them where it is one.
    """

    run: int
    gradient: str
    dtype: str
    device: str
    autograd: float | None
    float64: float
    relative: float
    bound: float
    overflow: tuple[str, ...] = ()


@record
class Summary:
    """One gradient in one dtype over all runs."""

    gradient: str
    dtype: str
    device: str
    runs: int
    autograd: tuple[float, float] | None
    float64: tuple[float, float]
    relative: float
    bound: float
    overflow: tuple[str, ...]

    @property
    def finite(self) -> bool:
        """Whether the gradient stayed finite in every run."""
        return self.gradient not in self.overflow and math.isfinite(self.float64[1])

    @property
    def exact(self) -> bool:
        """Whether it is autograd's to the last bit in every run."""
        return self.autograd is not None and self.autograd[1] == 0


def summaries(rows: Iterable[ErrorRow]) -> list[Summary]:
    """Median and maximum over the runs, for each device, dtype and gradient, in the order of the rows."""
    groups: dict[tuple[str, str, str], list[ErrorRow]] = {}
    for row in rows:
        groups.setdefault((row.device, row.dtype, row.gradient), []).append(row)
    return [_summary(group) for group in groups.values()]


def _summary(rows: Sequence[ErrorRow]) -> Summary:
    first = rows[0]
    same = [r.autograd for r in rows if r.autograd is not None]
    return Summary(
        first.gradient,
        first.dtype,
        first.device,
        len(rows),
        _middle_and_most(same) if len(same) == len(rows) else None,
        _middle_and_most([r.float64 for r in rows]),
        largest(r.relative for r in rows),
        largest(r.bound for r in rows),
        tuple(dict.fromkeys(name for r in rows for name in r.overflow)),
    )


def _middle_and_most(values: Sequence[float]) -> tuple[float, float]:
    known = [math.inf if math.isnan(v) else v for v in values]
    return statistics.median(known), largest(values)


def largest(values: Iterable[float]) -> float:
    """The maximum, NaN if one is."""
    known = list(values)
    return math.nan if any(math.isnan(v) for v in known) else max(known, default=0.0)


@record
class Kernels:
    """The operators that each of the two backward passes ran, in order."""

    autograd: tuple[str, ...]
    derived: tuple[str, ...]

    @property
    def shared(self) -> tuple[str, ...]:
        """The operators that both ran, each once."""
        return tuple(dict.fromkeys(k for k in self.derived if k in self.autograd))


@record
class Orders:
    """One gradient in float32 summed in two orders, at some of its entries.

    ``array`` is the error of the array form, ``sequential`` that of the index form summed from left to right with
    every operation rounded to float32, both against float64; ``apart`` is how far the two are from each other.
    ``terms`` is how many terms the longest sum has that the gradient depends on.
    """

    gradient: str
    entries: int
    total: int
    terms: int
    array: float
    sequential: float
    apart: float


@record
class Kept:
    """A tensor that is kept for the backward; ``name`` is the tensor of the spec that it is, if it is one.

    ``given`` tells an input, which is there anyway; ``shared`` that its storage is counted elsewhere already.
    """

    attribute: str
    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    given: bool = False
    shared: bool = False


@record
class Node:
    """One node of the autograd graph. ``leaf`` is the input whose ``.grad`` it adds to; ``inputs`` are positions.

    ``equations`` are the tensors of the spec to whose equations it belongs: one where it stands between two of them,
    several where PyTorch computes them in one go. ``computes`` is the tensor that its value is, if it is one.
    """

    kind: str
    inputs: tuple[int, ...] = ()
    leaf: str = ""
    equations: tuple[str, ...] = ()
    computes: str = ""
    kept: tuple[Kept, ...] = ()


@record
class Graph:
    """What PyTorch recorded: nodes, the node of each output, what was differentiated and at which sizes."""

    nodes: tuple[Node, ...]
    roots: Mapping[str, int]
    of_reference: bool
    sizes: Sizes
    dtype: str
    calls: tuple[str, ...] = ()
    """The functions that the reference calls, ``linear`` or ``T``."""

    @property
    def kept(self) -> tuple[Kept, ...]:
        """All that is kept, in the order of the nodes."""
        return tuple(k for n in self.nodes for k in n.kept)


def kept_bytes(kept: Iterable[Kept]) -> int:
    """The bytes of what is kept, each storage once."""
    return sum(k.bytes for k in kept if not k.shared)


def extra_bytes(kept: Iterable[Kept]) -> int:
    """The bytes of what is kept besides the inputs, each storage once."""
    return sum(k.bytes for k in kept if not k.shared and not k.given)


@record
class Memory:
    """Bytes of tensors alive at once besides the inputs: at most, in the forward and in the whole step."""

    forward_recording: int
    forward_no_grad: int
    step_autograd: int
    step_derived: int


@record
class Overflowed:
    """The forward in a low precision. ``scale`` is what the inputs were multiplied by; ``lost`` is what is not finite.

    ``largest`` is the largest value of what was lost, in float64; ``limit`` the largest finite number of the dtype;
    ``off`` the largest error of the gradients. Where nothing overflowed, ``scale`` is the last tried.
    """

    dtype: str
    scale: float
    lost: tuple[str, ...]
    largest: float
    limit: float
    gradients_finite: bool
    off: float


@record
class Transposed:
    """A matrix passed as its transpose: the error that PyTorch raised, or how far the outputs and gradients came out.

    ``square`` is the extent at which all sizes are equal, where nothing can notice; ``square_off`` is then the largest
    difference of the output as a part of the largest entry; None where it was not run.
    """

    tensor: str
    shape: tuple[int, ...]
    message: str
    off: float | None
    square: int | None = None
    square_message: str = ""
    square_off: float | None = None
    gradient_off: float | None = None


@record
class Factor:
    """A constant left out of the forward, and each gradient as a multiple of the true one, None where it is none."""

    equation: str
    without: str
    ratios: Mapping[str, float | None]


@record
class Accumulated:
    """``.grad`` after several backward passes without clearing it, as a multiple of one gradient."""

    passes: int
    ratios: Mapping[str, float | None]


@record
class InPlace:
    """A kept tensor changed between forward and backward: what autograd said, and how far the derived code is off."""

    tensor: str
    message: str
    off: float
    of: float


@record
class NotScalar:
    """``backward()`` without an upstream, on an output that is no scalar: what PyTorch said."""

    output: str
    message: str


Mistake = Overflowed | Transposed | Factor | Accumulated | InPlace | NotScalar


@record
class Setting:
    """What was measured, and with what."""

    spec: str
    title: str
    path: str
    sizes: Sizes
    runs: int
    seed: int
    dtypes: tuple[str, ...]
    devices: tuple[str, ...]
    missing: Mapping[str, str] = field(default_factory=dict)
    scalar: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    time: str = ""


@record
class Lab:
    """Everything that was measured; ``kernels`` by dtype, on the CPU."""

    setting: Setting
    rows: tuple[ErrorRow, ...]
    kernels: Mapping[str, Kernels]
    orders: tuple[Orders, ...]
    graph: Graph
    derived: tuple[Kept, ...]
    memory: Memory
    mistakes: tuple[Mistake, ...]
    seconds: float = 0.0

    @property
    def summaries(self) -> list[Summary]:
        """Median and maximum of the errors."""
        return summaries(self.rows)
