"""Typed access to the values of a spec's YAML tree; each error says what was expected."""

from __future__ import annotations

from collections.abc import Iterable

from symderive.errors import Span, SpecError
from symderive.spec.reader import Document, Mapping, Scalar, Sequence, Value

_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def kind_of(value: Value) -> str:
    """What a YAML value is, in words."""
    if isinstance(value, Scalar):
        return "nothing" if value.is_null else "a single value"
    return "a list" if isinstance(value, Sequence) else "a mapping"


def scalar(document: Document, value: Value, what: str, hint: str | None = None) -> Scalar:
    """A single value that is not empty; ``null`` may be a name."""
    if not isinstance(value, Scalar) or (value.is_null and value.text in ("", "~")):
        raise wrong(document, value, f"{what} must be a single value", hint)
    return value


def prose(document: Document, value: Value | None, what: str) -> str:
    """Text for people; nothing is the empty text."""
    if value is None:
        return ""
    if not isinstance(value, Scalar):
        raise wrong(document, value, f"{what} must be text")
    return "" if value.is_null else value.text


def mapping(document: Document, value: Value | None, what: str, hint: str | None = None) -> Mapping | None:
    """A mapping, or None where nothing was written."""
    if value is None or (isinstance(value, Scalar) and value.is_null):
        return None
    if not isinstance(value, Mapping):
        raise wrong(document, value, f"{what} must be a mapping", hint)
    return value


def several(document: Document, value: Value, what: str) -> tuple[Scalar, ...]:
    """One value, or a list of them."""
    items: Iterable[Value] = value.items if isinstance(value, Sequence) else (value,)
    return tuple(scalar(document, i, what) for i in items)


def flag(document: Document, value: Value, what: str) -> bool:
    """``true`` or ``false``."""
    text = scalar(document, value, what, "write true or false")
    if text.text.lower() not in _FLAGS:
        raise document.error(f"{what} must be true or false, not '{text.text[:40]}'", text.span)
    return _FLAGS[text.text.lower()]


def block(document: Document, value: Value, what: str) -> Scalar:
    """A block of lines."""
    hint = f"write `{what}: |` and the lines below it, indented"
    if not isinstance(value, Scalar):
        raise wrong(document, value, f"{what} must be a block of lines", hint)
    if value.folded:
        first = Span(value.span.line, value.span.column, value.span.line, value.span.column + 1)
        raise document.error(f"YAML joins the lines of {what} into one", first, hint)
    return value


def wrong(document: Document, value: Value, message: str, hint: str | None = None) -> SpecError:
    """The error about a value of the wrong kind."""
    return document.error(f"{message}, not {kind_of(value)}", value.span, hint)
