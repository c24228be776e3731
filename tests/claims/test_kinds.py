"""Which kind a mistake is of: the smallest change that makes the claim right, and only what does so exactly."""

from __future__ import annotations

import pytest
import yaml

from symderive import spec as specs
from symderive.claims import judge_text


def spec(*, forward, **parts):
    head = yaml.safe_dump({"name": "op", "sizes": {"N": 3, "K": 4, "F": 2}, **parts})
    return specs.loads(head + "forward: |\n" + "\n".join(f"  {row}" for row in forward.split("\n")))


def given(*shape):
    return {"shape": list(shape), "grad": False}


BUMPS = spec(inputs={"w": ["N"], "h": given("N"), "x": given("N")}, forward="y[n] = h[n] * w[n] + exp(-x[n]**2)")
BELL = spec(
    inputs={"x": ["N"], "P": given("N", "N")},
    forward="z = sum[i, j](x[i] * P[i, j] * x[j])\nf = exp(-z / 2)",
)
SCALARS = spec(inputs={"a": [], "v": ["N"], "x": ["N"]}, forward="u[n] = a * x[n]\nL = sum[n](v[n] * u[n])")
FEATURES = spec(inputs={"a": ["N", "F"]}, forward="z[n, f] = sqrt(2 / F) * cos(a[n, f])")
SCATTER = spec(
    inputs={"Z": ["N", "K"]},
    forward="S[i, j] = sum[n](Z[n, i] * Z[n, j]) / (N - 1)\nc[n] = sum[i](Z[n, i])",
    output="S",
)
COUNTED = spec(inputs={"y": ["N"]}, forward="L = sum[n](y[n]**2 * (n + 1))")
WRAPPED = spec(
    inputs={"x": ["N"], "t": given("N")}, forward="h[n] = x[n] - t[n]\ng[n] = h[n]**2\nf[n] = x[n]\n", output=["f", "g"]
)
GAUSS = spec(
    inputs={"R": ["N", "K"], "P": {"shape": ["K", "K"], "assume": "spd"}},
    forward="L = N / 2 * logdet[i, j](P[i, j]) - sum[n, i, j](R[n, i] * P[i, j] * R[n, j]) / 2",
)
SUMS = spec(inputs={"x": ["N"]}, indices={"t": "N"}, forward="s[t] = sum[u : u < t](x[u])\nL = sum[t](s[t]**2)")
PAIRS = spec(
    inputs={"m": ["N"], "r": given("N", "N")},
    forward="E = sum[i, j : i < j](m[i] * m[j] / (r[i, j]**2 + r[j, i]**2 + 1))",
)
SOFTMAX = spec(inputs={"z": ["N", "K"]}, forward="p[n, k] = softmax[k](z[n, k])")
BATCHES = spec(inputs={"z": ["...", "K"]}, forward="p[..., k] = softmax[k](z[..., k])")
POOL = spec(
    inputs={"x": ["N"], "c": given("N")},
    indices={"i": "N", "r": 3},
    forward="y[i] = sum[r](pad(x[i + r - 1])) / (1 + c[i]**2)",
)
KERNEL = spec(
    inputs={"V": ["N", "F"], "w": given("N"), "B": given("N", "N")},
    forward="G[i, j] = sum[f](V[i, f] * V[j, f])\nL = sum[i, j](G[i, j] * w[i] * w[j] * (B[i, j] + B[j, i]) + G[i, j])",
)
GELU = spec(inputs={"g": ["N"]}, forward="y[n] = g[n] / 2 * (1 + erf(g[n] / sqrt(2)))")
QUOTIENT = spec(inputs={"x": ["N"], "s": {"shape": ["N"], "assume": "positive"}}, forward="y[n] = x[n] / s[n]")
HEADS = spec(inputs={"W": [3, "K", "N"], "x": ["N"]}, forward="y[c, k] = sum[n](W[c, k, n] * x[n])")
MEANS = spec(inputs={"a": [], "x": ["N"], "c": given("N")}, forward="L = a * mean[n](x[n]) * mean[n](c[n])")
PLACED = spec(
    inputs={"x": ["N"], "c": given("N"), "t": {"shape": ["N"], "index": "K"}},
    constants={"be": 0.5},
    forward="h[n] = where(t[n] > 0, be * c[n] * relu(x[n]), 0)",
)
CAUSAL = spec(
    inputs={"x": ["N"], "w": ["K"]},
    indices={"t": "N"},
    forward="y[t] = sum[k](w[k] * pad(x[t - K + 1 + k]))",
)
DILATED = spec(
    inputs={"x": ["N", "N"], "w": ["F", "F"]},
    constants={"di": 2},
    indices={"h": "N - 2 * F + 2", "v": "N - 2 * F + 2"},
    sizes={"N": 6, "F": 2},
    forward="y[h, v] = sum[r, s](w[r, s] * x[h + di * r, v + di * s])",
)
CYCLE = spec(inputs={"x": ["N"], "c": given("N")}, forward="L = sum[n](c[n] * x[(n + 1) % N])")
LAPLACE = spec(
    inputs={"X": ["N", "F"], "A": {"shape": ["N", "N"], "assume": "symmetric", "grad": False}},
    forward="L = sum[i, j](A[i, j] * sum[f]((X[i, f] - X[j, f])**2)) / 2",
)
PAIRED = spec(inputs={"X": ["N", "F"]}, forward="G[i, j] = sum[f](X[i, f] * X[j, f])")
CENTRES = spec(
    inputs={"x": given("N", "F"), "m": ["K", "F"], "r": {**given("N", "K"), "assume": "positive"}},
    forward="L = sum[n, k](r[n, k] * sum[f]((x[n, f] - m[k, f])**2))",
)
MASKED = spec(inputs={"s": ["N", "N"]}, forward="l[i] = logsumexp[j : j != i](s[i, j])\nL = sum[i](l[i])")
GROUPS = spec(
    inputs={"x": [2, "N", "K", "F"]},
    forward="y[b, n, k, f] = x[b, n, k, f] - mean[p, q](x[b, n, p, q])",
)
TRUNK = spec(
    inputs={"x": given("N", "F"), "W": ["K", "F"]},
    forward="h[n, k] = relu(sum[f](W[k, f] * x[n, f]))\nL = sum[n, k](exp(h[n, k]))",
)
IGNORED = spec(
    inputs={"z": ["N", "K"], "t": {"shape": ["N"], "index": "K"}},
    forward="lp[n, k] = log_softmax[k](z[n, k])\nM = max(1, sum[n](where(t[n] != 0, 1, 0)))\n"
    "L = -sum[n : t[n] != 0](lp[n, t[n]]) / M",
)
BAGS = spec(
    inputs={"E": ["N", "K"], "m": {"shape": ["N"], "assume": "binary", "grad": False}},
    forward="c = 1 + sum[n](m[n])\ny[k] = sum[n](m[n] * E[n, k]) / c",
)
ROWS = spec(
    inputs={"x": ["N", "K"], "m": {"shape": ["N", "K"], "assume": "binary", "grad": False}},
    forward="c[n] = 1 + sum[k](m[n, k])\ny[n] = sum[k](m[n, k] * x[n, k]) / c[n]",
)
GATED = "where(x[n] > 0 and t[n] > 0, be * dh[n] * c[n], 0)"
OVERLAP = spec(
    inputs={"p": {"shape": ["N"], "assume": "unit"}, "t": given("N")},
    forward="i = sum[n](p[n] * t[n])\nu = sum[n](p[n] * (2 + t[n]**2)) + 1\nL = i / u",
)
STATES = spec(
    inputs={"W": ["K", "K"], "h0": ["K"], "b": ["K"]},
    forward="h1[i] = tanh(sum[j](W[i, j] * h0[j]))\nh2[i] = tanh(sum[j](W[i, j] * h1[j]) + b[i])\n"
    "L = sum[i](h2[i]**2 * b[i]**2)",
)
DROP = spec(
    constants={"rate": 0.2}, inputs={"x": ["N"], "keep": {"shape": ["N"], "bool": True}},
    forward="y[n] = where(keep[n], x[n] / (1 - rate), 0)",
)  # fmt: skip
ELU = spec(constants={"al": 0.7}, inputs={"x": ["N"]}, forward="a[n] = where(x[n] > 0, x[n], al * (exp(x[n]) - 1))")
SPRING = spec(
    constants={"lam": 0.1, "c": 0.3}, inputs={"e": ["N"], "w": []},
    forward="f[t] = w * e[t] + c * pad(e[t - 1])\nL = sum[t](f[t]**2) / 2 + lam * w**2",
)  # fmt: skip
HINGE = spec(
    inputs={"z": ["N"], "s": ["N"]}, constants={"lo": -1, "hi": 2}, forward="h[n] = clamp(z[n], lo, hi) * exp(-s[n])"
)
ROOT = spec(inputs={"v": ["N"]}, forward="r[n] = (1 + v[n]**2)**(-1/2)")
FORM = spec(
    inputs={"x": ["N"], "A": {"shape": ["N", "N"], "assume": "symmetric", "grad": False}},
    forward="q = sum[i, j](x[i] * A[i, j] * x[j])",
)
TABLE = spec(
    inputs={"E": ["K", "F"], "w": ["F"], "ids": {"shape": ["N"], "index": "K"}},
    forward="u[n] = sum[f](E[ids[n], f] * w[f])",
)
LAYER = spec(
    inputs={"x": ["N", "K"], "U": ["F", "K"]}, forward="z[n, f] = sum[k](x[n, k] * U[f, k])\no[n, f] = tanh(z[n, f])"
)
ENTROPY = spec(
    inputs={"s": ["K"], "p": {"shape": ["K"], "assume": "positive"}},
    forward="l = logsumexp[k](s[k])\nH = -sum[k](p[k] / sum[j](p[j]) * log(p[k] / sum[j](p[j])))",
    output=["l", "H"],
)
SCALED = spec(
    constants={"b": 0.3}, inputs={"x": ["N"], "w": given("N")}, forward="L = sum[n](w[n] * x[n]) * (b + 1)\nf = L * b"
)
SILU = spec(inputs={"u": ["...", "K"]}, forward="a[..., k] = u[..., k] * sigmoid(u[..., k])")
CIRCLE = spec(inputs={"v": ["N"]}, forward="d[t] = v[(t + 1) % N] - v[t]")
NORMS = spec(
    inputs={"q": {"shape": ["N"], "assume": "positive"}, "c": ["K"], "x": given("N")},
    forward="r[n] = sqrt(q[n])\nL[k] = sum[n]((c[k] - x[n])**3) / 3",
    output=["r", "L"],
)
RAYS = spec(
    inputs={"a": {"shape": ["N"], "assume": "unit"}, "c": ["N"]},
    indices={"i": "N"},
    forward="T[i] = prod[j : j < i](1 - a[j])\nC = sum[i](T[i] * a[i] * c[i])",
)
ANGLE = spec(inputs={"c": {"shape": ["N"], "assume": "unit"}}, forward="th[n] = acos(c[n])")
ONES = spec(
    inputs={"x": ["N", "K"], "b": [1, "K"], "s": given("N", 1)}, forward="y[n, k] = (x[n, k] + b[0, k]) * s[n, 0]"
)
IMAGES = spec(
    sizes={"H": 5, "W": 6, "R": 3},
    inputs={"x": ["H", "W"], "k": ["R", "R"]},
    indices={"i": "H // 2", "j": "W // 2"},
    forward="y[i, j] = sum[a, b](pad(x[2*i + a - 1, 2*j + b - 1]) * k[a, b])",
)
LOGISTIC = spec(
    inputs={"X": given("N", "K"), "w": ["K"], "t": given("N")},
    forward="z[n] = sum[k](X[n, k] * w[k])\nL = sum[n](softplus(z[n]) - t[n] * z[n])",
)
ARM = spec(inputs={"a": [], "b": []}, forward="x = cos(a) + cos(a + b)\ny = sin(a) + sin(a + b)", output=["x", "y"])


@pytest.mark.parametrize(
    ("op", "claim", "kind", "words"),
    [
        (BELL, "dx = -df * (P + P.T) @ x / 2", "factor", "f"),
        (BELL, "dx = -df * exp(z / 2) * (P + P.T) @ x / 2", "sign", "The sign inside exp(z / 2) is wrong."),
        (SCALARS, "da = a * (v @ x)", "factor", "The factor a is one too many."),
        (FEATURES, "da = -sin(a) * dz", "factor", "The factor sqrt(2 / F) is missing."),
        (SCATTER, "dZ = Z @ (dS + dS.T) / N", "factor", "N should be N - 1."),
        (COUNTED, "dy = 2 * y", "factor", "n + 1"),
        (GAUSS, "dR = -R @ P.inv()", "wrong_operand", "P.inv() should be P."),
        (GAUSS, "dP = N / 2 * P - R.T @ R / 2", "wrong_operand", "P should be P.inv()."),
        (SUMS, "dx[u] = 2 * sum[t : t >= u](s[t])", "extra_term", "t >= u of the sum should be t > u."),
        (SUMS, "dx[u] = 2 * sum[t](s[t])", "extra_term", "what is not t > u is left out of the sum."),
        (PAIRS, "dm[i] = sum[j](m[j] / (r[i, j]**2 + r[j, i]**2 + 1))", "extra_term", "j = i is left out of the sum."),
        (
            PAIRS,
            "dm[i] = sum[j : j < i](m[j] / (r[i, j]**2 + r[j, i]**2 + 1))",
            "missing_term",
            "The condition j < i of the sum should be j != i.",
        ),
        (SOFTMAX, "D(p[n, k], z[n, j]) = -p[n, k] * p[n, j]", "missing_term", "delta(k, j)"),
        (
            BATCHES,
            "dz[..., k] = dp[..., k] * p[..., k] * (1 - p[..., k])",
            "missing_cross_terms",
            "Only the diagonal of the Jacobian of p is taken",
        ),
        (BATCHES, "dz[..., k] = dp[..., k] * D(p[..., k], z[..., k])", "missing_cross_terms", "Only the diagonal"),
        (
            RAYS,
            "da[i] = T[i] * c[i] - sum[k : k > i](T[k] * a[k] * c[k])",
            "factor",
            "The division of the term sum[k : k > i](T[k] * a[k] * c[k]) by 1 - a[i] is missing.",
        ),
        (ANGLE, "dc = -dth / (1 - c**2)", "factor", "1 - c**2 should be sqrt(1 - c**2)."),
        (
            IMAGES,
            "dx[h, w] = sum[i, j](dy[i, j] * pad(k[2*i + 1 - h, 2*j + 1 - w]))",
            "wrong_index",
            "k[2 * i + 1 - h, 2 * j + 1 - w] should be k[",
        ),
        (
            IMAGES,
            "dk[a, b] = sum[i, j](dy[i, j] * pad(x[i + a - 1, j + b - 1]))",
            "wrong_index",
            "x[i + a - 1, j + b - 1] should be x[2 * i + a - 1, 2 * j + b - 1].",
        ),
        (LOGISTIC, "dw = (X @ w - t) @ X", "wrong_operand", "X @ w should be sigmoid(X @ w)."),
        (SOFTMAX, "dz = p * (dp - (p * dp).sum(0))", "wrong_index", "(p * dp).sum(0) runs over the wrong axis."),
        (ONES, "db = dy * s", "missing_sum", "before the sum over axis 0"),
        (POOL, "dx[k] = sum[r](pad(dy[k - r + 1])) / (1 + c[k]**2)", "wrong_index", "inside of the sum"),
        (KERNEL, "dG = (B + B.T) + ones(N, N)", "factor", "The factor outer(w, w) is missing"),
        (GELU, "dg = dy * ((1 + erf(g / sqrt(2))) / 2 + g * exp(-g**2 / 2) / sqrt(pi))", "factor", "by sqrt(2)"),
        (QUOTIENT, "ds = -x * dy", "factor", "The division by s**2 is missing."),
        (HEADS, "dx[n] = mean[c, k](W[c, k, n] * dy[c, k])", "mean_vs_sum", "should be a sum"),
        (OVERLAP, "dp = t / u - i / u**2", "factor", "The factor D(u, p) is missing in the term i / u**2."),
        (STATES, "dW = outer(dh1, h0) + outer(dh2, h1)", "factor", "missing: 1 - h1[i]**2, 1 - h2[i]**2."),
        (DROP, "dx = where(keep, dy / rate, 0)", "factor", "rate should be 1 - rate."),
        (DROP, "dx = where(keep, dy / -rate, 0)", "factor", "-rate should be 1 - rate."),
        (ELU, "dx = da * where(a > 0, 1, a)", "missing_term", "The term + al is missing beside a."),
        (SPRING, "de[t] = w * f[t] + c * f[(t + 1) % N]", "wrong_index", "f[(t + 1) % N] should be pad(f[t + 1])."),
        (SPRING, "de[t] = w * f[t] + c * pad(f[t + 2])", "wrong_index", "The index t + 2 should be t + 1."),
        (SPRING, "de[t] = w * f[t] + pad(f[t + 1])", "factor", "The factor c is missing in the term pad(f[t + 1])."),
        (SPRING, "dw = f.sum() * e.sum() + 2 * lam * w", "extra_sum", "is a product of two sums"),
        (HINGE, "dz = dh * exp(-s) * (h > 0)", "wrong_operand", "should be z >= lo and z <= hi."),
        (ROOT, "dv = -dr * v * (1 + v**2)**(-1/2)", "factor", "should be (1 + v**2)**(-3 / 2)."),
        (FORM, "dx[i] = 2 * A[i, i] * x[i]", "missing_cross_terms", "only what is on a diagonal is taken"),
        (TABLE, "dw = E.T @ du", "wrong_index", "E should be E[ids]: its rows are picked by ids."),
        (LAYER, "dz = do * o * (1 - o)", "factor", "is the derivative of a sigmoid: that of tanh is 1 - o**2."),
        (LAYER, "dU[f, k] = sum[n](dz[n, f]) * sum[n](x[n, k])", "extra_sum", "is a product of two sums"),
        (LAYER, "dU = einsum('nf,nk->kf', dz, x)", "transpose", ""),
        (LAYER, "dx = einsum('nf,fk->nf', dz, U)", "wrong_index", "'nf,fk->nf' should be 'nf,fk->nk'."),
        (ENTROPY, "ds = dl * (s - l)", "wrong_operand", "s - l should be exp(s - l)."),
        (ENTROPY, "dp = -dH * (log(p / p.sum()) + 1) / p.sum()", "missing_term", "sum[j](p[j]) in H is left out."),
        (LAYER, "dU = -x.T @ -dz", "transpose", ""),
        (LAYER, "dx = -dz.T @ U * -1", "transpose", "should be -dz @ U"),
        (LAYER, "dU = dz.T @ x + dz.T @ x * 0 + do.T @ x", "extra_term", ""),
        (SCALED, "dx = dL * w * (b - 1)", "sign", "should be b + 1"),
        (SILU, "du = da * sigmoid(u) * (1 - sigmoid(u))", "factor", "is the derivative of a sigmoid: here it is"),
        (SILU, "du = da * (sigmoid(u) * u * sigmoid(-u))", "missing_term", ""),
        (CIRCLE, "dv = dd.roll(-1, 0) - dd", "wrong_index", "dd.roll(-1, 0) should be dd.roll(1, 0)."),
        (CIRCLE, "dv = -2 * dd + dd.roll(1, 0)", "factor", "The term -2 * dd has the factor 2 too much."),
        (NORMS, "dq = dr * 2 * r", "factor", "The claim is multiplied by 2 * r, and it should be the other way round."),
        (NORMS, "dc[k] = sum[n](dL[k] * (c[k] - x[n]))", "factor", "c[k] - x[n] should be (c[k] - x[n])**2."),
        (GAUSS, "dR = -(R @ P) @ P", "factor", "The product with P is one too many."),
        (ARM, "db = -dx * sin(b) + dy * cos(b)", "missing_term", "The term + a is missing beside b."),
        (
            MEANS,
            "da = mean[n](x[n] * c[n])",
            "missing_sum",
            "should be a product of means, mean[n](x[n]) * mean[n](c[n]).",
        ),
        (MEANS, "da = (x * c).mean()", "missing_sum", "should be a product of means, x.mean() * c.mean()."),
        (PLACED, f"dx[n] = {GATED} * where(n == 2 and c[n] > 5, 0, 1)", "factor", "> 5, 0, 1) is one too many."),
        (PLACED, f"dx[n] = where(t[n] == 3 and n == 1, 0, {GATED})", "factor", "is meant in any case."),
        (PLACED, f"dx[n] = {GATED} - where(t[n] == 3 and n == 4, c[n], 0)", "extra_term", "There is a term too many"),
        (
            PLACED,
            "dx[n] = where(x[n] > 0 and t[n] > 0 and n != 1, be * dh[n] * c[n], 0)",
            "factor",
            "n != 1 is one too",
        ),
        (CAUSAL, "dx[t] = sum[k](w[k] * pad(dy[t - K + 1 + k]))", "wrong_index", "should be t + K - 1 - k."),
        (CAUSAL, "dx[t] = sum[k](w[k] * pad(dy[t + k]))", "wrong_index", "The index t + k should be t + K - 1 - k."),
        (DILATED, "dw[r, s] = sum[h, v](dy[h, v] * x[h + r, v + s])", "wrong_index", "be x[h + di * r, v + di * s]."),
        (CYCLE, "dx[n] = c[n]", "wrong_index", "c[n] should be c[(n - 1) % N]."),
        (LAPLACE, "dX = 2 * (A.sum(1) - A) @ X", "wrong_operand", "A.sum(1) should be diag(A.sum(1))"),
        (PAIRED, "dX = 2 * dG @ X", "transpose", "dG is not symmetric: it should be (dG + dG.T) / 2."),
        (PAIRED, "dX[i, f] = 2 * sum[j](dG[i, j] * X[j, f])", "transpose", "should be (dG[i, j] + dG[j, i]) / 2."),
        (CENTRES, "dm = 2 * (m - r.T @ x / r.sum(0)[:, None])", "factor", "The factor r.sum(0)[:, None] is missing."),
        (
            MASKED,
            "ds[i, k] = where(k != i, exp(s[i, k]) / sum[j](exp(s[i, j])), 0)",
            "extra_term",
            "should be sum[j : j != i](",
        ),
        (
            MASKED,
            "ds[i, j] = where(j != i, softmax[j](s[i, j]), 0)",
            "factor",
            "should be softmax[j : i != j](s[i, j]).",
        ),
        (GROUPS, "dx = dy - dy.mean(3, keepdim=True)", "wrong_index", "runs over the wrong axis."),
        (TRUNK, "dW = dh.T @ x", "factor", "The condition h > 0 is missing in dh"),
        (TRUNK, "dW = (h * dh).T @ x", "wrong_operand", "h should be h > 0."),
        (TRUNK, "dW[k, f] = sum[n](h[n, k] * dh[n, k] * x[n, f])", "wrong_operand", "be where(h[n, k] > 0, 1, 0)."),
        (
            IGNORED,
            "dz = (softmax(z, 1) - one_hot(t, K)) / M",
            "factor",
            "The condition (t != 0)[:, None] is missing in",
        ),
        (IGNORED, "dz = t[:, None] * (softmax(z, 1) - one_hot(t, K)) / M", "wrong_operand", "t should be t != 0."),
        (IGNORED, "dz = (t > 0)[:, None] * (softmax(z, 1) - one_hot(t, K)) / N", "wrong_operand", "N should be M."),
        (BAGS, "dE[n, k] = dy[k] * m[n] / N", "wrong_operand", "N should be c."),
        (ROWS, "dx[n, k] = dy[n] * m[n, k] / K", "wrong_operand", "K should be c[n]."),
        (ROWS, "dx[n, k] = dy[n] * m[n, k] / c[0]", "wrong_index", "The index 0 in c[0] should be n."),
        (PLACED, "dx[n] = where(x[n] > 0 and t[n] >= 0, be * dh[n] * c[n], 0)", "wrong_index", "should be t[n] > 0."),
    ],
)
def test_the_smallest_change_gives_the_kind(op, claim, kind, words):
    (result,) = judge_text(op, claim)
    said = result.diagnosis
    assert (said.kind, words in said.sentence, "more than one" in said.sentence) == (kind, True, False), said
    (offered,) = judge_text(op, said.correction.split("\n")[-1]) if "\n" not in said.correction else (None,)
    assert offered is None or offered.verdict == "right"


@pytest.mark.parametrize("claim", ["dw = dy * h * (1 + 1e-15)", "dw = dy * h + 1e-30"])
def test_what_floats_cannot_tell_from_the_truth_is_not_explained_by_a_forward_with_the_same_gradient(claim):
    """No gradient with respect to ``w`` depends on the sign inside of the ``exp``."""
    (result,) = judge_text(BUMPS, claim)
    assert result.verdict == "wrong"
    assert "exp" not in result.diagnosis.sentence
    assert result.diagnosis.kind in ("factor", "extra_term")


def test_a_gradient_that_is_almost_that_of_another_forward_is_not_said_to_be_it():
    op = spec(inputs={"x": ["N"]}, forward="y[n] = exp(-x[n])")
    (lost,) = judge_text(op, "dx = dy * exp(x)")
    assert lost.diagnosis.kind == "sign"
    (near,) = judge_text(op, "dx = dy * exp(x) * (1 + 1e-12)")
    assert "is lost" not in near.diagnosis.sentence
