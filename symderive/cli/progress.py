"""Progress on standard error: a line that rewrites itself on a terminal, one line a spec elsewhere."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symderive.check.runner import Event

ERASE = "\r\x1b[K"


@contextmanager
def progress(single: bool = False) -> Iterator[Callable[[Event], None]]:
    """Something to call with each event. With a ``single`` spec, nothing is said where nobody is looking."""
    gc.freeze()  # what was imported stays, and need not be walked over
    gc.enable()  # the boundary turned it off for start-up; long work needs it
    if sys.stderr.isatty():
        try:
            yield _rewriting
        finally:
            sys.stderr.write(ERASE)
            sys.stderr.flush()
    else:
        yield _silent if single else _Lines().say


def _rewriting(event: Event) -> None:
    check = f" {event.check}" if event.check else ""
    sys.stderr.write(f"{ERASE}checking {event.spec}:{check} {event.done}/{event.total}")
    sys.stderr.flush()


def _silent(event: Event) -> None:
    """A single spec's results follow at once."""


class _Lines:
    """Names each spec once, when its first result is there."""

    def __init__(self) -> None:
        self.last = ""

    def say(self, event: Event) -> None:
        """The event's spec, if it is a new one."""
        if event.spec != self.last:
            self.last = event.spec
            print(f"checking {event.spec}", file=sys.stderr, flush=True)
