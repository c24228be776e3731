"""What can go wrong, and where: every error about a spec carries its place in the file."""

from __future__ import annotations

from symderive.record import record


@record
class Span:
    """A stretch of a text, counted from 1: from (line, column) up to but not including (end_line, end_column)."""

    line: int
    column: int
    end_line: int
    end_column: int

    def to(self, other: Span) -> Span:
        """The stretch from the start of this one to the end of ``other``."""
        return Span(self.line, self.column, other.end_line, other.end_column)


NOWHERE = Span(0, 0, 0, 0)
MAX_MESSAGE = 2_000


@record
class Location:
    """A span in a named text; ``source`` is that whole text, so that a message can show the line."""

    path: str
    span: Span
    source: str = ""

    def excerpt(self) -> str:
        """The line and a caret under the offending columns; empty where the text is not known."""
        lines = self.source.splitlines()
        if not 1 <= self.span.line <= len(lines):
            return ""
        line = lines[self.span.line - 1].expandtabs(1)
        start = self.span.column - 1
        end = self.span.end_column - 1 if self.span.end_line == self.span.line else len(line)
        first = max(0, start - 60) if len(line) > 160 else 0
        shown = line[first : first + 160]
        caret = " " * (start - first) + "^" * max(1, min(end, first + len(shown)) - start)
        return f"    {printable(shown)}\n    {caret}"


def printable(text: str) -> str:
    """The text with ``?`` for characters that a terminal would obey rather than show, and of readable length."""
    shown = text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + " ..."
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in shown)


class SymderiveError(Exception):
    """An error that a user can mend. ``hint`` says how."""

    exit_code = 2

    def __init__(self, message: str, location: Location | None = None, hint: str | None = None) -> None:
        message = printable(message)
        super().__init__(message)
        self.message = message
        self.location = location
        self.hint = hint

    def __str__(self) -> str:
        parts = [self.message]
        if self.location is not None:
            span = self.location.span
            place = f"{self.location.path}:{span.line}:{span.column}" if span.line else self.location.path
            parts[0] = f"{place}: {self.message}"
            if excerpt := self.location.excerpt():
                parts.append(excerpt)
        if self.hint:
            parts.append(f"    {self.hint}")
        return "\n".join(parts)


class SpecError(SymderiveError):
    """The spec cannot be used as it is written."""


class UnsupportedError(SymderiveError):
    """The spec is sound, but it asks for something that symderive cannot do; the message names it."""


class InternalError(SymderiveError):
    """A fault of symderive itself, not of its user."""

    exit_code = 70
