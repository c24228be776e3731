"""Times two things side by side, so that what the machine does meanwhile falls on both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One row of the table: a thing and its yardstick, in seconds or another ``unit``, and the highest ratio allowed.

    The ratio is that of the medians. ``beside`` is a time to know about that nothing is held against.
    """

    name: str
    measured: Sequence[float]
    yardstick: Sequence[float]
    against: str
    allowed: float | None = None
    beside: str = ""
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """Median over median."""
        return statistics.median(self.measured) / statistics.median(self.yardstick)

    @property
    def best_ratio(self) -> float:
        """Minimum over minimum."""
        return min(self.measured) / min(self.yardstick)

    @property
    def verdict(self) -> str:
        """Whether the ratio keeps to what is allowed."""
        if self.allowed is None:
            return ""
        return "yes" if self.ratio <= self.allowed else "NO"

    def document(self) -> dict[str, object]:
        """The row as JSON data."""
        return {
            "name": self.name,
            "against": self.against,
            "unit": self.unit,
            "median": statistics.median(self.measured),
            "min": min(self.measured),
            "yardstick_median": statistics.median(self.yardstick),
            "yardstick_min": min(self.yardstick),
            "ratio": self.ratio,
            "ratio_of_minima": self.best_ratio,
            "allowed": self.allowed,
            "beside": self.beside,
        }


def interleaved(repeats: int, *things: Callable[[], object], warm: int = 1) -> list[list[float]]:
    """The seconds of each of ``repeats`` runs of each thing, run in turn after ``warm`` runs that do not count."""
    for _ in range(warm):
        for thing in things:
            thing()
    times: list[list[float]] = [[] for _ in things]
    for _ in range(repeats):
        for thing, taken in zip(things, times, strict=True):
            taken.append(seconds(thing))
    return times


def seconds(thing: Callable[[], object]) -> float:
    """The seconds of one run."""
    start = time.perf_counter()
    thing()
    return time.perf_counter() - start


def shown(value: float, unit: str = "s") -> str:
    """A measurement as a person writes it."""
    if unit != "s":
        return f"{value:g} {unit}"
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.1f} ms" if value >= 1e-3 else f"{value * 1e6:.0f} us"


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| what | median | against | median | ratio | of minima | allowed | kept | beside |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | --- | --- |",
    ]
    for row in rows:
        allowed = "" if row.allowed is None else f"{row.allowed:g}"
        measured, yardstick = (shown(statistics.median(times), row.unit) for times in (row.measured, row.yardstick))
        ratios = f"{row.ratio:.2f} | {row.best_ratio:.2f} | {allowed} | {row.verdict}"
        lines.append(f"| {row.name} | {measured} | {row.against} | {yardstick} | {ratios} | {row.beside} |")
    return "\n".join(lines) + "\n"
