"""Plots of a lab by matplotlib, which is imported here and only when a plot is made."""

from __future__ import annotations

import importlib.util
import io
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from symderive.report.lab.data import ErrorRow, Lab, extra_bytes

COLOURS = ("#1f77b4", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#a6761d", "#666666", "#66a61e")
INSTALL = "pip install 'symderive[report]'"


def can_plot() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw_plots(lab: Lab) -> dict[str, bytes]:
    """The plots of a lab as PNG, by the names of their files."""
    return {name: _png(draw(lab)) for name, draw in PLOTS.items()}


def _png(figure: Any) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=130, metadata={"Software": None})
    return stream.getvalue()


def _figure(width: float, height: float) -> Any:
    """A figure that no display and no global state is needed for."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def errors_figure(lab: Lab) -> Any:
    """Every run as a dot, by dtype and gradient: against autograd on the left, against float64 on the right."""
    gradients = list(dict.fromkeys(r.gradient for r in lab.rows))
    groups = list(dict.fromkeys((r.device, r.dtype) for r in lab.rows))
    figure = _figure(max(8.0, 1.9 * len(groups) + 3), 4.2)
    panels = figure.subplots(1, 2, sharey=True)
    floor = _floor(lab.rows)
    for panel, title, value in (
        (panels[0], "against autograd of the same dtype", lambda r: r.autograd),
        (panels[1], "against float64 of the same inputs", lambda r: r.float64),
    ):
        _dots(panel, lab.rows, groups, gradients, value, floor)
        panel.set_title(title, fontsize=10)
    _bounds(panels[1], lab.rows, groups, gradients, 10 * floor)
    panels[0].set_ylabel("largest absolute error of a run")
    if any(not math.isfinite(v) for r in lab.rows for v in (r.autograd, r.float64) if v is not None):
        panels[0].annotate("▲ not finite", (0.01, 0.985), xycoords="axes fraction", fontsize=7, va="top", color="0.4")
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(8, len(labels)), fontsize=8, frameon=False)
    figure.suptitle(f"{lab.setting.spec}: errors of {lab.setting.runs} runs", fontsize=11)
    return figure


def _floor(rows: Sequence[ErrorRow]) -> float:
    """Where an error of exactly 0 is drawn: two decades below the smallest that is not."""
    seen = [v for r in rows for v in (r.autograd, r.float64) if v and math.isfinite(v)]
    return 10.0 ** (math.floor(math.log10(min(seen, default=1e-16))) - 2)


def _ceiling(rows: Sequence[ErrorRow]) -> float:
    """Five times the largest error or bound."""
    seen = [v for r in rows for v in (r.autograd, r.float64, r.bound) if v and math.isfinite(v)]
    return 5 * max(seen, default=1.0)


def _dots(  # noqa: PLR0917
    panel: Any,
    rows: Sequence[ErrorRow],
    groups: Sequence[tuple[str, str]],
    gradients: Sequence[str],
    value: Callable[[ErrorRow], float | None],
    floor: float,
) -> None:
    panel.set_yscale("log")
    for g, gradient in enumerate(gradients):
        xs, ys, lost = [], [], []
        for n, group in enumerate(groups):
            own = [r for r in rows if (r.device, r.dtype) == group and r.gradient == gradient]
            for k, row in enumerate(own):
                y = value(row)
                x = n + _place(g, len(gradients)) + 0.5 * _spread(k, len(own)) / (len(gradients) + 1)
                if y is not None and math.isfinite(y):
                    xs.append(x)
                    ys.append(y or floor)
                elif y is not None:
                    lost.append(x)
        if lost:
            panel.scatter(lost, [_ceiling(rows) / 2] * len(lost), s=16, marker="^", color=COLOURS[g % len(COLOURS)])
        panel.scatter(xs, ys, s=11, alpha=0.65, linewidths=0, color=COLOURS[g % len(COLOURS)], label=gradient)
    panel.axhspan(floor / 4, floor * 4, color="0.93", zorder=0)
    panel.annotate(
        "exactly 0",
        (0.995, floor * 3.4),
        xycoords=("axes fraction", "data"),
        fontsize=7,
        ha="right",
        va="top",
        color="0.4",
    )
    panel.set_ylim(floor / 4, _ceiling(rows))
    ticks = [t for t in panel.get_yticks() if floor * 4 < t <= _ceiling(rows)]
    panel.set_yticks(ticks)
    panel.minorticks_off()
    panel.set_xlim(-0.6, len(groups) - 0.4)
    panel.set_xticks(range(len(groups)), [t if d == "cpu" else f"{t}\n{d}" for d, t in groups])
    panel.grid(axis="y", alpha=0.25, linewidth=0.5)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def _place(position: int, count: int) -> float:
    return (position - (count - 1) / 2) * 0.8 / max(count, 1)


def _spread(position: int, count: int) -> float:
    return position / (count - 1) - 0.5 if count > 1 else 0.0


def _bounds(
    panel: Any, rows: Sequence[ErrorRow], groups: Sequence[tuple[str, str]], gradients: Sequence[str], least: float
) -> None:
    """What the error analysis allows, a bar over the dots."""
    label: str | None = "allowed by the error analysis"
    for g, gradient in enumerate(gradients):
        for n, group in enumerate(groups):
            own = [r.bound for r in rows if (r.device, r.dtype) == group and r.gradient == gradient]
            top = max((b for b in own if math.isfinite(b) and b > 0), default=0.0)
            if top > least:
                x, half = n + _place(g, len(gradients)), 0.3 / max(len(gradients), 1)
                panel.plot([x - half, x + half], [top, top], color="0.35", linewidth=1.2, label=label)
                label = None


def memory_figure(lab: Lab) -> Any:
    """Peaks, and what is kept for the backward besides the inputs."""
    m = lab.memory
    bars = {
        "kept for backward, autograd": extra_bytes(lab.graph.kept),
        "kept for backward, derived": extra_bytes(lab.derived),
        "forward, no_grad: peak": m.forward_no_grad,
        "forward, recording: peak": m.forward_recording,
        "forward + backward, autograd: peak": m.step_autograd,
        "forward + backward, derived: peak": m.step_derived,
    }
    figure = _figure(8.0, 2.7)
    panel = figure.subplots()
    values = [v / 1024 for v in bars.values()]
    colours = [COLOURS[1] if "derived" in n else COLOURS[0] for n in bars]
    drawn = panel.barh(range(len(bars)), values, color=colours, height=0.65)
    panel.bar_label(drawn, [f" {v:,.1f}" for v in values], fontsize=8)
    panel.set_yticks(range(len(bars)), list(bars), fontsize=8)
    panel.invert_yaxis()
    panel.margins(x=0.12)
    panel.set_xlabel("KiB besides the inputs", fontsize=9)
    panel.set_title(f"{lab.setting.spec}: memory in {lab.graph.dtype}", fontsize=10)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    return figure


PLOTS: Mapping[str, Callable[[Lab], Any]] = {"errors.png": errors_figure, "memory.png": memory_figure}
"""The plots of a report, by the names of their files."""
