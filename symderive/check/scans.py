"""Error bounds of running sums, products, maxima and logs of sums of exponentials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symderive.check.rounding import ULPS
from symderive.check.uncertain import Uncertain
from symderive.lower import plan as p

if TYPE_CHECKING:
    from symderive.check.bounds import Analyst


def scan_bound(a: Analyst, node: p.Scan) -> Uncertain:
    """The running ``op`` along an axis. Each entry may have been rounded to the dtype once for each step before it."""
    u = a.run(node.value)
    if node.reverse:
        u = u.map(lambda x: np.flip(x, node.axis))
    result = _RULES[node.op](a, u, node.axis) if u.value.size else u
    if node.reverse:
        result = result.map(lambda x: np.flip(x, node.axis))
    return result


def _sum(a: Analyst, u: Uncertain, axis: int) -> Uncertain:
    r = a.arithmetic.rounding
    spread = r.gamma(u.shape[axis], r.unit) * np.cumsum(u.size_, axis)
    return a.arithmetic.rounded(np.cumsum(u.value, axis), np.cumsum(u.error, axis) + spread)


def _prod(a: Analyst, u: Uncertain, axis: int) -> Uncertain:
    r = a.arithmetic.rounding
    value, largest = np.cumprod(u.value, axis), np.cumprod(u.size_, axis)
    return a.arithmetic.rounded(value, largest - np.abs(value) + r.gamma(u.shape[axis], r.unit) * largest)


def _extreme(op: Any) -> Any:
    def rule(a: Analyst, u: Uncertain, axis: int) -> Uncertain:
        return Uncertain(op.accumulate(u.value, axis), np.maximum.accumulate(u.error, axis))

    return rule


def _logsumexp(a: Analyst, u: Uncertain, axis: int) -> Uncertain:
    r = a.arithmetic.rounding
    value = np.logaddexp.accumulate(u.value, axis)
    finite = np.where(np.isfinite(value), np.abs(value), 0.0)
    steps = u.shape[axis] * (2 * ULPS * r.inner + r.unit * np.maximum.accumulate(finite, axis))
    error = np.maximum.accumulate(u.error, axis) + np.where(np.isinf(value), 0.0, steps)
    return a.arithmetic.rounded(value, error)


_RULES = {
    "sum": _sum,
    "prod": _prod,
    "amax": _extreme(np.maximum),
    "amin": _extreme(np.minimum),
    "logsumexp": _logsumexp,
}
