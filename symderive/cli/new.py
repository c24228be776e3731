"""``symderive new``: a commented spec to start from."""

from __future__ import annotations

from pathlib import Path

import click

from symderive.errors import SymderiveError

TEMPLATE = """\
name: {name}                  # the file's stem
title: A weighted sum of squares   # prose, shown in reports
source: where the formula is taken from (a paper, a book, a docs page)

# The sizes of your real problem. Checks add others of their own.
sizes: {{N: 4, K: 16}}

# Numbers are exact: 0.1 is one tenth.
constants: {{scale: 0.1}}

# Every tensor and its shape. grad: false is not differentiated; index: C holds class ids 0..C-1;
# assume: positive (and others) says what values it takes.
inputs:
  x: [N, K]
  w: [K]
  t: {{shape: [N], grad: false}}

# One equation a line. Indices on the left are free, all others must be bound: sum[k](...), mean, max, softmax, ...
forward: |
  y[n] = sum[k](x[n, k] * w[k])
  L = scale * sum[n]((y[n] - t[n])**2)

# The same op in PyTorch; leave it out where there is none.
reference: |
  y = x @ w
  L = scale * ((y - t)**2).sum()

# What you derived by hand, to be judged; leave it out where you have nothing yet.
claims: |
  dy = 2 * scale * (y - t)
  dx = outer(dy, w)
  dw[k] = sum[n](dy[n] * x[n, k])
"""

EPILOG = """\
\b
Examples:
  symderive new my_op
  symderive new my_op --out derivations/my_op.yaml
"""


@click.command("new", epilog=EPILOG)
@click.argument("name")
@click.option("--out", type=click.Path(path_type=Path), metavar="PATH", help="Where to write it. Default: NAME.yaml here.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def command(name: str, out: Path | None, force: bool) -> int:
    """Write a commented spec to start from."""
    from symderive.cli.files import write_text

    path = out or Path(f"{name}.yaml")
    _check_name(name, path)
    if path.exists() and not force:
        raise SymderiveError(f"{path} exists", hint="--force replaces it")
    write_text(path, TEMPLATE.format(name=name))
    click.echo(f"wrote {path}; next: symderive derive {path}", err=True)
    return 0


def _check_name(name: str, path: Path) -> None:
    import keyword

    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
        raise SymderiveError(f"'{name}' is no name for a spec", hint="use letters, digits and underscores, as my_op")
    if path.stem != name:
        raise SymderiveError(f"the spec {name} cannot stand in {path.name}", hint=f"its file is called {name}.yaml")
