"""What checking gives: one frozen row for each thing that was compared, and the verdict over all of them."""

from __future__ import annotations

import math
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Status = Literal["pass", "fail", "skip"]
SpecStatus = Literal["pass", "fail", "error"]
Sizes = Mapping[str, "int | tuple[int, ...]"]


@dataclass(frozen=True)
class CheckResult:
    """One comparison. ``target`` is what was compared, ``detail`` says what to know about it or to do next.

    ``max_abs_error`` is the largest error of all entries; ``bound`` what was allowed at the entry that came nearest to
    (or exceeded by most) what it was allowed. The last five fields belong to claims.
    """

    check: str
    target: str
    status: Status
    dtype: str | None = None
    device: str | None = None
    sizes: Sizes | None = None
    max_abs_error: float | None = None
    bound: float | None = None
    detail: str = ""
    verdict: str | None = None
    diagnosis: Mapping[str, Any] | None = None
    line: int | None = None
    text: str | None = None
    side: int | None = None

    @property
    def ratio(self) -> float:
        """The error as a part of what was allowed; 0 where nothing was measured."""
        if self.max_abs_error is None or self.bound is None:
            return 0.0
        if math.isnan(self.max_abs_error):
            return math.inf
        if self.max_abs_error == 0:
            return 0.0
        return self.max_abs_error / self.bound if self.bound else math.inf

    def document(self) -> dict[str, Any]:
        """The row as JSON data; non-finite numbers are strings."""
        if self.check == "claim":
            return self._claim()
        sizes = (
            None if self.sizes is None else {k: list(v) if isinstance(v, tuple) else v for k, v in self.sizes.items()}
        )
        return {
            "check": self.check,
            "target": self.target,
            "dtype": self.dtype,
            "device": self.device,
            "sizes": sizes,
            "status": self.status,
            "max_abs_error": plain(self.max_abs_error),
            "bound": plain(self.bound),
            "detail": self.detail,
        }

    def _claim(self) -> dict[str, Any]:
        row = {
            "check": self.check,
            "target": self.target,
            "line": self.line,
            "text": self.text,
            "status": self.status,
            "verdict": self.verdict,
            "diagnosis": plain(self.diagnosis),
            "detail": self.detail,
        }
        return row if self.side is None else row | {"side": self.side}


def plain(value: Any) -> Any:
    """``value`` as JSON holds it: non-finite numbers as strings, tuples as lists, what JSON does not know as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


@dataclass(frozen=True)
class SpecResult:
    """All checks of one spec. ``error`` is set where the spec could not be used: ``message``, ``line``, ``column``.

    ``op`` names the implementation that was checked in place of the emitted code.
    """

    spec: str
    path: str
    checks: tuple[CheckResult, ...] = ()
    error: Mapping[str, Any] | None = None
    op: str = ""

    @property
    def status(self) -> SpecStatus:
        """``pass`` where something was checked and nothing failed; what was not checked has not passed."""
        if self.error is not None:
            return "error"
        statuses = {c.status for c in self.checks}
        return "pass" if "pass" in statuses and "fail" not in statuses else "fail"

    @property
    def ok(self) -> bool:
        """Whether it passed."""
        return self.status == "pass"

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """The checks that failed, in the order in which they ran."""
        return tuple(c for c in self.checks if c.status == "fail")

    def document(self) -> dict[str, Any]:
        """The spec's entry of the JSON document."""
        return {
            "spec": self.spec,
            "path": self.path,
            "status": self.status,
            "error": None if self.error is None else plain(self.error),
            "checks": [c.document() for c in self.checks],
        }

    def table(self, verbose: bool = False) -> str:
        """The results as text; see :mod:`symderive.report.text`."""
        return Results((self,)).table(verbose)

    def json(self) -> str:
        """The results as the JSON document of one spec."""
        return Results((self,)).json()

    def __str__(self) -> str:
        return self.table()


@dataclass(frozen=True)
class Results:
    """The results of several specs; ``environment`` says what they were measured with."""

    specs: tuple[SpecResult, ...]
    environment: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether there is a spec, and every one passed."""
        return bool(self.specs) and all(s.ok for s in self.specs)

    @property
    def exit_code(self) -> int:
        """0 all is well, 1 a check failed, 2 a spec could not be used."""
        if any(s.status == "error" for s in self.specs):
            return 2
        return 0 if self.ok else 1

    def __iter__(self) -> Iterator[SpecResult]:
        return iter(self.specs)

    def table(self, verbose: bool = False) -> str:
        """The results as text: what failed, what passed, what was skipped and why."""
        from symderive.report.text import results_table

        return results_table(self, verbose)

    def json(self) -> str:
        """The results as the JSON document of ``check --json``."""
        from symderive.report.json import results_json

        return results_json(self)

    def __str__(self) -> str:
        return self.table()


def fault(error: Exception) -> str:
    """An exception that should not have happened, with the place where it did."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"a fault of symderive itself, please report it: {type(error).__name__}: {error}{place}"
