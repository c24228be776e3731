"""Numbers that have no value, or one too large to work with, are errors that name their place."""

from __future__ import annotations

import pytest

from symderive.algebra.derive import derive
from symderive.errors import SpecError
from symderive.spec import loads

HEAD = "name: op\nsizes: {N: 3}\ninputs: {x: [N]}\nindices: {i: N}\nforward: |\n  y[i] = "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x[i] / 0", "a division by zero"),
        ("x[i] + 0 / (2 - 2)", "a division by zero"),
        ("x[i] ** (1 / (2 - 2))", "a division by zero"),
        ("x[i] * (1 - 1)**(-1)", "a division by zero"),
        ("x[i] / (N - N)", "a division by zero"),
        ("x[i] * 0 / (i - i)", "a division by zero"),
        ("x[i] * 9**9**9**9", "too large"),
        ("x[i] ** (10**(10**8))", "too large"),
        ("x[i] * round(10**4000)", "too large"),
        ("x[i] * log(0)", "no real value"),
        ("x[i] * log(-1)", "no real value"),
        ("x[i] * sqrt(-1)", "no real value"),
        ("x[i] + tan(pi / 2)", "no real value"),
        ("x[i] * (inf - inf)", "no real value"),
    ],
)
def test_a_number_without_a_value_is_an_error_with_its_place(text, message):
    with pytest.raises(SpecError, match=message) as caught:
        derive(loads(f"{HEAD}{text}\n"))
    assert caught.value.location.span.line == 6


@pytest.mark.parametrize(
    "text", ["x[i] ** 100000", "x[i] * 2**(-30)", "x[i] * (1/3)**(1/2)", "where(x[i] > 0, x[i], -inf)"]
)
def test_other_numbers_are_none(text):
    assert derive(loads(f"{HEAD}{text}\n")).backward.outputs
