"""Runs the matrix of checks over specs: one result for each comparison, whatever goes wrong on the way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from symderive.catalogue import spec_path, spec_paths
from symderive.check.devices import environment, full_precision
from symderive.check.matrix import Options, Planned, options, plan
from symderive.check.ops import OpError, as_op
from symderive.check.own import Own
from symderive.check.prepare import UnusableReferenceError, prepare
from symderive.check.results import CheckResult, Results, SpecResult, fault
from symderive.check.subject import Subject
from symderive.errors import SymderiveError
from symderive.spec import load
from symderive.spec.model import Spec


@dataclass(frozen=True)
class Event:
    """One step of progress: what has just been ``done`` of a ``total``, and its rows."""

    spec: str
    check: str
    done: int
    total: int
    rows: tuple[CheckResult, ...] = ()


Progress = Callable[[Event], None]


def check(
    spec: Spec | str | os.PathLike[str],
    dtypes: Sequence[str] | None = None,
    devices: Sequence[str] | None = None,
    sizes: Mapping[str, int | tuple[int, ...]] | None = None,
    op: Any = None,
    *,
    seed: int = 0,
    runs: int = 1,
    quick: bool = False,
    max_memory: int | None = None,
    require_device: Sequence[str] = (),
    kinds: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> SpecResult:
    """Check a spec, or the spec in a file: all checks, in every dtype and on every device unless some are named.

    ``op`` is checked in place of the emitted code: a function of the spec's inputs, an object or module with
    ``INPUTS``, ``OUTPUTS``, ``WRT``, ``forward`` and ``backward``, or ``"module:function"``. ``sizes`` replaces
    some of the spec's, ``runs`` repeats every check with other random numbers, ``max_memory`` is in bytes, ``kinds``
    names the kinds of check to run. Claims are not about an ``op``: they are judged where none is given. Raises
    :class:`SymderiveError` where an option, the op or the file cannot be used.
    """
    chosen = options(
        dtypes, devices, require_device, sizes=sizes, seed=seed, runs=max(runs, 1), quick=quick, max_memory=max_memory
    )
    if kinds is not None:
        chosen = replace(chosen, kinds=tuple(kinds))
    spec = spec if isinstance(spec, Spec) else load(spec_path(os.fspath(spec)))
    return check_spec(spec, chosen, op, progress)


def check_spec(spec: Spec, chosen: Options, op: Any = None, progress: Progress | None = None) -> SpecResult:
    """The results of one spec. What makes it unusable is its ``error``; a wrong size or op is raised."""
    given = None if op is None else as_op(spec, op)
    planned = plan(spec, chosen) if given is None else [p for p in plan(spec, chosen) if p.kind.name != "claim"]
    try:
        subject = prepare(spec, given)
    except SymderiveError as error:
        return SpecResult(spec.name, spec.path, error=error_document(error))
    except Exception as error:
        return SpecResult(spec.name, spec.path, error={"message": fault(error), "line": None, "column": None})
    try:
        rows = merged(_run_all(subject, planned, chosen, progress), chosen.runs)
    except UnusableReferenceError as error:
        return SpecResult(spec.name, spec.path, error=error_document(error))
    return SpecResult(spec.name, spec.path, tuple(rows), op=_op_name(op))


def _op_name(op: Any) -> str:
    """What to call an op that was given: its address, or its own name."""
    return "" if op is None else op if isinstance(op, str) else getattr(op, "__name__", type(op).__name__)


def _run_all(
    subject: Subject, planned: list[Planned], chosen: Options, progress: Progress | None
) -> Iterator[CheckResult]:
    total = len(planned) * chosen.runs
    done = 0
    for n in range(chosen.runs):
        for entry in planned:
            cell = replace(entry.cell, seed=entry.cell.seed + n)
            rows = (entry.instead,) if entry.instead else tuple(run_cell(subject, replace(entry, cell=cell)))
            done += 1
            if progress is not None:
                progress(Event(subject.spec.name, entry.kind.name, done, total, rows))
            yield from rows


def run_cell(subject: Subject, entry: Planned) -> list[CheckResult]:
    """The rows of one cell. An exception becomes a failed row that says whose fault it is."""
    rows: list[CheckResult] = []
    cell = entry.cell
    try:
        with full_precision():
            rows.extend(entry.kind.function(subject, cell))
    except UnusableReferenceError:
        raise
    except OpError as error:
        rows.append(cell.result(entry.kind.name, "fail", str(error)))
    except SymderiveError as error:
        rows.append(cell.result(entry.kind.name, "fail", str(error)))
    except Exception as error:
        rows.append(cell.result(entry.kind.name, "fail", fault(error)))
    return [_unreached(subject, row) for row in rows]


def _unreached(subject: Subject, row: CheckResult) -> CheckResult:
    """The row, which says so where a wrong gradient is one that autograd does not give at all."""
    if row.status != "fail" or not isinstance(subject.op, Own) or row.target not in subject.op.missing:
        return row
    return replace(row, detail=f"{row.detail}; autograd gives None for it, not a gradient")


def error_document(error: SymderiveError) -> dict[str, Any]:
    """An error as results hold it."""
    span = error.location.span if error.location else None
    message = error.message + (f" ({error.hint})" if error.hint else "")
    return {"message": message, "line": span.line if span else None, "column": span.column if span else None}


def merged(rows: Iterable[CheckResult], runs: int) -> list[CheckResult]:
    """The rows, of several runs of the same check the worst one."""
    if runs == 1:
        return list(rows)
    found: dict[tuple[Any, ...], CheckResult] = {}
    for row in rows:
        key = (row.check, row.target, row.dtype, row.device, str(row.sizes), row.line, row.side)
        if key not in found or _severity(row) > _severity(found[key]):
            found[key] = row
    return list(found.values())


def _severity(row: CheckResult) -> tuple[int, float]:
    return {"skip": 0, "pass": 1, "fail": 2}[row.status], row.ratio


def check_paths(
    paths: Sequence[str | os.PathLike[str]],
    chosen: Options,
    op: Any = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Results:
    """The results of every spec that the paths name, with ``jobs`` processes."""
    files = spec_paths(paths)
    if len(files) == 1:
        return Results((check_file(files[0], chosen, op, progress, alone=True),), environment())
    if jobs <= 1:
        return Results(tuple(check_file(f, chosen, op, progress) for f in files), environment())
    with ProcessPoolExecutor(min(jobs, len(files)), mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(check_file, f, chosen, op) for f in files]
        results = []
        for n, future in enumerate(futures, 1):
            results.append(future.result())
            if progress is not None:
                progress(Event(results[-1].spec, "", n, len(files), results[-1].checks))
    return Results(tuple(results), environment())


def check_file(
    path: Path, chosen: Options, op: Any = None, progress: Progress | None = None, *, alone: bool = False
) -> SpecResult:
    """The results of the spec in one file; one that cannot be read has an error.

    Of several specs (not ``alone``), each takes those of the given sizes that it has.
    """
    try:
        spec = load(spec_path(str(path)))
    except SymderiveError as error:
        return SpecResult(path.stem, str(path), error=error_document(error))
    if not alone and chosen.sizes:
        own = {n: v for n, v in chosen.sizes.items() if n in spec.sizes}
        chosen = replace(chosen, sizes=own or None)
    return check_spec(spec, chosen, op, progress)
