"""What the collector of cyclic garbage need not look at."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = 20_000, 20, 10
"""How many objects are made before the collector walks over them, and how often it walks over older ones."""


@contextmanager
def only_new_garbage() -> Iterator[None]:
    """Inside, the collector walks only over what is made there, and seldom; a decorator, too.

    A full collection walks over every object of the process, all those of SymPy too, however little of it is garbage.
    Trees are made by the thousand, hold no cycles, and are gone when they are let go.
    """
    if gc.get_freeze_count():
        yield  # whoever has frozen objects decides when they thaw
        return
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
