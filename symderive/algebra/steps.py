"""The story of a derivation: every adjoint with what it received, and the named rules that led to its final form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sympy import Add, Expr, Mul

from symderive.algebra import nodes
from symderive.algebra.adjoint import Occurrence
from symderive.algebra.letters import Letters
from symderive.algebra.nodes import Eq, Sum
from symderive.algebra.program import Equation, Step
from symderive.algebra.simplify import Change, Trail
from symderive.algebra.terms import tensors
from symderive.algebra.unbuild import Writer, statement
from symderive.record import record
from symderive.spec.syntax import Access, Binary, Binder, Call, Name, Node, Number, Statement
from symderive.wording import listed

if TYPE_CHECKING:
    from symderive.algebra.derive import Sweep


@record
class Received:
    """What a tensor receives from one place where ``user`` reads it, or from a call whose output ``user`` defines.

    ``raw`` is the contribution; ``call`` names the called spec, whose own rule gave it.
    """

    user: Equation
    raw: Expr
    occurrence: Occurrence | None = None
    call: str = ""


RULES = {
    "chain_rule": "chain rule: every entry of {users} that reads {tensor} hands on its upstream gradient",
    "call_rule": "{call} is derived already: its own rule is used, with the upstream {upstreams}",
    "local_partial": "local partial derivatives: reading {tensor} at its own indices gives Kronecker deltas",
    "delta": "each delta leaves one term of its sum and renames the index",
    "upstream": "the upstream gradient that the caller gives is added",
    "unit_axis": "an axis of length 1 has one entry: its index is 0",
    "recognise": "a subexpression that the forward has named is written by its name",
    "sum": "sums are linear: factors that do not depend on the summed index come out, deltas collapse",
    "absolute_value": "with a sign: x * sign(x) is abs(x), abs(x) * sign(x) is x, and sign(x) / abs(x) is 1 / x",
    "known_sum": "a sum that is known from the definition: a softmax sums to 1, a centred tensor to 0",
    "stable_form": "exponentials are normalised so that none can overflow",
    "mask": "the factor is already 0 where the mask is",
    "factor": "common factors are taken out",
    "sigmoid": "sigmoid(-x) = 1 - sigmoid(x)",
    "branch": "what stands under one condition is put together, deltas included",
    "sign": "a minus goes into a difference",
    "complement": "sigmoid(-x) = 1 - sigmoid(x)",
    "multiply_out": "products are multiplied out, so that like terms meet",
    "common_factor_of_branches": "a factor of every branch is taken out",
    "substitute": "the formula of {helper} is put in",
    "zero": "no output depends on {tensor}: the gradient is identically zero",
    "upstream_of_loss": "{loss} is the only output: its upstream gradient is 1",
}
"""Every rule that a step can name, and what it says."""


@dataclass
class Record:
    """One adjoint: its equation as it stands, the tensor it belongs to, and how it came about."""

    equation: Equation
    tensor: str
    received: list[Received]
    changes: list[tuple[Change, str]] = field(default_factory=list)


class Story:
    """The adjoints in the order in which they are computed; ``put_in`` are those that were put into their users."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.put_in: dict[str, Record] = {}
        self._users: dict[str, set[str]] = {}
        self._order: dict[str, int] = {}

    def add(self, equation: Equation, tensor: str, received: list[Received], trail: Trail) -> None:
        """A new adjoint."""
        self._order[equation.tensor] = len(self._order)
        changes = [(c, "") for c in trail.changes]
        self.records[equation.tensor] = Record(equation, tensor, received, changes)
        self._link(equation)

    def _link(self, equation: Equation) -> None:
        for name in tensors(equation.right):
            self._users.setdefault(name, set()).add(equation.tensor)

    @property
    def told(self) -> dict[str, Record]:
        """Every adjoint that a reader meets, those put in included, in order."""
        both = {**self.records, **self.put_in}
        return {name: both[name] for name in sorted(both, key=self._order.__getitem__)}

    @property
    def equations(self) -> list[Equation]:
        """The adjoint equations in order."""
        return [r.equation for r in self.records.values()]

    def rewrite(self, rule: str, change: Callable[[Expr], Expr]) -> None:
        """A last rule for every adjoint."""
        for told in self.records.values():
            before, after = told.equation.right, change(told.equation.right)
            if after != before:
                told.changes.append((Change(rule, before, after), ""))
                told.equation = replace(told.equation, right=after)

    def users(self, name: str) -> list[str]:
        """The adjoints that read another."""
        return sorted((u for u in self._users.get(name, ()) if u in self.records), key=self._order.__getitem__)

    def drop(self, name: str) -> None:
        """Nothing reads this adjoint any more."""
        gone = self.records.pop(name)
        for read in tensors(gone.equation.right):
            self._users.get(read, set()).discard(name)

    def absorb(self, name: str, trails: Mapping[str, Trail]) -> None:
        """An adjoint is put into all its users, and the rules of the trails follow."""
        for user, trail in trails.items():
            self._inline(self.records[name].equation, user, trail)
        self.put_in[name] = self.records[name]
        self.drop(name)

    def _inline(self, helper: Equation, user: str, trail: Trail) -> None:
        record = self.records[user]
        start = trail.changes[0].before if trail.changes else trail.expression
        record.changes.append((Change("substitute", record.equation.right, start), helper.tensor))
        record.changes += [(c, "") for c in trail.changes]
        for read in tensors(record.equation.right):
            self._users.get(read, set()).discard(user)
        record.equation = replace(record.equation, right=trail.expression)
        self._link(record.equation)


def gradient_steps(record: Record, sweep: Sweep, letters: Letters, one: Mapping[Expr, Expr]) -> tuple[Step, ...]:
    """The derivation of one adjoint as a person would follow it; ``one`` puts 1 for the upstream of a sole loss."""
    return tuple(_steps(record, sweep, letters, one))


def _steps(record: Record, sweep: Sweep, letters: Letters, one: Mapping[Expr, Expr]) -> Iterator[Step]:
    equation, tensor = record.equation, record.tensor
    if not record.received:
        final = statement(equation, letters)
        yield Step("zero", RULES["zero"].format(tensor=tensor), final, final)
        return
    users = list(dict.fromkeys(r.user.tensor for r in record.received))
    chain = _chain_rule(record, sweep, letters, one)
    partial = _with_deltas(record, sweep, letters, one)
    collapsed = statement(replace(equation, right=Add(*(r.raw for r in record.received)).xreplace(one)), letters)
    yield Step("chain_rule", RULES["chain_rule"].format(users=listed(users), tensor=tensor), chain, chain)
    ways = {"call_rule": _call_rule(record, sweep)} if any(r.call for r in record.received) else {}
    if any(r.occurrence for r in record.received):
        ways["local_partial"] = RULES["local_partial"].format(tensor=tensor)
    yield Step(next(iter(ways)), "; ".join(ways.values()), chain, partial)
    if partial != collapsed:
        yield Step("delta", RULES["delta"], partial, collapsed)
    previous = collapsed
    for change, helper in record.changes:
        after = statement(replace(equation, right=change.after.xreplace(one)), letters)
        if after != previous:
            yield Step(change.rule, RULES[change.rule].format(helper=helper, tensor=tensor), previous, after)
            previous = after


def _call_rule(record: Record, sweep: Sweep) -> str:
    """Which rules were used, and what stands for the upstreams in them."""
    users: dict[str, list[str]] = {r.call: [] for r in record.received if r.call}
    for received in record.received:
        if received.call:
            users[received.call].append(sweep.adjoint_of(received.user.tensor))
    texts = [
        RULES["call_rule"].format(call=call, upstreams=listed(list(dict.fromkeys(u)))) for call, u in users.items()
    ]
    return "; ".join(texts)


def _chain_rule(record: Record, sweep: Sweep, letters: Letters, one: Mapping[Expr, Expr]) -> Statement:
    """``dW[j, k] = sum[i, m](dy[i, m] * D(y[i, m], W[j, k]))``; batch axes that both have are not summed over."""
    own = {i.name: i.extent for i in record.equation.indices}
    total: Node | None = None
    for user in {r.user.tensor: r.user for r in record.received}.values():
        used = dict(own)
        names, bound = [], []
        for index in user.indices:
            keep = index.is_batch or (index.name not in used and index.name not in letters.taken)
            name = index.name if keep else letters.choose(index.extent, used)
            if name not in used:
                bound.append(name)
            used[name] = index.extent
            names.append(name)
        places = tuple(_place(n) for n in names)
        entry: Node = Access(user.tensor, places) if places else Name(user.tensor)
        adjoint = sweep.adjoint_of(user.tensor)
        is_one = nodes.Access(adjoint) in one
        upstream: Node = Access(adjoint, places) if places else Name(adjoint)
        target_places = tuple(_place(i.name) for i in record.equation.indices)
        target: Node = Access(record.tensor, target_places) if target_places else Name(record.tensor)
        partial = Call("D", (entry, target))
        term: Node = partial if is_one else Binary("*", upstream, partial)
        if bound:
            term = Binder("sum", tuple(bound), None, term)
        total = term if total is None else Binary("+", total, term)
    left: Node = Access(record.equation.tensor, tuple(_place(i.name) for i in record.equation.indices))
    if not record.equation.indices:
        left = Name(record.equation.tensor)
    return Statement(left, (total or Number(Fraction(0)),))


def _place(name: str) -> Node:
    from symderive.spec.syntax import BATCH, Batch

    return Batch() if name == BATCH else Name(name)


def _with_deltas(record: Record, sweep: Sweep, letters: Letters, one: Mapping[Expr, Expr]) -> Statement:
    """The local partial derivatives written out, deltas and all."""
    parts = []
    for received in record.received:
        occurrence = received.occurrence
        if occurrence is None:
            parts.append(received.raw)
            continue
        places = list(zip(record.equation.indices, occurrence.positions, strict=True))
        batch = {f: p for p, f in places if p.is_batch}  # the same batch entry on both sides: no delta is needed
        term = Mul(occurrence.adjoint.xreplace(batch), *(Eq(p, f) for p, f in places if f not in batch))
        parts.append(Sum.over(term, [i for i in occurrence.summed if i not in batch]))
    writer = Writer(letters, {i.name: i.extent for i in record.equation.indices}, deltas=True)
    return writer.statement(record.equation.tensor, record.equation.indices, Add(*parts).xreplace(one))
