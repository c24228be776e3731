"""The conditions that a wrong claim is tried under, and the first of them that makes it right."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from symderive.check import sample
from symderive.check.objects import objects
from symderive.claims.assumed import Assumed
from symderive.claims.conditions import POINTS, Condition, alike, at_value, holds, rarely_wrong
from symderive.claims.only_sizes import widened
from symderive.claims.points import Condition as Change
from symderive.claims.points import Point
from symderive.claims.refuting import MOST_WORK, is_multiple, refuted
from symderive.claims.trial import Trial
from symderive.spec import model, syntax


def _whole(draw: sample.Draw, values: np.ndarray, name: str) -> np.ndarray:
    return objects(sample.STRUCTURES[name](draw, values))


class _Binary:
    """Zeros and ones: both, then nearly all of them ones, for few ones would make products of entries vanish."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, draw: sample.Draw, values: np.ndarray) -> np.ndarray:
        self.count += 1
        found = _whole(draw, values, "binary")
        if self.count % 2 == 0:
            return objects(np.where(draw.integers(8, values.shape) > 0, 1, found))
        if found.size > 1 and len(set(found.flat)) == 1:
            place = int(draw.rng.integers(found.size))
            found.flat[place] = 1 - found.flat[place]
        return found


class _OneHot:
    """A class for each row at random, then one after the other, so that each entry is the one somewhere."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, draw: sample.Draw, values: np.ndarray) -> np.ndarray:
        self.count += 1
        if self.count <= POINTS:
            return _whole(draw, values, "one_hot")
        classes = np.arange(values.shape[-1])
        chosen = (np.arange(values.size // len(classes)) + self.count) % len(classes)
        return objects((classes == chosen[:, None]).astype(int).reshape(values.shape))


def _on(name: str, make: Callable[[sample.Draw, np.ndarray], np.ndarray]) -> Change:
    def change(draw: sample.Draw, inputs: dict[str, np.ndarray], upstreams: dict[str, np.ndarray]) -> None:
        inputs[name] = make(draw, inputs[name])

    return change


def _ones(name: str) -> Change:
    def change(draw: sample.Draw, inputs: dict[str, np.ndarray], upstreams: dict[str, np.ndarray]) -> None:
        upstreams[name] = objects(np.ones(np.shape(upstreams[name]), dtype=int))

    return change


def _all_ones(draw: sample.Draw, inputs: dict[str, np.ndarray], upstreams: dict[str, np.ndarray]) -> None:
    for name in upstreams:
        _ones(name)(draw, inputs, upstreams)


def _is_class(spec: model.Spec, name: str) -> bool:
    """Whether rows of an input may be meant for classes: it has no gradient, and the forward has it in one place.

    Of two places there are products, and most of those vanish where it is one-hot.
    """
    places = (n for e in spec.equations for n in e.right.walk() if isinstance(n, syntax.Access) and n.tensor == name)
    return name not in spec.wrt and sum(1 for _ in places) == 1


def _is_switch(spec: model.Spec, name: str) -> bool:
    """Whether a scalar may be meant for 0 or 1: it has no gradient, or the forward compares it with numbers.

    Others are temperatures, scales and rates.
    """
    tests = (n for e in spec.equations for n in e.right.walk() if isinstance(n, syntax.Compare))
    return name not in spec.wrt or any(set(syntax.names(t)) == {name} for t in tests)


def _of_input(spec: model.Spec, tensor: model.Input, own: bool) -> Iterator[Condition]:
    """What an input may be; it may be the claim's ``own``, by which the gradient is taken."""
    name, rank = tensor.name, len(tensor.shape)

    def of(text: str, kind: str, make: Callable[[sample.Draw, np.ndarray], np.ndarray], weak: bool) -> Condition:
        return Condition(text, kind, name, Assumed(inputs=((name, kind),)), _on(name, make), weak)

    def drawn(kind: str) -> Callable[[sample.Draw, np.ndarray], np.ndarray]:
        return lambda draw, values: _whole(draw, values, kind)

    if rank >= 2 and tensor.shape[-1] == tensor.shape[-2] and "symmetric" not in tensor.assume:
        yield of(f"{name} symmetric", "symmetric", drawn("symmetric"), False)
    if rank >= 1 and tensor.shape[-1] != 1:
        rows = f"rows of {name} summing to 1" if rank > 1 else f"{name} summing to 1"
        yield of(rows, "rows", drawn("rows"), own)
    if not own and (rank >= 1 or _is_switch(spec, name)):
        yield of(f"{name} binary", "binary", _Binary(), False)
    if rank >= 1 and not own and _is_class(spec, name):
        yield of(f"{name} one-hot", "one_hot", _OneHot(), True)


def candidates(trial: Trial) -> Iterator[Condition]:
    """Conditions to try, the weakest first."""
    first = trial.court.points.main[0]
    mentioned = trial.mentions()
    for name, values in first.upstreams.items():
        if np.ndim(values) or len(first.upstreams) > 1:
            weak = f"d{name}" in mentioned
            yield Condition(f"d{name} = 1", "ones", f"d{name}", Assumed(ones=(name,)), _ones(name), weak)
    if len(first.upstreams) > 1:
        names = [f"d{n}" for n in first.upstreams]
        weak = bool(mentioned & set(names))
        assumed = Assumed(ones=tuple(first.upstreams))
        yield Condition(f"{' = '.join(names)} = 1", "ones", names[0], assumed, _all_ones, weak)
    own = trial.line.denominators()
    real = (t for t in trial.spec.inputs if t.is_real)
    found = [c for tensor in real for c in _of_input(trial.spec, tensor, tensor.name in own)]
    yield from sorted(found, key=lambda c: c.kind == "one_hot")
    yield from _sizes(trial)


def _sizes(trial: Trial) -> Iterator[Condition]:
    """Each size with the spec's value, where that is cheap, and two that are equal in the spec.

    None for a claim that fails at rare points only.
    """
    if rarely_wrong(trial):
        return
    chooser = trial.court.points.chooser
    for name in chooser.names:
        value = trial.spec.sizes.get(name)
        if isinstance(value, int) and value > 1:
            sizes = {**trial.court.points.plan[0], name: value}
            if chooser.does(sizes, MOST_WORK):
                yield at_value(name, value)
    for a, b in itertools.combinations(chooser.names, 2):
        if trial.spec.sizes.get(a) == trial.spec.sizes.get(b):
            yield alike(a, b)


def find_condition(trial: Trial, failed: Point) -> Condition | None:
    """The first condition under which a claim is right that is wrong at a point."""
    if is_multiple(trial):
        return None
    found = list(candidates(trial))
    groups: dict[tuple[str, bool], list[Condition]] = {}
    for c in found:
        groups.setdefault((c.kind, bool(c.assumed.equal)), []).append(c)
    hopeless = {g for g, conditions in groups.items() if refuted(trial, conditions)}
    rest = (c for c in found if (c.kind, bool(c.assumed.equal)) not in hopeless)
    held = (c for c in rest if holds(trial, c, failed))
    return next((wide for c in held if (wide := widened(trial, c, failed))), None)


def find_size(trial: Trial) -> Condition | None:
    """The size whose value in the spec makes an invalid claim right: a number is written where the size should be."""
    numbers = {int(n.value) for n in trial.node.walk() if isinstance(n, syntax.Number) and n.value.denominator == 1}
    valued = (c for c in _sizes(trial) if c.assumed.sizes and c.assumed.sizes[0][1] in numbers)
    return next((c for c in valued if holds(trial, c)), None)
