"""What a report consists of, whatever it is printed as: headings, prose, formulas, code and tables."""

from __future__ import annotations

from symderive.record import record


@record
class Heading:
    """A heading; level 1 is the title."""

    text: str
    level: int = 2


@record
class Prose:
    """A sentence or two."""

    text: str


@record
class Formula:
    """An equation in text form; ``label`` names the form (``index``, ``array``), ``depth`` indents it."""

    text: str
    label: str = ""
    depth: int = 0


@record
class StepLine:
    """One step of a derivation: its number, the rule's name, what it says, and the equation that it gives."""

    number: int
    rule: str
    text: str
    formula: str


@record
class Code:
    """Source code of a language."""

    text: str
    language: str = "python"


@record
class Table:
    """Rows of text under column names; without names, a list in columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@record
class Listing:
    """Lines that are laid out already; words such as PASS and FAIL stand out."""

    text: str


@record
class Entry:
    """A line of a list: a name of up to ``width`` letters, what it is, and on the next line a ``detail``.

    ``marks`` are words that stand out wherever they occur.
    """

    name: str
    text: str
    width: int
    detail: str = ""
    marks: tuple[str, ...] = ()


Block = Heading | Prose | Formula | StepLine | Code | Table | Listing | Entry
