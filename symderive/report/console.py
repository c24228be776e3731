"""Prints the blocks of a report: with colour and tables where a person is looking, as plain text in a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Protocol, TextIO

from symderive.report.document import Block
from symderive.report.plain import plain_text


class Printer(Protocol):
    """Shows blocks as they come."""

    def show(self, blocks: Iterable[Block]) -> None:
        """Prints the blocks and flushes, so that what is slow can follow."""


class PlainPrinter:
    """Plain text, for a pipe or a file."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def show(self, blocks: Iterable[Block]) -> None:
        """Prints the blocks, each as it is ready."""
        for block in blocks:
            self.stream.write(plain_text(block))
        self.stream.flush()


def printer(stream: TextIO | None = None) -> Printer:
    """The printer for ``stream``, by default standard output: rich on a terminal, plain elsewhere or with NO_COLOR."""
    stream = stream or sys.stdout
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return PlainPrinter(stream)
    from symderive.report.console_rich import RichPrinter

    return RichPrinter(stream)
