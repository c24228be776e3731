"""``symderive check``: the whole matrix of checks, over one spec or many."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from symderive.check.results import Results

DTYPES = ("float64", "float32", "bfloat16", "float16")
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

EPILOG = """\
\b
Examples:
  symderive check linear_mse
  symderive check derivations --quick --jobs 2
  symderive check softmax --dtype float32 --device cpu --sizes C=1000
  symderive check linear_mse --claim "dW = dy.T @ x"
  symderive check relu --op my_kernels:relu
  symderive check derivations --json results.json
"""


class Sizes(click.ParamType):
    """``N=8``, ``N=8,K=3`` or ``...=4x2``."""

    name = "sizes"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, int | tuple[int, ...]]:
        """The sizes by name."""
        found: dict[str, int | tuple[int, ...]] = {}
        for part in str(value).split(","):
            name, equals, number = (piece.strip() for piece in part.partition("="))
            if not equals or not re.fullmatch(r"\d+(x\d+)*" if name == "..." else r"\d+", number):
                self.fail(f"'{part}' is not NAME=NUMBER, as in N=8, or ...=4x2 for batch axes", param, ctx)
            found[name] = tuple(int(n) for n in number.split("x")) if name == "..." else int(number)
            if re.search(r"\b0+\b", number.replace("x", " ")):
                self.fail(f"'{part}': a size is at least 1", param, ctx)
        return found


class Memory(click.ParamType):
    """``800M``, ``2G``, or a number of bytes."""

    name = "memory"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", str(value).strip(), re.IGNORECASE)
        if found is None:
            self.fail(f"'{value}' is no amount of memory, as 800M or 2G", param, ctx)
        return int(float(found[1]) * UNITS[found[2].upper()])


@click.command("check", epilog=EPILOG)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--dtype", "dtypes", multiple=True, type=click.Choice(DTYPES), help="Only this dtype; may be repeated.")
@click.option("--device", "devices", multiple=True, metavar="NAME", help="Only this device; may be repeated.")
@click.option("--require-device", "required", multiple=True, metavar="NAME", help="Fail where this device is missing.")
@click.option("--sizes", multiple=True, type=Sizes(), metavar="N=8", help="Replace some of the author's sizes.")
@click.option("--max-memory", type=Memory(), metavar="2G", help="Skip what would need more.")
@click.option("--runs", type=click.IntRange(1), default=1, show_default=True, help="Repeat with other random numbers.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Where the random numbers start.")
@click.option("--quick", is_flag=True, help="Fewer sizes and dtypes.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Check so many specs at a time.")
@click.option(
    "--claim", "claims", metavar="TEXT", multiple=True, help="Judge this, not the spec's claims; may be repeated."
)
@click.option("--op", metavar="MODULE:FUNCTION", help="Check this, not the emitted code; no claim is judged.")
@click.option("--json", "json_path", metavar="PATH", help="Write the results as JSON; - is standard output.")
@click.option("--verbose", is_flag=True, help="Show every comparison.")
def command(
    *,
    paths: tuple[str, ...],
    dtypes: tuple[str, ...],
    devices: tuple[str, ...],
    required: tuple[str, ...],
    sizes: tuple[dict[str, int | tuple[int, ...]], ...],
    json_path: str | None,
    verbose: bool,
    jobs: int,
    op: str | None,
    claims: tuple[str, ...],
    **chosen: Any,
) -> int:
    """Check specs, or every spec in a folder.

    The derived gradients are held against PyTorch, against an entry-by-entry evaluation of the index form, against
    finite differences, at careless inputs and in unusual layouts. PATH may be the name of a spec in the catalogue.
    """
    if claims and op:
        raise click.UsageError("--claim judges a formula and --op checks code: give one of them")
    if not all(text.strip() for text in claims):
        raise click.UsageError('--claim is empty; write a line, such as --claim "dW = dy.T @ x"')
    if claims:
        results = _judged(paths, "\n".join(claims), chosen["seed"])
    else:
        merged = {name: value for given in sizes for name, value in given.items()}
        chosen |= {"dtypes": dtypes or None, "devices": devices or None, "required": required, "sizes": merged or None}
        results = _checked(paths, op, jobs, chosen, json_path is None)
    _deliver(results, json_path, verbose)
    return results.exit_code


def _checked(paths: Sequence[str], op: str | None, jobs: int, chosen: dict[str, Any], shown: bool) -> Results:
    """The results of the matrix. A single spec whose results are ``shown`` is read before torch, which loads slowly."""
    from symderive.catalogue import spec_paths
    from symderive.cli.options import read
    from symderive.cli.progress import progress

    files = spec_paths(paths)
    single = read(str(files[0])) if shown and len(files) == 1 else None
    from symderive.check.devices import environment
    from symderive.check.matrix import options
    from symderive.check.results import Results
    from symderive.check.runner import check_paths, check_spec

    settings = options(**chosen)
    with progress(len(paths) == 1) as report:
        if single is None:
            return check_paths(files, settings, op, jobs, report)
        return Results((check_spec(single, settings, op, report),), environment())


def _judged(paths: Sequence[str], text: str, seed: int) -> Results:
    """The verdicts on claims that stand in no file. Nothing else is checked, and torch is not imported."""
    from importlib.metadata import PackageNotFoundError, version

    from symderive.catalogue import spec_path, spec_paths
    from symderive.check.results import Results, SpecResult
    from symderive.claims import check_text
    from symderive.spec import load

    specs = [load(spec_path(str(path))) for path in spec_paths(paths)]
    rows = [SpecResult(s.name, s.path, tuple(check_text(s, text, seed=seed))) for s in specs]
    try:
        torch = version("torch")
    except PackageNotFoundError:  # which verdicts on claims do not need
        torch = "none"
    return Results(tuple(rows), {"torch": torch, "devices": ["cpu"]})


def _deliver(results: Results, json_path: str | None, verbose: bool) -> None:
    from symderive.cli.files import write_text
    from symderive.report.console import printer
    from symderive.report.document import Listing

    if json_path == "-":
        click.echo(results.json())
        return
    if json_path is not None:
        write_text(Path(json_path), results.json() + "\n")
    printer().show([Listing(results.table(verbose))])
