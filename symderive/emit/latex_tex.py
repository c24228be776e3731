"""Pieces of LaTeX that know how tightly they bind, and so where brackets are needed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum

from symderive.record import record


class Level(IntEnum):
    """How tightly a piece binds, loosest first."""

    ANY = 0
    OR = 10
    AND = 20
    NOT = 25
    COMPARE = 30
    CASES = 35
    MODULO = 38
    SUM = 40
    HADAMARD = 45
    PRODUCT = 50
    FRACTION = 55
    APPLY = 60
    POWER = 70
    ATOM = 80


@record
class Tex:
    r"""A piece of LaTeX.

    ``open`` says that it ends in an operator such as :math:`\sum`, which takes what follows; ``negated`` that it is a
    minus in front of what binds like a product.
    """

    text: str
    level: Level = Level.ATOM
    open: bool = False
    negated: bool = False

    def within(self, least: Level) -> str:
        """The text, in parentheses where it binds less tightly than ``least``."""
        return self.text if self.level >= least else parentheses(self.text)


_TALL = re.compile(r"\\(frac|sum|prod|begin|bigvee|bigwedge|bar\{\\frac|left)|\\(max|min)_")
_LETTER = re.compile(r"[A-Za-z]|\\(?!ldots)[A-Za-z]+")
_UPRIGHT = re.compile(r"\\(mathrm|text|mathbf|log|exp|arg|max|min|det)\b")
_ENDS_UPRIGHT = re.compile(r"\\(mathrm|text)\{[^{}]*\}([_^]\{[^{}]*\})*$")
_BARE_UPRIGHT = re.compile(r"\\(mathrm|text)\{[^{}]*\}$")
_OPENS = re.compile(r"\(|\\left|\\begin")


def is_tall(text: str) -> bool:
    """Whether plain parentheses would be too small for it."""
    return _TALL.search(text) is not None


def parentheses(text: str) -> str:
    """The text in parentheses of its own height."""
    return rf"\left({text}\right)" if is_tall(text) else f"({text})"


def brackets(text: str) -> str:
    """The text in square brackets of its own height."""
    return rf"\left[{text}\right]" if is_tall(text) else f"[{text}]"


def subscript(items: Sequence[str]) -> str:
    """Indices side by side, ``ij``, where each is one letter, else separated by commas, ``n, k + 1``."""
    if not all(_LETTER.fullmatch(item) for item in items):
        return ", ".join(items)
    joined = ""
    for item in items:
        joined += item
        joined += " " if item.startswith("\\") else ""
    return joined.rstrip()


def with_foot(text: str, foot: str) -> str:
    """The text with a subscript, in parentheses where it has one already."""
    return rf"{parentheses(text) if _has_foot(text) else text}_{{{foot}}}"


def _has_foot(text: str) -> bool:
    """Whether the last thing in the text has a subscript."""
    text = re.sub(r"\^(\\top|\d)$", "", text)
    while (start := _last_group(text)) and text[start - 1] in "_^":
        if text[start - 1] == "_":
            return True
        text = text[: start - 1]
    return False


def _last_group(text: str) -> int:
    """Where the group in braces starts that the text ends in; 0 where it ends in none."""
    depth = 0
    for place in range(len(text) - 1, 0, -1):
        depth += (text[place] == "}") - (text[place] == "{")
        if depth == 0:
            return place if text[place] == "{" else 0
    return 0


def cases(rows: Sequence[tuple[str, str]]) -> str:
    r"""A left brace over rows of a value and its condition; an empty condition is ``otherwise``."""
    tests = [rf"\text{{if }} {test}" if test else r"\text{otherwise}" for _, test in rows]
    values = [rf"\displaystyle {value}" if is_tall(value) else value for value, _ in rows]
    lines = [f"{value} & {test}" for value, test in zip(values, tests, strict=True)]
    return r"\begin{cases} " + r" \\ ".join(lines) + r" \end{cases}"


def _sign(left: str, right: str) -> str:
    r"""What stands between two factors: nothing, or a dot where side by side they would read as something else."""
    if right[0].isdigit():
        return r" \cdot "
    if left[-1].isdigit() and re.match(r"\\frac\{\d", right):
        return r" \cdot "
    if re.match(r"\\(mathrm|text|mathbf)\b", right) and not left.endswith(("}", ")", "]")):
        return r" \cdot "
    if _BARE_UPRIGHT.search(left) or (_ENDS_UPRIGHT.search(left) and (_OPENS.match(right) or _UPRIGHT.match(right))):
        return r" \cdot "
    return " "


def product(factors: Sequence[Tex], between: str = "") -> Tex:
    r"""Factors side by side, or with ``between`` (such as ``\odot``); one that would take the next is bracketed.

    A minus in front of the first factor stays in front of the whole.
    """
    text = ""
    for place, factor in enumerate(factors):
        if place == 0 and factor.negated and not factor.open:
            text = factor.text
            continue
        piece = parentheses(factor.text) if factor.open and place < len(factors) - 1 else factor.within(Level.PRODUCT)
        text = f"{text}{f' {between} ' if between else _sign(text, piece)}{piece}" if text else piece
    minus = factors[0].negated and not factors[0].open
    return Tex(text, Level.SUM if minus else Level.PRODUCT, open=factors[-1].open, negated=minus)


def negative(term: Tex) -> Tex:
    """A minus in front of a term."""
    return Tex("-" + term.within(Level.HADAMARD), Level.SUM, open=term.open, negated=True)
