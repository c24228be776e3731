"""A reference that calls what it may not makes the spec unusable; one that does not fit is a failed check."""

from __future__ import annotations

import pytest

from symderive.check.matrix import options
from symderive.check.runner import check_spec
from symderive.spec import loads


def result(reference):
    text = "name: op\nsizes: {N: 3}\ninputs: {x: [N]}\nforward: |\n  y[i] = x[i]**2\nreference: |\n"
    text += f"  y = {reference}\n"
    return check_spec(loads(text, "op"), options(["float64"], ["cpu"], (), quick=True))


@pytest.mark.parametrize(
    "reference", ["os.system('echo')", "eval('x')", "x.__class__", "x.numpy()", "F.nothing(x)", "nothing * x"]
)
def test_what_is_not_allowed_makes_the_spec_unusable(reference):
    found = result(reference)
    assert found.status == "error"
    assert found.error["line"] == 7
    assert not found.checks


def test_what_does_not_fit_fails():
    found = result("x @ x.reshape(1, -1) @ x")
    assert found.status == "fail"
    assert {c.status for c in found.checks if c.check == "reference"} >= {"fail"}


def test_a_reference_without_the_output_is_told_which_it_lacks():
    text = "name: op\nsizes: {N: 3}\ninputs: {x: [N]}\nforward: |\n  y[i] = x[i]**2\nreference: |\n  z = x**2\n"
    found = check_spec(loads(text, "op"), options(["float64"], ["cpu"], (), quick=True))
    assert found.status == "error"
    assert found.error["message"] == "the reference defines z, and not the output 'y' (end with y = ...)"
    assert found.error["line"] == 7


def test_shapes_that_differ_are_told_as_the_forwards_and_the_references():
    details = {c.check: c.detail for c in result("(x**2)[None, :]").failures}
    assert details["reference"].endswith("] in the forward, and [1, 3] in the reference")
    assert details["autograd"].startswith("the reference: y has shape [1, ")
