"""Blocks as plain text."""

from __future__ import annotations

import textwrap
from functools import singledispatch

from symderive.report import document as d

WIDTH = 100


def plain_texts(blocks: list[d.Block]) -> str:
    """The text of all blocks."""
    return "".join(plain_text(b) for b in blocks)


@singledispatch
def plain_text(block: d.Block) -> str:
    """The text of a block, with the line's end."""
    raise TypeError(f"no plain text for {type(block).__name__}: add it to symderive.report.plain")


@plain_text.register
def _heading(block: d.Heading) -> str:
    underline = {1: "=", 2: "-"}.get(block.level)
    lead = "" if block.level == 1 else "\n"
    return f"{lead}{block.text}\n" + (f"{underline * len(block.text)}\n" if underline else "")


@plain_text.register
def _prose(block: d.Prose) -> str:
    return textwrap.fill(block.text, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


@plain_text.register
def _formula(block: d.Formula) -> str:
    label = f"{block.label:<7}" if block.label else ""
    return _indented(label + block.text, 2 + 2 * block.depth, len(label))


@plain_text.register
def _step(block: d.StepLine) -> str:
    return f"{block.number:>4}. {block.text} [{block.rule}]\n" + _indented(block.formula, 8)


@plain_text.register
def _code(block: d.Code) -> str:
    return textwrap.indent(block.text.rstrip("\n"), "    ") + "\n"


@plain_text.register
def _table(block: d.Table) -> str:
    rows = ([block.columns] if block.columns else []) + list(block.rows)
    if not rows:
        return ""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if block.columns:
        lines.insert(1, "  ".join("-" * width for width in widths))
    return "".join(f"{line}\n" for line in lines)


@plain_text.register
def _listing(block: d.Listing) -> str:
    return block.text.rstrip("\n") + "\n"


@plain_text.register
def _entry(block: d.Entry) -> str:
    lead = " " * (block.width + 4)
    detail = f"{lead}{block.detail}\n" if block.detail else ""
    return f"  {block.name:<{block.width}}  {block.text}".rstrip() + f"\n{detail}"


def _indented(text: str, depth: int, hang: int = 0) -> str:
    first, *rest = text.splitlines() or [""]
    return "".join(f"{line}\n" for line in (" " * depth + first, *(" " * (depth + hang) + line for line in rest)))
