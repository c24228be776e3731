"""A derivation as Markdown that GitHub renders, or as LaTeX for a paper: ready to paste."""

from __future__ import annotations

import re
from collections.abc import Callable

from symderive.algebra.program import Derivation
from symderive.emit.writeup import ArrayForms, Block, Code, Formula, Heading, Prose, formulas, writeup

_SECTIONS = {1: "section*", 2: "subsection*"}
_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "ℓ": r"\(\ell\)",
} | {letter: f"\\{letter}" for letter in "#$%&_{}"}


def derivation_markdown(derivation: Derivation, array_forms: ArrayForms | None = None, torch_code: str = "") -> str:
    """The derivation as Markdown: prose, formulas between ``$$`` on lines of their own, and fenced code.

    ``array_forms`` maps the name of an input to the array form of its gradient, or to None; ``torch_code`` is the
    emitted module, shown as code and as mathematics.
    """
    return "\n\n".join(_markdown(block) for block in writeup(derivation, array_forms, torch_code)) + "\n"


def derivation_latex(derivation: Derivation, array_forms: ArrayForms | None = None, torch_code: str = "") -> str:
    """The derivation as the body of a LaTeX document, which needs the packages amsmath and amssymb."""
    return "\n\n".join(_latex(block) for block in writeup(derivation, array_forms, torch_code)) + "\n"


def derivation_formulas(
    derivation: Derivation, array_forms: ArrayForms | None = None, torch_code: str = ""
) -> list[str]:
    """Every formula that the derivation prints, as LaTeX without delimiters."""
    return formulas(writeup(derivation, array_forms, torch_code))


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {prose_markdown(block.text)}"
    if isinstance(block, Prose):
        lead = f"**{escape_markdown(block.lead)}** " if block.lead else ""
        return (lead + prose_markdown(block.text)).rstrip()
    if isinstance(block, Formula):
        return formula_markdown(block.latex)
    return f"```python\n{block.text.rstrip()}\n```"


def _latex(block: Block) -> str:
    if isinstance(block, Heading):
        return rf"\{_SECTIONS[min(block.level, 2)]}{{{_outside_code(_one_line(block.text), _escape_tex, _typewriter)}}}"
    if isinstance(block, Prose):
        lead = rf"\paragraph{{{_escape_tex(block.lead)}}} " if block.lead else ""
        return (lead + _outside_code(_one_line(block.text), _escape_tex, _typewriter)).rstrip()
    if isinstance(block, Formula):
        return f"\\[\n{block.latex}\n\\]"
    return f"\\begin{{verbatim}}\n{block.text.rstrip()}\n\\end{{verbatim}}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _outside_code(text: str, escape: Callable[[str], str], code: Callable[[str], str] = str) -> str:
    """A text with what stands outside of backticks escaped."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(code(part) if part.startswith("`") and len(part) > 1 else escape(part) for part in parts)


def formula_markdown(latex: str) -> str:
    """A displayed formula."""
    return f"$$\n{latex}\n$$"


def prose_markdown(text: str) -> str:
    """A paragraph; what stands between backticks is code."""
    return _outside_code(_one_line(text), escape_markdown)


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\*_<>\[\]$#`|])", r"\\\1", text)


def _escape_tex(text: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in text)


def _typewriter(code: str) -> str:
    return rf"\texttt{{{_escape_tex(code.strip('`'))}}}"


__all__ = ["Code", "derivation_formulas", "derivation_latex", "derivation_markdown"]
