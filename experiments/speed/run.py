"""Prints the table of ratios, each pair measured side by side in this run; ``--out`` also writes results.{json,md}.

python experiments/speed/run.py
python experiments/speed/run.py --only emitted --repeats 50
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

from timing import Row, table

HERE = Path(__file__).parent


def main() -> int:
    """Measures, prints, and fails where a ratio is above what is allowed."""
    options = _options()
    rows: list[Row] = []
    for name, measure in SECTIONS.items():
        if options.only in (None, name):
            print(f"measuring: {name}", file=sys.stderr)
            rows += measure(options.repeats)
    text = f"{_sentence(machine())}\n\n{table(rows)}"
    print(text)
    if options.out:
        document = {"machine": machine(), "rows": [row.document() for row in rows]}
        (HERE / "results.json").write_text(json.dumps(document, indent=1) + "\n")
        (HERE / "results.md").write_text(f"# Speed\n\nWritten by `python experiments/speed/run.py --out`.\n\n{text}")
    return int(any(row.verdict == "NO" for row in rows))


def _process(repeats: int) -> list[Row]:
    from deriving import process_row

    return [process_row(repeats)]


def _warm(repeats: int) -> list[Row]:
    from deriving import warm_rows

    return warm_rows(repeats)


def _chain(repeats: int) -> list[Row]:
    from deriving import chain_rows

    return chain_rows(max(3, repeats // 4))


def _emitted(repeats: int) -> list[Row]:
    from emitted import rows

    return rows(2 * repeats)


def _overhead(repeats: int) -> list[Row]:
    from ops import overhead_rows

    return overhead_rows(repeats)


def _ops(repeats: int) -> list[Row]:
    from ops import rows

    return rows(repeats)


def _kept(repeats: int) -> list[Row]:
    from kept import rows

    return rows(repeats)


SECTIONS: dict[str, Callable[[int], list[Row]]] = {
    "process": _process,
    "warm": _warm,
    "chain": _chain,
    "emitted": _emitted,
    "overhead": _overhead,
    "ops": _ops,
    "kept": _kept,
}


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    import sympy
    import torch

    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "sympy": sympy.__version__,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())


def _sentence(facts: dict[str, object]) -> str:
    return (
        f"{facts['processor']}, {facts['cores']} cores ({facts['torch_threads']} torch threads), "
        f"Python {facts['python']}, torch {facts['torch']}, SymPy {facts['sympy']}."
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures the ratios that symderive promises.")
    parser.add_argument("--only", choices=SECTIONS, help="just this part of the table")
    parser.add_argument("--repeats", type=int, default=20, help="how often each pair is run")
    parser.add_argument("--out", action="store_true", help="write results.json and results.md beside this file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
