"""How far the letters of a claim run: by the axes that they index, else by what stands in their place elsewhere."""

from __future__ import annotations

import pytest

from symderive import spec as specs
from symderive.claims import judge_text
from symderive.claims.alike import Alike
from symderive.claims.derived import Derived
from symderive.spec import model
from symderive.spec.format import to_text
from symderive.spec.parse import parse_expression

WINDOW = """
sizes: {N: 4}
indices: {r: 3, i: N}
inputs: {x: [N]}
forward: |
  y[i] = sum[r](pad(x[i + r - 1]))
"""
POOL = """
sizes: {N: 4}
indices: {r: 3, i: N}
inputs: {x: [N]}
forward: |
  y[i] = max[r](pad(x[i + r - 1], -inf))
"""
WINDOWS = """
sizes: {N: 4, M: 7}
indices: {r: 3, q: 2, i: N}
inputs: {x: [M], w: [N]}
forward: |
  a[i] = sum[r](pad(x[i + r])) * w[i]
  b[i] = sum[q](pad(x[i + q]))
  y[i] = a[i] * b[i]
"""


def spec_of(text: str) -> model.Spec:
    return specs.loads(f"name: ranges{text}")


def verdict(text: str, claim: str) -> str:
    (result,) = judge_text(spec_of(text), claim)
    return str(result.verdict)


@pytest.mark.parametrize("position", ["i + a - 1", "a + i - 1", "a - 1 + i", "-1 + a + i"])
def test_a_letter_runs_as_the_one_in_its_place_in_whatever_order_the_terms_stand(position: str) -> None:
    assert verdict(WINDOW, f"y[i] = sum[a](pad(x[{position}]))") == "right"


@pytest.mark.parametrize("position", ["i + a - 1", "a + i - 1"])
def test_a_wrong_sum_over_a_window_is_still_wrong(position: str) -> None:
    assert verdict(WINDOW, f"y[i] = 2 * sum[a](pad(x[{position}]))") == "wrong"


@pytest.mark.parametrize("spec", [WINDOW, POOL], ids=["sum", "max"])
def test_the_printed_gradient_of_a_window_is_right(spec: str) -> None:
    for statement in Derived(spec_of(spec)).statements.values():
        assert verdict(spec, to_text(statement)) == "right", to_text(statement)


@pytest.mark.parametrize("position", ["j + a - 1", "a + j - 1", "-1 + j + a"])
def test_ties_of_a_window_are_counted_over_the_window(position: str) -> None:
    share = f"dy[j] / sum[a](y[j] == pad(x[{position}], -inf))"
    claim = f"dx[i] = sum[j, r : j + r - 1 == i and y[j] == pad(x[j + r - 1], -inf)]({share})"
    assert verdict(POOL, claim) == "right"


def test_a_letter_that_may_stand_for_two_of_different_ranges_has_none() -> None:
    assert verdict(WINDOWS, "y[i] = sum[p](pad(x[i + p])) * w[i] * b[i]") == "invalid"


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("x[a + i - 1]", "x[i + r - 1]", [{"a": "r", "i": "i"}, {"a": "i", "i": "r"}]),
        ("x[a - i]", "x[i - r]", [{"a": "i", "i": "r"}]),
        ("x[i + 2*a]", "x[r*2 + i]", [{"a": "r", "i": "i"}]),
        ("x[i + 2*a]", "x[r*3 + i]", []),
        ("x[a]", "z[a]", []),
        ("x[a, a]", "x[i, r]", []),
        ("x[a, i]", "x[r, r]", []),
        ("i >= a", "r <= i", [{"a": "r", "i": "i"}]),
        ("a < i", "r <= i", []),
        ("a != i", "i != r", [{"a": "r", "i": "i"}, {"a": "i", "i": "r"}]),
        ("sum[a](a <= i)", "sum[r](r <= i)", [{"a": "r", "i": "i"}]),
        ("sum[a](a <= i)", "max[r](r <= i)", []),
        ("sum[a, i](x[a - i])", "sum[i, r](x[r - i])", [{"a": "r", "i": "i"}]),
    ],
)
def test_expressions_that_differ_in_their_letters(one: str, other: str, found: list[dict[str, str]]) -> None:
    alike = Alike(lambda a, b: b in "ir", commuted=True)
    ways = [dict(names) for names in alike.match(parse_expression(one), parse_expression(other), {})]
    assert sorted(ways, key=str) == sorted(found, key=str)


def test_a_letter_of_known_range_stands_for_no_other() -> None:
    alike = Alike(lambda a, b: a != "i" or b == "i", commuted=True)
    ways = list(alike.match(parse_expression("x[a + i]"), parse_expression("x[i + r]"), {}))
    assert ways == [{"a": "r", "i": "i"}]
    in_place = Alike(lambda a, b: a != "i" or b == "i", commuted=False)
    assert not list(in_place.match(parse_expression("x[a + i]"), parse_expression("x[i + r]"), {}))


PRINTED = {
    "running mean": """
sizes: {N: 4}
indices: {i: N}
inputs: {x: [N]}
forward: |
  y[i] = mean[j : j <= i](x[j])
""",
    "mean over two": """
sizes: {N: 4, M: 3}
inputs: {x: [N, M], w: [N]}
forward: |
  y[i] = mean[j, k : j <= i and k <= j](x[j, k]) * w[i]
""",
    "product that does not read its index": """
sizes: {N: 4, M: 3}
inputs: {x: [N], z: [M]}
indices: {j: N}
forward: |
  y[i] = prod[j : j != i](z[i])
""",
    "running product": """
sizes: {N: 4, M: 3}
inputs: {x: [N, M]}
indices: {i: N}
forward: |
  y[i] = prod[j, k : j <= i](x[j, k])
""",
    "maximum that does not read its index": """
sizes: {N: 4, M: 3}
inputs: {x: [N], z: [M]}
indices: {k: M}
forward: |
  y[i] = max[k : k <= i](x[i])
""",
    "determinant": """
sizes: {N: 4, M: 3}
inputs: {x: [M], z: [N]}
indices: {i: M, j: M}
forward: |
  y[n] = det[i, j](delta(i, j) + x[0] * z[n])
""",
}


@pytest.mark.parametrize("spec", PRINTED.values(), ids=PRINTED.keys())
def test_a_printed_gradient_is_right_though_the_forward_lacks_its_letters(spec: str) -> None:
    for statement in Derived(spec_of(spec)).statements.values():
        assert verdict(spec, to_text(statement)) == "right", to_text(statement)


MEAN = "dx[j] = sum[i : j <= i](dy[i] / {})"


@pytest.mark.parametrize(
    "count", ["sum[p](p <= i)", "sum[p](i >= p)", "sum[p : p <= i](1)", "sum[k](k <= i)", "(i + 1)"]
)
def test_a_count_may_be_written_with_any_letter(count: str) -> None:
    assert verdict(PRINTED["running mean"], MEAN.format(count)) == "right"


@pytest.mark.parametrize("count", ["sum[p](p >= i)", "sum[p](1)", "sum[p](p * 2 <= i)"])
def test_a_count_of_something_else_is_not_right(count: str) -> None:
    assert verdict(PRINTED["running mean"], MEAN.format(count)) in ("wrong", "invalid")


def test_a_condition_that_the_forward_and_the_gradient_write_with_different_ranges_tells_nothing() -> None:
    spec = PRINTED["product that does not read its index"]
    assert verdict(spec, "dz[i] = dy[i] * sum[j : i != j](prod[k : j != k](z[i]**2))") == "invalid"
