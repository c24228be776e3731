"""The lines of one block of claims, one after the other: helpers are defined, claims are tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from symderive.check.exact import EXACT
from symderive.check.floats import FLOAT
from symderive.check.numbers import Domain
from symderive.claims.bench import Bench
from symderive.claims.derived import Derived
from symderive.claims.entries import named_entries
from symderive.claims.lines import FAULTS, ClaimError, Line, NotJudged, names_in, read_lines, unused_helper
from symderive.claims.points import Point, Points
from symderive.claims.ranges import Said
from symderive.claims.remembered import Remembered
from symderive.claims.result import ClaimResult, Diagnosis, sentence
from symderive.claims.sizing import SmallSizes
from symderive.claims.stacks import Stack
from symderive.claims.trial import Trial
from symderive.claims.unknown import unknown_function
from symderive.claims.weight import HEAVY, weight
from symderive.claims.world import Sizes, World
from symderive.errors import SymderiveError
from symderive.spec import model, syntax
from symderive.spec.folding import fold
from symderive.spec.resolve import with_constants

if TYPE_CHECKING:
    from symderive.algebra.program import Derivation


class Court:
    """The lines of one block of claims, judged one after the other."""

    def __init__(
        self,
        spec: model.Spec,
        statements: Sequence[syntax.Statement],
        source: str,
        derivation: Derivation | None = None,
        seed: int = 0,
    ) -> None:
        self.spec = spec
        self.statements = tuple(statements)
        self.source = source
        self.seed = seed
        self.lines = read_lines(spec, statements, source)
        self.points = Points(spec, seed, entries=named_entries(spec, statements))
        helpers = {x.name for x in self.lines if isinstance(x, Line) and x.role == "helper"}
        self.derived = self.derived_elsewhere = Derived(spec, derivation, helpers)
        self.helpers: list[Line] = []
        self.broken: dict[str, int] = {}
        self._benches: dict[tuple[int, str], tuple[Bench, int, Point]] = {}
        self.remembered: dict[tuple[Any, ...], list[Point]] = {}
        self.seen: dict[tuple[Any, ...], list[tuple[Point, np.ndarray]]] = {}
        self.beside: dict[tuple[Any, ...], tuple[Any, Remembered[tuple[Point, bool]]]] = {}
        """What borders of claims are worth at the points at hand; and points close to them, with the ends between which
        they were found, held so that no other point has the identity of one."""
        self.sized: dict[tuple[Any, ...], tuple[Sizes | None, bool]] = {}
        """The sizes at which borders of claims have signs that they have at no other, and whether there are any."""
        self.under: dict[str, Remembered[Point]] = {}
        self.drawn: dict[tuple[Any, ...], Remembered[Point]] = {}
        self.assuming: dict[Any, Court] = {}
        self.with_other_constants: dict[int, tuple[Court, Point] | None] = {}
        self.stacked: dict[int, tuple[Point, Stack, int]] = {}
        self.said: dict[tuple[Any, ...], Said] = {}
        self.rewrites: dict[int, tuple[syntax.Node, syntax.Node]] = {}
        self.weights: dict[tuple[Any, ...], int] = {}
        self._varied: dict[tuple[Fraction, ...], Court | None] = {}

    def varied(self, constants: Mapping[str, Fraction]) -> Court | None:
        """A court for the same spec with other constants; None where those make no sense."""
        key = tuple(constants.values())
        if key not in self._varied:
            try:
                spec = with_constants(self.spec, constants)
                court = Court(spec, self.statements, self.source, None, self.seed)
                court.derived_elsewhere = self.derived
                if isinstance(self.points.chooser, SmallSizes):
                    court.points.chooser = SmallSizes(spec, court.points.entries)
                    if all(court.points.chooser.valid(s) for s in self.points.plan):
                        court.points.plan = self.points.plan
                self._varied[key] = court if court.few else None
            except (SymderiveError, NotJudged, ValueError):
                self._varied[key] = None
        return self._varied[key]

    @cached_property
    def few(self) -> list[Point]:
        """Points of different sizes, where the main ones would be more than is needed."""
        points = self.points
        return [points.point(s) for s in points.plan[:2] if points.chooser.valid(s)]  # type: ignore[arg-type]

    @cached_property
    def small(self) -> Court:
        """The same court, at small sizes, for claims that go through very many entries."""
        court = Court(self.spec, self.statements, self.source, None, self.seed)
        court.derived, court.derived_elsewhere = self.derived, self.derived_elsewhere
        court.points.chooser = SmallSizes(self.spec, court.points.entries)
        return court

    def trial(self, line: Line, node: syntax.Node) -> Trial:
        """The trial of a side, at sizes at which it goes through no more entries than need be."""
        trial = Trial(self, line, node)
        if max((weight(trial, sizes) for sizes in self.points.plan), default=0) <= HEAVY:
            return trial
        self.small.helpers = list(self.helpers)
        return Trial(self.small, line, node)

    # Benches

    def bench(self, point: Point, base: Domain = EXACT) -> Bench:
        """The bench at a point, with the helpers that are defined so far."""
        key = id(point), base.name
        if key not in self._benches:
            self._benches[key] = Bench(self._world(point, base)), 0, point
        bench, done, _ = self._benches[key]
        if self._define(bench, done):
            self._benches[key] = bench, len(self.helpers), point
        return bench

    def new_bench(self, point: Point, base: Domain = EXACT) -> Bench:
        """A bench that is not kept."""
        bench = Bench(self._world(point, base))
        self._define(bench, 0)
        return bench

    def is_new(self, point: Point) -> bool:
        """Whether nothing has been computed at a point in floats."""
        return (id(point), FLOAT.name) not in self._benches and id(point) not in self.stacked

    def _world(self, point: Point, base: Domain) -> World:
        """Its forward recorded from the start, or stacked: where a gradient is asked for, values are of it, too."""
        world = point.world(self.spec, base)
        if base is FLOAT and id(point) in self.stacked:
            _, stack, row = self.stacked[id(point)]
            world.stacked = stack, row
        else:
            world.record  # noqa: B018
        return world

    def _define(self, bench: Bench, done: int) -> bool:
        """Define the helpers after the first few, if there are more; what sides say of indices is known for sizes."""
        lines = self.helpers[done:]
        for line in lines:
            bench.define(line)
        if lines or not done:
            sizes, constants = bench.world.sizes, bench.world.constants
            key = (*sizes.items(), *constants.values(), *map(id, self.helpers))
            bench.said, bench.rewrites = self.said.setdefault(key, {}), self.rewrites
        return bool(lines)

    # Lines

    def results(self) -> Iterator[ClaimResult]:
        """One result for each side of each claim, and for each helper that is of no use."""
        for number, line in enumerate(self.lines):
            statement = self.statements[number]
            if isinstance(line, ClaimError):
                yield self.refused(statement, line)
            elif line.role == "helper":
                yield from self.helper(line, number)
            else:
                yield from self.claim(line)

    def refused(self, statement: syntax.Statement, error: ClaimError) -> ClaimResult:
        """A line whose left side means nothing."""
        from symderive.spec.format import to_text

        diagnosis = Diagnosis("unknown", sentence(error.message))
        return ClaimResult(statement.span.line, to_text(statement), to_text(statement.left), "invalid", diagnosis)

    def helper(self, line: Line, number: int) -> Iterator[ClaimResult]:
        """Define a helper; say so if it cannot be, or is never used."""
        later = [x for x in self.lines[number + 1 :] if isinstance(x, Line)]
        if not any(line.name in x.mentions() or line.name == x.name for x in later):
            diagnosis = Diagnosis("unknown", sentence(unused_helper(self.spec, line)))
            yield ClaimResult(line.number, line.text, line.name, "invalid", diagnosis)
            return
        bench = self.bench(self.points.main[0])
        if fault := _numberless(line.statement.sides[0]) or unknown_function(bench, line.statement.sides[0]):
            self.broken[line.name] = line.number
            yield ClaimResult(line.number, line.text, line.name, "invalid", Diagnosis("unknown", sentence(fault)))
            return
        try:
            self.needs(line.statement.sides[0])
            bench.define(line)
            bench.tensors[line.name]
        except (NotJudged, *FAULTS) as reason:
            self.broken[line.name] = line.number
            yield ClaimResult(line.number, line.text, line.name, None, detail=sentence(str(reason)))
            return
        except ClaimError as error:
            self.broken[line.name] = line.number
            kind = "shape" if error.reason == "shape" else "unknown"
            yield ClaimResult(line.number, line.text, line.name, "invalid", Diagnosis(kind, sentence(error.message)))
            return
        self.broken.pop(line.name, None)
        self.helpers.append(line)
        for count, side in enumerate(line.statement.sides[1:], 2):
            yield self.side(line, side, count)

    def adopt(self, statements: Sequence[syntax.Statement], source: str) -> None:
        """Define helpers that stand elsewhere, as far as the lines need them and define none of that name."""
        lines = [x for x in read_lines(self.spec, statements, source) if isinstance(x, Line) and x.role == "helper"]
        own = [x for x in self.lines if isinstance(x, Line)]
        needed = set().union(*(x.mentions() for x in own)) if own else set()
        for line in reversed(lines):
            if line.name in needed:
                needed |= line.mentions()
        for line in lines:
            if line.name in needed and line.name not in {x.name for x in own}:
                self.derived.reserved.add(line.name)
                try:
                    self.bench(self.points.main[0]).value(line)
                except (ClaimError, NotJudged, *FAULTS):
                    continue  # the line that needs it says that there is none
                self.helpers.append(line)

    def claim(self, line: Line) -> Iterator[ClaimResult]:
        """Judge every side of a claim."""
        chain = len(line.statement.sides) > 1
        for count, side in enumerate(line.statement.sides, 1):
            yield self.side(line, side, count if chain else None)

    def side(self, line: Line, node: syntax.Node, count: int | None) -> ClaimResult:
        """Judge one side."""
        result = ClaimResult(line.number, line.text, line.target, None, side=count)
        try:
            self.needs(node)
            if fault := _numberless(node):
                return replace(result, verdict="invalid", diagnosis=Diagnosis("unknown", sentence(fault)))
            if fault := unknown_function(self.bench(self.points.main[0]), node):
                formula = Trial(self, line, node).formula()
                unknown = Diagnosis("unknown", sentence(fault), correction=formula)
                return replace(result, verdict="invalid", diagnosis=unknown)
            if repeated := self.circular(line, node):
                return replace(result, verdict="invalid", diagnosis=Diagnosis("unknown", sentence(repeated)))
            with np.errstate(all="ignore"):  # what overflows in floats, exact numbers decide
                verdict, diagnosis, detail = self.trial(line, node).verdict()
        except NotJudged as reason:
            return replace(result, detail=sentence(str(reason)))
        except FAULTS as error:
            return replace(result, detail=sentence(f"this cannot be judged: {error}"))
        return replace(result, verdict=verdict, diagnosis=diagnosis, detail=detail)

    def needs(self, node: syntax.Node) -> None:
        """Raise if an expression needs a helper that could not be defined."""
        for name in names_in(node):
            if name in self.broken:
                raise NotJudged(f"it uses {name}, which line {self.broken[name]} does not define")

    def circular(self, line: Line, node: syntax.Node) -> str | None:
        """Why a claim says nothing: its right side contains its left, by way of helpers, too."""
        if line.role in ("jacobian", "helper") or line.target not in Trial(self, line, node).mentions():
            return None
        return f"the right side contains {line.name} itself, so the claim says nothing"


def _numberless(node: syntax.Node) -> str:
    """What is wrong with the numbers of an expression: it divides by zero, say; empty where nothing is."""
    for inner in node.walk():
        try:
            fold(inner)
        except ValueError as error:
            return str(error)
    return ""
