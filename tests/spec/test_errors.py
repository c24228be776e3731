"""Bad input: each error names the place and the mend. The texts are part of the interface, so they are pinned here."""

from __future__ import annotations

import os
import time

import pytest

from symderive import spec as front
from symderive.errors import SpecError, SymderiveError

HEAD = """\
name: t
sizes: {N: 3, K: 4, M: 5}
constants: {s: 2, eps: 1e-5}
inputs:
  x: [N, K]
  w: [K]
  v: [M]
  t: {shape: [N], index: K}
  m: {shape: [N, K], bool: true}
  z: [..., K]
forward: |
"""


def error(text: str) -> SymderiveError:
    with pytest.raises(SymderiveError) as caught:
        front.loads(text)
    return caught.value


def place(found: SymderiveError) -> tuple[int, int]:
    assert found.location is not None
    return found.location.span.line, found.location.span.column


FORWARD = {
    "index with two ranges": (
        "y[i] = sum[k](x[i, k] * v[k])",
        (12, 29),
        "the index 'k' has two ranges: K in x[i, k] (line 12, column 22) and M in v[k]",
        "use another letter for one of them, or correct a shape",
    ),
    "unbound index": (
        "y[i] = x[i, k]",
        (12, 15),
        "the index 'k' is not bound: it stands neither on the left side nor under a reduction",
        "sum over it, sum[k](...), or put it on the left side",
    ),
    "unbound softmax index": (
        "y[i] = softmax[k](x[i, k])",
        (12, 10),
        "the index 'k' is not bound: it stands neither on the left side nor under a reduction",
        "sum over it, sum[k](...), or put it on the left side",
    ),
    "too few indices": ("y[i] = x[i]", (12, 10), "'x' has 2 axes, [N, K], but 1 index here", "give it 2 indices"),
    "no indices": ("y[k] = w", (12, 10), "'w' has 1 axis, [K], but no indices here", "give it 1 index"),
    "too many indices": ("L = sum[k](w[k, k])", (12, 14), "'w' has 1 axis, [K], but 2 indices here", "give it 1 index"),
    "indices of a scalar": (
        "L = sum[k](w[k])\ny[k] = L[k]",
        (13, 10),
        "'L' is a scalar, but has 1 index here",
        "write L",
    ),
    "unknown function": (
        "y[k] = sofplus(w[k])",
        (12, 10),
        "unknown function 'sofplus'",
        "did you mean 'softplus'?",
    ),
    "unknown reduction": (
        "y[i] = summ[k](x[i, k])",
        (12, 10),
        "'summ' is not a reduction",
        "did you mean 'sum'?",
    ),
    "reduction without its index": (
        "y[i] = sum(x[i, 0])",
        (12, 10),
        "'sum' needs its indices in brackets",
        "name the index: sum[k](...)",
    ),
    "maximum without its index": (
        "y[i] = max(x[i, 0])",
        (12, 10),
        "'max' takes 2 arguments, not 1",
        "over an index: max[k](...)",
    ),
    "number of arguments": ("y[k] = exp(w[k], 2)", (12, 10), "'exp' takes 1 argument, not 2", None),
    "number of arguments with a default": ("y[k] = elu()", (12, 10), "'elu' takes 1 or 2 arguments, not 0", None),
    "access out of range": (
        "y[i] = x[i, 0] + x[i + 1, 0]",
        (12, 22),
        "the index 'i + 1' can leave the range 0..N - 1 of 'x', i in 0..N - 1: it reaches 3 where N = 3",
        "write pad(x[i + 1, 0]) to read 0 there, or give i a smaller range under `indices`",
    ),
    "access out of range under where": (
        "y[k] = w[k] + where(k > 0, w[k - 1], 0)",
        (12, 32),
        "the index 'k - 1' can leave the range 0..K - 1 of 'w', k in 0..K - 1: it reaches -1 where K = 4",
        "write pad(w[k - 1]) to read 0 there, or give k a smaller range under `indices`",
    ),
    "entry that is not always there": (
        "L = w[1]",
        (12, 9),
        "the index '1' can leave the range 0..K - 1 of 'w': it reaches 1 where K = 1",
        "write pad(w[1]) to read 0 there",
    ),
    "gather out of range": (
        "y[i] = x[t[i], 0] + x[i, 0]",
        (12, 12),
        "the index 't[i]' can leave the range 0..N - 1 of 'x', i in 0..N - 1: it reaches 3 where N = 3",
        "write pad(x[t[i], 0]) to read 0 there, or give i a smaller range under `indices`",
    ),
    "range not inferable": (
        "y[h] = w[s*h]",
        (12, 5),
        "the range of the index 'h' cannot be inferred: it stands alone in no index position here",
        "declare it: `indices: {h: K}`",
    ),
    "defined twice": (
        "y[k] = w[k]\ny[k] = w[k]",
        (13, 3),
        "a tensor 'y' is defined twice; first in line 12",
        "rename one",
    ),
    "input defined again": ("w = 1", (12, 3), "a tensor 'w' is defined twice; first in line 6", "rename one"),
    "used before its definition": (
        "y[k] = u[k]\nu[k] = w[k]",
        (12, 10),
        "'u' is used before it is defined, in line 13",
        "move its equation up",
    ),
    "used in its own definition": (
        "y[k] = y[k - 1] + w[k]",
        (12, 10),
        "'y' is defined by itself",
        "a recurrence is written out step by step, h1, h2, ...; a running sum is sum[k : k <= i](...)",
    ),
    "a circle": (
        "y[k] = u[k]\nq[k] = y[k] + 1\nu[k] = log(q[k])",
        (12, 10),
        "tensors that are defined by each other: y -> u -> q -> y",
        "an equation reads what stands above it; solve[i, j](A[i, j], b[i]) solves linear equations",
    ),
    "unknown tensor": ("y[i] = X[i, 0]", (12, 10), "unknown tensor 'X'", "did you mean 'x'?"),
    "unknown name": (
        "y[k] = w[k] + lam",
        (12, 17),
        "unknown name 'lam'",
        "define it above, or add it to the inputs or constants",
    ),
    "a size as a tensor": ("y[k] = w[k] + K[k]", (12, 17), "'K' is a size, not a tensor", None),
    "an index bound twice": (
        "y[k] = sum[k](w[k])",
        (12, 10),
        "the index 'k' is already in use here, so 'sum[k]' cannot bind it again",
        "give it another letter",
    ),
    "an index bound inside itself": (
        "L = sum[k](w[k] * sum[k](w[k]))",
        (12, 21),
        "the index 'k' is already in use here, so 'sum[k]' cannot bind it again",
        "give it another letter",
    ),
    "free index twice": (
        "y[k, k] = w[k]",
        (12, 8),
        "the index 'k' stands twice on the left side",
        "use two letters, and where(i == j, ...) for a diagonal",
    ),
    "number on the left": ("y[0] = w[0]", (12, 5), "the left side holds indices, not '0'", None),
    "reserved keyword": (
        "lambda = 1",
        (12, 3),
        "'lambda' cannot stand here",
        "'lambda' is a Python keyword; call it lam",
    ),
    "reserved function": ("exp = 1", (12, 3), "'exp' is the name of a function", "choose another name"),
    "reserved number": ("pi = 1", (12, 3), "'pi' is a number", "choose another name"),
    "index named like a tensor": (
        "y[w] = 1",
        (12, 5),
        "'w' is a tensor (line 6) and cannot be an index too",
        "tensors, constants, sizes and indices share one namespace; rename one",
    ),
    "tensor named like a gradient": (
        "dw[k] = w[k]",
        (12, 3),
        "a tensor cannot be called 'dw': that is the gradient of 'w'",
        "rename 'dw' or 'w'",
    ),
    "gradient that is a keyword": (
        "el[k] = w[k]",
        (12, 3),
        "the gradient of 'el' would be called 'del', which is a Python keyword",
        "rename 'el'",
    ),
    "fraction in a position": (
        "y[k] = w[k / 2]",
        (12, 12),
        "an index position holds an integer expression, not 'k / 2'",
        "write // for a quotient",
    ),
    "real tensor in a position": (
        "y[k] = w[v[0]] + w[k]",
        (12, 12),
        "an index position holds an integer expression, not 'v[0]'",
        "where 'v' holds integers, say so: `v: {shape: ..., index: C}`",
    ),
    "constant that is no integer in a position": (
        "y[k] = w[k] + w[eps]",
        (12, 19),
        "an index position holds an integer expression, not 'eps'",
        None,
    ),
    "pad of more than an access": (
        "y[k] = pad(w[k] + 1)",
        (12, 14),
        "'pad' holds exactly one access",
        "write pad(x[i - 1]) + ..., not pad(x[i - 1] + ...)",
    ),
    "array form": (
        "y = w @ x",
        (12, 7),
        "'w @ x' is array form, which cannot stand here",
        "equations name every entry: y[i, j] = sum[k](x[i, k] * W[j, k])",
    ),
    "method": ("y = w.sum()", (12, 7), "'w.sum()' is array form, which cannot stand here", None),
    "number as a condition": (
        "y[k] = where(w[k], 1, 0)",
        (12, 16),
        "'w[k]' is a number, not a condition",
        "compare it with something, as in w[k] != 0",
    ),
    "remainder of a real number": (
        "y[k] = w[k] % 2",
        (12, 10),
        "'%' is for integers, and 'w[k]' is not one",
        "write floor(a / b) for real numbers",
    ),
    "matrix that is not square": (
        "L = det[i, k](x[i, k])",
        (12, 7),
        "'det' takes a square matrix, but i runs over N and k over K",
        None,
    ),
    "system without a right side": (
        "y[k] = solve[i, k](x[i, k])",
        (12, 29),
        "expected ',' and the right side in solve[...](...), not ')'",
        None,
    ),
    "right side that names the solution": (
        "y[k] = solve[i, k](x[i, k], x[i, k])",
        (12, 31),
        "the right side of 'solve[i, k]' names 'k', the index of the solution",
        "name its entries by 'i', as in b[i]",
    ),
    "two indices of argmax": ("L = argmax[i, k](x[i, k])", (12, 7), "'argmax' takes 1 index, not 2", None),
    "index named twice by a reduction": ("L = sum[k, k](w[k])", (12, 7), "'sum' names the index 'k' twice", None),
    "batch index that is not first": (
        "y[k, ...] = z[..., k]",
        (12, 8),
        "'...' must stand first",
        "as in y[..., j]",
    ),
    "batch index of a tensor without": ("y[..., k] = w[..., k]", (12, 17), "'w' has no batch axes", "remove the '...'"),
    "batch index forgotten": (
        "y[k] = z[k]",
        (12, 10),
        "'z' has batch axes: '...' must stand first",
        None,
    ),
    "batch index unbound": (
        "y[k] = z[..., k]",
        (12, 12),
        "the index '...' is not bound: it stands neither on the left side nor under a reduction",
        "sum over it, sum[...](...), or put it on the left side",
    ),
    "two definitions in one line": ("y[k] = w[k] = 1", (12, 17), "an equation has one '='", None),
    "no definition": (
        "y[k] == w[k]",
        (12, 3),
        "this line has no '='",
        "a definition is written with one =",
    ),
    "bracket left open": (
        "y[k] = (w[k]\nu[k] = y[k]",
        (12, 10),
        "this '(' is never closed",
        "add the missing ')'; a line continues while a bracket is open",
    ),
    "nested too deeply": (
        "L = " + "(" * 10_000 + "1" + ")" * 10_000,
        (12, 117),
        "nested more than 110 deep",
        "split it over several equations",
    ),
}


@pytest.mark.parametrize(("forward", "where", "message", "hint"), FORWARD.values(), ids=FORWARD.keys())
def test_equations(forward, where, message, hint):
    found = error(HEAD + "".join(f"  {line}\n" for line in forward.split("\n")))
    assert isinstance(found, SpecError)
    assert found.message == message
    assert place(found) == where
    if hint is not None:
        assert found.hint == hint


OK = "name: t\nsizes: {N: 3}\ninputs: {x: [N], t: {shape: [N], index: N}}\nforward: |\n  y[i] = x[i]\n"
PLAIN = "name: t\ninputs: {x: [3]}\nforward: L = x[0]\n"

FILES = {
    "unknown key": (
        OK + "refrence: |\n  y = x\n",
        (6, 1),
        "unknown key 'refrence' in the spec",
        "did you mean 'reference'?",
    ),
    "unknown key of an input": (
        "name: t\ninputs: {x: {shpe: [3]}}\nforward: L = 1\n",
        (2, 14),
        "unknown key 'shpe' in the input 'x'",
        "did you mean 'shape'?",
    ),
    "a tab": (
        "name: t\ninputs:\n\tx: [3]\nforward: L = 1\n",
        (3, 1),
        "a tab in the indentation",
        "YAML indents with spaces only",
    ),
    "a tab below a value": (
        "name: t\n\tinputs: {x: [3]}\n",
        (2, 1),
        "a tab in the indentation",
        "YAML indents with spaces only",
    ),
    "a tab in front of an equation": (
        OK + "\tu[i] = y[i]\n",
        (6, 1),
        "a tab in the indentation",
        "YAML indents with spaces only",
    ),
    "a tab behind a colon": (
        "name: t\nsizes:\t{N: 3}\n",
        (2, 7),
        "a tab, where YAML wants spaces",
        "write spaces instead",
    ),
    "duplicate key": (
        OK + "forward: y = 1\n",
        (6, 1),
        "'forward' is given twice; first in line 4",
        "remove or rename one of them",
    ),
    "duplicate input": (
        "name: t\ninputs: {x: [3], x: [4]}\nforward: L = 1\n",
        (2, 18),
        "'x' is given twice; first in line 2",
        "remove or rename one of them",
    ),
    "duplicate name": (
        "name: t\nsizes: {x: 3}\ninputs: {x: [3]}\nforward: L = 1\n",
        (3, 10),
        "'x' is a size (line 2) and cannot be a tensor too",
        "tensors, constants, sizes and indices share one namespace; rename one",
    ),
    "alias bomb": (
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
        (1, 4),
        "YAML anchors are not allowed in a spec",
        "write the value out",
    ),
    "alias": ("a: *b\n", (1, 4), "YAML aliases are not allowed in a spec", "write the value out"),
    "tag": (
        "name: !!python/object/apply:os.system [ls]\n",
        (1, 7),
        "YAML tags are not allowed in a spec",
        "remove the tag; every value is read as it is written",
    ),
    "list": ("[1, 2]\n", (1, 1), "a spec is a mapping of keys to values", "start with `name: ...`"),
    "two documents": (
        PLAIN + "---\nname: u\n",
        (4, 1),
        "a second YAML document",
        "one file describes one op; remove the ---",
    ),
    "missing key": (
        "name: t\ninputs: {x: [3]}\n",
        (1, 1),
        "the key 'forward' is missing",
        "write `forward: |` and the equations below it, indented",
    ),
    "empty forward": ("name: t\ninputs: {x: [3]}\nforward:\n", (3, 9), "'forward' is empty", None),
    "forward without equations": (
        "name: t\ninputs: {x: [3]}\nforward: |\n  # later\n",
        (3, 10),
        "there are no equations",
        "write `forward: |` and the equations below it, indented",
    ),
    "folded forward": (
        "name: t\ninputs: {x: [3]}\nforward: >\n  a = 1\n  b = 2\n",
        (3, 10),
        "YAML joins the lines of forward into one",
        "write `forward: |` and the lines below it, indented",
    ),
    "forward without a bar": (
        "name: t\ninputs: {x: [3]}\nforward:\n  a = x[0]\n  b = x[1]\n",
        (4, 3),
        "YAML joins the lines of forward into one",
        "write `forward: |` and the lines below it, indented",
    ),
    "size zero": (
        OK.replace("N: 3", "N: 0"),
        (2, 12),
        "the size 'N' must be a positive integer, not 0",
        "a size is 1 or more",
    ),
    "size negative": (
        OK.replace("N: 3", "N: -3"),
        (2, 12),
        "the size 'N' must be a positive integer, not -3",
        "a size is 1 or more",
    ),
    "size fractional": (
        OK.replace("N: 3", "N: 2.5"),
        (2, 12),
        "the size 'N' must be a positive integer, not 2.5",
        "a size is 1 or more",
    ),
    "axis of zero": ("name: t\ninputs: {x: [0]}\nforward: L = 1\n", (2, 14), "an axis of 'x' has 0 entries", None),
    "axis that comes out as zero": (
        "name: t\nsizes: {N: 3}\ninputs: {x: [N - 3]}\nforward: L = 1\n",
        (3, 10),
        "an axis of 'x' has N - 3 = 0 entries at N = 3; at least 1 is needed",
        "see the sizes of line 2",
    ),
    "range that comes out as negative": (
        "name: t\nsizes: {N: 3, R: 9}\ninputs: {x: [N], w: [R]}\nindices: {h: N - R + 1}\n"
        "forward: y[h] = sum[r](x[h + r] * w[r])\n",
        (5, 10),
        "the index 'h' has N - R + 1 = -5 entries at N = 3, R = 9; at least 1 is needed",
        "see the sizes of line 2",
    ),
    "case of zero": (
        OK + "cases: [{N: 0}]\n",
        (6, 13),
        "the size 'N' must be a positive integer, not 0",
        "a size is 1 or more",
    ),
    "case of an unknown size": (OK + "cases: [{Q: 1}]\n", (6, 10), "unknown size 'Q' in a case", "the sizes are N"),
    "unknown size": (
        "name: t\nsizes: {N: 3}\ninputs: {x: [N, M]}\nforward: L = 1\n",
        (3, 17),
        "unknown size 'M'",
        "add it to `sizes`, as in `sizes: {M: 4}`",
    ),
    "size that the inputs do not determine": (
        "name: t\nsizes: {N: 3, M: 2}\ninputs: {x: [N]}\nforward: L = M * x[0]\n",
        (2, 15),
        "the size 'M' cannot be found from the shapes of the inputs",
        "make it an axis of an input, or an integer constant",
    ),
    "half of a size": (
        "name: t\nsizes: {N: 4}\ninputs: {x: [N // 2]}\nforward: L = x[0]\n",
        (2, 9),
        "the size 'N' cannot be found from the shapes of the inputs",
        "make it an axis of an input, or an integer constant",
    ),
    "quotient as a size": (
        "name: t\nsizes: {N: 4}\ninputs: {x: [N, N / 2]}\nforward: L = 1\n",
        (3, 17),
        "'/' cannot stand in a size expression",
        "write // for a quotient that is rounded down",
    ),
    "shape that is no list": (
        "name: t\ninputs: {x: 3}\nforward: L = 1\n",
        (2, 13),
        "the shape of 'x' must be a list, not a single value",
        "a shape is a list of sizes, such as [N, K]; [] is a scalar",
    ),
    "reserved input": (
        "name: t\ninputs: {lambda: [3]}\nforward: L = 1\n",
        (2, 10),
        "'lambda' is a Python keyword",
        "choose another name, such as lam",
    ),
    "input named like a function": (
        "name: t\ninputs: {softmax: [3]}\nforward: L = 1\n",
        (2, 10),
        "'softmax' is the name of a function",
        "choose another name",
    ),
    "constant named like a gradient": (
        "name: t\nconstants: {dx: 2}\ninputs: {x: [3]}\nforward: L = x[0] * dx\n",
        (2, 13),
        "a constant cannot be called 'dx': that is the gradient of 'x'",
        "rename 'dx' or 'x'",
    ),
    "tensor whose gradient is named like what accumulates": (
        "name: t\ninputs: {x: [3], y_total: [3]}\noutput: [y, z]\n"
        "forward: |\n  y[n] = exp(x[n])\n  z[n] = y[n] * y_total[n]\n",
        (2, 18),
        "the gradient of 'y_total' would be called 'dy_total', a gradient of 'y'",
        "rename 'y_total' or 'y'",
    ),
    "constant that is no number": (
        "name: t\nconstants: {c: big}\ninputs: {x: [3]}\nforward: L = 1\n",
        (2, 16),
        "the constant 'c' must be a number, not 'big'",
        "a number such as 3, 0.5, 1e-5 or 1/3",
    ),
    "unknown assumption": (
        "name: t\ninputs: {x: {shape: [3], assume: positiv}}\nforward: L = 1\n",
        (2, 34),
        "unknown assumption 'positiv'",
        "did you mean 'positive'?",
    ),
    "assumption that needs a square": (
        "name: t\ninputs: {x: {shape: [3, 2], assume: spd}}\nforward: L = 1\n",
        (2, 37),
        "'spd' needs a square matrix, but 'x' ends in [3, 2]",
        None,
    ),
    "unknown output": (
        OK + "output: z\n",
        (6, 9),
        "'z' in 'output' is not a tensor that `forward` defines",
        "known: y",
    ),
    "unknown wrt": (OK + "wrt: [w]\n", (6, 7), "'w' in 'wrt' is not an input", "known: x, t"),
    "integers in wrt": (
        OK + "wrt: [t]\n",
        (6, 6),
        "'t' holds integers, so it has no gradient",
        "remove it from `wrt`",
    ),
    "bad reference": (OK + "reference: |\n  y = x[\n", (7, 8), "this '[' is never closed", None),
    "claims as a list": (
        OK + "claims: [dx = 1]\n",
        (6, 9),
        "claims must be a block of lines, not a list",
        "write `claims: |` and the lines below it, indented",
    ),
    "value with a colon": (
        "name: t\ntitle: a: b\n",
        (2, 9),
        "not valid YAML: mapping values are not allowed here",
        "a value that holds ': ' stands in quotes, or under '|' on lines of its own",
    ),
    "name that is no name": ("name: 2x\ninputs: {x: [3]}\nforward: L = 1\n", (1, 7), "'2x' is not a name", None),
    "nested YAML": ("a: " + "[" * 10_000 + "]" * 10_000, (1, 12), "YAML nested too deeply for a spec", None),
    "nested size": (
        "name: t\nsizes: {N: " + "(" * 10_000 + "3" + ")" * 10_000 + "}\ninputs: {x: [N]}\nforward: L = 1\n",
        (2, 122),
        "nested more than 110 deep",
        None,
    ),
    "control character": ("name: t\x07\n", (1, 8), "the character U+0007 is not allowed in YAML", "remove it"),
}


@pytest.mark.parametrize(("text", "where", "message", "hint"), FILES.values(), ids=FILES.keys())
def test_files(text, where, message, hint):
    found = error(text)
    assert found.message == message
    assert place(found) == where
    if hint is not None:
        assert found.hint == hint


@pytest.mark.parametrize("text", [OK, PLAIN])
def test_the_specs_that_were_broken_are_sound(text):
    assert front.loads(text).wrt == ("x",)


def test_the_whole_message():
    found = front.loads
    with pytest.raises(SpecError) as caught:
        found(HEAD + "  y[k] = sofplus(w[k])\n", path="ops/t.yaml")
    assert str(caught.value) == (
        "ops/t.yaml:12:10: unknown function 'sofplus'\n"
        "      y[k] = sofplus(w[k])\n"
        "             ^^^^^^^^^^^^^\n"
        "    did you mean 'softplus'?"
    )


def test_no_control_character_reaches_a_terminal():
    for text in (
        'name: t\n"\\e[31mred": 1\n',
        "name: \x1b[31m\n",
        'name: "\\e]0;x\\a"\ninputs: {x: [3]}\nforward: L = 1\n',
    ):
        assert all(c.isprintable() or c == "\n" for c in str(error(text)))


def test_a_long_line_is_shown_around_the_place():
    found = str(error("name: t\ninputs: {x: [3]}\nforward: L = " + "x[0] + " * 60 + "q[0] + " + "x[0] + " * 60 + "1\n"))
    _, line, caret, _ = found.split("\n")
    assert len(line) < 170
    assert line[caret.index("^") :].startswith("q[0]")


def test_a_giant_key_does_not_flood():
    assert len(str(error("k" * 100_000 + ": 1\n"))) < 3_000


def _write(path, data):
    path.write_bytes(data)
    return path


BYTES = {
    "empty": (b"", "the file is empty", "`symderive new NAME` writes a spec to start from"),
    "only comments": (b"# later\n\n", "the file is empty", "`symderive new NAME` writes a spec to start from"),
    "binary": (b"\x89PNG\r\n\x00\x01", "this is a binary file, not a spec", "a spec is a YAML text in UTF-8"),
    "another encoding": (b"name: t\ntitle: \xe9t\xe9\n", "byte 16 is not UTF-8 text", None),
    "ten megabytes": (
        b"# a comment\n" * 833_334,
        "a file of 10,000,008 bytes is too large for a spec; at most 500,000",
        None,
    ),
}


@pytest.mark.parametrize(("data", "message", "hint"), BYTES.values(), ids=BYTES.keys())
def test_bytes(tmp_path, data, message, hint):
    path = _write(tmp_path / "t.yaml", data)
    start = time.process_time()
    with pytest.raises(SpecError) as caught:
        front.load(path)
    assert time.process_time() - start < 2
    assert caught.value.message == message
    assert str(caught.value).startswith(f"{path}: ")
    if hint is not None:
        assert caught.value.hint == hint


def test_name_and_file_must_agree(tmp_path):
    with pytest.raises(SpecError, match="the name 't' is not that of the file, 'u'"):
        front.load(_write(tmp_path / "u.yaml", OK.encode()))
    assert front.load(_write(tmp_path / "t.yaml", OK.encode())).name == "t"


def test_missing_file_suggests_a_neighbour(tmp_path):
    _write(tmp_path / "linear.yaml", OK.encode())
    with pytest.raises(SpecError, match="there is no such file") as caught:
        front.load(tmp_path / "liner.yaml")
    assert caught.value.hint == f"did you mean '{tmp_path / 'linear.yaml'}'?"


def test_what_is_not_a_file(tmp_path):
    with pytest.raises(SpecError, match="this is a folder"):
        front.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SpecError, match="this is not a regular file"):
        front.load(tmp_path / "pipe")
