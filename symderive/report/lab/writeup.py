"""``REPORT.md``: the mathematics, the measurements, and what follows from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from symderive.api import Derivation
from symderive.emit.markdown import derivation_markdown
from symderive.report.lab import tables
from symderive.report.lab.data import Lab
from symderive.report.lab.drawing import tree
from symderive.report.lab.equations import Equations
from symderive.report.lab.findings import degrading, error_findings, headlines, order_findings
from symderive.report.lab.lessons import graph_findings, lesson, memory_findings, saved_findings
from symderive.report.lab.words import amount, code, runs, sizes
from symderive.wording import listed

NO_REFERENCE = "The spec has no reference, so autograd differentiates the emitted forward."


def report_markdown(lab: Lab, derivation: Derivation, plots: Sequence[str] = (), files: Sequence[str] = ()) -> str:
    """The report of a lab as Markdown that GitHub shows."""
    equations = Equations(derivation)
    parts: list[str] = [
        *_head(lab, derivation),
        *_results(derivation),
        *_errors(lab, [p for p in plots if p.startswith("errors")]),
        *_orders(lab),
        *_graph(lab, equations),
        *_memory(lab, [p for p in plots if p.startswith("memory")]),
        *_mistakes(lab),
        *_mathematics(derivation),
        *_environment(lab, files),
    ]
    return "\n\n".join(p for p in parts if p) + "\n"


def _head(lab: Lab, derivation: Derivation) -> Iterator[str]:
    setting, spec = lab.setting, derivation.spec
    yield f"# {setting.title or setting.spec}: the gradients, measured"
    upstream = (
        f"The upstream of `{spec.outputs[0]}` is 1, as in `{spec.outputs[0]}.backward()`."
        if setting.scalar
        else f"The upstream of {code(spec.outputs)} is random."
    )
    yield (
        f"`{setting.path or setting.spec}` at {sizes(setting.sizes)}: {runs(setting.runs)} with random inputs "
        f"(seed {setting.seed}) in {listed(setting.dtypes)} on {listed(setting.devices)}. {upstream} "
        + ("" if lab.graph.of_reference else f"{NO_REFERENCE} ")
        + "Every number and every conclusion below is of this run."
    )
    if spec.source:
        yield f"Source of the formula: {spec.source}."
    yield "\n".join(f"- {line}" for line in headlines(lab))


def _results(derivation: Derivation) -> Iterator[str]:
    yield "## The gradients"
    helpers = [t for t in derivation.written_forms if t.removeprefix("d") not in derivation.gradients]
    lines = [derivation.array_form(t) or "" for t in helpers]
    lines += [g.array or g.index for g in derivation]
    yield "In array form, as it can be pasted into code or back into a spec as claims:"
    yield "```python\n" + "\n".join(line for line in lines if line) + "\n```"
    yield "In index form, and both as formulas:"
    yield "```\n" + "\n".join(derivation.equations()) + "\n```"
    for gradient in derivation:
        yield f"$$\n{gradient.latex()}\n$$"
        if gradient.array is not None:
            yield f"$$\n{gradient.latex('array')}\n$$"
    yield "The steps that lead there are at the end, under [The derivation](#the-derivation); the code is `derived.py`."


def _errors(lab: Lab, plots: Sequence[str]) -> Iterator[str]:
    yield "## Errors"
    yield (
        "The largest absolute error of any entry: against autograd of the same dtype, and against float64 of the same "
        "inputs, as the dtype rounds them; its median and maximum over the runs. *relative* is the largest quotient of "
        "the latter error and the true entry, *allowed* the largest bound of the error analysis."
    )
    yield tables.error_table(lab.summaries)
    yield from (f"![Errors of every run, on a logarithmic scale]({p})" for p in plots)
    for (device, dtype), sentences in error_findings(lab).items():
        where = dtype if device == "cpu" else f"{dtype} on {device}"
        yield f"**{where}.** {' '.join(sentences)}"
    grown = list(degrading(lab))
    if grown:
        yield " ".join(grown)
    if lab.setting.missing:
        yield "Not measured: " + "; ".join(f"{d} ({why})" for d, why in lab.setting.missing.items()) + "."


def _orders(lab: Lab) -> Iterator[str]:
    yield "## The order of summation"
    if lab.orders:
        yield (
            "The same formula in float32 twice: by `derived.py`, and by a loop that adds one term after the other and "
            "rounds after each operation. Both against float64, and against each other, at the same entries:"
        )
        yield tables.orders_table(lab.orders)
    yield " ".join(order_findings(lab))


def _graph(lab: Lab, equations: Equations) -> Iterator[str]:
    yield "## The autograd graph"
    yield " ".join(graph_findings(lab.graph))
    yield f"```\n{tree(lab.graph).rstrip()}\n```"
    yield tables.graph_table(lab.graph, equations.backward)


def _memory(lab: Lab, plots: Sequence[str]) -> Iterator[str]:
    yield "## What is saved, and memory"
    yield f"Seen by saved-tensor hooks, in {lab.graph.dtype} at {sizes(lab.graph.sizes)}:"
    yield tables.kept_table(lab.graph, lab.derived)
    yield " ".join(saved_findings(lab.graph, lab.derived))
    m = lab.memory
    yield "The most bytes of tensors alive at once besides the inputs, counted at every operator:"
    yield tables.markdown_table(
        ("", "peak"),
        [
            ["forward, recording", amount(m.forward_recording)],
            ["forward under `torch.no_grad()`", amount(m.forward_no_grad)],
            ["forward and backward, autograd", amount(m.step_autograd)],
            ["forward and backward, derived", amount(m.step_derived)],
        ],
        (1,),
    )
    yield from (f"![Memory beside the inputs]({p})" for p in plots)
    yield " ".join(memory_findings(m))


def _mistakes(lab: Lab) -> Iterator[str]:
    yield "## What can go wrong"
    yield "Each of these was run."
    for mistake in lab.mistakes:
        title, sentences = lesson(mistake)
        yield f"**{title}.** {' '.join(sentences)}"


def _mathematics(derivation: Derivation) -> Iterator[str]:
    yield "## The derivation"
    text = derivation_markdown(derivation.core, derivation.written_forms)
    yield demoted(text.partition("\n")[2].strip())


def demoted(text: str) -> str:
    """Markdown with each heading one level lower; code and formulas stay as they are."""
    parts = re.split(r"(^```.*?^```|^\$\$.*?^\$\$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(p if n % 2 else re.sub(r"^#", "##", p, flags=re.MULTILINE) for n, p in enumerate(parts))


def _environment(lab: Lab, files: Sequence[str]) -> Iterator[str]:
    yield "## Environment"
    setting = lab.setting
    rows = [[name, str(value)] for name, value in {**setting.versions, **setting.machine}.items()]
    rows += [["time", setting.time], ["took", f"{lab.seconds:.0f} s"]]
    if setting.command:
        rows.append(["command", f"`{setting.command}`"])
    yield tables.markdown_table(("", ""), rows)
    if files:
        yield f"With this report: {code(files)}."
