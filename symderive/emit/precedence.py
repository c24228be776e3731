"""Python expressions put together from pieces, with no more parentheses than Python's grammar asks for.

A spelling is a *template* such as ``"({0}).sum({1})"`` or ``"{0} @ {1}"``. How tightly the whole binds, and how tightly
each piece has to, is read off Python's own parse of the template, so that a table of spellings needs no precedences.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache

from symderive.errors import InternalError
from symderive.record import record


class Level(IntEnum):
    """How tightly an expression binds, loosest first."""

    ANY = 0
    OR = 1
    AND = 2
    NOT = 3
    COMPARE = 4
    BITOR = 5
    BITXOR = 6
    BITAND = 7
    SHIFT = 8
    SUM = 9
    PRODUCT = 10
    UNARY = 11
    POWER = 12
    ATOM = 13


@record
class Text:
    """An expression as text, and how tightly it binds."""

    text: str
    level: Level = Level.ATOM

    def at(self, level: Level) -> str:
        """The text where something of ``level`` is asked for: in parentheses if it binds more loosely."""
        return self.text if self.level >= level else f"({self.text})"


_OPERATORS: dict[type[ast.AST], Level] = {
    ast.Add: Level.SUM,
    ast.Sub: Level.SUM,
    ast.Mult: Level.PRODUCT,
    ast.Div: Level.PRODUCT,
    ast.FloorDiv: Level.PRODUCT,
    ast.Mod: Level.PRODUCT,
    ast.MatMult: Level.PRODUCT,
    ast.Pow: Level.POWER,
    ast.BitAnd: Level.BITAND,
    ast.BitOr: Level.BITOR,
    ast.BitXor: Level.BITXOR,
    ast.LShift: Level.SHIFT,
    ast.RShift: Level.SHIFT,
    ast.And: Level.AND,
    ast.Or: Level.OR,
    ast.Not: Level.NOT,
    ast.USub: Level.UNARY,
    ast.UAdd: Level.UNARY,
    ast.Invert: Level.UNARY,
}


def level_of(node: ast.AST) -> Level:
    """How tightly a parsed expression binds."""
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.BoolOp):
        return _OPERATORS[type(node.op)]
    if isinstance(node, ast.Compare):
        return Level.COMPARE
    if isinstance(node, ast.Lambda | ast.IfExp):
        return Level.ANY
    return Level.ATOM


def _operands(node: ast.AST) -> Iterator[tuple[ast.AST, Level]]:
    """The expressions directly inside ``node`` in reading order, each with the level that its place asks for."""
    level = level_of(node)
    if isinstance(node, ast.BinOp):
        right = isinstance(node.op, ast.Pow)
        yield node.left, Level(level + right)
        yield node.right, Level.UNARY if right else Level(level + 1)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand, level
    elif isinstance(node, ast.BoolOp | ast.Compare):
        for operand in ast.iter_child_nodes(node):
            yield operand, Level(level + 1)
    elif isinstance(node, ast.IfExp):
        yield node.body, Level.OR
        yield node.test, Level.OR
        yield node.orelse, Level.ANY
    elif isinstance(node, ast.Call):
        yield node.func, Level.ATOM
        for argument in (*node.args, *node.keywords):
            yield argument, Level.ANY
    elif isinstance(node, ast.Attribute):
        yield node.value, Level.ATOM
    elif isinstance(node, ast.Subscript):
        yield node.value, Level.ATOM
        yield node.slice, Level.ANY
    else:
        for child in ast.iter_child_nodes(node):
            yield child, Level.ANY


@record
class Template:
    """A spelling: ``literals`` around ``holes``, each hole the number of a piece and the level that it asks for."""

    literals: tuple[str, ...]
    holes: tuple[tuple[int, Level], ...]
    level: Level

    def fill(self, *pieces: Text) -> Text:
        """The spelling with ``pieces`` in its holes."""
        if len(self.holes) == 1 and self.literals == ("", ""):
            return pieces[self.holes[0][0]]
        parts = [self.literals[0]]
        for (number, level), literal in zip(self.holes, self.literals[1:], strict=True):
            parts += [pieces[number].at(level), literal]
        return Text("".join(parts), self.level)

    def uses(self, number: int) -> int:
        """How many times piece ``number`` is written out."""
        return sum(n == number for n, _ in self.holes)


@lru_cache(maxsize=1024)
def template(spelling: str) -> Template:
    """The template of a spelling; parentheses that it does not need are dropped."""
    numbered = re.sub(r"\{(\d+)\}", r"_hole_\1_", spelling)
    try:
        tree = ast.parse(numbered, mode="eval").body
    except SyntaxError:
        raise InternalError(f"the spelling {spelling!r} is no expression") from None
    levels: list[Level] = []
    _collect(tree, Level.ANY, levels)
    pieces = re.split(r"_hole_(\d+)_", ast.unparse(tree).replace("'", '"'))
    holes = tuple((int(n), level) for n, level in zip(pieces[1::2], levels, strict=True))
    return Template(tuple(pieces[::2]), holes, level_of(tree))


def _collect(node: ast.AST, level: Level, levels: list[Level]) -> None:
    if isinstance(node, ast.Name) and node.id.startswith("_hole_"):
        levels.append(level)
    for child, asked in _operands(node):
        _collect(child, asked, levels)


def fill(spelling: str, *pieces: Text) -> Text:
    """``template(spelling).fill(*pieces)``."""
    return template(spelling).fill(*pieces)


_POWER = re.compile(
    r"(?<![\w.)\]\"])([A-Za-z_][\w.]*|\d+(?:\.\d+)?) \*\* (-?[A-Za-z_][\w.]*|-?\d+(?:\.\d+)?)(?![\w.(\[])"
)


def hug_powers(line: str) -> str:
    """``x ** 2`` as ``x**2``, which is how formatters write a power of simple operands."""
    return _POWER.sub(r"\1**\2", line)
