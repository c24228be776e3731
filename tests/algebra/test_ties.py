"""What is compared with its own maximum is computed once, so that an entry that attains it is always found."""

from __future__ import annotations

import numpy as np
import pytest

from symderive.algebra.derive import derive
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
