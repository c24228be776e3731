"""How an op has to behave: under ``torch.func``, in batches, with odd inputs and upstreams, and under autocast.

Each function takes an emitted op and a point, and raises :class:`WrongError`, which says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from symderive.check.compare import compare
from symderive.check.devices import to_numpy
from symderive.check.ops_emitted import EmittedOp
from symderive.check.ops_point import Point, weights

Tensors = tuple[Tensor, ...]


class WrongError(AssertionError):
    """An op does not behave; the message says how."""


def in_short(error: Exception) -> str:
    """What an exception says, on one line that can be read."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines)[:400]


def require(condition: bool, otherwise: str) -> None:
    """Raises where the condition does not hold."""
    if not condition:
        raise WrongError(otherwise)


@dataclass
class Compared:
    """How many comparisons a check has made, and those of which nothing can be said of any entry."""

    count: int = 0
    undecided: list[str] = field(default_factory=list)


_compared: ContextVar[Compared] = ContextVar("_compared")


@contextmanager
def comparing() -> Iterator[Compared]:
    """Inside, comparisons are counted; outside, one of which nothing can be said is wrong."""
    token = _compared.set(found := Compared())
    try:
        yield found
    finally:
        _compared.reset(token)


def same(what: str, got: Any, wanted: Any, allowed: Any) -> None:
    """The tensors of two results are no more apart than the errors ``allowed`` of either, an array for each."""
    first, second, bounds = tree_leaves(got), tree_leaves(wanted), list(allowed)
    require(len(first) == len(second) == len(bounds), f"{what}: {len(first)} results for {len(second)}")
    told = _compared.get(None)
    for a, b, bound in zip(first, second, bounds, strict=True):
        if a is None and b is None:
            continue
        if a is None or b is None:
            raise WrongError(f"{what}: one result is missing")
        require(a.shape == b.shape, f"{what}: shape {list(a.shape)} for {list(b.shape)}")
        made = compare(to_numpy(a.detach()), to_numpy(b.detach()), 2 * bound)
        require(made.wrong == 0, f"{what}: off by {made.max_abs_error:.2g}, {made.bound:.2g} is allowed")
        require(told is not None or not made.undecided, f"{what}: nothing can be said of any entry")
        if told is not None:
            told.count += 1
            told.undecided += [what] if made.undecided else []


def strided(x: Tensor) -> Tensor:
    """The same values with gaps between them."""
    if not x.dim():
        return x
    room = x.new_zeros(*x.shape, 2)
    room[..., 0] = x
    return room[..., 0]


def turned(x: Tensor) -> Tensor:
    """The entries in reverse order along every axis, which keeps every assumption about the values."""
    return x.flip(*range(x.dim())) if x.dim() else x


def leaves(inputs: Sequence[Tensor], wrt: Sequence[int]) -> Tensors:
    """Fresh copies of which some record gradients."""
    return tuple(x.detach().clone().requires_grad_() if n in wrt else x for n, x in enumerate(inputs))


def gradients(op: EmittedOp, inputs: Sequence[Tensor], upstreams: Sequence[Any], wrt: Sequence[int]) -> list[Any]:
    """The gradients of the op's outputs by ``wrt``; outputs whose upstream is None do not take part."""
    given = leaves(inputs, wrt)
    pairs = [(o, u) for o, u in zip(op.outputs(*given), upstreams, strict=True) if u is not None and o.requires_grad]
    if not pairs:
        return [None for _ in wrt]
    outputs, ups = zip(*pairs, strict=True)
    return list(torch.autograd.grad(outputs, [given[n] for n in wrt], ups, allow_unused=True))


def scalar(op: EmittedOp) -> Callable[..., Tensor]:
    """A loss in which every entry of every output counts differently, and not linearly."""

    def loss(*inputs: Tensor) -> Tensor:
        total = inputs[0].new_zeros((), dtype=torch.float64)
        for o in op.outputs(*inputs):
            if o.is_floating_point():
                total = total + (weights(o) * o).sum() + (o * o).sum()
        return total

    return loss


def transforms(op: EmittedOp, point: Point) -> None:
    """``torch.func.grad``, ``jacrev`` and ``hessian`` agree with autograd; forward over forward raises."""
    inputs, wrt, loss, func, bounds = point.inputs, point.wrt, scalar(op), torch.func, point.bounds()
    given = leaves(inputs, wrt)
    wanted = torch.autograd.grad(loss(*given), [given[n] for n in wrt], create_graph=True, allow_unused=True)
    wanted = tuple(torch.zeros_like(given[n]) if g is None else g for n, g in zip(wrt, wanted, strict=True))
    same("torch.func.grad", func.grad(loss, wrt)(*inputs), wanted, bounds.of_loss())
    rows, columns = func.jacrev(op.outputs, wrt)(*inputs), func.jacfwd(op.outputs, wrt)(*inputs)
    same("jacrev against jacfwd", rows, columns, bounds.of_jacobians())
    over = func.jacrev(func.jacrev(loss, wrt), wrt)(*inputs)
    same("hessian", func.hessian(loss, wrt)(*inputs), over, bounds.of_hessian())
    try:
        func.jacfwd(func.jacfwd(loss, wrt), wrt)(*inputs)
    except RuntimeError as error:
        require("forward mode over forward mode" in str(error), f"forward over forward: {error}")
        return
    raise WrongError("forward mode over forward mode gives a result, which torch makes wrong")


def batches(op: EmittedOp, point: Point) -> None:
    """``vmap`` of the op and of its gradient against a loop, with all inputs batched and with one at a time."""
    inputs, wrt, loss = point.inputs, point.wrt, scalar(op)
    for batched in (tuple(range(len(inputs))), *((n,) for n in wrt)):
        entries = [
            tuple(turned(x) if k and n in batched and x.is_floating_point() else x for n, x in enumerate(inputs))
            for k in range(2)
        ]
        dims = tuple(0 if n in batched else None for n in range(len(inputs)))
        given = tuple(torch.stack([e[n] for e in entries]) if n in batched else x for n, x in enumerate(inputs))
        bounds = [point.bounds(e) for e in entries]
        allowed = {"outputs": [b.of_outputs() for b in bounds], "gradients": [b.of_loss() for b in bounds]}
        for what, f in (("outputs", op.outputs), ("gradients", torch.func.grad(loss, wrt))):
            rows = [tree_leaves(f(*e)) for e in entries]
            wanted = [torch.stack(column) for column in zip(*rows, strict=True)]
            errors = [np.stack(column) for column in zip(*allowed[what], strict=True)]
            same(f"vmap of {what}", tree_leaves(torch.vmap(f, dims)(*given)), wanted, errors)


def odd_upstreams(op: EmittedOp, point: Point) -> None:
    """Upstreams that are expanded, strided or zero, and outputs that do not reach the loss."""
    inputs, upstreams, wrt, bounds = point.inputs, point.upstreams, point.wrt, point.bounds()
    plain = gradients(op, inputs, upstreams, wrt)
    strides = [strided(u) for u in upstreams]
    same("strided upstreams", gradients(op, inputs, strides, wrt), plain, bounds.of_gradients(upstreams))
    for what in (lambda u: u.new_ones(()), lambda u: u[:1] if u.dim() else u):
        ups = [what(u).expand(u.shape) for u in upstreams]
        wanted = gradients(op, inputs, [u.clone(memory_format=torch.contiguous_format) for u in ups], wrt)
        same("expanded upstreams", gradients(op, inputs, ups, wrt), wanted, bounds.of_gradients(ups))
    for g in gradients(op, inputs, [torch.zeros_like(u) for u in upstreams], wrt):
        require(g is None or not g.any(), "upstreams of zeros give a gradient that is not zero")
    for n in range(len(upstreams)) if len(upstreams) > 1 else ():
        some = [None if k == n else u for k, u in enumerate(upstreams)]
        zeros = [torch.zeros_like(u) if k == n else u for k, u in enumerate(upstreams)]
        found = zip(wrt, gradients(op, inputs, some, wrt), strict=True)
        missing = [torch.zeros_like(inputs[w]) if g is None else g for w, g in found]
        wanted = gradients(op, inputs, zeros, wrt)
        same("an output that does not reach the loss", missing, wanted, bounds.of_gradients(zeros))


def odd_inputs(op: EmittedOp, point: Point) -> None:
    """Strided inputs give the same; inputs are left as they are; only what is asked for is given."""
    inputs, upstreams, wrt, bounds = point.inputs, point.upstreams, point.wrt, point.bounds()
    before = [x.clone() for x in inputs]
    with torch.no_grad():
        op.outputs(*inputs)
    plain = gradients(op, inputs, upstreams, wrt)
    require(all(torch.equal(a, b) for a, b in zip(before, inputs, strict=True)), "an input was modified")
    given = [strided(x).requires_grad_() if n in wrt else strided(x) for n, x in enumerate(inputs)]
    same("strided inputs", op.outputs(*given), op.outputs(*inputs), bounds.of_outputs())
    allowed = bounds.of_gradients(upstreams)
    for k, n in enumerate(wrt) if len(wrt) > 1 else ():
        same("one gradient by itself", gradients(op, inputs, upstreams, (n,)), [plain[k]], [allowed[k]])


def changed_in_place(op: EmittedOp, point: Point) -> None:
    """An input that is changed in place after it was saved is noticed."""
    inputs, wrt = point.inputs, point.wrt
    for n, x in enumerate(inputs):
        given = leaves(inputs, wrt)
        values = tuple(g.clone() if k == n else g for k, g in enumerate(given))
        outputs = [o for o in op.outputs(*values) if o.requires_grad]
        want = [given[w] for w in wrt if w != n]
        if not outputs or not want or not x.is_floating_point() or not x.numel():
            continue
        ones = [torch.ones_like(o) for o in outputs]
        true = torch.autograd.grad(outputs, want, ones, True, allow_unused=True)
        with torch.no_grad():
            values[n].mul_(2)
        try:
            now = torch.autograd.grad(outputs, want, ones, allow_unused=True)
        except RuntimeError as error:
            require("inplace operation" in str(error), str(error))
            continue
        errors = point.bounds().of_gradients([torch.ones_like(u) for u in point.upstreams])
        allowed = [e for w, e in zip(wrt, errors, strict=True) if w != n]
        same("gradients after an input was changed in place", now, true, allowed)


def twice(op: EmittedOp, point: Point) -> None:
    """With ``retain_graph`` the backward runs again and gives the same."""
    given = leaves(point.inputs, point.wrt)
    pairs = [(o, u) for o, u in zip(op.outputs(*given), point.upstreams, strict=True) if o.requires_grad]
    if pairs:
        outputs, ups = zip(*pairs, strict=True)
        want = [given[n] for n in point.wrt]
        first = torch.autograd.grad(outputs, want, ups, retain_graph=True, allow_unused=True)
        second = torch.autograd.grad(outputs, want, ups, retain_graph=True, allow_unused=True)
        same("the backward for the second time", second, first, point.bounds().of_gradients(point.upstreams))


def empty(op: EmittedOp, inputs: Tensors, wrt: tuple[int, ...]) -> None:
    """Inputs of which some have no entries have gradients of their shapes, and second derivatives, too."""
    given = leaves(inputs, wrt)
    want = [given[n] for n in wrt]
    outputs = [o for o in op.outputs(*given) if o.requires_grad]
    if not outputs:
        return
    ups = [torch.ones_like(o).requires_grad_() for o in outputs]
    first = torch.autograd.grad(outputs, want, ups, create_graph=True, allow_unused=True)
    for x, g in zip(want, first, strict=True):
        require(g is None or g.shape == x.shape, f"of nothing, a gradient of shape {g is not None and list(g.shape)}")
    moving = [g for g in first if g is not None and g.requires_grad]
    if moving:
        ones = [torch.ones_like(g) for g in moving]
        second = torch.autograd.grad(moving, [*want, *ups], ones, allow_unused=True)
        for x, s in zip([*want, *ups], second, strict=True):
            require(s is None or s.shape == x.shape, "of nothing, a second derivative of another shape")


def registered_forward_mode(op: EmittedOp, inputs: Tensors, wrt: tuple[int, ...]) -> None:
    """The registered op, which has no forward mode, says so: torch by itself would give zeros."""
    if op.op is None or not wrt:
        return
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, torch.ones_like(x)) if n in wrt else x for n, x in enumerate(inputs)]
        try:
            op.op(*duals)
        except RuntimeError as error:
            require("has no forward mode" in str(error), str(error))
            return
    raise WrongError("forward mode through the registered op gives a result, which torch makes zeros")


def under_autocast(op: EmittedOp, point: Point) -> None:
    """Under autocast, mixed inputs work, and gradients have the dtypes of the inputs they belong to."""
    inputs, wrt = point.inputs, point.wrt
    for dtype in (torch.bfloat16, torch.float16):
        narrow = [x.to(dtype if n % 2 else torch.float32) if x.is_floating_point() else x for n, x in enumerate(inputs)]
        given = leaves(narrow, wrt)
        with torch.autocast("cpu", dtype):
            outputs = [o for o in op.outputs(*given) if o.requires_grad]
        if not outputs:
            continue
        total = sum((o.float().square().sum() for o in outputs), torch.zeros(()))
        found = torch.autograd.grad(total, [given[n] for n in wrt], allow_unused=True)
        for n, g in zip(wrt, found, strict=True):
            require(g is None or g.dtype == given[n].dtype, f"under autocast a gradient is {g.dtype}")
        require(all(o.dtype in (dtype, torch.float32) for o in outputs), "under autocast an output is neither")


BEHAVIOURS = (odd_upstreams, odd_inputs, changed_in_place, twice, under_autocast)
"""What every op has to stand, whatever kind of op it is."""
