"""One side of one claim before the court: where it fails decides the verdict, and the verdict asks why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from symderive.check.exact import EXACT, Exact
from symderive.check.floats import FLOAT
from symderive.check.numbers import Domain
from symderive.claims.bench import Sides
from symderive.claims.compare import finite
from symderive.claims.counterexample import counterexample, plainest
from symderive.claims.lines import FAULTS, ClaimError, Line, NotJudged, names_in, read_lines
from symderive.claims.outcome import MOST_DIGITS, Outcome, compared
from symderive.claims.points import Point
from symderive.claims.result import Diagnosis, Verdict
from symderive.claims.scouting import scouted
from symderive.claims.undecided import undecided
from symderive.claims.world import Sizes
from symderive.errors import SymderiveError
from symderive.spec import syntax
from symderive.spec.claims import parse_lines
from symderive.spec.format import to_text

if TYPE_CHECKING:
    from symderive.claims.court import Court

Ruling = tuple[Verdict, Diagnosis | None, str]
"""The verdict, why, and what there is to know besides."""


class Trial:
    """One side of one claim before the court."""

    def __init__(self, court: Court, line: Line, node: syntax.Node) -> None:
        self.court = court
        self.spec = court.spec
        self.line = line
        self.node = node
        self.beside: list[Point] = []
        """Points next to borders of the side, as far as they were looked for."""
        self.note = ""
        self.tied: list[Point] = []
        """Points on borders of the side that are on kinks of the forward, too."""

    def mentions(self) -> set[str]:
        """The names in the side, and in the helpers that it uses."""
        definitions = {h.name: h.mentions() for h in self.court.helpers}
        seen: set[str] = set()
        waiting = list(names_in(self.node))
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting.extend(definitions.get(name, ()))
        return seen

    def sides(self) -> Iterator[tuple[syntax.Node, Line]]:
        """The side, and those of the helpers that it uses, each with its line."""
        yield self.node, self.line
        waiting = names_in(self.node)
        for helper in reversed(self.court.helpers):
            if helper.name in waiting:
                yield helper.statement.sides[0], helper
                waiting |= names_in(helper.statement.sides[0])

    def inverted(self) -> list[syntax.Node]:
        """The matrices of which an inverse stands in the side, or in a helper that it uses."""
        return [matrix for side, _ in self.sides() for n in side.walk() if (matrix := _inverted(n)) is not None]

    # What happens at points

    def at(self, point: Point, base: Domain = EXACT, *, keep: bool = True, digits: int = MOST_DIGITS) -> Outcome:
        """The side against the truth at one point, with at most so many ``digits``."""
        bench = self.court.bench if keep else self.court.new_bench
        try:
            sides = bench(point, base).sides(self.line, self.node)
        except ClaimError as error:
            return Outcome(point, None, error=error)
        return compared(point, sides, self.again(point, keep), digits)

    def again(self, point: Point, keep: bool = True) -> Callable[[Exact], Sides]:
        """The side and the truth at a point in other numbers."""
        bench = self.court.bench if keep else self.court.new_bench
        return lambda base: bench(point, base).sides(self.line, self.node)

    def counterexample(self, outcome: Outcome) -> Mapping[str, Any]:
        """The entry at which the claim fails, one of ordinary numbers where there is one."""
        plain = plainest(self, outcome)
        return counterexample(self.court.bench(plain.point), self.line, self.node, plain)

    def formula(self) -> str | None:
        """The derived formula of the gradient that is claimed, in the style of the claim."""
        derived = self.court.derived
        if self.line.role == "jacobian":
            statement = derived.jacobian(self.line)
            return None if statement is None else to_text(statement)
        if self.line.role != "gradient":
            return None
        found = derived.of(self.line.name)
        if not found.has_ties:
            return found.formula(self.line)
        return next(
            (text for d in (found, found.with_ties) if (text := d.formula(self.line)) and self.true(text)), None
        )

    def true(self, text: str) -> bool:
        """Whether a formula of what is claimed, with helpers of its own, is the truth wherever floats tell."""
        lines = [x for x in read_lines(self.spec, parse_lines(text)[0], text) if isinstance(x, Line)]
        try:
            for point in (*self.court.points.main, *self.court.points.scouts):
                bench = self.court.new_bench(point, FLOAT)
                for line in lines[:-1]:
                    bench.define(line)
                if not bench.agrees(lines[-1], lines[-1].statement.sides[0]):
                    return False
        except (ClaimError, NotJudged, SymderiveError, *FAULTS):
            return False
        return bool(lines)

    # Verdicts

    def verdict(self) -> Ruling:
        """The verdict, from the first failure that is found."""
        outcomes, failed = self.tried()
        if failed is not None:
            if failed.error:
                return self.invalid(failed)
            return self.wrong(failed) if failed.failed else self.undefined(failed)
        if dependent := self.constant():
            return dependent
        if any(o.open for o in outcomes):
            return "right", None, "where the forward has no derivative, nothing was decided"
        return "right", None, self.note or undecided(self)

    def is_right(self) -> bool:
        """Whether the side is right, without asking why not."""
        return self.tried(roughly=True)[1] is None and self.constant() is None

    def tried(self, *, roughly: bool = False) -> tuple[list[Outcome], Outcome | None]:
        """The outcomes at all points, and the one that counts against the side: no value, a wrong one, none there.

        Raises :class:`NotJudged` where the points decide nothing.
        """
        outcomes: list[Outcome] = []
        sizes: list[Sizes] = []
        against = None
        for point in self.court.points.main:
            if against is not None and (point.sizes in sizes or not self.misshapen(point)):
                continue
            sizes.append(point.sizes)
            outcomes.append(self.at(point))
            if outcomes[-1].error or (against is None and outcomes[-1].failed):
                against = outcomes[-1]
            if outcomes[-1].error:
                break
        if against is None and not sum(o.decided for o in outcomes):
            raise NotJudged("the forward has no derivative at any point that was tried")
        if against is None and (far := scouted(self, roughly)):
            outcomes.append(far)
            against = far if far.failed else None
        return outcomes, against or next((o for o in outcomes if o.undefined is not None), None)

    def misshapen(self, point: Point) -> bool:
        """Whether the side has no value of the right shape at a point, which floats tell as well."""
        try:
            self.court.bench(point, FLOAT).sides(self.line, self.node)
        except ClaimError:
            return True
        return False

    def constant(self) -> Ruling | None:
        """Whether the claim holds only for the spec's value of a constant."""
        from symderive.claims.constants import only_for_constant

        return only_for_constant(self)

    def undefined(self, outcome: Outcome) -> Ruling:
        """A claim that has no value where the truth has one."""
        from symderive.claims.zeros import without_zeros

        points = [o for p in self.court.points.main if (o := self.at(p)).sides is not None]
        if not any(finite(c) for o in points for c in o.sides.claimed.flat):  # type: ignore[union-attr]
            sentence = "The claim has no value anywhere."
            return "wrong", Diagnosis("unknown", sentence, None, self.counterexample(outcome)), ""
        return without_zeros(self, outcome)

    def wrong(self, outcome: Outcome) -> Ruling:
        """A claim that differs: the condition under which it would hold, or what is wrong with it."""
        from symderive.claims.candidates import find_condition
        from symderive.claims.diagnose import explain

        diagnosis = explain(self, outcome, find_condition(self, outcome.point))
        return ("conditional" if diagnosis.condition else "wrong"), diagnosis, ""

    def invalid(self, outcome: Outcome) -> Ruling:
        """A claim that has no value of the right shape."""
        from symderive.claims.candidates import find_size
        from symderive.claims.diagnose import explain

        diagnosis = explain(self, outcome, find_size(self))
        return ("conditional" if diagnosis.condition else "invalid"), diagnosis, ""


def _inverted(node: syntax.Node) -> syntax.Node | None:
    """The matrix whose inverse a node is."""
    match node:
        case syntax.Binder(op="inv", body=matrix):
            return syntax.Name(matrix.tensor) if isinstance(matrix, syntax.Access) else matrix
        case syntax.Call(function="inv", arguments=(matrix,)) | syntax.Method(value=matrix, name="inv" | "inverse"):
            return matrix
    return None
