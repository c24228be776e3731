"""A YAML file -> a tree of plain strings, lists and mappings that know where they stand. Constructs no objects."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from symderive.errors import NOWHERE, Location, Span, SpecError
from symderive.record import record
from symderive.spec.source import Origin

MAX_BYTES = 500_000
MAX_EVENTS = 10_000
MAX_DEPTH = 8
_PLAIN_TAGS = (None, "!", "tag:yaml.org,2002:str")
_NULLS = ("", "~", "null", "Null", "NULL")

_YAML_MENDS = (
    ("mapping values are not allowed", "a value that holds ': ' stands in quotes, or under '|' on lines of its own"),
    ("cannot start any token", "put the value in quotes"),
    ("expected ',' or ']'", "a list is [a, b, c]"),
    ("expected ',' or '}'", "a mapping is {a: 1, b: 2}"),
    ("could not find expected ':'", "each line is a key, a colon, a space and a value"),
    ("expected <block end>", "lines of one mapping start in the same column"),
)


@record
class Value:
    """A YAML value with its place."""

    span: Span


@record
class Scalar(Value):
    """A string, verbatim: ``on``, ``1e-5`` and ``no`` are what they are. ``origin`` places its characters.

    ``folded`` says that YAML has joined several lines into one.
    """

    text: str
    origin: Origin
    plain: bool
    folded: bool = False

    @property
    def is_null(self) -> bool:
        """Whether nothing was written."""
        return self.plain and self.text in _NULLS


@record
class Sequence(Value):
    """A list."""

    items: tuple[Value, ...]


@record
class Mapping(Value):
    """A mapping; keys are strings, each given once."""

    entries: tuple[tuple[Scalar, Value], ...]


@record
class Document:
    """A file that was read: its whole text and its tree."""

    path: str
    source: str
    root: Mapping

    def error(self, message: str, span: Span, hint: str | None = None) -> SpecError:
        """The error to raise about a place in the file."""
        return SpecError(message, Location(self.path, span, self.source), hint)

    def fields(self, mapping: Mapping, allowed: Iterable[str], what: str) -> dict[str, Value]:
        """The values of ``mapping`` by key. A key that is not ``allowed`` is an error that suggests one that is."""
        allowed = tuple(allowed)
        for key, _ in mapping.entries:
            if key.text not in allowed:
                hint = suggestion(key.text, allowed) or f"known keys: {', '.join(allowed)}"
                raise self.error(f"unknown key '{key.text}' in {what}", key.span, hint)
        return {key.text: value for key, value in mapping.entries}


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """ "did you mean 'shape'?", where a known name is close."""
    known = list(known)
    close = difflib.get_close_matches(name, known, 1, 0.6)
    if not close:
        close = [k for k in known if k.lower() == name.lower()]
    return f"did you mean '{close[0]}'?" if close else None


def read_text(path: str | Path) -> str:
    """The text of a spec file. Its size is looked at before it is read."""
    path = Path(path)
    where = Location(str(path), NOWHERE)
    try:
        if path.is_dir():
            raise SpecError("this is a folder, not a spec file", where)
        if not path.exists():
            raise SpecError("there is no such file", where, _neighbours(path))
        if not path.is_file():
            raise SpecError("this is not a regular file", where)
        if (size := path.stat().st_size) > MAX_BYTES:
            raise SpecError(f"a file of {size:,} bytes is too large for a spec; at most {MAX_BYTES:,}", where)
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecError(f"the file cannot be read: {reason}", where) from None
    return decode(data, str(path))


def _neighbours(path: Path) -> str | None:
    try:
        beside = {p.stem: p.name for p in path.parent.iterdir() if p.suffix in (".yaml", ".yml")}
    except OSError:
        return None
    close = difflib.get_close_matches(path.stem, beside, 1, 0.6)
    return f"did you mean '{path.parent / beside[close[0]]}'?" if close else None


def decode(data: bytes, path: str) -> str:
    """UTF-8 text with line ends as ``\\n``; anything else is an error that says at which byte."""
    where = Location(path, NOWHERE)
    if b"\0" in data:
        raise SpecError("this is a binary file, not a spec", where, "a spec is a YAML text in UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"byte {error.start + 1} is not UTF-8 text"
        raise SpecError(message, where, "save the file as UTF-8, if it is a spec at all") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_document(text: str, path: str) -> Document:
    """The tree of a YAML text. Aliases, anchors, tags, several documents and deep nesting are refused."""
    if len(text) > MAX_BYTES:
        message = f"a text of {len(text):,} characters is too large for a spec; at most {MAX_BYTES:,}"
        raise SpecError(message, Location(path, NOWHERE))
    reader = _Reader(text, path)
    try:
        root = reader.document()
    except yaml.reader.ReaderError as error:
        raise reader.unreadable(error) from None
    except yaml.MarkedYAMLError as error:
        raise reader.malformed(error) from None
    except yaml.YAMLError as error:
        raise SpecError(f"not valid YAML: {error}", Location(path, NOWHERE)) from None
    if root is None:
        raise SpecError(
            "the file is empty", Location(path, NOWHERE), "`symderive new NAME` writes a spec to start from"
        )
    if not isinstance(root, Mapping):
        raise reader.error("a spec is a mapping of keys to values", root.span, "start with `name: ...`")
    return Document(path, text, root)


class _Reader:
    """YAML events -> values."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.lines = text.splitlines()
        self.count = 0
        self.events: Iterator[yaml.Event] = yaml.parse(text, Loader=yaml.SafeLoader)

    def error(self, message: str, span: Span, hint: str | None = None) -> SpecError:
        return SpecError(message, Location(self.path, span, self.text), hint)

    def next(self) -> yaml.Event:
        event = next(self.events)
        self.count += 1
        if self.count > MAX_EVENTS:
            raise self.error(f"more than {MAX_EVENTS:,} values in one file", _span(event), "split the spec up")
        return event

    def document(self) -> Value | None:
        root = None
        while True:
            event = self.next()
            if isinstance(event, yaml.StreamEndEvent):
                return root
            if isinstance(event, yaml.DocumentStartEvent) and root is not None:
                raise self.error("a second YAML document", _span(event), "one file describes one op; remove the ---")
            if isinstance(event, yaml.NodeEvent):
                root = self.value(event, 0)
                if isinstance(root, Scalar) and root.is_null:
                    root = None

    def value(self, event: yaml.Event, depth: int) -> Value:
        if isinstance(event, yaml.AliasEvent):
            raise self.error("YAML aliases are not allowed in a spec", _span(event), "write the value out")
        assert isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent)
        if event.anchor is not None:
            raise self.error("YAML anchors are not allowed in a spec", _span(event), "write the value out")
        if event.tag not in _PLAIN_TAGS:
            raise self.error(
                "YAML tags are not allowed in a spec",
                _span(event),
                "remove the tag; every value is read as it is written",
            )
        if depth > MAX_DEPTH:
            raise self.error("YAML nested too deeply for a spec", _span(event))
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return self.sequence(event, depth)
        return self.mapping(event, depth)

    def scalar(self, event: yaml.ScalarEvent) -> Scalar:
        span = _span(event)
        folded = event.style == ">" or (event.style != "|" and span.end_line > span.line)
        return Scalar(span, event.value, self.origin(event, span), event.style is None, folded)

    def origin(self, event: yaml.ScalarEvent, span: Span) -> Origin:
        whole = Origin(self.path, self.text, whole=Span(span.line, span.column, span.line, span.column + 1))
        if event.style == "|":
            return self.block_origin(event, span) or whole
        skip = 0 if event.style is None else 1
        start, end = span.column - 1 + skip, span.end_column - 1 - skip
        here = self.lines[span.line - 1][start:end] if span.line <= len(self.lines) else None
        if span.line == span.end_line and here == event.value:
            return Origin(self.path, self.text, span.line, start + 1)
        return whole

    def block_origin(self, event: yaml.ScalarEvent, span: Span) -> Origin | None:
        """The origin of a literal block: the lines below the ``|``, all indented alike."""
        rows = event.value.split("\n")
        raw = self.lines[span.line : span.line + len(rows)]
        raw += [""] * (len(rows) - len(raw))
        indent = next((len(r) - len(v) for r, v in zip(raw, rows, strict=True) if v.strip()), 0)
        rows[-1] = rows[-1] or raw[-1][indent:]
        if indent < 0 or any(r[indent:] != v for r, v in zip(raw, rows, strict=True)):
            return None
        return Origin(self.path, self.text, span.line + 1, indent + 1)

    def sequence(self, start: yaml.Event, depth: int) -> Sequence:
        items = []
        while not isinstance(event := self.next(), yaml.SequenceEndEvent):
            items.append(self.value(event, depth + 1))
        return Sequence(Span(*_start(start), *_end(event)), tuple(items))

    def mapping(self, start: yaml.Event, depth: int) -> Mapping:
        entries: list[tuple[Scalar, Value]] = []
        seen: dict[str, Span] = {}
        while not isinstance(event := self.next(), yaml.MappingEndEvent):
            key = self.value(event, depth + 1)
            if not isinstance(key, Scalar):
                raise self.error("a key must be a name", key.span, "a list such as [N, K] stands behind a key")
            if key.text in seen:
                message = f"'{key.text}' is given twice; first in line {seen[key.text].line}"
                raise self.error(message, key.span, "remove or rename one of them")
            seen[key.text] = key.span
            entries.append((key, self.value(self.next(), depth + 1)))
        return Mapping(Span(*_start(start), *_end(event)), tuple(entries))

    # -- YAML's own errors -------------------------------------------------------------------------------------

    def unreadable(self, error: yaml.reader.ReaderError) -> SpecError:
        before = self.text[: error.position]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        code = error.character if isinstance(error.character, int) else ord(error.character)
        message = f"the character U+{code:04X} is not allowed in YAML"
        return self.error(message, Span(line, column, line, column + 1), "remove it")

    def malformed(self, error: yaml.MarkedYAMLError) -> SpecError:
        mark = error.problem_mark or error.context_mark
        if mark is None:
            return self.error(f"not valid YAML: {error.problem}", NOWHERE)
        if tab := self.tab_near(mark.line):
            return self.error("a tab in the indentation", tab, "YAML indents with spaces only")
        span = Span(mark.line + 1, mark.column + 1, mark.line + 1, mark.column + 2)
        problem = str(error.problem or error.context)
        if "'\\t'" in problem:
            return self.error("a tab, where YAML wants spaces", span, "write spaces instead")
        hint = next((h for text, h in _YAML_MENDS if text in problem), None)
        return self.error(f"not valid YAML: {problem}", span, hint)

    def tab_near(self, line: int) -> Span | None:
        """A tab in the indentation of that line or the one before."""
        for number in (line, line - 1):
            if 0 <= number < len(self.lines):
                row = self.lines[number]
                indentation = row[: len(row) - len(row.lstrip())]
                if "\t" in indentation and row.strip():
                    column = indentation.index("\t") + 1
                    return Span(number + 1, column, number + 1, column + 1)
        return None


def _start(event: yaml.Event) -> tuple[int, int]:
    mark: Any = event.start_mark
    return mark.line + 1, mark.column + 1


def _end(event: yaml.Event) -> tuple[int, int]:
    mark: Any = event.end_mark
    return mark.line + 1, mark.column + 1


def _span(event: yaml.Event) -> Span:
    return Span(*_start(event), *_end(event))
