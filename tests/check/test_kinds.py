"""Every kind of check passes what is right, and there is a fault for each that it is the one to catch."""

from __future__ import annotations

import pytest
import torch

from symderive.check.kinds.layout import TERMS
from symderive.check.matrix import KINDS
from symderive.check.runner import check
from symderive.check.truth import Truth
from symderive.spec import loads

from . import kernels as k

RIGHT = {
    "softmax": (k.SOFTMAX, k.softmax),
    "linear": (k.LINEAR, k.linear),
    "cross entropy": (k.CROSS_ENTROPY, k.cross_entropy),
    "attention": (k.ATTENTION, k.attention),
    "attention in torch": (k.ATTENTION, k.attention_in_torch),
    "square": (k.SQUARE, k.square),
    "an autograd.Function": (k.SQUARE, k.SquareFunction),
    "clamp": (k.CLAMP, k.soft_ends),
}

CONSTANT_OFF = k.SQUARE + "reference: |\n  y = x**2 + 1\n"
WRONG_CLAIM = k.SQUARE + "claims: |\n  dx = x * dy\n"

WRONG = {
    "the reference is off by a constant": (CONSTANT_OFF, k.square, "reference", set()),
    "another function at large sizes, without a reference": (k.SQUARE, k.wrong_when_large, "oracle", set()),
    "a dtype that is not the input's": (k.SQUARE, k.single, "autograd", set()),
    "a constant made on the CPU": (k.SQUARE, k.on_the_cpu, "autograd", set()),
    "another convention at the ends": (k.CLAMP, k.hard_ends, "gradcheck", set()),
    "exp that overflows": (k.SOFTMAX, k.naive_softmax, "stability", set()),
    "a view of what is not contiguous": (k.SQUARE, k.contiguous_only, "layout", set()),
    "the upstream changed in place": (
        k.SQUARE,
        k.in_place,
        "layout",
        {"oracle", "autograd", "gradcheck", "stability"},
    ),
    "no empty input": (k.SQUARE, k.no_empty, "layout", set()),
    "a claim without its factor": (WRONG_CLAIM, None, "claim", set()),
    "diagonal of the Jacobian": (
        k.SOFTMAX,
        k.diagonal_softmax,
        "autograd",
        {"oracle", "gradcheck", "stability", "layout"},
    ),
    "a mean for a sum": (k.LINEAR, k.mean_for_sum, "autograd", {"oracle", "gradcheck", "stability", "layout"}),
    "a transposed gradient": (
        k.LINEAR,
        k.transposed_weight,
        "autograd",
        {"oracle", "gradcheck", "stability", "layout"},
    ),
    "not linear in the upstream": (k.SQUARE, k.not_linear, "autograd", {"oracle", "gradcheck", "stability", "layout"}),
    "off by a thousandth": (
        k.SQUARE,
        k.WrongSquareFunction,
        "autograd",
        {"oracle", "gradcheck", "stability", "layout"},
    ),
}


def run(text, op, **options):
    return check(loads(text), op=op, devices=("cpu", "meta"), **options)


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_passes(name):
    text, op = RIGHT[name]
    result = run(text, op)
    assert result.ok, result.table()
    passed = {c.check for c in result.checks if c.status == "pass"}
    assert {"oracle", "autograd", "gradcheck", "stability", "layout"} <= passed


@pytest.mark.parametrize("name", WRONG)
def test_the_check_that_is_there_for_it_catches(name):
    text, op, catches, others = WRONG[name]
    result = run(text, op)
    failed = {c.check for c in result.failures}
    assert not result.ok
    assert catches in failed, result.table()
    assert failed <= {catches} | others, result.table()
    assert not any("a fault of symderive" in c.detail for c in result.checks)


def test_every_kind_has_a_fault_that_only_it_catches():
    assert {catches for _, _, catches, others in WRONG.values() if not others} == {kind.name for kind in KINDS}


def details(text, op, **options):
    return {(c.check, c.target): c.detail for c in run(text, op, **options).failures}


def test_an_op_that_fails_is_told_so_in_its_words():
    found = details(k.SQUARE, k.raising, quick=True, kinds=("oracle", "autograd", "gradcheck", "layout"))
    assert all(d.startswith("backward raised RuntimeError: mat1 and mat2 shapes") for d in found.values())
    assert all(d.endswith(f"(kernels.py:{k.raising.back.__code__.co_firstlineno})") for d in found.values())
    found = details(k.SQUARE, k.one_gradient_too_many, quick=True)
    assert set(found.values()) == {"backward gives 2 tensors where there should be 1: dx"}


def test_what_torch_says_of_nothing_is_no_excuse_at_other_sizes():
    rows = [c for c in run(k.SQUARE, k.refused, kinds=("layout",)).checks if "positive-definite" in c.detail]
    assert {(c.target[-2:], c.status) for c in rows} == {("=0", "skip"), ("=1", "fail")}


def test_the_failure_names_the_entry_and_both_values():
    found = details(k.LINEAR, k.mean_for_sum, kinds=("autograd",), dtypes=("float64",))
    assert "entries are wrong" in found["autograd", "db"]
    assert "should be" in found["autograd", "db"]
    assert "times what it should be" in found["autograd", "db"]
    found = details(k.LINEAR, k.transposed_weight, kinds=("autograd",), dtypes=("float64",))
    assert "shape [30, 20], should be [20, 30]" in found["autograd", "dW"] or "transpose" in found["autograd", "dW"]
    assert "dW has shape" in details(k.LINEAR, k.transposed_weight, kinds=("oracle",))["oracle", "dW"]


def test_overflow_of_the_forward_is_no_error_of_the_gradient():
    text = k.LINEAR.replace("y[i, j] =", "y[i, j] = 3 *").replace("y = F", "y = 3 * F")
    text = text.replace("reference", "  L = 1000 * sum[i, j](y[i, j]**2)\nreference")
    text = text.replace("W, b)", "W, b)\n  L = 1000 * (y**2).sum()")
    result = check(loads(text), dtypes=("float16",), devices=("cpu",), kinds=("reference", "autograd"))
    rows = [c for c in result.checks if c.check == "reference" and c.sizes["K"] == 30]
    assert [r.status for r in rows] == ["skip"]
    assert "float16 overflows at these sizes (L)" in rows[0].detail


def test_gradients_are_judged_where_the_forward_overflows():
    text = "name: big\nsizes: {N: 600}\ninputs: {x: [N]}\nforward: |\n  L = 300 * sum[i](x[i]**2)\n"
    result = check(loads(text), dtypes=("float16",), devices=("cpu",), kinds=("autograd",))
    row = next(c for c in result.checks if c.sizes == {"N": 600})
    assert row.status == "pass"
    assert "the forward overflows float16 at these sizes (L); gradients are finite" in row.detail


def test_a_point_at_a_kink_is_no_point_for_autograd():
    text = "name: tied\nsizes: {N: 4}\ninputs: {x: [N]}\nforward: |\n  y[i] = max(x[i], x[i] * 1)\n"
    result = check(
        loads(text.replace("x[i] * 1", "x[i] + 0 * x[0]")), devices=("cpu",), kinds=("autograd",), quick=True
    )
    assert {c.status for c in result.checks} <= {"skip", "pass"}


def test_of_what_has_many_terms_some_entries_are_computed_at_sizes_of_one_and_the_row_says_so(monkeypatch):
    counted = []
    whole, conv = Truth.whole, torch.nn.functional.conv2d

    def counting(truth, name):
        counted.append(truth.cost(name, 10**9))
        return whole(truth, name)

    monkeypatch.setattr(Truth, "whole", counting)
    result = check("conv2d", devices=("cpu",), kinds=("layout",), quick=True)
    assert result.ok, result.table()
    details = [c.detail for c in result.checks if c.target.startswith("size ") and c.status == "pass"]
    assert any(d.startswith("at random: ") and " entries of dx" in d for d in details)
    assert max(counted) <= TERMS
    assert counted
    off = check("conv2d", op=lambda x, w, b: 1.01 * conv(x, w, b, 2, 1), quick=True, kinds=("layout",))
    assert {c.target for c in off.failures if c.target.endswith("=1")}
