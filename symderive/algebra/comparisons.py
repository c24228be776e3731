"""Conditions as comparisons: the side that a reader looks at first stands first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sympy import Expr

from symderive.algebra import nodes
from symderive.algebra.nodes import Access, Eq, Index
from symderive.spec import syntax
from symderive.spec.syntax import Node

if TYPE_CHECKING:
    from symderive.algebra.unbuild import Writer


def _order(op: str, flipped: str) -> Callable[[Writer, Expr], Node]:
    def write(writer: Writer, expression: Expr) -> Node:
        a, b = expression.args
        if (b.atoms(Access) and not a.atoms(Access, Index)) or (a.is_number and not b.is_number):
            return syntax.Compare((flipped,), (writer.write(b), writer.write(a)))
        return syntax.Compare((op,), (writer.write(a), writer.write(b)))

    return write


def _equality(writer: Writer, expression: Expr) -> Node:
    return _compared("==", writer, expression)


def _compared(op: str, writer: Writer, expression: Expr) -> Node:
    """What is read from tensors first, then constants and indices, numbers last."""
    rank = [(e, (not e.atoms(Access), e.is_number, isinstance(e, Index))) for e in expression.args]
    return syntax.Compare((op,), tuple(writer.write(e) for e, _ in sorted(rank, key=lambda pair: pair[1])))


def _negation(writer: Writer, expression: Expr) -> Node:
    inner = expression.args[0]
    if isinstance(inner, Eq):
        return _compared("!=", writer, inner)
    if isinstance(inner, nodes.Lt | nodes.Le):
        a, b = inner.args
        return writer.condition(nodes.Le(b, a) if isinstance(inner, nodes.Lt) else nodes.Lt(b, a))
    return syntax.Not(writer.condition(inner))


def _join(op: str) -> Callable[[Writer, Expr], Node]:
    return lambda writer, e: syntax.Logical(op, tuple(writer.condition(a) for a in e.args))


CONDITIONS: dict[type, Callable[[Writer, Expr], Node]] = {
    nodes.Lt: _order("<", ">"),
    nodes.Le: _order("<=", ">="),
    nodes.Eq: _equality,
    nodes.Not: _negation,
    nodes.And: _join("and"),
    nodes.Or: _join("or"),
}
"""How each kind of condition is written."""
