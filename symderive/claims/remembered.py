"""What is drawn one after the other, as far as it is asked for, and drawn once."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Remembered(Generic[T]):
    """Items that may be gone through again and again; each is made when it is first come to."""

    def __init__(self, items: Iterable[T]) -> None:
        self._known: list[T] = []
        self._more = iter(items)

    def __iter__(self) -> Iterator[T]:
        """From the first on, however far others have come meanwhile."""
        for number in itertools.count():
            if number == len(self._known):
                try:
                    self._known.append(next(self._more))
                except StopIteration:
                    return
            yield self._known[number]
