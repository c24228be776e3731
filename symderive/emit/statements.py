"""A plan as lines of code: one assignment a quantity, its shape behind it, the formula above it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from symderive.emit.numbers import shape_text
from symderive.emit.precedence import hug_powers
from symderive.emit.printer import Text
from symderive.emit.share import Group, Namer, Sharer, is_trivial
from symderive.lower import plan as p

WIDTH = 100
"""The longest line of emitted code."""


class Statements(Protocol):
    """What a printer of a library offers besides expressions."""

    @property
    def alone(self) -> tuple[type[p.Node], ...]:
        """The nodes that cannot stand inside an expression."""

    def write(self, node: p.Node) -> Text:
        """An expression."""

    def repeats(self, node: p.Node) -> list[p.Node]:
        """The parts of ``node`` that need a name of their own."""

    def whole(self, node: p.Node) -> list[p.Node]:
        """The parts of ``node`` that it is one operation with."""

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
        alone = [c for c in p.children(node) if isinstance(c, self.printer.alone)]
        return alone + self.printer.repeats(node)

    def _group(self, group: Group) -> Iterator[str]:
        if group.comment:
            yield from comment(group.comment, WIDTH - self.indent)
        for assign in group.assigns:
            for part in self._fitting(assign):
                yield from self._assignment(part)

    def _assignment(self, assign: p.Assign) -> Iterator[str]:
        lines = self._statement(assign)
        shape = f"  # {shape_text(assign.value.shape)}"
        last = max(n for n, line in enumerate(lines) if line.startswith(f"{self.printer.name(assign.name)} = "))
        for number, line in enumerate(lines):
            if number == last and len(line) + len(shape) <= WIDTH - self.indent:
                yield line + shape
                continue
            if number == last:
                yield shape.strip()
            yield from broken(line, WIDTH - self.indent)

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
        """The part of a long expression to name: the longest that leaves at least a third of it.

        A name holds its array until the function ends, so that a small one which is long enough comes first.
        """
        nodes = list(p.walk(node))
        kept = {node, *(w for n in nodes for w in self.printer.whole(n))}
        inner = [c for c in nodes if c not in kept and not is_trivial(c) and not isinstance(c, self.printer.alone)]
        parts = {c: len(self.printer.write(c).text) for c in inner}
        whole = max(map(len, self.printer.statement("", node)))
        fitting = {c: size for c, size in parts.items() if 12 < size <= max(whole * 2 // 3, 12)}
        enough = whole - (WIDTH - self.indent) + len("product = product")
        small = {c: size for c, size in fitting.items() if size > enough and _axes(c) < _axes(node)}
        return max(small or fitting, key=lambda c: fitting[c], default=None)


def _axes(node: p.Node) -> int:
    """How many axes have an extent that is not 1."""
    return sum(extent != 1 for extent in node.shape)


def _replaced(node: p.Node, old: p.Node, new: p.Node) -> p.Node:
    return new if node == old else p.rebuild(node, lambda child: _replaced(child, old, new))


def broken(line: str, width: int) -> list[str]:
    """``line``, or where it is too long the same statement broken inside its longest pair of brackets."""
    pair = _longest_pair(line)
    if len(line) <= width or pair is None:
        return [line]
    start, stop = pair
    inner = line[start + 1 : stop]
    parts = [inner]
    if len(inner) + 4 > width:
        pieces = _split(inner)
        groups = len(pieces) == 1 and not re.search(r"[\w)\]]$", line[:start])  # a comma would make it a tuple
        parts = broken(inner, width - 4) if groups else [f"{piece.strip()}," for piece in pieces]
    return [line[: start + 1], *(f"    {part}" for part in parts), line[stop:]]


def _longest_pair(line: str) -> tuple[int, int] | None:
    """Where the longest outermost pair of parentheses opens and closes."""
    pairs, depth, start = [], 0, 0
    for place, character in enumerate(line.partition("#")[0]):
        if character in "([":
            start = place if depth == 0 else start
            depth += 1
        elif character in ")]":
            depth -= 1
            if depth == 0 and character == ")":
                pairs.append((start, place))
    return max(pairs, key=lambda pair: pair[1] - pair[0], default=None)


def _split(text: str) -> list[str]:
    """``text`` at the commas that stand in no brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def comment(text: str, width: int) -> list[str]:
    """``text`` as comment lines, continued with an indent."""
    return [part for line in text.splitlines() for part in wrapped(line, width, "# ", "#     ")]


def wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    """``text`` in lines of at most ``width``, none broken inside square brackets."""
    whole = re.sub(r"\[[^\[\]]*\]", lambda m: m[0].replace(" ", _STICKY), text)
    lines = textwrap.wrap(
        whole, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace(_STICKY, " ") for line in lines]


_STICKY = "\0"
