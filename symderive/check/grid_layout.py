"""Where the axes of a grid, and of the tensors that it reads, stand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from symderive.check.grid_numbers import Unsupported


@lru_cache(maxsize=1024)
def along(extent: int, axis: int, rank: int) -> np.ndarray:
    """The numbers from 0 along one of so many axes."""
    found = np.arange(extent).reshape([-1 if a == axis else 1 for a in range(rank)])
    found.flags.writeable = False
    return found


@lru_cache(maxsize=1024)
def indices_of(ranges: tuple[tuple[str, int], ...]) -> tuple[Mapping[str, int], Mapping[str, np.ndarray]]:
    """The axis of each index, and its values along it; nobody changes them."""
    axes = {name: axis for axis, (name, _) in enumerate(ranges)}
    return axes, {name: along(n, axes[name], len(ranges)) for name, n in ranges}


Layout = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""In which order axes stand, of what extents, and in what shape."""


@lru_cache(maxsize=4096)
def layout(
    labels: tuple[str | None, ...], extents: tuple[int, ...], ranges: tuple[tuple[str, int], ...]
) -> Layout | None:
    """How the axes of a tensor come to stand at those of its indices; None where its positions are not just indices.

    Raises :class:`Unsupported` where it has fewer entries than they take.
    """
    axes = {name: axis for axis, (name, _) in enumerate(ranges)}
    if len(set(labels)) < len(labels) or not axes.keys() >= set(labels):
        return None
    cut = tuple(dict(ranges)[i] for i in labels if i is not None)
    if any(m > n for m, n in zip(cut, extents, strict=True)):
        raise Unsupported
    shape = [1] * max(len(ranges), 1)
    for label, n in zip(labels, cut, strict=True):
        shape[axes[label]] = n  # type: ignore[index]
    return tuple(sorted(range(len(labels)), key=lambda n: axes[labels[n]])), cut, tuple(shape)  # type: ignore[index]
