# ruff: noqa: E501
"""Small ops that between them use the whole language, as the texts of specs; each names what it is about."""

from __future__ import annotations

import re


def _case(sizes: str, inputs: str, forward: str, extra: str = "") -> str:
    lines = "\n".join("  " + line.strip() for line in forward.strip().splitlines())
    spare = [
        n for n in re.findall(r"(\w+):", sizes) if not re.search(rf"[\[ ]{n}[\],]", re.sub("index: .", "", inputs))
    ]
    inputs += "".join(f", only_{n}: {{shape: [{n}], grad: false}}" for n in spare)
    return f"sizes: {{{sizes}}}\ninputs: {{{inputs}}}\n{extra}\nforward: |\n{lines}\n"


CASES: dict[str, str] = {
    # element-wise, order of axes
    "transpose": _case("N: 2, K: 3", "x: [N, K]", "y[k, n] = x[n, k]"),
    "transpose_add": _case("N: 2, K: 3", "x: [N, K], b: [N]", "y[k, n] = x[n, k] * 2 + b[n]"),
    "permute3": _case("A: 2, B: 3, C: 4", "x: [A, B, C], w: [C, A]", "y[c, a, b] = x[a, b, c] * w[c, a]"),
    "outer_sum": _case("N: 2, K: 3", "x: [N], w: [K]", "y[n, k] = x[n] - w[k] + 1"),
    "repeat_rows": _case("N: 2, K: 3", "x: [N]", "y[n, k] = x[n] / K", "indices: {k: K}"),
    "constant_output": _case("N: 2, K: 3", "x: [N]", "y[n, k] = 2 * N", "indices: {n: N, k: K}"),
    "scalar_output": _case("N: 2", "x: [N]", "L = N + 1"),
    "index_values": _case("N: 4", "x: [N]", "y[n] = x[n] * n + (n + 1) / N - n**2"),
    "functions": _case(
        "N: 3",
        "x: [N]",
        """a[n] = exp(x[n]) + log(1 + x[n]**2) - sqrt(x[n]**2 + 1) + rsqrt(2 + x[n]**2)
        b[n] = sin(a[n]) * cos(a[n]) + tan(x[n] / 9) + asin(x[n] / 9) - acos(x[n] / 9) + atan(x[n])
        c[n] = sinh(x[n]) + cosh(x[n]) + tanh(b[n]) + sigmoid(b[n]) + logsigmoid(x[n]) + softplus(x[n])
        d[n] = relu(x[n]) + leaky_relu(x[n], 0.1) + elu(x[n]) + gelu(x[n]) + gelu_tanh(x[n]) + silu(x[n]) + mish(x[n])
        e[n] = erf(x[n]) + erfc(x[n]) + floor(3 * x[n]) + round(2 * x[n]) + square(x[n]) + abs(x[n]) + sign(x[n])
        y[n] = a[n] + b[n] + c[n] + d[n] + e[n] + expm1(x[n]) + log1p(x[n]**2)""",
    ),
    "powers": _case(
        "N: 3",
        "x: {shape: [N], assume: positive}",
        "y[n] = x[n]**3 + x[n]**(-2) + x[n]**(3/2) + x[n]**(-1/2) + x[n]**(-3/2) + x[n]**x[n] + 2**x[n] + 1/(1 + x[n])",
    ),
    "branches": _case(
        "N: 3, K: 4",
        "x: [N, K], m: {shape: [K], bool: true}",
        """y[n, k] = where(x[n, k] > 0 and m[k], x[n, k], where(not m[k] or n <= k, -1, x[n, k] * m[k]))
        z[n, k] = clamp(x[n, k], -1/2, 1/2) + max(x[n, k], y[n, k]) - min(x[n, k], 0)""",
    ),
    "comparisons": _case(
        "N: 3", "x: [N], w: [N]", "y[n] = (x[n] < w[n]) + 2 * (x[n] >= 0) - (x[n] == w[n]) + (n != 1) * x[n]"
    ),
    "constants": _case("N: 3", "x: [N]", "y[n] = scale * x[n] / N + eps * pi", "constants: {scale: 1.5, eps: 1e-3}"),
    "stop": _case("N: 3", "x: [N]", "y[n] = x[n] * stop(x[n] + 1)"),
    "boolean_tensor": _case(
        "N: 3, K: 4", "x: [N, K]", "m[n, k] = x[n, k] > 0 and k <= n\ny[n, k] = where(m[n, k], x[n, k], 0) + m[n, k]"
    ),
    # batch axes
    "batch_linear": _case(
        "K: 2, J: 3", "x: ['...', K], W: [J, K], b: [J]", "y[..., j] = sum[k](x[..., k] * W[j, k]) + b[j]"
    ),
    "batch_matmul": _case(
        "N: 2, K: 3, M: 4", "a: ['...', N, K], b: ['...', K, M]", "y[..., n, m] = sum[k](a[..., n, k] * b[..., k, m])"
    ),
    "batch_weighted": _case(
        "N: 2, K: 3",
        "x: ['...', N, K], w: [N], s: ['...']",
        "y[..., n, k] = x[..., n, k] * w[n] * s[...] - mean[j](x[..., n, j])",
    ),
    "batch_total": _case(
        "K: 3",
        "x: ['...', K], w: ['...', K]",
        "L = sum[..., k](x[..., k] * w[..., k])\nm = mean[...](sum[k](x[..., k]))",
        "output: [L, m]",
    ),
    "batch_outer": _case("K: 3, J: 2", "x: ['...', K], d: ['...', J]", "W[j, k] = sum[...](d[..., j] * x[..., k])"),
    "batch_outer_rows": _case(
        "N: 2, K: 3, J: 2", "x: ['...', N, K], d: ['...', N, J]", "W[j, k] = sum[..., n](d[..., n, j] * x[..., n, k])"
    ),
    "batch_centred": _case("K: 3", "x: ['...', K]", "m[k] = mean[...](x[..., k])\ny[..., k] = x[..., k] - m[k]"),
    "batch_transpose": _case("N: 2, K: 3", "x: ['...', N, K]", "y[..., k, n] = x[..., n, k] * 3"),
    "batch_gather": _case(
        "C: 4", "z: ['...', C], t: {shape: ['...'], index: C}", "l[...] = logsumexp[c](z[..., c]) - z[..., t[...]]"
    ),
    "batch_embedding": _case("V: 4, D: 3", "E: [V, D], t: {shape: ['...'], index: V}", "y[..., d] = E[t[...], d]"),
    "batch_heads": _case(
        "N: 2, H: 2",
        "q: ['...', N, 2*H], k: ['...', N, 2*H]",
        "s[..., h, n, m] = sum[d](q[..., n, h * 2 + d] * k[..., m, h * 2 + d])",
        "indices: {h: H, d: 2}",
    ),
    # reductions
    "reductions": _case(
        "N: 3, K: 4",
        "x: [N, K]",
        "y[n] = max[k](x[n, k]) + min[k](x[n, k]) + prod[k](x[n, k]) + mean[k](x[n, k]) + logsumexp[k](x[n, k]) + argmax[k](x[n, k]) - argmin[k](x[n, k]) + any[k](x[n, k] > 1) + all[k](x[n, k] > -1)",
    ),
    "reductions_unused": _case(
        "N: 3, K: 4",
        "x: [N]",
        "y[n] = sum[k](x[n]) + max[k](x[n]) + prod[k](x[n]) + logsumexp[k](x[n]) + mean[k](x[n]) + sum[k](1)",
        "indices: {k: K}",
    ),
    "conditional": _case(
        "N: 3, K: 4",
        "x: [N, K]",
        "y[n] = sum[k : x[n, k] > 0](x[n, k]) + mean[k : k <= n](x[n, k]) + max[k : k != n](x[n, k]) + logsumexp[k : k >= n](x[n, k]) + prod[k : k < n](x[n, k])",
    ),
    "two_index_reductions": _case(
        "N: 3, K: 4", "x: [N, K]", "L = sum[n, k](x[n, k]**2) + max[n, k](x[n, k]) + logsumexp[n, k](x[n, k])"
    ),
    "keepdim": _case(
        "N: 3, K: 4", "x: [N, K]", "y[n, k] = x[n, k] / sum[j](x[n, j]**2) - mean[m](x[m, k]) + max[j](x[n, j])"
    ),
    "cumulative": _case(
        "N: 2, T: 5",
        "x: [N, T]",
        "y[n, t] = sum[s : s <= t](x[n, s]) + sum[s : s < t](x[n, s]) + sum[s : s >= t](x[n, s]) + sum[s : s > t](x[n, s]**2)",
        "indices: {t: T}",
    ),
    "cumulative_others": _case(
        "N: 2, T: 5",
        "x: [N, T]",
        "y[n, t] = prod[s : s <= t](x[n, s]) + max[s : s <= t](x[n, s]) + min[s : s >= t](x[n, s]) + logsumexp[s : s <= t](x[n, s])",
        "indices: {t: T}",
    ),
    "decayed": _case("T: 5", "x: [T]", "y[t] = sum[s : s <= t](x[s] * exp(s - t))", "indices: {t: T}"),
    # softmax
    "softmax": _case(
        "N: 3, K: 4",
        "z: [N, K]",
        "y[n, k] = softmax[k](2 * z[n, k])\nl[n, k] = log_softmax[k](z[n, k])\nL = sum[n, k](y[n, k] * l[n, k])",
        "output: [y, l, L]",
    ),
    "softmax_first": _case("N: 3, K: 4", "z: [N, K]", "y[n, k] = softmax[n](z[n, k]) + log_softmax[n](z[n, k])"),
    "softmax_both": _case("N: 3, K: 4", "z: [N, K]", "y[n, k] = softmax[n, k](z[n, k])"),
    "softmax_masked": _case("N: 4, K: 4", "z: [N, K]", "y[n, k] = softmax[k : k < n](z[n, k])"),
    "softmax_where": _case("N: 4, K: 4", "z: [N, K]", "y[n, k] = softmax[k](where(k <= n, z[n, k], -inf))"),
    "softmax_by_hand": _case(
        "N: 3, K: 4",
        "z: [N, K]",
        "y[n, k] = exp(z[n, k]) / sum[j](exp(z[n, j]))\nl[n] = log(sum[k](exp(z[n, k])))",
        "output: [y, l]",
    ),
    "temperature": _case("N: 3, K: 4", "z: [N, K], s: [N]", "y[n, k] = softmax[k](z[n, k] / (1 + s[n]**2))"),
    # contractions
    "chain": _case(
        "I: 2, J: 3, K: 4, L: 5", "a: [I, J], b: [J, K], c: [K, L]", "y[i, l] = sum[j, k](a[i, j] * b[j, k] * c[k, l])"
    ),
    "quadratic": _case("I: 3", "x: [I], A: [I, I]", "f = sum[i, j](x[i] * A[i, j] * x[j])"),
    "bilinear": _case(
        "I: 3, J: 4, B: 2", "x: [B, I], A: [I, J], w: [B, J]", "f[b] = sum[i, j](x[b, i] * A[i, j] * w[b, j])"
    ),
    "trace": _case("I: 3", "A: [I, I], B: [I, I]", "f = sum[i, j](A[i, j] * B[j, i]) + sum[i](A[i, i])"),
    "batched_vector": _case("B: 2, I: 3, J: 4", "A: [B, I, J], x: [B, J]", "y[b, i] = sum[j](A[b, i, j] * x[b, j])"),
    "tensordot": _case(
        "A: 2, B: 3, C: 2, D: 3", "x: [A, B, C], w: [D, B, C]", "y[a, d] = sum[b, c](x[a, b, c] * w[d, b, c])"
    ),
    "tensordot_crossed": _case(
        "A: 2, B: 3, C: 2, D: 3", "x: [A, B, C], w: [C, D, B]", "y[d, a] = sum[b, c](x[a, b, c] * w[c, d, b])"
    ),
    "many_free": _case(
        "A: 2, B: 3, K: 4, C: 2, D: 3", "x: [A, B, K], w: [C, K, D]", "y[a, c, b, d] = sum[k](x[a, b, k] * w[c, k, d])"
    ),
    "many_free_one": _case(
        "A: 2, B: 3, K: 4, C: 2", "x: [K, A], w: [B, C, K]", "y[a, b, c] = sum[k](x[k, a] * w[b, c, k])"
    ),
    "heads": _case(
        "B: 2, N: 3, H: 2, D: 4",
        "q: [B, N, H, D], k: [B, N, H, D], v: [B, N, H, D]",
        "s[b, h, n, m] = sum[d](q[b, n, h, d] * k[b, m, h, d])\no[b, n, h, d] = sum[m](s[b, h, n, m] * v[b, m, h, d])",
    ),
    "weighted_gram": _case("N: 3, K: 4", "x: [N, K], w: [N]", "G[a, b] = sum[n](w[n] * x[n, a] * x[n, b])"),
    "pulled_out": _case("N: 3, K: 4", "x: [N, K], w: [N], s: []", "y[n] = sum[k](s * w[n] * x[n, k] / (2 * K))"),
    "divided": _case(
        "N: 3, K: 4, J: 2", "x: [N, K], w: [K], A: [J, K]", "y[n, j] = sum[k](x[n, k] * A[j, k] / (1 + w[k]**2))"
    ),
    "masked_product": _case("N: 4, K: 4, D: 2", "x: [N, K], v: [K, D]", "y[n, d] = sum[k : k <= n](x[n, k] * v[k, d])"),
    "masked_vector": _case("N: 4, K: 4, D: 2", "v: [K, D]", "y[n, d] = sum[k : k != n](v[k, d])", "indices: {n: N}"),
    "nested_sums": _case(
        "I: 2, J: 3, K: 4", "a: [I, J], b: [J, K]", "L = sum[i, j](a[i, j]**2 * sum[k](b[j, k] * exp(b[j, k])))"
    ),
    "sum_of_sums": _case(
        "N: 3, K: 4", "x: [N, K], W: [N, K], b: [K]", "L = sum[n, k](x[n, k] * W[n, k] + b[k] * x[n, k] - 2)"
    ),
    "pairwise": _case("N: 5, K: 2", "x: [N, K]", "D[i, j] = sum[k]((x[i, k] - x[j, k])**2)"),
    "pairwise_weighted": _case("N: 9, K: 3", "x: [N, K], P: [N, N]", "y[i, k] = sum[j](P[i, j] * (x[i, k] - x[j, k]))"),
    "four_factors": _case(
        "I: 2, J: 3, K: 4, L: 2",
        "X: [I, J], B: [J, J], A: [I, I]",
        "f = sum[i, j, k, l](X[i, j] * B[j, k] * X[l, k] * A[l, i])",
    ),
    "seven_factors": _case(
        "I: 2",
        "a: [I, I]",
        "f[p, q] = sum[i, j, k, l, m, n](a[p, i] * a[i, j] * a[j, k] * a[k, l] * a[l, m] * a[m, n] * a[n, q])",
    ),
    # index arithmetic
    "diagonal": _case("N: 3, K: 2", "A: [N, K, N]", "y[n, k] = A[n, k, n]"),
    "off_diagonal": _case("N: 4", "A: [N, N]", "y[i] = A[i, i + 1]", "indices: {i: N - 1}"),
    "constant_places": _case("N: 3, K: 4", "x: [N, K]", "y[n] = x[n, 0] + x[n, K - 1]\ns = x[0, 0]", "output: [y, s]"),
    "shifted": _case("N: 2, T: 5", "x: [N, T]", "y[n, t] = x[n, t + 1] - x[n, t]", "indices: {t: T - 1}"),
    "strided": _case("T: 2", "x: [7]", "y[h] = x[2 * h + 1]", "indices: {h: 3}"),
    "reversed": _case("N: 2, T: 5", "x: [N, T]", "y[n, t] = x[n, T - 1 - t] + x[N - 1 - n, t]"),
    "reversed_stride": _case("T: 2", "x: [7]", "y[t] = x[6 - 2 * t]", "indices: {t: 3}"),
    "rolled": _case("T: 5", "x: [T]", "y[t] = x[(t + 2) % T] + x[(t - 1) % T] - x[(1 - t) % T]", "indices: {t: T}"),
    "flattened": _case("N: 2, D: 3, E: 6", "x: [N, D]", "y[e] = x[e // D, e % D]", "indices: {e: N * D}"),
    "unflattened": _case("N: 2, D: 3", "x: [6]", "y[n, d] = x[n * 3 + d]", "indices: {n: 2, d: 3}"),
    "mixed_radix": _case(
        "A: 2, B: 3, C: 4", "x: [24]", "y[b, a, c] = x[a * 12 + b * 4 + c]", "indices: {a: 2, b: 3, c: 4}"
    ),
    "repeated": _case("N: 3", "x: [3]", "y[i] = x[i // 2] + x[i % 3]", "indices: {i: 6}"),
    "repeat_odd": _case("N: 3", "x: [3]", "y[i] = x[i // 2] + x[i % 3]", "indices: {i: 5}"),
    "windows": _case(
        "T: 2", "x: [7]", "y[h, r] = x[2 * h + r]\nm[h] = max[r](x[2 * h + r])", "indices: {h: 3, r: 3}\noutput: [y, m]"
    ),
    "windows_padded": _case(
        "N: 2, T: 6", "x: [N, T]", "m[n, h] = max[r](pad(x[n, 2 * h + r - 1], -inf))", "indices: {h: 3, r: 3}"
    ),
    "windows_dilated": _case("T: 9", "x: [T]", "y[h, r] = pad(x[h + 3 * r - 2], 1/2)", "indices: {h: 9, r: 3}"),
    "windows_2d": _case(
        "H: 5, W: 6", "x: [5, 6]", "m[h, w] = max[r, s](x[2 * h + r, 3 * w + s])", "indices: {h: 2, w: 2, r: 2, s: 3}"
    ),
    "three_terms": _case(
        "T: 9", "x: [9]", "y[a, b, c] = x[a + b + c] + pad(x[4 * a - b - c])", "indices: {a: 3, b: 4, c: 2}"
    ),
    "padded": _case("T: 5", "x: [T]", "y[t] = pad(x[t - 1]) + pad(x[t + 2], 7)", "indices: {t: T}"),
    "padded_computed": _case(
        "T: 5, N: 3", "x: [T], t: {shape: [N], index: T}", "y[n] = pad(x[t[n] + 2], -1) + pad(x[n - t[n]])"
    ),
    "padded_value": _case("T: 5", "x: [T], f: []", "y[t] = pad(x[t - 1], f)", "indices: {t: T}"),
    "sum_diagonal_band": _case("N: 4", "A: [N, N]", "y[i] = sum[j](pad(A[i, i + j - 1]))", "indices: {j: 3}"),
    # gathers
    "embedding": _case("V: 5, D: 2, N: 3", "E: [V, D], t: {shape: [N], index: V}", "y[n, d] = E[t[n], d]"),
    "embedding_2d": _case(
        "V: 5, D: 2, N: 3, S: 2", "E: [V, D], t: {shape: [N, S], index: V}", "y[d, s, n] = E[t[n, s], d]"
    ),
    "gather": _case("N: 3, C: 4", "z: [N, C], t: {shape: [N], index: C}", "y[n] = z[n, t[n]]"),
    "gather_many": _case("N: 3, C: 4, K: 2", "z: [N, C], t: {shape: [N, K], index: C}", "y[n, k] = z[n, t[n, k]]"),
    "gather_inner": _case("N: 3, C: 4, D: 2", "z: [N, C, D], t: {shape: [N], index: C}", "y[n, d] = z[n, t[n], d]"),
    "gather_pair": _case(
        "A: 3, B: 4, N: 5", "z: [A, B], s: {shape: [N], index: A}, t: {shape: [N], index: B}", "y[n] = z[s[n], t[n]]"
    ),
    "gather_apart": _case(
        "A: 3, B: 4, N: 5, D: 2",
        "z: [A, D, B], s: {shape: [N], index: A}, t: {shape: [N], index: B}",
        "y[n, d] = z[s[n], d, t[n]]",
    ),
    "gather_nested": _case(
        "A: 3, B: 4, N: 5", "z: [A], s: {shape: [B], index: A}, t: {shape: [N], index: B}", "y[n] = z[s[t[n]]]"
    ),
    "gather_offset": _case("A: 6, N: 5", "z: [6], t: {shape: [N], index: 3}", "y[n] = z[2 * t[n] + 1]"),
    "batch_gather_many": _case(
        "C: 4, K: 2", "z: ['...', C], t: {shape: ['...', K], index: C}", "y[..., k] = z[..., t[..., k]]"
    ),
    "batch_gather_pair": _case(
        "A: 3, B: 4",
        "z: ['...', A, B], s: {shape: ['...'], index: A}, t: {shape: ['...'], index: B}",
        "y[...] = z[..., s[...], t[...]]",
    ),
    "batch_constant_gather": _case(
        "A: 3, B: 4", "z: ['...', A, B], t: {shape: [B], index: A}", "y[..., b] = z[..., t[b], b]"
    ),
    "argmax_place": _case("N: 3, C: 4", "z: [N, C], x: [N, C]", "y[n] = x[n, argmax[c](z[n, c])]"),
    "argmax_named": _case("N: 3, C: 4", "z: [N, C], x: [C]", "a[n] = argmax[c](z[n, c])\ny[n] = x[a[n]] + a[n]"),
    # deltas
    "scatter": _case(
        "N: 4, V: 3, D: 2",
        "d: [N, D], t: {shape: [N], index: V}",
        "E[v, k] = sum[n](delta(v, t[n]) * d[n, k])",
        "indices: {v: V}",
    ),
    "scatter_where": _case(
        "N: 4, V: 3, D: 2",
        "d: [N, D], t: {shape: [N], index: V}",
        "E[k, v] = sum[n](where(t[n] == v, d[n, k], 0))",
        "indices: {v: V}",
    ),
    "scatter_counts": _case("N: 4, V: 3", "x: [V], t: {shape: [N], index: V}", "c[v] = x[v] * sum[n](delta(v, t[n]))"),
    "scatter_rows": _case(
        "N: 4, V: 3, K: 2",
        "d: [N, K], t: {shape: [N, K], index: V}",
        "y[n, v] = sum[k](delta(v, t[n, k]) * d[n, k])",
        "indices: {v: V}",
    ),
    "scatter_kept": _case(
        "N: 4, V: 3", "z: [N, V], g: [N], t: {shape: [N], index: V}", "y[n, v] = z[n, v] - delta(v, t[n]) * g[n]"
    ),
    "scatter_kept_weighted": _case(
        "N: 4, V: 3", "z: [N, V], g: [N], t: {shape: [N], index: V}", "y[n, v] = 2 * delta(v, t[n]) * g[n] * z[n, v]"
    ),
    "scatter_kept_inner": _case(
        "N: 4, V: 3, D: 2",
        "g: [N, D], t: {shape: [N], index: V}",
        "y[n, v, d] = delta(v, t[n]) * g[n, d]",
        "indices: {v: V}",
    ),
    "one_hot": _case("N: 4, V: 3", "x: [N], t: {shape: [N], index: V}", "y[n, v] = delta(v, t[n])", "indices: {v: V}"),
    "scatter_pair": _case(
        "A: 3, B: 4, N: 5, D: 2",
        "g: [N, D], s: {shape: [N], index: A}, t: {shape: [N], index: B}",
        "y[a, b, d] = sum[n](delta(a, s[n]) * delta(b, t[n]) * g[n, d])",
        "indices: {a: A, b: B}",
    ),
    "scatter_batch": _case(
        "V: 3, D: 2",
        "g: ['...', D], t: {shape: ['...'], index: V}",
        "E[v, d] = sum[...](delta(v, t[...]) * g[..., d])",
        "indices: {v: V}",
    ),
    "scatter_batch_kept": _case(
        "V: 3",
        "z: ['...', V], g: ['...'], t: {shape: ['...'], index: V}",
        "y[..., v] = z[..., v] - delta(v, t[...]) * g[...]",
    ),
    "scatter_batch_rows": _case(
        "V: 3, K: 2",
        "g: ['...', K], t: {shape: ['...', K], index: V}",
        "y[..., v] = sum[k](delta(v, t[..., k]) * g[..., k])",
        "indices: {v: V}",
    ),
    "scatter_affine": _case(
        "T: 7, N: 2", "g: [N, 3]", "y[n, t] = sum[h](delta(t, 2 * h + 1) * g[n, h])", "indices: {t: T}"
    ),
    "scatter_window": _case(
        "T: 7", "g: [3]", "y[t] = sum[h, r](delta(t, 2 * h + r - 1) * g[h])", "indices: {t: T, h: 3, r: 4}"
    ),
    "scatter_outside": _case(
        "T: 4, N: 5",
        "g: [N], t: {shape: [N], index: T}",
        "y[i] = sum[n](delta(i, 2 * t[n] - 1) * g[n])",
        "indices: {i: T}",
    ),
    "identity": _case(
        "N: 3",
        "x: [N]",
        "y[i, j] = delta(i, j) * x[i] - x[i] * x[j]\nz[i, j] = delta(i, j) + 1",
        "output: [y, z]\nindices: {i: N, j: N}",
    ),
    "identity_only": _case("N: 3", "x: [N]", "y[i, j] = delta(i, j)", "indices: {i: N, j: N}"),
    "identity_sum": _case("N: 3, K: 2", "x: [N, K]", "y[i, j] = sum[k](delta(i, j) * x[i, k] + x[i, k] * x[j, k])"),
    "delta_mask": _case("N: 4", "x: [N]", "y[i, j] = delta(i, j + 1) * x[j] + delta(i, 2)", "indices: {i: N, j: N}"),
    "delta_parity": _case("N: 4", "x: [N]", "y[i] = x[i] * delta(i % 2, 0)"),
    # convolutions
    "conv": _case(
        "N: 2, C: 3, T: 7, O: 2",
        "x: [N, C, T], w: [O, C, 3]",
        "y[n, o, h] = sum[c, r](x[n, c, h + r] * w[o, c, r])",
        "indices: {h: T - 2}",
    ),
    "conv_pad": _case(
        "N: 2, C: 3, T: 7, O: 2",
        "x: [N, C, T], w: [O, C, 3], b: [O]",
        "y[n, o, h] = sum[c, r](pad(x[n, c, 2 * h + r - 1]) * w[o, c, r]) + b[o]",
        "indices: {h: 4}",
    ),
    "conv_lopsided": _case(
        "N: 2, C: 3, T: 7, O: 2",
        "x: [N, C, T], w: [O, C, 3]",
        "y[n, o, h] = sum[c, r](pad(x[n, c, h + r - 2]) * w[o, c, r])",
        "indices: {h: T}",
    ),
    "conv_part": _case(
        "N: 2, C: 3, T: 9, O: 2",
        "x: [N, C, 9], w: [O, C, 3]",
        "y[n, o, h] = sum[c, r](x[n, c, 2 * h + r + 1] * w[o, c, r])",
        "indices: {h: 2}",
    ),
    "conv_flipped": _case("T: 7", "x: [T], w: [3]", "y[h] = sum[r](x[h + 2 - r] * w[r])", "indices: {h: T - 2}"),
    "conv_full": _case("T: 5", "x: [T], w: [3]", "y[h] = sum[r](pad(x[h - r]) * w[r])", "indices: {h: T + 2}"),
    "conv_grouped": _case(
        "N: 2, G: 2, C: 3, T: 7, O: 2",
        "x: [N, G, C, T], w: [G, O, C, 3]",
        "y[n, g, o, h] = sum[c, r](pad(x[n, g, c, h + 2 * r - 2]) * w[g, o, c, r])",
        "indices: {h: T}",
    ),
    "conv_depthwise": _case(
        "N: 2, C: 3, T: 7",
        "x: [N, C, T], w: [C, 3]",
        "y[n, c, h] = sum[r](x[n, c, h + r] * w[c, r])",
        "indices: {h: T - 2}",
    ),
    "conv_2d": _case(
        "N: 2, C: 2, H: 5, W: 6, O: 3",
        "x: [N, C, H, W], w: [O, C, 2, 3]",
        "y[n, o, h, v] = sum[c, r, s](pad(x[n, c, 2 * h + r - 1, v + 2 * s - 2]) * w[o, c, r, s])",
        "indices: {h: 3, v: W}",
    ),
    "conv_batch": _case(
        "C: 3, T: 7, O: 2",
        "x: ['...', C, T], w: [O, C, 3]",
        "y[..., o, h] = sum[c, r](x[..., c, h + r] * w[o, c, r])",
        "indices: {h: T - 2}",
    ),
    "conv_weight": _case(
        "N: 2, C: 3, T: 7, O: 2",
        "x: [N, C, T], d: [N, O, T - 2]",
        "w[o, c, r] = sum[n, h](x[n, c, h + r] * d[n, o, h])",
        "indices: {r: 3}",
    ),
    "conv_transpose": _case(
        "N: 2, C: 3, T: 9, O: 2",
        "d: [N, O, 4], w: [O, C, 3]",
        "x[n, c, t] = sum[o, h, r](delta(t, 2 * h + r - 1) * d[n, o, h] * w[o, c, r])",
        "indices: {t: T}",
    ),
    "correlation": _case("T: 5", "x: [T], z: [T]", "y[s] = sum[t](pad(x[t + s - 2]) * z[t])", "indices: {s: 5}"),
    # matrices
    "matrices": _case(
        "N: 3",
        "A: {shape: [N, N], assume: spd}, b: [N]",
        "V[i, j] = inv[i, j](A[i, j])\nL = logdet[i, j](A[i, j]) + det[i, j](2 * A[i, j])\ny[i] = sum[j](V[i, j] * b[j])",
        "output: [V, L, y]",
    ),
    "matrix_places": _case(
        "N: 3",
        "A: {shape: [N, N], assume: spd}",
        "V[i, j] = inv[i, j](A[i, j] + delta(i, j))\ny[i] = V[i, i] + V[0, i]\ntr = sum[i](V[i, i])",
        "output: [y, tr]",
    ),
    "matrix_batch": _case(
        "N: 2",
        "A: {shape: ['...', N, N], assume: spd}, c: [N]",
        "V[..., i, j] = inv[i, j](A[..., i, j] + c[i] * c[j])\nL[...] = logdet[i, j](A[..., i, j])",
        "output: [V, L]",
    ),
    "systems": _case(
        "N: 3, K: 2",
        "A: {shape: [N, N], assume: spd}, B: [N, K], c: [N]",
        "X[j, k] = solve[i, j](A[i, j], B[i, k])\nx[j] = solve[i, j](A[j, i], c[i])\n"
        "q = sum[i, j](c[i] * inv[i, j](A[i, j]) * c[j])\ntr[k] = sum[i, j](B[i, k] * inv[i, j](A[i, j]) * B[j, k] * c[i])",
        "output: [X, x, q, tr]",
    ),
    "systems_batch": _case(
        "N: 3, M: 2, K: 2",
        "A: {shape: ['...', N, N], assume: spd}, S: {shape: [N, N], assume: spd}, b: ['...', N], B: [M, N, K], c: [N]",
        "x[..., j] = solve[i, j](A[..., i, j], b[..., i])\ny[..., j] = solve[i, j](S[i, j], b[..., i])\n"
        "z[m, j, k] = solve[i, j](S[i, j], B[m, i, k])\nu[..., j] = solve[i, j](A[..., i, j], c[i])",
        "output: [x, y, z, u]",
    ),
    "cholesky": _case(
        "N: 3",
        "A: {shape: ['...', N, N], assume: spd}, b: ['...', N], c: [N]",
        "L[..., i, j] = cholesky[i, j](A[..., i, j])\nK[i, j] = cholesky[i, j](c[i] * c[j] + delta(i, j))\n"
        "x[..., j] = solve[i, j](L[..., i, j], b[..., i])\ny[..., j] = solve[i, j](L[..., j, i], x[..., i])\n"
        "d[..., i] = log(L[..., i, i])",
        "output: [L, K, x, y, d]",
    ),
    # common subexpressions
    "repeated_quantity": _case(
        "N: 3, K: 4", "x: [N, K]", "y[n, k] = exp(x[n, k] - mean[j](x[n, j])) * (x[n, k] - mean[j](x[n, j]))"
    ),
    "layer_norm": _case(
        "N: 3, K: 4",
        "x: [N, K], g: [K]",
        "y[n, k] = g[k] * (x[n, k] - mean[j](x[n, j])) / sqrt(mean[j]((x[n, j] - mean[l](x[n, l]))**2) + 1/100)",
    ),
    "two_outputs": _case(
        "N: 3", "x: [N]", "s = sum[n](x[n]**2)\ny[n] = x[n] / s\nunused[n] = x[n] + 1", "output: [y, s]"
    ),
}


def text(name: str) -> str:
    """The spec of that name."""
    return f"name: {name}\n{CASES[name]}"
