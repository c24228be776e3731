"""The order in which rules are applied to one equation, and the record of what each of them did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sympy import Expr

from symderive.algebra.factor import expanded, factored
from symderive.algebra.recognise import Knowledge
from symderive.algebra.rules import (
    STABLE,
    SUMS,
    Rule,
    common_factor_of_branches,
    complement,
    complement_of_sigmoid,
    named_branch,
)
from symderive.algebra.terms import cost, transform


@dataclass(frozen=True)
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


def everywhere(*rules: Rule) -> Callable[[Expr], Expr]:
    """Apply several rules at every node, children first."""

    def at_node(expression: Expr) -> Expr:
        for rule in rules:
            expression = rule(expression)
        return expression

    return lambda expression: transform(expression, at_node)


ROUNDS = 4


def simplify(expression: Expr, known: tuple[Knowledge, ...]) -> Trail:
    """The form that a textbook would print; of several ways there, the one with the cheapest result.

    ``known`` are ways to recognise named tensors: the first reads definitions plainly, others also solve them.
    """
    trails = [_settle(Trail(expression), k) for k in known]
    best = min(trails, key=lambda t: cost(t.expression))
    for trail, knowledge in zip(trails, known, strict=True):
        other = trail.copy()
        other.apply("complement", everywhere(complement))
        other.apply("multiply_out", expanded)
        if other.expression != trail.expression:
            other = _settle(other, knowledge)
            if cost(other.expression) < cost(best.expression):
                best = other
    best.apply("common_factor_of_branches", everywhere(common_factor_of_branches, named_branch))
    return best


def _settle(trail: Trail, known: Knowledge) -> Trail:
    for _ in range(ROUNDS):
        before = trail.expression
        trail.apply("recognise", everywhere(known.named))
        trail.apply("sum", everywhere(*SUMS))
        trail.apply("recognise", everywhere(known.masked))
        trail.apply("known_sum", everywhere(known.known_sum))
        trail.apply("stable_form", everywhere(*STABLE))
        if trail.expression == before:
            break
    trail.apply("mask", everywhere(known.drop_mask))
    trail.apply("factor", factored)
    trail.apply("sigmoid", everywhere(complement_of_sigmoid))
    return trail
