"""What can go wrong with an op, each by running it: numbers and PyTorch's own words, no judgement."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from symderive.check import sizes as sizing
from symderive.check.devices import DTYPES, to_numpy
from symderive.check.ops import OpError, run
from symderive.check.prepare import prepare
from symderive.errors import SymderiveError
from symderive.report.lab.data import Accumulated, Factor, InPlace, Mistake, NotScalar, Overflowed, Transposed
from symderive.report.lab.errors import Bench, most, overflowing
from symderive.report.lab.mutate import without_constant
from symderive.spec.format import to_text
from symderive.spec.write import equation_statement

SCALES = (1.0, 10.0, 100.0, 1e3, 1e4)
"""What the inputs are multiplied by until the forward overflows."""

PASSES = 2


def mistakes(bench: Bench) -> Iterator[Mistake]:
    """Every mistake that can be made with this op."""
    for find in (_overflow, _transposed, _factor, _accumulated, _in_place, _not_scalar):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield from find(bench)


def _overflow(bench: Bench, dtype: str = "float16") -> Iterator[Overflowed]:
    """The first scale of the inputs at which an output is finite in float64 and not in float16."""
    last: Overflowed | None = None
    for scale in SCALES:
        try:
            last = _overflow_at(bench, dtype, scale)
        except (OpError, SymderiveError, RuntimeError):
            continue
        if last.lost:
            break
    if last is not None:
        yield last


def _overflow_at(bench: Bench, dtype: str, scale: float) -> Overflowed:
    case = bench.case(0, dtype)
    inputs, upstreams = bench.tensors(case, dtype)
    free = [i.name for i in bench.subject.spec.inputs if i.is_real and not i.assume and i.range is None]
    names = [i.name for i in bench.subject.spec.inputs]
    inputs = [x * scale if n in free else x for n, x in zip(names, inputs, strict=True)]
    with torch.no_grad():
        got = run(bench.subject.op, inputs, upstreams)
        true = run(bench.subject.op, _as_double(inputs), _as_double(upstreams))
    lost = tuple(n for n in overflowing(got.outputs, true.outputs))
    finite = all(bool(torch.isfinite(g).all()) for g in got.gradients.values())
    size = max((float(true.outputs[n].abs().max()) for n in lost), default=0.0)
    off = max((_off(got.gradients[n], true.gradients[n]) for n in got.gradients), default=0.0)
    return Overflowed(dtype, scale, lost, size, torch.finfo(DTYPES[dtype]).max, finite, off)


def _as_double(tensors: Sequence[Tensor]) -> list[Tensor]:
    return [t.double() if t.is_floating_point() else t for t in tensors]


def _off(got: Tensor, true: Tensor) -> float:
    return most(to_numpy(got).astype(np.float64), to_numpy(true).astype(np.float64))


def _transposed(bench: Bench) -> Iterator[Transposed]:
    """Each differentiated matrix passed as its transpose, at the sizes of the report and where all sizes are equal."""
    spec = bench.subject.spec
    square = sizing.square(spec)
    for name in spec.wrt:
        shape = bench.shape(name)
        if len(shape) != 2 or len(spec.shapes[name]) != 2 or shape[0] == shape[1]:
            continue
        message, off, _ = _with_transpose(bench, name)
        found = Transposed(name, shape, message, off)
        equal = None if square is None else Bench(bench.subject, square, bench.seed)
        if square is not None and equal is not None and _runs(equal):
            message, off, gradient = _with_transpose(equal, name)
            side = next(n for n in square.values() if isinstance(n, int))
            found = replace(found, square=side, square_message=message, square_off=off, gradient_off=gradient)
        yield found


def _runs(bench: Bench) -> bool:
    """Whether the op can be run at these sizes at all."""
    try:
        bench.reference(bench.tensors(bench.case(0, "float64"), "float64")[0])
    except (OpError, SymderiveError, RuntimeError, ValueError, IndexError):
        return False
    return True


def _with_transpose(bench: Bench, name: str) -> tuple[str, float | None, float | None]:
    """PyTorch's error; or by what part of the largest entry an output, and the gradient transposed, come out wrong."""
    inputs, upstreams = bench.tensors(bench.case(0, "float64"), "float64")
    position = [i.name for i in bench.subject.spec.inputs].index(name)
    turned = [x.T if n == position else x for n, x in enumerate(inputs)]
    right = bench.reference(inputs)
    try:
        wrong = bench.reference(turned)
        off = max(_part(b, a) for a, b in zip(right, wrong, strict=True) if a.is_floating_point())
    except (OpError, SymderiveError, RuntimeError, ValueError, IndexError) as error:
        return _first_line(error), None, None
    gradient = run(bench.subject.op, inputs, upstreams).gradients[f"d{name}"]
    return "", off, _part(gradient.T, gradient) if gradient.shape == gradient.T.shape else None


def _part(got: Tensor, true: Tensor) -> float:
    """The largest difference as a part of the largest entry; infinite where the shapes differ."""
    if got.shape != true.shape:
        return float("inf")
    top = float(true.detach().abs().max()) if true.numel() else 0.0
    return _off(got, true) / top if top else 0.0


def _first_line(error: BaseException) -> str:
    """What PyTorch said; what the interpreter of references adds about the place is left out."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else type(cause).__name__


def _factor(bench: Bench) -> Iterator[Factor]:
    """The first constant factor of the forward left out, and what becomes of every gradient."""
    spec = bench.subject.spec
    changed = without_constant(spec)
    if changed is None:
        return
    position, mutated = changed
    try:
        other = Bench(prepare(mutated), bench.sizes, bench.seed)
    except SymderiveError:
        return
    inputs, upstreams = bench.tensors(bench.case(0, "float64"), "float64")
    with torch.no_grad():
        true = run(bench.subject.op, inputs, upstreams).gradients
        wrong = run(other.subject.op, inputs, upstreams).gradients
    texts = [to_text(equation_statement(s.equations[position])) for s in (spec, mutated)]
    yield Factor(texts[0], texts[1], {n: ratio(wrong[n], true[n]) for n in true})


def ratio(got: Tensor, true: Tensor) -> float | None:
    """The number that ``got`` is times ``true``; None where there is no such number."""
    a, b = to_numpy(got).astype(np.float64).ravel(), to_numpy(true).astype(np.float64).ravel()
    if not a.size or not np.isfinite(a).all() or not np.isfinite(b).all() or not (b @ b):
        return None
    found = float(a @ b / (b @ b))
    return found if np.max(np.abs(a - found * b)) <= 1e-9 * np.max(np.abs(a)) + 1e-300 else None


def _accumulated(bench: Bench) -> Iterator[Accumulated]:
    """``.grad`` after two backward passes that nothing cleared in between."""
    inputs, upstreams = bench.tensors(bench.case(0, "float64"), "float64")
    leaves = bench.leaves(inputs)
    true = {}
    for n in range(PASSES):
        outputs = [o for o in bench.reference(leaves) if o.requires_grad]
        if not outputs:
            return
        torch.autograd.backward(outputs, [u for u, _ in zip(upstreams, outputs, strict=True)])
        grads = {f"d{name}": x.grad for name, x in zip(bench.subject.spec.wrt, _ordered(bench, leaves), strict=True)}
        if n == 0:
            true = {name: g.clone() for name, g in grads.items() if g is not None}
    yield Accumulated(PASSES, {name: ratio(g, true[name]) for name, g in grads.items() if g is not None})


def _ordered(bench: Bench, leaves: Sequence[Tensor]) -> list[Tensor]:
    """The differentiated leaves in the order of ``wrt``."""
    position = {i.name: n for n, i in enumerate(bench.subject.spec.inputs)}
    return [leaves[position[n]] for n in bench.subject.spec.wrt]


def _in_place(bench: Bench) -> Iterator[InPlace]:
    """The first input that the derived backward reads, changed in place between forward and backward."""
    from symderive.report.lab.graph import derived_kept

    inputs, upstreams = bench.tensors(bench.case(0, "float64"), "float64")
    names = [i.name for i in bench.subject.spec.inputs]
    kept = [k.name for k in derived_kept(bench, inputs) if k.given and k.name in bench.subject.spec.wrt]
    for name in kept:
        position = names.index(name)
        message = _autograd_in_place(bench, inputs, upstreams, position)
        true = run(bench.subject.op, inputs, upstreams).gradients
        changed = [x.clone() for x in inputs]
        with torch.no_grad():
            _, saved = bench.subject.op.forward(*changed)
            changed[position].mul_(2)
            got = dict(zip(true, bench.subject.op.backward(saved, *upstreams), strict=True))
        off = {n: _off(got[n], true[n]) for n in true}
        worst = max(off, key=off.__getitem__)
        if message or off[worst]:
            yield InPlace(name, message, off[worst], float(true[worst].abs().max()))
            return


def _autograd_in_place(bench: Bench, inputs: Sequence[Tensor], upstreams: Sequence[Tensor], position: int) -> str:
    leaves = bench.leaves([x.clone() for x in inputs])
    outputs = [o for o in bench.reference(leaves) if o.requires_grad]
    with torch.no_grad():
        leaves[position].mul_(2)
    try:
        torch.autograd.backward(outputs, list(upstreams)[: len(outputs)])
    except RuntimeError as error:
        return _first_line(error)
    return ""


def _not_scalar(bench: Bench) -> Iterator[NotScalar]:
    """``backward()`` of an output that is no scalar."""
    if bench.scalar:
        return
    inputs, _ = bench.tensors(bench.case(0, "float64"), "float64")
    outputs = bench.reference(bench.leaves(inputs))
    for name, output in zip(bench.subject.spec.outputs, outputs, strict=True):
        if output.requires_grad and output.numel() != 1:
            try:
                output.backward()
            except RuntimeError as error:
                yield NotScalar(name, _first_line(error))
            return


__all__ = ["mistakes", "ratio"]
