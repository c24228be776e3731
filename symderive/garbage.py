"""What the collector of cyclic garbage need not look at."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def only_new_garbage() -> Iterator[None]:
    """Inside, the collector walks only over what is made there; a decorator, too.

    A full collection walks over every object of the process, all those of SymPy too, however little of it is garbage.
    """
    if gc.get_freeze_count():
        yield  # whoever has frozen objects decides when they thaw
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
