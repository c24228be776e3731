"""How sentences are put together, wherever the project speaks."""

from __future__ import annotations

from collections.abc import Iterable


def listed(parts: Iterable[str], last: str = "and") -> str:
    """``a, b and c``."""
    names = list(parts)
    return f" {last} ".join(p for p in (", ".join(names[:-1]), names[-1] if names else "") if p)
