"""The letters that formulas print, where the author has declared some."""

from __future__ import annotations

import string

import pytest

from symderive import derive
from symderive import spec as specs
from symderive.algebra.derive import spec_letters, swept
from symderive.claims import judge_text
from symderive.claims.derived import Derived
from symderive.spec import model
from symderive.spec.format import to_text
from symderive.spec.sizes import size

CALLING = """
name: calling
sizes: {{N: 3, J: 4, M: 5, K: 2}}
use: [{use}]
indices: {{{indices}}}
inputs: {{x: [M, J], w: [N, J], b: [N], z: [K]}}
forward: |
  y[{left}] = {call}[{left}]
"""


def calling(indices: str, left: str = "m, n", use: str = "linear", call: str = "linear(x, w, b)") -> model.Spec:
    return specs.loads(CALLING.format(indices=indices, left=left, use=use, call=call))


@pytest.mark.parametrize("indices", ["k: K", "i: K, j: K, k: K", "k: J, i: M", "k: N, j: M"])
def test_a_called_rule_keeps_off_letters_that_are_declared_for_another_size(indices: str) -> None:
    spec = calling(indices)
    for equation in (*spec.equations, *(e for c in spec.calls for e in c.equations)):
        for letter, extent in equation.ranges.items():
            assert spec.indices.get(letter, extent) == extent
    for statement in Derived(spec).statements.values():
        (result,) = judge_text(spec, to_text(statement))
        assert result.verdict == "right", to_text(statement)


def test_a_letter_that_is_declared_for_the_size_of_the_axis_is_kept() -> None:
    assert to_text(Derived(calling("k: J")).statements["dx"]) == "dx[m, k] = sum[n](dy[m, n] * w[n, k])"
    assert to_text(Derived(calling("k: K")).statements["dx"]) == "dx[m, i] = sum[n](dy[m, n] * w[n, i])"


def test_a_declared_letter_is_not_even_the_last_resort() -> None:
    declared = ", ".join(f"{c}: K" for c in string.ascii_lowercase if c not in "mnxywbz")
    spec = calling(declared)
    letters = spec_letters(spec, swept(spec)[0].forward)
    used = {c: size("M") for c in "mn"}
    assert letters.choose(size("M"), used) not in {*spec.indices, *used}
    assert derive(spec) is not None
