r"""Index form as LaTeX: :math:`\frac{\partial L}{\partial W_{jk}} = \sum_{i} (y_{ij} - t_{ij}) x_{ik}`.

Everything that it prints is accepted by KaTeX in strict mode and by GitHub, which refuses ``\operatorname``, ``\mbox``
and ``\phantom``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from sympy import Expr

from symderive.emit.latex_array import ArrayPrinter
from symderive.emit.latex_binders import binder
from symderive.emit.latex_calls import CALLS, call
from symderive.emit.latex_lines import aligned
from symderive.emit.latex_names import Notation
from symderive.emit.latex_nodes import NODES
from symderive.emit.latex_printer import Handler, Printer, is_truth
from symderive.emit.latex_sizes import axes
from symderive.emit.latex_tex import Level
from symderive.spec.model import Equation, Input
from symderive.spec.parse import parse_statements
from symderive.spec.syntax import BATCH, Access, Batch, Binder, Call, Name, Node, Statement


class IndexPrinter(Printer):
    """Prints index form."""

    handlers: ClassVar[Mapping[type[Node], Handler]] = NODES | {Call: call, Binder: binder}
    calls: ClassVar[Mapping[str, Handler]] = CALLS


def expression_latex(node: Node, notation: Notation | None = None) -> str:
    """An expression of index form as LaTeX."""
    printer = IndexPrinter(notation)
    return printer.condition(node) if is_truth(node) else printer.text(node)


def statement_latex(statement: Statement, notation: Notation | None = None) -> str:
    r"""An equation of index form as LaTeX, or a chain of them; over several lines where it is long.

    The left side ``dW[j, k]`` is :math:`\frac{\partial L}{\partial W_{jk}}`. Raises ``UnsupportedError`` for what has
    no LaTeX, such as an operator of array form.
    """
    printer = IndexPrinter(notation)
    return aligned(printer.equation(printer.tex(statement.left).text, statement.sides))


def statements_latex(statements: Sequence[Statement], notation: Notation | None = None) -> str:
    """Equations of index form as LaTeX, one below the other."""
    printer = IndexPrinter(notation)
    return aligned([line for s in statements for line in printer.equation(printer.tex(s.left).text, s.sides)])


def equation_latex(equation: Equation, notation: Notation | None = None) -> str:
    """An equation of a spec's forward as LaTeX."""
    indices = tuple(Batch() if i == BATCH else Name(i) for i in equation.indices)
    left: Node = Access(equation.tensor, indices) if indices else Name(equation.tensor)
    return statement_latex(Statement(left, (equation.right,)), notation)


def dimensions(shape: Sequence[Expr]) -> str:
    r"""The extents of a shape, :math:`N \times K`; the batch axes are an ellipsis."""
    printer = IndexPrinter(small=True)
    return r" \times ".join(printer.text(extent, Level.MODULO) for extent in axes(shape))


def space(shape: Sequence[Expr]) -> str:
    r"""The set of real arrays of a shape, :math:`\mathbb{R}^{N \times K}`."""
    return rf"\mathbb{{R}}^{{{dimensions(shape)}}}" if shape else r"\mathbb{R}"


def input_latex(given: Input, notation: Notation | None = None) -> str:
    r"""What an input holds: :math:`x \in \mathbb{R}^{N \times K}`, :math:`t \in \lbrace 0, \ldots, C - 1 \rbrace^N`."""
    name = (notation or Notation(shapes={given.name: given.shape})).text(given.name)
    values = r"\lbrace 0, 1 \rbrace" if given.boolean else r"\mathbb{R}"
    if given.index is not None:
        last = IndexPrinter(small=True).text(axes([given.index - 1])[0])
        values = rf"\lbrace 0, \ldots, {last} \rbrace"
    power = f"^{{{dimensions(given.shape)}}}" if given.shape else ""
    return rf"{name} \in {values}{power}"


def array_latex(form: str | Sequence[Statement], notation: Notation | None = None) -> str:
    r"""Lines of array form, as text or parsed, as LaTeX; the last is followed by the shape of what it defines.

    ``dW = dy.T @ x`` is :math:`\nabla_W L = (\nabla_y L)^\top x \in \mathbb{R}^{J \times K}`. Lines of index form may
    stand among them. Raises ``UnsupportedError`` for what has no LaTeX.
    """
    notation = notation or Notation()
    statements = parse_statements(form) if isinstance(form, str) else form
    arrays = ArrayPrinter(notation)
    lines: list[str] = []
    for statement in statements:
        left = statement.left
        known = notation.shape(left.id) if isinstance(left, Name) else None
        if isinstance(left, Name) and known is None:
            arrays.helpers[left.id] = arrays.rank(statement.right)
        printer = IndexPrinter(notation) if _is_index_form(statement) else arrays
        after = "" if known is None or statement is not statements[-1] else rf" \in {space(known)}"
        lines += printer.equation(printer.tex(left).text, statement.sides, after)
    return aligned(lines)


def _is_index_form(statement: Statement) -> bool:
    return not isinstance(statement.left, Name) or any(isinstance(part, Binder) for part in statement.right.walk())
