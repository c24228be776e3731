"""What the collector of cyclic garbage need not look at."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def only_new_garbage() -> Iterator[None]:
    """Inside, the collector walks only over what is made there; a decorator, too.

    A full collection walks over every object of the process, and SymPy alone makes more than a hundred thousand: a
    tenth of a second each time, in verdicts that take three.
    """
    if gc.get_freeze_count():
        yield  # whoever has frozen objects decides when they thaw
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
