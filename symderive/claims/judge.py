"""Verdicts: each side of each claim against the truth, exactly, at many points."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from symderive.check.exact import EXACT, Exact
from symderive.check.floats import FLOAT
from symderive.check.numbers import Domain
from symderive.check.objects import shape_text
from symderive.claims.bench import Bench, Sides
from symderive.claims.compare import equal, finite, shown, vanishes
from symderive.claims.derived import Derived
from symderive.claims.lines import ClaimError, Line, NotJudged, names_in, read_lines, unused_helper
from symderive.claims.points import Point, Points
from symderive.claims.result import ClaimResult, Diagnosis, Verdict
from symderive.claims.world import is_jacobian
from symderive.errors import SymderiveError
from symderive.record import record
from symderive.spec import model, syntax
from symderive.spec.folding import fold

if TYPE_CHECKING:
    from symderive.algebra.program import Derivation
    from symderive.check.results import CheckResult


MOST_COMPARED = 16
"""The largest number compared with an index at which a claim is still tried."""

MOST_BEYOND = 4000
"""Multiplications of a forward that are cheap enough for that."""


@record
class Outcome:
    """A side against the truth at one point: the first ``wrong`` entry, the first ``undefined`` one, what was decided.

    An entry is undefined where the claim has no finite value though the truth has. ``open`` counts the entries at which
    the forward itself has no derivative.
    """

    point: Point
    sides: Sides | None
    wrong: tuple[int, ...] | None = None
    undefined: tuple[int, ...] | None = None
    decided: int = 0
    open: int = 0
    error: ClaimError | None = None

    @property
    def holds(self) -> bool:
        """Whether the claim is equal here."""
        return self.error is None and self.wrong is None and self.undefined is None


_FAULTS = (SymderiveError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError, MemoryError)
"""What may go wrong in arithmetic that no one has tried: the claim is then not judged, and never passes."""


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
        self.lines = read_lines(spec, statements, source)
        self.points = Points(spec, seed)
        self.twice = any(is_jacobian(n) for s in statements for n in s.walk())
        self.derived = Derived(spec, derivation)
        self.helpers: list[Line] = []
        self.broken: dict[str, int] = {}
        self._benches: dict[tuple[int, str], tuple[Bench, int, Point]] = {}

    # Benches

    def bench(self, point: Point, base: Domain = EXACT) -> Bench:
        """The bench at a point, with the helpers that are defined so far. Raises what a helper raises there."""
        key = id(point), base.name
        if key not in self._benches:
            self._benches[key] = Bench(point.world(self.spec, base, twice=self.twice)), 0, point
        bench, done, _ = self._benches[key]
        for line in self.helpers[done:]:
            bench.define(line)
        self._benches[key] = bench, len(self.helpers), point
        return bench

    def new_bench(self, point: Point, base: Domain = EXACT) -> Bench:
        """A bench that is not kept."""
        bench = Bench(point.world(self.spec, base, twice=self.twice))
        for line in self.helpers:
            bench.define(line)
        return bench

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

        diagnosis = Diagnosis("unknown", _sentence(error.message))
        return ClaimResult(statement.span.line, to_text(statement), to_text(statement.left), "invalid", diagnosis)

    def helper(self, line: Line, number: int) -> Iterator[ClaimResult]:
        """Define a helper; say so if it cannot be, or is never used."""
        later = [x for x in self.lines[number + 1 :] if isinstance(x, Line)]
        if not any(line.name in x.mentions() or line.name == x.name for x in later):
            diagnosis = Diagnosis("unknown", _sentence(unused_helper(self.spec, line)))
            yield ClaimResult(line.number, line.text, line.name, "invalid", diagnosis)
            return
        if fault := _numberless(line.statement.sides[0]):
            self.broken[line.name] = line.number
            yield ClaimResult(line.number, line.text, line.name, "invalid", Diagnosis("unknown", _sentence(fault)))
            return
        try:
            self.needs(line.statement.sides[0])
            self.bench(self.points.main[0]).define(line)
        except (NotJudged, *_FAULTS) as reason:
            self.broken[line.name] = line.number
            yield ClaimResult(line.number, line.text, line.name, None, detail=_sentence(str(reason)))
            return
        except ClaimError as error:
            self.broken[line.name] = line.number
            kind = "shape" if error.reason == "shape" else "unknown"
            yield ClaimResult(line.number, line.text, line.name, "invalid", Diagnosis(kind, _sentence(error.message)))
            return
        self.broken.pop(line.name, None)
        self.helpers.append(line)
        for count, side in enumerate(line.statement.sides[1:], 2):
            yield self.side(line, side, count)

    def claim(self, line: Line) -> Iterator[ClaimResult]:
        """Judge every side of a claim."""
        chain = len(line.statement.sides) > 1
        for count, side in enumerate(line.statement.sides, 1):
            yield self.side(line, side, count if chain else None)

    def side(self, line: Line, node: syntax.Node, count: int | None) -> ClaimResult:
        """Judge one side."""
        result = ClaimResult(line.number, line.text, line.name, None, side=count)
        try:
            self.needs(node)
            if fault := _numberless(node):
                return replace(result, verdict="invalid", diagnosis=Diagnosis("unknown", _sentence(fault)))
            if repeated := self.circular(line, node):
                return replace(result, verdict="invalid", diagnosis=Diagnosis("unknown", _sentence(repeated)))
            verdict, diagnosis, detail = Trial(self, line, node).verdict()
        except NotJudged as reason:
            return replace(result, detail=_sentence(str(reason)))
        except _FAULTS as error:
            return replace(result, detail=_sentence(f"this cannot be judged: {error}"))
        return replace(result, verdict=verdict, diagnosis=diagnosis, detail=detail)

    def needs(self, node: syntax.Node) -> None:
        """Raise if an expression needs a helper that could not be defined."""
        for name in names_in(node):
            if name in self.broken:
                raise NotJudged(f"it uses {name}, which line {self.broken[name]} does not define")

    def circular(self, line: Line, node: syntax.Node) -> str | None:
        """Why a claim says nothing: its right side contains its left, by way of helpers, too."""
        if line.role in ("jacobian", "helper"):
            return None
        definitions = {h.name: h.mentions() for h in self.helpers}
        seen: set[str] = set()
        waiting = list(names_in(node))
        while waiting:
            name = waiting.pop()
            if name == line.name:
                return f"the right side contains {name} itself, so the claim says nothing"
            if name not in seen:
                seen.add(name)
                waiting.extend(definitions.get(name, ()))
        return None


class Trial:
    """One side of one claim before the court."""

    def __init__(self, court: Court, line: Line, node: syntax.Node) -> None:
        self.court = court
        self.spec = court.spec
        self.line = line
        self.node = node

    def verdict(self) -> tuple[Verdict, Diagnosis | None, str]:
        """The verdict, why, and what there is to know besides."""
        outcomes = [self.at(p) for p in self.court.points.main]
        for outcome in outcomes:
            if outcome.error:
                return self.invalid(outcome)
        failed = next((o for o in outcomes if o.wrong is not None), None)
        if failed is None and not sum(o.decided for o in outcomes):
            raise NotJudged("the forward has no derivative at any point that was tried")
        scouted = self.scouted() if failed is None else None
        failed = failed or (scouted if scouted and scouted.wrong is not None else None)
        if failed:
            return self.wrong(failed)
        if undefined := next((o for o in [*outcomes, scouted] if o and o.undefined is not None), None):
            return self.undefined(undefined)
        if dependent := self.constant():
            return dependent
        note = "where the forward has no derivative, nothing was decided" if any(o.open for o in outcomes) else ""
        return "right", None, note

    def at(self, point: Point, base: Domain = EXACT, *, keep: bool = True) -> Outcome:
        """The side against the truth at one point."""
        try:
            bench = self.court.bench(point, base) if keep else self.court.new_bench(point, base)
            sides = bench.sides(self.line, self.node)
        except ClaimError as error:
            return Outcome(point, None, error=error)
        return self.compared(point, sides)

    def compared(self, point: Point, sides: Sides) -> Outcome:
        """Entry by entry."""
        wrong = undefined = finer = None
        decided = still_open = 0
        for at in np.ndindex(*sides.true.shape):
            claimed, true = sides.claimed[at], sides.true[at]
            if not finite(true):
                still_open += 1
                continue
            decided += 1
            if not finite(claimed):
                undefined = undefined or at
            elif wrong is None and not equal(claimed, true):
                if _exact(claimed, true):
                    wrong = at
                    continue
                finer = finer or self.finer(point)
                if not _rounding(sides, finer, at):
                    wrong = at
        return Outcome(point, sides, wrong, undefined, decided, still_open)

    def finer(self, point: Point) -> Sides:
        """The sides with more than twice as many digits."""
        return self.court.new_bench(point, _finer()).sides(self.line, self.node)

    def scouted(self) -> Outcome | None:
        """The first of many more points at which the claim fails; floats say where to look, exact numbers decide."""
        from symderive.claims.borders import straddling

        points = self.court.points
        near = filter(points.smooth, straddling(self))
        scouts = itertools.chain(points.scouts, self.beyond())
        for point, close in itertools.chain(((p, False) for p in scouts), ((p, True) for p in near)):
            try:  # next to a border that the claim draws itself, a difference may be too small for floats
                if not close and self.court.bench(point, FLOAT).agrees(self.line, self.node):
                    continue
            except ClaimError:
                continue
            outcome = self.at(point)
            if outcome.wrong is None and self.singular(outcome):
                continue
            if outcome.undefined is not None or outcome.wrong is not None:
                return outcome
        return None

    def beyond(self) -> Iterator[Point]:
        """A point at sizes that reach past the numbers that the claim compares with, such as the 5 of ``i == 5``."""
        points = self.court.points
        numbers = {
            int(n.value) for c in self.node.walk() if _compares(c) for n in c.walk() if isinstance(n, syntax.Number)
        }
        known = max((v for s in points.plan for v in s.values() if isinstance(v, int)), default=0)
        for number in sorted(n for n in numbers if known <= n + 1 and n <= MOST_COMPARED)[-1:]:
            sizes = {**points.plan[0], **dict.fromkeys(points.chooser.names, number + 2)}
            if points.chooser.valid(sizes) and points.chooser.work(sizes) <= MOST_BEYOND:  # type: ignore[arg-type]
                yield points.point(sizes)

    def singular(self, outcome: Outcome) -> bool:
        """Whether a claim has no value at all for want of an inverse, by which it writes the gradient of a determinant.

        Formulas with an inverse are meant for matrices that have one.
        """
        if outcome.sides is None or not self.court.points.inverts or not any(_inverts(n) for n in self.node.walk()):
            return False
        return not any(finite(c) for c in outcome.sides.claimed.flat)

    def constant(self) -> tuple[Verdict, Diagnosis | None, str] | None:
        """Whether the claim holds only for the spec's value of a constant."""
        from symderive.claims.conditions import only_for_constant

        return only_for_constant(self)

    def undefined(self, outcome: Outcome) -> tuple[Verdict, Diagnosis | None, str]:
        """A claim that has no value where the truth has one."""
        from symderive.claims.conditions import without_zeros

        points = [o for p in self.court.points.main if (o := self.at(p)).sides is not None]
        if not any(finite(c) for o in points for c in o.sides.claimed.flat):  # type: ignore[union-attr]
            sentence = "The claim has no value anywhere."
            return "wrong", Diagnosis("unknown", sentence, None, self.counterexample(outcome)), ""
        return without_zeros(self, outcome)

    def wrong(self, outcome: Outcome) -> tuple[Verdict, Diagnosis | None, str]:
        """A claim that differs: the condition under which it would hold, or what is wrong with it."""
        from symderive.claims.conditions import find_condition
        from symderive.claims.diagnose import explain

        condition = find_condition(self, outcome.point)
        diagnosis = explain(self, outcome, condition)
        return ("conditional" if condition else "wrong"), diagnosis, ""

    def invalid(self, outcome: Outcome) -> tuple[Verdict, Diagnosis | None, str]:
        """A claim that has no value of the right shape."""
        from symderive.claims.conditions import find_size
        from symderive.claims.diagnose import explain

        condition = find_size(self)
        diagnosis = explain(self, outcome, condition)
        return ("conditional" if condition else "invalid"), diagnosis, ""

    # Counterexamples

    def counterexample(self, outcome: Outcome) -> Mapping[str, Any]:
        """The entry at which a claim fails: sizes, indices, the claimed value and the true one, and small inputs."""
        point, sides = outcome.point, outcome.sides
        found: dict[str, Any] = {"sizes": _plain_sizes(point.sizes)}
        if sides is None:
            return found | self.shapes(outcome)
        at = outcome.wrong if outcome.wrong is not None else outcome.undefined or ()
        found |= {"indices": list(at), "claimed": shown(sides.claimed[at]), "true": shown(sides.true[at])}
        if sum(np.size(a) for a in point.inputs.values()) <= 40:
            found["inputs"] = {n: _listed(a) for n, a in point.inputs.items()}
            found["inputs"] |= {f"d{n}": _listed(a) for n, a in point.upstreams.items() if np.ndim(a)}
        return found

    def shapes(self, outcome: Outcome) -> dict[str, Any]:
        """For a claim of another shape, the two shapes."""
        bench = self.court.bench(outcome.point)
        try:
            true = shape_text(np.shape(bench.tensors.get(self.line.name, bench.truth(self.line)[0])))
        except ClaimError:
            true = "undefined"
        try:
            claimed = shape_text(bench.plain_array(self.node).shape) if self.line.indices is None else "undefined"
        except ClaimError:
            claimed = "undefined"
        return {
            "indices": [],
            "claimed": f"shape {claimed}".replace("shape undefined", "undefined"),
            "true": f"shape {true}",
        }


def _compares(node: syntax.Node) -> bool:
    """Whether a node compares its parts."""
    return isinstance(node, syntax.Compare) or (isinstance(node, syntax.Call) and node.function == "delta")


def _numberless(node: syntax.Node) -> str:
    """What is wrong with the numbers of an expression: it divides by zero, say; empty where nothing is."""
    for inner in node.walk():
        try:
            fold(inner)
        except ValueError as error:
            return str(error)
    return ""


def _inverts(node: syntax.Node) -> bool:
    """Whether a node is the inverse of a matrix."""
    match node:
        case syntax.Binder(op=name) | syntax.Call(function=name) | syntax.Method(name=name):
            return name in ("inv", "inverse")
    return False


def _exact(*numbers: Any) -> bool:
    """Whether numbers are rational, so that they differ where they differ."""
    return all(isinstance(n, int | Fraction) for n in numbers)


def _rounding(sides: Sides, finer: Sides, at: tuple[int, ...]) -> bool:
    """Whether the difference of an entry goes away with more digits."""
    coarse = EXACT.lift(sides.claimed[at]) - EXACT.lift(sides.true[at])
    base = _finer()
    return vanishes(coarse, base.lift(finer.claimed[at]) - base.lift(finer.true[at]))


_FINER: list[Exact] = []


def _finer() -> Exact:
    if not _FINER:
        _FINER.append(Exact(2 * EXACT.digits + 20))
        _FINER[0].name = "finer"
    return _FINER[0]


def _plain_sizes(sizes: Mapping[str, Any]) -> dict[str, Any]:
    return {n: list(v) if isinstance(v, tuple) else v for n, v in sizes.items()}


def _listed(a: np.ndarray) -> Any:
    values = np.vectorize(shown, otypes=[object])(a) if np.size(a) else np.asarray(a)
    return values.tolist()


def _sentence(text: str) -> str:
    """The text as a sentence."""
    text = text.strip()
    return text if text.endswith((".", "?", "!")) else f"{text}."


# What others call


def judge(spec: model.Spec, derivation: Derivation | None = None, *, seed: int = 0) -> list[ClaimResult]:
    """The verdicts on a spec's claims, in the order of their lines; a line that cannot be read is ``invalid``."""
    return _judged(Court(spec, spec.claims, spec.text, derivation, seed), spec.bad_claims)


def judge_text(
    spec: model.Spec, text: str, derivation: Derivation | None = None, *, seed: int = 0
) -> list[ClaimResult]:
    """The verdicts on claims that are given as text, one a line."""
    from symderive.spec.claims import parse_lines

    statements, bad = parse_lines(text)
    return _judged(Court(spec, statements, text, derivation, seed), bad)


def _judged(court: Court, bad: Sequence[model.BadLine]) -> list[ClaimResult]:
    results = list(court.results())
    for line in bad:
        diagnosis = Diagnosis("unknown", _sentence(f"{line.message}{f'; {line.hint}' if line.hint else ''}"))
        target = line.text.partition("=")[0].strip()
        results.append(ClaimResult(line.line, line.text, target, "invalid", diagnosis))
    return sorted(results, key=lambda r: r.line)


def check_claims(spec: model.Spec, derivation: Derivation | None = None, *, seed: int = 0) -> Iterator[CheckResult]:
    """The verdicts as rows of ``symderive check``."""
    from symderive.check.results import CheckResult

    for result in judge(spec, derivation, seed=seed):
        yield CheckResult(
            "claim",
            result.target,
            "pass" if result.ok else "fail",
            detail=result.detail,
            verdict=result.verdict,
            diagnosis=None if result.diagnosis is None else result.diagnosis.document(),
            line=result.line,
            text=result.text,
            side=result.side,
        )
