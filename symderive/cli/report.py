"""``symderive report``: a lab report of what was measured."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from symderive.cli.check import DTYPES, Sizes

EPILOG = """\
\b
Examples:
  symderive report linear_mse --out lab --runs 5
  symderive report derivations/softmax.yaml --out lab --seed 1 --dtype float32 --dtype float16

The folder holds REPORT.md, errors.csv, derived.py, manifest.json and, where matplotlib is installed, plots.
"""


@click.command("report", epilog=EPILOG)
@click.argument("spec")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", required=True, help="The folder to write.")
@click.option("--runs", type=click.IntRange(1), default=20, show_default=True, help="So many random inputs.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Where the random numbers start.")
@click.option("--dtype", "dtypes", multiple=True, type=click.Choice(DTYPES), help="Only this dtype; may be repeated.")
@click.option("--device", "devices", multiple=True, metavar="NAME", help="Only this device; may be repeated.")
@click.option("--sizes", multiple=True, type=Sizes(), metavar="N=8", help="Replace some of the author's sizes.")
@click.option("--force", is_flag=True, help="Replace files that no report wrote.")
def command(
    *,
    spec: str,
    out: Path,
    runs: int,
    seed: int,
    dtypes: tuple[str, ...],
    devices: tuple[str, ...],
    sizes: tuple[dict[str, int | tuple[int, ...]], ...],
    force: bool,
) -> int:
    """Measure the gradients of SPEC and write a lab report.

    Errors against autograd and against float64 over random runs in every dtype, the autograd graph node by node, what
    is saved for the backward, peak memory, and what can go wrong, each shown by running it. The folder is written whole
    or not at all, and never over a file that no report wrote.
    """
    from symderive import api
    from symderive.report.lab.folder import check_place, refuse_foreign, write_folder
    from symderive.report.lab.measure import Plan, measure
    from symderive.report.lab.plots import INSTALL, can_plot
    from symderive.report.lab.report import file_names, report_files

    derivation = api.derive(api.load(spec))
    check_place(out)
    if not force:
        refuse_foreign(out, file_names(can_plot()))
    merged = {name: value for given in sizes for name, value in given.items()}
    plan = Plan(runs, seed, dtypes or DTYPES, devices, merged or None, _command(click.get_current_context()))
    with stages() as say:
        lab = measure(derivation.spec, plan, say)
        say("writing", 0, 1)
        files = report_files(lab, derivation)
    write_folder(out, files, force)
    click.echo(f"wrote {out}: {', '.join(files)}", err=True)
    if not can_plot():
        click.echo(f"no plots, as matplotlib is not installed: {INSTALL}", err=True)
    return 0


def _command(context: click.Context) -> str:
    """The command as it can be given again: the arguments, and every option that is not as it is by itself."""
    words = ["symderive", str(context.info_name)]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif value != parameter.get_default(context) and value not in ((), None):
            flag = isinstance(parameter, click.Option) and parameter.is_flag
            for one in value if isinstance(value, tuple) else (value,):
                words += parameter.opts[:1] if flag else [parameter.opts[0], _word(one)]
    return shlex.join(words)


def _word(value: object) -> str:
    """An option's value as it was given: sizes as ``N=8,K=3``."""
    if not isinstance(value, dict):
        return str(value)
    return ",".join(f"{k}={'x'.join(map(str, v)) if isinstance(v, tuple) else v}" for k, v in value.items())


class stages:
    """Progress on standard error: a line that rewrites itself on a terminal, a line a stage elsewhere."""

    def __init__(self) -> None:
        self.last = ""
        self.looking = sys.stderr.isatty()

    def __enter__(self) -> stages:
        return self

    def __exit__(self, *raised: object) -> None:
        from symderive.cli.progress import ERASE

        if self.looking:
            sys.stderr.write(ERASE)
            sys.stderr.flush()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Told what is measured now."""
        from symderive.cli.progress import ERASE

        if self.looking:
            sys.stderr.write(f"{ERASE}{what} {done}/{total}" if what else ERASE)
            sys.stderr.flush()
        elif what and what != self.last:
            print(f"measuring: {what}" if what != "writing" else what, file=sys.stderr, flush=True)
        self.last = what
