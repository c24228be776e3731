"""The borders that a claim itself draws: ``where(x > 0.5, ...)`` has one at x = 0.5, ``1 / (x - w)`` one at x = w.

Random points may all lie on one side of such a border, or between it and the right one, so points are looked for on
each side of it, and on it where what is on it counts. A border is a difference: it has one sign on one side, another on
the other. Of conditions that must hold together there is one more, positive where all of them hold.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING

from symderive.claims.lines import Line, names_in
from symderive.claims.trees import bound_in
from symderive.spec import model, syntax

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

BOTH, ALL, POLE, BELOW = (-1, 1), (-1, 1, 0), (0,), (-1,)
"""The signs that a border must be seen with: on both sides, on it as well, just there, where there is no value."""


@dataclass(frozen=True, eq=False)
class Border:
    """A difference that decides something by its sign, and where it stands.

    ``root`` is the expression, of the claim or of a helper, that gives its indices their ranges; ``line`` is its line.
    With a ``step`` it decides by the integer below: where ``node + step`` passes one. ``axis`` of a tensor is what a
    padded position must stay in: the difference is then taken from the end of that. Its ``parts`` are the borders, with
    signs, of which it is the smallest.
    """

    node: syntax.Node
    signs: tuple[int, ...]
    root: syntax.Node
    line: Line
    step: Fraction | None = None
    axis: tuple[str, int] | None = None
    parts: tuple[tuple[Border, int], ...] = ()

    @property
    def indexed(self) -> bool:
        """Whether it is written in index form."""
        return self.line.indices is not None or isinstance(self.root, syntax.Binder)


def borders(trial: Trial) -> list[Border]:
    """The borders of a claim and of the helpers that it uses, those of the claim first, without repetitions."""
    found: dict[tuple[syntax.Node, Fraction | None, tuple[str, int] | None], Border] = {}
    for root, line in trial.sides():
        for border in _inside(root, root, line):
            key = border.node, border.step, border.axis
            if key not in found or len(found[key].signs) < len(border.signs):
                found[key] = border
    return list(found.values())


def of_forward(spec: model.Spec) -> list[Border]:
    """The borders that the equations of a spec draw."""
    found: dict[tuple[str, syntax.Node, Fraction | None, tuple[str, int] | None], Border] = {}
    for equation in spec.equations:
        for border in _inside(equation.right, equation.right, _as_line(equation)):
            found.setdefault((equation.tensor, border.node, border.step, border.axis), border)
    return list(found.values())


def _as_line(equation: model.Equation) -> Line:
    """An equation as a line that defines its tensor."""
    indices = tuple(syntax.Batch() if i == syntax.BATCH else syntax.Name(i) for i in equation.indices)
    left = syntax.Access(equation.tensor, indices) if indices else syntax.Name(equation.tensor)
    return Line(syntax.Statement(left, (equation.right,)), "", "helper", equation.tensor, indices)


def _inside(node: syntax.Node, root: syntax.Node, line: Line) -> Iterator[Border]:
    """The borders in an expression; in array form, a reduction over indices gives ranges of its own."""
    if line.indices is None and isinstance(node, syntax.Binder) and not isinstance(root, syntax.Binder):
        root = node
    yield from (replace(b, root=root, line=line) for b in _drawn(node))
    for child in node.children():
        yield from _inside(child, root, line)


def together(borders: Sequence[Border]) -> Iterator[Border]:
    """Of each two or three plain borders, what is positive where they have signs that they may not have together."""
    plain = [b for b in borders if len(b.signs) > 1 and b.step is None and b.axis is None][:MOST_TOGETHER]
    for count in range(len(plain), 1, -1):
        for some in itertools.combinations(plain, count):
            if len({id(b.root) for b in some}) > 1 or any(_meddles(a.node, b.node) for a in some for b in some):
                continue
            for signs in itertools.product((1, -1), repeat=count):
                nodes = [b.node if s > 0 else syntax.Unary("-", b.node) for b, s in zip(some, signs, strict=True)]
                parts = tuple(zip(some, signs, strict=True))
                yield replace(some[0], node=reduce(_smaller, nodes), signs=(1,), parts=parts)


def _meddles(a: syntax.Node, b: syntax.Node) -> bool:
    """Whether an expression binds an index of another, or is one of those of which the other says that all hold."""
    return bool(bound_in(a) & (names_in(b) - bound_in(b))) or a in _joined(b)


def _joined(node: syntax.Node) -> list[syntax.Node]:
    """The differences that a condition joins by ``and``, ``or`` and ``not``."""
    if isinstance(node, syntax.Call | syntax.Unary) and getattr(node, "function", "min") in ("min", "max", "abs"):
        return [part for child in node.children() for part in [child, *_joined(child)]]
    return []


MOST_TOGETHER = 3

_NOWHERE = syntax.Number(Fraction(0))
_LINE = Line(syntax.Statement(_NOWHERE, (_NOWHERE,)), "", "helper", "", None)


def _border(node: syntax.Node, signs: tuple[int, ...], step: Fraction | None = None) -> Border:
    return Border(node, signs, _NOWHERE, _LINE, step)


def _drawn(node: syntax.Node) -> Iterator[Border]:
    """The borders that a node draws itself."""
    match node:
        case syntax.Compare(operands=operands):
            yield from (_border(_minus(a, b), ALL) for a, b in itertools.pairwise(operands))
            if len(operands) > 2:
                yield _border(truth(node), _signs(node))
        case syntax.Logical() | syntax.Binder(op="any" | "all"):
            yield _border(truth(node), _signs(node))
        case syntax.Binary(op="/", right=right) if not isinstance(right, syntax.Number):
            yield _border(right, POLE)
        case syntax.Binary(op="//" | "%", left=left, right=right):
            yield _border(syntax.Binary("/", left, right), BOTH, Fraction(0))
        case syntax.Call(function="pad", arguments=(syntax.Access() as access, *_)):
            for n, position in enumerate(access.indices):
                if not isinstance(position, syntax.Name | syntax.Batch):
                    yield _border(position, BOTH)
                    yield replace(_border(position, BOTH), axis=(access.tensor, n))
        case syntax.Call(arguments=arguments) if arguments:
            yield from _of_call(node.function, arguments)


def _of_call(name: str, arguments: tuple[syntax.Node, ...]) -> Iterator[Border]:
    x = arguments[0]
    if name in _SIGNS:
        yield _border(x, _SIGNS[name])
    elif name in _STEPS:
        yield _border(x, BOTH, _STEPS[name])
    elif name in ("max", "min", "delta") and len(arguments) == 2:
        yield _border(_minus(*arguments), ALL if name == "delta" else BOTH)
    elif name == "clamp" and len(arguments) == 3:
        yield from (_border(_minus(x, end), BOTH) for end in arguments[1:])
    elif name in ("asin", "acos"):
        yield _border(_minus(syntax.Number(Fraction(1)), syntax.Call("abs", (x,))), BELOW)


_SIGNS = {
    "abs": BOTH, "relu": BOTH, "leaky_relu": BOTH, "elu": BOTH, "sign": ALL,
    "log": BELOW, "sqrt": BELOW, "rsqrt": BELOW,
}  # fmt: skip
_STEPS = {"floor": Fraction(0), "round": Fraction(1, 2)}


def _minus(a: syntax.Node, b: syntax.Node) -> syntax.Node:
    return a if b == syntax.Number(Fraction(0)) else syntax.Binary("-", a, b)


# Conditions as numbers


def truth(node: syntax.Node) -> syntax.Node:
    """A number that is positive, or 0 for an equality, where a condition holds, and negative where it does not."""
    match node:
        case syntax.Compare(ops=ops, operands=operands):
            parts = zip(ops, operands, operands[1:], strict=False)
            return reduce(_smaller, [_compared(op, a, b) for op, a, b in parts])
        case syntax.Logical(op=op, operands=operands):
            return reduce(_smaller if op == "and" else _larger, map(truth, operands))
        case syntax.Not(operand=operand):
            return syntax.Unary("-", truth(operand))
        case syntax.Binder(op="any" | "all", body=body):
            return replace(node, op="max" if node.op == "any" else "min", body=truth(body))
    return syntax.Binary("-", syntax.Binary("*", syntax.Number(Fraction(2)), node), syntax.Number(Fraction(1)))


def _signs(node: syntax.Node) -> tuple[int, ...]:
    """The signs that the number of a condition can have: that of an equality is never positive."""
    match node:
        case syntax.Compare(ops=ops):
            found = {s for op in ops for s in {"==": (-1, 0), "!=": (0, 1)}.get(op, ALL)}
        case syntax.Logical(operands=operands):
            found = {s for o in operands for s in _signs(o)}
        case syntax.Not(operand=operand):
            found = {-s for s in _signs(operand)}
        case syntax.Binder(op="any" | "all", body=body):
            found = {*_signs(body)}
        case _:
            found = {-1, 1}
    return tuple(s for s in ALL if s in found)


def _compared(op: str, a: syntax.Node, b: syntax.Node) -> syntax.Node:
    if op in ("==", "!="):
        apart: syntax.Node = syntax.Call("abs", (_minus(a, b),))
        return apart if op == "!=" else syntax.Unary("-", apart)
    return _minus(b, a) if op in ("<", "<=") else _minus(a, b)


def _smaller(a: syntax.Node, b: syntax.Node) -> syntax.Node:
    return syntax.Call("min", (a, b))


def _larger(a: syntax.Node, b: syntax.Node) -> syntax.Node:
    return syntax.Call("max", (a, b))
