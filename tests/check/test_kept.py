"""Values that are kept while changes of an expression are evaluated: each part of it is computed once."""

from __future__ import annotations

import numpy as np
import pytest

from symderive import spec as specs
from symderive.check.floats import FLOAT
from symderive.check.kept import keeping
from symderive.claims.court import Court
from symderive.spec.claims import parse_lines

SPEC = specs.loads(
    "name: op\nsizes: {N: 3, K: 2}\ninputs: {x: [N, K], w: [K]}\nforward: |\n  y[n, k] = x[n, k] * w[k]\n"
)


def side(text):
    (statement,), bad = parse_lines(text)
    assert not bad
    return statement.right


def bench():
    court = Court(SPEC, [], "")
    return court.new_bench(court.points.main[0], FLOAT)


def at_once(at, node):
    sizes = at.world.sizes
    return at.at_once(node, ("n", "k"), {"n": sizes["N"], "k": sizes["K"]})


@pytest.mark.parametrize(
    ("text", "changed", "value"),
    [
        ("dx = exp(x * w) + dy", "dx = exp(x * w) - dy", lambda at, node: at.plain_array(node)),
        ("dx[n, k] = exp(x[n, k] * w[k]) + dy[n, k]", "dx[n, k] = exp(x[n, k] * w[k]) - dy[n, k]", at_once),
    ],
)
def test_a_change_is_computed_where_it_differs(text, changed, value):
    at, whole, other = bench(), side(text), side(changed)
    other = type(other)(other.op, whole.left, whole.right)
    expected = value(at, whole), value(at, other)
    with keeping(at.interpreter, whole):
        assert np.array_equal(value(at, whole), expected[0])
        before = at.interpreter.kept.computed
        assert np.array_equal(value(at, other), expected[1])
        assert at.interpreter.kept.computed == before + 1
    assert at.interpreter.kept is None
    assert np.any(expected[0] != expected[1])


def test_what_is_kept_is_forgotten_where_a_tensor_is_another():
    at, node = bench(), side("dx = x * w")
    with keeping(at.interpreter, node):
        before = at.plain_array(node)
        at.put("w", 2 * np.asarray(at.tensors["w"]))
        assert np.array_equal(at.plain_array(node), 2 * before)
