"""Blocks on a terminal, by rich."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from symderive.report import document as d

THEME = "ansi_dark"
CELLS = (
    {"pass": "green", "fail": "bold red", "error": "bold red", "skip": "yellow", "right": "green"}
    | dict.fromkeys(("wrong", "invalid"), "bold red")
    | {"conditional": "yellow"}
)
"""The colour of a table's cell that holds just this word."""


WORDS = {"PASS": "bold green", "FAIL": "bold red", "ERROR": "bold red", "passed": "green"}
"""The colour of a word in a listing."""


class RichPrinter:
    """Colour and tables on a terminal."""

    def __init__(self, stream: TextIO | None = None, console: Console | None = None) -> None:
        self.console = console or Console(file=stream, highlight=False)

    def show(self, blocks: Iterable[d.Block]) -> None:
        """Prints the blocks, each as it is ready."""
        for block in blocks:
            self.console.print(rendered(block))
        self.console.file.flush()


@singledispatch
def rendered(block: d.Block) -> RenderableType:
    """A block as rich draws it."""
    raise TypeError(f"no rendering for {type(block).__name__}: add it to symderive.report.console_rich")


@rendered.register
def _heading(block: d.Heading) -> RenderableType:
    if block.level == 1:
        return Text(block.text, style="bold cyan")
    if block.level == 2:
        return Padding(Rule(Text(block.text, style="bold"), align="left", style="dim"), (1, 0, 0, 0))
    return Text(f"\n{block.text}", style="bold magenta")


@rendered.register
def _prose(block: d.Prose) -> RenderableType:
    return Text(block.text, style="dim")


@rendered.register
def _formula(block: d.Formula) -> RenderableType:
    label = f"{block.label:<7}" if block.label else ""
    return Padding(Text.assemble((label, "dim"), _math(block.text)), (0, 0, 0, 2 + 2 * block.depth))


@rendered.register
def _step(block: d.StepLine) -> RenderableType:
    head = Text.assemble((f"{block.number:>4}. ", "dim"), block.text, (f" [{block.rule}]", "yellow"))
    return Group(head, Padding(_math(block.formula), (0, 0, 0, 8)))


@rendered.register
def _code(block: d.Code) -> RenderableType:
    return Padding(
        Syntax(block.text.rstrip("\n"), block.language, theme=THEME, background_color="default"), (0, 0, 0, 4)
    )


@rendered.register
def _table(block: d.Table) -> RenderableType:
    table = Table(box=None, pad_edge=False, show_header=bool(block.columns), header_style="bold")
    for name in block.columns or ("",) * len(block.rows[0] if block.rows else ()):
        table.add_column(name, overflow="fold")
    for row in block.rows:
        table.add_row(*(Text(cell, style=CELLS.get(cell, "")) for cell in row))
    return table


@rendered.register
def _listing(block: d.Listing) -> RenderableType:
    shown = Text(block.text.rstrip("\n"))
    for word, style in WORDS.items():
        shown.highlight_regex(rf"\b{word}\b", style)
    return shown


@rendered.register
def _entry(block: d.Entry) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(width=block.width, no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(_marked(block.name, "green", block.marks), _marked(block.text, "", block.marks))
    if block.detail:
        table.add_row("", _marked(block.detail, "dim", block.marks))
    return Padding(table, (0, 0, 0, 2))


def _marked(text: str, style: str, marks: tuple[str, ...]) -> Text:
    """A text in which the marked words stand out."""
    shown = Text(text, style=style)
    shown.highlight_words(marks, "bold yellow", case_sensitive=False)
    return shown


def _math(text: str) -> Text:
    """An equation: the tensor that it defines stands out."""
    shown = Text(text)
    left, equals, _ = text.partition(" = ")
    if equals:
        shown.stylize("bold green", 0, len(left))
    return shown
