r"""Long equations over several lines: how wide LaTeX is, and where it may break."""

from __future__ import annotations

import re
from collections.abc import Sequence

WIDEST = 72.0
"""How wide a line may be, in letters: what fits a column of a report."""

_TOKEN = re.compile(r"\\begin\{\w+\}|\\end\{\w+\}|\\[A-Za-z]+|\\.|[{}^_]|\s+|.", re.DOTALL)
_INVISIBLE = {
    "\\left",
    "\\right",
    "\\mathrm",
    "\\text",
    "\\mathbf",
    "\\mathbb",
    "\\hat",
    "\\bar",
    "\\tilde",
    "\\dot",
    "&",
}
_WIDE = {"\\sum": 2.0, "\\prod": 2.0, "\\log": 3.0, "\\exp": 3.0, "\\max": 3.0, "\\min": 3.0, "\\quad": 2.0, "=": 2.5}
_WIDE |= dict.fromkeys(("+", "-", "<", ">", "\\le", "\\ge", "\\neq", "\\cdot", "\\odot", "\\land", "\\lor"), 2.0)
_SCRIPT = 0.7


def measure(text: str) -> float:
    """About how wide a formula is, in letters."""
    width, _ = _measure(_TOKEN.findall(text), 0)
    return width


def _measure(tokens: Sequence[str], place: int, stop: str = "") -> tuple[float, int]:
    """The width of what stands from ``place`` up to ``stop``, and where it ends."""
    width, widest = 0.0, 0.0
    while place < len(tokens) and not (stop and tokens[place].startswith(stop)):
        token = tokens[place]
        place += 1
        if token == "\\\\":
            widest, width = max(widest, width), 0.0
        elif token == "\\frac":
            above, place = _group(tokens, place)
            below, place = _group(tokens, place)
            width += max(above, below) + 0.5
        elif token in "^_":
            script, place = _group(tokens, place)
            width += _SCRIPT * script
        elif token == "{":
            inner, place = _measure(tokens, place, "}")
            width, place = width + inner, place + 1
        elif token.startswith("\\begin"):
            inner, place = _measure(tokens, place, "\\end")
            width, place = width + inner + 1.0, place + 1
        elif not token.isspace() and token not in _INVISIBLE:
            width += _WIDE.get(token, 1.0)
    return max(widest, width), place


def _group(tokens: Sequence[str], place: int) -> tuple[float, int]:
    """The width of one argument: a group in braces or a token."""
    if place < len(tokens) and tokens[place] == "{":
        width, end = _measure(tokens, place + 1, "}")
        return width, end + 1
    return 1.0, place + 1


def lay_out(left: str, sides: Sequence[Sequence[str]], widest: float = WIDEST) -> list[str]:
    """The lines of an equation or a chain of them, each with a mark where they are aligned.

    Each side is a list of its terms, all but the first with their signs; a line is broken between terms, and a chain
    of which one side does not fit is broken at every side.
    """
    whole = " = ".join([f"{left} &", *(" ".join(terms) for terms in sides)]).replace("& =", "&=", 1)
    if measure(whole) <= widest or (len(sides) == 1 and len(sides[0]) == 1):
        return [whole]
    lines: list[str] = []
    start = measure(left)
    for place, terms in enumerate(sides):
        line, width = f"{left if place == 0 else ''} &= {terms[0]}".lstrip(), start + measure(terms[0])
        for term in terms[1:]:
            step = measure(term)
            if width + step > widest:
                lines.append(line)
                line, width = r"&\quad {} " + term, start + 2.0
            else:
                line += f" {term}"
            width += step
        lines.append(line)
    return lines


def aligned(lines: Sequence[str]) -> str:
    """Lines one below the other, aligned at their marks; one line stands by itself."""
    if len(lines) <= 1:
        return "".join(lines).replace("&", "", 1)
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"
