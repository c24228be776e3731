"""Numbers, names and bytes as a report words them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from symderive.wording import listed

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def number(value: float) -> str:
    """Two significant digits: ``7.9e-04``, ``0.58``, ``0``, ``inf``."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    if 100 <= abs(value) < 1e5:
        return f"{value:.0f}"
    return f"{value:.2g}" if 1e-2 <= abs(value) < 100 else f"{value:.1e}"


def amount(count: int) -> str:
    """``512 B``, ``150 KiB``, ``1.5 MiB``."""
    value, unit = float(count), 0
    while value >= 1024 and unit < len(UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{count} B" if not unit else f"{value:.3g} {UNITS[unit]}" if value < 1000 else f"{value:.0f} {UNITS[unit]}"


def code(names: Iterable[str]) -> str:
    """```x`, `W` and `b```."""
    return listed(f"`{n}`" for n in names)


def shape(extents: Sequence[int]) -> str:
    """``[2, 64]``."""
    return f"[{', '.join(map(str, extents))}]"


def sizes(named: Mapping[str, int | tuple[int, ...]]) -> str:
    """``N=2, K=64``; batch axes as ``...=4x8``."""
    return ", ".join(f"{k}={v if isinstance(v, int) else 'x'.join(map(str, v)) or 'none'}" for k, v in named.items())


def times(factor: float) -> str:
    """``2`` or ``0.125``, without the noise of the last digits."""
    return f"{factor:.6g}"


def runs(count: int) -> str:
    """``1 run``, ``20 runs``."""
    return plural(count, "run")


def all_runs(count: int) -> str:
    """``all 20 runs``, or ``the only run``."""
    return "the only run" if count == 1 else f"all {runs(count)}"


def plural(count: int, what: str) -> str:
    """``1 run``, ``3 gradients``."""
    return f"{count} {what}{'s' if count != 1 else ''}"
