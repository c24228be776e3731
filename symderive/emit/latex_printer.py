"""What every printer of LaTeX shares: names, entries, gradients, functions and equations.

A :class:`Printer` walks a syntax tree and puts brackets where a reader needs them; a subclass has the table of what it
can print.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from symderive.emit.latex_lines import WIDEST, lay_out, measure
from symderive.emit.latex_names import Notation
from symderive.emit.latex_signs import is_number, masked, without_minus
from symderive.emit.latex_tail import HOLE, Hole, fill, tail
from symderive.emit.latex_tex import Level, Tex, brackets, is_tall, negative, parentheses, product, subscript
from symderive.errors import UnsupportedError
from symderive.spec.functions import FUNCTIONS, counted
from symderive.spec.syntax import Binary, Binder, Compare, Logical, Node, Not, Number, Unary

TRUTHS = ("any", "all")
EXTREMA = ("max", "min", "argmax", "argmin")

_ROW_LEVELS: dict[str, tuple[Level, Level]] = {
    "square": (Level.POWER, Level.ATOM),
    "rsqrt": (Level.FRACTION, Level.ANY),
    "sqrt": (Level.ATOM, Level.ANY),
    "abs": (Level.ATOM, Level.ANY),
    "floor": (Level.ATOM, Level.ANY),
    "expm1": (Level.SUM, Level.CASES),
    "log1p": (Level.APPLY, Level.SUM),
}
"""How tightly a function's LaTeX binds, and how tightly its argument must; for the others see ``_APPLIED``."""

_APPLIED = (Level.APPLY, Level.CASES)

Handler = Callable[[Any, Any], Tex]


class Printer:
    """Turns syntax trees of index form into LaTeX. A ``small`` one writes scripts, where fractions are slanted."""

    handlers: ClassVar[Mapping[type[Node], Handler]]
    calls: ClassVar[Mapping[str, Handler]]

    def __init__(self, notation: Notation | None = None, small: bool = False) -> None:
        self.notation = notation or Notation()
        self.small = small
        self.script = self if small else type(self)(self.notation, small=True)

    def tex(self, node: Node) -> Tex:
        """A node as a piece of LaTeX."""
        if isinstance(node, Hole):
            return Tex(HOLE)
        handler = self.handlers.get(type(node))
        if handler is None:
            raise UnsupportedError(f"{type(node).__name__} has no LaTeX")
        return handler(self, node)

    def number(self, node: Node, least: Level = Level.CASES) -> Tex:
        """A node where a number is expected: a condition counts as 0 or 1, a minus goes in front.

        In a larger expression ``where(c, a, 0)`` is a times a factor that is 1 where c holds.
        """
        if is_truth(node):
            return Tex(r"\mathbf{1}" + brackets(self.tex(node).text))
        mask = masked(node)
        if mask is not None and least <= Level.CASES:
            return self.tex(node)
        minus, rest = without_minus(node)
        if minus:
            return negative(self.number(rest, Level.HADAMARD))
        return self.tex(rest) if mask is None else self._where_true(*(masked(rest) or mask))

    def text(self, node: Node, least: Level = Level.ANY) -> str:
        """A node where a number is expected, bracketed where it binds less tightly than ``least``."""
        return self.number(node, max(least, Level.CASES)).within(least)

    def condition(self, node: Node, least: Level = Level.ANY) -> str:
        """A node where a condition is expected."""
        return self.tex(node).within(least)

    def _where_true(self, test: Node, value: Node) -> Tex:
        factor = Tex(r"\mathbf{1}" + brackets(self.condition(test)))
        return factor if is_number(value, 1) else self.times(factor, value)

    def times(self, factor: Tex, value: Node) -> Tex:
        """A factor in front of a number."""
        return product([factor, self.number(value, Level.PRODUCT)])

    # Names and entries

    def index(self, node: Node) -> str:
        """An index position."""
        return self.script.text(node)

    def entry(self, name: str, items: Sequence[str]) -> Tex:
        """The entry of a tensor at some indices; of a gradient, the derivative by the entry of its tensor."""
        below = rf"_{{{subscript(items)}}}" if items else ""
        for table, d in ((self.notation.gradients, r"\partial"), (self.notation.totals, r"\mathrm{d}")):
            if name in table:
                return self.derivative(self.notation.objective, self.entry(table[name], items).text, d)
        found = self.notation.symbol(name)
        if not items:
            return Tex(self.notation.text(name), Level.POWER if found.mark and self.notation.rank(name) else Level.ATOM)
        return Tex(found.array() + below, Level.POWER if found.mark else Level.ATOM)

    def derivative(self, above: str, below: str, d: str = r"\partial") -> Tex:
        """One quantity differentiated by another."""
        if self.small:
            return Tex(f"{d} {above} / {d} {below}", Level.PRODUCT)
        return Tex(rf"\frac{{{d} {above}}}{{{d} {below}}}", Level.FRACTION)

    def whole(self, name: str) -> Tex:
        r"""A whole tensor; the gradient by one is :math:`\nabla_W L`."""
        for table, mark in ((self.notation.gradients, ""), (self.notation.totals, r"^{\mathrm{total}}")):
            if name in table:
                nabla = rf"\nabla_{{{self.notation.text(table[name])}}}{mark} {self.notation.objective}"
                return Tex(nabla, Level.PRODUCT, open=True)
        return self.entry(name, ())

    # Functions

    def row(self, name: str, arguments: Sequence[Node]) -> Tex:
        """An element-wise function, as its row says."""
        row = FUNCTIONS[name]
        level, least = _ROW_LEVELS.get(name, _APPLIED)
        missing = row.defaults[len(row.defaults) - (len(row.parameters) - len(arguments)) :] if row.defaults else ()
        if len(arguments) + len(missing) != len(row.parameters):
            raise UnsupportedError(f"{name} takes {counted(row.arity)}")
        given = [*arguments, *(Number(Fraction(text)) for text in missing)]
        printers = [self, *(self.script for _ in given[1:])]
        texts = [printer.text(node, least) for printer, node in zip(printers, given, strict=True)]
        pattern = self.notation.pattern(name)
        if is_tall(texts[0]):
            pattern = pattern.replace("(", r"\left(").replace(")", r"\right)")
        return Tex(pattern.format(*texts), level)

    def applied(self, head: str, arguments: Sequence[str]) -> Tex:
        """A function written in front of its arguments."""
        inside = ", ".join(arguments)
        left, right = (r"\left(", r"\right)") if is_tall(inside) else ("(", ")")
        return Tex(f"{head}{left}{inside}{right}", Level.APPLY)

    # Equations

    def terms(self, node: Node) -> list[str]:
        """The terms of a sum, each but the first with its sign in front."""
        if not (isinstance(node, Binary) and node.op in "+-"):
            return [self.text(node)]
        first = self.terms(node.left) if is_sum(node.left) else [self.text(node.left, Level.SUM)]
        if _ends_in_extremum(node.left):
            sign, term = re.fullmatch(r"((?:[+-] ?)?)(.*)", first[-1], re.DOTALL).groups()  # type: ignore[union-attr]
            first[-1] = sign + parentheses(term)
        right = self.text(node.right, Level.SUM if node.op == "+" else Level.HADAMARD)
        if node.op == "+" and right.startswith("-"):
            return [*first, *self._negative_terms(node.right)]
        return [*first, f"{node.op} {right}"]

    def _negative_terms(self, node: Node) -> list[str]:
        """A term that starts with a minus, after a plus: the minus is the sign."""
        texts = self.terms(node) if is_sum(node) else [self.text(node, Level.SUM)]
        return ["- " + texts[0][1:].lstrip(), *texts[1:]]

    def _row(self, side: Node) -> list[str]:
        """A side of an equation as terms; one long term is opened where it ends in a sum in brackets."""
        terms = [self.condition(side)] if is_truth(side) else self.terms(side)
        if len(terms) > 1 or measure(terms[0]) < WIDEST * 0.8:
            return terms
        path = tail(side)
        if not path:
            return terms
        head = self.text(fill(path, Hole()))
        if not head.endswith(HOLE):
            return terms
        inner = self.terms(path[-1])
        inner[0] = head.removesuffix(HOLE) + r"\Bigl(" + inner[0]
        return [*inner[:-1], inner[-1] + r"\Bigr)"]

    def equation(self, left: str, sides: Sequence[Node], after: str = "") -> list[str]:
        """The lines of an equation, or of a chain of them: one, or several aligned ones where it is long."""
        rows = [self._row(side) for side in sides]
        rows[-1][-1] += after
        return lay_out(left, rows)


def _ends_in_extremum(node: Node) -> bool:
    r"""Whether a term ends in :math:`\max_k` or the like, after which a further term might be read as part of it."""
    if isinstance(node, Binary):
        return node.op in ("+", "-", "*") and _ends_in_extremum(node.right)
    if isinstance(node, Unary):
        return _ends_in_extremum(node.operand)
    if not isinstance(node, Binder):
        return False
    return node.op in EXTREMA or (node.op in ("sum", "mean", "prod") and _ends_in_extremum(node.body))


def is_truth(node: Node) -> bool:
    """Whether it is a condition, which as a number counts as 0 or 1."""
    return isinstance(node, (Compare, Logical, Not)) or (isinstance(node, Binder) and node.op in TRUTHS)


def is_sum(node: Node) -> bool:
    """Whether it is a sum or a difference."""
    return isinstance(node, Binary) and node.op in ("+", "-")
