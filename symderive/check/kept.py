"""Values that are kept while an expression and changes of it are evaluated: most parts of these are its own."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from symderive.spec import syntax


class Kept:
    """What the parts of an expression are worth, by their identity, once each has been computed.

    ``computed`` counts the nodes that had to be evaluated, in whatever expression.
    """

    def __init__(self, node: syntax.Node) -> None:
        self.parts = {id(n): n for n in node.walk()}  # held, so that no other node has the identity of one
        self.values: dict[tuple[int, Hashable], Any] = {}
        self.computed = 0

    def value(self, node: syntax.Node, where: Hashable, compute: Callable[[syntax.Node], Any]) -> Any:
        """The value of a node, which depends on nothing but ``where`` it is evaluated."""
        key = id(node), where
        if key in self.values:
            return self.values[key]
        self.computed += 1
        value = compute(node)
        if id(node) in self.parts:
            self.values[key] = value
        return value


class Keeper(Protocol):
    """What evaluates expressions, and may know the values of some."""

    kept: Kept | None


@contextmanager
def keeping(keeper: Keeper, node: syntax.Node) -> Iterator[None]:
    """Inside, changes of an expression are computed where they differ from it."""
    before, keeper.kept = keeper.kept, Kept(node)
    try:
        yield
    finally:
        keeper.kept = before
