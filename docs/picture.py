"""Draws docs/derive.svg, what a terminal shows for ``symderive derive softmax``: ``python docs/picture.py``."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from symderive import api
from symderive.check.runner import check
from symderive.cli.derive import KINDS
from symderive.report.console_rich import RichPrinter
from symderive.report.derivation import mathematics
from symderive.report.verification import verification

SPEC = "softmax"
PICTURE = Path(__file__).with_name("derive.svg")
FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
COMMENT = re.compile(r"\s*<!--.*?-->")
"""Fonts are named, not fetched: a monospace font of the reader's does as well."""


def picture() -> str:
    """The picture as SVG."""
    console = Console(record=True, width=118, file=io.StringIO(), force_terminal=True, highlight=False)
    derivation = api.derive(SPEC)
    printer = RichPrinter(console=console)
    printer.show(mathematics(derivation))
    printer.show(verification(check(derivation.spec, quick=True, kinds=KINDS)))
    drawn = console.export_svg(title=f"symderive derive {SPEC}", unique_id="symderive")
    return COMMENT.sub("", FONT.sub("", drawn))


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
