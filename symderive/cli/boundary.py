"""The one place where an exception becomes a message and an exit status. No traceback reaches a user."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

import click

from symderive.errors import InternalError, SymderiveError

DEBUG = "SYMDERIVE_DEBUG"
"""With this environment variable set, an internal fault shows its traceback."""

UNUSABLE, FAULT, INTERRUPTED, PIPE_CLOSED = 2, 70, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status. Standard output is flushed, so that a full disk is noticed."""
    gc.disable()  # importing SymPy allocates much and frees nothing; progress() turns it on for long work
    from symderive.cli.app import app

    def run() -> int:
        status = app.main(
            args=None if arguments is None else list(arguments), prog_name="symderive", standalone_mode=False
        )
        if sys.stdout is not None:
            sys.stdout.flush()
        return status if isinstance(status, int) else 0

    _prepare_streams()
    return guard(run)


def entry() -> NoReturn:
    """The command as a process of its own. At its end nothing looks for garbage in what SymPy has allocated."""
    status = main()
    gc.freeze()
    sys.exit(status)


def guard(run: Callable[[], int]) -> int:
    """The exit status of ``run``; what it raises is told on standard error."""
    try:
        return run()
    except click.ClickException as error:
        return _usage(error)
    except click.exceptions.Abort:
        return _say("interrupted", INTERRUPTED)
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        _forget_stdout()
        return PIPE_CLOSED
    except InternalError as error:
        return _fault(error)
    except SymderiveError as error:
        return _say(str(error), error.exit_code)
    except OSError as error:
        return _os_error(error)
    except Exception as error:
        return _fault(error)


def _usage(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    hint = f"\n    try '{context.command_path} --help'" if context is not None else ""
    return _say(f"{error.format_message()}{hint}", UNUSABLE)


def _os_error(error: OSError) -> int:
    if error.errno is None:
        return _fault(error)
    _forget_stdout()
    place = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
    return _say(f"{place}{error.strerror}", UNUSABLE)


def _fault(error: Exception) -> int:
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exc()
    where = _innermost(error)
    return _say(
        f"internal fault of symderive: {type(error).__name__}: {error}{where}\n"
        "    This is not your mistake. To report it, please open an issue with the command, the spec and the output\n"
        f"    of the same command with {DEBUG}=1.",
        FAULT,
    )


def _innermost(error: Exception) -> str:
    """Where in the package it happened, for a report."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if "symderive" in code.co_filename:
            place = f" ({os.path.basename(code.co_filename)}:{trace.tb_lineno})"
        trace = trace.tb_next
    return place


def _say(message: str, status: int) -> int:
    with contextlib.suppress(OSError, ValueError):  # nobody listens; the exit status still speaks
        print(f"symderive: {message}", file=sys.stderr, flush=True)
    return status


def _prepare_streams() -> None:
    """Closed streams become empty ones; what a terminal's encoding lacks is replaced instead of raising."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _forget_stdout() -> None:
    """Points standard output at nothing, so that the interpreter's last flush does not fail once more."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
