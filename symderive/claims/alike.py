"""Which letters of one expression stand where those of another do: ``a`` in ``x[a + i]`` as ``r`` in ``x[i + r]``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction

from symderive.claims.trees import terms_of
from symderive.record import record
from symderive.spec import syntax

Names = Mapping[str, str]
Part = tuple[object, syntax.Node | str]
"""A part of an expression, a node or a letter that it binds, with what has to be equal of it beside the node."""

_MIRRORED = {">": "<", ">=": "<="}
_EITHER_WAY = ("==", "!=")
_ORDERED_BINDERS = ("det", "logdet", "inv", "solve")
_PARTS = 6
"""More operands than that keep their order."""


@record
class Alike:
    """Matches expressions that differ in their letters alone.

    ``may`` says whether a name can stand for another; no two names stand for the same. ``commuted`` lets the operands
    of ``+``, ``*``, ``and``, ``==`` and the like, and the indices of a reduction, stand in any order.
    """

    may: Callable[[str, str], bool]
    commuted: bool

    def match(self, one: syntax.Node | str, other: syntax.Node | str, names: Names) -> Iterator[Names]:
        """Every way to continue ``names`` so that it turns one expression into the other."""
        if isinstance(one, syntax.Name):
            one = one.id
        if isinstance(other, syntax.Name):
            other = other.id
        if isinstance(one, str) or isinstance(other, str):
            if isinstance(one, str) and isinstance(other, str):
                yield from self._letter(one, other, names)
            return
        (head, groups), (other_head, other_groups) = _taken_apart(one), _taken_apart(other)
        if head == other_head and [len(g) for _, g in groups] == [len(g) for _, g in other_groups]:
            parts = [(free, a, b) for (free, a), (_, b) in zip(groups, other_groups, strict=True)]
            yield from self._groups(parts, names)

    def _letter(self, one: str, other: str, names: Names) -> Iterator[Names]:
        if one in names:
            if names[one] == other:
                yield names
        elif other not in names.values() and self.may(one, other):
            yield {**names, one: other}

    def _groups(self, groups: Sequence[tuple[bool, list[Part], list[Part]]], names: Names) -> Iterator[Names]:
        if not groups:
            yield names
            return
        (free, ones, others), *rest = groups
        for found in self._parts(ones, others, names, free and self.commuted and len(ones) <= _PARTS):
            yield from self._groups(rest, found)

    def _parts(self, ones: list[Part], others: list[Part], names: Names, free: bool) -> Iterator[Names]:
        if not ones:
            yield names
            return
        (mark, one), *rest = ones
        for place, (other_mark, other) in enumerate(others if free else others[:1]):
            if mark == other_mark:
                for found in self.match(one, other, names):
                    yield from self._parts(rest, others[:place] + others[place + 1 :], found, free)


Groups = list[tuple[bool, list[Part]]]


def _taken_apart(node: syntax.Node) -> tuple[object, Groups]:
    """What a node is, and its parts in groups; True says that the order within a group means nothing."""
    if isinstance(node, syntax.Binary | syntax.Unary) and node.op in ("+", "-"):
        return "sum", [(True, [*terms_of(node)])]
    if isinstance(node, syntax.Binary) and node.op == "*":
        return "product", [(True, [(None, f) for f in syntax.operands(node, "*")])]
    if isinstance(node, syntax.Logical):
        return ("logical", node.op), [(True, [(None, o) for o in node.operands])]
    if isinstance(node, syntax.Compare) and len(node.ops) == 1:
        op = _MIRRORED.get(node.ops[0], node.ops[0])
        operands = node.operands if op == node.ops[0] else node.operands[::-1]
        return ("compare", op), [(op in _EITHER_WAY, [(None, o) for o in operands])]
    if isinstance(node, syntax.Binder):
        letters: list[Part] = [(None, i) for i in node.indices]
        inside: list[Part] = [(None, n) for n in node.children()]
        head = "binder", node.op, node.condition is None
        # the letters last: the body says which of them is which
        return head, [(False, inside), (node.op not in _ORDERED_BINDERS, letters)]
    children: list[Part] = [(None, n) for n in node.children()]
    free = isinstance(node, syntax.Call) and node.function == "delta"
    return (type(node), *_plain(node)), [(free, children)]


def _plain(node: syntax.Node) -> Iterator[object]:
    """What a node says by itself: its function, its tensor, its number."""
    for part in fields(node):
        value = getattr(node, part.name)
        if isinstance(value, str | Fraction | bool):
            yield value
        elif isinstance(value, tuple):
            yield tuple(v for v in value if isinstance(v, str))
