"""Derive as many random specs as one likes and report every one whose gradient is not the true one.

    python experiments/random-programs/run.py 5000 --start 0

The specs are those of the tests, ``tests/fuzz``; each fault is printed with its seed and its text.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.fuzz.generate import random_spec
from tests.fuzz.judge import faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, help="how many specs")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    started, wrong = time.perf_counter(), 0
    for done, seed in enumerate(range(options.start, options.start + options.count), 1):
        try:
            found = faults(seed)
        except Exception as error:  # every fault is reported with the spec that shows it
            found = [f"{type(error).__name__}: {error}"]
        if found:
            wrong += 1
            print(f"seed {seed}: {'; '.join(found)}\n{random_spec(seed)}", flush=True)
        if done % 100 == 0:
            print(f"{done} of {options.count}, {wrong} wrong", file=sys.stderr, flush=True)
    print(f"{options.count} specs, {wrong} wrong, {time.perf_counter() - started:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
