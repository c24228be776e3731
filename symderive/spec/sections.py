"""The sections of a spec that give numbers: ``sizes``, ``constants``, ``indices`` and ``cases``."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sympy import Expr, Integer

from symderive.errors import Span
from symderive.spec import syntax as s
from symderive.spec.fields import mapping, scalar, wrong
from symderive.spec.names import Namespace
from symderive.spec.reader import Document, Scalar, Sequence, Value, suggestion
from symderive.spec.shapes import SizeReader, exact_number

MAX_SIZE = 10**9
MAX_CASES = 200

Sizes = dict[str, "int | tuple[int, ...]"]


def read_sizes(document: Document, value: Value | None, names: Namespace) -> tuple[Sizes, dict[str, Span]]:
    """The author's sizes, each name declared, and where each stands."""
    sizes: Sizes = {}
    places: dict[str, Span] = {}
    entries = mapping(document, value, "sizes", "as in `sizes: {N: 2, K: 64}`")
    for key, item in entries.entries if entries else ():
        if key.text != s.BATCH:
            names.declare(key.text, "size", key.span)
        sizes[key.text] = _size(document, key, item)
        places[key.text] = key.span
    return sizes, places


def _size(document: Document, key: Scalar, value: Value) -> int | tuple[int, ...]:
    if key.text == s.BATCH:
        items = value.items if isinstance(value, Sequence) else (value,)
        return tuple(_positive(document, i, "an extent of '...'") for i in items)
    return _positive(document, value, f"the size '{key.text}'")


def _positive(document: Document, value: Value, what: str) -> int:
    entry = scalar(document, value, what, "a positive integer")
    number = exact_number(entry, what)
    if number.denominator != 1 or number < 1:
        message = f"{what} must be a positive integer, not {entry.text[:40]}"
        raise document.error(message, entry.span, "a size is 1 or more")
    if number > MAX_SIZE:
        raise document.error(f"{what} is too large", entry.span, f"at most {MAX_SIZE:,}")
    return int(number)


def read_constants(document: Document, value: Value | None, names: Namespace) -> dict[str, Fraction]:
    """The named constants, exactly."""
    constants = {}
    entries = mapping(document, value, "constants", "as in `constants: {eps: 1e-5}`")
    for key, item in entries.entries if entries else ():
        names.declare(key.text, "constant", key.span)
        what = f"the constant '{key.text}'"
        constants[key.text] = exact_number(scalar(document, item, what, "a number such as 1e-5 or 1/3"), what)
    return constants


def read_indices(document: Document, value: Value | None, names: Namespace, sizes: SizeReader) -> dict[str, Expr]:
    """The declared ranges."""
    indices: dict[str, Expr] = {}
    entries = mapping(document, value, "indices", "as in `indices: {h: H - R + 1}`")
    for key, item in entries.entries if entries else ():
        names.index(key.text, key.span)
        entry = scalar(document, item, f"the range of '{key.text}'", "a size expression, such as H - R + 1")
        extent = sizes.read(entry)
        if isinstance(extent, Integer) and extent < 1:
            raise document.error(f"the index '{key.text}' has no values: its range is {extent}", entry.span)
        indices[key.text] = extent
    return indices


def read_cases(document: Document, value: Value | None, sizes: Mapping[str, object]) -> tuple[tuple[Sizes, Span], ...]:
    """More sizes to check, each completed by those of ``sizes``."""
    if value is None or (isinstance(value, Scalar) and value.is_null):
        return ()
    if not isinstance(value, Sequence):
        raise wrong(document, value, "cases must be a list of mappings", "as in `cases: [{N: 3, K: 5}]`")
    if len(value.items) > MAX_CASES:
        raise document.error(f"{len(value.items):,} cases; at most {MAX_CASES}", value.span)
    cases = []
    for item in value.items:
        entries = mapping(document, item, "a case", "as in `{N: 3, K: 5}`")
        case: Sizes = dict(sizes)  # type: ignore[arg-type]
        for key, number in entries.entries if entries else ():
            if key.text not in sizes and key.text != s.BATCH:
                hint = suggestion(key.text, sizes) or f"the sizes are {', '.join(sizes) or 'none'}"
                raise document.error(f"unknown size '{key.text}' in a case", key.span, hint)
            case[key.text] = _size(document, key, number)
        cases.append((case, item.span))
    return tuple(cases)
