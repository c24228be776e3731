"""Every exception becomes a message and an exit status; no traceback reaches a user."""

from __future__ import annotations

import errno
import shlex
import subprocess
import sys

import click
import pytest

from symderive.cli.boundary import DEBUG, guard
from symderive.errors import InternalError, Location, Span, SpecError, UnsupportedError

RAISED = [
    (SpecError("unknown key 'wrd'", Location("a.yaml", Span(3, 1, 3, 4), "x\ny\nwrd: 1\n")), 2, "a.yaml:3:1"),
    (UnsupportedError("no kernel for that"), 2, "no kernel for that"),
    (InternalError("an axis was lost"), 70, "internal fault of symderive"),
    (ValueError("dimension"), 70, "internal fault of symderive: ValueError: dimension"),
    (RecursionError("too deep"), 70, "internal fault of symderive"),
    (click.UsageError("no such option"), 2, "no such option"),
    (KeyboardInterrupt(), 130, "interrupted"),
    (click.exceptions.Abort(), 130, "interrupted"),
    (OSError(errno.ENOSPC, "No space left on device", "out.py"), 2, "out.py: No space left on device"),
]


@pytest.mark.parametrize(("error", "status", "message"), RAISED, ids=lambda v: type(v).__name__)
def test_what_is_raised_is_told(error, status, message, monkeypatch, capsys):
    monkeypatch.delenv(DEBUG, raising=False)
    monkeypatch.setattr("symderive.cli.boundary._forget_stdout", lambda: None)

    def fail() -> int:
        raise error

    assert guard(fail) == status
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.out == ""
    assert "Traceback" not in shown.err


def test_the_traceback_of_a_fault_is_shown_on_request(monkeypatch, capsys):
    monkeypatch.setenv(DEBUG, "1")

    def fail() -> int:
        raise ZeroDivisionError("by nothing")

    assert guard(fail) == 70
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert "To report it" in shown


def test_the_status_of_a_command_is_the_status(capsys):
    assert guard(lambda: 1) == 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["derve", "relu"], "Did you mean 'derive'?"),
        (["integrate", "relu"], "no such command 'integrate'"),
        (["derive"], "Missing argument"),
        (["derive", "relu", "--formt", "latex"], "--format"),
        (["derive", "relu", "--format", "word"], "'word' is not one of"),
        (["derive", "linear_msee"], "did you mean linear_mse"),
        (["derive", "nowhere/at_all.yaml"], "no spec 'nowhere/at_all.yaml'"),
        (["derive", "."], "is a folder"),
        (["check", "."], "holds no spec"),
        (["new", "two words"], "two words"),
    ],
)
def test_what_cannot_be_used_is_2_and_says_why(run, arguments, message):
    result = run(*arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_a_closed_pipe_is_no_error(run, tmp_path):
    command = f"{shlex.quote(sys.executable)} -m symderive derive attention --no-check | true"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.stderr == ""


def test_a_full_disk_is_an_error(run, tmp_path):
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "symderive", "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == 2
    assert "No space left on device" in result.stderr
    assert "Traceback" not in result.stderr


def test_closed_streams_are_no_fault(tmp_path):
    command = f"{shlex.quote(sys.executable)} -m symderive list >&- 2>&-"
    assert subprocess.run(["bash", "-c", command], check=False, cwd=tmp_path).returncode == 0


def test_an_interrupt_stops_without_a_traceback(run, tmp_path):
    code = (
        "import os, signal, sys\n"
        "from symderive.cli.boundary import guard\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # one in the background ignores it
        "sys.exit(guard(lambda: os.kill(os.getpid(), signal.SIGINT) or 0))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Traceback" not in result.stderr
    assert result.returncode == 130


def test_a_process_ends_with_the_status_and_what_it_printed(process):
    for arguments, status in ((("list", "softmax"), 0), (("derive", "nothing_of_that_name"), 2)):
        ended = process(*arguments)
        assert ended.returncode == status
        assert bool(ended.stdout) == (status == 0)
