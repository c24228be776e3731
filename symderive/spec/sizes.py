"""Size expressions: SymPy integers over the symbols of named sizes."""

from __future__ import annotations

from sympy import Symbol

BATCH_SIZE = Symbol("...", integer=True, nonnegative=True)
"""The extent of the index ``...``: the product of all leading batch axes."""


def size(name: str) -> Symbol:
    """The symbol of a named size, a positive integer."""
    return Symbol(name, integer=True, positive=True)
