"""Identifiers for emitted code: a spec's names, and a mark behind those that the code itself needs."""

from __future__ import annotations

import keyword
from collections.abc import Iterable

RESERVED = frozenset(
    (
        *keyword.kwlist,
        *("torch", "F", "np", "math", "special", "max", "min", "range", "tuple"),
        *("forward", "backward", "INPUTS", "OUTPUTS", "WRT", "ctx", "saved", "batch", "rows", "wide", "like"),
        "_scaled",
    )
)
"""Names that an emitted module uses for its own purposes."""


def identifiers(names: Iterable[str], reserved: Iterable[str] = RESERVED) -> dict[str, str]:
    """For every name the identifier that it has in emitted code: itself, or with ``_`` behind where it is reserved."""
    wanted = list(dict.fromkeys(names))
    taken = set(reserved) | set(wanted)
    result: dict[str, str] = {}
    for name in wanted:
        identifier = name
        if name in set(reserved):
            while identifier in taken:
                identifier += "_"
            taken.add(identifier)
        result[name] = identifier
    return result
