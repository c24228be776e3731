"""Array form: ``dW = dy.T @ x``, a plan as a person would write it on one line, helpers first.

What is printed can be read back by the language's grammar, so it says only what array form can say: where a plan pads,
strides or unrolls windows there is no array form, and none is printed. A scatter-add is written with ``one_hot``.
"""

from __future__ import annotations

import functools
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from sympy import Expr, S, Symbol

from symderive.emit.array_masks import by_group, negated, only_at
from symderive.emit.array_operands import is_flat, peeled, two_letters
from symderive.emit.numbers import Numbers
from symderive.emit.printer import Printer, Text, call, fill, method
from symderive.emit.tidy import VIEWS, inlined, read_with
from symderive.lower import plan as p
from symderive.lower.shapes import ROWS, has_batch, plain
from symderive.record import record
from symderive.spec.functions import FUNCTIONS
from symderive.spec.sizes import BATCH_SIZE

_METHODS = ("sum", "mean", "prod", "amax", "amin", "any", "all", "argmax", "argmin")

_MATRIX = {"inv": "{0}.inv()", "det": "det({0})", "logdet": "logdet({0})", "cholesky": "cholesky({0})"}


class NoArrayFormError(Exception):
    """Array form has no way to say this."""


@record
class OneHot(p.Node):
    """``one_hot(t, C)``: 1 at the class id, 0 elsewhere, along a new last axis. Array form alone has it."""

    index: p.Node
    classes: Expr

    def _infer(self) -> tuple[p.Shape, p.Kind]:
        return (*self.index.shape, self.classes), "real"


@record
class Summed(p.Node):
    """An einsum whose operands all have batch axes, which it sums. A plan flattens them first."""

    terms: tuple[str, ...]
    output: str
    operands: tuple[p.Node, ...]

    def _infer(self) -> tuple[p.Shape, p.Kind]:
        extents = dict(zip("".join(self.terms), (e for o in self.operands for e in plain(o.shape)), strict=True))
        return tuple(extents[c] for c in self.output), "real"


def array_form(plan: p.Plan, target: str | None = None) -> str | None:
    """The lines that compute ``target`` (or else every output); None where array form cannot say it."""
    try:
        return _written(plan, [target] if target is not None else list(plan.outputs))
    except NoArrayFormError:
        return None


def _written(plan: p.Plan, wanted: list[str]) -> str:
    printer = ArrayPrinter()
    plan = inlined(plan, wanted, (*VIEWS, p.Cast))
    lines = [f"{a.name} = {printer.write(a.value).text}" for a in _needed(plan, wanted)]
    return "\n".join(lines).replace(" ** ", "**")


def array_forms(plan: p.Plan, tensors: Sequence[str]) -> dict[str, str]:
    """The lines of each of some tensors of a plan that has an array form, with its helpers; the others are given."""
    forms = {t: array_form(_alone(plan, t, tensors), t) for t in tensors}
    return {t: form for t, form in forms.items() if form is not None}


def not_said(plan: p.Plan, tensor: str, tensors: Sequence[str]) -> str:
    """What array form cannot say of one of some tensors of a plan; empty where it says all."""
    try:
        _written(_alone(plan, tensor, tensors), [tensor])
    except NoArrayFormError as fault:
        return str(fault)
    return ""


def _alone(plan: p.Plan, tensor: str, tensors: Sequence[str]) -> p.Plan:
    """The plan of one tensor and the helpers that it reads more than once; the other tensors are given."""
    given = [a.ref for a in plan.assignments if a.name in tensors and a.name != tensor]
    own = [a for a in plan.assignments if a.name not in tensors or a.name == tensor]
    alone = replace(plan, inputs=(*plan.inputs, *given), assignments=tuple(own), outputs=(tensor,))
    alone = inlined(alone, [tensor], (*VIEWS, p.Cast))
    return replace(alone, assignments=tuple(_read_twice(_needed(alone, [tensor]), tensor)))


def _needed(plan: p.Plan, wanted: list[str]) -> list[p.Assign]:
    """The assignments that ``wanted`` depend on, in order."""
    names = set(wanted)
    kept: list[p.Assign] = []
    for assign in reversed(plan.assignments):
        if assign.name in names:
            kept.append(assign)
            names |= {n.name for n in p.walk(assign.value) if isinstance(n, p.Ref)}
    return kept[::-1]


def _read_twice(assigns: list[p.Assign], wanted: str) -> list[p.Assign]:
    """The assignments without helpers that are read once, which are written where they are read, but for an einsum."""
    reads = Counter(n.name for a in assigns for n in p.walk(a.value) if isinstance(n, p.Ref))
    for einsum in (n for a in assigns for n in p.walk(a.value) if isinstance(n, p.Einsum)):
        reads.update(n.name for n in einsum.operands if isinstance(n, p.Ref))
    once: dict[str, p.Node] = {}
    kept: list[p.Assign] = []
    for assign in assigns:
        value = read_with(assign.value, once)
        if assign.name == wanted or reads[assign.name] > 1:
            kept.append(replace(assign, value=value))
        else:
            once[assign.name] = value
    return kept


class ArrayPrinter(Printer):
    """Writes expressions in array form."""

    functions: ClassVar[Mapping[str, str]] = {
        "and": "{0} and {1}",
        "or": "{0} or {1}",
        "not": "not {0}",
        "where": "where({0}, {1}, {2})",
        "maximum": "max({0}, {1})",
        "minimum": "min({0}, {1})",
        "clamp": "clamp({0}, {1}, {2})",
    }

    def _numbers(self) -> Numbers:
        return Numbers(self.symbol, function="{}", infinity="inf", pi="pi")

    def symbol(self, symbol: Symbol) -> str:
        """The name of a size or a constant; array form cannot count the batch."""
        if symbol in (BATCH_SIZE, ROWS):
            raise NoArrayFormError("the number of batch entries")
        return super().symbol(symbol)

    def spelling(self, function: str, given: int = 2) -> str:
        """A function of the language is a call of it, with the arguments that the spec gave."""
        if function in FUNCTIONS:
            return f"{function}({', '.join(f'{{{n}}}' for n in range(given))})"
        return super().spelling(function, given)

    def map(self, node: p.Map) -> Text:
        """An operator or a function of entries; what is no comparison is its opposite."""
        opposite = negated(node.args[0]) if node.function == "not" else None
        return super().map(node) if opposite is None else self.write(opposite)

    def write(self, node: p.Node) -> Text:
        """An expression as text."""
        if self.method_of(node) is None:
            raise NoArrayFormError(re.sub(r"(?<!^)(?=[A-Z])", " ", type(node).__name__).lower())
        return super().write(node)

    # --- leaves and element-wise

    def one_hot(self, node: OneHot) -> Text:
        """``one_hot(t, C)``."""
        return call("one_hot", self.write(node.index).text, self.size(node.classes))

    def arange(self, node: p.Arange) -> Text:
        """``arange(N)``."""
        return call("arange", self.size(node.extent))

    def full(self, node: p.Full) -> Text:
        """``zeros(N)``, ``ones(N)``, or a multiple of it."""
        if has_batch(node.shape):
            raise NoArrayFormError("the batch axes' extents")
        if not node.shape:
            return self.number(node.value)
        if node.value == 0:
            return call("zeros", *self.extents(node.shape))
        ones = call("ones", *self.extents(node.shape))
        return ones if node.value == 1 else fill("{0} * {1}", self.number(node.value), ones)

    def eye(self, node: p.Eye) -> Text:
        """``eye(N)``."""
        return call("eye", self.size(node.extent))

    def cast(self, node: p.Cast) -> Text:
        """Nothing: a condition counts as 0 or 1."""
        if node.to != "real":
            raise NoArrayFormError("a cast")
        return self.write(node.value)

    # --- arrangement

    def permute(self, node: p.Permute) -> Text:
        """``.T``, ``.mT``, ``.transpose`` or ``.permute``."""
        value, order = self.write(node.value), node.order
        moved = [n - len(order) for n, o in enumerate(order) if n - len(order) != o]
        if moved == [-2, -1]:
            return fill("{0}.mT" if node.has_batch or len(order) > 2 else "{0}.T", value)
        if len(moved) == 2:
            return method(value, "transpose", *(self.axis(node, a) for a in moved))
        if node.has_batch:
            letters = string.ascii_lowercase[: len(order)]
            target = "".join(letters[o] for o in order)
            return call("einsum", f'"...{letters}->...{target}"', value.text)
        return method(value, "permute", *(str(o + len(order)) for o in order))

    def reshape(self, node: p.Reshape) -> Text:
        """``.reshape``, without batch axes."""
        if has_batch(node.shape) or ROWS in node.shape:
            raise NoArrayFormError("the batch axes' extents")
        return method(self.write(node.value), "reshape", *(self.extents(node.shape) or ["()"]))

    def broadcast_to(self, node: p.BroadcastTo) -> Text:
        """``.expand``, without batch axes."""
        if isinstance(node.value, p.Scalar):
            return self.full(p.Full(node.shape, node.value.value))
        if has_batch(node.shape) and not node.value.has_batch:
            raise NoArrayFormError("the batch axes' extents")
        if node.value.shape == () or node.value.has_batch:
            return self.write(p.Map("mul", (node.value, p.Full(plain(node.shape), S.One))))
        return method(self.write(node.value), "expand", *self.extents(node.shape))

    def flip(self, node: p.Flip) -> Text:
        """``.flip``."""
        return method(self.write(node.value), "flip", *(self.axis(node, a) for a in node.axes))

    def roll(self, node: p.Roll) -> Text:
        """``.roll``."""
        return method(self.write(node.value), "roll", self.size(node.shift), self.axis(node, node.axis))

    def concat(self, node: p.Concat) -> Text:
        """Of parts with one entry each, the sum of what is masked at all places but its own."""
        if self.stacked(node) is None:
            raise NoArrayFormError("tensors side by side")
        masked = [only_at(p.Integer(n), part, node, node.axis) for n, part in enumerate(node.parts)]
        return self.write(functools.reduce(lambda a, b: p.Map("add", (a, b)), masked))

    def place(self, node: p.Place) -> Text:
        """Of one entry of an axis, what is masked at all other places."""
        taken = [(n - len(node.items), i) for n, i in enumerate(node.items) if i is not None]
        axis, item = taken[0]
        if len(taken) != 1 or not isinstance(item, p.At):
            raise NoArrayFormError("a slice that is assigned")
        return self.write(only_at(item.position, p.Expand(node.value, (axis,)), node, axis))

    def slice(self, node: p.Slice) -> Text:
        """A subscript; of a gathered entry, the sum against ``one_hot``."""
        gathered = node.value
        if isinstance(gathered, p.Gather) and isinstance(node.items[-1], p.At) and not any(node.items[:-1]):
            return self._picked(gathered, keepdim=False)
        return super().slice(node)

    def diagonal(self, node: p.Diagonal) -> Text:
        """``diag(A)`` of a matrix."""
        if len(node.shape) != 1:
            raise NoArrayFormError("the diagonals of a stack of matrices")
        return call("diag", self.write(node.value).text)

    def diag_embed(self, node: p.DiagEmbed) -> Text:
        """``diag(v)`` of a vector."""
        if len(node.shape) != 2 or node.has_batch:
            raise NoArrayFormError("a stack of diagonal matrices")
        return call("diag", self.write(node.value).text)

    # --- computed places

    def gather(self, node: p.Gather) -> Text:
        """One entry a row: the sum of the row against ``one_hot``."""
        return self._picked(node, keepdim=True)

    def _picked(self, node: p.Gather, keepdim: bool) -> Text:
        marks = self._marks(node.index, node.axis, node.value.shape[-1])
        return self.reduce(p.Reduce("sum", p.Map("mul", (node.value, marks)), (-1,), keepdim))

    def _marks(self, index: p.Node, axis: int, classes: Expr) -> OneHot:
        """``one_hot`` of an index array that has one entry along ``axis``, the last one."""
        if axis != -1 or not isinstance(index, p.Expand) or index.axes != (-1,):
            raise NoArrayFormError("several places along an axis")
        return OneHot(index.value, classes)

    def scatter_add(self, node: p.ScatterAdd) -> Text:
        """``base + source * one_hot(t, C)``."""
        marks = self._marks(node.index, node.axis, node.shape[-1])
        value = p.constant(node.source)
        source = node.source if value is None else p.Scalar(value)
        placed: p.Node = marks if value == 1 else p.Map("mul", (source, marks))
        return self.write(placed if node.base is None else p.Map("add", (node.base, placed)))

    def index_add(self, node: p.IndexAdd) -> Text:
        """``one_hot(t, V).T @ dy`` along the first axis, ``dy @ one_hot(t, V)`` along the last."""
        placed = self._placed(node)
        return self.write(placed if node.base is None else p.Map("add", (node.base, placed)))

    def _placed(self, node: p.IndexAdd) -> p.Node:
        places = [(n - len(node.indices), i) for n, i in enumerate(node.indices) if i is not None]
        axis, index = places[0]
        marks = OneHot(index, node.shape[axis])
        first, last = axis == -len(node.shape), axis == -1
        if len(places) > 1 or not (first or (last and len(index.shape) == 1)):
            raise NoArrayFormError("places along several axes")
        if not first:
            return p.MatMul(node.source, marks)
        if len(marks.shape) == 2 and len(node.source.shape) <= 2 and not index.has_batch:
            return p.MatMul(p.Permute(marks, (-1, -2)), node.source)
        letters = string.ascii_lowercase
        own, after = letters[: index.rank], letters[index.rank : len(node.source.shape) - has_batch(node.source.shape)]
        terms = (f"{own}z", f"{own}{after}")
        if index.has_batch:
            return Summed(terms, f"z{after}", (marks, node.source))
        return p.Einsum(f"{terms[0]},{terms[1]}->z{after}", (marks, node.source))

    def summed(self, node: Summed) -> Text:
        """An ``einsum`` that sums over the batch axes."""
        pairs = zip(node.terms, node.operands, strict=True)
        return self._contraction([(f"...{t}", o) for t, o in pairs], node.output)

    # --- reductions

    def reduce(self, node: p.Reduce) -> Text:
        """``.sum(0)``; ``.sum(...)`` is over the batch axes."""
        value = node.value
        if isinstance(value, p.Reshape) and is_flat(value):
            value = value.value
        whole = len(node.axes) == len(value.shape) and not node.keepdim
        if whole and node.op == "sum" and isinstance(value, p.Diagonal) and len(value.shape) == 1:
            return call("trace", self.write(value.value).text)
        batch = -len(value.shape)
        own = tuple(a for a in node.axes if not (has_batch(value.shape) and a == batch))
        if len(own) < len(node.axes) and not whole:
            inner = p.Reduce(node.op, value, own, node.keepdim) if own else value
            return self._reduced(node.op, self.write(inner), "...", "")
        axes = "" if whole else self.axes(value, node.axes)
        return self._reduced(node.op, self.write(value), axes, "keepdim=True" if node.keepdim else "")

    def _reduced(self, op: str, value: Text, axes: str, keepdim: str) -> Text:
        if op in _METHODS:
            return method(value, op, axes, keepdim)
        return call(op, value.text, axes, keepdim)

    def scan(self, node: p.Scan) -> Text:
        """``.cumsum``; from the end by flipping twice."""
        if node.op != "sum":
            raise NoArrayFormError(f"a running {node.op}")
        value, axis = self.write(node.value), self.axis(node, node.axis)
        if not node.reverse:
            return method(value, "cumsum", axis)
        return method(method(method(value, "flip", axis), "cumsum", axis), "flip", axis)

    def normalise(self, node: p.Normalise) -> Text:
        """``softmax(z, -1)``."""
        return call(node.op, self.write(node.value).text, self.axis(node, node.axis))

    def grouped(self, node: p.Grouped) -> Text:
        """A maximum over the entries that a mask leaves in each group."""
        reduced = p.Reduce("logsumexp" if node.op == "softmax" else node.op, by_group(node), (node.axis,))
        if node.op != "softmax":
            return self.write(reduced)
        places = [node.index if a == node.axis else None for a in range(-node.rank, 0)]
        return self.write(p.Map("exp", (p.Map("sub", (node.value, p.Take(reduced, tuple(places)))),)))

    # --- linear algebra

    def mat_mul(self, node: p.MatMul) -> Text:
        """``a @ b``; an ``einsum`` where it sums over the batch axes."""
        if len(node.left.shape) == len(node.right.shape) == 2 and not (node.left.has_batch or node.right.has_batch):
            rows, columns = two_letters(node.shape)
            left, right = peeled(node.left, f"{rows}s"), peeled(node.right, f"s{columns}")
            if "..." in left[0] or "..." in right[0]:
                return self._contraction([left, right], rows + columns)
        return super().mat_mul(node)

    def einsum(self, node: p.Einsum) -> Text:
        """``einsum("nk,jk->nj", x, W)``; operands with flattened batch axes have them written ``...``."""
        inputs, _, output = node.equation.partition("->")
        pairs = zip(node.operands, inputs.split(","), strict=True)
        return self._contraction([peeled(o, t) if "..." not in t else (t, o) for o, t in pairs], output)

    def _contraction(self, operands: list[tuple[str, p.Node]], output: str) -> Text:
        terms = [term for term, _ in operands]
        used = {c for term in terms for c in term}
        if not set(output.replace("...", "")) <= used:
            raise NoArrayFormError("flattened batch axes in a result")
        return call("einsum", f'"{",".join(terms)}->{output}"', *(self.write(o).text for _, o in operands))

    def matrix(self, node: p.Matrix) -> Text:
        """``A.inv()``, ``det(A)``, ``logdet(A)``, ``cholesky(A)``."""
        return fill(_MATRIX[node.op], self.write(node.value))

    def solve(self, node: p.Solve) -> Text:
        """``solve(A, B)``."""
        return call("solve", self.write(node.matrix).text, self.write(node.right).text)
