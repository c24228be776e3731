"""The parts of the lowering by themselves: what is known of integers, the order of products, stable forms."""

from __future__ import annotations

from itertools import pairwise

import pytest
from sympy import Max, Rational, S, erf, exp, floor, log, oo

from symderive.algebra.nodes import Access, Apply, ArgMax, FloorDiv, Index, Mod
from symderive.errors import UnsupportedError
from symderive.lower.axes import Labelled, joint_axes
from symderive.lower.context import Lowering, lower_node
from symderive.lower.graph import Graph
from symderive.lower.integers import affine, at_least, extremes, in_range, positive_part, radix
from symderive.lower.order import pair_order
from symderive.lower.product import may_be_infinite
from symderive.lower.stable import stable
from symderive.spec.sizes import BATCH_SIZE, size

N, K, T = size("N"), size("K"), size("T")
i, j, k = Index("i", N), Index("j", K), Index("k", K)
x = Access("x", i)


def test_affine_form_with_its_range():
    form = affine(2 * i - j + 3)
    assert dict(form.terms) == {i: 2, j: -1}
    assert form.constant == 3
    assert form.least == 4 - K
    assert form.greatest == 2 * N + 1


@pytest.mark.parametrize("place", [i * j, FloorDiv(i, S(2)), Mod(i, S(2)), Access("t", i), i**2])
def test_what_is_not_affine(place):
    assert affine(place) is None


@pytest.mark.parametrize(
    ("a", "b", "known"),
    [
        (N, 1, True),
        (N, 2, False),
        (2 * N, N, True),
        (N * K, K, True),
        (N, K, False),
        (T, 2 * floor((T - 3) / 2) + 2, True),
        (T - 1, 2 * floor((T - 3) / 2) + 2, True),
        (T - 2, 2 * floor((T - 3) / 2) + 2, False),
        (2 * floor(T / 2) + 1, T, True),
        (2 * floor(T / 2), T, False),
    ],
)
def test_order_of_sizes(a, b, known):
    assert at_least(S(a), S(b)) is known


def test_positive_part_has_no_maximum_where_the_sign_is_known():
    assert positive_part(N - 1) == N - 1
    assert positive_part(-N) == 0
    assert positive_part(N - K).has(Max)


@pytest.mark.parametrize(
    ("place", "extent", "inside"),
    [
        (i, N, True),
        (i + 1, N, False),
        (N - 1 - i, N, True),
        (Mod(i + 5, K), K, True),
        (FloorDiv(Index("e", N * 2), S(2)), N, True),
        (Access("t", i), K, True),
        (2 * Access("t", i) + 1, 2 * K, True),
        (2 * Access("t", i) + 1, 2 * K - 1, False),
        (Access("u", i), K, False),
        (2 * i + ArgMax.over(Access("x", j), [j]), 2 * N + K, True),
    ],
)
def test_whether_a_place_is_in_range(place, extent, inside):
    assert in_range(place, extent, {"t": K}) is inside


def test_bounds_of_an_unknown_tensor_are_unknown():
    assert extremes(Access("u", i), {}) is None


def test_digits_of_a_mixed_radix():
    a, b, c = Index("a", S(2)), Index("b", S(3)), Index("c", S(4))
    assert radix(affine(12 * a + 4 * b + c)) == [a, b, c]
    assert radix(affine(12 * a + 3 * b + c)) is None


def test_the_cheapest_order_of_a_chain():
    extents = {"a": 100, "b": 2, "c": 100, "d": 2}
    a, b, c, d = (Index(n, S(e)) for n, e in extents.items())
    factors = [frozenset((a, b)), frozenset((b, c)), frozenset((c, d))]
    assert pair_order(factors, frozenset((a, d)), lambda index: float(index.extent)) == [(1, 2), (0, 3)]


def test_many_factors_are_paired_greedily_to_one():
    line = [Index(f"i{n}", S(2)) for n in range(12)]
    factors = [frozenset(pair) for pair in pairwise(line)]
    pairs = pair_order(factors, frozenset((line[0], line[-1])), lambda _: 2.0)
    assert len(pairs) == len(factors) - 1
    assert sorted(p for pair in pairs for p in pair) == list(range(2 * len(factors) - 2))


@pytest.mark.parametrize(
    ("plain", "wanted"),
    [
        (log(1 + exp(x)), Apply("softplus", x)),
        (log(1 + x), Apply("log1p", x)),
        (log(Apply("sigmoid", x)), Apply("logsigmoid", x)),
        (exp(x) - 1, Apply("expm1", x)),
        (3 * exp(x) - 3 + x, 3 * Apply("expm1", x) + x),
        (1 - erf(x), Apply("erfc", x)),
        (erf(x) / 2 + Rational(1, 2), Apply("erfc", -x) / 2),
        (1 - Apply("sigmoid", x), Apply("sigmoid", -x)),
        (exp(x) + 1, exp(x) + 1),
        (2 - erf(x), 2 - erf(x)),
    ],
)
def test_kernels_that_neither_cancel_nor_overflow(plain, wanted):
    assert stable(plain) == wanted


@pytest.mark.parametrize(
    ("e", "risky"),
    [(1 / x, True), (1 / (1 + x**2), False), (log(x), True), (log(1 + x**2), False), (exp(x), True), (x**2 + x, False)],
)
def test_what_may_be_infinite(e, risky):
    assert may_be_infinite(e) is risky


def test_axes_follow_the_hint_where_it_has_them_all():
    assert joint_axes([(j, i), (i,)], (i, j)) == (i, j)
    assert joint_axes([(j, i), (i,)], ()) == (j, i)
    assert joint_axes([(i,), (j,)], (j,)) == (j, i)


def test_two_batches_at_once_are_refused():
    batch = Index("...", BATCH_SIZE)
    with pytest.raises(UnsupportedError, match="pairs batch axes"):
        joint_axes([(batch,), (batch.fresh(),)], ())


def test_equal_operations_are_one_object():
    graph = Graph()
    one = graph.map("exp", graph.arange(N))
    assert graph.map("exp", graph.arange(N)) is one
    assert graph.permute(graph.permute(graph.full((N, K), 0), (-1, -2)), (-1, -2)) is graph.full((N, K), 0)


def test_a_node_without_an_operation_says_what_to_add():
    with pytest.raises(UnsupportedError, match="no array operation for") as error:
        lower_node.dispatch(object)(oo, Lowering({}))
    assert "lower_node" in error.value.hint


def test_an_array_has_one_label_an_axis():
    value = Labelled(Graph().full((N, K), 0), (i, j))
    assert (value.position(i), value.position(j)) == (-2, -1)


def test_sizes_that_agree_only_where_one_is_larger_are_not_the_same():
    from sympy import Max

    from symderive.lower.shapes import same_size

    a, b = size("A"), size("B")
    assert not same_size(Max(0, a - b - 3) + b + 3, a)
    assert not same_size(Max(0, b - a - 3) + a + 3, b)
    assert same_size(Max(a, b), Max(b, a))
    assert not same_size(Max(0, b - 2) + a + 1, a + b - 1)
    assert same_size(Max(0, b - 1) + a, a + b - 1)
