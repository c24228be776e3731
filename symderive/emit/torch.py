"""PyTorch code of a plan's expressions. This writes text; it does not import torch.

The dtype of the inputs is kept: numbers are Python numbers, and new tensors take their dtype and device from a tensor
that is there. In-place operations are used on fresh tensors only, and never on one whose operation saves its result
for autograd, so that emitted code can itself be differentiated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from sympy import Expr, Mul, Rational, S

from symderive.emit.memory import added_product, is_fresh, rescaled, scaled
from symderive.emit.numbers import Numbers
from symderive.emit.printer import Text, call, fill, is_zero, method
from symderive.emit.torch_linear import LinearPrinter
from symderive.lower import plan as p
from symderive.lower import shapes
from symderive.lower.shapes import ROWS, Shape, front, plain
from symderive.spec.functions import FUNCTIONS

OF_NOTHING = {"amax": S.NegativeInfinity, "amin": S.Infinity}
"""What a reduction of no entries is, where libraries refuse to say."""

_METHODS = ("sum", "mean", "prod", "amax", "amin", "any", "all", "argmax", "argmin")

_SCANS = {
    "sum": "{0}.cumsum({1})",
    "prod": "{0}.cumprod({1})",
    "amax": "{0}.cummax({1}).values",
    "amin": "{0}.cummin({1}).values",
    "logsumexp": "torch.logcumsumexp({0}, {1})",
}

_WITH_NUMBERS = {
    ("maximum", (False, True)): "{0}.clamp(min={1})",
    ("maximum", (True, False)): "{1}.clamp(min={0})",
    ("minimum", (False, True)): "{0}.clamp(max={1})",
    ("minimum", (True, False)): "{1}.clamp(max={0})",
    ("clamp", (False, True, True)): "{0}.clamp({1}, {2})",
    ("clamp", (False, True, False)): "torch.minimum({0}.clamp(min={1}), {2})",
    ("clamp", (False, False, True)): "torch.maximum({0}, {1}).clamp(max={2})",
    ("clamp", (True, False, False)): "torch.minimum({1}.clamp(min={0}), {2})",
    ("clamp", (True, False, True)): "{1}.clamp(min={0}).clamp(max={2})",
    ("clamp", (True, True, False)): "{2}.clamp(max=max({0}, {1}))",
}
"""Spellings where some arguments are Python numbers, which ``torch.maximum`` and its like do not take."""

_POWERS = {Rational(1, 2): "torch.sqrt({0})", Rational(-1, 2): "torch.rsqrt({0})", S.NegativeOne: "1 / {0}"}
"""Exponents that have a function of their own."""

_CASTS = {"real": ".to({real}.dtype)", "integer": ".long()", "boolean": ".bool()"}


class TorchPrinter(LinearPrinter):
    """Writes expressions as PyTorch. ``real`` and ``any`` name tensors that give new ones their dtype and device."""

    functions: ClassVar[Mapping[str, str]] = {
        "and": "{0} & {1}",
        "or": "{0} | {1}",
        "not": "~{0}",
        "where": "torch.where({0}, {1}, {2})",
        "maximum": "torch.maximum({0}, {1})",
        "minimum": "torch.minimum({0}, {1})",
        "clamp": "torch.clamp({0}, {1}, {2})",
    }

    alone = (p.Place, p.ConvWeight)

    def __init__(self, names: Mapping[str, str] | None = None, real: str = "x", any: str = "") -> None:
        super().__init__(names)
        self.real = real
        self.any = any or real

    def _numbers(self) -> Numbers:
        return Numbers(self.symbol, infinity="torch.inf", pi="torch.pi")

    def row(self, name: str) -> str:
        """The spelling of a function of the language."""
        return FUNCTIONS[name].torch

    def statement(self, name: str, node: p.Node) -> list[str]:
        """The lines that assign ``node`` to ``name``."""
        if isinstance(node, p.IndexAdd):
            node = merged(node)
        if isinstance(node, p.Place):
            pairs = zip(node.items, plain(node.shape), strict=True)
            target = self.subscript(p.Ref(name, node.shape), [self.item(i, e) for i, e in pairs])
            zeros = self.zeros(node.value, node.shape)
            return [f"{name} = {zeros.text}", f"{target.text} = {self.write(node.value).text}"]
        if isinstance(node, p.ConvWeight):
            swapped, result = self._conv_weight(node, Text(name))
            return [f"{name} = {swapped.text}", f"{name} = {result.text}"]
        if isinstance(node, p.IndexAdd | p.ScatterAdd) and node.base is not None and is_fresh(node.base):
            operation, *arguments = self._accumulation(node)
            added = method(Text(name), f"{operation}_", *arguments)
            return [f"{name} = {self.write(node.base).text}", added.text]
        return [f"{name} = {self.write(node).text}"]

    def prologue(self) -> list[str]:
        """The lines that the statements rely on."""
        lines = [] if self.real != "like" else [f"like = torch.empty(0, device={self.any}.device)"]
        if self.wide:
            lines.append(f"wide = torch.promote_types({self.real}.dtype, torch.float32)  # lower ones have no kernel")
        return lines

    # --- leaves

    def arange(self, node: p.Arange) -> Text:
        """``torch.arange``."""
        return call("torch.arange", self.size(node.extent), f"device={self.any}.device")

    def full(self, node: p.Full) -> Text:
        """``new_zeros``, ``new_ones`` or ``new_full``."""
        if node.kind != "real":
            dtype = {"integer": "torch.long", "boolean": "torch.bool"}[node.kind]
            value = self.number(node.value).text if node.kind == "integer" else str(node.value != 0)
            return call("torch.full", self.shape(node.shape), value, f"dtype={dtype}", f"device={self.any}.device")
        return self._full(Text(self.real), node.shape, node.value)

    def _full(self, like: Text, shape: Shape, value: Expr) -> Text:
        named = {S.Zero: "new_zeros", S.One: "new_ones"}.get(value)
        if named:
            return method(like, named, *self.separate(shape))
        return method(like, "new_full", self.shape(shape) if shape else "()", self.number(value).text)

    def zeros(self, like: p.Node, shape: Shape) -> Text:
        """Zeros of the dtype and device of what goes into them (and of its batch under ``vmap``)."""
        kinds = [n for n in p.walk(like) if isinstance(n, p.Ref) and n.kind == like.kind]
        if not kinds and like.kind != "real":
            return self.full(p.Full(shape, S.Zero, like.kind))
        return self._full(Text(self.name(kinds[0].name) if kinds else self.real), shape, S.Zero)

    def eye(self, node: p.Eye) -> Text:
        """``torch.eye``."""
        size = self.size(node.extent)
        return call("torch.eye", size, f"dtype={self.real}.dtype", f"device={self.any}.device")

    # --- element-wise

    def map(self, node: p.Map) -> Text:
        """An operator or a function of entries."""
        node = self.stretched(node)
        numbers = tuple(isinstance(a, p.Scalar) for a in node.args)
        special = _WITH_NUMBERS.get((node.function, numbers))
        if special is not None:
            return fill(special, *(self.write(a) for a in node.args))
        if node.function == "pow" and numbers[1] and (power := _POWERS.get(node.args[1].value)):  # type: ignore[attr-defined]
            return fill(power, self.write(node.args[0]))
        if node.function in p.COMPARISONS and all(numbers):  # of sizes; torch.where takes no bool of Python's
            first = self._full(Text(self.real), (), node.args[0].value)  # type: ignore[attr-defined]
            return fill(self.spelling(node.function), first, self.write(node.args[1]))
        if node.function == "where" and node.kind == "real" and all(numbers[1:]):
            first = self._full(Text(self.real), (), node.args[1].value)  # type: ignore[attr-defined]
            return fill(self.functions["where"], self.write(node.args[0]), first, self.write(node.args[2]))
        if node.function == "add" and (biased := self._biased(*node.args)):
            return biased
        if added := added_product(node):
            pieces = (added[0], *added[1].args)
            sign = "value=-1" if added[2] else ""
            return call("torch.addcmul", *(self.write(a).text for a in pieces), sign)
        if found := scaled(node):
            return call("_scaled", *(self.write(a).text for a in found))
        if fresh := rescaled(node, self.origins):
            return method(self.write(fresh[0]), "mul_", self.write(fresh[1]).text)
        return super().map(node)

    def whole(self, node: p.Node) -> list[p.Node]:
        """The parts of ``node`` that it is one operation with."""
        if added := added_product(node):
            return [added[1]]
        return [found[0]] if (found := scaled(node) or rescaled(node, self.origins)) else []

    def _biased(self, value: p.Node, bias: p.Node) -> Text | None:
        """A convolution plus one number a channel: that is the convolution's bias."""
        if isinstance(bias, p.Conv):
            value, bias = bias, value
        if not isinstance(value, p.Conv) or not isinstance(bias, p.Expand) or len(bias.value.shape) != 1:
            return None
        space = len(value.window.stride)
        if sorted(a for a in bias.axes if a >= -space) != list(range(-space, 0)):
            return None
        return self._convolution(value.value, value.weight, value.window, self.write(bias.value).text)

    def cast(self, node: p.Cast) -> Text:
        """``.to(x.dtype)``."""
        if isinstance(node.value, p.Scalar) or node.value.kind == node.to:
            return self.write(node.value)
        return fill("{0}" + _CASTS[node.to].format(real=self.real), self.write(node.value))

    # --- arrangement

    def permute(self, node: p.Permute) -> Text:
        """``.T``, ``.mT``, ``.transpose`` or ``.permute``."""
        value, order = self.write(node.value), node.order
        axes = list(range(-len(order), 0))
        moved = [a for a, o in zip(axes, order, strict=True) if a != o]
        if moved == [-2, -1]:
            return fill("{0}.mT" if node.has_batch or len(order) > 2 else "{0}.T", value)
        if len(moved) == 2:
            return method(value, "transpose", *(self.axis(node, a) for a in moved))
        if node.has_batch:
            return method(value, "movedim", str(tuple(order)), str(tuple(axes)))
        return method(value, "permute", *(str(o + len(order)) for o in order))

    def reshape(self, node: p.Reshape) -> Text:
        """``.reshape``."""
        return method(self.write(node.value), "reshape", *self.separate(node.shape))

    def broadcast_to(self, node: p.BroadcastTo) -> Text:
        """``.expand``; of a number, a new tensor."""
        if isinstance(node.value, p.Scalar):
            return self.full(p.Full(node.shape, node.value.value, node.kind))
        return method(self.write(node.value), "expand", *self.separate(node.shape))

    def flip(self, node: p.Flip) -> Text:
        """``.flip``."""
        return method(self.write(node.value), "flip", *(self.axis(node, a) for a in node.axes))

    def roll(self, node: p.Roll) -> Text:
        """``.roll``."""
        return method(self.write(node.value), "roll", self.size(node.shift), self.axis(node, node.axis))

    def slice(self, node: p.Slice) -> Text:
        """A subscript, or ``.squeeze`` of one axis of extent 1."""
        dropped = [n - len(node.items) for n, i in enumerate(node.items) if i is not None]
        if len(dropped) == 1 and isinstance(node.items[dropped[0]], p.At) and node.value.shape[dropped[0]] == 1:
            return method(self.write(node.value), "squeeze", self.axis(node.value, dropped[0]))
        return super().slice(node)

    def pad(self, node: p.Pad) -> Text:
        """``F.pad``, whose widths start at the last axis."""
        widths = list(node.widths)
        while widths and is_zero(widths[0][0]) and is_zero(widths[0][1]):
            widths.pop(0)
        shown = ", ".join(self.size(w) for pair in reversed(widths) for w in pair)
        value = "" if is_zero(node.fill) else f"value={self.number(node.fill).text}"
        return call("F.pad", self.write(node.value).text, f"({shown})", value)

    def concat(self, node: p.Concat) -> Text:
        """``torch.stack`` where every part has one entry, else ``torch.cat``."""
        stacked = self.stacked(node)
        shown = ", ".join(self.write(part).text for part in stacked or node.parts)
        return call("torch.stack" if stacked else "torch.cat", f"[{shown}]", self.axis(node, node.axis))

    def unfold(self, node: p.Unfold) -> Text:
        """``.unfold``."""
        sizes = (self.size(node.size), self.size(node.step))
        return method(self.write(node.value), "unfold", self.axis(node.value, node.axis), *sizes)

    def diagonal(self, node: p.Diagonal) -> Text:
        """``.diagonal``."""
        matrix = not node.has_batch and node.rank == 1
        return method(self.write(node.value), "diagonal", "" if matrix else "dim1=-2, dim2=-1")

    def diag_embed(self, node: p.DiagEmbed) -> Text:
        """``torch.diag_embed``."""
        return call("torch.diag_embed", self.write(node.value).text)

    # --- computed places

    def gather(self, node: p.Gather) -> Text:
        """``.gather``."""
        return method(self.write(node.value), "gather", self.axis(node, node.axis), self.write(node.index).text)

    def scatter_add(self, node: p.ScatterAdd) -> Text:
        """``.scatter_add``."""
        return self._accumulated(node)

    def index_add(self, node: p.IndexAdd) -> Text:
        """``.index_add`` along one axis, ``.index_put`` along several."""
        placed = merged(node)
        return self._accumulated(placed) if isinstance(placed, p.IndexAdd) else self.write(placed)

    def repeats(self, node: p.Node) -> list[p.Node]:
        """What is added at places is named where it is made of several tensors: zeros are made of all of them.

        Under ``vmap`` zeros that are made of one alone might lack the batch that another has.
        """
        if isinstance(node, p.Place) or (isinstance(node, p.IndexAdd | p.ScatterAdd) and node.base is None):
            added = node.value if isinstance(node, p.Place) else node.source
            read = {n.name for n in p.walk(added) if isinstance(n, p.Ref) and n.kind == "real"}
            return [added] if len(read) > 1 else []
        return super().repeats(node)

    def _accumulated(self, node: p.IndexAdd | p.ScatterAdd) -> Text:
        operation, *arguments = self._accumulation(node)
        if node.base is None:
            return method(self.zeros(node.source, node.shape), f"{operation}_", *arguments)
        return method(self.write(node.base), f"{operation}_" if is_fresh(node.base) else operation, *arguments)

    def _accumulation(self, node: p.IndexAdd | p.ScatterAdd) -> list[str]:
        """The method that adds ``source`` in place, and its arguments."""
        source = self.write(p.Cast(node.source) if node.kind == "real" else node.source)
        if isinstance(node, p.ScatterAdd):
            return ["scatter_add", self.axis(node, node.axis), self.write(node.index).text, source.text]
        places = [(n - len(node.indices), i) for n, i in enumerate(node.indices) if i is not None]
        if len(places) > 1:
            return self._index_put(node, [i for _, i in places])
        ((axis, index),) = places
        shown = self.write(index)
        if len(index.shape) != 1 or index.has_batch:
            before, after = plain(node.shape)[:axis], plain(node.shape)[axis + 1 or node.rank :]
            entries = self.extents((*front(node.shape), *before))
            named = index.has_batch or isinstance(index, p.Ref)
            count = fill("{0}.numel()", shown).text if named else self.size(shapes.count(index.shape))
            entries += [count, *self.extents(after)]
            source, shown = method(source, "reshape", *entries), method(shown, "flatten")
        return ["index_add", self.axis(node, axis), shown.text, source.text]

    def _index_put(self, node: p.IndexAdd, indices: Sequence[p.Node]) -> list[str]:
        shown = ", ".join(self.write(i).text for i in indices)
        return ["index_put", f"({shown})", self.write(node.source).text, "accumulate=True"]

    # --- reductions

    def reduce(self, node: p.Reduce) -> Text:
        """``.sum(0)``; batch axes are flattened into one first."""
        value, whole = node.value, len(node.axes) == len(node.value.shape) and not node.keepdim
        if value.has_batch and -len(value.shape) in node.axes and not (whole and node.op != "logsumexp"):
            return self.reduce(p.Reduce(node.op, p.Reshape(value, (ROWS, *value.shape[1:])), node.axes))
        if node.op == "prod" and len(node.axes) > 1 and not whole:
            first, *rest = sorted(node.axes)
            inner = p.Reduce("prod", value, (first,), keepdim=True)
            outer = p.Reduce("prod", inner, tuple(rest), keepdim=True)
            return self.write(outer if node.keepdim else _dropped(outer, node.axes))
        keepdim = "keepdim=True" if node.keepdim else ""
        if node.op in _METHODS:
            axes = "" if whole else self.axes(value, node.axes)
            return self._of_some(node, method(self.write(value), node.op, axes, keepdim))
        return call(f"torch.{node.op}", self.write(value).text, self.axes(value, node.axes), keepdim)

    def _of_some(self, node: p.Reduce, reduced: Text) -> Text:
        """A maximum or minimum, which torch refuses to take of nothing; the language says what it is."""
        extents = [node.value.shape[a] for a in node.axes]
        if node.op not in OF_NOTHING or node.kind != "real" or all(e.is_Integer and e > 0 for e in extents):
            return reduced
        tensor = next((n.name for n in p.walk(node.value) if isinstance(n, p.Ref) and n.kind == "real"), "")
        like = Text(self.name(tensor) if tensor else self.real)
        filled = self._full(like, node.shape, OF_NOTHING[node.op])
        return fill("{0} if {1} else {2}", reduced, Text(self.size(Mul(*extents))), filled)

    def scan(self, node: p.Scan) -> Text:
        """``.cumsum``; from the end by flipping twice."""
        value, axis = self.write(node.value), self.axis(node, node.axis)
        value = method(value, "flip", axis) if node.reverse else value
        scanned = fill(_SCANS[node.op], value, Text(axis))
        return method(scanned, "flip", axis) if node.reverse else scanned

    def normalise(self, node: p.Normalise) -> Text:
        """``torch.softmax``."""
        return call(f"torch.{node.op}", self.write(node.value).text, self.axis(node, node.axis))

    def grouped(self, node: p.Grouped) -> Text:
        """A helper: ``scatter_reduce`` of what was spread over the whole shape, and what is made with it."""
        operands = [self.write(node.value).text, str(node.axis), self.write(node.index).text, self.size(node.count)]
        return call(f"_grouped_{node.op}", *operands)


def merged(node: p.IndexAdd) -> p.Node:
    """Several index arrays that ``index_put`` cannot take, because axes stand before them, made one: i * J + j."""
    places = [n for n, i in enumerate(node.indices) if i is not None]
    if len(places) == 1 or (places[0] == 0 and not node.has_batch):
        return node
    first, last, extents = places[0], places[-1] + 1, plain(node.shape)
    arrays = [i for i in node.indices if i is not None]
    joined, count = arrays[0], extents[first]
    for array, extent in zip(arrays[1:], extents[first + 1 : last], strict=True):
        joined = p.Map("add", (p.Map("mul", (joined, p.Scalar(extent))), array))
        count *= extent
    into = (*front(node.shape), *extents[:first], count, *extents[last:])
    indices = (*node.indices[:first], joined, *node.indices[last:])
    base = None if node.base is None else p.Reshape(node.base, into)
    return p.Reshape(p.IndexAdd(node.source, into, indices, base), node.shape)


def _dropped(node: p.Node, axes: Sequence[int]) -> p.Node:
    """``node`` without ``axes``, whose extents are 1."""
    items = [p.At(S.Zero) if n - node.rank in axes else None for n in range(node.rank)]
    return p.Slice(node, tuple(items))
