"""The page of the catalogue is what the specs say now, and reads well on GitHub."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from symderive.catalogue import catalogue
from symderive.report.listing import GROUPS
from symderive.report.paste import refreshed
from tests.golden_files import Golden
from tests.latex.katex import refused_by_github, rejected, require_katex

FOLDER = Path(__file__).parent.parent / "derivations"
PAGE = (FOLDER / "README.md").read_text()
FORMULAS = re.findall(r"^\$\$\n(.*?)\n\$\$$", PAGE, re.DOTALL | re.MULTILINE)
NAMES = [p.stem for p in catalogue()]


def headings(level: int) -> list[str]:
    return [h.replace("\\", "") for h in re.findall(rf"^{'#' * level} (.*)$", PAGE, re.MULTILINE)]


def test_it_is_fresh(golden):
    """``symderive paste derivations/README.md`` writes it, and so does ``pytest --update-golden``."""
    Golden(golden.update, FOLDER)("README.md", refreshed(FOLDER / "README.md").after)


def test_every_spec_has_a_section_with_its_forward_and_its_gradients():
    assert sorted(headings(3)) == NAMES
    assert headings(2) == list(GROUPS)
    assert len(FORMULAS) == 2 * len(NAMES)
    assert all("=" in f for f in FORMULAS)
    assert all(r"\frac{\partial " in gradients for gradients in FORMULAS[1::2])


def test_its_links_lead_somewhere():
    links = re.findall(r"(?<!\\)\]\(([^)]+)\)", re.sub(r"`[^`\n]+`", "", PAGE))
    anchors = []
    for heading in re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE):
        anchor = heading.replace("\\", "").lower().replace(" ", "-")
        anchors.append(anchor + (f"-{anchors.count(anchor)}" if anchor in anchors else ""))
    inner = [link.removeprefix("#") for link in links if link.startswith("#")]
    assert sorted(inner) == sorted(anchors[1:])
    assert [link for link in links if not link.startswith("#") and not (FOLDER / link).is_file()] == []


def test_katex_typesets_its_formulas():
    require_katex()
    assert rejected(FORMULAS) == []


def test_github_refuses_none_of_its_formulas():
    assert [reason for formula in FORMULAS for reason in refused_by_github(formula)] == []


def test_markdown_leaves_each_formula_in_one_piece():
    tokens = MarkdownIt("commonmark").parse(PAGE)
    found = [token.content for token in tokens if token.type == "inline" and "$$" in token.content]
    assert found == [f"$$\n{formula}\n$$" for formula in FORMULAS]


@pytest.mark.parametrize("word", ["symderive derive", "symderive list", "symderive paste derivations/README.md"])
def test_it_says_how_to_go_on(word):
    assert word in PAGE
