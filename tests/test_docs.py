"""The pages under docs/ say all that the language has, and their examples do what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

import symderive
from symderive.claims.result import KINDS, Verdict
from symderive.spec import functions, inputs, resolve
from tests.claims.test_posted import check

DOCS = Path(__file__).parent.parent / "docs"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = sorted(DOCS.glob("*.md"))


def example(page, folder):
    """The spec that a page shows, in a file of its own."""
    (text,) = (text for _, text in FENCE.findall((DOCS / page).read_text()) if text.startswith("name:"))
    path = folder / f"{text.split()[1]}.yaml"
    path.write_text(text)
    return path


def test_the_example_of_the_language_passes_its_checks(tmp_path):
    results = symderive.check(symderive.load(example("language.md", tmp_path)), quick=True)
    assert results.ok, results.table()


def test_the_example_of_claims_is_judged_as_its_comments_say(tmp_path):
    check(example("claims.md", tmp_path))


@pytest.mark.parametrize(("names", "page"), [
    (resolve.KEYS, "language.md"), (inputs.KEYS, "language.md"), (inputs.ASSUMPTIONS, "language.md"),
    (functions.FUNCTIONS, "language.md"), (functions.BINDERS, "language.md"), (functions.STRUCTURAL, "language.md"),
    (KINDS, "claims.md"), (get_args(Verdict), "claims.md"),
])  # fmt: skip
def test_the_page_names_them_all(names, page):
    quoted = " ".join(re.findall(r"`([^`]+)`", FENCE.sub("", (DOCS / page).read_text())))
    assert set(names) - set(re.findall(r"\w+", quoted)) == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_its_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", re.sub(r"`[^`\n]+`", "", FENCE.sub("", page.read_text())))
    assert [link for link in links if not (DOCS / link).exists()] == []
