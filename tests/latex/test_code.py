"""Emitted code as mathematics: a statement in, a formula out; what would be lost is refused."""

# ruff: noqa: E501 (a formula is one string)

from __future__ import annotations

import pytest

from symderive.emit.code_math import code_latex
from symderive.errors import UnsupportedError
from tests.latex.notations import SCALAR

STATEMENTS = [
    ("dW = dy.T @ x", r"\nabla_{W} L = (\nabla_{y} L)^\top x"),
    (
        "dz = y * (dy - (dy * y).sum(-1, keepdim=True))",
        r"\nabla_{z} L = y \odot \left(\nabla_{y} L - \sum_{\text{axis } -1}^{\text{keep}} ((\nabla_{y} L) \odot y)\right)",
    ),
    (
        "dE = dy.new_zeros(C, D).index_add_(0, t.reshape(-1), dy.reshape(-1, D))",
        r"\nabla_{E} L = \mathrm{IndexAdd}_{\text{axis } 0}(\mathbf{0}_{C \times D}, \mathrm{reshape}_{(-1)}(t), \mathrm{reshape}_{(-1) \times D}(\nabla_{y} L))",
    ),
    (
        "dE.scatter_add_(-1, t[:, None], dy)",
        r"\nabla_{E} L \leftarrow \mathrm{ScatterAdd}_{\text{axis } -1}(\nabla_{E} L, t_{[:, \mathrm{new}]}, \nabla_{y} L)",
    ),
    ("x, W = saved", r"(x, W) = \mathrm{saved}"),
    ("N, K = x.shape", r"(N, K) = \mathrm{shape}(x)"),
    ("*batch, K = u.shape", r"(\ldots, K) = \mathrm{shape}(u)"),
    (
        "dx = torch.where(x > 0, dy, 0)",
        r"\nabla_{x} L = \begin{cases} \nabla_{y} L & \text{if } x > 0 \\ 0 & \text{otherwise} \end{cases}",
    ),
    (
        "dx = torch.where((x > 0) & ~(x < 1) | (x == 2), dy, 0) * 2",
        r"\nabla_{x} L = \left(\begin{cases} \nabla_{y} L & \text{if } x > 0 \land \lnot (x < 1) \lor x = 2 \\ 0 & \text{otherwise} \end{cases}\right) \cdot 2",
    ),
    ("dx = dy * (x > 0).to(dy.dtype)", r"\nabla_{x} L = (\nabla_{y} L) \odot \mathbf{1}[x > 0]"),
    ("db = dy.sum(0)", r"\nabla_{b} L = \sum_{\text{axis } 0} \nabla_{y} L"),
    ("db = dy.sum((0, 2)) * 2 - x", r"\nabla_{b} L = \left(\sum_{\text{axes } 0, 2} \nabla_{y} L\right) \cdot 2 - x"),
    ("s = x.sum()", r"s = \sum_{\text{all}} x"),
    (
        "y = torch.softmax(z, -1) - torch.logsumexp(z, -1, keepdim=True)",
        r"y = \mathrm{softmax}_{\text{axis } -1}(z) - \mathrm{logsumexp}_{\text{axis } -1}^{\text{keep}}(z)",
    ),
    ("y = torch.log_softmax(z, dim=-1)", r"y = \log \mathrm{softmax}_{\text{axis } -1}(z)"),
    (
        "y = torch.exp(x) ** 2 + x.abs() + torch.rsqrt(x) * 0.5",
        r"y = (\exp(x))^{\odot 2} + \left|x\right| + \frac{1}{\sqrt{x}} \cdot 0.5",
    ),
    ("y = x - 1e-05 * torch.sqrt(x / 2)", r"y = x - 10^{-5} \cdot \sqrt{\frac{x}{2}}"),
    ("y = (x + W) * (x - W) @ W.T @ (x * W)", r"y = ((x + W) \odot (x - W)) W^\top (x \odot W)"),
    ("y = x * (W @ W)", r"y = x \odot W W"),
    ("y = x * W @ W", r"y = (x \odot W) W"),
    ("y = x @ (W @ A)", "y = x (W A)"),
    ("y = x - (b - c) - (b + c) + (b - c)", "y = x - (b - c) - (b + c) + b - c"),
    ("y = -x * y - -y", r"y = -x \odot y - (-y)"),
    ("y = -(x + y)", "y = -(x + y)"),
    ("y = (-x) ** 2", r"y = (-x)^{\odot 2}"),
    ("y = x * -y", r"y = x \odot (-y)"),
    ("y = -(x * y) / (N * J) + 1 / x", r"y = \frac{-x \odot y}{N \cdot J} + \frac{1}{x}"),
    ("y = x / (y / b) * 2", r"y = \frac{x}{\frac{y}{b}} \cdot 2"),
    ("y = N ** 2 * x", r"y = N^{2} \cdot x"),
    ("g[:, 1:] = dy[:, :-1]", r"g_{[:, 1:]} = (\nabla_{y} L)_{[:, :-1]}"),
    (
        "g = dy[:, None] * x[..., 0] + x[t] - x[torch.arange(N, device=x.device), t]",
        r"g = (\nabla_{y} L)_{[:, \mathrm{new}]} \odot x_{[\ldots, 0]} + x_{[t]} - x_{[\mathrm{arange}(N), t]}",
    ),
    ("g = x.new_ones(N)[:, None]", r"g = (\mathbf{1}_{N})_{[:, \mathrm{new}]}"),
    (
        "y = F.conv1d(x, w, b, stride=2, padding=1, dilation=2)",
        r"y = \mathrm{conv1d}(x, w, b, \mathrm{stride} = 2, \mathrm{padding} = 1, \mathrm{dilation} = 2)",
    ),
    (
        "dx = F.conv_transpose1d(dy, w, stride=2, output_padding=(H + 1) % 2)",
        r"\nabla_{x} L = \mathrm{convtranspose1d}(\nabla_{y} L, w, \mathrm{stride} = 2, \mathrm{output\_padding} = (H + 1) \bmod 2)",
    ),
    ('y = torch.einsum("nk,jk->nj", x, W)', r"y = \left[\sum_{k} x_{nk} W_{jk}\right]_{nj}"),
    (
        'y = F.gelu(x) + F.gelu(x, approximate="tanh") + F.leaky_relu(x, 0.01) + torch.sigmoid(x) + x.square()',
        r"y = \mathrm{GELU}(x) + \mathrm{GELU}_{\tanh}(x) + \mathrm{LeakyReLU}_{0.01}(x) + \sigma(x) + x^2",
    ),
    ("y = F.pad(x, (1, 2), value=-torch.inf)", r"y = \mathrm{pad}(x, (1, 2), \mathrm{value} = -\infty)"),
    (
        "y = x.flip(-1).cumsum(-1).flip(-1)",
        r"y = \mathrm{flip}(\mathrm{cumsum}_{\text{axis } -1}(\mathrm{flip}(x, -1)), -1)",
    ),
    ("y = x.cummax(-1).values", r"y = \mathrm{cummax}_{\text{axis } -1}(x)"),
    ("A = torch.linalg.inv(X.to(wide)).to(x.dtype)", "A = X^{-1}"),
    ("Y = torch.linalg.solve(X.to(wide), W.T.to(wide)).to(x.dtype)", r"Y = X^{-1} W^\top"),
    ("Y = torch.linalg.solve_triangular(X, W, upper=False)", "Y = X^{-1} W"),
    ("L = torch.linalg.cholesky(X)", r"L = \mathrm{chol}(X)"),
    (
        "y = x.clamp(min=0) + x.clamp(max=1) + x.clamp(0, 1) + torch.maximum(x, W)",
        r"y = \max(x, 0) + \min(x, 1) + \mathrm{clamp}(x, 0, 1) + \max(x, W)",
    ),
    (
        "y = torch.eye(N, dtype=x.dtype) + x.new_full((N, N), 0.5) + torch.full((N,), True, dtype=torch.bool)",
        r"y = I_{N} + 0.5 \cdot \mathbf{1}_{N \times N} + \mathbf{1}_{N}",
    ),
    ("y = x.gather(-1, t[:, None])", r"y = \mathrm{gather}_{\text{axis } -1}(x, t_{[:, \mathrm{new}]})"),
    ("H = max(0, N - J + 3)", r"H = \max(0, N - J + 3)"),
    (
        "y = 2 * (x if N else x - 1)",
        r"y = 2 \cdot \left(\begin{cases} x & \text{if } N \neq 0 \\ x - 1 & \text{otherwise} \end{cases}\right)",
    ),
    ("y += x * 2", r"y \leftarrow y + x \cdot 2"),
    ("y = (x == t[:, None]).sum(-1)", r"y = \sum_{\text{axis } -1} \mathbf{1}[x = t_{[:, \mathrm{new}]}]"),
    ("y = x.prod(-1).sum(0) @ W", r"y = \left(\sum_{\text{axis } 0} \prod_{\text{axis } -1} x\right) W"),
    ("y = x.amax(-1) - b", r"y = \left(\max_{\text{axis } -1} x\right) - b"),
    ("y = x // 2 + x % 2", r"y = \left\lfloor\frac{x}{2}\right\rfloor + (x \bmod 2)"),
    ("y = x.transpose(0, 1).permute(1, 0)", r"y = \mathrm{permute}_{1, 0}(\mathrm{transpose}_{0, 1}(x))"),
    (
        "y = x.expand(N, K).flatten() * x.numel()",
        r"y = \mathrm{vec}(\mathrm{expand}_{N \times K}(x)) \odot \mathrm{numel}(x)",
    ),
    ("y = torch.logdet(A) + torch.linalg.det(A)", r"y = \log\det(A) + \det(A)"),
]


@pytest.mark.parametrize(("source", "latex"), STATEMENTS, ids=[source for source, _ in STATEMENTS])
def test_statement(source, latex):
    assert code_latex(source, SCALAR) == latex


REFUSED = [
    "y = foo(x)",
    "y = max(x, key=f)",
    "y = x.max(0)",
    "y = len(x)",
    "y = torch.foo(x)",
    "y = x.foo()",
    "y = x.sum(0, bogus=1)",
    "y = x.sum(0, True, 3)",
    "y = x.sum(0, keepdim=k)",
    "y = x.sum(**kw)",
    "y = x.mean(dim=0, out=z)",
    "y = x.real",
    "y = x.T.H",
    "y = torch.tensor",
    "y = torch.softmax(x)",
    "y = torch.where(x)",
    "y = x.clamp()",
    'y = F.gelu(x, approximate="foo")',
    'y = torch.einsum("ij,jk", x, y)',
    'y = torch.einsum("ij->i", x, y)',
    "y = torch.einsum(rule, x)",
    "y = x.softmax(-1, half=3)",
    "y = [a for a in x]",
    "y = {1, 2}",
    "y = {1: 2}",
    "y = x if y else z",
    "y = lambda: 0",
    'y = "text"',
    "y = None",
    "y = True",
    'y = f"{x}"',
    "y = x and y",
    "y = not x",
    "y = +x",
    "y = x in y",
    "y = x << 2",
    "y = x ^ 2",
    "y = a = b",
    "y: int = 3",
    "x.add_(y)",
    "foo(x)",
    "x",
    "del x",
    "import os",
    "assert x",
    "for i in x: y = i",
    "if x: y = 1",
    "while x: y = 1",
    "with x: y = 2",
    "x = (yield)",
    "(y := x)",
]


@pytest.mark.parametrize("source", REFUSED)
def test_what_would_be_lost_is_refused(source):
    with pytest.raises(UnsupportedError):
        code_latex(source, SCALAR)


MODULE = '''
"""A module."""

import torch

WRT = ("W",)


def backward(saved, dy):
    """The gradients."""
    x, W = saved
    wide = torch.promote_types(x.dtype, torch.float32)
    # a comment
    dW = dy.T @ x  # [J, K]
    return dW, dy @ W
'''


def test_the_body_of_a_function_is_one_line_a_statement():
    assert code_latex(MODULE, SCALAR, "backward").splitlines() == [
        r"\begin{aligned}",
        r"(x, W) &= \mathrm{saved} \\",
        r"\nabla_{W} L &= (\nabla_{y} L)^\top x \\",
        r"&\text{return } \nabla_{W} L, (\nabla_{y} L) W",
        r"\end{aligned}",
    ]


def test_a_missing_function_is_an_error():
    with pytest.raises(UnsupportedError, match="forward"):
        code_latex(MODULE, SCALAR, "forward")
