"""The syntax tree of the language: what a parser reads, a printer writes and an evaluator walks.

Index form and array form share one expression grammar, a subset of Python's. Nodes are frozen and compare
by meaning: the ``span`` of a node says where it stands and takes no part in equality.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, fields
from fractions import Fraction

from symderive.errors import NOWHERE, Span
from symderive.record import record

BATCH = "..."
"""The name of the index that stands for all leading batch axes."""


@record
class Node:
    """An expression. Subclasses add their parts before ``span``."""

    span: Span = field(default=NOWHERE, compare=False, kw_only=True, repr=False)

    def children(self) -> tuple[Node, ...]:
        """The expressions directly inside this one, in reading order."""
        found: tuple[Node, ...] | None = self.__dict__.get("inside")
        if found is None:
            found = self.__dict__["inside"] = tuple(_nodes([getattr(self, p) for p in _part_names(type(self))]))
        return found

    def walk(self) -> Iterator[Node]:
        """This node and every one below it, parents first."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children()))

    @property
    def size(self) -> int:
        """How many nodes there are: this one and every one below it."""
        return _facts(self)[0]

    @property
    def called(self) -> frozenset[str]:
        """The functions that are called here or below."""
        return _facts(self)[1]

    @property
    def positional(self) -> bool:
        """Whether it is made of what may stand in an index position or a condition on indices, and of nothing else."""
        return _facts(self)[2]


def _facts(node: Node) -> tuple[int, frozenset[str], bool]:
    """Size, functions called, and whether it is positional: worked out once for each node."""
    found: tuple[int, frozenset[str], bool] | None = node.__dict__.get("facts")
    if found is None:
        size, called = 1, frozenset([node.function] if isinstance(node, Call) else ())
        positional = isinstance(node, _POSITIONAL) or called == {"delta"}
        for child in node.children():
            below, inside, plain = _facts(child)
            size, called = size + below, called | inside if inside else called
            positional = positional and plain
        found = node.__dict__["facts"] = size, called, positional
    return found


_PART_NAMES: dict[type, tuple[str, ...]] = {}


def _part_names(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a node class but its span; looked up once, for trees are walked often."""
    if kind not in _PART_NAMES:
        _PART_NAMES[kind] = tuple(part.name for part in fields(kind) if part.name != "span")
    return _PART_NAMES[kind]


def _nodes(items: Iterable[object]) -> Iterator[Node]:
    for item in items:
        if isinstance(item, Node):
            yield item
        elif isinstance(item, tuple):
            yield from _nodes(item)


@record
class Number(Node):
    """An exact number, never negative: ``1/2`` is a division of two, ``0.5`` the rational one half."""

    value: Fraction


@record
class Name(Node):
    """A scalar tensor, a constant, a size, an index, ``pi``, ``inf``, or (in array form) a whole tensor."""

    id: str


@record
class Batch(Node):
    """``...`` in an index position."""


@record
class Access(Node):
    """``x[i, k + 1]``: one entry of a tensor; an index position holds an integer expression or :class:`Batch`."""

    tensor: str
    indices: tuple[Node, ...]


@record
class Unary(Node):
    """``-a`` or ``+a``."""

    op: str
    operand: Node


@record
class Binary(Node):
    """``a op b`` with ``op`` one of ``+ - * / ** // %``, and ``@`` in array form."""

    op: str
    left: Node
    right: Node


@record
class Compare(Node):
    """``a < b``, or a chain ``lo <= x <= hi``: ``operands`` has one more entry than ``ops``."""

    ops: tuple[str, ...]
    operands: tuple[Node, ...]


@record
class Logical(Node):
    """``a and b and c`` or ``a or b``."""

    op: str
    operands: tuple[Node, ...]


@record
class Not(Node):
    """``not a``."""

    operand: Node


@record
class Call(Node):
    """``exp(x)``, ``where(c, a, b)``, ``pad(x[i - 1], 0)``, ``delta(i, j)``, ``D(y[i], x[k])``, ``linear(x, W, b)``."""

    function: str
    arguments: tuple[Node, ...]
    keywords: tuple[tuple[str, Node], ...] = ()


@record
class Binder(Node):
    """``sum[i, j : condition](body)``: ``op`` over the named indices.

    Reductions (``sum``, ``max``, ``argmax``, ``det``, ...) bind the indices; ``softmax``, ``log_softmax`` and ``inv``
    bind them inside the body and keep them free outside: see :func:`symderive.spec.functions.kept`. ``more`` are the
    operands behind the body: the right side of ``solve[i, j](A[i, j], b[i])``.
    """

    op: str
    indices: tuple[str, ...]
    condition: Node | None
    body: Node
    more: tuple[Node, ...] = ()


@record
class Attribute(Node):
    """``dy.T``, or one output of a called spec, ``lstm_cell(...).h``."""

    value: Node
    name: str


@record
class Method(Node):
    """``dy.sum(0, keepdim=True)`` and ``F.linear(x, W, b)`` (where ``value`` is the name ``F``)."""

    value: Node
    name: str
    arguments: tuple[Node, ...]
    keywords: tuple[tuple[str, Node], ...] = ()


@record
class Subscript(Node):
    """``v[:, None]``, ``(A @ x)[0]``, ``linear(x, W, b)[i, j]``: a subscript that is not a plain :class:`Access`."""

    value: Node
    items: tuple[Node, ...]


@record
class Slice(Node):
    """``start:stop:step`` in a subscript of array form."""

    start: Node | None
    stop: Node | None
    step: Node | None


@record
class Keyword(Node):
    """``None``, ``True`` or ``False`` in array form."""

    value: bool | None


@record
class Text(Node):
    """A string literal, as in ``einsum("nk,jk->nj", x, W)``."""

    value: str


@record
class Listing(Node):
    """``(0, 1)`` or ``[0, 1]`` in array form."""

    items: tuple[Node, ...]


@record
class Statement(Node):
    """``left = side = side ...``: an equation has one side, a claim may chain several."""

    left: Node
    sides: tuple[Node, ...]

    @property
    def right(self) -> Node:
        """The last side, which of an equation is the only one."""
        return self.sides[-1]


def operands(node: Node, op: str) -> Iterator[Node]:
    """The operands of a chain of one operator, in order."""
    if isinstance(node, Binary) and node.op == op:
        yield from operands(node.left, op)
        yield from operands(node.right, op)
    else:
        yield node


_POSITIONAL = (Number, Name, Batch, Unary, Binary, Compare, Logical, Not)


def names(node: Node) -> Iterator[str]:
    """Every tensor and every other name that an expression mentions, parents first, as often as it does."""
    for n in node.walk():
        if isinstance(n, Access):
            yield n.tensor
        elif isinstance(n, Name):
            yield n.id
