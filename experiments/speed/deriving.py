"""How long deriving takes: the whole process, warm in one process, and as a chain grows."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import sympy
from chain import chain
from sympy.core.cache import clear_cache
from timing import Row, interleaved, seconds, shown

import symderive

ROOT = Path(__file__).parents[2]
SPECS = ROOT / "derivations"


def process_row(repeats: int) -> Row:
    """The whole process of ``symderive derive``, against one that only imports SymPy."""
    measured, yardstick = interleaved(
        repeats,
        _process("-m", "symderive", "derive", str(SPECS / "linear_mse.yaml"), "--no-check"),
        _process("-c", "import sympy"),
    )
    return Row("symderive derive linear_mse --no-check", measured, yardstick, 'python -c "import sympy"', 1.5)


def _process(*arguments: str) -> Callable[[], object]:
    command = [sys.executable, *arguments]
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT, env=os.environ)


def warm_rows(repeats: int) -> list[Row]:
    """Deriving in a process that has derived before, against the milliseconds allowed; SymPy's caches are emptied."""
    limits = {"linear_mse": 0.025, "attention": 0.1, "layer_norm": 0.1}
    return [_warm(name, limit, repeats) for name, limit in limits.items()]


def _warm(name: str, limit: float, repeats: int) -> Row:
    spec = symderive.load(SPECS / f"{name}.yaml")

    def expand() -> None:
        x, y, z = sympy.symbols("x y z")
        ((x + y + z + 1) ** 20).expand()

    measured, yardstick = [], []
    symderive.derive(spec)
    for _ in range(repeats):
        clear_cache()
        measured.append(seconds(lambda: symderive.derive(spec)))
        clear_cache()
        yardstick.append(seconds(expand))
    beside = f"SymPy expands (x+y+z+1)**20 in {shown(statistics.median(yardstick))}"
    return Row(f"derive {name}, warm", measured, [limit] * repeats, f"{limit * 1e3:.0f} ms", 1.0, beside)


def chain_rows(repeats: int) -> list[Row]:
    """A chain of 100 layers against one of 10: the time to derive it and write its code, and the size of the code."""
    texts: dict[int, str] = {}

    def derive(layers: int) -> Callable[[], object]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"chain{layers}.yaml"
            path.write_text(chain(layers))
            spec = symderive.load(path)

        def run() -> None:
            texts[layers] = symderive.derive(spec).torch

        return run

    measured, yardstick = interleaved(repeats, derive(100), derive(10))
    sizes = [len(texts[n].splitlines()) for n in (100, 10)]
    return [
        Row("derive and emit a chain of 100 layers", measured, yardstick, "one of 10", 12),
        Row("the code of a chain of 100 layers", sizes[:1], sizes[1:], "one of 10", 12, unit="lines"),
    ]
