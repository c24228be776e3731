"""Two arrays and what may lie between them: the worst entry, and in words what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Comparison:
    """The outcome for one tensor. ``judged`` counts the entries that could be judged, of ``total``.

    It is ``vacuous`` where the bound is so wide that zeros would have been accepted for what is not zero.
    """

    max_abs_error: float
    bound: float
    wrong: int
    judged: int
    total: int
    detail: str = ""
    vacuous: bool = False

    @property
    def ok(self) -> bool:
        """Whether no entry is wrong and at least one was judged (or there is none at all)."""
        return self.wrong == 0 and (self.judged > 0 or self.total == 0)

    @property
    def undecided(self) -> bool:
        """Whether nothing could be judged: no entry is wrong, and none is right either."""
        return self.wrong == 0 and self.judged == 0 and self.total > 0


def compare(got: Array, true: Array, bound: Array | float, where: Array | None = None) -> Comparison:
    """``|got - true| <= bound`` for every entry, with an infinite ``true`` met exactly.

    An entry is not judged where ``true`` is NaN or the bound is not finite. ``where`` holds the positions of the
    entries (one row each) when ``got`` is a flat selection of a larger tensor, for the report.
    """
    if got.shape != true.shape:
        return Comparison(np.inf, 0.0, 1, 1, 1, f"shape {list(got.shape)}, should be {list(true.shape)}")
    bound = np.broadcast_to(np.asarray(bound, np.float64), true.shape)
    if not true.size:
        return Comparison(0.0, 0.0, 0, 0, 0)
    infinite = np.isinf(true)
    judged = ~np.isnan(true) & (np.isfinite(bound) | infinite)
    with np.errstate(all="ignore"):
        error = np.where(got == true, 0.0, np.abs(got - true))
        error = np.where(judged & ~np.isfinite(error), np.inf, error)
        wrong = judged & ~(error <= np.where(infinite, 0.0, bound))
    total, count = int(true.size), int(judged.sum())
    if not count:
        return Comparison(0.0, float(np.max(bound)), 0, 0, total)
    worst = _worst(error, bound, wrong, judged)
    largest = float(np.max(np.where(judged, error, 0.0)))
    if not wrong.any():
        vacuous = bool(np.any(true[judged]) and np.all(np.abs(true[judged]) <= bound[judged]))
        return Comparison(largest, float(bound[worst]), 0, count, total, vacuous=vacuous)
    return Comparison(
        largest, float(bound[worst]), int(wrong.sum()), count, total, _words(got, true, bound, wrong, worst, where)
    )


def _worst(error: Array, bound: Array, wrong: Array, judged: Array) -> tuple[int, ...]:
    """The entry to show: of the wrong ones that with the largest error over its bound, else the largest error."""
    with np.errstate(all="ignore"):
        score = (
            np.where(wrong, error / np.maximum(bound, 5e-324), -1.0) if wrong.any() else np.where(judged, error, -1.0)
        )
    return tuple(
        int(i) for i in np.unravel_index(int(np.argmax(np.nan_to_num(score, nan=-1.0, posinf=np.inf))), error.shape)
    )


def _words(  # noqa: PLR0917
    got: Array, true: Array, bound: Array, wrong: Array, worst: tuple[int, ...], where: Array | None
) -> str:
    """What is wrong with the worst entry; ``where`` gives its place in the larger tensor."""
    place = worst if where is None else tuple(int(i) for i in where[worst[0]])
    entry = f"[{', '.join(map(str, place))}]" if place else "the value"
    many = f"{int(wrong.sum())} of {true.size} entries are wrong; " if true.size > 1 else ""
    numbers = f"is {got[worst]:.9g}, should be {true[worst]:.9g} to within {bound[worst]:.2g}"
    return f"{many}{entry} {numbers}{_pattern(got, true, bound, wrong)}"


def _pattern(got: Array, true: Array, bound: Array, wrong: Array) -> str:
    """What the wrong entries have in common, where that is plain to see."""
    g, t = got[wrong], true[wrong]
    if not np.isfinite(g).all():
        return f" ({int((~np.isfinite(g)).sum())} not finite)"
    if not g.any() and g.size > 1:
        return " (each is 0)"
    with np.errstate(all="ignore"):
        ratio = g / t
        mean = float(ratio.mean())
    if np.isfinite(mean) and _single(ratio, bound[wrong] / np.abs(t)):
        return " (off by the rounding of float32: is something computed in it?)"
    if np.isfinite(mean) and ratio.size > 1 and np.ptp(ratio) <= 1e-6 * abs(mean) and abs(mean - 1) > 1e-4:
        return f" (each is {mean:.6g} times what it should be)"
    if got.ndim == 2 and got.shape[0] == got.shape[1] and np.allclose(got, true.T, rtol=1e-6, atol=0):
        return " (it is the transpose)"
    return ""


def _single(ratio: Array, allowed: Array) -> bool:
    """Whether quotients of what is and what should be look as if float32 had rounded them, where float64 was asked."""
    apart = float(np.median(np.abs(ratio - 1)))
    return 2.0**-29 < apart < 2.0**-20 and float(np.median(allowed)) < 2.0**-36
