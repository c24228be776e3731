"""Array form as LaTeX: lines in, a formula with the shape out."""

# ruff: noqa: E501 (a formula is one string)

from __future__ import annotations

import pytest

from symderive.emit.latex import array_latex
from symderive.errors import UnsupportedError
from tests.latex.notations import SCALAR

LINES = [
    ("dx = dy @ W", r"\nabla_{x} L = (\nabla_{y} L) W \in \mathbb{R}^{N \times K}"),
    ("dW = dy.T @ x", r"\nabla_{W} L = (\nabla_{y} L)^\top x \in \mathbb{R}^{J \times K}"),
    ("db = dy.sum(0)", r"\nabla_{b} L = \sum_{\text{axis } 0} \nabla_{y} L \in \mathbb{R}^{J}"),
    (
        "dx = where(y > 0, dy, 0)",
        r"\nabla_{x} L = \begin{cases} \nabla_{y} L & \text{if } y > 0 \\ 0 & \text{otherwise} \end{cases} \in \mathbb{R}^{N \times K}",
    ),
    (
        "dy = y * (dy - (dy * y).sum(-1, keepdim=True))",
        r"\nabla_{y} L = y \odot \left(\nabla_{y} L - \sum_{\text{axis } -1}^{\text{keep}} ((\nabla_{y} L) \odot y)\right) \in \mathbb{R}^{N \times J}",
    ),
    (
        "dz = dy - softmax(z, -1) * dy.sum(-1, keepdim=True)",
        r"\nabla_{z} L = \nabla_{y} L - \mathrm{softmax}_{\text{axis } -1}(z) \odot \sum_{\text{axis } -1}^{\text{keep}} \nabla_{y} L \in \mathbb{R}^{N \times C}",
    ),
    (
        "dz = (softmax(z, -1) - one_hot(t, C)) / N",
        r"\nabla_{z} L = \frac{\mathrm{softmax}_{\text{axis } -1}(z) - \mathrm{onehot}_{C}(t)}{N} \in \mathbb{R}^{N \times C}",
    ),
    ("dx = scale * dx @ A", r"\nabla_{x} L = \mathrm{scale} \cdot (\nabla_{x} L) A \in \mathbb{R}^{N \times K}"),
    ("dx = dx @ A * scale", r"\nabla_{x} L = \mathrm{scale} \cdot (\nabla_{x} L) A \in \mathbb{R}^{N \times K}"),
    (
        "dW = -2 * dy.T @ x * scale",
        r"\nabla_{W} L = -2 \cdot \mathrm{scale} \cdot (\nabla_{y} L)^\top x \in \mathbb{R}^{J \times K}",
    ),
    (
        "dgamma = (dy * xhat).sum(...)",
        r"\nabla_{\gamma} L = \sum_{\text{batch}} ((\nabla_{y} L) \odot \hat{x}) \in \mathbb{R}^{D}",
    ),
    ("dy = dy.sum((0, 2))", r"\nabla_{y} L = \sum_{\text{axes } 0, 2} \nabla_{y} L \in \mathbb{R}^{N \times J}"),
    (
        "dx = rstd[:, None] * (x - x.mean(1, keepdim=True))",
        r"\nabla_{x} L = \mathrm{rstd}_{[:, \mathrm{new}]} \odot (x - \mathrm{mean}_{\text{axis } 1}^{\text{keep}}(x)) \in \mathbb{R}^{N \times K}",
    ),
    ("dX = -X.inv().T @ A.T", r"\nabla_{X} L = -X^{-\top} A^\top \in \mathbb{R}^{N \times N}"),
    ("dX = (X @ A).inv()", r"\nabla_{X} L = (X A)^{-1} \in \mathbb{R}^{N \times N}"),
    ("L = 0.5 * ((y - t)**2).sum()", r"L = \frac{1}{2} \sum_{\text{all}} (y - t)^{\odot 2} \in \mathbb{R}"),
    ('y = einsum("nk,jk->nj", x, W)', r"y = \left[\sum_{k} x_{nk} W_{jk}\right]_{nj} \in \mathbb{R}^{N \times J}"),
    ('L = einsum("nk,nk->", x, x + 1)', r"L = \sum_{n, k} x_{nk} (x + 1)_{nk} \in \mathbb{R}"),
    (
        'v = einsum("...k,jk->...j", u, W)',
        r"v = \left[\sum_{k} u_{\ldots, k} W_{jk}\right]_{\ldots, j} \in \mathbb{R}^{\ldots \times J}",
    ),
    (
        'y = einsum("nk,jk->nj", x * x, W[:, 1:]) * 2',
        r"y = 2 \left[\sum_{k} (x \odot x)_{nk} (W_{[:, 1:]})_{jk}\right]_{nj} \in \mathbb{R}^{N \times J}",
    ),
    (
        "dE = one_hot(t, C).T @ dy",
        r"\nabla_{E} L = (\mathrm{onehot}_{C}(t))^\top \nabla_{y} L \in \mathbb{R}^{C \times D}",
    ),
    ("x = E[t]", r"x = E_{[t]} \in \mathbb{R}^{N \times K}"),
    (
        "x = x[:, 1:] - x[::2, 0] + x[..., None]",
        r"x = x_{[:, 1:]} - x_{[::2, 0]} + x_{[\ldots, \mathrm{new}]} \in \mathbb{R}^{N \times K}",
    ),
    (
        "A = outer(b, mu) + diag(b) * trace(A) + eye(N) + ones(N, N)",
        r"A = b \mu^\top + \mathrm{tr}(A) \mathrm{diag}(b) + I_{N} + \mathbf{1}_{N \times N} \in \mathbb{R}^{N \times N}",
    ),
    ("L = logdet(A) + det(A)", r"L = \log\det(A) + \det(A) \in \mathbb{R}"),
    ("L = logdet(A + A.T)", r"L = \log\det(A + A^\top) \in \mathbb{R}"),
    ("y = h_1.T @ h_1", r"y = h^{(1)\top} h^{(1)} \in \mathbb{R}^{N \times J}"),
    ("y = h_1**2 + s**2", r"y = (h^{(1)})^{\odot 2} + s^{2} \in \mathbb{R}^{N \times J}"),
    (
        "y = x.amax(-1, keepdim=True) - x",
        r"y = \left(\max_{\text{axis } -1}^{\text{keep}} x\right) - x \in \mathbb{R}^{N \times J}",
    ),
    ("y = max(x, W) + x.max()", r"y = \max(x, W) + \left(\max_{\text{all}} x\right) \in \mathbb{R}^{N \times J}"),
    ("y = logsumexp(z, -1)", r"y = \mathrm{logsumexp}_{\text{axis } -1}(z) \in \mathbb{R}^{N \times J}"),
    ("y = x.cumsum(-1)", r"y = \mathrm{cumsum}_{\text{axis } -1}(x) \in \mathbb{R}^{N \times J}"),
    ("y = conv1d(x, w, stride=2)", r"y = \mathrm{conv1d}(x, w, \mathrm{stride} = 2) \in \mathbb{R}^{N \times J}"),
    ("y = x.reshape(N, K).flip(-1)", r"y = \mathrm{flip}(\mathrm{reshape}(x, N, K), -1) \in \mathbb{R}^{N \times J}"),
    ("y = (x > 0) * dy", r"y = \mathbf{1}[x > 0] \odot \nabla_{y} L \in \mathbb{R}^{N \times J}"),
    ("y = x * (W + b) * W", r"y = x \odot (W + b) \odot W \in \mathbb{R}^{N \times J}"),
    ("y = x @ (W + b) @ -W", r"y = x (W + b) (-W) \in \mathbb{R}^{N \times J}"),
    ("y = (x * W) @ W", r"y = (x \odot W) W \in \mathbb{R}^{N \times J}"),
    ("y = x * (W @ W)", r"y = x \odot W W \in \mathbb{R}^{N \times J}"),
    ("y = x / N - (y - t)", r"y = \frac{x}{N} - (y - t) \in \mathbb{R}^{N \times J}"),
    ("y = -x * y", r"y = -x \odot y \in \mathbb{R}^{N \times J}"),
    ("y = gelu(x) + exp(-x)", r"y = \mathrm{GELU}(x) + \exp(-x) \in \mathbb{R}^{N \times J}"),
    ("y = s * x + x * s", r"y = s x + s x \in \mathbb{R}^{N \times J}"),
    ("dx = s * dy * x", r"\nabla_{x} L = s (\nabla_{y} L) \odot x \in \mathbb{R}^{N \times K}"),
    (
        "g = dy * gamma\ndx = g - g.mean(1)",
        "\\begin{aligned}\ng &= (\\nabla_{y} L) \\odot \\gamma \\\\\n\\nabla_{x} L &= g - \\mathrm{mean}_{\\text{axis } 1}(g) \\in \\mathbb{R}^{N \\times K}\n\\end{aligned}",
    ),
    ("dx = dy @ W = x @ W", r"\nabla_{x} L = (\nabla_{y} L) W = x W \in \mathbb{R}^{N \times K}"),
    ("dx = dy_total @ W", r"\nabla_{x} L = (\nabla_{y}^{\mathrm{total}} L) W \in \mathbb{R}^{N \times K}"),
]


@pytest.mark.parametrize(("source", "latex"), LINES, ids=[source for source, _ in LINES])
def test_lines(source, latex):
    assert array_latex(source, SCALAR) == latex


REFUSED = [
    "y = x.real",
    "y = softmax(x)",
    "y = x.sum(0, dtype=1)",
    "y = x.sum(0, True, 1)",
    "y = one_hot(t)",
    "y = outer(b, mu, b)",
    'y = einsum("nk,jk", x, W)',
    'y = einsum("nk->n", x, W)',
    "y = ones(N, dtype=1)",
    "y = inv(A, 2)",
]


@pytest.mark.parametrize("source", REFUSED)
def test_what_would_be_lost_is_refused(source):
    with pytest.raises(UnsupportedError):
        array_latex(source, SCALAR)


def test_lines_of_index_form_may_stand_among_them():
    assert array_latex("s = x * x\ny[i, j] = sum[k](x[i, k] * W[j, k])", SCALAR) == (
        "\\begin{aligned}\ns &= x \\odot x \\\\\ny_{ij} &= \\sum_{k} x_{ik} W_{jk}\n\\end{aligned}"
    )


def test_a_helper_is_known_to_later_lines():
    assert array_latex("g = x.sum()\ny = x * g", SCALAR).splitlines()[2] == r"y &= g x \in \mathbb{R}^{N \times J}"
