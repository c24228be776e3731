"""Points on both sides of the borders that a claim itself draws: ``where(x > 0.5, ...)`` has one at x = 0.5.

Random points may all lie on one side of such a border, or between it and the right one. Between two points on different
sides, bisection finds two that straddle it closely: a border in the wrong place fails at one of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symderive.check.floats import FLOAT
from symderive.check.objects import objects
from symderive.claims.bench import Bench
from symderive.claims.lines import ClaimError, names_in
from symderive.claims.points import SIDE, Point
from symderive.errors import SymderiveError
from symderive.spec import syntax

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

MOST_BORDERS = 8
MOST_OTHERS = 4
"""Points that lend what a border does not depend on."""

STEPS = 36
"""Of a bisection, so that the border of a claim is told from that of the forward at 3 and at 3.00001."""

FACTORS = (Fraction(30), Fraction(1000), Fraction(1, 1000), Fraction(10) ** 6, Fraction(10) ** 12)
"""How far to look for a border on one side of which all points lie."""

SIGNS = ((1, 1), (-1, 1), (1, -1))
"""Of inputs and upstreams there, so that either, and their products, come to the other side."""
NOTE = "a border of the claim"
_STEPPED = {"floor": (0, 2), "round": (1, -1)}
"""Where the steps next to 0 are, in halves."""

_KINKED = ("abs", "sign", "relu", "leaky_relu", "elu")


def straddling(trial: Trial) -> Iterator[Point]:
    """Points close to each border of the claim, and of the helpers that it uses, on both of its sides."""
    points = trial.court.points
    at_hand = [p for p in [*points.main, *points.scouts] if p.sizes == points.plan[0]]
    for border in _borders(trial)[:MOST_BORDERS]:
        values = [(p, v) for p in at_hand if (v := _value(trial, border, p)) is not None]
        ends = _ends(values)
        if ends is None:
            far = itertools.chain.from_iterable(_afar(trial, p) for p in at_hand[:2])
            ends = _ends([*values[:2], *((p, v) for p in far if (v := _value_afar(trial, border, p)) is not None)])
        if ends is not None:
            others = sorted((p for p in at_hand if p not in ends[:2]), key=lambda p: p.note != SIDE)[:MOST_OTHERS]
            rest = _apart_from(trial, border)
            for point in _bisected(trial, border, *ends):
                yield point
                yield from (_taken(point, other, rest) for other in others if rest)


def _afar(trial: Trial, point: Point) -> Iterator[Point]:
    """The point with its real inputs and upstreams at other scales, for borders where random numbers do not come."""
    signed = {"nonzero", "symmetric"}
    scalable = {"positive", "nonnegative", "spd"} | signed
    free = [i for i in trial.spec.inputs if i.is_real and not i.range and not set(i.assume) - scalable]
    for factor, (sign, upper) in itertools.product(FACTORS, SIGNS):
        factors = {i.name: factor * (sign if set(i.assume) <= signed else 1) for i in free}
        inputs = {name: objects(point.inputs[name]) * own for name, own in factors.items()}
        upstreams = {n: objects(a) * factor * upper if np.ndim(a) else a for n, a in point.upstreams.items()}
        yield replace(point, inputs={**point.inputs, **inputs}, upstreams=upstreams, note=NOTE)


def _value_afar(trial: Trial, border: syntax.Node, point: Point) -> np.ndarray | None:
    """The difference at a point that may be far from all others."""
    return _fresh(trial, border, point) if trial.court.points.smooth(point) else None


def _apart_from(trial: Trial, border: syntax.Node) -> set[str]:
    """The inputs, and the outputs whose upstreams, a border does not depend on; none where that cannot be told."""
    spec = trial.spec
    leaves = {i.name: i.name for i in spec.inputs} | {f"d{o}": o for o in spec.outputs}
    made = {e.tensor: names_in(e.right) for e in spec.equations}
    made |= {h.name: names_in(h.statement.sides[0]) for h in trial.court.helpers if h.name}
    waiting, known = list(names_in(border)), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in known:
            known.add(name)
            waiting += made.get(name, ())
    if known & set(trial.court.bench(trial.court.points.main[0]).tensors) - made.keys() - leaves.keys():
        return set()
    return {of for name, of in leaves.items() if name not in known}


def _taken(point: Point, other: Point, names: set[str]) -> Point:
    """A point with some inputs and upstreams of another, so that what decides it does not stay on one side."""
    inputs = {n: other.inputs[n] if n in names else a for n, a in point.inputs.items()}
    upstreams = {n: other.upstreams[n] if n in names else a for n, a in point.upstreams.items()}
    return replace(point, inputs=inputs, upstreams=upstreams)


def _borders(trial: Trial) -> list[syntax.Node]:
    """The differences whose signs decide a branch, of real numbers only."""
    used = [trial.node]
    waiting = names_in(trial.node)
    for helper in reversed(trial.court.helpers):
        if helper.name in waiting:
            used.append(helper.statement.sides[0])
            waiting |= names_in(helper.statement.sides[0])
    found = dict.fromkeys(d for node in used for inner in node.walk() for d in _differences(inner))
    real = set(trial.court.bench(trial.court.points.main[0]).tensors) - {
        i.name for i in trial.spec.inputs if not i.is_real
    }
    return [d for d in found if names_in(d) & real]


def _differences(node: syntax.Node) -> Iterator[syntax.Node]:
    if isinstance(node, syntax.Compare):
        for a, b in zip(node.operands, node.operands[1:], strict=False):
            yield syntax.Binary("-", a, b)
    elif isinstance(node, syntax.Call) and node.function in _KINKED and node.arguments:
        yield node.arguments[0]
    elif isinstance(node, syntax.Call) and node.function in _STEPPED and node.arguments:
        yield from (
            syntax.Binary("-", node.arguments[0], syntax.Number(Fraction(n, 2))) for n in _STEPPED[node.function]
        )
    elif isinstance(node, syntax.Call) and node.function in ("max", "min") and len(node.arguments) == 2:
        yield syntax.Binary("-", *node.arguments)
    elif isinstance(node, syntax.Call) and node.function == "clamp" and len(node.arguments) == 3:
        x, low, high = node.arguments
        yield syntax.Binary("-", x, low)
        yield syntax.Binary("-", x, high)


def _value(trial: Trial, border: syntax.Node, point: Point) -> np.ndarray | None:
    """The difference at a point, in floats."""
    try:
        bench = trial.court.bench(point, FLOAT)
        return _evaluated(trial, bench, border).astype(float)
    except (ClaimError, SymderiveError, ValueError):
        return None


def _evaluated(trial: Trial, bench: Bench, border: syntax.Node) -> np.ndarray:
    known = {*bench.tensors, *bench.world.sizes, *bench.world.constants, "pi", "inf"}
    free = list(dict.fromkeys(n.id for n in border.walk() if isinstance(n, syntax.Name) and n.id not in known))
    if any(isinstance(n, syntax.Batch) for n in border.walk()):
        free.insert(0, syntax.BATCH)
    bound = {i for n in border.walk() if isinstance(n, syntax.Binder) for i in n.indices}
    free = [i for i in free if i not in bound]
    if not free and not any(isinstance(n, syntax.Access) for n in border.walk()):
        return bench.plain_array(border)
    indices = trial.line.indices or ()
    given = [(indices, bench.truth(trial.line)[0].shape, trial.line.name)] if indices else []
    return bench.world.plain(bench.table(border, free, bench.ranges(free, border, given)))


def _ends(values: list[tuple[Point, np.ndarray]]) -> tuple[Point, Point, tuple[int, ...]] | None:
    """Two points at which some entry has different signs, and that entry."""
    for n, (a, u) in enumerate(values):
        for b, v in values[n + 1 :]:
            if u.shape == v.shape and (differing := np.sign(u) * np.sign(v) < 0).any():
                return a, b, tuple(int(i) for i in np.unravel_index(np.argmax(differing), u.shape))
    return None


def _bisected(trial: Trial, border: syntax.Node, a: Point, b: Point, at: tuple[int, ...]) -> Iterator[Point]:
    low, high = Fraction(0), Fraction(1)
    first = _value(trial, border, a)
    if first is None:
        return
    for _ in range(STEPS):
        middle = (low + high) / 2
        value = _fresh(trial, border, _between(trial, a, b, middle))
        if value is None or value.shape != first.shape:
            return
        if value[at] * first[at] > 0:
            low = middle
        else:
            high = middle
    yield _between(trial, a, b, low)
    yield _between(trial, a, b, high)


def _fresh(trial: Trial, border: syntax.Node, point: Point) -> np.ndarray | None:
    try:
        return _evaluated(trial, trial.court.new_bench(point, FLOAT), border).astype(float)
    except (ClaimError, SymderiveError, ValueError):
        return None


def _between(trial: Trial, a: Point, b: Point, part: Fraction) -> Point:
    """The point that divides the way from one to another; what is not just any real number stays that of the first."""
    free = [i.name for i in trial.spec.inputs if i.is_real and not {"one_hot", "binary"} & set(i.assume)]

    def divided(first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray], name: str) -> np.ndarray:
        return objects(first[name]) * (1 - part) + objects(second[name]) * part

    inputs = {n: divided(a.inputs, b.inputs, n) for n in free}
    upstreams = {n: divided(a.upstreams, b.upstreams, n) for n in a.upstreams}
    return replace(a, inputs={**a.inputs, **inputs}, upstreams=upstreams, note=NOTE)
