"""Claims that hold only for the value that a spec gives a constant: a number stands in its place."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symderive.claims.borders import borders, of_forward
from symderive.claims.compare import shown
from symderive.claims.lines import FAULTS, NotJudged, names_in
from symderive.claims.needed import promising
from symderive.claims.points import Point, Points
from symderive.claims.probe import Probe
from symderive.claims.reach import smooth
from symderive.claims.remembered import Remembered
from symderive.claims.result import Diagnosis
from symderive.claims.signs import Signs
from symderive.claims.stacks import together
from symderive.errors import SymderiveError
from symderive.spec import model, syntax
from symderive.spec.claims import parse_lines
from symderive.spec.format import number_text

if TYPE_CHECKING:
    from symderive.claims.court import Court
    from symderive.claims.trial import Ruling, Trial


def _variable(spec: model.Spec, name: str) -> bool:
    """Whether a constant may take other values: it stands in no shape, index position or condition on indices."""
    if spec.constants[name].denominator == 1 and (not spec.text or name in _words_of_shapes(spec.text)):
        return False
    for equation in spec.equations:
        for node in equation.right.walk():
            positions: tuple[syntax.Node, ...] = ()
            if isinstance(node, syntax.Access):
                positions = node.indices
            elif isinstance(node, syntax.Binder) and node.condition is not None:
                positions = (node.condition,)
            if any(isinstance(n, syntax.Name) and n.id == name for p in positions for n in p.walk()):
                return False
    return True


def _words_of_shapes(text: str) -> set[str]:
    """The words in the parts of a spec's file that hold shapes and ranges, where constants stand for integers."""
    words: set[str] = set()
    section = ""
    for row in text.splitlines():
        if top := re.match(r"(\w+)\s*:", row):
            section = top.group(1)
        if section in ("inputs", "indices"):
            words.update(re.findall(r"\w+", row))
    return words


def _others(value: Fraction, place: int = 0) -> Iterator[Fraction]:
    """Other values of a constant: integers for an integer, of its sign and about its size.

    Those of constants at different places are not in the ratio in which the constants are.
    """
    if value.denominator == 1:
        yield from (value + place + 1, value + place + 2)
    else:
        yield from (value * Fraction(2 * place + 5, 2 * place + 4), value * Fraction(place + 1, place + 2))


FAR_APART = 16
"""Times its value, a constant puts borders so far apart that random points lie between them."""


def varied_constants(trial: Trial, point: Point) -> tuple[Court, Point] | None:
    """A court and a point with other values of the constants; None where there are none."""
    spec = trial.spec
    values = [n for n in spec.constants if _variable(spec, n)]
    if len(values) < len(spec.constants):
        court = trial.court.varied({n: next(_others(v, p)) for p, (n, v) in enumerate(spec.constants.items())})
        if court is not None:
            court.helpers = list(trial.court.helpers)
            return court, court.few[0]
    if not values:
        return None
    choices = zip(*(_others(spec.constants[n], place) for place, n in enumerate(values)), strict=True)
    for chosen, at in itertools.product(choices, (point, trial.court.points.rough)):
        varied = replace(at, constants={**spec.constants, **dict(zip(values, chosen, strict=True))})
        if replace(trial.court.points, spec=replace(spec, constants=varied.constants or {})).smooth(varied):
            return trial.court, varied
    return None


def only_for_constant(trial: Trial) -> Ruling | None:
    """The constant whose value in the spec a claim depends on, though it does not name it."""
    used = _mentioned(trial)
    values = {n: v for n, v in trial.spec.constants.items() if n in used}
    varied = [n for n in values if _variable(trial.spec, n)]
    moving = _drawing_borders(trial, varied)
    if len(varied) > 1 and _holds_at_others(trial, varied, moving):
        values = {n: v for n, v in values.items() if n not in varied}
    for name, value in values.items():
        for constants, most in _other_values(trial, [name], moving):
            variable = name in varied
            found = (
                _at_constant(trial, _points_at(trial.court, constants, name in moving), most)
                if variable
                else _at_other_shapes(trial, constants, value)
            )
            if found is not None and not (variable and _holds_nearby(trial, name)):
                text = f"{name} = {number_text(value)}"
                sentence = f"The claim holds for the spec's value {text} only: it does not vary with {name}."
                example = {**found, "constants": {name: shown(constants[name])}}
                return "conditional", Diagnosis("factor", sentence, text, example, trial.formula()), ""
    return None


def _holds_at_others(trial: Trial, names: Sequence[str], moving: Collection[str]) -> bool:
    """Whether a claim is seen to hold where several constants have other values at once: it names them all, then."""
    for constants, most in _other_values(trial, names, moving):
        points = _points_at(trial.court, constants, bool(moving))
        if next(iter(points), None) is None or _at_constant(trial, points, most) is not None:
            return False
    return True


def _other_values(
    trial: Trial, names: Sequence[str], moving: Collection[str]
) -> Iterator[tuple[Mapping[str, Fraction], int]]:
    """Other values of some constants, and at how many points to look there.

    Borders that are far apart leave room between them.
    """
    places = {n: place for place, n in enumerate(names)}
    first, second = zip(*(_others(trial.spec.constants[n], place) for n, place in places.items()), strict=True)
    moves = any(n in moving for n in names)
    yield {**trial.spec.constants, **dict(zip(names, first, strict=True))}, MANY
    yield {**trial.spec.constants, **dict(zip(names, second, strict=True))}, MANY if moves else FEW
    if moves:
        apart = {n: v * FAR_APART if n in moving else v for n, v in zip(names, first, strict=True)}
        yield {**trial.spec.constants, **apart}, MANY


def _mentioned(trial: Trial) -> set[str]:
    """The constants on which the forward or the claim may depend."""
    spec = trial.spec
    if not spec.text:
        return set(spec.constants)
    return trial.mentions() | _words_of_shapes(spec.text).union(*(names_in(e.right) for e in spec.equations))


NEARBY = Fraction(1, 64)
"""By which part a constant differs little."""


def _holds_nearby(trial: Trial, name: str) -> bool:
    """Whether a claim is right where a constant that is not whole is a little more or less: it varies with it, then.

    Farther off the forward may be another one, as with a level beyond 0 and 1.
    """
    value = trial.spec.constants[name]
    if value.denominator == 1:
        return False
    courts = [trial.court.varied({**trial.spec.constants, name: value * (1 + s * NEARBY)}) for s in (1, -1)]
    for court in courts:
        if court is None:
            return False
        court.helpers = list(trial.court.helpers)
        try:
            if type(trial)(court, trial.line, trial.node).tried()[1] is not None:
                return False
        except (NotJudged, *FAULTS):
            return False
    return True


def _at_other_shapes(trial: Trial, constants: Mapping[str, Fraction], value: Fraction) -> Mapping[str, Any] | None:
    """How the claim fails where a constant, on which shapes or positions depend, has another value."""
    court = trial.court.varied(constants)
    if court is None:
        return None
    court.helpers = list(trial.court.helpers)
    other = type(trial)(court, trial.line, trial.node)
    for point in court.few:
        try:
            if promising(other, point):
                continue
            outcome = other.at(point)
        except SymderiveError:
            continue
        if not outcome.holds:
            return None if _printed_with_number(other, point, value) else other.counterexample(outcome)
    return None


def _printed_with_number(trial: Trial, point: Point, value: Fraction) -> bool:
    """Whether the derived formula, too, has a number for the constant, as index positions and shapes do.

    What is printed can be pasted back, so a number is then as good as the name.
    """
    derived = trial.court.derived_elsewhere
    if trial.line.indices is None and value in _numbers(derived.arrays.get(trial.line.name, "")):
        return True
    statement = derived.statements.get(trial.line.name)
    if statement is None:
        return False
    left = statement.left
    indices = left.indices if isinstance(left, syntax.Access) else None
    line = replace(trial.line, statement=statement, indices=indices)
    return not type(trial)(trial.court, line, statement.right).at(point).holds


def _numbers(text: str) -> set[Fraction]:
    """The numbers in some lines of array form."""
    return {n.value for line in parse_lines(text)[0] for n in line.walk() if isinstance(n, syntax.Number)}


def _drawing_borders(trial: Trial, names: Collection[str]) -> set[str]:
    """The constants with a part in a border of the forward, or of the claim, of which both sides matter."""
    if not names:
        return set()
    probe = Probe(trial)
    drawn = Signs(trial).of([*borders(trial), *of_forward(trial.spec)])
    return {n for border in drawn if len(border.signs) > 1 for n in names if n in probe.behind(border)}


def _at_constant(trial: Trial, points: Iterable[Point], most: int) -> Mapping[str, Any] | None:
    """How the claim fails at other constants; floats say at which points on the sides of the kinks to look."""
    if smooth(trial) and not any(_is_discrete(i) for i in trial.spec.inputs):
        most = FEW  # what is smooth on both sides is equal everywhere or nowhere
    some = ((p, not number) for number, p in enumerate(itertools.islice(points, most)))
    for number, (point, _) in enumerate(together(trial.court, some)):
        try:
            if number and promising(trial, point, keep=True):
                continue
            outcome = trial.at(point)
        except SymderiveError:
            continue
        if outcome.failed:
            return trial.counterexample(outcome)
    return None


def _is_discrete(tensor: model.Input) -> bool:
    """Whether an input jumps from one value to another, so that a few points may have the same throughout."""
    return not tensor.is_real or bool({"binary", "one_hot"} & set(tensor.assume))


FEW = 3
"""Points with another constant where all is smooth, or where more were looked at with one that is as good."""

MANY = 100
"""All of them, then."""

STEPS = 10
"""How often the other side of a kink is looked for: most that are not found soon are on neither side of a constant."""


def _rest(points: Points, others: list[Point]) -> Iterator[Point]:
    yield from points.smooth_ones(others)


def _points_at(court: Court, constants: Mapping[str, Fraction], moves: bool) -> Remembered[Point]:
    """The first point, and those on the sides of the kinks, with other constants: the same for every claim.

    Where those move borders, sides are looked for anew.
    """
    key = "constants", moves, *constants.values()
    if key not in court.drawn:
        points = court.points
        varied = replace(points, spec=replace(court.spec, constants=dict(constants)), steps=STEPS)
        varied.unavoided = points.unavoided
        try:
            sides = varied.sides if moves else points.sides
            candidates = [points.main[0], *(p for p in [*sides, *points.scouts] if p.note)]
        except SymderiveError:
            candidates = []
        others = [replace(p, constants=constants) for p in candidates]
        court.drawn[key] = Remembered(itertools.chain(filter(varied.smooth, others[:1]), _rest(varied, others[1:])))
    return court.drawn[key]
