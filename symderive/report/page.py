"""Many specs on one page of Markdown: by group, what each computes and its gradients."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from symderive.api import Derivation
from symderive.emit.markdown import escape_markdown, formula_markdown, prose_markdown
from symderive.emit.summary import summary
from symderive.report.listing import Match, grouped
from symderive.spec import model
from symderive.spec.size_text import shape_text


def catalogue_page(derivations: Sequence[tuple[Path, Derivation]], folder: Path) -> str:
    """The page: its contents, then a section for each group. Links are written from ``folder``."""
    files = {d.spec.name: os.path.relpath(path, folder).replace(os.sep, "/") for path, d in derivations}
    found = {d.spec.name: d for _, d in derivations}
    groups = {g: [m.spec.name for m in ms] for g, ms in grouped(Match(d.spec) for _, d in derivations).items()}
    sections = ["\n\n".join(_contents(groups))]
    for group, names in groups.items():
        sections += [f"## {escape_markdown(group)}", *(_section(found[name], files[name]) for name in names)]
    return "\n\n".join(sections)


def _contents(groups: dict[str, list[str]]) -> Iterator[str]:
    anchors = Anchors()
    for group, names in groups.items():
        at = anchors.of(group)
        links = ", ".join(f"[{escape_markdown(name)}](#{anchors.of(name)})" for name in names)
        yield f"[**{escape_markdown(group)}**](#{at}): {links}"


class Anchors:
    """What GitHub calls the headings of a page, in order: one that was there before gets a number."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def of(self, heading: str) -> str:
        """The anchor of the next heading."""
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        self.seen[anchor] += 1
        return anchor if self.seen[anchor] == 1 else f"{anchor}-{self.seen[anchor] - 1}"


def _section(derivation: Derivation, file: str) -> str:
    spec = derivation.spec
    forward, gradients = map(formula_markdown, summary(derivation.core))
    title = escape_markdown(spec.title.rstrip(".")) + ". " if spec.title else ""
    notes = [prose_markdown(spec.notes)] if spec.notes else []
    lines = [f"### {escape_markdown(spec.name)}", f"{title}{_shapes(spec)} [Spec]({file})."]
    return "\n\n".join([*lines, *notes, forward, "Gradients:", gradients])


def _shapes(spec: model.Spec) -> str:
    """What goes in, with shapes: ``x [N, K], W [J, K]; eps = 1/100000``."""
    inputs = ", ".join(f"{i.name} {shape_text(i.shape)}" for i in spec.inputs)
    constants = ", ".join(f"{name} = {value}" for name, value in spec.constants.items())
    return f"`{inputs}{'; ' if constants else ''}{constants}`."
