"""Plans written by hand beside the torch code that computes the same, for tests of the error analysis."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from sympy import Integer, Rational

from symderive.emit.torch_helpers import TORCH_HELPERS
from symderive.lower import plan as p
from symderive.spec.sizes import size

N, D, J = size("N"), size("D"), size("J")


def m(function, *args):
    return p.Map(function, tuple(args))


def linear_weight():
    """``dW = dy.T @ x``."""
    dy, x = p.Ref("dy", (N, J)), p.Ref("x", (N, D))
    value = p.MatMul(p.Permute(dy, (-1, -2)), x)
    return p.Plan("linear_weight", (dy, x), (p.Assign("dW", value),), ("dW",)), lambda dy, x: dy.T @ x


def layer_norm():
    """``(x - mean) * rsqrt(var + eps)`` over the last axis."""
    x = p.Ref("x", (N, D))
    lines: list[p.Assign] = []

    def let(name, value):
        lines.append(p.Assign(name, value))
        return lines[-1].ref

    mu = let("mu", p.Reduce("mean", x, (-1,), True))
    centred = let("centred", m("sub", x, mu))
    var = let("var", p.Reduce("mean", m("square", centred), (-1,), True))
    rstd = let("rstd", m("rsqrt", m("add", var, p.Scalar(Rational(1, 100000)))))
    let("y", m("mul", centred, rstd))

    def code(x):
        mu = x.mean(-1, keepdim=True)
        centred = x - mu
        var = centred.square().mean(-1, keepdim=True)
        return centred * torch.rsqrt(var + 1e-5)

    return p.Plan("layer_norm", (x,), tuple(lines), ("y",)), code


def softmax_gradient():
    """``y * (dy - (dy * y).sum(-1))`` with ``y = softmax(z)``."""
    z, dy = p.Ref("z", (N, D)), p.Ref("dy", (N, D))
    y = p.Assign("y", p.Normalise("softmax", z, -1))
    inner = p.Reduce("sum", m("mul", dy, y.ref), (-1,), True)
    dz = p.Assign("dz", m("mul", y.ref, m("sub", dy, inner)))

    def code(z, dy):
        y = torch.softmax(z, -1)
        return y * (dy - (dy * y).sum(-1, keepdim=True))

    return p.Plan("softmax_gradient", (z, dy), (y, dz), ("dz",)), code


def grouped(op):
    """``op`` over the entries of one group each, of a tensor that is computed."""
    x, t = p.Ref("x", (N,)), p.Ref("t", (N,), "integer")
    s = p.Assign("s", m("mul", x, x))
    value = p.Grouped(op, s.ref, t, -1, J)

    helpers: dict[str, Any] = {"torch": torch}
    for text in TORCH_HELPERS.values():
        exec(text, helpers)

    def code(x, t):
        return helpers[f"_grouped_{op}"](x * x, -1, t, 5)

    return p.Plan(f"grouped_{op}", (x, t), (s, p.Assign("y", value)), ("y",)), code


def half_squares():
    """``L = sum(x**2) / 2``."""
    x = p.Ref("x", (N, D))
    value = m("div", p.Reduce("sum", m("square", x), (-2, -1)), p.Scalar(Integer(2)))
    return p.Plan("half_squares", (x,), (p.Assign("L", value),), ("L",)), lambda x: x.square().sum() / 2


def max_gradient():
    """The share of a maximum over the last axis, of a tensor that is computed: ``dy * (s == s.amax) / count``."""
    x, dy = p.Ref("x", (N, D)), p.Ref("dy", (N,))
    s = p.Assign("s", m("exp", x))
    top = p.Assign("top", p.Reduce("amax", s.ref, (-1,), True))
    hit = p.Assign("hit", p.Cast(m("eq", s.ref, top.ref)))
    count = p.Reduce("sum", hit.ref, (-1,), True)
    ds = p.Assign("ds", m("div", m("mul", p.Expand(dy, (-1,)), hit.ref), count))

    def code(x, dy):
        s = x.exp()
        hit = (s == s.amax(-1, keepdim=True)).to(x.dtype)
        return dy[:, None] * hit / hit.sum(-1, keepdim=True)

    return p.Plan("max_gradient", (x, dy), (s, top, hit, ds), ("ds",)), code


def scatter():
    """Rows added up at places that repeat."""
    t, dy = p.Ref("t", (N,), "integer"), p.Ref("dy", (N, D))
    value = p.IndexAdd(dy, (J, D), (t, None))

    def code(t, dy):
        return torch.zeros(5, dy.shape[1], dtype=dy.dtype).index_add(0, t.long(), dy)

    return p.Plan("scatter", (t, dy), (p.Assign("dE", value),), ("dE",)), code


PLANS: dict[str, Callable[[], tuple[p.Plan, Callable[..., torch.Tensor]]]] = {
    **{f.__name__: f for f in (linear_weight, layer_norm, softmax_gradient, half_squares, max_gradient, scatter)},
    **{f"grouped_{op}": partial(grouped, op) for op in p.GROUP_OPS},
}
