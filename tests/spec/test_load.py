"""What a spec file becomes: names, shapes, ranges, exact constants; and what must be accepted."""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path

import pytest
from sympy import Integer, floor

from symderive import spec as front
from symderive.errors import Span
from symderive.spec import syntax as s
from symderive.spec.sizes import BATCH_SIZE, size, size_value

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("*.yaml"))
SHARED = Path(__file__).parents[2].parent / "shared" / "cases"
CASES = sorted(p for p in [*SHARED.glob("*.yaml"), *SHARED.glob("array/*.yaml")] if p.stem != "index")

LINEAR_MSE = """\
name: linear_mse
title: Linear layer with half the sum of squared errors
source: a docs page
sizes: {N: 2, K: 64, J: 600}
inputs:
  x: [N, K]                              # short for {shape: [N, K]}
  W: [J, K]
  b: [J]
  t: {shape: [N, J], grad: false}
forward: |
  y[i, j] = sum[k](x[i, k] * W[j, k]) + b[j]
  L = sum[i, j]((y[i, j] - t[i, j])**2) / 2
reference: |
  y = F.linear(x, W, b)
  L = 0.5 * ((y - t)**2).sum()
claims: |
  dy = y - t
  dx = dy @ W
  dW = dy.T @ x
  db = dy.sum(0)
"""
N, K, J, M = (size(n) for n in "NKJM")


def spec(forward: str, more: str = "", inputs: str = "") -> front.Spec:
    """A spec over a few inputs; ``more`` are further keys, ``inputs`` further inputs."""
    return front.loads(text(forward, more, inputs))


def text(forward: str, more: str = "", inputs: str = "") -> str:
    lines = "\n".join(f"  {line}" for line in forward.split("\n"))
    return (
        "name: t\nsizes: {N: 3, K: 4, M: 5}\nconstants: {s: 2, eps: 1e-5}\ninputs:\n  x: [N, K]\n  w: [K]\n  v: [M]\n"
        "  t: {shape: [N], index: K}\n  q: {shape: [], index: N}\n  m: {shape: [N, K], bool: true}\n  X: [N, N]\n"
        f"  B: {{shape: [N, K], assume: binary}}\n{inputs}forward: |\n{lines}\n{more}"
    )


def ranges(forward: str, more: str = "") -> dict[str, object]:
    return dict(spec(forward, more).equations[-1].ranges)


def test_linear_mse():
    found = front.loads(LINEAR_MSE, "linear_mse", "linear_mse.yaml")
    assert (found.name, found.outputs, found.wrt) == ("linear_mse", ("L",), ("x", "W", "b"))
    assert found.shapes == {"x": (N, K), "W": (J, K), "b": (J,), "t": (N, J), "y": (N, J), "L": ()}
    assert found.equations[0].ranges == {"i": N, "j": J, "k": K}
    assert found.equations[0].indices == ("i", "j")
    assert found.sizes == {"N": 2, "K": 64, "J": 600}
    assert not found.input("t").grad
    assert [c.left for c in found.claims] == [s.Name("dy"), s.Name("dx"), s.Name("dW"), s.Name("db")]
    assert found.text == LINEAR_MSE


def test_positions_in_the_file():
    found = front.loads(LINEAR_MSE, path="f.yaml")
    assert found.equations[0].span == Span(11, 3, 11, 45)
    assert found.equations[1].right.right.span == Span(12, 43, 12, 44)
    assert found.claims[2].span == Span(19, 3, 19, 16)
    assert found.reference[1].left.span == Span(15, 3, 15, 4)
    assert found.input("W").span == Span(7, 3, 7, 4)
    assert str(found.location(found.claims[2].span).excerpt()).splitlines()[0].strip() == "dW = dy.T @ x"


def test_loading_is_fast():
    front.loads(LINEAR_MSE)
    best = min(_timed() for _ in range(15))
    assert best < 0.005 * _slowness()


def _timed() -> float:
    start = time.process_time()
    front.loads(LINEAR_MSE)
    return time.process_time() - start


def _slowness() -> float:
    """How much slower than a 2020s desktop this machine is just now; a plain loop is the yardstick."""
    start = time.process_time()
    sum(i * i for i in range(200_000))
    return max(1.0, (time.process_time() - start) / 0.02)


@pytest.mark.parametrize("path", FIXTURES, ids=[p.stem for p in FIXTURES])
def test_fixtures_load(path):
    found = front.load(path)
    assert found.name == path.stem
    assert found.claims
    assert not found.bad_claims


def test_there_are_fixtures():
    assert len(FIXTURES) >= 12


@pytest.mark.skipif(not CASES, reason="the folder of shared cases is not beside this checkout")
def test_shared_cases_load():
    assert [front.load(path).name for path in CASES] == [path.stem for path in CASES]


ACCEPTED = {
    "gather": "y[i] = x[i, t[i]]",
    "gather by a scalar": "y[k] = x[q, k]",
    "argmax in a position": "y[i] = x[i, argmax[k](x[i, k])]",
    "argmax as a tensor": "a[i] = argmax[k](x[i, k])\ny[i] = x[i, a[i]]",
    "integers by arithmetic": "a[i] = i - i // 2 + 0 * t[i]\ny[i] = X[a[i], i]",
    "softmax under its own sum": "y[i] = sum[k](softmax[k](x[i, k]) * w[k])",
    "softmax twice": "y[i, k] = softmax[k](softmax[k](x[i, k]))",
    "softmax over two": "y[i, k] = softmax[i, k](x[i, k])",
    "softmax of a row with a condition": "y[i, j] = softmax[j : j <= i](X[i, j])",
    "condition": "y[i] = sum[j : j <= i](X[i, j])",
    "boolean condition": "y[i] = logsumexp[k : m[i, k]](x[i, k])",
    "boolean in arithmetic": "y[i, k] = m[i, k] * x[i, k] + (i < k)",
    "binary as a condition": "y[i, k] = where(B[i, k], x[i, k], 0)",
    "truth as a tensor": "b[i] = any[k](x[i, k] > 0)\ny[i] = where(b[i] and not i == 0, 1, x[i, 0])",
    "product of conditions": "y[i, j] = where((i < j) * (j != 2), X[i, j], 0)",
    "wrapped position": "y[i] = X[(i + 1) % N, i]",
    "mirrored position": "y[i] = X[N - 1 - i, i]",
    "clamped position": "y[i] = X[min(i + 1, N - 1), i] + X[clamp(i - 1, 0, N - 1), i]",
    "half of an index": "y[i] = X[i // 2, i - i // 2] + X[i, i]",
    "a square within the diagonal": "y[i] = X[i, i]",
    "padding": "y[k] = w[k] + pad(w[k - 1]) + pad(w[k + 1], -inf)",
    "padding beyond a shorter axis": "y[k] = w[k] + pad(v[k])",
    "the first entry": "y = w[0]",
    "numbers": "y[i, k] = (i - k) * x[i, k] + i // s + eps + N + pi - s % 2",
    "scalars": "L = mean[i, k](x[i, k]**2)\nR = sqrt(L) + 1",
    "constants": "L = 1.5 / 3",
    "functions": "y[k] = leaky_relu(w[k]) + leaky_relu(w[k], 0.2) + elu(w[k], 1) + max(0, w[k]) + stop(w[k])",
    "delta": "y[k, j] = delta(k, j) * w[k] * w[j] + delta(k, t[0]) - delta(k, 0)",
    "inverse": "V[i, j] = inv[i, j](X[i, j])\nL = logdet[i, j](X[i, j] + delta(i, j)) + sum[i](V[i, i])",
    "matrix of anything": "L = det[i, j](sum[k](x[i, k] * x[j, k]))",
    "names that YAML would read as truth": "yes[k] = w[k]\nno[k] = yes[k]\non = sum[k](no[k])\noff = on",
    "names of modules": "F = sum[k](w[k])\nD = F * F\ntorch = D",
    "names of array form": "trace = sum[i](X[i, i])\nouter[i, j] = x[i, 0] * x[j, 0]",
    "the same letter again": "y[i] = sum[k](x[i, k])\nz[k] = sum[i](x[i, k])",
    "a letter twice in one equation": "L = sum[k](w[k]) + sum[k](w[k]**2)",
    "continued line": "L = sum[k](\n  w[k]\n  ) + 1  # done",
    "gradient name of a tensor that is not differentiated": "dt = sum[k](w[k])",
    "empty max": "y[i] = max[j : j < i](X[i, j])",
}


@pytest.mark.parametrize("forward", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepted(forward):
    assert spec(forward).equations


DECLARED = {
    "a part of an axis": ("y[h] = w[h] + w[h + 1]", "indices: {h: K - 1}\n", {"h": K - 1}),
    "a stride": ("y[h] = w[s*h] + w[s*h + 1]", "indices: {h: K // 2}\n", {"h": floor(K / 2)}),
    "a window": ("y[h] = sum[r](w[h + r])", "indices: {h: K - s + 1, r: s}\n", {"h": K - 1, "r": Integer(2)}),
    "two axes in one": ("y[e] = x[e // K, e % K]", "indices: {e: N * K}\n", {"e": N * K}),
    "one axis in two": ("y[a, b] = w[a * s + b]", "indices: {a: K // s, b: s}\n", {"a": floor(K / 2), "b": Integer(2)}),
    "only counted": ("L = sum[r](1)", "indices: {r: M}\n", {"r": M}),
    "shift": ("y[k] = pad(w[k - 1], -inf)", "indices: {k: K}\n", {"k": K}),
}


@pytest.mark.parametrize(("forward", "more", "expected"), DECLARED.values(), ids=DECLARED.keys())
def test_declared_ranges(forward, more, expected):
    assert ranges(forward, more) == expected


def test_ranges_are_inferred_through_tensors():
    found = spec("y[a, b] = x[a, b]\nz[p] = sum[q2](y[p, q2])\nL = sum[u](z[u])")
    assert found.equations[1].ranges == {"p": N, "q2": K}
    assert found.equations[2].ranges == {"u": N}


def test_ranges_that_are_equal_but_written_differently():
    more = "  a: [2 * (N + K)]\n  b: [2*K + N*2]\n  c: [(N - 1) // 2 + 1]\n  d: [(N + 1) // 2]\n"
    assert spec("y[i] = a[i] * b[i]\nz[i] = c[i] * d[i]", inputs=more).equations[0].ranges == {"i": 2 * N + 2 * K}


def test_batch_axes():
    inputs = "  z: [..., K]\n  p: {shape: [...], index: K}\n"
    forward = (
        "u[...] = sum[k](z[..., k]**2)\ny[..., k] = z[..., k] / u[...] * w[k] + z[..., p[...]]\nL = sum[...](u[...])"
    )
    found = spec(forward, "output: [y, L]\n", inputs)
    assert found.shapes["y"] == (BATCH_SIZE, K)
    assert found.equations[0].indices == ("...",)
    assert found.equations[2].ranges == {"...": BATCH_SIZE}
    assert front.loads(text(forward, "", inputs).replace("M: 5", "M: 5, '...': [2, 3]")).sizes["..."] == (2, 3)


def test_constants_are_exact():
    found = front.loads(
        LINEAR_MSE + "constants: {eps: 1e-5, third: 1/3, a: -0.1, big: 1E3, c: '2.5', two: +2, p: 2**-3}\n"
    )
    assert found.constants == {
        "eps": Fraction(1, 100000),
        "third": Fraction(1, 3),
        "a": Fraction(-1, 10),
        "big": Fraction(1000),
        "c": Fraction(5, 2),
        "two": Fraction(2),
        "p": Fraction(1, 8),
    }


def test_shapes_of_expressions_and_constants():
    found = spec("L = x[0, 0]", inputs="  a: [K // s, s, 3, N*K - 1 + s, K % 3]\n")
    assert found.shapes["a"] == (floor(K / 2), Integer(2), Integer(3), N * K + 1, found.shapes["a"][4])
    assert [size_value(e, {"N": 3, "K": 4}) for e in found.shapes["a"]] == [2, 2, 3, 13, 1]


def test_inputs_in_full():
    found = spec(
        "L = x[0, 0]",
        inputs="  a: {shape: [K], range: [-1/2, 2e-1], assume: [positive, unit]}\n"
        "  P: {shape: [N, 2, 2], assume: spd}\n"
        "  yes: {shape: [], bool: Yes}\n",
    )
    assert found.input("a").range == (Fraction(-1, 2), Fraction(1, 5))
    assert found.input("a").assume == ("positive", "unit")
    assert found.input("t").index == K
    assert found.input("m").boolean
    assert not found.input("m").is_real
    assert found.input("yes").boolean
    assert found.wrt == ("x", "w", "v", "X", "B", "a", "P")


def test_outputs_wrt_and_cases():
    found = spec("y[k] = w[k]\nz = sum[k](y[k])", "output: [y, z]\nwrt: [w]\ncases: [{N: 1, K: 2}, {M: 7}]\n")
    assert found.outputs == ("y", "z")
    assert found.wrt == ("w",)
    assert found.cases == ({"N": 1, "K": 2, "M": 5}, {"N": 3, "K": 4, "M": 7})
    assert spec("y[k] = w[k]", "output: y\nwrt: w\n").outputs == ("y",)
    assert spec("y[k] = w[k]", "wrt: []\n").wrt == ()


def test_yaml_has_no_say_in_names():
    found = front.loads(
        "name: on\nsizes: {n: 3, y: 2, null: 4}\ninputs: {on: [n], no: [y], off: [null]}\nforward: yes[i] = on[i]\n"
    )
    assert found.shapes == {"on": (size("n"),), "no": (size("y"),), "off": (size("null"),), "yes": (size("n"),)}


def test_a_key_with_nothing_behind_it_is_as_good_as_none():
    more = "title:\nnotes: ~\nclaims:\ncases:\nconstants: null\nindices: {}\nreference: |\n\n"
    found = front.loads("name: t\ninputs: {x: [3]}\nforward: L = x[0]\n" + more)
    assert (found.title, found.claims, found.cases, found.constants, found.reference) == ("", (), (), {}, ())


def test_letters_have_the_range_that_they_have_in_forward():
    found = spec("b[i, j] = i <= j\ny[i] = sum[j](where(b[i, j], X[i, j], 0))\nz[k] = sum[i](x[i, k])\nu[k] = v[k]")
    assert found.equations[0].ranges == {"i": N, "j": N}
    assert found.letters == {"i": N, "j": N}


def test_a_size_that_nothing_uses_does_no_harm():
    assert front.loads(LINEAR_MSE.replace("J: 600", "J: 600, P: 3")).sizes["P"] == 3


def test_sizes_are_solved_one_after_the_other():
    found = front.loads("name: t\nsizes: {H: 9, R: 3}\ninputs: {x: [H - R + 1], w: [2*R]}\nforward: L = sum[i](x[i])\n")
    assert found.equations[0].ranges == {"i": size("H") - size("R") + 1}


def test_forward_on_one_line_and_quoted():
    for forward in (
        "forward: L = x[0]*2",
        "forward: 'L = x[0]*2'",
        'forward: "L = x[0]*2"',
        "forward: |-\n    L = x[0]*2",
    ):
        found = front.loads(f"name: t\ninputs: {{x: [3]}}\n{forward}\n")
        span = found.equations[0].right.left.span
        assert found.text.splitlines()[span.line - 1][span.column - 1 : span.end_column - 1] == "x[0]"


def test_bad_claims_are_kept_apart():
    found = front.loads(LINEAR_MSE + "  dW = dy.T @\n  nonsense\n  db[j] = sum[i](dy[i, j])\n")
    assert len(found.claims) == 5
    assert [(b.line, b.text) for b in found.bad_claims] == [(21, "dW = dy.T @"), (22, "nonsense")]


def test_windows_line_ends_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "linear_mse.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + LINEAR_MSE.replace("\n", "\r\n").encode())
    assert front.load(path).equations == front.loads(LINEAR_MSE).equations


def test_torch_is_not_imported():
    import subprocess
    import sys

    code = "import sys, symderive.spec; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
