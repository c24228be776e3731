"""A derivation as Markdown and as LaTeX: golden files for the catalogue, and what must hold of any text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

import symderive
from symderive.emit.markdown import derivation_formulas, derivation_latex, derivation_markdown
from symderive.emit.writeup import Formula, Prose, writeup
from symderive.spec import loads
from tests.latex.test_katex import NAMES, derivation


def blocks_of_mathematics(markdown: str) -> list[str]:
    return re.findall(r"^\$\$\n(.*?)\n\$\$$", markdown, re.DOTALL | re.MULTILINE)


GOLDEN = """
attention avg_pool1d conv1d cross_entropy cross_entropy_soft cumsum embedding gelu layer_norm linear
linear_cross_entropy linear_mse log_softmax logsumexp max_pool1d mlp2_mse mse relu rms_norm rope sigmoid_bce softmax
batch_norm conv_transpose1d cross_entropy_weighted determinant gru_cell hardswish huber lstm_cell multivariate_normal
prod skip_gram tsne cholesky solve mlp_cross_entropy lstm
"""
"""What is kept word for word: one of each kind, since a better rule shows in every file that it touches."""


@pytest.mark.parametrize("name", GOLDEN.split())
def test_the_catalogue_prints_what_it_did(name, golden):
    """Without the code, which has golden files of its own."""
    found = derivation(name)
    golden(f"latex/{name}.md", derivation_markdown(found.core, found.written_forms))


def test_the_whole_prints_what_it_did(golden):
    golden("latex/linear_mse_with_code.md", derivation("linear_mse").markdown())
    golden("latex/linear_mse.tex", derivation("linear_mse").latex())


@pytest.mark.parametrize("name", NAMES)
def test_formulas_stand_between_dollars_on_lines_of_their_own(name):
    found = derivation(name)
    text = found.markdown()
    assert blocks_of_mathematics(text) == derivation_formulas(found.core, found.written_forms, found.torch)
    for part in text.partition("```")[0].split("\n\n"):
        assert "$$" not in part or (part.startswith("$$\n") and part.endswith("\n$$") and part.count("$$") == 2)


@pytest.mark.parametrize("name", NAMES)
def test_no_derivative_is_said_to_be_itself_and_something_more(name):
    found = derivation(name)
    for formula in derivation_formulas(found.core, found.written_forms, ""):
        left, equals, right = formula.removeprefix("\\begin{aligned}\n").replace(" &=", " =").partition(" = ")
        if equals and left.startswith("\\frac{"):
            assert left not in right.replace(rf"\left.{left}\right|_{{\text{{direct}}}}", "")


@pytest.mark.parametrize("name", NAMES)
def test_markdown_without_mathematics_leaves_each_formula_in_one_piece(name):
    """No line of a formula is a list, a heading or code to a reader of Markdown that does not know formulas."""
    text = derivation(name).markdown()
    tokens = MarkdownIt("commonmark").parse(text)
    found = [token.content for token in tokens if token.type == "inline" and "$$" in token.content]
    assert found == [f"$$\n{block}\n$$" for block in blocks_of_mathematics(text)]


def test_a_formula_that_markdown_would_take_apart_is_found():
    tokens = MarkdownIt("commonmark").parse("$$\na\n- b\n$$")
    assert [token.type for token in tokens if token.type == "bullet_list_open"]


def test_every_gradient_has_steps_and_both_forms():
    text = derivation("linear_mse").markdown()
    for part in (
        "## Gradient with respect to the intermediate `y`",
        "## Gradient with respect to `W`",
        "**Step 1, chain rule.**",
        r"\frac{\partial L}{\partial W_{jk}} = \sum_{i} \frac{\partial L}{\partial y_{ij}} x_{ik}",
        r"\nabla_{W} L = (\nabla_{y} L)^\top x \in \mathbb{R}^{J \times K}",
        r"\nabla_{y} L = y - t \in \mathbb{R}^{N \times J}",
        r"\nabla_{W} \ell &= (\nabla_{y} \ell)^\top x",
        "```python",
    ):
        assert part in text


def test_a_gradient_without_array_form_has_none():
    found = derivation("linear")
    assert "**Array form.**" in derivation_markdown(found.core, {"W": "dW = dy.T @ x"})
    assert "**Array form.**" not in derivation_markdown(found.core, {"W": None})


def test_an_array_form_that_has_no_latex_is_shown_as_text():
    text = derivation_markdown(derivation("linear").core, {"W": "dW = dy.T.real @ x"})
    assert "**Array form.**\n\n```python\ndW = dy.T.real @ x\n```" in text


def test_a_step_that_says_nothing_is_left_out():
    assert derivation("linear_mse").core.intermediate["dy"][0].rule == "chain_rule"
    text = derivation("linear_mse").markdown()
    section = text.partition("intermediate `y`")[2].partition("##")[0]
    assert r"\frac{\partial L}{\partial y_{ij}} = \frac{\partial L}{\partial y_{ij}}" not in section
    assert section.index("**Step 1, local partial.**") < section.index("**Step 2, delta.**")


def test_code_that_has_no_mathematical_form_is_shown_with_the_reason():
    text = derivation_markdown(derivation("linear").core, None, "def backward(saved, dy):\n    return foo(dy)\n")
    assert "`backward` has no mathematical form: `foo(dy)` calls a function that is not known" in text
    assert "```python\ndef backward" in text


ODD = r"""
name: odd
title: 'Costs in $: a_b * c_d <b> [x](y) `code_span` \frac & 50% #1 {z} ~ ^'
sizes: {N: 2}
inputs:
  z: [N]
  q: [N]
  p: {shape: [N, N], assume: spd}
forward: |
  y[i] = sum[j](p[i, j] * stop(z[j])) + q[i]
"""


@pytest.fixture(scope="module")
def odd():
    return symderive.derive(loads(ODD)).core


def test_prose_is_escaped_in_markdown(odd):
    first = derivation_markdown(odd).splitlines()[0]
    assert first == r"# Costs in \$: a\_b \* c\_d \<b\> \[x\](y) `code_span` \\frac & 50% \#1 {z} ~ ^"


def test_prose_is_escaped_in_latex(odd):
    first = derivation_latex(odd).splitlines()[0]
    assert first == (
        r"\section*{Costs in \$: a\_b * c\_d \textless{}b\textgreater{} [x](y) \texttt{code\_span} "
        r"\textbackslash{}frac \& 50\% \#1 \{z\} \textasciitilde{} \textasciicircum{}}"
    )


def test_what_a_reader_needs_to_know_is_said_where_it_occurs(odd):
    texts = [block.text for block in writeup(odd) if isinstance(block, Prose)]
    assert any("stop(x) is x" in text and "ℓ is any scalar function of `y`" in text for text in texts)
    assert "`y` does not depend on `z`: its gradient is 0." in texts
    assert "`p` is spd; its gradient is taken entry by entry as if it were free." in texts
    plain = [block.text for block in writeup(derivation("mse").core) if isinstance(block, Prose)]
    assert not any("stop(x)" in text or "ℓ" in text for text in plain)


def test_source_and_notes_are_shown_only_where_there_are_any(odd):
    assert "Source:" not in derivation_markdown(odd)
    named = replace(odd, spec=replace(odd.spec, source="a book", notes="and\na note"))
    assert "\n\nSource: a book\n\nand a note\n\n" in derivation_markdown(named)


def test_formulas_are_those_of_the_blocks(odd):
    assert derivation_formulas(odd) == [block.latex for block in writeup(odd) if isinstance(block, Formula)]
