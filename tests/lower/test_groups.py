"""What is reduced over the entries of a group is computed group by group, never from a mask of pairs of entries."""

from __future__ import annotations

import pytest
from sympy import oo

import symderive
from symderive.algebra.nodes import Access, Eq, Index, LogSumExp, Sum, Where
from symderive.algebra.rules.sums import linearity
from symderive.lower import lower
from symderive.lower import plan as p
from symderive.spec import loads
from symderive.spec.sizes import size

HEAD = """
name: op
sizes: {N: 5, M: 12, H: 3}
inputs:
  s: [M, H]
  b: [N]
  src: {shape: [M], index: N}
  dst: {shape: [M], index: N}
indices: {i: N}
forward: |
"""

FORWARD = {
    "a softmax of the edges at a node": """
  z[i, h] = sum[e : dst[e] == i](exp(s[e, h]))
  y[e, h] = exp(s[e, h]) / z[dst[e], h]
""",
    "one that has no name": "  y[e, h] = b[src[e]] + exp(s[e, h] - logsumexp[f : dst[f] == dst[e]](s[f, h]))",
    "the largest message": "  y[i, h] = max[e : dst[e] == i](b[src[e]] * s[e, h])",
    "the smallest message": "  y[i, h] = b[i] * min[e : dst[e] == i](s[e, h])",
    "a logsumexp with a mask": "  y[i, h] = b[i] * logsumexp[e : dst[e] == i and src[e] != i](s[e, h])",
    "a loss": "  y = sum[e, h](b[dst[e]] * (logsumexp[f : dst[f] == dst[e]](s[f, h]) - s[e, h]))",
    "what is centred in its group": """
  n[i] = sum[e : dst[e] == i](1)
  y[e, h] = b[dst[e]] * (s[e, h] - sum[f : dst[f] == dst[e]](s[f, h]) / n[dst[e]])
""",
}


@pytest.mark.parametrize("name", FORWARD)
def test_no_array_is_as_large_as_the_pairs_of_entries(name):
    derivation = symderive.derive(loads(HEAD + FORWARD[name])).core
    for program in (derivation.forward, derivation.backward):
        for assign in lower(program).assignments:
            for node in p.walk(assign.value):
                assert node.shape.count(size("M")) < 2, assign
                assert not {size("M"), size("N")} <= {*node.shape}, assign


def test_the_gradient_of_a_softmax_in_groups_is_the_textbook_s():
    equations = symderive.derive(loads(HEAD + FORWARD["a softmax of the edges at a node"])).equations()
    assert "ds[e, h] = y[e, h] * (dy[e, h] - sum[j : dst[e] == dst[j]](dy[j, h] * y[j, h]))" in equations


def test_a_mask_of_pairs_is_made_where_no_shape_says_how_many_groups_there_are():
    text = HEAD.replace("  b: [N]\n", "").replace("indices: {i: N}\n", "")
    spec = loads(text + "  y[e, h] = exp(s[e, h] - logsumexp[f : dst[f] == dst[e]](s[f, h]))")
    nodes = [n for a in lower(symderive.derive(spec).core.forward).assignments for n in p.walk(a.value)]
    assert not any(isinstance(n, p.Grouped) for n in nodes)


def test_what_is_infinite_of_an_empty_group_stays_under_its_sum():
    entries, groups = size("M"), size("N")
    e, f, i = Index("e", entries), Index("f", entries), Index("i", groups)
    read = Access("t", e)
    total = LogSumExp.over(Where(Eq(Access("t", f), read), Access("s", f), -oo), [f])
    assert isinstance(linearity(Sum.over(Eq(i, read) * total * Access("w", e), [e])), Sum)
    g = Index("g", entries)
    of_own = linearity(Sum.over(Eq(Access("t", g), read) * total * Access("w", e), [e]))
    assert not isinstance(of_own, Sum)
    assert of_own.atoms(LogSumExp)
