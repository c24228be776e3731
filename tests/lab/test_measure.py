"""What is measured, of ops whose numbers are known."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import pytest

from symderive import api
from symderive.check.devices import to_numpy
from symderive.report.lab import data
from symderive.report.lab.errors import error_rows, overflowing
from symderive.report.lab.graph import autograd_graph, derived_kept
from symderive.report.lab.lessons import node_note
from symderive.report.lab.measure import Plan, bench_for, measure
from symderive.report.lab.memory import measure_memory
from symderive.report.lab.mistakes import mistakes, ratio
from symderive.report.lab.mutate import without_constant
from symderive.report.lab.orders import summation_orders
from symderive.report.lab.report import report_files

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def derivation():
    return api.derive(api.load(ROOT / "derivations" / "linear_mse.yaml"))


@pytest.fixture(scope="module")
def bench(derivation):
    return bench_for(derivation.spec)


@pytest.fixture(scope="module")
def lab(derivation):
    return measure(derivation.spec, Plan(runs=2, dtypes=("float32", "float16")))


def test_the_lab_of_a_linear_layer(lab):
    single = [r for r in lab.rows if r.dtype == "float32"]
    assert len(single) == 6
    assert all(r.autograd is not None and r.autograd < 1e-5 for r in single)
    assert all(0 < r.float64 <= r.bound for r in single)
    half = [r for r in lab.rows if r.dtype == "float16"]
    assert max(r.float64 for r in half) > 1e-3
    assert all(math.isfinite(r.float64) for r in half)


def test_the_loss_overflows_in_float16_at_these_sizes(bench):
    rows = [r for run in range(4) for r in error_rows(bench, run, "float16", "cpu")]
    assert any(r.overflow == ("L",) for r in rows)
    assert not any(r.gradient in r.overflow for r in rows)


def test_the_upstream_of_a_loss_is_one_and_of_anything_else_is_random(bench):
    assert bench.point(0)[1]["dL"] == 1
    other = bench_for(api.load(ROOT / "derivations" / "relu.yaml"))
    assert (other.point(0)[1]["dy"] != 1).all()


def test_runs_differ_and_a_seed_repeats_them(bench):
    assert (bench.point(0)[0]["x"] != bench.point(1)[0]["x"]).any()
    assert (bench.point(0)[0]["x"] == bench.point(0)[0]["x"]).all()


def test_an_infinity_that_float64_shares_is_no_overflow():
    import torch

    a, b = torch.tensor([math.inf, 1.0]), torch.tensor([math.inf, 1.0], dtype=torch.float64)
    assert overflowing({"y": a}, {"y": b}) == ()
    assert overflowing({"y": a}, {"y": b.clamp(max=5)}) == ("y",)


def test_two_orders_of_summation_are_two_computations(bench):
    found = {o.gradient: o for o in summation_orders(bench)}
    assert set(found) == {"dx", "dW", "db"}
    assert found["dx"].terms == 600
    assert all(o.apart > 0 for o in found.values())
    assert all(0 < o.sequential < 0.1 for o in found.values())


def test_the_chain_of_a_linear_layer(bench):
    graph = autograd_graph(bench)
    by = {(n.kind, n.leaf): (i, n) for i, n in enumerate(graph.nodes)}
    product = by["AddmmBackward0", ""][1]
    assert product.equations == ("y",)
    assert product.computes == "y"
    assert {(k.name, k.shape, k.bytes, k.given) for k in product.kept} == {
        ("x", (2, 64), 512, True),
        ("W.T", (64, 600), 153600, True),
    }
    assert {leaf for kind, leaf in by if kind == "AccumulateGrad"} == {"x", "W", "b"}
    position, transpose = by["TBackward0", ""]
    assert graph.nodes[transpose.inputs[0]].leaf == "W"
    assert "that `linear` inserts" in node_note(graph, position)
    assert by["PowBackward0", ""][1].equations == ("L",)
    assert data.extra_bytes(graph.kept) == 2 * 600 * 4


def test_what_the_derived_backward_keeps(bench):
    inputs, _ = bench.tensors(bench.case(0, "float32"), "float32")
    kept = {k.name: k for k in derived_kept(bench, inputs)}
    assert set(kept) == {"x", "W", "difference"}
    assert [n for n, k in kept.items() if not k.given] == ["difference"]
    assert kept["difference"].bytes == 2 * 600 * 4


def test_peaks_are_counted_in_bytes_of_tensors():
    bench = bench_for(api.load(ROOT / "derivations" / "relu.yaml"))
    n = math.prod(bench.shape("x")) * 4
    memory = measure_memory(bench)
    assert memory.forward_recording == memory.forward_no_grad == n
    assert n < memory.step_autograd <= 3 * n


def test_every_mistake_is_run(bench):
    found = {type(m): m for m in mistakes(bench)}
    assert found[data.Overflowed].lost == ("L",)
    assert found[data.Overflowed].gradients_finite
    assert found[data.Transposed].tensor == "W"
    assert "cannot be multiplied" in found[data.Transposed].message
    assert found[data.Transposed].square_off > 0.01
    assert found[data.Factor].ratios == {"dx": 2.0, "dW": 2.0, "db": 2.0}
    assert found[data.Accumulated].ratios == {"dx": 2.0, "dW": 2.0, "db": 2.0}
    assert "modified by an inplace operation" in found[data.InPlace].message
    assert data.NotScalar not in found


def test_an_op_that_is_no_scalar_needs_an_upstream():
    found = {type(m): m for m in mistakes(bench_for(api.load(ROOT / "derivations" / "softmax.yaml")))}
    assert "scalar outputs" in found[data.NotScalar].message
    assert data.Factor not in found


@pytest.mark.parametrize(
    ("forward", "left"),
    [
        ("L = sum[i](x[i]**2) / 2", "sum[i](x[i]**2)"),
        ("L = 3 * sum[i](x[i])", "sum[i](x[i])"),
        ("L = mean[i](x[i])", "sum[i](x[i])"),
        ("L = sum[i](x[i]) * sqrt(2)", "sum[i](x[i])"),
        ("L = sum[i](x[i]) / N", "sum[i](x[i])"),
        ("L = sum[i](x[i]**2)", None),
        ("L = sum[i](x[i] * x[N - 1 - i])", None),
    ],
)
def test_the_constant_that_is_left_out(forward, left):
    spec = api.loads(f"name: a\nsizes: {{N: 4}}\ninputs:\n  x: [N]\nforward: |\n  {forward}\n")
    changed = without_constant(spec)
    if left is None:
        assert changed is None
    else:
        from symderive.spec.format import to_text

        assert to_text(changed[1].equations[0].right) == left


def test_a_ratio_is_one_number_or_none():
    import torch

    a = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert ratio(3 * a, a) == 3
    assert ratio(a + 1, a) is None
    assert ratio(a, 0 * a) is None
    assert to_numpy(a).tolist() == [1.0, 2.0]


def test_a_spec_without_a_reference_is_measured_against_its_own_forward():
    spec = api.loads("name: a\nsizes: {N: 4}\ninputs:\n  x: [N]\nforward: |\n  y[i] = sin(x[i])\n")
    graph = autograd_graph(bench_for(spec))
    assert not graph.of_reference
    assert [n.kind for n in graph.nodes] == ["SinBackward0", "AccumulateGrad"]


def test_the_files_of_a_report(lab, derivation):
    files = report_files(lab, derivation, plots=False)
    assert list(files) == ["REPORT.md", "errors.csv", "derived.py", "manifest.json"]
    rows = list(csv.DictReader(io.StringIO(files["errors.csv"].decode())))
    assert len(rows) == len(lab.rows)
    assert {r["gradient"] for r in rows} == {"dx", "dW", "db"}
    assert [float(r["max_abs_error_float64"]) for r in rows] == [r.float64 for r in lab.rows]
    assert {r["overflow"] for r in rows if r["dtype"] == "float32"} == {"no"}
    manifest = json.loads(files["manifest.json"])
    assert manifest["spec"]["sha256"]
    assert set(manifest["files"]) == set(files) - {"manifest.json"}
    compile(files["derived.py"], "derived.py", "exec")


def test_the_report_has_every_part(lab, derivation):
    text = report_files(lab, derivation, plots=False)["REPORT.md"].decode()
    for heading in (
        "The gradients",
        "Errors",
        "The order of summation",
        "The autograd graph",
        "What is saved, and memory",
        "What can go wrong",
        "The derivation",
        "Environment",
    ):
        assert f"\n## {heading}\n" in text
    assert text.count("\n# ") == 0
    assert text.startswith("# ")
    for word in (
        "AddmmBackward0",
        "AccumulateGrad",
        "TBackward0",
        r"\frac{\partial L}{\partial W_{jk}}",
        "dW = dy.T @ x",
    ):
        assert word in text
    assert text.count("$$") % 2 == 0


def test_plots_are_pictures_of_the_numbers(lab):
    pytest.importorskip("matplotlib")
    from symderive.report.lab.plots import draw_plots, errors_figure

    assert all(content.startswith(b"\x89PNG") for content in draw_plots(lab).values())
    left, right = errors_figure(lab).axes[:2]
    dots = sum(len(c.get_offsets()) for c in right.collections)
    assert dots == len(lab.rows)
    assert left.get_ylim()[1] > max(r.bound for r in lab.rows)


def test_equations_that_pytorch_computes_together_are_named_together():
    graph = autograd_graph(bench_for(api.load(ROOT / "derivations" / "layer_norm.yaml")))
    assert graph.nodes[0].equations == ("y", "xhat", "rstd", "var", "mu")
    graph = autograd_graph(bench_for(api.load(ROOT / "derivations" / "attention.yaml")))
    named = {n.kind: n.equations for n in graph.nodes}
    assert named["SafeSoftmaxBackward0"] == ("P",)
    assert named["TransposeBackward0"] == ("P", "S")
