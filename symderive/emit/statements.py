"""A plan as lines of code: one assignment a quantity, its shape behind it, the formula above it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from symderive.emit.precedence import hug_powers
from symderive.emit.printer import Text
from symderive.emit.share import Group, Namer, Sharer, is_trivial
from symderive.lower import plan as p
from symderive.lower.shapes import show

WIDTH = 100
"""The longest line of emitted code."""


class Statements(Protocol):
    """What a printer of a library offers besides expressions."""

    def write(self, node: p.Node) -> Text:
        """An expression."""

    def repeats(self, node: p.Node) -> list[p.Node]:
        """The parts of ``node`` that need a name of their own."""

    def name(self, name: str) -> str:
        """The identifier of a tensor."""

    def statement(self, name: str, node: p.Node) -> list[str]:
        """The lines that assign ``node`` to ``name``."""


@dataclass
class Writer:
    """Writes a plan's assignments, each line at most ``width - indent`` long."""

    plan: p.Plan
    printer: Statements
    namer: Namer
    indent: int = 4

    def lines(self) -> list[str]:
        """The lines of all assignments."""
        groups = Sharer(self.plan, self.namer, self._named).groups()
        return [line for group in groups for line in self._group(group)]

    def _named(self, node: p.Node) -> list[p.Node]:
        """The parts of ``node`` that cannot be written inside it."""
        placed = [c for c in p.children(node) if isinstance(c, p.Place)]
        return placed + self.printer.repeats(node)

    def _group(self, group: Group) -> Iterator[str]:
        if group.comment:
            yield from comment(group.comment, WIDTH - self.indent)
        for assign in group.assigns:
            for part in self._fitting(assign):
                yield from self._assignment(part)

    def _assignment(self, assign: p.Assign) -> Iterator[str]:
        *first, last = self._statement(assign)
        yield from first
        shape = f"  # {show(assign.value.shape)}"
        if len(last) + len(shape) <= WIDTH - self.indent:
            yield last + shape
        else:
            yield shape.strip()
            yield last

    def _statement(self, assign: p.Assign) -> list[str]:
        return [hug_powers(line) for line in self.printer.statement(self.printer.name(assign.name), assign.value)]

    def _fitting(self, assign: p.Assign) -> Iterator[p.Assign]:
        """The assignment, with helpers before it as long as it does not fit on a line."""
        while max(map(len, self._statement(assign))) > WIDTH - self.indent:
            part = self._part(assign.value)
            if part is None:
                break
            helper = p.Assign(self.namer.fresh(part), part)
            yield from self._fitting(helper)
            assign = p.Assign(assign.name, _replaced(assign.value, part, helper.ref), assign.comment)
        yield assign

    def _part(self, node: p.Node) -> p.Node | None:
        """The part of a long expression to name: the longest that leaves at least a third of it."""
        whole = len(self.printer.write(node).text)
        parts = {c: len(self.printer.write(c).text) for c in p.walk(node) if c is not node and not is_trivial(c)}
        fitting = {c: size for c, size in parts.items() if 12 < size <= max(whole * 2 // 3, 12)}
        return max(fitting, key=lambda c: fitting[c], default=None)


def _replaced(node: p.Node, old: p.Node, new: p.Node) -> p.Node:
    return new if node == old else p.rebuild(node, lambda child: _replaced(child, old, new))


def comment(text: str, width: int) -> list[str]:
    """``text`` as comment lines, continued with an indent."""
    lines: list[str] = []
    for line in text.splitlines():
        lines += textwrap.wrap(
            line, width, initial_indent="# ", subsequent_indent="#     ", break_long_words=False, break_on_hyphens=False
        )
    return lines
