"""What the graph, the memory and the mistakes say, each sentence by its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from symderive.report.lab.data import (
    Accumulated,
    Factor,
    Graph,
    InPlace,
    Kept,
    Memory,
    Mistake,
    NotScalar,
    Overflowed,
    Transposed,
    extra_bytes,
    kept_bytes,
)
from symderive.report.lab.words import amount, code, number, shape, times
from symderive.wording import listed

KINDS: Mapping[str, str] = {
    "AddmmBackward0": "a matrix product and an added bias in one kernel",
    "MmBackward0": "a matrix product",
    "BmmBackward0": "a batch of matrix products",
    "TransposeBackward0": "swaps two axes back",
    "PermuteBackward0": "puts the axes back in order",
    "SumBackward0": "hands its upstream to every term",
    "SumBackward1": "hands its upstream to every term along the axis",
    "MeanBackward0": "hands its upstream, divided by the number of entries, to each of them",
    "MulBackward0": "multiplies its upstream by the other factor",
    "MulBackward1": "multiplies its upstream by a number",
    "DivBackward0": "divides its upstream by the divisor",
    "PowBackward0": "multiplies its upstream by the derivative of the power",
    "SubBackward0": "hands its upstream on, negated to the right side",
    "AddBackward0": "hands its upstream on to both sides",
    "ReluBackward0": "lets its upstream pass where the output is positive",
    "MseLossBackward0": "the difference of its inputs, scaled by the reduction",
    "NllLossBackward0": "puts its upstream at the class of each row",
    "LogSoftmaxBackward0": "subtracts softmax times the sum of its upstream",
    "SoftmaxBackward0": "the softmax times its centred upstream",
    "EmbeddingDenseBackward0": "adds each row of its upstream to the row of the table that it came from",
    "NativeLayerNormBackward0": "all three gradients of a layer norm in one kernel",
}
"""What a node of this kind does in the backward pass."""


def node_note(graph: Graph, position: int) -> str:
    """What is to be said of a node."""
    node = graph.nodes[position]
    if node.leaf:
        return f"a leaf: adds what arrives to `{node.leaf}.grad`"
    if node.kind == "TBackward0":
        return _transpose_note(graph, position)
    return KINDS.get(node.kind, "")


def _transpose_note(graph: Graph, position: int) -> str:
    """A transposed leaf; that ``linear`` inserted it is said where the reference calls that and transposes nothing."""
    reads = [graph.nodes[i].leaf for i in graph.nodes[position].inputs]
    what = f"the transpose of `{reads[0]}`" if reads and reads[0] else "a transpose"
    inserted = "linear" in graph.calls and not {"T", "t", "transpose", "mT"} & set(graph.calls)
    return f"{what}{' that `linear` inserts' if inserted else ''}: turns its upstream back"


def graph_findings(graph: Graph) -> Iterator[str]:
    """What the chain consists of."""
    what = "the reference" if graph.of_reference else "the emitted forward, as there is no reference,"
    leaves = [n.leaf for n in graph.nodes if n.leaf]
    inner = [n for n in graph.nodes if not n.leaf]
    yield (
        f"For {what} PyTorch records {len(inner)} operation{'s' if len(inner) != 1 else ''} and {len(leaves)} leaves; "
        f"gradients accumulate in {code(f'{n}.grad' for n in leaves)}."
        if leaves
        else f"For {what} PyTorch records {len(inner)} operations; nothing accumulates."
    )


def saved_findings(graph: Graph, derived: tuple[Kept, ...]) -> Iterator[str]:
    """Autograd's and the derived backward's saved tensors, compared."""
    theirs, ours = extra_bytes(graph.kept), extra_bytes(derived)
    yield (
        f"Autograd keeps {amount(kept_bytes(graph.kept))}, "
        f"of which {amount(kept_bytes(graph.kept) - theirs)} are inputs, "
        f"which are there anyway, and {amount(theirs)} are kept for the backward alone. The derived backward keeps "
        f"{amount(kept_bytes(derived))}, {amount(ours)} of it besides the inputs."
    )
    if ours == theirs:
        yield "Besides the inputs, both keep the same number of bytes."
    elif ours < theirs:
        yield f"The derived backward keeps {amount(theirs - ours)} less besides the inputs."
    else:
        yield f"The derived backward keeps {amount(ours - theirs)} more besides the inputs."


def memory_findings(memory: Memory) -> Iterator[str]:
    """Peaks with and without recording, and of the two backward passes."""
    on, off = memory.forward_recording, memory.forward_no_grad
    if on == off:
        yield (
            f"The forward's peak is {amount(on)} besides the inputs, with `torch.no_grad()` and without: "
            "what is recorded is alive at the peak anyway."
        )
    elif on > off:
        yield (
            f"`torch.no_grad()` lowers the forward's peak by {amount(on - off)}, from {amount(on)} besides the inputs."
        )
    else:
        yield f"The forward's peak is {amount(off)} with `torch.no_grad()` and {amount(on)} without."
    ours, theirs = memory.step_derived, memory.step_autograd
    if ours == theirs:
        yield f"Forward and backward together peak at {amount(ours)} in both cases."
    else:
        more = "more" if ours > theirs else "less"
        yield (
            f"Forward and backward together peak at {amount(theirs)} with autograd and at {amount(ours)} "
            f"with the derived code, {amount(abs(ours - theirs))} {more}."
        )


def lesson(mistake: Mistake) -> tuple[str, list[str]]:
    """A title and the sentences about what was run."""
    return LESSONS[type(mistake)](mistake)


def _overflowed(m: Overflowed) -> tuple[str, list[str]]:
    scaled = "" if m.scale == 1 else f" with the inputs multiplied by {m.scale:g}"
    title = f"Overflow in {m.dtype}"
    if not m.lost:
        return title, [
            f"The forward was run in {m.dtype} with inputs multiplied by up to {m.scale:g}: no output overflowed."
        ]
    said = f"The forward, run in {m.dtype}{scaled}, gives inf or NaN for {code(m.lost)}."
    fits = m.largest <= m.limit
    why = (
        f"In float64 the largest entry is {number(m.largest)}, which {m.dtype} could hold (it ends at {m.limit:g}): "
        "what overflows is a result on the way there."
        if fits
        else f"In float64 the largest entry is {number(m.largest)}; {m.dtype} ends at {m.limit:g}."
    )
    then = (
        f"Every gradient of the same run is finite, and off by up to {number(m.off)} from float64: a training step "
        "would go on with them while the logged value is lost."
        if m.gradients_finite
        else "Gradients of the same run are not finite either."
    )
    return title, [said, why, then]


def _transposed(m: Transposed) -> tuple[str, list[str]]:
    said = [f"`{m.tensor}` has the shape {shape(m.shape)}. Passed as {shape(m.shape[::-1])}, its transpose,"]
    if m.message:
        said[0] += f" PyTorch refuses: “{m.message}”."
    elif m.off is not None and math.isinf(m.off):
        said[0] += " an output comes out in another shape, with no error."
    else:
        said[0] += f" nothing is raised, and the output is off by {number(m.off or 0)} of its largest entry."
    if m.square is not None and m.square_message:
        said.append(f"Where all sizes are {m.square} PyTorch refuses, too: “{m.square_message}”.")
    elif m.square is not None and m.square_off is not None:
        off = f"off by {number(m.square_off)} of its largest entry" if m.square_off else "the same"
        said.append(f"Where all sizes are {m.square} nothing is raised: the output is {off}")
        if m.gradient_off is not None:
            said[-1] += (
                f", and a transposed `d{m.tensor}` would pass every check of shapes while it is off by "
                f"{number(m.gradient_off)} of its largest entry"
            )
        said[-1] += "."
        if m.message and m.square_off:
            said.append("Check a gradient at sizes that differ.")
    return f"The transposed `{m.tensor}`", said


def _factor(m: Factor) -> tuple[str, list[str]]:
    said = [f"`{m.equation}` written as `{m.without}`:"]
    alike = {n: r for n, r in m.ratios.items() if r is not None}
    values = {times(r) for r in alike.values()}
    if len(values) == 1 and len(alike) == len(m.ratios):
        value = values.pop()
        said.append(
            "every gradient is the same, so nothing shows it."
            if value == "1"
            else f"every gradient becomes {value} times the true one."
        )
    else:
        parts = [
            f"`{n}` is no multiple of the true one" if r is None else f"`{n}` is {times(r)} times the true one"
            for n, r in m.ratios.items()
        ]
        said.append(f"{listed(parts)}.")
    return "The forgotten constant", [" ".join(said)]


def _accumulated(m: Accumulated) -> tuple[str, list[str]]:
    values = {times(r) for r in m.ratios.values() if r is not None}
    if len(values) == 1 and None not in m.ratios.values():
        then = f"every `.grad` is {values.pop()} times the gradient: `.grad` is added to, not replaced."
        if times(m.passes) not in then:
            then = f"every `.grad` is {times(next(iter(m.ratios.values())) or 0)} times the gradient."
    else:
        parts = (
            f"`{n}` is no multiple of its gradient" if r is None else f"`{n}` is {times(r)} times its gradient"
            for n, r in m.ratios.items()
        )
        then = f"{listed(parts)}."
    return "Accumulated `.grad`", [f"After {m.passes} backward passes with no `zero_grad()` between them, {then}"]


def _in_place(m: InPlace) -> tuple[str, list[str]]:
    said = [f"`{m.tensor}.mul_(2)` between the forward and the backward:"]
    said[0] += f" autograd notices, “{_short(m.message)}”." if m.message else " autograd raises nothing."
    if m.off:
        said.append(
            f"Called by hand, the derived `backward` has no such guard: a gradient comes out off by {number(m.off)}, "
            f"where its largest entry is {number(m.of)}."
        )
    else:
        said.append("Called by hand, the derived `backward` gives the same gradients as before.")
    return f"`{m.tensor}` changed in place", said


def _short(message: str) -> str:
    return message.partition(":")[0]


def _not_scalar(m: NotScalar) -> tuple[str, list[str]]:
    return "No upstream", [
        f"`{m.output}.backward()` raises “{m.message}”: `{m.output}` is no scalar, so an upstream is needed."
    ]


LESSONS: Mapping[type, Callable[..., tuple[str, list[str]]]] = {
    Overflowed: _overflowed,
    Transposed: _transposed,
    Factor: _factor,
    Accumulated: _accumulated,
    InPlace: _in_place,
    NotScalar: _not_scalar,
}
"""How each kind of mistake is told."""
