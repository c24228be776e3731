"""What is kept for the backward, and products that are written out where they are summed."""

from __future__ import annotations

import pytest

import symderive
from symderive.api import loads

SIZES = "sizes: {N: 4, D: 3}\ninputs:\n"


def saved(inputs: str, forward: str) -> tuple[str, ...]:
    """What is saved by a spec of these inputs, each ``[N, D]``."""
    given = "".join(f"  {name}: [N, D]\n" for name in inputs.split())
    equations = "".join(f"  {e}\n" for e in forward.split("; "))
    text = f"name: op\n{SIZES}{given}constants: {{c: 2}}\nforward: |\n{equations}"
    return symderive.derive(loads(text, "op")).saved


@pytest.mark.parametrize(
    ("inputs", "forward", "kept"),
    [
        ("y t", "L = mean[n, d]((y[n, d] - t[n, d])**2)", ("difference",)),
        ("y t", "L = sum[n, d](abs(t[n, d] - 2*y[n, d]))", ("difference",)),
        ("a b", "y[n, d] = where(a[n, d] > 0, b[n, d], 0)", ("mask",)),
        ("x", "y[n, d] = where(x[n, d] <= -c, -c, where(x[n, d] >= c, c, x[n, d]))", ("mask",)),
        (
            "a p q",  # neither difference pays by itself
            "u[n] = sum[d]((a[n, d] - p[n, d])**2); v[n] = sum[d]((a[n, d] - q[n, d])**2); L = sum[n](u[n] * v[n])",
            ("difference", "u", "difference2", "v"),
        ),
    ],
)
def test_a_value_of_the_forward_is_kept_in_place_of_more(inputs, forward, kept):
    assert saved(inputs, forward) == kept


@pytest.mark.parametrize(
    ("inputs", "forward", "kept"),
    [
        ("y t", "L = sum[n, d]((y[n, d] - t[n, d])**2 * t[n, d])", ("y", "t")),
        ("x", "L = sum[n, d]((x[n, d] - c)**2)", ("x",)),
        ("x", "y[n, d] = relu(x[n, d])", ("x",)),
        ("x", "y[n, d] = where(x[n, d] > 0, x[n, d]**2, 0)", ("x",)),
    ],
)
def test_nothing_is_made_to_be_kept_where_it_would_not_take_less(inputs, forward, kept):
    assert saved(inputs, forward) == kept


def test_a_kept_value_is_told():
    derivation = symderive.derive(symderive.load("linear_mse")).core
    (told,) = derivation.introduced
    assert derivation.saved == ("x", "W", "difference")
    assert told.left.tensor == "difference"


def test_a_scaled_upstream_is_written_out_where_it_is_summed():
    code = symderive.derive(symderive.load("layer_norm")).torch
    assert "dxhat" not in code
    assert "@ gamma" in code


def test_a_scaled_upstream_that_several_read_keeps_its_name():
    assert "dy = difference * dL" in symderive.derive(symderive.load("linear_mse")).torch
