"""Programs over the whole language, each a spec; the tests of the algebra run over all of them.

A fault that was found once stays here as the program that showed it.
"""

from __future__ import annotations

PROGRAMS: dict[str, str] = {
    "anyall": """
name: anyall
sizes: {N: 4, K: 3}
inputs: {x: [N, K]}
forward: |
  y[n] = where(any[k](x[n, k] > 1), sum[k](x[n, k]), prod[k](x[n, k])) + all[k](x[n, k] < 2)
""",
    "argm": """
name: argm
sizes: {N: 3, K: 4}
inputs: {x: [N, K], w: [N, K]}
forward: |
  y[n] = w[n, argmax[k](x[n, k])] * x[n, argmin[k](x[n, k])]
""",
    "attnpool": """
name: attnpool
sizes: {N: 3, K: 5}
inputs: {x: [N, K], v: [N, K]}
forward: |
  y[n] = sum[k](v[n, k] * exp(x[n, k])) / sum[k](exp(x[n, k]))
""",
    "bcep": """
name: bcep
sizes: {N: 4}
inputs: {p: {shape: [N], assume: unit}, t: {shape: [N], assume: binary}}
forward: |
  L = -mean[i](t[i] * log(p[i]) + (1 - t[i]) * log(1 - p[i]))
""",
    "condlsm": """
name: condlsm
sizes: {N: 3, K: 5}
inputs: {x: [N, K]}
forward: |
  y[n] = sum[k](where(k <= n + 1, log_softmax[k : k <= n + 1](x[n, k]), 0))
""",
    "condmean": """
name: condmean
sizes: {N: 3, K: 5}
inputs: {x: [N, K], m: {shape: [N, K], bool: true}}
forward: |
  y[n] = mean[k : m[n, k] or k == 0](x[n, k]**2)
""",
    "condsm": """
name: condsm
sizes: {N: 3, K: 5}
inputs: {x: [N, K], w: [N, K]}
forward: |
  p[n, k] = softmax[k : k <= n + 1](x[n, k])
  y[n] = sum[k](p[n, k] * w[n, k])
""",
    "conv2d": """
name: conv2d
sizes: {N: 2, C: 2, H: 4, W: 5, O: 3, R: 3, S: 3}
indices: {h: H, w: W}
inputs: {x: [N, C, H, W], k: [O, C, R, S]}
forward: |
  y[n, o, h, w] = sum[c, r, s](pad(x[n, c, h + r - 1, w + s - 1]) * k[o, c, r, s])
""",
    "cummax": """
name: cummax
sizes: {N: 4}
indices: {i: N}
inputs: {x: [N]}
forward: |
  y[i] = max[j : j <= i](x[j])
""",
    "cumprod": """
name: cumprod
sizes: {N: 4}
indices: {i: N}
inputs: {x: [N]}
forward: |
  y[i] = prod[j : j <= i](x[j])
""",
    "detm": """
name: detm
sizes: {N: 3}
inputs: {A: [N, N]}
forward: |
  y = det[i, j](A[i, j]) * sum[i](A[i, i])
""",
    "diag": """
name: diag
sizes: {N: 4}
inputs: {A: [N, N]}
forward: |
  y[i] = A[i, i]**2
""",
    "focal": """
name: focal
sizes: {N: 4}
inputs: {z: [N], t: {shape: [N], assume: binary, grad: false}}
forward: |
  p[i] = sigmoid(z[i])
  L = -mean[i](t[i] * (1 - p[i])**2 * log(p[i]) + (1 - t[i]) * p[i]**2 * log(1 - p[i]))
""",
    "funcs": """
name: funcs
sizes: {N: 6}
inputs: {x: [N]}
forward: |
  y[i] = (exp(x[i]) * log(2 + x[i]**2) + log1p(x[i]**2) + expm1(x[i]) + sqrt(1 + x[i]**2) + rsqrt(2 + x[i]**2)
    + abs(x[i]) + sin(x[i]) * cos(x[i]) + tan(x[i] / 3) + asin(x[i] / 9) + acos(x[i] / 9) + atan(x[i]))
""",
    "funcs2": """
name: funcs2
sizes: {N: 6}
inputs: {x: [N]}
forward: |
  y[i] = (sinh(x[i]) + cosh(x[i]) * tanh(x[i]) + sigmoid(x[i]) + logsigmoid(x[i]) * softplus(x[i])
    + relu(x[i]) + leaky_relu(x[i]) + leaky_relu(x[i], 0.2) + elu(x[i]) + elu(x[i], 2)
    + gelu(x[i]) + gelu_tanh(x[i]) + silu(x[i]) + mish(x[i]) + erf(x[i]) + erfc(x[i])
    + square(x[i]) + sign(x[i]) * x[i] + floor(x[i]) * x[i] + round(x[i]) * x[i])
""",
    "gather2": """
name: gather2
sizes: {V: 4, D: 3, N: 2, M: 3}
inputs: {E: [V, D], t: {shape: [N, M], index: V}, w: [M]}
forward: |
  y[n, d] = sum[m](E[t[n, m], d] * w[m])
""",
    "heads": """
name: heads
sizes: {N: 2}
indices: {e: H * D, d: D, h: H}
inputs: {x: [N, H * D], w: [H, D]}
constants: {H: 2, D: 3}
forward: |
  q[n, h, d] = x[n, D * h + d] * w[h, d]
  y[n, e] = q[n, e // D, e % D]**2
""",
    "idxval": """
name: idxval
sizes: {N: 5}
inputs: {x: [N]}
forward: |
  y[i] = x[i] * (i + 1) / N + where(i > 2, x[i]**2, 0) + N
""",
    "invm": """
name: invm
sizes: {B: 2, N: 3}
inputs: {A: {shape: [B, N, N], assume: spd}, v: [B, N]}
forward: |
  V[b, i, j] = inv[i, j](A[b, i, j] + delta(i, j))
  y[b] = sum[i, j](v[b, i] * V[b, i, j] * v[b, j]) + logdet[i, j](A[b, i, j])
""",
    "kl": """
name: kl
sizes: {N: 4}
inputs: {mu: [N], lv: [N]}
forward: |
  L = sum[i](exp(lv[i]) + mu[i]**2 - 1 - lv[i]) / 2
""",
    "lnone": """
name: lnone
sizes: {K: 5}
inputs: {x: [..., K], g: [K]}
forward: |
  y[..., k] = g[k] * (x[..., k] - mean[j](x[..., j])) / sqrt(mean[j]((x[..., j] - mean[i](x[..., i]))**2) + 1e-5)
""",
    "lsecum": """
name: lsecum
sizes: {N: 4}
indices: {i: N}
inputs: {x: [N]}
forward: |
  y[i] = logsumexp[j : j <= i](x[j])
""",
    "lsesh": """
name: lsesh
sizes: {N: 3, K: 5}
inputs: {x: [N, K]}
forward: |
  m[n] = max[k](x[n, k])
  y[n] = m[n] + log(sum[k](exp(x[n, k] - m[n])))
""",
    "many1": """
name: many1
sizes: {M: 3}
inputs: {x: [M], w: [2 * M]}
forward: |
  y[i] = x[i // 2] * w[i]
""",
    "maxr": """
name: maxr
sizes: {N: 3, K: 4}
inputs: {x: [N, K], w: [K]}
forward: |
  y[n] = max[k](x[n, k] * w[k]) + min[k](x[n, k])
""",
    "multi": """
name: multi
sizes: {N: 3, K: 4}
inputs: {x: [N, K], w: [K]}
output: [m, v]
forward: |
  m[n] = mean[k](x[n, k] * w[k])
  v[n] = mean[k]((x[n, k] - m[n])**2)
""",
    "mx2": """
name: mx2
sizes: {N: 6}
inputs: {a: [N], b: [N]}
forward: |
  y[i] = max(a[i] * b[i], b[i]**2) - min(a[i], 0.1) + clamp(a[i], -0.5, b[i])
""",
    "outtwice": """
name: outtwice
sizes: {N: 4}
inputs: {x: [N], w: [N]}
output: [h, y]
forward: |
  h[i] = tanh(x[i] * w[i])
  y[i] = h[i]**2 * x[i]
""",
    "padinf": """
name: padinf
sizes: {N: 6}
indices: {i: N, r: R}
inputs: {x: [N]}
constants: {R: 3}
forward: |
  y[i] = max[r](pad(x[i + r - 1], -inf))
""",
    "poww": """
name: poww
sizes: {N: 4}
inputs: {x: {shape: [N], assume: positive}, p: []}
forward: |
  y[i] = x[i]**p + 2**x[i] + x[i]**2.5
""",
    "prodr": """
name: prodr
sizes: {N: 3, K: 4}
inputs: {x: [N, K]}
forward: |
  y[n] = prod[k](x[n, k])
""",
    "rev": """
name: rev
sizes: {N: 5}
inputs: {x: [N], w: [N]}
forward: |
  y[i] = x[N - 1 - i] * w[i]**2
""",
    "roll": """
name: roll
sizes: {N: 5}
inputs: {x: [N]}
forward: |
  y[i] = x[(i + 2) % N] * x[i]
""",
    "same": """
name: same
sizes: {N: 4}
inputs: {x: [N]}
forward: |
  y[i, j] = x[i] * x[j] + delta(i, j) * x[i]
""",
    "scal": """
name: scal
inputs: {a: [], b: []}
forward: |
  y = a * exp(b) / (a + b**2 + 3)
""",
    "shift": """
name: shift
sizes: {N: 6}
indices: {i: N - 1}
inputs: {x: [N]}
forward: |
  y[i] = x[i + 1] - x[i]
""",
    "shift2": """
name: shift2
sizes: {N: 6}
indices: {i: N - 1}
inputs: {x: [N], w: [N]}
forward: |
  y[i] = exp(x[i + 1]) * w[i] / x[i]
""",
    "sm3": """
name: sm3
sizes: {N: 3, K: 5}
inputs: {x: [N, K]}
forward: |
  e[n, k] = exp(x[n, k])
  s[n] = sum[k](e[n, k])
  y[n, k] = e[n, k] / s[n]
""",
    "smshift": """
name: smshift
sizes: {N: 3, K: 5}
inputs: {x: [N, K]}
forward: |
  m[n] = max[k](x[n, k])
  e[n, k] = exp(x[n, k] - m[n])
  y[n, k] = e[n, k] / sum[j](e[n, j])
""",
    "std1": """
name: std1
sizes: {N: 3, K: 5}
inputs: {x: [N, K]}
forward: |
  y[n] = sqrt(mean[k]((x[n, k] - mean[j](x[n, j]))**2))
""",
    "stopg": """
name: stopg
sizes: {N: 5}
inputs: {x: [N]}
forward: |
  y[i] = x[i] * stop(sigmoid(x[i]))
""",
    "sumbatch": """
name: sumbatch
sizes: {K: 4}
inputs: {x: [..., K], b: [K]}
forward: |
  L = sum[...](sum[k](x[..., k] * b[k])**2)
""",
    "trace": """
name: trace
sizes: {N: 4}
inputs: {A: [N, N], B: [N, N]}
forward: |
  L = log(sum[i, k](A[i, k] * B[k, i])**2 + 1)
""",
    "var": """
name: var
sizes: {N: 3, K: 5}
inputs: {x: [N, K]}
forward: |
  m[n] = mean[k](x[n, k])
  y[n] = sum[k]((x[n, k] - m[n])**2) / (K - 1)
""",
    "wlse": """
name: wlse
sizes: {N: 3, K: 5}
inputs: {x: [N, K], w: {shape: [K], assume: positive}}
forward: |
  y[n] = log(sum[k](w[k] * exp(x[n, k] / 2)))
""",
    "wsm": """
name: wsm
sizes: {N: 3, K: 5}
inputs: {x: [N, K], w: {shape: [K], assume: positive}}
forward: |
  y[n, j] = exp(2 * x[n, j]) * w[j] / sum[k](w[k] * exp(2 * x[n, k]))
""",
    "zero": """
name: zero
sizes: {N: 5}
inputs: {x: [N], z: [N]}
forward: |
  L = sum[i](x[i]**2)
""",
}
