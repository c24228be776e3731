"""Signs and zeros that a reader wants in front: a minus out of a product, a branch of 0 as a factor."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from symderive.spec.syntax import Binary, Binder, Call, Compare, Node, Not, Number, Unary

OPPOSITES = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def is_number(node: Node, value: int) -> bool:
    """Whether it is that number."""
    return isinstance(node, Number) and node.value == value


def opposite(test: Node) -> Node:
    """The condition that holds where this one does not."""
    if isinstance(test, Compare) and len(test.ops) == 1:
        return Compare((OPPOSITES[test.ops[0]],), test.operands)
    return test.operand if isinstance(test, Not) else Not(test)


def masked(node: Node) -> tuple[Node, Node] | None:
    """Of ``where(c, a, 0)``, and of ``where(c, 0, a)``, the condition under which it is a, and a."""
    if not (isinstance(node, Call) and node.function == "where"):
        return None
    test, first, second = node.arguments
    if is_number(second, 0):
        return test, first
    return (opposite(test), second) if is_number(first, 0) else None


def without_minus(node: Node) -> tuple[bool, Node]:
    """Whether a term is the negative of something, and that something: of ``a * -b`` it is ``a * b``."""
    if isinstance(node, Unary) and node.op == "-":
        minus, operand = without_minus(node.operand)
        return not minus, operand
    if isinstance(node, Binary) and node.op in ("*", "/"):
        minus_left, left = without_minus(node.left)
        minus_right, right = without_minus(node.right)
        return minus_left != minus_right, replace(node, left=left, right=right)
    if isinstance(node, Binder) and node.op in ("sum", "mean"):
        minus, body = without_minus(node.body)
        return minus, replace(node, body=body)
    if (parts := masked(node)) is not None:
        minus, value = without_minus(parts[1])
        return minus, Call("where", (parts[0], value, Number(Fraction(0))))
    return False, node
