"""What is compared with its own maximum is computed once, so that an entry that attains it is always found."""

from __future__ import annotations

import numpy as np
import pytest

from symderive.algebra.derive import derive
from symderive.algebra.nodes import Access, Eq, Max, Min
from symderive.check.tangent import true_gradients
from symderive.spec import loads
from tests.algebra.test_textbook import index_forms
from tests.algebra.values import gradients

HEAD = "name: op\nsizes: {N: 3, K: 5}\n"
PRODUCT = f"{HEAD}inputs: {{x: [N, K], v: [N], w: [K]}}\nforward: |\n  y[n] = max[k](v[n] * x[n, k] * w[k])\n"


def test_what_is_rounded_twice_gets_a_name():
    assert index_forms(PRODUCT)[:3] == [
        "entries[n, k] = v[n] * x[n, k] * w[k]",
        "largest[n] = max[k](entries[n, k])",
        "dx[n, k] = where(largest[n] == entries[n, k], dy[n] * v[n] * w[k] / sum[i](largest[n] == entries[n, i]), 0)",
    ]


@pytest.mark.parametrize("body", ["x[n, k]", "abs(x[n, k])", "x[n, k] * w[k]", "x[n, k] - v[n]"])
def test_what_is_rounded_once_is_compared_as_it_is(body):
    forms = index_forms(f"{HEAD}inputs: {{x: [N, K], v: [N], w: [K]}}\nforward: |\n  y[n] = min[k]({body})\n")
    assert not any("entries" in form for form in forms)
    assert any("== y[n]" in form or "y[n] ==" in form for form in forms)


def test_a_condition_stays_with_the_maximum():
    text = f"{HEAD}inputs: {{x: [N, K], v: [N], w: [K]}}\nforward: |\n  y[n] = max[k : k > n](v[n] * x[n, k] * w[k])\n"
    assert index_forms(text)[1] == "largest[n] = max[k : n < k](entries[n, k])"


def test_every_maximum_is_found():
    """In float64 the products come out otherwise in another order, at some of so many points."""
    spec = loads(PRODUCT)
    sizes, rng = {"N": 40, "K": 30}, np.random.default_rng(0)
    point = {"x": rng.normal(size=(40, 30)), "v": rng.normal(size=40), "w": rng.normal(size=30)}
    upstream = {"dy": rng.normal(size=40)}
    found = gradients(derive(spec), point, upstream, sizes)
    for name, true in true_gradients(spec, point, upstream, sizes).items():
        np.testing.assert_allclose(found[name].astype(float), true.astype(float), rtol=1e-12)


@pytest.mark.parametrize(
    "equation",
    [
        "y = max[r](x[r] * a * b[0])",  # the only r is written 0
        "y[i] = max[k](x[N - 1 - k] * a * b[i])",
        "y[i] = max[k](Y[k, k] * a * b[i])",
        "y = min[j : j == 1](x[j] * a * b[0])",
        "y[i] = max[r](pad(x[2 * i + r]) * a * b[i])",
        "y = sum[i](max[k](max[j](x[N - 1 - k] * a * b[j]) * b[i] * a))",
    ],
)
def test_emitted_code_compares_what_the_maximum_was_taken_of(equation):
    """Whatever place is put in for the index of the maximum: never a product that is computed a second time."""
    head = f"{HEAD}inputs: {{x: [N], a: [], b: [N], Y: [N, N]}}\nindices: {{r: 1, i: N, k: N}}\n"
    derivation = derive(loads(f"{head}forward: |\n  {equation}\n"))
    again = {e.tensor for e in derivation.backward.equations} & derivation.forward.shapes.keys()
    own = {e.tensor for e in derivation.backward.equations} - again
    for tie in (t for e in derivation.backward.equations for t in e.right.atoms(Eq)):
        compared = [a.body if isinstance(a, Max | Min) else a for a in tie.args if not a.is_integer]
        assert all(isinstance(a, Access) for a in compared)
        assert all(a.tensor in own or a.tensor in derivation.saved for a in compared)


def test_the_backward_takes_the_maximum_of_those_entries_itself():
    text = f"{HEAD}inputs: {{x: [N], a: []}}\nindices: {{k: N}}\nforward: |\n  y = max[k](x[N - 1 - k] * a * a)\n"
    derivation = derive(loads(text))
    assert "largest" in [e.tensor for e in derivation.backward.equations]
    assert "y" not in derivation.saved
