"""Names for numbers: a ratio that is the same everywhere is a factor, and depends on sizes and constants only."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from symderive.claims.trees import number, product_of
from symderive.record import record
from symderive.spec import syntax

_HALF = Fraction(1, 2)
Power = int | Fraction
Powers = tuple[tuple[str, Power], ...]


@record
class Ratio:
    """``number * sizes and constants to powers``: ``-2``, ``N``, ``1 / sqrt(N)``, ``2 * K``, ``1 - beta``."""

    number: Fraction
    powers: Powers = ()
    sized: bool = False

    @property
    def node(self) -> syntax.Node:
        """The ratio as an expression."""
        top = [("*", _power(n, p)) for n, p in self.powers if p > 0]
        bottom = [("/", _power(n, -p)) for n, p in self.powers if p < 0]
        first = [("*", number(self.number))] if self.number != 1 or not top else []
        return product_of([*first, *top, *bottom])

    @property
    def is_mixed(self) -> bool:
        """Whether a constant and what it leaves of 1 are in it: ``p / (1 - p)``, where one stands for the other."""
        return any(f"{REST}{name}" in (other for other, _ in self.powers) for name, _ in self.powers)

    @property
    def is_one(self) -> bool:
        """Whether it changes nothing."""
        return self.number == 1 and not self.powers


def _power(name: str, power: Power) -> syntax.Node:
    """``N``, ``N**2``, ``sqrt(N)``; the rest of a constant, ``1 - beta``, is a name of its own."""
    base: syntax.Node = number(int(name)) if name.isdigit() else syntax.Name(name)
    if name.startswith(REST):
        base = syntax.Binary("-", number(1), syntax.Name(name.removeprefix(REST)))
    if power == _HALF:
        return syntax.Call("sqrt", (base,))
    return base if power == 1 else syntax.Binary("**", base, number(power))


REST = "1 - "


def constant_ratio(top: np.ndarray, bottom: np.ndarray) -> float | None:
    """``top / bottom`` where it is one number, and neither is all zero."""
    if top.shape != bottom.shape or not top.size:
        return None
    with np.errstate(all="ignore"):
        scale = max(float(np.abs(top).max()), float(np.abs(bottom).max()))
        if not np.isfinite(scale) or scale == 0:
            return None
        used = np.abs(bottom) > 1e-9 * scale
        if not used.any() or np.abs(top[~used]).max(initial=0) > 1e-9 * scale:
            return None
        ratios = top[used] / bottom[used]
    value = float(ratios.flat[0])
    return value if np.abs(ratios - value).max() <= 1e-8 * abs(value) else None


def name_ratio(
    values: Sequence[float], known: Sequence[Mapping[str, float]], constants: Collection[str]
) -> Ratio | None:
    """The simplest ratio with these values at points of these sizes and ``constants``, by name."""
    for powers in _powers(list(known[0])):
        rest = [v / _product(powers, k) for v, k in zip(values, known, strict=True)]
        if any(not abs(r - rest[0]) <= 1e-8 * abs(rest[0]) for r in rest):
            continue
        simple = Fraction(rest[0]).limit_denominator(60)
        if simple and abs(float(simple) - rest[0]) <= 1e-9 * abs(rest[0]) and abs(simple.numerator) <= 500:
            return Ratio(simple, powers, any(n not in constants for n, _ in powers))
    return _any_rational(values) or _irrational(values)


_IRRATIONAL: tuple[tuple[Powers, float], ...] = tuple(
    (powers, math.prod({"pi": math.pi}.get(n, 2.0) ** float(p) for n, p in powers))
    for powers in (
        (("2", _HALF),), (("pi", 1),), (("pi", -1),), (("pi", _HALF),), (("pi", -_HALF),),
        (("2", _HALF), ("pi", _HALF)), (("2", _HALF), ("pi", -_HALF)),
    )
)  # fmt: skip
"""Numbers of densities and of areas, by powers of what they are made of, but for a factor."""


def _irrational(values: Sequence[float]) -> Ratio | None:
    """A simple multiple of a root of 2, of pi, or of its root: the same everywhere."""
    for powers, value in _IRRATIONAL:
        rest = [v / value for v in values]
        simple = Fraction(rest[0]).limit_denominator(16)
        if simple and all(abs(r - simple) <= 1e-11 * abs(simple) for r in rest):
            return _halved(simple, powers)
    return None


def _halved(factor: Fraction, powers: Powers) -> Ratio:
    """A multiple of a root of 2 as it is written: ``1 / sqrt(2)`` for ``sqrt(2) / 2``."""
    if factor.denominator == 2 and powers[0] == ("2", _HALF):
        return Ratio(factor * 2, (("2", -_HALF), *powers[1:]))
    return Ratio(factor, powers)


def _any_rational(values: Sequence[float]) -> Ratio | None:
    """A number that is the same everywhere, though no simple fraction: 1.001."""
    if any(abs(v - values[0]) > 1e-10 * abs(values[0]) for v in values):
        return None
    near = Fraction(values[0]).limit_denominator(10**6)
    return Ratio(near) if near and abs(float(near) - values[0]) <= 1e-12 * abs(values[0]) else None


def _powers(names: Sequence[str]) -> Iterator[Powers]:
    yield ()
    for name in names:
        for power in (1, -1):
            yield ((name, power),)
    for a, b in itertools.combinations(names, 2):
        for p, q in itertools.product((1, -1), repeat=2):
            yield ((a, p), (b, q))
    for name in names:
        for other in (2, -2, _HALF, -_HALF):
            yield ((name, other),)
    for a, b in itertools.permutations(names, 2):
        for p, q in ((2, 1), (2, -1), (-2, 1), (-2, -1), (2, 2), (-2, -2)):
            if abs(q) == 1 or a < b:
                yield ((a, p), (b, q))


def _product(powers: Powers, known: Mapping[str, float]) -> float:
    result = 1.0
    for name, power in powers:
        base = known.get(name, float("nan"))
        result *= base ** float(power) if base > 0 or power == int(power) else float("nan")
    return result
