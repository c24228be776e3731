"""softmax: Softmax over the last axis.

Forward:

    y[..., j] = softmax[j](z[..., j])

Backward, from dy:

    dz[..., j] = y[..., j] * (dy[..., j] - sum[i](dy[..., i] * y[..., i]))

Tangents (forward mode), from z_t:

    y_t[..., j] = y[..., j] * (z_t[..., j] - sum[i](y[..., i] * z_t[..., i]))

torch.compile finds graphs on disk by the op's name, whatever its backward has become: after a
change of the formulas, run once with TORCHINDUCTOR_AUTOGRAD_CACHE=0.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

INPUTS = ("z",)
OUTPUTS = ("y",)
WRT = ("z",)


def _forward(z: Tensor) -> Tensor:
    """y of z.

    z [..., C] -> y [..., C]
    """
    # y[..., j] = softmax[j](z[..., j])
    y = torch.softmax(z, -1)  # [..., C]
    return y


def _backward(y: Tensor, dy: Tensor) -> Tensor:
    """dz from dy and what was saved.

    y [..., C], dy [..., C] -> dz [..., C]
    """
    # dz[..., j] = y[..., j] * (dy[..., j] - sum[i](dy[..., i] * y[..., i]))
    product = dy * y  # [..., C]
    dz = torch.addcmul(product, y, product.sum(-1, keepdim=True), value=-1)  # [..., C]
    return dz


def _tangents(y: Tensor, z_t: Tensor) -> Tensor:
    """How y_t moves with the inputs.

    y [..., C], z_t [..., C] -> y_t [..., C]
    """
    # y_t[..., j] = y[..., j] * (z_t[..., j] - sum[i](y[..., i] * z_t[..., i]))
    product = y * z_t  # [..., C]
    y_t = torch.addcmul(product, y, product.sum(-1, keepdim=True), value=-1)  # [..., C]
    return y_t


def _second_backward(
    needs_grad_y: bool,
    needs_y: bool,
    y: Tensor,
    grad_y: Tensor,
    dgrad_z: Tensor,
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of ``_backward``, whose result is called grad_z here.

    y [..., C], grad_y [..., C], dgrad_z [..., C] -> dgrad_y [..., C], dy [..., C]
    """
    dgrad_y = dy = None
    # dgrad_y[..., j] = y[..., j] * (dgrad_z[..., j] - sum[i](dgrad_z[..., i] * y[..., i]))
    total = (dgrad_z * y).sum(-1, keepdim=True)  # [..., 1]
    if needs_grad_y:
        dgrad_y = y * (dgrad_z - total)  # [..., C]
    if needs_y:
        # dy[..., j] = dgrad_z[..., j] * (grad_y[..., j] - sum[i](grad_y[..., i] * y[..., i])) -
        #     grad_y[..., j] * sum[i](dgrad_z[..., i] * y[..., i])
        total2 = (grad_y * y).sum(-1, keepdim=True)  # [..., 1]
        dy = torch.addcmul(dgrad_z * (grad_y - total2), grad_y, total, value=-1)  # [..., C]
    return dgrad_y, dy


def _backward_tangents(
    y: Tensor,
    grad_y: Tensor,
    grad_y_t: Tensor | None,
    y_t: Tensor | None,
) -> Tensor:
    """How grad_z_t moves with what ``_backward`` reads.

    y [..., C], grad_y [..., C], grad_y_t [..., C], y_t [..., C] -> grad_z_t [..., C]
    """
    *batch, C = y.shape
    if grad_y_t is None:
        grad_y_t = y.new_zeros(*batch, C)
    if y_t is None:
        y_t = y.new_zeros(*batch, C)
    # grad_z_t[..., j] = y_t[..., j] * (grad_y[..., j] - sum[i](grad_y[..., i] * y[..., i])) +
    #     y[..., j] * (grad_y_t[..., j] - sum[i](grad_y[..., i] * y_t[..., i]) -
    #     sum[i](grad_y_t[..., i] * y[..., i]))
    difference = grad_y_t - ((grad_y * y_t).sum(-1) + (grad_y_t * y).sum(-1))[..., None]  # [..., C]
    # [..., C]
    grad_z_t = torch.addcmul(y_t * (grad_y - (grad_y * y).sum(-1, keepdim=True)), y, difference)
    return grad_z_t


def _autocasts(device: str) -> bool:
    """Whether autocast is on; some devices have none, as meta."""
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def _without_autocast(method: Callable[..., Any]) -> Callable[..., Any]:
    """Runs a method outside autocast: its tensors have the dtype that they should have already."""

    @functools.wraps(method)
    def run(*args: Any) -> Any:
        device = next((a.device.type for a in args if isinstance(a, Tensor)), "cpu")
        if not _autocasts(device):
            return method(*args)
        with torch.autocast(device, enabled=False):
            return method(*args)

    return run


def _refuse_forward_over_forward() -> None:
    """Raises in forward over forward mode: a Function's jvp would lose the outer tangents."""
    levels = torch._C._functorch.get_interpreter_stack() or ()
    forward = [x for x in levels if x.key() == torch._C._functorch.TransformType.Jvp]
    if forward[1:]:
        raise RuntimeError(
            "softmax does not support forward mode over forward mode; "
            "take torch.func.hessian (forward over reverse) or jacrev over jacfwd instead"
        )


def _apply(*inputs: Tensor) -> Any:
    """``Softmax``, for all but compiled code."""
    return Softmax.apply(*inputs)


def _inside_transform() -> bool:
    """Whether a transform of torch.func is at work.

    Then a compiled graph takes ``_apply`` as a whole: taken apart, the Function loses its backward.
    """
    if torch._C._functorch.maybe_current_level() is None:
        return False
    torch._dynamo.allow_in_graph(_apply)
    return True


# as torch.compiler.assume_constant_result says it, whose import takes seconds
_inside_transform._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _is_compiled() -> bool:
    """Whether torch.compile or torch.export traces this call, not inside of a transform."""
    return torch.compiler.is_compiling() and not _inside_transform()


def _cast(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors, under autocast at least in float32, as losses and norms take them."""
    device = tensors[0].device.type
    if not _autocasts(device):
        return tensors
    narrow = (torch.float16, torch.bfloat16)
    return tuple(t.float() if t.dtype in narrow else t for t in tensors)


class SoftmaxBackward(torch.autograd.Function):
    """The backward as an op of its own, whose derivative is derived, too."""

    generate_vmap_rule = True

    @staticmethod
    @_without_autocast
    def forward(y: Tensor, dy: Tensor) -> Any:
        return _backward(y, dy)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.set_materialize_grads(False)
        y, grad_y = inputs
        ctx.save_for_backward(y, grad_y)
        ctx.save_for_forward(y, grad_y)

    @staticmethod
    @_without_autocast
    def backward(ctx: Any, dgrad_z: Tensor | None) -> Any:
        if dgrad_z is None:
            return None, None
        needs_y, needs_grad_y = ctx.needs_input_grad
        y, grad_y = ctx.saved_tensors
        dgrad_y, dy = _second_backward(needs_grad_y, needs_y, y, grad_y, dgrad_z)
        return dy, dgrad_y

    @staticmethod
    @_without_autocast
    def jvp(ctx: Any, y_t: Tensor | None, grad_y_t: Tensor | None) -> Any:
        _refuse_forward_over_forward()
        y, grad_y = ctx.saved_tensors
        return _backward_tangents(y, grad_y, grad_y_t, y_t)


_other = torch._library.custom_ops.OPDEFS.get("symderive::softmax")
_place = __name__ if _other is None else _other._init_fn.__module__
if _place != __name__:
    raise RuntimeError(
        f"symderive::softmax is registered by the module {_place}, "
        "and would be overwritten: emit one of the two with another --namespace"
    )


@torch.library.custom_op(
    "symderive::softmax",
    mutates_args=(),
    schema="(Tensor z) -> Tensor",
)
def _op(z: Tensor) -> Tensor:
    """y: the op itself. Call ``softmax`` instead."""
    return _forward(z)


class Softmax(torch.autograd.Function):
    """y of z, differentiable."""

    generate_vmap_rule = True

    @staticmethod
    @_without_autocast
    def forward(z: Tensor) -> Any:
        # torch.func differentiates inside of vmap: there the formulas take the batch as a whole
        inputs = (z,)
        if any(map(torch._C._functorch.is_batchedtensor, inputs)):
            return _forward(z)
        return _op(z)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.set_materialize_grads(False)
        y = output
        ctx.save_for_backward(y)
        ctx.save_for_forward(y)

    @staticmethod
    @_without_autocast
    def backward(ctx: Any, dy: Tensor | None) -> Any:
        if dy is None:
            return None
        (y,) = ctx.saved_tensors
        dz = SoftmaxBackward.apply(y, dy)
        return dz

    @staticmethod
    @_without_autocast
    def jvp(ctx: Any, z_t: Tensor | None) -> Any:
        _refuse_forward_over_forward()
        (y,) = ctx.saved_tensors
        return _tangents(y, z_t)


@_op.register_fake
def _shapes(z: Tensor) -> Tensor:
    """What the op gives, without its values: the formulas say it."""
    return _forward(z)


@_op.register_vmap
def _batched(info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor) -> Any:
    """The op for a batch, which is one more of its leading axes."""
    size = info.batch_size
    pairs = zip(inputs, in_dims, strict=True)
    whole = (x.expand(size, *x.shape) if d is None else x.movedim(d, 0) for x, d in pairs)
    return _op(*whole), 0


_op.register_autograd(Softmax.backward, setup_context=Softmax.setup_context)
_autograd = torch._library.autograd.make_autograd_impl(_op._opoverload, _op)


def _without_forward_mode(keyset: Any, *inputs: Tensor) -> Any:
    """Raises in forward mode, where an op of torch.library would lose the tangents."""
    forward_ad = torch.autograd.forward_ad
    if forward_ad._is_fwd_grad_enabled() and any(
        forward_ad.unpack_dual(x).tangent is not None for x in inputs
    ):
        raise RuntimeError(
            "symderive::softmax has no forward mode: call the function softmax instead"
        )
    return _autograd(keyset, *inputs)


_library = torch.library.Library("symderive", "FRAGMENT")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch says that this overrides a kernel: it should
    _library.impl(
        "softmax", _without_forward_mode, "Autograd", with_keyset=True, allow_override=True
    )


def softmax(z: Tensor) -> Tensor:
    """Softmax over the last axis.

    z [..., C] -> y [..., C]

        y[..., j] = softmax[j](z[..., j])
    """
    (z,) = _cast(z)
    if _is_compiled():
        return _op(z)
    return _apply(z)


def _verify() -> None:
    """Holds first and second derivatives, in reverse and in forward mode, against finite
    differences.
    """
    torch.manual_seed(0)
    inputs = (
        torch.randn(3, 2, dtype=torch.float64, requires_grad=True),  # z
    )
    torch.autograd.gradcheck(softmax, inputs, check_forward_ad=True)
    torch.autograd.gradgradcheck(softmax, inputs, check_fwd_over_rev=True)
    torch.library.opcheck(_op, tuple(x.detach() for x in inputs))
    torch.library.opcheck(_op, inputs)
    print("first and second derivatives of softmax agree with differences")


if __name__ == "__main__":
    _verify()
