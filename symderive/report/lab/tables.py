"""Tables of a report in Markdown, and the errors as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

from symderive.report.lab.data import ErrorRow, Graph, Kept, Orders, Summary
from symderive.report.lab.drawing import derived_lines
from symderive.report.lab.lessons import node_note
from symderive.report.lab.words import number, shape

COLUMNS = (
    "run",
    "gradient",
    "dtype",
    "device",
    "max_abs_error_autograd",
    "max_abs_error_float64",
    "max_rel_error",
    "bound",
    "overflow",
    "overflowed",
)
"""The columns of ``errors.csv``."""


def errors_csv(rows: Iterable[ErrorRow]) -> str:
    """One line a run, gradient, dtype and device; what PyTorch cannot compute is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for r in rows:
        writer.writerow(
            [
                r.run,
                r.gradient,
                r.dtype,
                r.device,
                "" if r.autograd is None else repr(r.autograd),
                repr(r.float64),
                repr(r.relative),
                repr(r.bound),
                "yes" if r.overflow else "no",
                " ".join(r.overflow),
            ]
        )
    return text.getvalue()


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table that is readable as text, too; ``right`` are the columns that are set flush right."""
    cells = [[c.replace("|", "\\|") for c in row] for row in (columns, *rows)]
    widths = [max(3, *(len(row[n]) for row in cells)) for n in range(len(columns))]
    lines = [_row([_set(c, w, n in right) for n, (c, w) in enumerate(zip(row, widths, strict=True))]) for row in cells]
    rule = _row([("-" * (w - 1) + ":") if n in right else "-" * w for n, w in enumerate(widths)])
    return "\n".join([lines[0], rule, *lines[1:]])


def _set(cell: str, width: int, right: bool) -> str:
    return cell.rjust(width) if right else cell.ljust(width)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def error_table(summaries: Sequence[Summary]) -> str:
    """Median and maximum over the runs, for each dtype and gradient."""
    devices = {s.device for s in summaries}
    head = [
        *(["device"] if devices != {"cpu"} else []),
        "dtype",
        "gradient",
        "autograd, median",
        "autograd, max",
        "float64, median",
        "float64, max",
        "relative, max",
        "allowed",
        "overflow",
    ]
    first = len(head) - 7
    rows = [[*([s.device] if devices != {"cpu"} else []), s.dtype, f"`{s.gradient}`", *_cells(s)] for s in summaries]
    return markdown_table(head, rows, tuple(range(first, first + 6)))


def _cells(s: Summary) -> list[str]:
    same = ("n/a", "n/a") if s.autograd is None else (number(s.autograd[0]), number(s.autograd[1]))
    lost = ", ".join(f"`{n}`" for n in s.overflow)
    return [*same, number(s.float64[0]), number(s.float64[1]), number(s.relative), number(s.bound), lost]


def orders_table(orders: Sequence[Orders]) -> str:
    """The two orders of summation beside each other."""
    rows = [
        [
            f"`{o.gradient}`",
            f"{o.entries} of {o.total}",
            str(o.terms),
            number(o.array),
            number(o.sequential),
            number(o.apart),
        ]
        for o in orders
    ]
    head = ("gradient", "entries", "terms of its longest sum", "array form", "left to right", "apart")
    return markdown_table(head, rows, (2, 3, 4, 5))


def graph_table(graph: Graph, backward: Mapping[str, list[str]]) -> str:
    """Every node: the equation that it belongs to, the derived gradients of that, what it keeps, what it is."""
    rows = []
    for n, node in enumerate(graph.nodes):
        derived = "; ".join(f"`{' ⏎ '.join(line.splitlines())}`" for line in derived_lines(node, backward))
        rows.append(
            [
                f"`{node.kind}`",
                f"`{node.leaf}`" if node.leaf else ", ".join(f"`{t}`" for t in node.equations),
                derived,
                ", ".join(f"`{k.name or k.attribute}` {shape(k.shape)}" for k in node.kept),
                node_note(graph, n),
            ]
        )
    return markdown_table(("node", "of", "its gradients, derived", "keeps", "what it is"), rows)


def kept_table(graph: Graph, derived: Sequence[Kept]) -> str:
    """What autograd and what the derived backward keep, a tensor a row."""
    rows = [[f"autograd, `{n.kind}`", *_kept_cells(k)] for n in graph.nodes for k in n.kept]
    rows += [["derived", *_kept_cells(k)] for k in derived]
    return markdown_table(("kept by", "tensor", "shape", "dtype", "bytes", ""), rows, (4,))


def _kept_cells(kept: Kept) -> list[str]:
    note = "an input" if kept.given else ""
    if kept.shared:
        note = f"{note}, counted above" if note else "counted above"
    return [f"`{kept.name or kept.attribute}`", shape(kept.shape), kept.dtype, f"{kept.bytes:,}", note]
