"""PyTorch code of what takes whole matrices or windows: products, linear algebra, convolutions."""

from __future__ import annotations

from symderive.algebra.nodes import Mod
from symderive.emit.printer import Printer, Text, call, fill, index, method
from symderive.lower import plan as p
from symderive.lower.shapes import Shape

_MATRIX = {
    "inv": "torch.linalg.inv({0})",
    "det": "torch.linalg.det({0})",
    "logdet": "torch.logdet({0})",
    "cholesky": "torch.linalg.cholesky({0})",
}


class LinearPrinter(Printer):
    """Writes einsum, functions of matrices, systems and convolutions. ``real`` names a tensor of the kept dtype."""

    real: str
    wide = False
    """Whether something is computed in ``wide``, the dtype of ``real`` but at least float32."""

    def zeros(self, like: p.Node, shape: Shape) -> Text:
        """Zeros of the dtype and device of what goes into them."""
        raise NotImplementedError

    def einsum(self, node: p.Einsum) -> Text:
        """``torch.einsum``."""
        return call("torch.einsum", f'"{node.equation}"', *(self.write(o).text for o in node.operands))

    def matrix(self, node: p.Matrix) -> Text:
        """``inv``, ``det``, ``logdet`` or ``cholesky``."""
        return self._narrowed(fill(_MATRIX[node.op], self._widened(node.value)))

    def solve(self, node: p.Solve) -> Text:
        """``torch.linalg.solve``, or ``solve_triangular``, which takes no vectors."""
        matrix, right = self._widened(node.matrix), self._widened(node.right)
        if node.form == "general":
            return self._narrowed(call("torch.linalg.solve", matrix.text, right.text))
        vector = len(node.shape) == 1
        columns = method(right, "unsqueeze", "1") if vector else right
        upper = f"upper={node.form == 'upper'}"
        found = call("torch.linalg.solve_triangular", matrix.text, columns.text, upper)
        return self._narrowed(method(found, "squeeze", "1") if vector else found)

    def _widened(self, node: p.Node) -> Text:
        """An operand of linear algebra, in float32 at least: lower precisions have no kernel."""
        self.wide = True
        return method(self.write(node), "to", "wide")

    def _narrowed(self, value: Text) -> Text:
        return method(value, "to", f"{self.real}.dtype")

    def conv(self, node: p.Conv) -> Text:
        """``F.conv1d``."""
        return self._convolution(node.value, node.weight, node.window)

    def _convolution(self, value: p.Node, weight: p.Node, window: p.Window, bias: str = "") -> Text:
        function = f"F.conv{len(window.stride)}d"
        return call(function, self.write(value).text, self.write(weight).text, bias, *self._window(window))

    def _window(self, window: p.Window, extra: Shape = ()) -> list[str]:
        """The keywords of a convolution that are not at their defaults."""
        parts = [("stride", window.stride, 1), ("padding", window.padding, 0), ("output_padding", extra, 0)]
        parts += [("groups", (window.groups,), 1), ("dilation", window.dilation, 1)]
        return [f"{name}={self._each(values)}" for name, values, default in parts if any(v != default for v in values)]

    def _each(self, values: Shape) -> str:
        """One number where all are equal, else a tuple."""
        return self.size(values[0]) if len(set(values)) == 1 else self.shape(values)

    def conv_transpose(self, node: p.ConvTranspose) -> Text:
        """``F.conv_transpose1d``; the output padding is what the stride left over."""
        window = node.window
        left = tuple(
            Mod(e + 2 * q - d * (k - 1) - 1, s)
            for e, k, s, q, d in zip(
                node.space, node.weight.shape[2:], window.stride, window.padding, window.dilation, strict=True
            )
        )
        operands = (self.write(node.source).text, self.write(node.weight).text)
        return call(f"F.conv_transpose{len(left)}d", *operands, *self._window(window, left))

    def _conv_weight(self, node: p.ConvWeight, swapped: Text) -> tuple[Text, Text]:
        """A convolution of ``value`` with ``source`` over the batch, and the weight's gradient in what that made.

        The axes of batch and channels change places, and so do stride and dilation.
        """
        window = node.window
        value, source, groups = self.write(node.value), self.write(node.source), window.groups
        exchanged = p.Window(window.dilation, window.padding, window.stride, groups)
        if groups == 1:
            value = method(value, "transpose", "0", "1")
        else:
            channels, count, space = node.value.shape[1] / groups, node.value.shape[0], node.value.shape[2:]
            value = method(value, "reshape", *self.extents((count, groups, channels, *space)))
            value = method(value, "permute", "2", "1", "0", *(str(n + 3) for n in range(len(space))))
            value = method(value, "reshape", *self.extents((channels, groups * count, *space)))
        kernel = method(source, "transpose", "0", "1")
        convolved = call(f"F.conv{len(node.kernel)}d", value.text, kernel.text, *self._window(exchanged))
        result = method(swapped, "transpose", "0", "1")
        if any(s != 1 for s in window.stride):
            result = index(result, "...", *(f":{self.size(k)}" for k in node.shape[2:]))
        # Of an empty batch, which stands for the channels here, torch's convolution loses the shape.
        if node.value.shape[0].is_positive and node.value.shape[0].is_number:
            return convolved, result
        count, empty = Text(self.size(node.value.shape[0])), self.zeros(node.value, node.shape)
        return convolved, fill("{0} if {1} else {2}", result, count, empty)
