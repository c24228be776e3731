"""Index equations become array operations: ``lower`` makes a :class:`symderive.lower.plan.Plan` of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symderive.lower.lowering import lower

__all__ = ["lower"]


def __getattr__(name: str) -> object:
    if name != "lower":
        raise AttributeError(f"module 'symderive.lower' has no attribute {name!r}")
    from symderive.lower.lowering import lower

    return lower
