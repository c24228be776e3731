"""The sum in brackets at the end of a long term: where a line can be broken although the term is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from symderive.record import record
from symderive.spec.syntax import Binary, Binder, Node, Unary

HOLE = "\0"
"""What a :class:`Hole` prints as: nothing else has it."""


@record
class Hole(Node):
    """A place in a tree whose LaTeX is written separately."""


_LAST_PART = {"*": "right", "/": "left"}


def tail(node: Node) -> list[Node]:
    """The nodes from ``node`` down to the sum that it ends in, as far as its kind can tell; empty without one."""
    path = [node]
    while not (isinstance(path[-1], Binary) and path[-1].op in ("+", "-")):
        name = _last_part(path[-1])
        if name is None:
            return []
        path.append(getattr(path[-1], name))
    return path if len(path) > 1 else []


def _last_part(node: Node) -> str | None:
    if isinstance(node, Unary):
        return "operand"
    if isinstance(node, Binder) and node.op in ("sum", "mean"):
        return "body"
    return _LAST_PART.get(node.op) if isinstance(node, Binary) else None


def fill(path: Sequence[Node], leaf: Node) -> Node:
    """The tree of a path with another leaf at its end."""
    for node in reversed(path[:-1]):
        changes: dict[str, Any] = {_last_part(node) or "": leaf}
        leaf = replace(node, **changes)
    return leaf
