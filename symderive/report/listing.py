"""Lists of specs: by group, and what of them speaks of some words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from symderive.errors import SymderiveError
from symderive.record import record
from symderive.report.document import Block, Entry, Heading
from symderive.spec.format import to_text
from symderive.spec.model import Spec
from symderive.spec.size_text import shape_text
from symderive.spec.write import equation_statement
from symderive.wording import listed

GROUPS = (
    "Layers",
    "Convolution and pooling",
    "Normalisation",
    "Attention",
    "Activations",
    "Losses",
    "Matrix calculus",
    "Reductions",
    "Index arithmetic",
)
"""The groups of the catalogue, in the order in which they are shown; groups of other specs follow."""

OTHER = "Other"
"""The group of a spec that names none."""

SNIPPET = 60
"""How many letters are shown of a line that speaks of what was looked for."""


@record
class Match:
    """A spec in a list. ``place`` is the field that spoke of what was looked for, ``line`` what it says there."""

    spec: Spec
    rank: int = 0
    place: str = ""
    line: str = ""


def group_of(spec: Spec) -> str:
    """The group that a spec stands in."""
    return spec.group.strip() or OTHER


def grouped(matches: Iterable[Match]) -> dict[str, list[Match]]:
    """The specs of each group, and the groups: the best match first, else as the table has them and by name."""
    found: dict[str, list[Match]] = {}
    for match in sorted(matches, key=lambda m: (m.rank, m.spec.name)):
        found.setdefault(group_of(match.spec), []).append(match)
    known = {name: place for place, name in enumerate(GROUPS)}
    order = sorted(found, key=lambda g: (found[g][0].rank, known.get(g, len(known)), g == OTHER, g))
    return {name: found[name] for name in order}


# -- search ----------------------------------------------------------------------------------------------------------


def texts(spec: Spec) -> Mapping[str, Sequence[str]]:
    """What is searched, the most telling first: the lines of each field."""
    return {
        "name": (spec.name, spec.name.replace("_", "")),
        "title": (spec.title,),
        "group": (group_of(spec),),
        "forward": tuple(to_text(equation_statement(e)) for e in spec.equations),
        "reference": tuple(to_text(line) for line in spec.reference),
        "notes": (spec.notes,),
        "source": (spec.source,),
    }


def search(specs: Iterable[Spec], words: Sequence[str]) -> list[Match]:
    """The specs that speak of every word, in any field. Raises ``SymderiveError`` with what is near where none does."""
    specs = list(specs)
    wanted = [folded(part) for word in words for part in word.split()]
    found = [match for match in (_match(spec, wanted) for spec in specs) if match is not None]
    if not found:
        raise SymderiveError(f"no spec speaks of '{' '.join(words)}'", hint=_near(specs, wanted))
    return found


def folded(text: str) -> str:
    """The text without what spelling varies: letter case, and ``-ize`` for ``-ise``."""
    return re.sub(r"iz(?=e|ing|ation)", "is", text.casefold())


def _match(spec: Spec, wanted: Sequence[str]) -> Match | None:
    """The match of all words; it is as good as that of the word which is hardest to find."""
    worst = Match(spec)
    for word in wanted:
        found = _found(spec, word)
        if found is None:
            return None
        worst = max(worst, found, key=lambda m: m.rank)
    return worst


def _found(spec: Spec, word: str) -> Match | None:
    if word == folded(spec.name):
        return Match(spec)
    for rank, (place, lines) in enumerate(texts(spec).items(), 1):
        for line in lines:
            if word in folded(line):
                told = place not in ("name", "title", "group")
                return Match(spec, rank, place, _snippet(line, word) if told else "")
    return None


def _snippet(line: str, word: str) -> str:
    """The line, or as much of it around the word as a terminal shows."""
    line = " ".join(line.split())
    if len(line) <= SNIPPET:
        return line
    first = max(0, min(folded(line).find(word) - SNIPPET // 3, len(line) - SNIPPET))
    shown = line[first : first + SNIPPET]
    return ("..." if first else "") + shown.strip() + ("..." if first + SNIPPET < len(line) else "")


def _near(specs: Sequence[Spec], wanted: Sequence[str]) -> str:
    """What was meant, perhaps: words of the specs that are spelt nearly so."""
    known: dict[str, str] = {}
    for spec in specs:
        for text in (spec.name, *(line for lines in texts(spec).values() for line in lines)):
            for word in (text, *re.findall(r"[A-Za-z]\w{2,}", text)):
                known.setdefault(folded(word), word)
    near = [n for word in wanted if word not in known for n in difflib.get_close_matches(word, known, n=2, cutoff=0.7)]
    if near:
        return f"did you mean {listed([known[n] for n in dict.fromkeys(near)], 'or')}?"
    return "'symderive list' shows every spec; fewer words find more"


def in_groups(specs: Iterable[Spec], names: Sequence[str]) -> list[Spec]:
    """The specs of the groups that are named; part of a group's name will do."""
    specs = list(specs)
    known = list(grouped(Match(s) for s in specs))
    wanted = {group for name in names for group in _groups(name, known)}
    return [s for s in specs if group_of(s) in wanted]


def _groups(name: str, known: Sequence[str]) -> list[str]:
    part = folded(name.strip())
    exact = [g for g in known if folded(g) == part]
    near = exact or [g for g in known if any(w.startswith(part) for w in (folded(g), *folded(g).split()))]
    near = near or [g for g in known if part and folded(g).startswith(part[:4])]
    if not near:
        raise SymderiveError(f"there is no group '{name}'", hint=f"the groups are {listed(known)}")
    return near


# -- what is shown ---------------------------------------------------------------------------------------------------


def blocks(matches: Iterable[Match], words: Sequence[str] = ()) -> Iterator[Block]:
    """The list, group by group; of a match that neither name nor title shows, where it is."""
    groups = grouped(matches)
    width = max((len(m.spec.name) for found in groups.values() for m in found), default=0)
    marks = tuple(part for word in words for part in word.split())
    for name, found in groups.items():
        yield Heading(name)
        for match in found:
            detail = f"{match.place}: {match.line}" if match.line else ""
            yield Entry(match.spec.name, match.spec.title, width, detail, marks)


def document(matches: Iterable[Match]) -> dict[str, Any]:
    """The list as JSON data."""
    rows = [_row(m.spec) for found in grouped(matches).values() for m in found]
    return {"version": 1, "specs": rows}


def _row(spec: Spec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "title": spec.title,
        "group": spec.group,
        "source": spec.source,
        "notes": spec.notes,
        "path": spec.path,
        "inputs": {i.name: shape_text(i.shape) for i in spec.inputs},
        "forward": [to_text(equation_statement(e)) for e in spec.equations],
        "outputs": list(spec.outputs),
        "wrt": list(spec.wrt),
    }
