"""Long equations are broken between terms, short ones are left alone."""

from __future__ import annotations

import pytest

from symderive.emit.latex import array_latex, statement_latex
from symderive.emit.latex_lines import WIDEST, aligned, lay_out, measure
from symderive.spec.parse import parse_statements
from tests.latex.notations import SCALAR

WIDTHS = [
    ("x", 1.0),
    ("x_{ij}", 2.4),
    (r"\mathrm{rstd}", 4.0),
    (r"\frac{a}{bcd}", 3.5),
    (r"\left(x\right)", 3.0),
    (r"\begin{cases} a & b \\ cdef & g \end{cases}", 6.0),
    ("a + b", 4.0),
]


@pytest.mark.parametrize(("latex", "width"), WIDTHS, ids=[latex for latex, _ in WIDTHS])
def test_measure(latex, width):
    assert measure(latex) == pytest.approx(width)


def printed(line):
    return statement_latex(parse_statements(line)[0], SCALAR)


def long_sum(count):
    return " + ".join(f"x[i, {n}] * W[{n}, j]" for n in range(count))


def test_a_short_equation_is_one_line():
    assert "\n" not in printed(f"y[i, j] = {long_sum(4)}")


def test_a_long_sum_is_broken_before_its_signs():
    lines = printed(f"y[i, j] = {long_sum(20)} - x[i, k]").splitlines()
    assert (lines[0], lines[-1]) == (r"\begin{aligned}", r"\end{aligned}")
    assert lines[1].startswith("y_{ij} &= x_{i, 0}")
    assert all(line.startswith((r"&\quad {} + ", r"&\quad {} - ")) for line in lines[2:-1])
    assert all(line.endswith(r" \\") for line in lines[1:-2])
    assert not lines[-2].endswith(r"\\")
    assert all(measure(line) <= WIDEST + 4 for line in lines[1:-1])


def test_a_long_term_is_opened_where_it_ends_in_a_sum():
    lines = printed(f"y[i, j] = 2 * ({long_sum(20)}) / N").splitlines()
    assert lines[1].startswith(r"y_{ij} &= \frac{2}{N} \Bigl(x_{i, 0}")
    assert lines[-2].endswith(r"\Bigr)")
    shown = printed(f"y[i, j] = 2 * ({long_sum(2)}) / N")
    assert r"\Bigl" not in shown


def test_a_long_term_that_ends_in_no_sum_stays_whole():
    assert "\n" not in printed(f"y[i, j] = ({long_sum(20)}) * x[i, j]")


def test_a_long_chain_is_broken_at_its_equals_signs():
    side = long_sum(6)
    lines = printed(f"y[i, j] = {side} = {side}").splitlines()
    assert [line[:8] for line in lines[1:-1]] == ["y_{ij} &", "&= x_{i,"]


def test_nothing_is_lost_when_an_equation_is_broken():
    whole = lay_out("y", [["a", "+ b", "- c"]], widest=1000)
    broken = lay_out("y", [["a", "+ b", "- c"]], widest=1)
    assert (whole, broken) == (["y &= a + b - c"], ["y &= a", r"&\quad {} + b", r"&\quad {} - c"])
    assert aligned(whole) == "y = a + b - c"


def test_the_shape_stands_behind_the_last_line():
    form = "\n".join(["g = x", "dx = " + " + ".join(["softmax(x, -1)"] * 9)])
    lines = array_latex(form, SCALAR).splitlines()
    assert lines[-2].endswith(r"\in \mathbb{R}^{N \times K}")
    assert sum(r"\in" in line for line in lines) == 1
