"""What ``symderive graph`` shows: the graph, the derived backward beside it, and a prediction of memory."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from symderive.api import Derivation
from symderive.check import sizes as sizing
from symderive.check.devices import DTYPES
from symderive.check.ops import OpError
from symderive.check.oracle import shape_of
from symderive.check.results import plain
from symderive.errors import SymderiveError
from symderive.record import record
from symderive.report.document import Block, Formula, Heading, Listing, Prose, Table
from symderive.report.lab.data import Graph, Kept, Sizes, extra_bytes, kept_bytes
from symderive.report.lab.drawing import graph_data, kept_data, tree
from symderive.report.lab.equations import Equations
from symderive.report.lab.errors import Bench
from symderive.report.lab.graph import autograd_graph, derived_kept, recorded
from symderive.report.lab.lessons import node_note, saved_findings
from symderive.report.lab.measure import bench_for
from symderive.report.lab.memory import memory_of
from symderive.report.lab.words import amount, code, shape, sizes

PART = "parameters", "activations", "saved tensors"


@record
class Prediction:
    """Bytes at given sizes.

    ``parameters`` are the differentiated inputs, ``activations`` what the forward alone needs at its peak besides the
    inputs, ``saved`` what autograd keeps besides them, ``derived`` what the derived backward keeps besides them.
    """

    sizes: Sizes
    dtype: str
    parameters: int
    others: int
    activations: int
    saved: int
    derived: int
    gradients: int
    step: int

    @property
    def largest(self) -> str:
        """Which of inputs, activations and saved tensors has the most bytes."""
        values = (self.parameters, self.activations, self.saved)
        return PART[values.index(max(values))]


@record
class View:
    """The graph of a spec, and everything that is shown beside it."""

    derivation: Derivation
    graph: Graph
    derived: tuple[Kept, ...]
    prediction: Prediction | None = None


def view(derivation: Derivation, at: Mapping[str, int | tuple[int, ...]] | None = None, dtype: str = "float32") -> View:
    """The graph at the author's sizes; with ``at`` a prediction for those, which takes no memory of that size."""
    bench = bench_for(derivation.spec)
    inputs, _ = bench.tensors(bench.case(0, dtype), dtype)
    graph, derived = autograd_graph(bench, dtype), derived_kept(bench, inputs)
    chosen = sizing.author(derivation.spec, at) if at else None
    prediction = predict(Bench(bench.subject, chosen, 0), dtype) if chosen else None
    return View(derivation, graph, derived, prediction)


def predict(bench: Bench, dtype: str) -> Prediction:
    """Memory at the bench's sizes: the op is run on ``meta``, where tensors have a shape and no numbers."""
    spec = bench.subject.spec
    inputs = [_empty(bench, i.shape, i.is_real, i.boolean, dtype) for i in spec.inputs]
    upstreams = [_empty(bench, spec.shapes[o], True, False, dtype) for o in spec.outputs]
    try:
        memory = memory_of(bench, inputs, upstreams)
        graph, derived = recorded(bench, inputs), derived_kept(bench, inputs)
    except (RuntimeError, OpError, SymderiveError, ValueError) as error:
        raise SymderiveError(
            f"{spec.name} cannot be run without numbers, so memory cannot be predicted: {error}"
        ) from error
    wrt = sum(_bytes(x) for x in bench.wrt(inputs))
    return Prediction(
        dict(bench.sizes),
        dtype,
        wrt,
        sum(_bytes(x) for x in inputs) - wrt,
        memory.forward_no_grad,
        extra_bytes(graph.kept),
        extra_bytes(derived),
        wrt,
        memory.step_autograd,
    )


def _empty(bench: Bench, axes: Any, real: bool, boolean: bool, dtype: str) -> Tensor:
    kind = DTYPES[dtype] if real else torch.bool if boolean else torch.int64
    return torch.empty(shape_of(axes, bench.sizes), dtype=kind, device="meta")


def _bytes(tensor: Tensor) -> int:
    return math.prod(tensor.shape) * tensor.element_size()


# -- text ------------------------------------------------------------------------------------------------------------


def graph_blocks(shown: View) -> Iterator[Block]:
    """The graph as a tree, its equations, what is saved, the derived program, and the prediction."""
    graph, derivation = shown.graph, shown.derivation
    equations = Equations(derivation)
    what = "the reference" if graph.of_reference else "the emitted forward (the spec has no reference)"
    yield Heading(f"{derivation.spec.name}: the graph that PyTorch records for {what}", 1)
    yield Prose(f"At {sizes(graph.sizes)} in {graph.dtype}; saved tensors as hooks saw them.")
    yield Listing(tree(graph))
    yield from _notes(graph)
    yield Heading("Equations, and the derived gradients of what each reads")
    for tensor in dict.fromkeys(t for n in graph.nodes for t in n.equations):
        yield Formula(equations.forward[tensor])
        for line in equations.backward.get(tensor, []):
            yield Formula(line, depth=2)
    yield Heading("The derived backward")
    for line in derivation.equations():
        yield Formula(line)
    yield Heading("Saved for the backward")
    yield Table(("kept by", "tensor", "shape", "size", ""), tuple(_kept_rows(shown)))
    yield Prose(" ".join(saved_findings(graph, shown.derived)))
    if shown.prediction is not None:
        yield from prediction_blocks(shown.prediction)


def _notes(graph: Graph) -> Iterator[Block]:
    found = {node.kind: node_note(graph, n) for n, node in enumerate(graph.nodes) if not node.leaf}
    rows = tuple((f"  {kind}", note.replace("`", "")) for kind, note in found.items() if note)
    if rows:
        yield Heading("What the nodes do in the backward")
        yield Table((), rows)


def _kept_rows(shown: View) -> Iterator[tuple[str, ...]]:
    pairs = [(n.kind, k) for n in shown.graph.nodes for k in n.kept] + [("derived", k) for k in shown.derived]
    for kind, k in pairs:
        note = "an input" if k.given else "counted above" if k.shared else ""
        yield kind, k.name or k.attribute, shape(k.shape), amount(k.bytes), note


def prediction_blocks(p: Prediction) -> Iterator[Block]:
    """The prediction as a table and a sentence."""
    yield Heading(f"Memory at {sizes(p.sizes)} in {p.dtype}")
    rows = (
        (f"{PART[0]}: the inputs that are differentiated", amount(p.parameters)),
        ("other inputs", amount(p.others)),
        (f"{PART[1]}: the forward's peak besides the inputs, under no_grad", amount(p.activations)),
        (f"{PART[2]}: kept by autograd besides the inputs", amount(p.saved)),
        ("kept by the derived backward besides the inputs", amount(p.derived)),
        ("gradients", amount(p.gradients)),
        ("forward and backward: peak besides the inputs", amount(p.step)),
    )
    yield Table((), tuple((f"  {a}", b) for a, b in rows))
    yield Prose(prediction_finding(p))


def prediction_finding(p: Prediction) -> str:
    """Which of the three dominates, and by how much."""
    values = {PART[0]: p.parameters, PART[1]: p.activations, PART[2]: p.saved}
    total = sum(values.values())
    top = p.largest
    part = 100 * values[top] / total if total else 0
    verb = "dominate" if part > 50 else "are the largest part"
    said = f"{top[:1].upper()}{top[1:]} {verb}: {part:.0f} % of {amount(total)}."
    return f"Predicted by running the op on shapes alone. {said}"


def graph_json(shown: View) -> str:
    """The whole view as JSON."""
    equations = Equations(shown.derivation)
    document = {
        "version": 1,
        "spec": shown.derivation.spec.name,
        "graph": graph_data(shown.graph, equations.forward, equations.backward),
        "derived": {
            "backward": shown.derivation.equations(),
            "saved": [kept_data(k) for k in shown.derived],
            "saved_bytes": kept_bytes(shown.derived),
            "saved_bytes_besides_inputs": extra_bytes(shown.derived),
        },
        "prediction": None if shown.prediction is None else _prediction_data(shown.prediction),
    }
    return json.dumps(plain(document), indent=1, ensure_ascii=False) + "\n"


def _prediction_data(p: Prediction) -> dict[str, Any]:
    return {
        "sizes": dict(p.sizes),
        "dtype": p.dtype,
        "bytes": {
            "parameters": p.parameters,
            "other_inputs": p.others,
            "activations": p.activations,
            "saved": p.saved,
            "saved_derived": p.derived,
            "gradients": p.gradients,
            "step_peak": p.step,
        },
        "dominated_by": p.largest,
    }


__all__ = ["Prediction", "View", "code", "graph_blocks", "graph_json", "predict", "prediction_blocks", "view"]
