"""Results as data, as JSON and as text."""

from __future__ import annotations

import json
import math

import pytest

from symderive.check.results import CheckResult, Results, SpecResult

GOOD = CheckResult("autograd", "dW", "pass", "float32", "cpu", {"N": 2, "...": (4, 8)}, 1.2e-06, 3.4e-05)
BAD = CheckResult("oracle", "dx", "fail", "float64", "cpu", {"N": 2}, math.inf, 2e-15, "[0] is nan, should be 1")
SKIP = CheckResult("autograd", "gradients", "skip", None, "cuda", detail="no cuda device on this machine")
CLAIM = CheckResult(
    "claim",
    "dW",
    "fail",
    verdict="wrong",
    line=19,
    text="dW = x.T @ dy",
    diagnosis={
        "kind": "transpose",
        "sentence": "Your dW is dW.T.",
        "condition": None,
        "counterexample": {"sizes": {"N": 2}, "indices": {"j": 0}, "claimed": "1/2", "true": "2"},
        "correction": "dW = dy.T @ x",
    },
)


def spec(*checks, **more):
    return SpecResult("linear", "derivations/linear.yaml", checks, **more)


def test_the_document_is_that_of_the_contract():
    document = json.loads(Results((spec(GOOD, BAD, SKIP, CLAIM),), {"torch": "2", "devices": ["cpu"]}).json())
    assert document["version"] == 1
    assert document["environment"] == {"torch": "2", "devices": ["cpu"]}
    (entry,) = document["results"]
    assert {k: entry[k] for k in ("spec", "path", "status", "error")} == {
        "spec": "linear",
        "path": "derivations/linear.yaml",
        "status": "fail",
        "error": None,
    }
    good, bad, skip, claim = entry["checks"]
    assert good == {
        "check": "autograd",
        "target": "dW",
        "dtype": "float32",
        "device": "cpu",
        "sizes": {"N": 2, "...": [4, 8]},
        "status": "pass",
        "max_abs_error": 1.2e-06,
        "bound": 3.4e-05,
        "detail": "",
    }
    assert bad["max_abs_error"] == "inf"
    assert skip["max_abs_error"] is None
    assert claim.keys() == {"check", "target", "line", "text", "status", "verdict", "diagnosis", "detail"}
    assert claim["diagnosis"]["kind"] == "transpose"


@pytest.mark.parametrize(
    ("checks", "status"),
    [((), "fail"), ((SKIP,), "fail"), ((GOOD, SKIP), "pass"), ((GOOD, BAD), "fail"), ((GOOD, CLAIM), "fail")],
)
def test_a_spec_passes_where_something_was_checked_and_nothing_failed(checks, status):
    assert spec(*checks).status == status
    assert Results((spec(*checks),)).ok == (status == "pass")


def test_exit_codes():
    broken = spec(error={"message": "no", "line": 3, "column": 1})
    assert Results((spec(GOOD),)).exit_code == 0
    assert Results((spec(GOOD), spec(BAD))).exit_code == 1
    assert Results((spec(BAD), broken)).exit_code == 2
    assert Results(()).exit_code == 1


def test_the_first_failure_stands_out_and_says_what_to_do():
    lines = spec(GOOD, BAD, SKIP).table().splitlines()
    assert lines[0] == "linear  derivations/linear.yaml"
    assert lines[1] == "  FAIL  oracle of dx  [float64, cpu, N=2]  error inf, allowed 2e-15"
    assert lines[2].strip() == "[0] is nan, should be 1"
    assert lines[3].startswith("  next: ")
    assert "symderive derive derivations/linear.yaml --wrt x" in lines[3]
    assert "  skipped 1 (autograd): no cuda device on this machine" in lines
    assert lines[-1] == "  FAIL  1 passed, 1 failed, 1 skipped"


def test_a_claim_shows_its_line_verdict_counterexample_and_correction():
    text = spec(GOOD, CLAIM).table()
    assert "FAIL  claim, line 19: dW = x.T @ dy" in text
    assert "wrong (transpose): Your dW is dW.T." in text
    assert "at N=2, j=0: claimed 1/2, true 2" in text
    assert "right: dW = dy.T @ x" in text


def test_a_spec_of_which_nothing_was_checked_says_so():
    assert "FAIL  0 passed, 0 failed, 1 skipped (nothing was checked)" in spec(SKIP).table()


def test_several_specs_end_in_a_sum():
    text = Results((spec(GOOD), spec(BAD))).table()
    assert text.rstrip().endswith("1 of 2 specs pass; not: linear")


def test_an_unusable_spec_names_the_place():
    text = spec(error={"message": "no such thing", "line": 3, "column": 7}).table()
    assert "ERROR derivations/linear.yaml:3:7: no such thing" in text


def test_verbose_shows_every_row():
    text = spec(GOOD, SKIP).table(verbose=True)
    assert "1.2e-06" in text
    assert "3.4e-05" in text


def test_the_ratio_orders_rows():
    assert GOOD.ratio == pytest.approx(1.2e-06 / 3.4e-05)
    assert BAD.ratio == math.inf
    assert SKIP.ratio == 0
    assert CheckResult("oracle", "y", "pass", max_abs_error=0.0, bound=0.0).ratio == 0
