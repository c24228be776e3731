"""Names as LaTeX: Greek ones, marks, hats, and no two that look the same."""

from __future__ import annotations

import pytest

from symderive.emit.latex import array_latex, expression_latex, input_latex
from symderive.emit.latex_names import Notation, symbol
from symderive.emit.latex_sizes import size_syntax
from symderive.errors import UnsupportedError
from symderive.spec import loads
from symderive.spec.parse import parse_expression
from symderive.spec.sizes import size
from tests.latex.notations import VECTOR

NAMES = [
    ("x", "x", "x"),
    ("gamma", r"\gamma", r"\gamma"),
    ("Sigma", r"\Sigma", r"\Sigma"),
    ("eps", r"\epsilon", r"\epsilon"),
    ("lam", r"\lambda", r"\lambda"),
    ("rstd", r"\mathrm{rstd}", r"\mathrm{rstd}"),
    ("h_1", "h_{1}", "h^{(1)}"),
    ("W1", "W_{1}", "W^{(1)}"),
    ("S_j", "S_{j}", "S^{(j)}"),
    ("W_out_2", r"W_{\mathrm{out}, 2}", r"W^{(\mathrm{out}, 2)}"),
    ("mu_q", r"\mu_{q}", r"\mu^{(q)}"),
    ("xhat", r"\hat{x}", r"\hat{x}"),
    ("x_hat_1", r"\hat{x}_{1}", r"\hat{x}^{(1)}"),
    ("mubar", r"\bar{\mu}", r"\bar{\mu}"),
    ("what", r"\hat{w}", r"\hat{w}"),
    ("chat_1", r"\hat{c}_{1}", r"\hat{c}^{(1)}"),
    ("grad_y", r"\bar{y}", r"\bar{y}"),
    ("grad_h_1", r"\bar{h}_{1}", r"\bar{h}^{(1)}"),
    ("grad_rstd", r"\overline{\mathrm{rstd}}", r"\overline{\mathrm{rstd}}"),
    ("x_", r"\mathrm{x\_}", r"\mathrm{x\_}"),
    ("_x", r"\mathrm{\_x}", r"\mathrm{\_x}"),
    ("a__b", r"\mathrm{a\_\_b}", r"\mathrm{a\_\_b}"),
]


@pytest.mark.parametrize(("name", "plain", "array"), NAMES, ids=[row[0] for row in NAMES])
def test_symbol(name, plain, array):
    assert (symbol(name).plain(), symbol(name).array()) == (plain, array)


def test_names_that_would_look_the_same_are_spelt_out():
    notation = Notation(shapes={"x1": (size("N"),), "x_1": (size("N"),), "xhat": (), "x_hat": ()})
    looks = [notation.symbol(name).array() for name in notation.shapes]
    assert looks == ["x^{(1)}", r"\mathrm{x\_1}", r"\hat{x}", r"\mathrm{x\_hat}"]
    assert len(set(looks)) == 4


def test_a_tensor_called_sigma_makes_the_sigmoid_a_word():
    assert expression_latex(parse_expression("sigmoid(s)")) == r"\sigma(s)"
    named = Notation(shapes={"sigma": ()})
    assert expression_latex(parse_expression("sigmoid(sigma)"), named) == r"\mathrm{sigmoid}(\sigma)"
    assert expression_latex(parse_expression("logsigmoid(sigma)"), named) == r"\log\mathrm{sigmoid}(\sigma)"


SPEC = """
name: small
sizes: {N: 2, K: 3, '...': [2]}
constants: {eps: 1e-5}
inputs:
  x: [..., K]
  a: [N]
  t: {shape: [N], index: K - 1}
  m: {shape: [N], bool: true}
  s: []
forward: |
  y[..., k] = s * x[..., k]
  c[n] = a[n]
"""


def notation_of(outputs, forward=""):
    return Notation.of_spec(loads(SPEC + forward + f"output: {outputs}\n"))


def test_a_sole_scalar_output_is_what_is_differentiated():
    assert notation_of("L", "  L = sum[n](c[n])\n").objective == "L"
    assert notation_of("[L, c]", "  L = sum[n](c[n])\n").objective == r"\ell"
    assert notation_of("c").objective == r"\ell"


def test_another_letter_where_ell_is_taken():
    assert notation_of("ell", "  ell[n] = c[n]\n").objective == r"\mathcal{L}"


def test_inputs_print_what_they_hold():
    spec = loads(SPEC)
    shown = [input_latex(given, Notation.of_spec(spec)) for given in spec.inputs]
    assert shown == [
        r"x \in \mathbb{R}^{\ldots \times K}",
        r"a \in \mathbb{R}^{N}",
        r"t \in \lbrace 0, \ldots, K - 2 \rbrace^{N}",
        r"m \in \lbrace 0, 1 \rbrace^{N}",
        r"s \in \mathbb{R}",
    ]


def test_a_gradient_is_nabla_of_its_tensor_in_array_form():
    assert array_latex("g = dh_1 + dW_total", VECTOR) == (
        r"g = \nabla_{h^{(1)}} \ell + \nabla_{W}^{\mathrm{total}} \ell"
    )


SIZES = [
    (size("N") - size("R") + 1, "N - R + 1"),
    (-size("N") + size("R") // 2, r"\left\lfloor R / 2 \right\rfloor - N"),
    (2 * size("N") * size("K"), "2 K N"),
    (size("N") ** 2 / 2, "N^{2} / 2"),
    (-size("N"), "-N"),
]


@pytest.mark.parametrize(("extent", "latex"), SIZES, ids=[latex for _, latex in SIZES])
def test_sizes(extent, latex):
    from symderive.emit.latex import IndexPrinter

    assert IndexPrinter(small=True).text(size_syntax(extent)) == latex


def test_a_size_that_the_language_does_not_have_is_refused():
    from sympy import log

    with pytest.raises(UnsupportedError, match="log"):
        size_syntax(log(size("N")))
