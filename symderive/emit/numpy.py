"""NumPy code of a plan's expressions, with SciPy for ``erf`` and the like. This writes text only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from sympy import Expr, Rational, S

from symderive.emit.numbers import Numbers
from symderive.emit.printer import Printer, Text, call, fill, index, is_zero, method
from symderive.lower import plan as p
from symderive.lower.shapes import ROWS, Shape, plain
from symderive.spec.functions import FUNCTIONS

_METHODS = {
    "sum": "sum",
    "mean": "mean",
    "prod": "prod",
    "amax": "max",
    "amin": "min",
    "any": "any",
    "all": "all",
    "argmax": "argmax",
    "argmin": "argmin",
}

_INITIAL = {"amax": "initial=-np.inf", "amin": "initial=np.inf"}
"""What a reduction of no entries is, which NumPy asks for."""

_SCANS = {
    "sum": "np.cumsum({0}, {1})",
    "prod": "np.cumprod({0}, {1})",
    "amax": "np.maximum.accumulate({0}, {1})",
    "amin": "np.minimum.accumulate({0}, {1})",
    "logsumexp": "np.logaddexp.accumulate({0}, {1})",
}

_MATRIX = {
    "inv": "np.linalg.inv({0})",
    "det": "np.linalg.det({0})",
    "logdet": "logdet({0})",
    "cholesky": "np.linalg.cholesky({0})",
}

_POWERS = {Rational(1, 2): "np.sqrt({0})", Rational(-1, 2): "1 / np.sqrt({0})", S.NegativeOne: "1 / {0}"}
"""Exponents that have a function of their own."""

_DTYPES = {"real": "{real}.dtype", "integer": "np.int64", "boolean": "bool"}


class NumpyPrinter(Printer):
    """Writes expressions as NumPy. ``real`` names the array that gives new ones their dtype."""

    functions: ClassVar[Mapping[str, str]] = {
        "and": "{0} & {1}",
        "or": "{0} | {1}",
        "not": "~{0}",
        "where": "np.where({0}, {1}, {2})",
        "maximum": "np.maximum({0}, {1})",
        "minimum": "np.minimum({0}, {1})",
        "clamp": "np.clip({0}, {1}, {2})",
    }

    alone = (p.Place, p.IndexAdd, p.ScatterAdd)

    def __init__(self, names: Mapping[str, str] | None = None, real: str = "x", any: str = "") -> None:
        super().__init__(names)
        self.real = real
        self.wide = False
        """Whether something is computed in ``wide``, the dtype of ``real`` but at least float32."""

    def _numbers(self) -> Numbers:
        return Numbers(self.symbol, infinity="np.inf", pi="np.pi")

    def row(self, name: str) -> str:
        """The spelling of a function of the language."""
        return FUNCTIONS[name].numpy

    def prologue(self) -> list[str]:
        """The lines that the statements rely on."""
        lines = [] if self.real != "like" else ["like = np.zeros(())"]
        if self.wide:
            lines.append(f"wide = np.promote_types({self.real}.dtype, np.float32)  # lower ones have no kernel")
        return lines

    def statement(self, name: str, node: p.Node) -> list[str]:
        """The lines that assign ``node`` to ``name``."""
        if isinstance(node, p.Place):
            pairs = zip(node.items, plain(node.shape), strict=True)
            target = self.subscript(p.Ref(name, node.shape), [self.item(i, e) for i, e in pairs])
            zeros = self._filled(node.shape, S.Zero, node.kind)
            return [f"{name} = {zeros.text}", f"{target.text} = {self.write(node.value).text}"]
        if isinstance(node, p.IndexAdd | p.ScatterAdd):
            return [f"{name} = {self._into(node)}", self._accumulation(name, node)]
        return [f"{name} = {self.write(node).text}"]

    def _dtype(self, kind: str) -> str:
        return _DTYPES[kind].format(real=self.real)

    def _filled(self, shape: Shape, value: Expr, kind: str) -> Text:
        named = {S.Zero: "np.zeros", S.One: "np.ones"}.get(value)
        if named:
            return call(named, self.shape(shape), self._dtype(kind))
        return call("np.full", self.shape(shape), self.number(value).text, self._dtype(kind))

    # --- leaves

    def arange(self, node: p.Arange) -> Text:
        """``np.arange``."""
        return call("np.arange", self.size(node.extent))

    def full(self, node: p.Full) -> Text:
        """``np.zeros``, ``np.ones`` or ``np.full``."""
        return self._filled(node.shape, node.value, node.kind)

    def eye(self, node: p.Eye) -> Text:
        """``np.eye``."""
        return call("np.eye", self.size(node.extent), f"dtype={self._dtype('real')}")

    # --- element-wise

    def map(self, node: p.Map) -> Text:
        """An operator or a function of entries."""
        node = self.stretched(node)
        numbers = tuple(isinstance(a, p.Scalar) for a in node.args)
        if node.function == "pow" and numbers[1] and (power := _POWERS.get(node.args[1].value)):  # type: ignore[attr-defined]
            return fill(power, self.write(node.args[0]))
        if node.function == "where" and node.kind == "real" and all(numbers[1:]):
            first = self._filled((), node.args[1].value, "real")  # type: ignore[attr-defined]
            return fill(self.functions["where"], self.write(node.args[0]), first, self.write(node.args[2]))
        if node.function in p.COMPARISONS and all(numbers):  # of sizes: a bool of Python's has no methods
            return call("np.bool_", super().map(node).text)
        return super().map(node)

    def cast(self, node: p.Cast) -> Text:
        """``.astype(x.dtype)``."""
        if isinstance(node.value, p.Scalar) or node.value.kind == node.to:
            return self.write(node.value)
        return method(self.write(node.value), "astype", self._dtype(node.to))

    # --- arrangement

    def permute(self, node: p.Permute) -> Text:
        """``.T``, ``.swapaxes``, ``.transpose`` or ``np.moveaxis``."""
        value, order = self.write(node.value), node.order
        axes = list(range(-len(order), 0))
        moved = [a for a, o in zip(axes, order, strict=True) if a != o]
        if moved == [-2, -1] and len(order) == 2 and not node.has_batch:
            return fill("{0}.T", value)
        if len(moved) == 2:
            return method(value, "swapaxes", *(str(a) for a in moved))
        if node.has_batch:
            return call("np.moveaxis", value.text, str(tuple(order)), str(tuple(axes)))
        return method(value, "transpose", *(str(o + len(order)) for o in order))

    def reshape(self, node: p.Reshape) -> Text:
        """``.reshape``."""
        return method(self.write(node.value), "reshape", *self.separate(node.shape))

    def broadcast_to(self, node: p.BroadcastTo) -> Text:
        """``np.broadcast_to``; of a number, a new array."""
        if isinstance(node.value, p.Scalar):
            return self._filled(node.shape, node.value.value, node.kind)
        return call("np.broadcast_to", self.write(node.value).text, self.shape(node.shape))

    def flip(self, node: p.Flip) -> Text:
        """``np.flip``."""
        return call("np.flip", self.write(node.value).text, self.axes(node, node.axes))

    def roll(self, node: p.Roll) -> Text:
        """``np.roll``."""
        return call("np.roll", self.write(node.value).text, self.size(node.shift), self.axis(node, node.axis))

    def slice(self, node: p.Slice) -> Text:
        """A subscript, or ``.squeeze`` of one axis of extent 1."""
        dropped = [n - len(node.items) for n, i in enumerate(node.items) if i is not None]
        if len(dropped) == 1 and isinstance(node.items[dropped[0]], p.At) and node.value.shape[dropped[0]] == 1:
            return method(self.write(node.value), "squeeze", self.axis(node.value, dropped[0]))
        return super().slice(node)

    def pad(self, node: p.Pad) -> Text:
        """``np.pad``."""
        shown = ", ".join(f"({self.size(a)}, {self.size(b)})" for a, b in node.widths)
        widths = f"[(0, 0)] * len({self._symbol(p.BATCH_SIZE)}) + [{shown}]" if node.has_batch else f"[{shown}]"
        value = "" if is_zero(node.fill) else f"constant_values={self.number(node.fill).text}"
        return call("np.pad", self.write(node.value).text, widths, value)

    def concat(self, node: p.Concat) -> Text:
        """``np.stack`` where every part has one entry, else ``np.concatenate``."""
        stacked = self.stacked(node)
        shown = ", ".join(self.write(part).text for part in stacked or node.parts)
        return call("np.stack" if stacked else "np.concatenate", f"[{shown}]", self.axis(node, node.axis))

    def unfold(self, node: p.Unfold) -> Text:
        """``sliding_window_view``."""
        axis = self.axis(node.value, node.axis)
        value = self.write(node.value).text
        windows = call("np.lib.stride_tricks.sliding_window_view", value, self.size(node.size), axis)
        if node.step == 1:
            return windows
        return index(windows, "...", f"::{self.size(node.step)}", *([":"] * -node.axis))

    def diagonal(self, node: p.Diagonal) -> Text:
        """``.diagonal``."""
        matrix = not node.has_batch and node.rank == 1
        return method(self.write(node.value), "diagonal", "" if matrix else "axis1=-2, axis2=-1")

    def diag_embed(self, node: p.DiagEmbed) -> Text:
        """``np.diag``, or a choice by the identity where there are more axes."""
        if len(node.value.shape) == 1 and not node.has_batch:
            return call("np.diag", self.write(node.value).text)
        eye = f"np.eye({self.size(node.shape[-1])}, dtype=bool)"
        return call("np.where", eye, self.write(p.Expand(node.value, (-2,))).text, "0")

    # --- computed places

    def gather(self, node: p.Gather) -> Text:
        """``np.take_along_axis``."""
        index = self.write(node.index).text
        return call("np.take_along_axis", self.write(node.value).text, index, self.axis(node, node.axis))

    def _accumulation(self, name: str, node: p.IndexAdd | p.ScatterAdd) -> str:
        """The call that adds ``source`` to ``name`` in place."""
        source = self.write(p.Cast(node.source) if node.kind == "real" else node.source).text
        if isinstance(node, p.ScatterAdd):
            return call("scatter_add", name, self.axis(node, node.axis), self.write(node.index).text, source).text
        shown = ["slice(None)" if i is None else self.write(i).text for i in node.indices]
        shown = ["...", *shown] if node.has_batch else shown
        while shown[-1] == "slice(None)" and not node.has_batch:
            shown.pop()
        places = shown[0] if len(shown) == 1 else f"({', '.join(shown)})"
        return call("np.add.at", name, places, source).text

    def _into(self, node: p.IndexAdd | p.ScatterAdd) -> str:
        if node.base is None:
            return self._filled(node.shape, S.Zero, node.kind).text
        base = self.write(node.base)
        return base.text if isinstance(node.base, p.Map | p.Normalise) else method(base, "copy").text

    # --- reductions

    def reduce(self, node: p.Reduce) -> Text:
        """``.sum(0)``; batch axes are flattened into one first."""
        value, whole = node.value, len(node.axes) == len(node.value.shape) and not node.keepdim
        if value.has_batch and -len(value.shape) in node.axes and not whole:
            return self.reduce(p.Reduce(node.op, p.Reshape(value, (ROWS, *value.shape[1:])), node.axes))
        axes = "" if whole else self.axes(value, node.axes)
        keepdim = "keepdims=True" if node.keepdim else ""
        if node.op == "logsumexp":
            return call("logsumexp", self.write(value).text, axes, keepdim)
        initial = _INITIAL.get(node.op, "") if node.kind == "real" else ""
        return method(self.write(value), _METHODS[node.op], axes, keepdim, initial)

    def scan(self, node: p.Scan) -> Text:
        """``np.cumsum``; from the end by flipping twice."""
        value, axis = self.write(node.value), self.axis(node, node.axis)
        value = call("np.flip", value.text, axis) if node.reverse else value
        scanned = fill(_SCANS[node.op], value, Text(axis))
        return call("np.flip", scanned.text, axis) if node.reverse else scanned

    def normalise(self, node: p.Normalise) -> Text:
        """``softmax``, a helper: SciPy's does not take an empty axis."""
        return call(node.op, self.write(node.value).text, self.axis(node, node.axis))

    def grouped(self, node: p.Grouped) -> Text:
        """``grouped_logsumexp`` and its like, helpers."""
        operands = self._written(node.value, node.index)
        return call(f"grouped_{node.op}", operands[0], str(node.axis), operands[1], self.size(node.count))

    # --- linear algebra

    def einsum(self, node: p.Einsum) -> Text:
        """``np.einsum``."""
        optimize = "optimize=True" if len(node.operands) > 2 else ""
        return call("np.einsum", f'"{node.equation}"', *(self.write(o).text for o in node.operands), optimize)

    def matrix(self, node: p.Matrix) -> Text:
        """``inv``, ``det``, ``logdet`` or ``cholesky``."""
        return self._narrowed(fill(_MATRIX[node.op], self._widened(node.value)))

    def solve(self, node: p.Solve) -> Text:
        """``np.linalg.solve``: NumPy has none for triangles."""
        return self._narrowed(call("np.linalg.solve", *(self._widened(n).text for n in (node.matrix, node.right))))

    def _widened(self, node: p.Node) -> Text:
        """An operand of linear algebra, in float32 at least: lower precisions have no kernel."""
        self.wide = True
        return method(self.write(node), "astype", "wide")

    def _narrowed(self, value: Text) -> Text:
        return method(value, "astype", f"{self.real}.dtype")

    def conv(self, node: p.Conv) -> Text:
        """``conv``, a helper."""
        return call("conv", *self._written(node.value, node.weight), *self._window(node.window))

    def conv_transpose(self, node: p.ConvTranspose) -> Text:
        """``conv_transpose``, a helper."""
        operands = self._written(node.source, node.weight)
        return call("conv_transpose", *operands, self.shape(node.space), *self._window(node.window))

    def conv_weight(self, node: p.ConvWeight) -> Text:
        """``conv_weight``, a helper."""
        operands = self._written(node.value, node.source)
        return call("conv_weight", *operands, self.shape(node.kernel), *self._window(node.window))

    def _written(self, *nodes: p.Node) -> list[str]:
        return [self.write(n).text for n in nodes]

    def _window(self, window: p.Window) -> Sequence[str]:
        parts = (window.stride, window.padding, window.dilation)
        shown = [f"{n}={self.shape(v)}" for n, v in zip(("stride", "padding", "dilation"), parts, strict=True)]
        return [*shown, f"groups={self.size(window.groups)}" if window.groups != 1 else ""]
