"""Every catalogue gradient rewritten and mutated at random, and what the judge says of it."""

from __future__ import annotations

import gc
import itertools
import random
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from symderive import spec as specs
from symderive.algebra.derive import derive, spec_letters
from symderive.algebra.unbuild import statement as printed
from symderive.check.floats import FLOAT
from symderive.claims.compare import close_where_finite
from symderive.claims.court import Court
from symderive.claims.derived import Derived
from symderive.claims.fit import SEVERAL
from symderive.claims.lines import ClaimError, names_in, read_lines
from symderive.claims.trees import tensor_of
from symderive.errors import SymderiveError
from symderive.garbage import only_new_garbage
from symderive.spec import syntax
from symderive.spec.claims import parse_lines
from symderive.spec.format import to_text
from tests.claims.mutants import mutants, pairs, sampled
from tests.claims.rewritings import rewritten, with_helper
from tests.fuzz.generate import random_spec

CATALOGUE = Path(__file__).parents[2] / "derivations"


@dataclass
class Form:
    """One gradient in one form: the statement that is changed, and the helper lines before it."""

    statement: syntax.Statement
    helpers: tuple[syntax.Statement, ...] = ()


def forms(spec):
    """The gradients of a spec in index form, and in array form where there is one."""
    derivation = derive(spec)
    own = named_apart(spec, derivation)
    found = [Form(g.index, helpers(g.index, own)) for g in derivation.gradients.values() if not g.zero]
    arrays = Derived(spec, derivation).arrays
    for gradient in derivation.gradients.values():
        if not gradient.zero and (text := arrays.get(gradient.tensor)):
            lines, bad = parse_lines(text)
            if lines and not bad:
                before = helpers(gradient.index, own)
                found.append(Form(lines[-1], (*before, *lines[:-1])))
    return found


def named_apart(spec, derivation):
    """The equations of a derivation that define what the forward does not name, and no gradient of a tensor of it."""
    known = set(spec.shapes) | {f"d{name}" for name in spec.shapes}
    letters = spec_letters(spec, derivation.forward)
    return {e.tensor: printed(e, letters) for e in derivation.display.equations if e.tensor not in known}


def helpers(statement, own):
    """Those of them that a statement needs, directly or by way of others, in order."""
    needed, waiting = set(), [statement]
    while waiting:
        names = {n for side in waiting.pop().sides for n in names_in(side)} & own.keys() - needed
        needed |= names
        waiting += [own[n] for n in names]
    return tuple(line for name, line in own.items() if name in needed)


def confusable(spec):
    """The gradients of all tensors, intermediates too, in index form."""
    derivation = derive(spec)
    letters = spec_letters(spec, derivation.forward)
    return [printed(e, letters) for e in derivation.display.equations]


def judged(spec, lines):
    """What the judge says of the last of some lines."""
    return list(Court(spec, lines, "").results())[-1]


# Rewritings


def rewriting(spec, form, rng):
    """One random rewriting, as lines."""
    statement = rewritten(spec, form.statement, rng, steps=rng.randint(1, 5))
    if not form.helpers and rng.random() < 0.25:
        return with_helper(spec, statement, rng)
    return [*form.helpers, statement]


def rewritings(spec, count, seed=0):
    """So many random rewritings of each gradient, in one form and the other in turn, as lines."""
    by_name = {}
    for form in forms(spec):
        by_name.setdefault(tensor_of(form.statement.left), []).append(form)
    for name, both in by_name.items():
        rng = random.Random(f"{spec.name} {name} {seed}")
        for n in range(count):
            yield rewriting(spec, both[n % len(both)], rng)


# Mutants


@dataclass
class Mutant:
    """A changed gradient: the kinds of change that make it, and its lines."""

    kinds: set[str]
    lines: list[syntax.Statement]


def mutated(spec, most, seed=0):
    """Mutants of every gradient in both of its forms, at most so many of each form.

    What several kinds of change make alike, in whichever form, may be called by any of them.
    """
    others = confusable(spec)
    court = Court(spec, [], "", seed=seed + 1)
    by_name = {}
    for form in forms(spec):
        by_name.setdefault(tensor_of(form.statement.left), []).append(form)
    for name, both in by_name.items():
        every = [(form, kind, m) for form in both for kind, m in mutants(spec, form.statement, others)]
        values = {id(m): _value(court, [*form.helpers, m]) for form, _, m in every}
        for form in both:
            rng = random.Random(f"{spec.name} {name} {seed}")
            for kind, mutant in sampled([(k, m) for f, k, m in every if f is form], most, rng):
                own = values[id(mutant)]
                same = {k for _, k, m in every if own is not None and _alike(values[id(m)], own)}
                yield Mutant({kind} | same, [*form.helpers, mutant])


def paired(spec, most, seed=0):
    """Gradients with two mistakes, so many of each form, but for those that no mistake or a single one makes, too."""
    court = Court(spec, [], "", seed=seed + 1)
    for form in forms(spec):
        rng = random.Random(f"{spec.name} {to_text(form.statement)} {seed}")
        single = [form.statement, *(m for _, m in mutants(spec, form.statement))]
        known = [_value(court, [*form.helpers, m]) for m in single]
        found = 0
        for kinds, mutant in itertools.islice(pairs(spec, form.statement, rng), 8 * most):
            lines = [*form.helpers, mutant]
            own = _value(court, lines)
            if found < most and (own is None or not any(_alike(v, own) for v in known)):
                found += 1
                yield Mutant(kinds, lines)


def _value(court, lines):
    """What the last of some lines is worth at one point, in floats."""
    try:
        point, claims = court.points.main[0], read_lines(court.spec, lines, "")
        bench = court.new_bench(point, FLOAT) if len(lines) > 1 else court.bench(point, FLOAT)
        for line in claims[:-1]:
            bench.define(line)
        return bench.sides(claims[-1], claims[-1].statement.right).claimed.astype(float)
    except (ClaimError, SymderiveError, ArithmeticError, LookupError, ValueError, TypeError):
        return None


def _alike(a, b):
    return a is not None and a.size == b.size and close_where_finite(a.reshape(b.shape), b)


def is_equal(spec, lines, seed=7):
    """Whether lines that the judge finds right agree with the truth at other and larger sizes, in floats."""
    court = Court(spec, lines, "", seed=seed)
    sizes = list(itertools.islice(court.points.chooser.different, 40))
    chosen = [s for s in sizes[2:40:9] if court.points.chooser.work(s) < 4000] or sizes[:1]
    claims = read_lines(spec, lines, "")
    for n, values in enumerate(chosen):
        point = court.points.point(court.points.chooser.with_batches([values] * 3)[n % 3])
        bench = court.new_bench(point, FLOAT)
        for line in claims[:-1]:
            bench.define(line)
        if not bench.agrees(claims[-1], claims[-1].statement.right):
            return False
    return True


# Rows of the table


@dataclass
class Row:
    """What came out for one spec."""

    spec: str
    rewritings: int = 0
    mutants: int = 0
    equal: int = 0
    named: int = 0
    seconds: float = 0.0
    worst: float = 0.0
    alone: float = 0.0
    claims: int = 0
    claims_seconds: float = 0.0
    pairs: int = 0
    pairs_named: int = 0
    pairs_told: int = 0
    faults: list[str] = field(default_factory=list)
    misnamed: list[tuple[str, str, str]] = field(default_factory=list)
    by_kind: dict[str, list[int]] = field(default_factory=dict)

    def count(self, spent):
        """Note how long a verdict took."""
        self.seconds += spent
        self.worst = max(self.worst, spent)


def verdicts(spec, claims):
    """What is said of each of many claims, and how long it took; the truth is computed once for all single lines."""
    single = [lines for lines in claims if len(lines) == 1]
    together = iter(Court(spec, [lines[0] for lines in single], "").results())
    for lines in claims:
        started = time.thread_time()
        result = next(together) if len(lines) == 1 else judged(spec, lines)
        yield result, time.thread_time() - started


def alone(spec, claims):
    """How long the slowest of some claims takes with nothing known before, and no garbage left by others."""
    worst = 0.0
    for lines in claims:
        gc.collect()
        started = time.thread_time()
        judged(spec, lines)
        worst = max(worst, time.thread_time() - started)
    return worst


def spec_of(name):
    """A spec of the catalogue, or the random one of a seed: ``random 17``."""
    kind, _, seed = name.partition(" ")
    return specs.loads(random_spec(int(seed)), "random") if kind == "random" else specs.load(CATALOGUE / f"{name}.yaml")


@only_new_garbage()
def row(name, count, most, twice=0, seed=0):
    """One spec: its claims, its rewritings, its mutants, and those with two mistakes."""
    spec = spec_of(name)
    out = Row(name)
    started = time.thread_time()
    results = list(Court(spec, spec.claims, spec.text).results())
    out.claims, out.claims_seconds = len(results), time.thread_time() - started
    out.faults += [f"claim: {r.text}: {r.verdict} {r.detail}" for r in results if not r.ok]
    bare = replace(spec, claims=())
    written = list(rewritings(bare, count, seed))
    for lines, (result, spent) in zip(written, verdicts(bare, written), strict=True):
        out.count(spent)
        out.rewritings += 1
        if result.verdict != "right":
            out.faults.append(f"rewriting: {_text(lines)}: {result.verdict} {result.diagnosis or result.detail}")
    made = list(mutated(bare, most, seed)) if most else []
    for mutant, (result, spent) in zip(made, verdicts(bare, [m.lines for m in made]), strict=True):
        out.count(spent)
        _one_mutant(out, bare, mutant, result)
    double = list(paired(bare, twice, seed)) if twice else []
    for mutant, (result, spent) in zip(double, verdicts(bare, [m.lines for m in double]), strict=True):
        out.count(spent)
        _one_pair(out, bare, mutant, result)
    out.alone = alone(bare, [*written[:: count or 1], *(m.lines for m in made[:: most or 1])])
    return out


def _one_mutant(out, spec, mutant, result):
    if result.verdict == "right" and is_equal(spec, mutant.lines):
        out.equal += 1
        return
    out.mutants += 1
    kind = result.diagnosis.kind if result.diagnosis else str(result.verdict)
    if result.verdict == "right" or result.verdict is None:
        out.faults.append(f"mutant {mutant.kinds}: {_text(mutant.lines)}: {result.verdict} {result.detail}")
    named = kind in mutant.kinds
    out.named += named
    for made in mutant.kinds:
        counts = out.by_kind.setdefault(made, [0, 0])
        counts[0] += named
        counts[1] += 1
    if not named:
        out.misnamed.append((", ".join(sorted(mutant.kinds)), kind, _text(mutant.lines)))


def _one_pair(out, spec, mutant, result):
    """Two mistakes: whether the diagnosis names one of the kinds, and whether it says that there are two."""
    if result.verdict == "right" and is_equal(spec, mutant.lines):
        out.equal += 1
        return
    if result.verdict in ("right", None):
        out.faults.append(f"mutant {mutant.kinds}: {_text(mutant.lines)}: {result.verdict} {result.detail}")
    kind, words = (result.diagnosis.kind, result.diagnosis.sentence) if result.diagnosis else ("", "")
    out.pairs += 1
    out.pairs_named += kind in mutant.kinds
    out.pairs_told += SEVERAL in words
    if kind not in mutant.kinds:
        out.misnamed.append((" and ".join(sorted(mutant.kinds)), kind, f"{_text(mutant.lines)}: {words}"))


def _text(lines):
    return "; ".join(to_text(line) for line in lines)
