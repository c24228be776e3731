"""Where a piece of spec text comes from: turns places in the piece into places in the file."""

from __future__ import annotations

from symderive.errors import Location, Span, SpecError
from symderive.record import record


@record
class Origin:
    """A text whose first character stands at (line, column) of ``source``, the whole file called ``path``.

    Every line of the text starts at the same column, as those of a YAML block scalar do. Where no such mapping
    exists (a folded or escaped YAML scalar), ``whole`` is the place that stands for all of it.
    """

    path: str = "<text>"
    source: str = ""
    line: int = 1
    column: int = 1
    whole: Span | None = None

    def span(self, line: int, column: int, end_line: int, end_column: int) -> Span:
        """The span in the file of a stretch of the text, both counted from 1."""
        if self.whole is not None:
            return self.whole
        down, right = self.line - 1, self.column - 1
        return Span(line + down, column + right, end_line + down, end_column + right)

    def location(self, span: Span) -> Location:
        """The location of a span of the file."""
        return Location(self.path, span, self.source)

    def error(self, message: str, span: Span, hint: str | None = None) -> SpecError:
        """The error to raise about that span."""
        return SpecError(message, self.location(span), hint)
