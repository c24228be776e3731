"""The command group: each command is a module, imported when it is called, so that none waits for another's imports."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import click

from symderive import __version__

COMMANDS: Mapping[str, str] = {
    "derive": "symderive.cli.derive",
    "check": "symderive.cli.check",
    "emit": "symderive.cli.emit",
    "report": "symderive.cli.report",
    "graph": "symderive.cli.graph",
    "paste": "symderive.cli.paste",
    "new": "symderive.cli.new",
    "list": "symderive.cli.listing",
}
"""The module of each command, in the order in which the help lists them; each has its command as ``command``."""


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(COMMANDS[cmd_name]).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; an unknown one is answered with the nearest."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"no such command '{args[0]}'.{suggestion(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)


def suggestion(name: str, known: Mapping[str, object] | list[str]) -> str:
    """`` Did you mean 'x'?``, or nothing where no known name is near."""
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean '{near[0]}'?" if near else ""


EPILOG = """\
\b
Examples:
  symderive list
  symderive derive linear_mse
  symderive derive derivations/softmax.yaml --format latex
  symderive check derivations --quick
  symderive emit layer_norm --out layer_norm.py

Exit status: 0 all is well; 1 a check or a claim failed; 2 the input could not be used.
"""


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="symderive")
def app() -> None:
    """Derive the gradients of a tensor op, write code for them, and check both.

    An op is a YAML file of index equations, such as y[i, j] = sum[k](x[i, k] * W[j, k]) + b[j].
    """
