"""Running the matrix: options, devices, seeds, processes, progress, and faults that stay where they are."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from symderive.check import matrix
from symderive.check.matrix import KINDS, Options, plan
from symderive.check.results import CheckResult, Results, SpecResult
from symderive.check.runner import check, check_paths, merged
from symderive.errors import SymderiveError
from symderive.spec import loads

from . import kernels as k

SQUARE = loads(k.SQUARE)
MISSING = next(d for d in ("mps", "xpu", "cuda") if not getattr(torch, d).is_available())
KINDS_OF_NUMBERS = tuple(kind.name for kind in KINDS if kind.name != "claim")


def quick(spec=SQUARE, **options):
    return check(spec, **{"quick": True, "devices": ("cpu",), "kinds": KINDS_OF_NUMBERS} | options)


def test_results_reproduce_from_their_seed():
    assert quick(seed=3) == quick(seed=3)
    errors = [[c.max_abs_error for c in quick(seed=s).checks if c.check == "gradcheck"] for s in (3, 4)]
    assert errors[0] != errors[1]


def test_a_file_and_a_name_can_be_checked(tmp_path):
    (tmp_path / "square_of.yaml").write_text(k.SQUARE)
    assert quick(tmp_path / "square_of.yaml").ok
    assert quick("relu").spec == "relu"


def test_processes_give_what_one_gives(tmp_path):
    for name in ("square_of", "linear_of"):
        (tmp_path / f"{name}.yaml").write_text({"square_of": k.SQUARE, "linear_of": k.LINEAR}[name])
    chosen = Options(quick=True, devices=("cpu",), kinds=("autograd",))
    one, two = (check_paths([tmp_path], chosen, jobs=n) for n in (1, 2))
    assert one.specs == two.specs
    assert one.environment["devices"][0] == "cpu"
    assert one.ok
    json.loads(one.json())


def test_an_unusable_spec_is_an_error_with_its_place(tmp_path):
    (tmp_path / "bad.yaml").write_text(k.SQUARE.replace("square_of", "bad").replace("x[i, j]**2", "x[i, k]**2"))
    (result,) = check_paths([tmp_path / "bad.yaml"], Options(quick=True)).specs
    assert result.status == "error"
    assert result.error["line"] == 6
    assert "k" in result.error["message"]


def test_a_missing_device_is_a_skip_and_fails_where_it_is_required():
    rows = [c for c in quick(devices=("cpu", MISSING)).checks if c.device == MISSING]
    assert rows
    assert {(c.status, c.detail) for c in rows} == {("skip", f"no {MISSING} device on this machine")}
    result = quick(require_device=(MISSING,))
    assert not result.ok
    assert {c.detail for c in result.failures} == {f"required, but no {MISSING} device on this machine"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtypes": ("float8",)}, "no dtype 'float8'"),
        ({"devices": ("abacus",)}, "no device 'abacus'"),
        ({"sizes": {"Q": 3}}, "no size 'Q'"),
        ({"op": "nowhere_to_be_found:f"}, "importing nowhere_to_be_found failed"),
        ({"op": "math"}, "module:function"),
        ({"op": "math:nothing"}, "has no nothing"),
        ({"op": 3}, "not a function"),
        ({"op": k.softmax}, "INPUTS"),
    ],
)
def test_options_that_cannot_be_used(options, message):
    with pytest.raises(SymderiveError, match=message):
        quick(**options)


def test_an_op_can_be_named(tmp_path, monkeypatch):
    (tmp_path / "own_kernels.py").write_text("class ops:\n    @staticmethod\n    def twice(x):\n        return x * x\n")
    monkeypatch.chdir(tmp_path)
    assert quick(op="own_kernels:ops.twice").ok
    assert quick(op=f"{tmp_path}/own_kernels.py:ops.twice").ok


def test_sizes_replace_the_authors():
    sizes = [c.sizes for c in quick(sizes={"N": 9}).checks if c.check == "oracle"]
    assert {"N": 9, "K": 30} in sizes


def test_what_needs_too_much_memory_is_skipped_and_not_passed():
    result = quick(max_memory=10)
    assert {c.status for c in result.checks} == {"skip"}
    assert all("more than was allowed" in c.detail for c in result.checks)
    assert not any("about 0 MiB" in c.detail for c in result.checks)
    assert not result.ok


def test_a_dtype_that_a_check_does_not_run_in_is_a_skip():
    rows = [c for c in quick(dtypes=("float32",)).checks if c.check in ("oracle", "gradcheck")]
    assert {c.detail for c in rows} == {"oracle runs in float64 only", "gradcheck runs in float64 only"}


def test_a_fault_of_ours_fails_the_row_and_says_whose_it_is(monkeypatch):
    def broken(subject, cell):
        yield cell.result("dx", "pass")
        raise ZeroDivisionError("by zero")

    kinds = [replace(kind, function=broken) if kind.name == "autograd" else kind for kind in KINDS]
    monkeypatch.setattr(matrix, "KINDS", tuple(kinds))
    result = quick()
    details = [c.detail for c in result.failures]
    assert details
    assert all(
        d.startswith("a fault of symderive itself, please report it: ZeroDivisionError: by zero") for d in details
    )
    assert {c.check for c in result.failures} == {"autograd"}


def test_a_reference_that_cannot_run_says_where():
    result = quick(loads(k.LINEAR.replace("F.linear(x, W, b)", "x @ W")))
    details = {c.detail for c in result.failures}
    assert any("mat1 and mat2 shapes cannot be multiplied" in d for d in details)
    assert not any("fault of symderive" in d for d in details)


def test_progress_counts_to_the_end():
    events = []
    quick(progress=events.append, runs=2)
    assert [e.done for e in events] == list(range(1, events[-1].total + 1))
    assert {e.spec for e in events} == {"square_of"}
    assert events[-1].total == 2 * len(plan(SQUARE, Options(quick=True, devices=("cpu",), kinds=KINDS_OF_NUMBERS)))


def test_of_several_runs_the_worst_is_kept():
    rows = [
        CheckResult("autograd", "dx", s, "float64", "cpu", {}, e, 1.0)
        for s, e in (("pass", 0.1), ("fail", 2.0), ("pass", 0.2))
    ]
    assert merged(rows, 3) == [rows[1]]
    assert len(quick(runs=2).checks) == len(quick().checks)


def test_the_quick_matrix_is_part_of_the_whole():
    for kind in KINDS:
        assert set(kind.quick) <= set(kind.sizes)
        assert set(kind.quick_dtypes) <= set(kind.dtypes)
    full = {(p.kind.name, p.cell.dtype, p.cell.label) for p in plan(SQUARE, Options())}
    assert {(p.kind.name, p.cell.dtype, p.cell.label) for p in plan(SQUARE, Options(quick=True))} < full


def test_reference_tables_and_json_of_a_real_result():
    result = quick()
    assert isinstance(result, SpecResult)
    assert result.table().splitlines()[-1].startswith("  PASS")
    assert json.loads(result.json())["results"][0]["status"] == "pass"
    assert Results((result,)).exit_code == 0
