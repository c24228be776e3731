"""Plans written by hand, as lowering would make them, of ops whose gradients everyone knows."""

from __future__ import annotations

from dataclasses import dataclass, field

from sympy import Integer, Rational, S, Symbol, floor

from symderive.emit.module import Op
from symderive.lower.plan import (
    BATCH_SIZE,
    ROWS,
    Arange,
    Assign,
    At,
    BroadcastTo,
    Conv,
    ConvTranspose,
    ConvWeight,
    Expand,
    Gather,
    IndexAdd,
    Map,
    MatMul,
    Node,
    Normalise,
    Permute,
    Plan,
    Reduce,
    Ref,
    Reshape,
    Scalar,
    ScatterAdd,
    Slice,
    Take,
    Window,
)
from symderive.spec.sizes import size

N, K, J, C, D, M, V, T, R, H, OUT = map(size, ("N", "K", "J", "C", "D", "M", "V", "T", "R", "H", "O"))


def add(a: Node, b: Node) -> Node:
    return Map("add", (a, b))


def sub(a: Node, b: Node) -> Node:
    return Map("sub", (a, b))


def mul(*factors: Node) -> Node:
    first, *rest = factors
    for factor in rest:
        first = Map("mul", (first, factor))
    return first


def div(a: Node, b: Node) -> Node:
    return Map("div", (a, b))


def t(value: Node) -> Node:
    return Permute(value, (-1, -2))


def number(value: object) -> Scalar:
    return Scalar(S(value))


def total(value: Node, *axes: int, keep: bool = False, op: str = "sum") -> Node:
    return Reduce(op, value, axes or tuple(range(-len(value.shape), 0)), keep)


@dataclass(frozen=True)
class Case:
    op: Op
    sizes: dict = field(default_factory=dict)
    ranges: dict = field(default_factory=dict)


def case(name, inputs, forward, upstreams, backward, wrt, sizes, outputs=None, constants=None, title=""):
    """An op from (name, node, formula) triples."""
    refs = {r.name: r for r in inputs}
    forward = [Assign(*a) for a in forward]
    refs |= {a.name: a.ref for a in forward}
    outputs = outputs or (forward[-1].name,)
    constants = constants or {}
    backward = [Assign(*a) for a in backward]
    defined = {a.name for a in backward}
    from symderive.lower.plan import walk

    read = dict.fromkeys(n for a in backward for n in walk(a.value) if isinstance(n, Ref) and n.name not in defined)
    ups = list(upstreams)
    saved = [r for r in read if r.name not in {u.name for u in ups}]
    fwd = Plan(name, tuple(inputs), tuple(forward), tuple(outputs), constants)
    bwd = Plan(name, (*ups, *saved), tuple(backward), tuple(f"d{w}" for w in wrt), constants)
    return Case(Op(name, title, tuple(outputs), tuple(wrt), tuple(u.name for u in ups), fwd, bwd), sizes)


def linear():
    x, W, b, dy = Ref("x", (N, K)), Ref("W", (J, K)), Ref("b", (J,)), Ref("dy", (N, J))
    return case(
        "linear",
        [x, W, b],
        [("y", add(MatMul(x, t(W)), b), "y[i, j] = sum[k](x[i, k] * W[j, k]) + b[j]")],
        [dy],
        [
            ("dx", MatMul(dy, W), "dx[i, k] = sum[j](dy[i, j] * W[j, k])"),
            ("dW", MatMul(t(dy), x), "dW[j, k] = sum[i](dy[i, j] * x[i, k])"),
            ("db", total(dy, -2), "db[j] = sum[i](dy[i, j])"),
        ],
        ("x", "W", "b"),
        {"N": 3, "K": 5, "J": 4},
        title="A linear layer",
    )


def linear_batch():
    x, W, dy = Ref("x", (BATCH_SIZE, K)), Ref("W", (J, K)), Ref("dy", (BATCH_SIZE, J))
    flat = lambda v: Reshape(v, (ROWS, v.shape[-1]))  # noqa: E731
    return case(
        "linear_batch",
        [x, W],
        [("y", MatMul(x, t(W)), "y[..., j] = sum[k](x[..., k] * W[j, k])")],
        [dy],
        [
            ("dx", MatMul(dy, W), "dx[..., k] = sum[j](dy[..., j] * W[j, k])"),
            ("dW", MatMul(t(flat(dy)), flat(x)), "dW[j, k] = sum[...](dy[..., j] * x[..., k])"),
        ],
        ("x", "W"),
        {"...": (2, 3), "K": 5, "J": 4},
    )


def relu():
    x, dy = Ref("x", (BATCH_SIZE,)), Ref("dy", (BATCH_SIZE,))
    gate = Map("where", (Map("lt", (number(0), x)), dy, number(0)))
    return case(
        "relu",
        [x],
        [("y", Map("relu", (x,)), "y[...] = relu(x[...])")],
        [dy],
        [("dx", gate, "dx[...] = where(x[...] > 0, dy[...], 0)")],
        ("x",),
        {"...": (2, 3)},
    )


def softmax():
    z, y, dy = (Ref(n, (BATCH_SIZE, C)) for n in ("z", "y", "dy"))
    dz = mul(y, sub(dy, total(mul(dy, y), -1, keep=True)))
    return case(
        "softmax",
        [z],
        [("y", Normalise("softmax", z, -1), "y[..., j] = softmax[j](z[..., j])")],
        [dy],
        [("dz", dz, "dz[..., j] = y[..., j] * (dy[..., j] - sum[k](dy[..., k] * y[..., k]))")],
        ("z",),
        {"...": (2, 3), "C": 4},
    )


def cross_entropy():
    z, labels, dL = Ref("z", (N, C)), Ref("t", (N,), "integer"), Ref("dL", ())
    column = Expand(labels, (-1,))
    picked = Slice(Gather(z, column, -1), (None, At(S.Zero)))
    L = total(sub(total(z, -1, op="logsumexp"), picked), op="mean")
    share = BroadcastTo(Map("div", (Map("neg", (dL,)), Scalar(N))), (N, 1))
    dz = ScatterAdd(
        share, (N, C), column, -1, base=Map("mul", (Normalise("softmax", z, -1), Map("div", (dL, Scalar(N)))))
    )
    return case(
        "cross_entropy",
        [z, labels],
        [("L", L, "L = mean[n](logsumexp[c](z[n, c]) - z[n, t[n]])")],
        [dL],
        [("dz", dz, "dz[n, c] = dL * (softmax[c](z[n, c]) - delta(c, t[n])) / N")],
        ("z",),
        {"N": 3, "C": 5},
    )


def layer_norm():
    x, g, b = Ref("x", (BATCH_SIZE, D)), Ref("gamma", (D,)), Ref("beta", (D,))
    dy, xhat, rstd, dxhat = Ref("dy", x.shape), Ref("xhat", x.shape), Ref("rstd", (BATCH_SIZE,)), Ref("dxhat", x.shape)
    mu, var = Ref("mu", (BATCH_SIZE,)), Ref("var", (BATCH_SIZE,))
    column = lambda v: Expand(v, (-1,))  # noqa: E731
    square = Map("pow", (sub(x, column(mu)), number(2)))
    eps = Scalar(Symbol("eps", real=True))
    dx = mul(
        column(rstd),
        sub(
            sub(dxhat, total(dxhat, -1, keep=True, op="mean")),
            mul(xhat, total(mul(dxhat, xhat), -1, keep=True, op="mean")),
        ),
    )
    return case(
        "layer_norm",
        [x, g, b],
        [
            ("mu", total(x, -1, op="mean"), "mu[...] = mean[d](x[..., d])"),
            ("var", total(square, -1, op="mean"), "var[...] = mean[d]((x[..., d] - mu[...])**2)"),
            ("rstd", Map("rsqrt", (add(var, eps),)), "rstd[...] = rsqrt(var[...] + eps)"),
            ("xhat", mul(sub(x, column(mu)), column(rstd)), "xhat[..., d] = (x[..., d] - mu[...]) * rstd[...]"),
            ("y", add(mul(g, xhat), b), "y[..., d] = gamma[d] * xhat[..., d] + beta[d]"),
        ],
        [dy],
        [
            ("dgamma", total(mul(dy, xhat), -2), "dgamma[d] = sum[...](dy[..., d] * xhat[..., d])"),
            ("dbeta", total(dy, -2), "dbeta[d] = sum[...](dy[..., d])"),
            ("dxhat", mul(dy, g), "dxhat[..., d] = dy[..., d] * gamma[d]"),
            (
                "dx",
                dx,
                "dx[..., d] = rstd[...] * (dxhat[..., d] - mean[e](dxhat[..., e])"
                " - xhat[..., d] * mean[e](dxhat[..., e] * xhat[..., e]))",
            ),
        ],
        ("x", "gamma", "beta"),
        {"...": (2, 3), "D": 5},
        constants={"eps": Rational(1, 100000)},
    )


def attention():
    Q, Kt, Vt = Ref("Q", (N, D)), Ref("K", (N, D)), Ref("V", (N, M))
    S_, P, dO, dP, dS = Ref("S", (N, N)), Ref("P", (N, N)), Ref("dO", (N, M)), Ref("dP", (N, N)), Ref("dS", (N, N))
    scale = Scalar(Symbol("scale", real=True))
    mask = Map("ge", (Expand(Arange(N), (-1,)), Arange(N)))
    return case(
        "attention",
        [Q, Kt, Vt],
        [
            ("S", mul(MatMul(Q, t(Kt)), scale), "S[i, j] = sum[d](Q[i, d] * K[j, d]) * scale"),
            (
                "P",
                Normalise("softmax", Map("where", (mask, S_, Scalar(-S.Infinity))), -1),
                "P[i, j] = softmax[j](where(j <= i, S[i, j], -inf))",
            ),
            ("O", MatMul(P, Vt), "O[i, e] = sum[j](P[i, j] * V[j, e])"),
        ],
        [dO],
        [
            ("dV", MatMul(t(P), dO), "dV[j, e] = sum[i](P[i, j] * dO[i, e])"),
            ("dP", MatMul(dO, t(Vt)), "dP[i, j] = sum[e](dO[i, e] * V[j, e])"),
            (
                "dS",
                mul(P, sub(dP, total(mul(dP, P), -1, keep=True))),
                "dS[i, j] = P[i, j] * (dP[i, j] - sum[k](dP[i, k] * P[i, k]))",
            ),
            ("dQ", mul(MatMul(dS, Kt), scale), "dQ[i, d] = sum[j](dS[i, j] * K[j, d]) * scale"),
            ("dK", mul(MatMul(t(dS), Q), scale), "dK[j, d] = sum[i](dS[i, j] * Q[i, d]) * scale"),
        ],
        ("Q", "K", "V"),
        {"N": 4, "D": 3, "M": 2},
        constants={"scale": Rational(1, 8)},
    )


def conv1d():
    s, q, d = Integer(2), Integer(1), Integer(2)
    out = floor((T + 2 * q - d * (R - 1) - 1) / s) + 1
    x, w, b, dy = Ref("x", (N, C, T)), Ref("w", (OUT, C, R)), Ref("b", (OUT,)), Ref("dy", (N, OUT, out))
    window = Window((s,), (q,), (d,))
    return case(
        "conv1d",
        [x, w, b],
        [
            (
                "y",
                add(Conv(x, w, window), Expand(b, (-1,))),
                "y[n, o, h] = sum[c, r](pad(x[n, c, 2*h + 2*r - 1]) * w[o, c, r]) + b[o]",
            ),
        ],
        [dy],
        [
            (
                "dx",
                ConvTranspose(dy, w, window, (T,)),
                "dx[n, c, q] = sum[o, r, h : 2*h + 2*r - 1 == q](dy[n, o, h] * w[o, c, r])",
            ),
            (
                "dw",
                ConvWeight(x, dy, window, (R,)),
                "dw[o, c, r] = sum[n, h](dy[n, o, h] * pad(x[n, c, 2*h + 2*r - 1]))",
            ),
            ("db", total(dy, -3, -1), "db[o] = sum[n, h](dy[n, o, h])"),
        ],
        ("x", "w", "b"),
        {"N": 2, "C": 3, "T": 9, "O": 4, "R": 3},
    )


def embedding():
    ids, E, dy = Ref("t", (N,), "integer"), Ref("E", (V, D)), Ref("dy", (N, D))
    return case(
        "embedding",
        [ids, E],
        [("y", Take(E, (ids, None)), "y[n, d] = E[t[n], d]")],
        [dy],
        [("dE", IndexAdd(dy, (V, D), (ids, None)), "dE[v, d] = sum[n : t[n] == v](dy[n, d])")],
        ("E",),
        {"N": 6, "V": 4, "D": 3},
    )


CASES = {
    f.__name__: f
    for f in (linear, linear_batch, relu, softmax, cross_entropy, layer_norm, attention, conv1d, embedding)
}
