"""Index form as LaTeX: an expression in, a formula out."""

from __future__ import annotations

import pytest

from symderive.emit.latex import expression_latex, statement_latex
from symderive.errors import UnsupportedError
from symderive.spec.parse import parse_expression, parse_statements
from symderive.spec.syntax import Attribute, Name, Slice
from tests.latex.notations import SCALAR, VECTOR

EXPRESSIONS = [
    ("x[i, k]", "x_{ik}"),
    ("W[j, k] * x[i, k]", "W_{jk} x_{ik}"),
    ("x[n, t[n]]", "x_{n, t_{n}}"),
    ("x[i, k + 1]", "x_{i, k + 1}"),
    ("x[i, 0]", "x_{i, 0}"),
    ("x[(i + 1) % N, k]", r"x_{(i + 1) \bmod N, k}"),
    ("x[i, k // 2]", r"x_{i, \left\lfloor k / 2 \right\rfloor}"),
    ("u[..., k]", r"u_{\ldots, k}"),
    ("h_1[n, d]**2", "(h^{(1)}_{nd})^{2}"),
    ("xhat[n, d]", r"\hat{x}_{nd}"),
    ("gamma[d] * rstd[n]", r"\gamma_{d} \mathrm{rstd}_{n}"),
    ("rstd[n] * (x[n, k] - mu[n])", r"\mathrm{rstd}_{n} \cdot (x_{nk} - \mu_{n})"),
    ("scale * x[i, k]", r"\mathrm{scale} \cdot x_{ik}"),
    ("2 * 3 * s", r"2 \cdot 3 s"),
    ("s * 2", r"s \cdot 2"),
    ("2 * (1 / 2)", r"2 \cdot \frac{1}{2}"),
    ("a - (b - c)", "a - (b - c)"),
    ("a - (b + c)", "a - (b + c)"),
    ("a + (b - c)", "a + b - c"),
    ("a - -b", "a - (-b)"),
    ("a + -b", "a - b"),
    ("-a * b", "-a b"),
    ("a * -b", "-a b"),
    ("-a * -b", "a b"),
    ("a + b * -c", "a - b c"),
    ("sum[k](-x[i, k])", r"-\sum_{k} x_{ik}"),
    ("2 * where(s > 0, -a, 0)", r"-2 \cdot \mathbf{1}[s > 0] a"),
    ("-(a + b)", "-(a + b)"),
    ("-(a * b)", "-a b"),
    ("(-a)**2", "(-a)^{2}"),
    ("-a**2", "-a^{2}"),
    ("(a + b)**2", "(a + b)^{2}"),
    ("(a * b)**2", "(a b)^{2}"),
    ("(a / b)**2", r"\left(\frac{a}{b}\right)^{2}"),
    ("a**b**c", "a^{b^{c}}"),
    ("(a**b)**c", "(a^{b})^{c}"),
    ("a**(1/2)", r"\sqrt{a}"),
    ("a**(-1/2)", "a^{-1 / 2}"),
    ("a / b / c", r"\frac{a}{b c}"),
    ("a / (b / c)", r"\frac{a}{\frac{b}{c}}"),
    ("a * (b / c)", r"a \frac{b}{c}"),
    ("(a + b) / c", r"\frac{a + b}{c}"),
    ("-a / b", r"-\frac{a}{b}"),
    ("2 * sum[k](x[i, k]) / N", r"\frac{2}{N} \sum_{k} x_{ik}"),
    ("1/2", r"\frac{1}{2}"),
    ("0.044715 * s", "0.044715 s"),
    ("1e-5", "10^{-5}"),
    ("2.5e-7 * s", r"2.5 \cdot 10^{-7} s"),
    ("-inf", r"-\infty"),
    ("2 * pi", r"2 \pi"),
    ("exp(s)**2", r"(\exp(s))^{2}"),
    ("exp(-s**2 / 2)", r"\exp\left(-\frac{s^{2}}{2}\right)"),
    ("sqrt(s + eps)", r"\sqrt{s + \epsilon}"),
    ("rsqrt(s + eps)", r"\frac{1}{\sqrt{s + \epsilon}}"),
    ("abs(x[i, k])", r"\left|x_{ik}\right|"),
    ("floor(s / 2)", r"\left\lfloor \frac{s}{2} \right\rfloor"),
    ("square(a + b)", "(a + b)^2"),
    ("log1p(s)", r"\log(1 + s)"),
    ("2 * expm1(s)", r"2 (\exp(s) - 1)"),
    ("sigmoid(s)", r"\sigma(s)"),
    ("logsigmoid(s)", r"\log\sigma(s)"),
    ("leaky_relu(s)", r"\mathrm{LeakyReLU}_{0.01}(s)"),
    ("elu(s, 2)", r"\mathrm{ELU}_{2}(s)"),
    ("gelu_tanh(s)", r"\mathrm{GELU}_{\tanh}(s)"),
    ("round(s)", r"\mathrm{round}(s)"),
    ("max(s, 0)", r"\max(s, 0)"),
    ("min(a, b / c)", r"\min\left(a, \frac{b}{c}\right)"),
    ("clamp(s, -1, 1)", r"\mathrm{clamp}(s, -1, 1)"),
    ("stop(s)", r"\mathrm{stop}(s)"),
    ("delta(i, j)", r"\delta_{ij}"),
    ("delta(j, t[n])", r"\delta_{j, t_{n}}"),
    ("where(s > 0, a, b)", r"\begin{cases} a & \text{if } s > 0 \\ b & \text{otherwise} \end{cases}"),
    (
        "where(s > 0, a, where(s < -1, b, c))",
        r"\begin{cases} a & \text{if } s > 0 \\ b & \text{if } s < -1 \\ c & \text{otherwise} \end{cases}",
    ),
    ("2 * where(s > 0, a, 0)", r"2 \cdot \mathbf{1}[s > 0] a"),
    ("2 * where(s > 0, 0, a)", r"2 \cdot \mathbf{1}[s \le 0] a"),
    ("2 * where(s > 0, 1, 0)", r"2 \cdot \mathbf{1}[s > 0]"),
    (
        "s + where(s > 0, a, b)",
        r"s + \left(\begin{cases} a & \text{if } s > 0 \\ b & \text{otherwise} \end{cases}\right)",
    ),
    ("(s > 0) * 2", r"\mathbf{1}[s > 0] \cdot 2"),
    ("sum[k](x[i, k] > 0)", r"\sum_{k} \mathbf{1}[x_{ik} > 0]"),
    ("(a < b and b <= c) * 1", r"\mathbf{1}[a < b \land b \le c] \cdot 1"),
    (
        "where(a < b or not (m[i, k] and c != 1), a, b)",
        r"\begin{cases} a & \text{if } a < b \lor \lnot (m_{ik} \land c \neq 1) \\ b & \text{otherwise} \end{cases}",
    ),
    ("where(0 <= a < 1, a, b)", r"\begin{cases} a & \text{if } 0 \le a < 1 \\ b & \text{otherwise} \end{cases}"),
    ("pad(x[i, k - 1])", r"\mathrm{pad}(x_{i, k - 1})"),
    ("pad(x[i, k - 1], -inf)", r"\mathrm{pad}_{-\infty}(x_{i, k - 1})"),
    ("sum[k](x[i, k] * W[j, k]) + b[j]", r"\sum_{k} x_{ik} W_{jk} + b_{j}"),
    ("sum[k](x[i, k] + W[j, k])", r"\sum_{k} (x_{ik} + W_{jk})"),
    ("sum[k](x[i, k]) * s", r"s \sum_{k} x_{ik}"),
    ("s * sum[k](x[i, k])", r"s \sum_{k} x_{ik}"),
    ("sum[i, k](x[i, k])**2", r"\left(\sum_{i, k} x_{ik}\right)^{2}"),
    ("sum[k : k <= i](x[i, k])", r"\sum_{k \le i} x_{ik}"),
    ("sum[k : i >= k](x[i, k])", r"\sum_{k \le i} x_{ik}"),
    ("sum[k : 0 < k < i](x[i, k])", r"\sum_{0 < k < i} x_{ik}"),
    ("sum[k : t[k] == i](x[i, k])", r"\sum_{k : t_{k} = i} x_{ik}"),
    ("sum[i, k : i != k](x[i, k])", r"\sum_{i, k : i \neq k} x_{ik}"),
    (
        "sum[c, r](im[n, c, stride*i + r] * w[j, c, r])",
        r"\sum_{c, r} \mathrm{im}_{n, c, \mathrm{stride} \cdot i + r} w_{jcr}",
    ),
    ("sum[r](im[n, c, stride*i + r])", r"\sum_{r=0}^{R - 1} \mathrm{im}_{n, c, \mathrm{stride} \cdot i + r}"),
    ("sum[...](v[..., j] * u[..., k])", r"\sum_{\ldots} v_{\ldots, j} u_{\ldots, k}"),
    ("mean[k](x[i, k])", r"\frac{1}{K} \sum_{k} x_{ik}"),
    ("mean[i, k](x[i, k])", r"\frac{1}{N K} \sum_{i, k} x_{ik}"),
    ("mean[k : k <= i](x[i, k])", r"\mathrm{mean}_{k \le i}(x_{ik})"),
    ("-mean[k](x[i, k])", r"-\frac{1}{K} \sum_{k} x_{ik}"),
    ("prod[k](x[i, k])", r"\prod_{k} x_{ik}"),
    ("max[k](x[i, k]) - s", r"\left(\max_{k} x_{ik}\right) - s"),
    ("argmax[k](x[i, k])", r"\arg\max_{k} x_{ik}"),
    ("x[i, argmax[k](x[i, k])]", r"x_{i, \arg\max_{k} x_{ik}}"),
    ("any[k](x[i, k] > 0)", r"\bigvee_{k} (x_{ik} > 0)"),
    ("all[k](m[i, k]) * s", r"\mathbf{1}\left[\bigwedge_{k} m_{ik}\right] s"),
    ("logsumexp[k](x[i, k])", r"\log \sum_{k} \exp(x_{ik})"),
    ("softmax[k](x[i, k])", r"\mathrm{softmax}_{k}(x_{ik})"),
    ("softmax[k : k <= i](x[i, k] / scale)", r"\mathrm{softmax}_{k \le i}\left(\frac{x_{ik}}{\mathrm{scale}}\right)"),
    ("log_softmax[k](x[i, k])", r"\log \mathrm{softmax}_{k}(x_{ik})"),
    ("inv[i, j](A[i, j])", r"\left(A^{-1}\right)_{ij}"),
    ("inv[j, i](A[j, i])", r"\left(A^{-1}\right)_{ji}"),
    ("inv[i, j](A[i, j] + delta(i, j))", r"\left([A_{ij} + \delta_{ij}]_{ij}^{-1}\right)_{ij}"),
    ("solve[i, j](A[i, j], v[i])", r"\left(A^{-1} v\right)_{j}"),
    ("solve[i, j](A[j, i], B[i, k])", r"\left(A^{-\top} B_{\cdot k}\right)_{j}"),
    ("solve[i, j](A[i, j], 2 * v[i])", r"\left(A^{-1} [2 v_{i}]_{i}\right)_{j}"),
    ("cholesky[i, j](A[i, j])", r"\mathrm{chol}(A)_{ij}"),
    ("det[i, j](A[i, j])**2", r"(\det A)^{2}"),
    ("logdet[i, j](A[i, j]) * s", r"s \log\det A"),
    ("dW[j, k]", r"\frac{\partial \ell}{\partial W_{jk}}"),
    ("dy[i, j]**2", r"\left(\frac{\partial \ell}{\partial y_{ij}}\right)^{2}"),
    ("dy_total[i, j]", r"\frac{\mathrm{d} \ell}{\mathrm{d} y_{ij}}"),
    ("x[n, dy[n, 0]]", r"x_{n, \partial \ell / \partial y_{n, 0}}"),
    ("ds * s", r"\frac{\partial \ell}{\partial s} s"),
    ("D(y[i, j], x[n, k])", r"\frac{\partial y_{ij}}{\partial x_{nk}}"),
    ("linear(x, W, b)[i, j]", r"\mathrm{linear}(x, W, b)_{ij}"),
    ("lstm(x, W).h[i, j]", r"\mathrm{lstm}(x, W)^{(h)}_{ij}"),
]


@pytest.mark.parametrize(("source", "latex"), EXPRESSIONS, ids=[source for source, _ in EXPRESSIONS])
def test_expression(source, latex):
    assert expression_latex(parse_expression(source), VECTOR) == latex


def printed(line, notation=SCALAR):
    return statement_latex(parse_statements(line)[0], notation)


def test_a_gradient_of_a_loss_is_a_derivative_of_it():
    assert printed("dW[j, k] = sum[i](dy[i, j] * x[i, k])") == (
        r"\frac{\partial L}{\partial W_{jk}} = \sum_{i} \frac{\partial L}{\partial y_{ij}} x_{ik}"
    )


def test_a_gradient_of_an_array_is_a_derivative_of_any_function_of_it():
    assert printed("db[j] = sum[i](dy[i, j])", VECTOR) == (
        r"\frac{\partial \ell}{\partial b_{j}} = \sum_{i} \frac{\partial \ell}{\partial y_{ij}}"
    )


def test_a_chain_keeps_every_side():
    assert printed("y[i, j] = x[i, j] = W[i, j]") == "y_{ij} = x_{ij} = W_{ij}"


def test_a_condition_as_the_right_side_stays_a_condition():
    assert printed("m[i, k] = x[i, k] > 0") == "m_{ik} = x_{ik} > 0"


def test_operators_of_array_form_are_refused():
    with pytest.raises(UnsupportedError, match="@"):
        expression_latex(parse_expression("x @ W"))


def test_nodes_of_array_form_are_refused():
    with pytest.raises(UnsupportedError, match="Slice"):
        expression_latex(Slice(None, None, None))


def test_without_a_notation_names_print_all_the_same():
    assert expression_latex(parse_expression("W_q[i, j] * x1[j]")) == "W^{(q)}_{ij} x^{(1)}_{j}"
    assert expression_latex(Attribute(Name("f"), "h")) == "f^{(h)}"
