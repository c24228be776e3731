"""What a report says follows from its numbers: other numbers, another sentence."""

from __future__ import annotations

import math
import re

import pytest

from symderive.report.lab.data import Kept, Kernels, Memory, Orders, summaries
from symderive.report.lab.findings import degrading, error_findings, headlines, order_findings
from symderive.report.lab.lessons import graph_findings, memory_findings, node_note, saved_findings
from tests.lab.labs import GRAPH, NODES, lab, row


def said(made, dtype="float32", device="cpu"):
    return " ".join(error_findings(made)[device, dtype])


def test_agreement_to_the_last_bit_is_told_as_that_and_as_no_measure_of_accuracy():
    text = said(lab())
    assert "equals autograd's to the last bit in all 2 runs: the difference is exactly 0" in text
    assert "`aten::mm` and `aten::sum`" in text
    assert "no measure of accuracy" in text
    assert "largest error is 1.0e-06 for `dW`" in text


def test_a_difference_is_told_as_one():
    text = said(lab(row(0, autograd=3e-7), row(1, autograd=5e-7)))
    assert "last bit" not in text
    assert "exactly 0" not in text
    assert "round alike" not in text
    assert "The largest difference from autograd of the same dtype is 5.0e-07 (`dW`)" in text


def test_one_run_that_differs_ends_the_agreement():
    assert "last bit" not in said(lab(row(0), row(1, autograd=1e-9)))


def test_gradients_that_agree_are_named_where_others_do_not():
    text = said(lab(row(gradient="dW"), row(gradient="db", autograd=1e-7)))
    assert "`dW` equals autograd's to the last bit" in text
    assert "1.0e-07 (`db`)" in text
    assert "Every gradient" not in text


def test_kernels_are_named_only_where_both_ran_them():
    text = said(lab(kernels={"float32": Kernels(("embedding_dense_backward",), ("index_add_",))}))
    assert "round alike" not in text
    assert "aten" not in said(lab(kernels={}))


def test_kernels_are_those_of_the_dtype():
    assert "aten" not in said(lab(row(dtype="float16")), "float16")


def test_no_error_against_float64_is_told_and_nothing_concluded_from_errors():
    text = said(lab(row(float64=0.0)))
    assert "no error at any entry" in text
    assert "no measure of accuracy" not in text


def test_float64_is_no_yardstick_for_itself():
    text = said(lab(row(dtype="float64", float64=0.0)), "float64")
    assert "Against float64" not in text
    assert "against float64" not in text


@pytest.mark.parametrize(
    ("errors", "words"),
    [((0.0, 9e-6), "2 of 2 comparisons"), ((2e-5, 0.0), "1 of 2 comparisons"), ((1.0, 1.0), "0 of 2")],
)
def test_close_comparisons_are_counted(errors, words):
    assert words in said(lab(*(row(n, autograd=e) for n, e in enumerate(errors))))


def test_an_error_above_its_bound_is_not_explained_by_rounding():
    text = said(lab(row(float64=1e-3, bound=1e-4)))
    assert "more than the error analysis allows for `dW` (1.0e-03 of 1.0e-04)" in text
    assert "rounding does not explain it" in text
    assert "All of that is rounding" not in text
    assert "more than rounding allows" in headlines(lab(row(float64=1e-3, bound=1e-4)))[0]


def test_the_nearest_bound_is_named():
    assert "nearest to its bound is `db` with 50 %" in said(lab(row(), row(gradient="db", float64=5e-5)))


def test_an_overflow_with_finite_gradients():
    made = lab(*(row(n, dtype="float16", float64=0.5, bound=20.0, overflow=("L",)) for n in range(2)))
    text = said(made, "float16")
    assert "`L` is not finite in 2 of 2 runs" in text
    assert "The gradients are finite all the same (the backward does not read `L`); they are off by up to 0.5" in text
    assert "`L` overflows" in headlines(made)[0]


def test_an_overflow_that_the_backward_reads_is_not_excused():
    made = lab(row(dtype="float16", overflow=("L",)), derived=(Kept("L", "L", (), "float16", 2),))
    assert "does not read" not in said(made, "float16")


def test_an_overflow_of_gradients():
    text = said(lab(row(dtype="float16", float64=math.nan, overflow=("L", "dW"))), "float16")
    assert "finite all the same" not in text
    assert "Of the gradients `dW` in 1 of 1 run has entries that overflow" in text
    assert "came out as inf or NaN" in text


def test_without_an_overflow_none_is_mentioned():
    assert "overflow" not in said(lab(row(dtype="float16")), "float16")
    assert "overflow" not in headlines(lab(row(dtype="float16")))[0]


def test_a_dtype_that_pytorch_lacks():
    text = said(lab(row(dtype="float16", autograd=None)), "float16")
    assert "PyTorch cannot run the reference in float16" in text
    assert "autograd's" not in text


def test_degradation_is_the_measured_factor():
    made = lab(row(float64=1e-6), row(dtype="float16", float64=1e-3))
    assert list(degrading(made)) == [
        "From float32 to float16 the unit roundoff grows 8192 times, and the largest error 1000 times (`dW`)."
    ]
    assert list(degrading(lab(row(float64=0.0), row(dtype="float16")))) == []


def orders(*rows):
    return " ".join(order_findings(lab(orders=rows)))


def test_two_orders_that_agree():
    text = orders(Orders("dW", 10, 10, 8, 1e-6, 1e-6, 0.0))
    assert "both orders give the same numbers" in text
    assert "gives other numbers" not in text
    assert "rounding and the order" not in text


def test_two_orders_that_differ():
    text = orders(Orders("dW", 10, 10, 8, 1e-6, 2e-6, 5e-7))
    assert "gives other numbers: 5.0e-07 for `dW`" in text
    assert "that is 50 % (`dW`)" in text
    assert "nearer to float64" not in text


def test_an_order_that_explains_little_is_told_so():
    text = orders(Orders("dW", 10, 10, 8, 1e-3, 1e-3, 1e-6))
    assert "less than a tenth of the error" in text
    assert "the order alone makes" not in text


def test_the_better_order_is_the_one_that_was_better():
    assert "the loop is nearer to float64 for all" in orders(Orders("dW", 10, 10, 8, 2e-6, 1e-6, 1e-6))
    both = (Orders("dW", 10, 10, 8, 2e-6, 1e-6, 1e-6), Orders("db", 10, 10, 8, 1e-6, 2e-6, 1e-6))
    assert "The loop is nearer to float64 for `dW` only" in orders(*both)


@pytest.mark.parametrize(("double", "explained"), [(0.0, True), (1e-15, True), (1e-7, False)])
def test_rounding_explains_the_error_only_where_float64_agrees(double, explained):
    made = lab(row(), row(dtype="float64", autograd=double))
    assert ("not the formula" in " ".join(order_findings(made))) == explained


def test_nothing_measured_nothing_said():
    assert order_findings(lab(orders=())) == [
        "No gradient has few enough terms to be summed one at a time here, so nothing was measured."
    ]


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        (Memory(100, 100, 200, 200), ("with `torch.no_grad()` and without", "in both cases")),
        (Memory(100, 60, 200, 150), ("lowers the forward's peak by 40 B", "50 B less")),
        (Memory(60, 100, 200, 250), ("is 100 B with", "50 B more")),
    ],
)
def test_memory(memory, words):
    text = " ".join(memory_findings(memory))
    assert all(w in text for w in words)


@pytest.mark.parametrize(("size", "words"), [(0, "keep the same"), (8, "8 B more"), (None, "100 B less")])
def test_saved_tensors(size, words):
    graph = GRAPH
    if size is None:
        node = NODES[0].__class__("PowBackward0", kept=(Kept("self", "", (5,), "float32", 100),))
        graph = GRAPH.__class__((*NODES, node), {"y": 0}, True, {"N": 2}, "float32")
    derived = (Kept("y", "y", (2,), "float32", size or 0),)
    assert words in " ".join(saved_findings(graph, derived))


def test_the_transpose_is_linears_only_where_the_reference_calls_linear():
    assert "the transpose of `W` that `linear` inserts" in node_note(GRAPH, 2)
    for calls in ((), ("linear", "T"), ("matmul",)):
        other = GRAPH.__class__(NODES, {"y": 0}, True, {}, "float32", calls)
        assert "inserts" not in node_note(other, 2)
    assert node_note(GRAPH, 3) == "a leaf: adds what arrives to `W.grad`"


def test_what_was_recorded_is_counted():
    text = " ".join(graph_findings(GRAPH))
    assert "2 operations and 2 leaves" in text
    assert "`x.grad` and `W.grad`" in text
    other = GRAPH.__class__(NODES[:1], {"y": 0}, False, {}, "float32")
    assert "as there is no reference" in " ".join(graph_findings(other))
    assert "nothing accumulates" in " ".join(graph_findings(other))


def test_a_summary_is_the_median_and_the_maximum():
    (made,) = summaries([row(0, float64=1.0), row(1, float64=5.0), row(2, float64=2.0)])
    assert made.float64 == (2.0, 5.0)
    assert made.exact
    (lost,) = summaries([row(0), row(1, float64=math.nan)])
    assert math.isnan(lost.float64[1])
    assert not lost.finite


def test_no_sentence_is_the_same_for_good_and_bad_numbers():
    """The whole of what is said of a good run and of a bad one shares nothing but the count of comparisons."""
    good = said(lab())
    bad = said(lab(row(0, autograd=1.0, float64=2.0, bound=1.0), row(1, autograd=1.0, float64=2.0, bound=1.0)))
    split = lambda text: set(re.split(r"(?<=[.;:]) ", text))  # noqa: E731
    assert not split(good) & split(bad)
