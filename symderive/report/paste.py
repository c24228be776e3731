"""Generated blocks in Markdown files: between two markers, any form of a derivation; everything else byte for byte."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from symderive import api
from symderive.catalogue import spec_path, spec_paths
from symderive.errors import Location, Span, SymderiveError
from symderive.report.page import catalogue_page

START = re.compile(r"^(?P<indent>[ \t]*)<!--\s*symderive:\s*(?P<words>.*?)\s*-->\s*$")
END = re.compile(r"^[ \t]*<!--\s*/symderive\s*-->\s*$")
FENCE = re.compile(r"^[ \t]*(?P<fence>`{3,}|~{3,})")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])")


@dataclass(frozen=True)
class Block:
    """A generated block: the lines ``first`` to ``last`` of a file stand between its markers, counted from 0."""

    words: tuple[str, ...]
    first: int
    last: int
    indent: str = ""


@dataclass(frozen=True)
class Pasted:
    """A file before and after its blocks were refreshed; ``stale`` are the lines of the blocks that differ."""

    path: Path
    before: str
    after: str
    blocks: int
    stale: tuple[int, ...]

    def diff(self) -> str:
        """What refreshing would change."""
        old, new = self.before.splitlines(keepends=True), self.after.splitlines(keepends=True)
        lines = difflib.unified_diff(old, new, str(self.path), f"{self.path} (refreshed)")
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def read(path: Path) -> str:
    """The text of a file as it is, line ends included."""
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise SymderiveError(f"{path} is no UTF-8 text") from error


def refreshed(path: Path) -> Pasted:
    """The file with every block generated anew."""
    text = read(path)
    lines = text.splitlines(keepends=True)
    out: list[str] = []
    done = 0
    stale = []
    found = blocks(text, str(path))
    newline = "\r\n" if any(line.endswith("\r\n") for line in lines) else "\n"
    for block in found:
        content, measured = generate(block, path, text)
        new = [f"{block.indent}{line}".rstrip(" \t") + newline for line in content.rstrip("\n").split("\n")]
        old = lines[block.first : block.last]
        if "".join(old) != "".join(new):
            if measured and _same_form(old, new):
                new = old
            else:
                stale.append(block.first)
        out += [*lines[done : block.first], *new]
        done = block.last
    return Pasted(path, text, "".join([*out, *lines[done:]]), len(found), tuple(stale))


def _same_form(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether two blocks differ in measured numbers only."""
    return [_without_numbers(line) for line in old] == [_without_numbers(line) for line in new]


def _without_numbers(line: str) -> str:
    return re.sub(r"[ -]{2,}", " ", NUMBER.sub("#", line)).strip()


def blocks(text: str, path: str = "") -> list[Block]:
    """The blocks of a Markdown text; markers inside fenced code are text."""
    found: list[Block] = []
    opened: tuple[int, re.Match[str]] | None = None
    fence = ""
    for n, line in enumerate(text.splitlines()):
        start = START.match(line)
        if opened is not None:
            if END.match(line):
                at, head = opened
                found.append(Block(tuple(head["words"].split()), at + 1, n, head["indent"]))
                opened = None
            elif start is not None and _is_block(start):
                raise _at(path, text, opened[0], "this block is not closed before the next one", "<!-- /symderive -->")
            continue
        fence = _fence_after(fence, line)
        if fence:
            continue
        if start is not None:
            opened = n, start
        elif END.match(line):
            raise _at(path, text, n, "this closes no block", "a block starts with <!-- symderive: SPEC FORMAT -->")
    if opened is not None:
        raise _at(path, text, opened[0], "this block is not closed", "it ends with <!-- /symderive -->")
    return found


def _is_block(start: re.Match[str]) -> bool:
    return bool(start["words"])


def _fence_after(fence: str, line: str) -> str:
    """The fence that is open after a line, empty if none is."""
    found = FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return found["fence"]
    closes = found["fence"].startswith(fence) and not line.strip().strip(fence[0])
    return "" if closes else fence


def _at(path: str, text: str, line: int, message: str, hint: str | None = None) -> SymderiveError:
    shown = text.splitlines()[line]
    return SymderiveError(message, Location(path, Span(line + 1, 1, line + 1, len(shown) + 1), text), hint)


# -- what a block may hold -------------------------------------------------------------------------------------------

Form = Callable[["api.Derivation", "tuple[str, ...]"], str]


def fenced(text: str, language: str = "") -> str:
    """A fenced block, with a fence longer than any in the text."""
    longest = max((len(m) for m in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _index(d: api.Derivation, names: tuple[str, ...]) -> str:
    wanted = {d.gradients[n].tensor for n in names}
    lines = [line for line in d.equations() if len(names) == len(d.gradients) or _defined(line) in wanted]
    return fenced("\n".join(lines))


def _defined(line: str) -> str:
    return line.split(" = ", 1)[0].split("[", 1)[0]


def _array(d: api.Derivation, names: tuple[str, ...]) -> str:
    whole = len(names) == len(d.gradients)
    tensors = [_defined(line) for line in d.equations()] if whole else [d.gradients[n].tensor for n in names]
    return fenced("\n".join(d.array_form(t) or f"# {t} has no array form" for t in tensors), "python")


def _latex(form: str) -> Form:
    def shown(d: api.Derivation, names: tuple[str, ...]) -> str:
        return "\n\n".join(f"$$\n{d.gradients[n].latex(form)}\n$$" for n in names)

    return shown


def _steps(d: api.Derivation, names: tuple[str, ...]) -> str:
    from symderive.spec.format import to_text

    parts = []
    for name in names:
        lines = [f"{n}. {s.text} [{s.rule}]\n     {to_text(s.after)}" for n, s in enumerate(d.gradients[name].steps, 1)]
        parts.append("\n".join([f"{d.gradients[name].tensor}:", *lines]))
    return fenced("\n\n".join(parts), "text")


def _text(d: api.Derivation, names: tuple[str, ...]) -> str:
    from symderive.report.derivation import mathematics
    from symderive.report.plain import plain_texts

    return fenced(plain_texts(list(mathematics(_only(d, names)))), "text")


def _only(d: api.Derivation, names: tuple[str, ...]) -> api.Derivation:
    return d if names == tuple(d.gradients) else api.derive(d.spec, wrt=names)


def _errors(d: api.Derivation, names: tuple[str, ...]) -> str:
    from symderive.report.lab.measure import Plan, measure_errors
    from symderive.report.lab.tables import error_table

    wanted = {d.gradients[n].tensor for n in names}
    return error_table([s for s in measure_errors(d.spec, Plan()) if s.gradient in wanted])


def _graph(form: str) -> Form:
    def shown(d: api.Derivation, names: tuple[str, ...]) -> str:
        from symderive.report.lab.drawing import mermaid, tree
        from symderive.report.lab.graphs import view

        graph = view(d).graph
        return fenced(mermaid(graph), "mermaid") if form == "mermaid" else fenced(tree(graph), "text")

    return shown


FORMS: Mapping[str, Form] = {
    "index": _index,
    "array": _array,
    "latex-index": _latex("index"),
    "latex-array": _latex("array"),
    "steps": _steps,
    "text": _text,
    "latex": lambda d, names: fenced(_only(d, names).latex(), "latex"),
    "markdown": lambda d, names: _only(d, names).markdown(),
    "torch": lambda d, names: fenced(_only(d, names).torch, "python"),
    "numpy": lambda d, names: fenced(_only(d, names).numpy, "python"),
    "spec": lambda d, names: fenced(_only(d, names).spec_text, "yaml"),
    "json": lambda d, names: fenced(_only(d, names).json(), "json"),
    "errors": _errors,
    "graph": _graph("text"),
    "mermaid": _graph("mermaid"),
}
"""The formats of a block, each of the gradients that the block names, or of all."""

SOURCE = "source"
"""One more format: the spec's own file."""

CATALOGUE = "catalogue"
"""And one of a folder: every spec in it."""

MEASURED = frozenset({"errors"})
"""Formats whose numbers differ from machine to machine: a block is stale where anything but a number differs."""


def generate(block: Block, path: Path, text: str) -> tuple[str, bool]:
    """The content of a block, and whether it is measured; ``path`` is the file that it stands in."""
    line = block.first - 1
    try:
        spec, names, form = _words(block.words, path)
        if form == CATALOGUE:
            return catalogue_page([(p, _derived(p, _stamp(p))) for p in spec_paths([spec])], path.parent), False
        if form == SOURCE:
            return fenced(api.load(spec).text, "yaml"), False
        derivation = _derived(spec, _stamp(spec))
        return FORMS[form](derivation, _gradients(derivation, names)), form in MEASURED
    except SymderiveError as error:
        if error.location is not None:
            raise
        raise _at(str(path), text, line, error.message, error.hint) from error


def _words(words: Sequence[str], path: Path) -> tuple[Path, tuple[str, ...], str]:
    """The spec, the gradients and the format that a marker names."""
    known = ", ".join((*FORMS, SOURCE, CATALOGUE))
    if len(words) < 2:
        raise SymderiveError(
            "a block names a spec, the gradients (all if it names none) and a format",
            hint=f"<!-- symderive: derivations/linear_mse.yaml dW latex-array -->; the formats are {known}",
        )
    spec, *names, form = words
    if form not in (*FORMS, SOURCE, CATALOGUE):
        near = difflib.get_close_matches(form, [*FORMS, SOURCE, CATALOGUE], n=1)
        raise SymderiveError(
            f"there is no format '{form}'", hint=f"did you mean {near[0]}?" if near else f"the formats are {known}"
        )
    beside = path.parent / spec
    if form == CATALOGUE:
        return _folder(beside if beside.is_dir() else Path(spec), names), (), form
    return (beside if beside.is_file() else spec_path(spec)), tuple(names), form


def _folder(folder: Path, names: Sequence[str]) -> Path:
    """The folder that a block is about."""
    if names or not folder.is_dir():
        said = f"it is given {', '.join(names)}, too" if names else f"'{folder}' is none"
        raise SymderiveError(
            f"the block is about a folder, and {said}", hint="<!-- symderive: derivations catalogue -->"
        )
    return folder


def _stamp(spec: Path) -> tuple[int, int]:
    state = spec.stat()
    return state.st_mtime_ns, state.st_size


@lru_cache(maxsize=512)
def _derived(spec: Path, stamp: tuple[int, int]) -> api.Derivation:
    """A spec derived once however many blocks show it."""
    return api.derive(api.load(spec))


def _gradients(d: api.Derivation, names: Sequence[str]) -> tuple[str, ...]:
    """The inputs whose gradients are named, ``dW`` or ``W``; all where none is."""
    tensors = {g.tensor: name for name, g in d.gradients.items()}
    for name in names:
        if name not in tensors and name not in d.gradients:
            known = ", ".join(tensors)
            raise SymderiveError(f"{d.spec.name} has no gradient '{name}'", hint=f"its gradients are {known}")
    return tuple(tensors.get(n, n) for n in names) or tuple(d.gradients)
