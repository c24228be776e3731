"""Blocks in which each line stands for itself: one that cannot be parsed does not spoil the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from symderive.errors import NOWHERE, SpecError
from symderive.spec import syntax as s
from symderive.spec.model import BadLine
from symderive.spec.parse import parse_statements
from symderive.spec.source import Origin
from symderive.spec.tokens import MAX_CHARACTERS

MAX_BAD_LINES = 200
MAX_ROWS = 500

_QUIET = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|#.*")
_STATEMENT = re.compile(r"[A-Za-z_]\w*(\s*[\[(][^=]*[\])])?\s*=(?!=)")


def parse_lines(text: str, origin: Origin | None = None) -> tuple[tuple[s.Statement, ...], tuple[BadLine, ...]]:
    """The statements of a block and the lines that are none. Raises only where the whole block is unusable."""
    origin = origin or Origin(source=text)
    if len(text) > MAX_CHARACTERS:
        parse_statements(text, origin)
    good: list[s.Statement] = []
    bad: list[BadLine] = []
    rows = text.split("\n")
    quiet = [_QUIET.sub("", row) for row in rows]
    at = 0
    while at < len(rows):
        if not quiet[at].strip():
            at += 1
            continue
        found: tuple[s.Statement, ...] | BadLine = BadLine("", NOWHERE)
        for end in _ends(quiet, at):
            found = _parse(rows, at, end, origin)
            if not isinstance(found, BadLine):
                break
        at = end
        if isinstance(found, BadLine):
            bad.append(found)
            if len(bad) > MAX_BAD_LINES:
                raise origin.error(f"more than {MAX_BAD_LINES} lines cannot be read", found.span, found.hint)
        else:
            good.extend(found)
    return tuple(good), tuple(bad)


def _ends(rows: list[str], start: int) -> Iterator[int]:
    """Where the statement that starts in a row may end: where its brackets close, else before the next statement."""
    depth = 0
    cut = None
    end = len(rows)
    for at in range(start, min(start + MAX_ROWS, len(rows))):
        row = rows[at]
        if at > start and cut is None and _STATEMENT.match(row.lstrip()) and _indent(row) <= _indent(rows[start]):
            cut = at
        depth += sum(row.count(c) for c in "([") - sum(row.count(c) for c in ")]")
        if depth <= 0:
            end = at + 1
            break
    if depth <= 0:
        yield end
    if end > start + 1 or depth > 0:
        yield cut if cut is not None else end if depth <= 0 else start + 1


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())


def _parse(rows: list[str], start: int, end: int, origin: Origin) -> tuple[s.Statement, ...] | BadLine:
    text = "\n".join(rows[start:end])
    try:
        return parse_statements(text, replace(origin, line=origin.line + start))
    except SpecError as error:
        first = _indent(rows[start])
        line = origin.span(start + 1, first + 1, start + 1, len(rows[start]) + 1)
        span = error.location.span if error.location else line
        return BadLine(error.message, span, error.hint, text.strip(), line.line)
