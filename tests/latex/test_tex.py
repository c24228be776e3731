"""Pieces of LaTeX: brackets, signs between factors, scripts on scripts."""

from __future__ import annotations

import pytest

from symderive.emit.latex_tex import Level, Tex, brackets, negative, parentheses, product, subscript, with_foot


def tex(text, level=Level.ATOM, open=False):
    return Tex(text, level, open)


FEET = [
    ("x", "x_{i}"),
    ("x^{(1)}", "x^{(1)}_{i}"),
    (r"x^\top", r"x^\top_{i}"),
    ("x_{j}", "(x_{j})_{i}"),
    ("x_{j}^{(1)}", "(x_{j}^{(1)})_{i}"),
    (r"x_{5}^\top", r"(x_{5}^\top)_{i}"),
    ("x_{5}^2", "(x_{5}^2)_{i}"),
    (r"\mathbf{1}_{N}", r"(\mathbf{1}_{N})_{i}"),
    (r"\left(x_{j}\right)", r"\left(x_{j}\right)_{i}"),
    ("f_{j}(x)", "f_{j}(x)_{i}"),
    (r"\mathrm{x}", r"\mathrm{x}_{i}"),
]


@pytest.mark.parametrize(("text", "footed"), FEET, ids=[text for text, _ in FEET])
def test_nothing_gets_two_subscripts(text, footed):
    assert with_foot(text, "i") == footed


PRODUCTS = [
    ("a", "b", "a b"),
    ("2", "a", "2 a"),
    ("2", "3", r"2 \cdot 3"),
    ("a", "2", r"a \cdot 2"),
    ("2", r"\frac{1}{2}", r"2 \cdot \frac{1}{2}"),
    ("2", r"\frac{a}{2}", r"2 \frac{a}{2}"),
    (r"\mathrm{scale}", "a", r"\mathrm{scale} \cdot a"),
    ("a", r"\mathrm{scale}", r"a \cdot \mathrm{scale}"),
    ("a_{i}", r"\mathrm{rstd}_{n}", r"a_{i} \mathrm{rstd}_{n}"),
    (r"\mathrm{rstd}_{n}", "a_{i}", r"\mathrm{rstd}_{n} a_{i}"),
    (r"\mathrm{rstd}_{n}", "(a + b)", r"\mathrm{rstd}_{n} \cdot (a + b)"),
]


@pytest.mark.parametrize(("left", "right", "both"), PRODUCTS, ids=[row[2] for row in PRODUCTS])
def test_between_factors_stands_a_dot_where_they_would_run_together(left, right, both):
    assert product([tex(left), tex(right)]).text == both


def test_a_sum_is_bracketed_in_a_product_and_an_open_operator_unless_it_is_last():
    total = tex(r"\sum_{k} x_{k}", Level.PRODUCT, open=True)
    assert product([tex("a + b", Level.SUM), tex("c")]).text == "(a + b) c"
    assert product([tex("a"), total]).text == r"a \sum_{k} x_{k}"
    assert product([total, tex("a")]).text == r"\left(\sum_{k} x_{k}\right) a"
    assert product([tex("a"), total]).open
    assert not product([total, tex("a")]).open


def test_a_minus_stays_in_front_of_its_product():
    minus = negative(tex("a"))
    assert (product([minus, tex("b")]).text, product([minus, tex("b")]).level) == ("-a b", Level.SUM)
    assert product([tex("b"), minus]).text == "b (-a)"
    assert negative(tex("a + b", Level.SUM)).text == "-(a + b)"


def test_brackets_grow_with_what_is_inside():
    assert parentheses("a") == "(a)"
    assert parentheses(r"\frac{a}{b}") == r"\left(\frac{a}{b}\right)"
    assert brackets(r"\sum_{k} a") == r"\left[\sum_{k} a\right]"


def test_indices_run_together_only_where_each_is_one_letter():
    assert subscript(["i", "j"]) == "ij"
    assert subscript([r"\mu", "j", r"\nu"]) == r"\mu j\nu"
    assert subscript(["i", "0"]) == "i, 0"
    assert subscript([r"\ldots", "k"]) == r"\ldots, k"
    assert subscript(["i", "k + 1"]) == "i, k + 1"
