"""Spec text -> tokens, each with its place in the file."""

from __future__ import annotations

import re
from typing import NamedTuple

from symderive.errors import Span
from symderive.spec.source import Origin

MAX_CHARACTERS = 200_000
MAX_TOKENS = 40_000
MAX_NUMBER = 400
MAX_EXPONENT = 400
MAX_NAME = 100

_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r\f]+|\#[^\n]*)
    | (?P<newline>\n)
    | (?P<number>(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<string>"[^"\n\\]*"|'[^'\n\\]*')
    | (?P<op>\.\.\.|\*\*=|//=|\*\*|//|<=|>=|==|!=|:=|->|&&|\|\||[-+*/%@]=|[-+*/%@()\[\],.:=<>])
    """,
    re.VERBOSE,
)
_OPENING = {"(": ")", "[": "]"}

_MENDS = {
    "^": "a power is written **",
    "!": "write 'not', or != for 'is not equal'",
    "~": "write 'not'",
    "&": "write 'and'",
    "|": "write 'or', and abs(x) for an absolute value",
    "{": "use round brackets",
    "}": "use round brackets",
    ";": "write one equation a line",
    "\\": "a line may continue while a bracket is open",
    "$": "write the formula without LaTeX",
    "'": "write W.T for a transpose, and close a quoted text on its line",
    '"': "close a quoted text on its line",
    "?": "write where(condition, a, b)",
    "−": "write the minus sign as -",
    "–": "write the minus sign as -",
    "·": "write a product as *",
    "×": "write a product as *",
    "⊙": "write a product entry by entry as *",
    "∘": "write a product entry by entry as *",
    "ᵀ": "write W.T for a transpose",
    "⊤": "write W.T for a transpose",
    "÷": "write a quotient as /",
    "≤": "write <=",
    "≥": "write >=",
    "≠": "write !=",
    "²": "a power is written **2",
    "√": "write sqrt(x)",
    "∑": "write sum[k](...)",
    "Σ": "write sum[k](...)",
    "∏": "write prod[k](...)",
    "∞": "write inf",
    "π": "write pi",
    "…": "write three full stops, ...",
    "∂": "write d<name> for a gradient, as in dW",
    "∇": "write d<name> for a gradient, as in dW",
}
_BAD_OPERATORS = {
    ":=": "write =",
    "->": "'->' has no meaning here",
    "&&": "write 'and'",
    "||": "write 'or'",
}


class Token(NamedTuple):
    """``kind`` is number, name, string, op, newline or end."""

    kind: str
    text: str
    span: Span


def tokenize(text: str, origin: Origin) -> list[Token]:
    """The tokens of ``text``; line ends count only where no bracket is open. The last token has the kind ``end``."""
    if len(text) > MAX_CHARACTERS:
        raise origin.error(f"a text of {len(text):,} characters; at most {MAX_CHARACTERS:,}", origin.span(1, 1, 1, 2))
    tokens: list[Token] = []
    opened: list[Token] = []
    line, start, position = 1, 0, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        column = position - start + 1
        if match is None:
            raise _unknown(text[position], origin, origin.span(line, column, line, column + 1))
        kind, end = str(match.lastgroup), match.end()
        if kind == "newline":
            if not opened:
                tokens.append(Token(kind, "\n", origin.span(line, column, line, column + 1)))
            line, start = line + 1, end
        elif kind != "space":
            token = Token(kind, match.group(), origin.span(line, column, line, end - start + 1))
            _check(token, origin)
            _bracket(token, opened, origin)
            tokens.append(token)
            if len(tokens) > MAX_TOKENS:
                raise origin.error(f"more than {MAX_TOKENS:,} words and signs", token.span, "split it up")
        position = end
    if opened:
        raise _unclosed(opened, origin)
    column = position - start + 1
    tokens.append(Token("end", "", origin.span(line, column, line, column + 1)))
    return tokens


def _unknown(character: str, origin: Origin, span: Span) -> Exception:
    hint = _MENDS.get(character)
    if hint is None and character.isalpha():
        hint = "names are made of ASCII letters, digits and _: write alpha, sigma, x_hat"
    shown = f"'{character}'" if character.isprintable() else f"U+{ord(character):04X}"
    return origin.error(f"the character {shown} has no meaning here", span, hint)


def _check(token: Token, origin: Origin) -> None:
    if token.kind == "number":
        exponent = re.split("[eE]", token.text)[1:]
        if len(token.text) > MAX_NUMBER or (exponent and abs(int(exponent[0])) > MAX_EXPONENT):
            raise origin.error(
                "this number is too long or its exponent too large",
                token.span,
                f"at most {MAX_NUMBER} characters, and an exponent within {MAX_EXPONENT}",
            )
    elif token.kind == "name" and len(token.text) > MAX_NAME:
        raise origin.error(f"a name of {len(token.text)} characters; at most {MAX_NAME}", token.span)
    elif token.text in _BAD_OPERATORS:
        raise origin.error(f"'{token.text}' is not an operator", token.span, _BAD_OPERATORS[token.text])
    elif len(token.text) > 1 and token.kind == "op" and token.text[-1] == "=" and token.text[0] in "+-*/%@":
        mend = f"write the whole right side: y = y_before {token.text[:-1]} ..., under a new name"
        raise origin.error(f"'{token.text}' is not an operator: each tensor is defined once", token.span, mend)


def _bracket(token: Token, opened: list[Token], origin: Origin) -> None:
    if token.kind != "op":
        return
    if token.text in _OPENING:
        opened.append(token)
    elif token.text in _OPENING.values():
        if not opened:
            raise origin.error(
                f"this '{token.text}' closes nothing",
                token.span,
                f"remove it, or open it with {_opener(token.text)} before",
            )
        last = opened.pop()
        if _OPENING[last.text] != token.text:
            place = f"line {last.span.line}, column {last.span.column}"
            raise origin.error(
                f"'{token.text}' closes the '{last.text}' of {place}; expected '{_OPENING[last.text]}'", token.span
            )


def _opener(closer: str) -> str:
    return next(o for o, c in _OPENING.items() if c == closer)


def _unclosed(opened: list[Token], origin: Origin) -> Exception:
    token = opened[-1]
    return origin.error(
        f"this '{token.text}' is never closed",
        token.span,
        f"add the missing '{_OPENING[token.text]}'; a line continues while a bracket is open",
    )
