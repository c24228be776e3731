"""The commented spec that ``symderive new`` writes."""

from __future__ import annotations

from symderive.errors import SpecError
from symderive.spec.names import FUNCTION_NAMES, name_fault

_TEMPLATE = """\
# The op {name}. `symderive derive {name}.yaml` derives its gradients, `symderive check {name}.yaml` checks them.
name: {name}
title: What it computes, in a few words
# group: Layers                      # the heading under which a list of specs puts it
source: where the formula is taken from

# The sizes of your real problem. Checks add sizes of their own.
sizes: {{N: 4, K: 8, J: 16}}

# constants: {{eps: 1e-5}}             # exact numbers, used by name

inputs:
  x: [N, K]                          # a shape is a list of sizes; [] is a scalar
  W: [J, K]
  b: [J]
  t: {{shape: [N, J], grad: false}}    # also: index: C, bool: true, range: [0, 1], assume: positive

# use: [linear]                      # other specs to call: y[n, j] = linear(x, W, b)[n, j]

# One equation a line. Indices on the left are free; every other one is bound by a reduction:
# sum[k](...), mean, prod, max, min, logsumexp, ... ; softmax[j](...) keeps its index.
forward: |
  y[n, j] = sum[k](x[n, k] * W[j, k]) + b[j]
  L = sum[n, j]((y[n, j] - t[n, j])**2) / 2

# wrt: [x, W, b]                     # the default: every real input without grad: false

# The same op in PyTorch, as F.name(...) and tensor methods.
reference: |
  y = F.linear(x, W, b)
  L = 0.5 * ((y - t)**2).sum()

# Gradients that you derived by hand, in index form or array form, to be judged.
claims: |
  dy = y - t
  dW = dy.T @ x
  db[j] = sum[n](dy[n, j])

# cases: [{{N: 3, K: 5, J: 7}}]        # more sizes to check
"""


def template(name: str) -> str:
    """A spec called ``name`` to start from: it can be derived and checked as it is."""
    fault = name_fault(name)
    if fault and name not in FUNCTION_NAMES:
        raise SpecError(fault[0], hint=fault[1])
    return _TEMPLATE.format(name=name)
