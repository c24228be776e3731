"""Calls every op of the catalogue from another spec, and holds both ways of deriving that against the true gradients.

    python experiments/calls/run.py [NAME...]

One way goes through the call by the op's own rule, the other derives everything anew. Prints an op where they differ
from the truth or the first one's formulas are much longer, then how many were called. Exit status 1 if any is wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from symderive.algebra.derive import derive, swept  # noqa: E402
from symderive.algebra.terms import cost  # noqa: E402
from tests.algebra.callers import caller  # noqa: E402
from tests.algebra.values import truth_and_derived  # noqa: E402

LONGER = 1.2
"""Formulas longer than the others by this factor are worth a look."""


def compare(path: Path) -> str:
    """What is to be said of calling the op of a spec; nothing where all is well."""
    spec = caller(path)
    ways = [derive(spec), derive(spec.expanded)]
    true, found = truth_and_derived(ways[0], 1)
    _, plain = truth_and_derived(ways[1], 1)
    for name, value in true.items():
        for got, how in ((found, "by the rule"), (plain, "written out")):
            if not np.allclose(got[name], value, rtol=1e-7, atol=1e-9):
                return f"WRONG {name} {how}"
    if not swept(spec)[0].calls:
        return "WRONG no rule is used"
    costs = [sum(cost(e.right) for e in d.display.equations) for d in ways]
    return f"longer: {costs[0]} against {costs[1]}" if costs[0] > LONGER * costs[1] else ""


def main(names: list[str]) -> int:
    """Compare all, or those named."""
    paths = [p for p in sorted((ROOT / "derivations").glob("*.yaml")) if not names or p.stem in names]
    said = {path.stem: compare(path) for path in paths}
    for name, text in said.items():
        if text:
            print(f"{name}: {text}")
    wrong = sum(text.startswith("WRONG") for text in said.values())
    print(f"{len(said)} ops called, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
