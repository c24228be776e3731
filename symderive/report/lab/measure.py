"""Measures a whole lab: errors over the runs, orders of summation, the graph, memory, and what can go wrong."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from symderive import __version__
from symderive.check import sizes as sizing
from symderive.check.devices import DEVICES, DTYPES, LACKING, full_precision, missing
from symderive.check.ops import OpError
from symderive.check.prepare import prepare
from symderive.errors import SpecError, SymderiveError
from symderive.record import record
from symderive.report.lab.data import ErrorRow, Lab, Memory, Setting, Sizes, Summary, summaries
from symderive.report.lab.errors import Bench, error_rows, kernels
from symderive.report.lab.graph import autograd_graph, derived_kept
from symderive.report.lab.memory import measure_memory
from symderive.report.lab.mistakes import mistakes
from symderive.report.lab.orders import summation_orders
from symderive.spec.model import Spec

Progress = Callable[[str, int, int], None]
"""Told what is being measured, how much of it is done, and how much there is."""

PACKAGES = ("torch", "numpy", "sympy", "scipy")


@record
class Plan:
    """What to measure."""

    runs: int = 20
    seed: int = 0
    dtypes: tuple[str, ...] = tuple(DTYPES)
    devices: tuple[str, ...] = ()
    sizes: Mapping[str, int | tuple[int, ...]] | None = None
    command: str = ""


def bench_for(spec: Spec, sizes: Mapping[str, int | tuple[int, ...]] | None = None, seed: int = 0) -> Bench:
    """The op prepared at the author's sizes, some of them replaced; small ones where it gives none."""
    chosen = sizing.author(spec, sizes) or sizing.small(spec)
    if chosen is None:
        raise SpecError(f"{spec.name} gives no sizes to measure at", hint="add 'sizes' to the spec, or use --sizes")
    return Bench(prepare(spec), chosen, seed)


def measure(spec: Spec, plan: Plan, progress: Progress | None = None) -> Lab:
    """The lab of a spec. Raises :class:`SymderiveError` where it cannot be measured."""
    say = progress or _silent
    start = time.perf_counter()
    bench = bench_for(spec, plan.sizes, plan.seed)
    devices, absent = _devices(plan.devices)
    with full_precision():
        rows = tuple(_rows(bench, plan, devices, say, absent))
        if not rows:
            raise SpecError(
                f"{spec.name}: nothing could be measured", hint="the code runs in none of the dtypes chosen"
            )
        steps: dict[str, Callable[[], Any]] = {
            "operators": lambda: {d: k for d in plan.dtypes if (k := kernels(bench, d)) is not None},
            "orders of summation": lambda: tuple(summation_orders(bench)),
            "autograd graph": lambda: autograd_graph(bench, _common(plan.dtypes)),
            "saved tensors": lambda: derived_kept(bench, bench.tensors(bench.case(0, "float32"), "float32")[0]),
            "memory": lambda: _memory(bench),
            "mistakes": lambda: tuple(mistakes(bench)),
        }
        found = {}
        for n, (name, step) in enumerate(steps.items()):
            say(name, n, len(steps))
            found[name] = step()
        say("", len(steps), len(steps))
    return Lab(
        setting(bench, plan, devices, absent),
        rows,
        found["operators"],
        found["orders of summation"],
        found["autograd graph"],
        found["saved tensors"],
        found["memory"],
        found["mistakes"],
        time.perf_counter() - start,
    )


def measure_errors(spec: Spec, plan: Plan, progress: Progress | None = None) -> list[Summary]:
    """The errors alone, median and maximum over the runs."""
    bench = bench_for(spec, plan.sizes, plan.seed)
    with full_precision():
        return summaries(_rows(bench, plan, _devices(plan.devices)[0], progress or _silent, {}))


def _silent(what: str, done: int, total: int) -> None:
    """Nobody is told."""


def _common(dtypes: Sequence[str]) -> str:
    return "float32" if "float32" in dtypes else dtypes[0]


def _memory(bench: Bench) -> Memory:
    return measure_memory(bench)


def _devices(wanted: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """The devices to measure on, and why others are not measured on."""
    names = tuple(wanted) or tuple(d for d in DEVICES if d != "meta")
    absent = {d: reason for d in names if (reason := missing(d))}
    if wanted and absent:
        name, reason = next(iter(absent.items()))
        raise SpecError(f"--device {name}: {reason}")
    return tuple(d for d in names if d not in absent), absent


def _rows(
    bench: Bench, plan: Plan, devices: Sequence[str], say: Progress, absent: dict[str, str]
) -> Iterator[ErrorRow]:
    """The rows of every run; where a low precision cannot be run at all, ``absent`` says why."""
    pairs = [(d, t) for d in devices for t in plan.dtypes if (d.partition(":")[0], t) not in LACKING]
    total = len(pairs) * plan.runs
    done = 0
    for device, dtype in pairs:
        for run in range(plan.runs):
            say(f"errors in {dtype} on {device}", done, total)
            done += 1
            try:
                yield from error_rows(bench, run, dtype, device)
            except (OpError, SymderiveError) as error:
                if dtype in ("float64", "float32"):
                    raise SpecError(f"{bench.subject.spec.name} in {dtype} on {device}: {error}") from error
                absent[f"{dtype} on {device}"] = str(error)
                done += plan.runs - run - 1
                break


def setting(bench: Bench, plan: Plan, devices: Sequence[str], absent: Mapping[str, str]) -> Setting:
    """What was measured, and with what."""
    spec = bench.subject.spec
    return Setting(
        spec.name,
        spec.title,
        spec.path,
        dict(bench.sizes),
        plan.runs,
        plan.seed,
        tuple(plan.dtypes),
        tuple(devices),
        dict(absent),
        bench.scalar,
        versions(),
        machine(),
        plan.command,
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )


def versions() -> dict[str, str]:
    """The versions that the numbers depend on."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"symderive": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """What kind of machine it is; nothing that tells which one."""
    found: dict[str, Any] = {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cpus": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "capability": torch.backends.cpu.get_cpu_capability(),
    }
    if torch.cuda.is_available():
        found["cuda"] = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
    return found


Measured = Lab
__all__ = ["Lab", "Plan", "Progress", "Sizes", "bench_for", "measure"]
