"""Rewrites and mutates every catalogue gradient at random, judges each, and prints a table with a row a spec.

    python experiments/claims-sweep/run.py --rewritings 20 --mutants 12
    python experiments/claims-sweep/run.py --rewritings 3 --mutants 1 --random 400
    python experiments/claims-sweep/run.py --rewritings 0 --pairs 4 --misnamed

No rewriting may be rejected and no mutant that is not equal may pass: such a fault is printed, and the exit status is
1. The table has, for each spec, its own claims and how long they take together, the rewritings, the mutants that are
not equal and those that are, how many diagnoses name a kind of change that made the mutant, how many name one of the
two where there are two mistakes of different kinds (``--pairs``), and the mean and the worst time of a verdict in
processor time, where the truth is computed once for all claims of a spec, and the worst time of one of a sample of
claims that are judged alone. The changes are those of ``tests/claims``, the random specs those of ``tests/fuzz``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.claims.sweep import CATALOGUE, Row, row

HEAD = (
    f"{'spec':34} {'claims':>6} {'s':>6} {'rewritten':>9} {'mutants':>7} {'equal':>5} {'named':>6} "
    f"{'pairs':>5} {'named':>5} {'mean s':>7} {'worst s':>7} {'alone s':>7}"
)


def line(found: Row) -> str:
    """A row of the table."""
    judged = found.rewritings + found.mutants + found.equal + found.pairs
    named = f"{found.named / found.mutants:6.0%}" if found.mutants else "     -"
    both = f"{found.pairs_named / found.pairs:5.0%}" if found.pairs else "    -"
    return (
        f"{found.spec:34} {found.claims:6} {found.claims_seconds:6.2f} {found.rewritings:9} {found.mutants:7} "
        f"{found.equal:5} {named} {found.pairs:5} {both} {found.seconds / max(judged, 1):7.3f} {found.worst:7.2f} "
        f"{found.alone:7.2f}"
    )


def summary(rows: list[Row]) -> str:
    """What holds of all specs together."""
    mutants, named = sum(r.mutants for r in rows), sum(r.named for r in rows)
    kinds: dict[str, list[int]] = {}
    for found in rows:
        for kind, (right, total) in found.by_kind.items():
            counts = kinds.setdefault(kind, [0, 0])
            counts[0] += right
            counts[1] += total
    judged = mutants + sum(r.equal + r.rewritings + r.pairs for r in rows)
    lines = [
        f"{len(rows)} specs, {sum(r.rewritings for r in rows)} rewritings, {mutants} mutants, "
        f"{sum(r.equal for r in rows)} equal; {sum(len(r.faults) for r in rows)} faults",
        f"{sum(r.seconds for r in rows):.0f} s for {judged} verdicts, the worst {max(r.worst for r in rows):.2f} s, "
        f"{max(r.alone for r in rows):.2f} s alone; "
        f"the worst claims of one spec {max(r.claims_seconds for r in rows):.2f} s",
    ]
    if mutants:
        lines.append(f"the diagnosis names the kind of {named} of {mutants}, {named / mutants:.1%}:")
        lines += [
            f"    {kind:20} {right:5} of {total:5} {right / total:6.1%}" for kind, (right, total) in kinds.items()
        ]
    if pairs := sum(r.pairs for r in rows):
        named, told = sum(r.pairs_named for r in rows), sum(r.pairs_told for r in rows)
        lines.append(f"of {pairs} with two mistakes the kind of one is named in {named}, {named / pairs:.1%};")
        lines.append(f"    {told}, {told / pairs:.1%}, are told of more than one mistake")
    wrong = Counter((made, said) for r in rows for made, said, _ in r.misnamed)
    lines += [f"    {made} is called {said}: {n}" for (made, said), n in wrong.most_common(12)]
    return "\n".join(lines)


def work(job: tuple[str, int, int, int, int]) -> Row:
    """One spec; an error is a fault of it."""
    try:
        return row(*job)
    except Exception as error:  # the sweep goes on, and says where it failed
        return Row(job[0], faults=[f"{type(error).__name__}: {error}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rewritings", type=int, default=20, help="of each gradient (default 20)")
    parser.add_argument("--mutants", type=int, default=0, help="of each gradient in each form (default 0)")
    parser.add_argument("--pairs", type=int, default=0, help="with two mistakes, of each form (default 0)")
    parser.add_argument("--only", action="append", metavar="SPEC", help="a spec of the catalogue; repeatable")
    parser.add_argument("--random", type=int, metavar="N", help="N random specs in place of the catalogue")
    parser.add_argument("--start", type=int, default=0, metavar="SEED", help="of the first random spec (default 0)")
    parser.add_argument("--jobs", type=int, default=1, help="specs at a time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--misnamed", action="store_true", help="print the mutants whose diagnosis names another kind")
    options = parser.parse_args()
    names = options.only or sorted(p.stem for p in CATALOGUE.glob("*.yaml"))
    if options.random:
        names = [f"random {seed}" for seed in range(options.start, options.start + options.random)]
    jobs = [(name, options.rewritings, options.mutants, options.pairs, options.seed) for name in names]
    rows: list[Row] = []
    print(HEAD, flush=True)
    with multiprocessing.Pool(options.jobs) as pool:
        for found in pool.imap(work, jobs):
            rows.append(found)
            print(line(found), *(f"    FAULT {f}" for f in found.faults), sep="\n", flush=True)
            if options.misnamed:
                for made, said, text in found.misnamed:
                    print(f"    {made} is called {said}: {text}")
    print(summary(rows))
    return 1 if any(r.faults for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
