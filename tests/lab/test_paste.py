"""Generated blocks: any form of any gradient; everything else in a file byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from symderive import api
from symderive.errors import SymderiveError
from symderive.report.paste import FORMS, blocks, fenced, refreshed

SPEC = """\
name: square
sizes: {N: 3}
inputs:
  x: [N]
  w: [N]
forward: |
  L = sum[i](w[i] * x[i]**2)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "square.yaml").write_text(SPEC)
    return tmp_path


def pasted(folder: Path, text: str | bytes) -> str:
    path = folder / "a.md"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return refreshed(path).after


def block(words: str, content: str = "", end: str = "\n") -> str:
    return f"<!-- symderive: {words} -->{end}{content}<!-- /symderive -->{end}"


def test_a_block_is_generated_and_the_rest_stays(folder):
    text = "before \t\n" + block("square.yaml x array", "old\n") + "after"
    array = api.derive(folder / "square.yaml").gradients["x"].array
    assert pasted(folder, text) == "before \t\n" + block("square.yaml x array", f"```python\n{array}\n```\n") + "after"


def test_refreshing_twice_changes_nothing(folder):
    once = pasted(folder, block("square.yaml index"))
    assert pasted(folder, once) == once
    assert refreshed(folder / "a.md").stale == ()


@pytest.mark.parametrize("form", [f for f in FORMS if f not in ("errors", "graph", "mermaid")])
def test_every_format_of_one_gradient_and_of_all(folder, form):
    one, every = pasted(folder, block(f"square.yaml dw {form}")), pasted(folder, block(f"square.yaml {form}"))
    assert one.startswith("<!-- symderive:")
    assert len(one) < len(every)
    assert one.count("\n") > 3


@pytest.mark.parametrize(("form", "part"), [("graph", "└─"), ("mermaid", "flowchart TD"), ("errors", "| `dx`")])
def test_the_graph_and_the_errors(folder, form, part):
    assert part in pasted(folder, block(f"square.yaml {form}"))


def test_a_latex_block_is_displayed_mathematics(folder):
    text = pasted(folder, block("square.yaml dx latex-array"))
    latex = api.derive(folder / "square.yaml").gradients["x"].latex("array")
    assert f"\n$$\n{latex}\n$$\n" in text


def test_the_source_is_the_file(folder):
    assert fenced(SPEC, "yaml") in pasted(folder, block("square.yaml source"))


def test_a_spec_is_found_beside_the_file_and_in_the_catalogue(folder, monkeypatch):
    (folder / "docs").mkdir()
    (folder / "docs" / "b.md").write_text(block("../square.yaml index") + block("relu index"))
    monkeypatch.chdir("/")
    text = refreshed(folder / "docs" / "b.md").after
    assert "dx[i] = " in text
    assert "where(x[" in text


def test_line_ends_and_a_byte_order_mark_stay(folder):
    text = "\ufefftitle\r\n" + block("square.yaml x index", end="\r\n") + "no end"
    got = pasted(folder, text)
    assert got.startswith("\ufefftitle\r\n")
    assert got.endswith("-->\r\nno end")
    assert "\n" not in got.replace("\r\n", "")
    assert got.count("dx[i] = ") == 1


def test_indented_blocks_keep_their_indent(folder):
    got = pasted(folder, "- item\n  <!-- symderive: square.yaml x index -->\n  <!-- /symderive -->\n")
    assert "\n  ```\n  dx[i] = " in got
    assert "\n  ```\n  <!-- /symderive -->" in got


def test_markers_in_fenced_code_are_text(folder):
    text = "````md\n```\n" + block("square.yaml x index") + "````\n~~~\n" + block("nothing") + "~~~\n"
    assert pasted(folder, text) == text
    assert blocks(text) == []


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("\n" + block("square.yaml x indx"), "there is no format 'indx'", ":2:1"),
        (block("square.yaml q index"), "has no gradient 'q'", ":1:1"),
        (block("square.yml index"), "no spec 'square.yml'", ":1:1"),
        (block("square.yaml"), "a block names a spec", ":1:1"),
        ("<!-- symderive: square.yaml index -->\n", "not closed", ":1:1"),
        ("<!-- symderive: square.yaml index -->\n" + block("square.yaml index"), "not closed before", ":1:1"),
        ("a\n<!-- /symderive -->\n", "closes no block", ":2:1"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(folder, text, message, place):
    with pytest.raises(SymderiveError, match=message) as raised:
        pasted(folder, text)
    assert f"a.md{place}" in str(raised.value)


CUBE = SPEC.replace("square", "cube").replace("x[i]**2", "x[i]**3").replace("sizes", "title: Cubes_\ngroup: Odd\nsizes")


def test_a_folder_is_shown_by_group_with_formulas_and_links(folder):
    (folder / "cube.yaml").write_text(CUBE)
    (folder / "docs").mkdir()
    got = pasted(folder / "docs", block(".. catalogue"))
    assert "[**Odd**](#odd): [cube](#cube)\n\n[**Other**](#other): [square](#square)\n" in got
    assert "## Odd\n\n### cube\n\nCubes\\_. `x [N], w [N]`. [Spec](../cube.yaml).\n" in got
    assert "\n## Other\n\n### square\n\n`x [N], w [N]`. [Spec](../square.yaml).\n" in got
    assert "$$\nL = \\sum_{i} w_{i} x_{i}^{3}\n$$\n\nGradients:\n\n$$\n\\begin{aligned}\n\\frac" in got
    assert pasted(folder / "docs", got) == got


def test_headings_of_one_name_have_anchors_of_their_own(folder):
    (folder / "cube.yaml").write_text(CUBE.replace("group: Odd", "group: Square"))
    assert pasted(folder, block(". catalogue")).splitlines()[1:4] == [
        "[**Square**](#square): [cube](#cube)",
        "",
        "[**Other**](#other): [square](#square-1)",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("square.yaml catalogue", "about a folder, and 'square.yaml' is none"),
        (". dx catalogue", "about a folder, and it is given dx, too"),
        ("empty catalogue", "empty holds no spec"),
    ],
)
def test_what_is_no_folder_of_specs_is_told(folder, words, message):
    (folder / "empty").mkdir()
    with pytest.raises(SymderiveError, match=message):
        pasted(folder, block(words))


def test_an_unknown_format_is_answered_with_the_nearest(folder):
    with pytest.raises(SymderiveError) as raised:
        pasted(folder, block("square.yaml latex-arry"))
    assert "did you mean latex-array?" in str(raised.value)


def test_a_file_that_is_no_text(folder):
    with pytest.raises(SymderiveError, match="no UTF-8"):
        pasted(folder, b"\xff\xfe\x00")


def test_an_error_table_is_stale_where_more_than_a_number_differs(folder):
    fresh = pasted(folder, block("square.yaml x errors"))
    other = fresh.replace("0", "3", 1) if "0 |" in fresh else fresh.replace("1", "2")
    assert pasted(folder, other) == other
    renamed = fresh.replace("`dx`", "`dq`", 1)
    assert pasted(folder, renamed) == fresh
