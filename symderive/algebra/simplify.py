"""The order in which rules are applied to one equation, and the record of what each of them did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

from sympy import Abs, Expr, log, preorder_traversal, sign
from sympy.functions.elementary.exponential import exp as Exp

from symderive.algebra.factor import expanded, factor_sum
from symderive.algebra.nodes import Apply, LogSumExp
from symderive.algebra.recognise import Knowledge
from symderive.algebra.rules import (
    STABLE,
    SUMS,
    common_factor_of_branches,
    complement,
    complement_of_sigmoid,
    named_branch,
    unit_axis,
    value_times_sign,
)
from symderive.algebra.terms import Pass, cost, transform_opened
from symderive.errors import UnsupportedError
from symderive.record import record

_longest: ContextVar[int] = ContextVar("_longest", default=0)


@contextmanager
def of_at_most(nodes: int) -> Iterator[None]:
    """Inside, an expression of more nodes is not simplified: :class:`UnsupportedError` says that it is too long."""
    token = _longest.set(nodes)
    try:
        yield
    finally:
        _longest.reset(token)


@record
class Change:
    """A named rule changed the right side of an equation."""

    rule: str
    before: Expr
    after: Expr


@dataclass
class Trail:
    """The changes that led to an expression."""

    expression: Expr
    changes: list[Change] = field(default_factory=list)

    def apply(self, rule: str, rewrite: Callable[[Expr], Expr]) -> None:
        """Rewrite the whole expression; a change is recorded under the rule's name."""
        after = rewrite(self.expression)
        if after != self.expression:
            self.changes.append(Change(rule, self.expression, after))
            self.expression = after

    def copy(self) -> Trail:
        """A trail that may go another way."""
        return Trail(self.expression, list(self.changes))


_SUMS = Pass(*SUMS)
_UNITS = Pass(unit_axis)
_SIGNS = Pass(value_times_sign)
_COMPLEMENT = Pass(complement)
_SIGMOID = Pass(complement_of_sigmoid)
_BRANCHES = Pass(common_factor_of_branches, named_branch)
_FACTOR = Pass(factor_sum)


@lru_cache(maxsize=4096)
def stable_form(expression: Expr) -> Expr:
    """What makes an expression safe to compute; binders are opened, since a normaliser is one more of them."""
    if not expression.atoms(Exp, log, Apply, LogSumExp, Abs, sign):
        return expression

    def at_node(node: Expr) -> Expr:
        for rule in STABLE:
            node = rule(node)
        return node

    for _ in range(2):  # what a rule makes of a node may be one for a rule of its parts
        before, expression = expression, transform_opened(expression, at_node)
        if expression == before:
            break
    return expression


ROUNDS = 4


def simplify(expression: Expr, known: tuple[Knowledge, ...]) -> Trail:
    """The form that a textbook would print; of several ways there, the one with the cheapest result.

    ``known`` are ways to recognise named tensors: the first reads definitions plainly, others also solve them.
    """
    most = _longest.get()
    if most and next(islice(preorder_traversal(expression), most, None), None) is not None:
        raise UnsupportedError("a formula is too long to be simplified")
    best: Trail | None = None
    for knowledge in known:
        trail = Trail(expression)
        _rewrite(trail, knowledge)
        for candidate in (trail, _multiplied_out(trail, knowledge)):
            if candidate is not None:
                _finish(candidate, knowledge)
                if best is None or cost(candidate.expression) < cost(best.expression):
                    best = candidate
    assert best is not None  # the first way of the first knowledge is always there
    best.apply("common_factor_of_branches", _BRANCHES)
    return best


def _multiplied_out(trail: Trail, known: Knowledge) -> Trail | None:
    """Another way: products multiplied out until like terms have met; None where there is nothing to multiply."""
    other = trail.copy()
    other.apply("complement", _COMPLEMENT)
    for _ in range(ROUNDS):
        before = other.expression
        other.apply("multiply_out", expanded)
        if other.expression == before:
            break
        _rewrite(other, known)
    return None if other.expression == trail.expression else other


def _rewrite(trail: Trail, known: Knowledge) -> None:
    for _ in range(ROUNDS):
        before = trail.expression
        trail.apply("recognise", known.passes["recognise"])
        trail.apply("unit_axis", _UNITS)
        trail.apply("sum", _SUMS)
        trail.apply("absolute_value", _SIGNS)
        trail.apply("recognise", known.passes["masked"])
        trail.apply("known_sum", known.passes["known_sum"])
        trail.apply("stable_form", stable_form)
        if trail.expression == before:
            break


def _finish(trail: Trail, known: Knowledge) -> None:
    trail.apply("mask", known.passes["mask"])
    trail.apply("factor", _FACTOR)
    trail.apply("sigmoid", _SIGMOID)
