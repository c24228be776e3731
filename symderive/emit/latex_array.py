r"""Array form as LaTeX: ``dW = dy.T @ x`` is :math:`\nabla_W L = (\nabla_y L)^\top x \in \mathbb{R}^{J \times K}`.

The axes that something goes along are always in sight: ``a.sum(-1, keepdim=True)`` is
:math:`\sum_{\text{axis } -1}^{\text{keep}} a`, where *keep* says that the axis stays, with one entry. Products entry
by entry are :math:`\odot`; functions, quotients and conditions go entry by entry too, as in array form itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from symderive.emit.latex_calls import CALLS
from symderive.emit.latex_names import Notation, symbol, verbatim
from symderive.emit.latex_nodes import NODES, factors_of
from symderive.emit.latex_printer import Handler, Printer
from symderive.emit.latex_ranks import as_call, dims_of, rank
from symderive.emit.latex_tex import Level, Tex, brackets, parentheses, product, subscript, with_foot
from symderive.errors import UnsupportedError
from symderive.spec.functions import FUNCTIONS
from symderive.spec.syntax import (
    Access,
    Attribute,
    Batch,
    Binary,
    Call,
    Keyword,
    Listing,
    Method,
    Name,
    Node,
    Slice,
    Subscript,
    Text,
)

BIG = {"sum": r"\sum", "prod": r"\prod", "amax": r"\max", "amin": r"\min", "argmax": r"\arg\max", "argmin": r"\arg\min"}
BIG |= {"max": r"\max", "min": r"\min"}
APPLIED = {"mean": r"\mathrm{mean}", "logsumexp": r"\mathrm{logsumexp}", "any": r"\mathrm{any}", "all": r"\mathrm{all}"}
NORMALISERS = {"softmax": r"\mathrm{softmax}", "log_softmax": r"\log \mathrm{softmax}"}
NORMALISERS |= {"cumsum": r"\mathrm{cumsum}", "cumprod": r"\mathrm{cumprod}"}
FILLED = {"ones": r"\mathbf{1}", "zeros": r"\mathbf{0}", "eye": "I"}
HEADS = {
    "diag": r"\mathrm{diag}",
    "trace": r"\mathrm{tr}",
    "det": r"\det",
    "logdet": r"\log\det",
    "cholesky": r"\mathrm{chol}",
}


class ArrayPrinter(Printer):
    """Prints array form. ``helpers`` are the numbers of axes of what earlier lines have defined."""

    handlers: ClassVar[Mapping[type[Node], Handler]]
    calls: ClassVar[Mapping[str, Handler]]

    def __init__(self, notation: Notation | None = None, small: bool = False) -> None:
        super().__init__(notation, small)
        self.helpers: dict[str, int | None] = {}

    def rank(self, node: Node) -> int | None:
        """The number of axes of an expression, if known."""
        return rank(node, self.rank_of)

    def rank_of(self, name: str) -> int | None:
        """The number of axes of a name, if known."""
        return self.helpers[name] if name in self.helpers else self.notation.rank(name)

    def times(self, factor: Tex, value: Node) -> Tex:
        """A factor in front of an array, entry by entry."""
        if self.rank(value) == 0:
            return super().times(factor, value)
        return Tex(rf"{factor.text} \odot {self.text(value, Level.PRODUCT)}", Level.HADAMARD)


def _name(printer: ArrayPrinter, node: Name) -> Tex:
    if node.id in printer.helpers and not printer.notation.shape(node.id):
        found = symbol(node.id)
        return Tex(found.array(), Level.POWER if found.mark else Level.ATOM)
    return printer.whole(node.id)


def _multiply(printer: ArrayPrinter, node: Binary) -> Tex:
    """Numbers in front, arrays after them."""
    scales, factors = _split(printer, node)
    numbers = [printer.number(factor, Level.PRODUCT) for factor in sorted(scales, key=_is_named)]
    arrays = [printer.number(factor, Level.PRODUCT) for factor in factors]
    if len(arrays) < 2:
        return product([*numbers, *arrays])
    first = Tex(parentheses(arrays[0].text)) if arrays[0].open else arrays[0]
    joined = product([product([*numbers, first]), *arrays[1:]], between=r"\odot")
    return Tex(joined.text, min(joined.level, Level.HADAMARD), open=joined.open, negated=joined.negated)


def _split(printer: ArrayPrinter, node: Node) -> tuple[list[Node], list[Node]]:
    """The numbers and the arrays in a product; a number in front of a matrix product is one of them."""
    if printer.rank(node) == 0 and not (isinstance(node, Binary) and node.op == "@"):
        return factors_of(node, "*"), []
    if isinstance(node, Binary) and node.op == "*":
        left, right = _split(printer, node.left), _split(printer, node.right)
        return left[0] + right[0], left[1] + right[1]
    if isinstance(node, Binary) and node.op == "@":
        numbers, arrays = _split(printer, node.left)
        if numbers and len(arrays) == 1:
            return numbers, [Binary("@", arrays[0], node.right)]
    return [], [node]


def _is_named(node: Node) -> bool:
    return any(isinstance(part, Name) for part in node.walk())


def _matmul(printer: ArrayPrinter, node: Binary) -> Tex:
    numbers, arrays = _split(printer, node.left)
    if numbers and len(arrays) == 1:
        rest = printer.tex(Binary("@", arrays[0], node.right))
        return product([*(printer.number(number, Level.PRODUCT) for number in numbers), rest])
    factors = [node.right]
    left = node.left
    while isinstance(left, Binary) and left.op == "@":
        factors.append(left.right)
        left = left.left
    return product([printer.number(factor, Level.PRODUCT) for factor in (left, *reversed(factors))])


def _power(printer: ArrayPrinter, node: Binary) -> Tex:
    plain = NODES[Binary](printer, node)
    if printer.rank(node.left) == 0 or plain.text.startswith(r"\sqrt"):
        return plain
    exponent = printer.script.text(node.right)
    return Tex(rf"{printer.text(node.left, Level.ATOM)}^{{\odot {exponent}}}", Level.POWER)


OPERATORS: Mapping[str, Callable[[ArrayPrinter, Binary], Tex]] = {"*": _multiply, "@": _matmul, "**": _power}


def _binary(printer: ArrayPrinter, node: Binary) -> Tex:
    return OPERATORS.get(node.op, NODES[Binary])(printer, node)


def _is_inverse(node: Node) -> bool:
    return (isinstance(node, Method) and node.name == "inv") or (isinstance(node, Call) and node.function == "inv")


def _attribute(printer: ArrayPrinter, node: Attribute) -> Tex:
    if node.name not in ("T", "mT"):
        raise UnsupportedError(f".{node.name} has no LaTeX")
    if _is_inverse(node.value):
        value = node.value.value if isinstance(node.value, Method) else node.value.children()[0]
        return Tex(rf"{printer.text(value, Level.ATOM)}^{{-\top}}", Level.POWER)
    if isinstance(node.value, Name) and node.value.id not in {*printer.notation.gradients, *printer.notation.totals}:
        found = printer.notation.symbol(node.value.id)
        if found.mark:
            return Tex(rf"{found.base}^{{({found.mark})\top}}", Level.POWER)
    return Tex(rf"{printer.text(node.value, Level.ATOM)}^\top", Level.POWER)


# Parts of arrays


def _item(printer: ArrayPrinter, item: Node) -> str:
    if isinstance(item, Keyword) and item.value is None:
        return r"\mathrm{new}"
    if isinstance(item, Slice):
        start, stop, step = (printer.index(end) if end else "" for end in (item.start, item.stop, item.step))
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"
    return printer.index(item)


def _part(printer: ArrayPrinter, whole: str, items: Sequence[Node]) -> Tex:
    shown = with_foot(whole, f"[{', '.join(_item(printer, item) for item in items)}]")
    return Tex(shown, Level.POWER if "^" in whole else Level.ATOM)


def _access(printer: ArrayPrinter, node: Access) -> Tex:
    return _part(printer, printer.text(Name(node.tensor), Level.POWER), node.indices)


def _subscript(printer: ArrayPrinter, node: Subscript) -> Tex:
    return _part(printer, printer.text(node.value, Level.ATOM), node.items)


# Functions


def _axes(printer: ArrayPrinter, dims: Node | None) -> str:
    if dims is None:
        return r"\text{all}"
    if isinstance(dims, Batch):
        return r"\text{batch}"
    if isinstance(dims, Listing):
        word = "axis" if len(dims.items) == 1 else "axes"
        return rf"\text{{{word} }} " + ", ".join(printer.index(item) for item in dims.items)
    return rf"\text{{axis }} {printer.index(dims)}"


def _reduction(printer: ArrayPrinter, call: Call) -> Tex:
    dims, keep = dims_of(call)
    if {key for key, _ in call.keywords} - {"dim", "axis", "keepdim", "keepdims"} or len(call.arguments) > 3:
        raise UnsupportedError(f"{call.function} with these arguments has no LaTeX")
    scripts = rf"_{{{_axes(printer, dims)}}}" + (r"^{\text{keep}}" if keep else "")
    if call.function in APPLIED:
        return printer.applied(APPLIED[call.function] + scripts, [printer.text(call.arguments[0])])
    body = printer.text(call.arguments[0], Level.PRODUCT)
    level = Level.PRODUCT if call.function in ("sum", "prod") else Level.MODULO
    return Tex(f"{BIG[call.function]}{scripts} {body}", level, open=True)


def _along(printer: ArrayPrinter, call: Call) -> Tex:
    """A function along one axis, such as softmax."""
    dims, keep = dims_of(call)
    if dims is None or keep or len(call.arguments) + len(call.keywords) != 2:
        raise UnsupportedError(f"{call.function} needs one axis to have LaTeX")
    return printer.applied(
        rf"{NORMALISERS[call.function]}_{{{_axes(printer, dims)}}}", [printer.text(call.arguments[0])]
    )


def _one_hot(printer: ArrayPrinter, call: Call) -> Tex:
    ids, classes = _exactly(call, 2)
    return printer.applied(rf"\mathrm{{onehot}}_{{{printer.index(classes)}}}", [printer.text(ids)])


def _exactly(call: Call, count: int) -> tuple[Node, ...]:
    if len(call.arguments) != count or call.keywords:
        raise UnsupportedError(f"{call.function} takes {count} arguments")
    return call.arguments


def _outer(printer: ArrayPrinter, call: Call) -> Tex:
    left, right = _exactly(call, 2)
    return product([printer.number(left, Level.PRODUCT), printer.tex(Attribute(right, "T"))])


def _inverse(printer: ArrayPrinter, call: Call) -> Tex:
    (matrix,) = _exactly(call, 1)
    return Tex(rf"{printer.text(matrix, Level.ATOM)}^{{-1}}", Level.POWER)


def _solution(printer: ArrayPrinter, call: Call) -> Tex:
    """``solve(A, B)`` is the inverse of A times B."""
    matrix, right = _exactly(call, 2)
    inverse: Node = Call("inv", (matrix,))
    if isinstance(matrix, Attribute) and matrix.name in ("T", "mT"):
        inverse = Attribute(Call("inv", (matrix.value,)), matrix.name)
    return printer.tex(Binary("@", inverse, right))


def _filled(printer: ArrayPrinter, call: Call) -> Tex:
    sizes = call.arguments[0].items if isinstance(call.arguments[0], Listing) else call.arguments
    if call.keywords:
        raise UnsupportedError(f"{call.function} with keywords has no LaTeX")
    shape = r" \times ".join(printer.script.text(size, Level.MODULO) for size in sizes)
    return Tex(rf"{FILLED[call.function]}_{{{shape}}}")


def _headed(printer: ArrayPrinter, call: Call) -> Tex:
    return printer.applied(HEADS[call.function], [printer.text(_exactly(call, 1)[0])])


def _letters(text: str) -> list[str]:
    return [r"\ldots" if letter == "…" else letter for letter in text.strip().replace("...", "…")]


def _einsum(printer: ArrayPrinter, call: Call) -> Tex:
    r"""``einsum("nk,jk->nj", x, W)`` is the array of :math:`\sum_k x_{nk} W_{jk}` over n and j."""
    rule, *operands = call.arguments
    if not isinstance(rule, Text) or "->" not in rule.value or call.keywords:
        raise UnsupportedError("einsum needs a rule with an arrow to have LaTeX")
    inputs, output = rule.value.split("->")
    scripts = [_letters(part) for part in inputs.split(",")]
    if len(scripts) != len(operands):
        raise UnsupportedError("einsum needs as many operands as its rule has")
    free = _letters(output)
    summed = list(dict.fromkeys(letter for letters in scripts for letter in letters if letter not in free))
    body = product([_entry(printer, node, letters) for node, letters in zip(operands, scripts, strict=True)])
    total = rf"\sum_{{{', '.join(summed)}}} {body.text}" if summed else body.text
    if not free:
        return Tex(total, Level.PRODUCT, open=bool(summed))
    return Tex(rf"{brackets(total)}_{{{subscript(free)}}}")


def _entry(printer: ArrayPrinter, node: Node, letters: Sequence[str]) -> Tex:
    if isinstance(node, Name) and node.id not in printer.helpers:
        return printer.entry(node.id, letters)
    return Tex(with_foot(printer.text(node, Level.ATOM), subscript(letters)))


def _generic(printer: ArrayPrinter, call: Call) -> Tex:
    """Any other function: its name and everything that it is given."""
    arguments = [_argument(printer, argument) for argument in call.arguments]
    arguments += [rf"{verbatim(key)} = {_argument(printer, value)}" for key, value in call.keywords]
    return printer.applied(verbatim(call.function), arguments)


def _argument(printer: ArrayPrinter, node: Node) -> str:
    if isinstance(node, Text):
        return rf"\text{{{node.value}}}" if node.value.isalnum() else verbatim(node.value)
    if isinstance(node, Keyword):
        return rf"\mathrm{{{node.value}}}"
    if isinstance(node, Listing):
        return parentheses(", ".join(_argument(printer, item) for item in node.items))
    return printer.text(node, Level.SUM)


_TABLE: dict[str, Handler] = {
    **CALLS,
    **dict.fromkeys((*BIG, *APPLIED), _reduction),
    **dict.fromkeys(NORMALISERS, _along),
    **dict.fromkeys(FILLED, _filled),
    **dict.fromkeys(HEADS, _headed),
    "one_hot": _one_hot,
    "outer": _outer,
    "inv": _inverse,
    "solve": _solution,
    "einsum": _einsum,
    "maximum": lambda printer, call: CALLS["max"](printer, Call("max", _exactly(call, 2))),
    "minimum": lambda printer, call: CALLS["min"](printer, Call("min", _exactly(call, 2))),
}


def _method(printer: ArrayPrinter, node: Method) -> Tex:
    call = as_call(node)
    if node.name in ("max", "min"):
        return _reduction(printer, call)
    return _call(printer, call)


def _call(printer: ArrayPrinter, call: Call) -> Tex:
    if call.function in ("max", "min") and len(call.arguments) == 2 and not call.keywords:
        return CALLS[call.function](printer, call)
    if call.function in printer.calls:
        return printer.calls[call.function](printer, call)
    if call.function in FUNCTIONS and not call.keywords:
        return printer.row(call.function, call.arguments)
    return _generic(printer, call)


ArrayPrinter.calls = _TABLE
ArrayPrinter.handlers = NODES | {
    Name: _name,
    Binary: _binary,
    Attribute: _attribute,
    Access: _access,
    Subscript: _subscript,
    Call: _call,
    Method: _method,
}
