"""KaTeX typesets, strictly, every formula that the catalogue prints, and GitHub refuses none of them."""

from __future__ import annotations

import functools

import pytest

import symderive
from symderive.catalogue import catalogue
from symderive.emit.code_math import code_latex
from symderive.emit.latex import expression_latex
from symderive.emit.latex_names import Notation
from symderive.emit.latex_nodes import NODES
from symderive.emit.markdown import derivation_formulas
from symderive.spec.functions import BINDERS, FUNCTIONS, STRUCTURAL
from symderive.spec.parse import parse_expression
from tests.latex.katex import refused_by_github, rejected, require_katex
from tests.latex.notations import VECTOR
from tests.latex.test_array_form import LINES
from tests.latex.test_code import STATEMENTS
from tests.latex.test_index_form import EXPRESSIONS

NAMES = [path.stem for path in catalogue()]


@functools.cache
def derivation(name: str) -> symderive.Derivation:
    return symderive.derive(next(path for path in catalogue() if path.stem == name))


@functools.cache
def printed(name: str) -> tuple[str, ...]:
    """Every formula that a derivation of the catalogue prints, in every form."""
    found = derivation(name)
    return tuple(derivation_formulas(found.core, found.written_forms, found.torch))


def everything() -> list[str]:
    tables = [latex for table in (EXPRESSIONS, LINES, STATEMENTS) for _, latex in table]
    return tables + [formula for name in NAMES for formula in printed(name)]


def test_katex_typesets_every_formula():
    require_katex()
    formulas = everything()
    assert len(formulas) > 10 * len(NAMES)
    assert rejected(formulas) == []


BROKEN = [
    r"x_{a}_{b}",
    r"\frac{a",
    r"\operatorname",
    r"\unknown x",
    "x^{a}^{b}",
    "数",
    r"\begin{aligned} a & b",
]


@pytest.mark.parametrize("formula", BROKEN)
def test_katex_rejects_a_broken_formula(formula):
    require_katex()
    found = rejected(["x", formula, "y"])
    assert len(found) == 1
    assert found[0].startswith(formula)


@pytest.mark.parametrize("name", NAMES)
def test_github_refuses_no_formula(name):
    assert [reason for formula in printed(name) for reason in refused_by_github(formula)] == []


def test_github_refuses_no_formula_of_the_tables():
    latex = [f"y = {right}" for _, right in EXPRESSIONS] + [formula for _, formula in (*LINES, *STATEMENTS)]
    found = [reason for formula in latex for reason in refused_by_github(formula)]
    assert found == []


REFUSED = [
    r"\operatorname{softmax}",
    r"\mbox{x}",
    r"\phantom{x}",
    "a<b",
    r"\{0, 1\}",
    r"a\,b",
    "a*b",
    "a$b",
    "a\n- b",
    "a\n\nb",
    "ℓ",
]


@pytest.mark.parametrize("formula", REFUSED)
def test_what_github_refuses_is_found(formula):
    assert refused_by_github(formula)


def test_the_tables_print_every_function_and_binder():
    """Adding a function, a reduction or a call is not done before it is seen in LaTeX."""
    shown = " ".join(source for source, _ in EXPRESSIONS)
    plain = {"exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "erf", "erfc"}
    rows = {"sign", "softplus", "relu", "elu", "gelu", "silu", "mish"}
    missing = [name for name in (*FUNCTIONS, *STRUCTURAL, "pad") if f"{name}(" not in shown]
    assert set(missing) <= plain | rows
    spanning = {"argmin", "min"}
    assert {name for name in BINDERS if f"{name}[" not in shown} <= spanning
    assert len(NODES) == 11


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_prints_in_every_form(name):
    row = FUNCTIONS[name]
    require_katex()
    arguments = ", ".join(["a / b", "2"][: row.arity.start])
    formulas = [expression_latex(parse_expression(f"{name}({arguments})"), VECTOR)]
    spelled = "y = " + row.torch.format("(x / 2)", *row.defaults)
    formulas.append(code_latex(spelled, VECTOR))
    assert rejected(formulas) == []
    assert all(r"\frac{" in formula for formula in formulas)


def test_names_of_any_kind_typeset():
    require_katex()
    names = ["x", "eps", "h_1", "W_out_2", "xhat", "grad_y", "grad_rstd", "x_", "_x", "a__b", "x1", "x_1", "lambda_"]
    notation = Notation(shapes=dict.fromkeys(names, ()))
    assert rejected([notation.symbol(name).array() for name in names]) == []
    assert rejected([notation.symbol(name).plain() for name in names]) == []
