"""Convolutions and their two adjoints."""

from __future__ import annotations

from sympy import Expr, Integer, S

from symderive.errors import InternalError
from symderive.lower import shapes
from symderive.lower.node import Kind, Node, Ref
from symderive.lower.node_reduce import check_real
from symderive.lower.shapes import Shape, show
from symderive.record import record


@record
class Window:
    """The geometry of a convolution: one entry a spatial axis, ``groups`` apart."""

    stride: tuple[Expr, ...]
    padding: tuple[Expr, ...]
    dilation: tuple[Expr, ...]
    groups: Expr = S.One

    @classmethod
    def plain(cls, dimensions: int = 1) -> Window:
        """Stride 1, no padding, dilation 1."""
        one, zero = (Integer(1),) * dimensions, (Integer(0),) * dimensions
        return cls(one, zero, one)

    def extents(self, value: Shape, kernel: Shape) -> Shape:
        """The spatial extents of a convolution from those of its operand and of its kernel."""
        parts = zip(value, kernel, self.stride, self.padding, self.dilation, strict=True)
        return tuple(shapes.conv_extent(*p) for p in parts)


@record
class Conv(Node):
    """``F.conv1d``, ``conv2d`` or ``conv3d``: ``value`` [N, C, *space], ``weight`` [O, C / groups, *kernel].

    ``result[n, o, h] = sum over c, r of value[n, c, stride h + dilation r - padding] weight[o, c, r]``.
    """

    value: Node
    weight: Node
    window: Window

    def _infer(self) -> tuple[Shape, Kind]:
        check_real("convolution", self.value, self.weight)
        space = _space(self.value, self.weight, self.window)
        if not shapes.same_size(self.value.shape[1], self.weight.shape[1] * self.window.groups):
            raise InternalError(f"channels of {show(self.value.shape)} and {show(self.weight.shape)} differ")
        return (self.value.shape[0], self.weight.shape[0], *space), "real"


def _space(value: Node, weight: Node, window: Window) -> Shape:
    dimensions = len(window.stride)
    if value.has_batch or len(value.shape) != dimensions + 2 or len(weight.shape) != dimensions + 2:
        raise InternalError(f"no convolution of {show(value.shape)} with {show(weight.shape)}")
    return window.extents(value.shape[2:], weight.shape[2:])


@record
class ConvTranspose(Node):
    """The adjoint of :class:`Conv` in its ``value``: ``source`` [N, O, *out], ``weight`` as there.

    ``space`` are the spatial extents of the result [N, C, *space].
    """

    source: Node
    weight: Node
    window: Window
    space: Shape

    def _infer(self) -> tuple[Shape, Kind]:
        channels = self.weight.shape[1] * self.window.groups
        shape = (self.source.shape[0], channels, *shapes.sizes(self.space))
        _check_adjoint(self.source, Conv(Ref("_", shape), self.weight, self.window))
        return shape, "real"


@record
class ConvWeight(Node):
    """The adjoint of :class:`Conv` in its ``weight``: ``value`` [N, C, *space], ``source`` [N, O, *out].

    ``kernel`` are the spatial extents of the result [O, C / groups, *kernel].
    """

    value: Node
    source: Node
    window: Window
    kernel: Shape

    def _infer(self) -> tuple[Shape, Kind]:
        channels = self.value.shape[1] / self.window.groups
        shape = (self.source.shape[1], channels, *shapes.sizes(self.kernel))
        _check_adjoint(self.source, Conv(self.value, Ref("_", shape), self.window))
        return shape, "real"


def _check_adjoint(source: Node, forward: Conv) -> None:
    if not shapes.same_shape(source.shape, forward.shape):
        raise InternalError(f"source {show(source.shape)} where the convolution makes {show(forward.shape)}")
