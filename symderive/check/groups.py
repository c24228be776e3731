"""Error bounds of maxima, logs of sums of exponentials and softmaxes over groups of entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symderive.check.rounding import ULPS
from symderive.check.uncertain import Arithmetic, Uncertain
from symderive.lower import plan as p

if TYPE_CHECKING:
    from symderive.check.bounds import Analyst

Array = Any


def grouped_bound(a: Analyst, node: p.Grouped) -> Uncertain:
    """``op`` over the entries of one group each; nothing is known where rounding could change the groups."""
    index, u = a.run(node.index), a.run(node.value).map(lambda x: np.moveaxis(x, node.axis, 0))
    groups = Groups(index.value.astype(np.int64), a.machine.size(node.count))
    if node.op in ("amax", "amin"):
        result, ties = _extreme(u, groups, 1.0 if node.op == "amax" else -1.0)
        a.touch(f"a tie of {node.op}", node.value, ties)
    else:
        result = (_softmax if node.op == "softmax" else _logsumexp)(a.arithmetic, u, groups)
    error = np.full_like(result.error, np.inf) if index.error.any() else result.error
    return Uncertain(result.value, error).map(lambda x: np.moveaxis(x, 0, node.axis))


class Groups:
    """Entries along the first axis, entry e in the group ``index[e]`` of ``count``."""

    def __init__(self, index: Array, count: int) -> None:
        self.index, self.count = index, count
        self.largest = int(np.bincount(index, minlength=1).max())

    def over(self, op: np.ufunc, start: float, entries: Array) -> Array:
        """``op`` over the entries of each group, from ``start``."""
        result = np.full((self.count, *entries.shape[1:]), start)
        op.at(result, self.index, entries)
        return result

    def top(self, entries: Array) -> Array:
        """The largest entry of each group, read at its entries; 0 where all are -inf."""
        top = self.over(np.maximum, -np.inf, entries)
        return np.where(np.isneginf(top), 0.0, top)


def _extreme(u: Uncertain, groups: Groups, sign: float) -> tuple[Uncertain, Array]:
    """No worse than the worst of the entries that could win; and where several could."""
    best = groups.over(np.maximum, -np.inf, sign * u.value)
    sure = groups.over(np.maximum, -np.inf, sign * u.value - u.error)[groups.index]
    contender = sign * u.value + u.error >= sure
    error = groups.over(np.maximum, 0.0, np.where(contender, u.error, 0.0))
    contested = groups.over(np.add, 0.0, 1.0 * (contender & np.isfinite(u.value))) > 1
    return Uncertain(sign * best, error), contested


def _softmax(arithmetic: Arithmetic, u: Uncertain, groups: Groups) -> Uncertain:
    """``exp(z - m) / sum(exp(z - m))``, the quotient rounded once more."""
    _, y, own, shared = _exponentials(arithmetic, u, groups)
    r = arithmetic.rounding
    return arithmetic.rounded(y, y * np.expm1(np.minimum(own + shared[groups.index], 700.0)) + r.underflow)


def _logsumexp(arithmetic: Arithmetic, u: Uncertain, groups: Groups) -> Uncertain:
    """``m + log(sum(exp(z - m)))``, which moves no more than the soft maximum of the errors."""
    total, _, _, shared = _exponentials(arithmetic, u, groups)
    log, r = np.log(total), arithmetic.rounding
    value = groups.top(u.value) + log
    error = np.where(np.isinf(value), 0.0, shared + (2 * ULPS * r.inner + r.unit) * np.abs(log))
    return arithmetic.rounded(value, error)


def _exponentials(arithmetic: Arithmetic, u: Uncertain, groups: Groups) -> tuple[Array, Array, Array, Array]:
    """The sums of ``exp(z - m)``, the softmax, the error of the log of each exponential and that of each sum.

    Every step is rounded to the dtype, each addition of a sum too.
    """
    r = arithmetic.rounding
    shifted = u.value - groups.top(u.value)[groups.index]
    weight = np.exp(shifted)
    total = groups.over(np.add, 0.0, weight)
    y = weight / total[groups.index]
    steps = (arithmetic.step + r.unit) * np.abs(shifted) + 2 * ULPS * arithmetic.step + r.unit
    own = np.where(np.isneginf(shifted), 0.0, u.error + steps)
    spread = groups.over(np.add, 0.0, y * np.exp(np.minimum(own, 700.0)))
    return total, y, own, np.log(np.maximum(spread, 1.0)) + r.gamma(groups.largest, r.unit)
