"""Rewrite rules, each a named function from an expression to an equal one; its docstring is its mathematics."""

from __future__ import annotations

from collections.abc import Callable

from sympy import Expr

from symderive.algebra.digits import joined_digits
from symderive.algebra.rules.branches import (
    certain_condition,
    common_factor_of_branches,
    delta_beside_branch,
    function_of_number,
    into_branch,
    into_branches,
    merge_branches,
    named_branch,
    negated_comparisons,
    rectified,
    same_branch,
    sign_of_number,
    whole_quotient,
)
from symderive.algebra.rules.exponentials import (
    absorb_normaliser,
    complement,
    complement_of_sigmoid,
    exponential_of_softplus,
    log_of_sigmoid,
    log_of_sum_of_exponentials,
    logistic,
    one_exponential,
    power_of_stopped,
    quotient_of_exponentials,
    shift_of_exponents,
)
from symderive.algebra.rules.quotients import cleared_denominators, complement_of_quotient, value_times_sign
from symderive.algebra.rules.signs import minus_into_sums
from symderive.algebra.rules.sums import linearity, normalised_sum
from symderive.algebra.rules.units import unit_axis
from symderive.algebra.terms import transform

__all__ = [
    "FUNCTION",
    "STABLE",
    "SUMS",
    "Rule",
    "common_factor_of_branches",
    "complement",
    "complement_of_sigmoid",
    "delta_beside_branch",
    "minus_into_sums",
    "named_branch",
    "tidy_function",
    "unit_axis",
    "value_times_sign",
]

Rule = Callable[[Expr], Expr]

STABLE: tuple[Rule, ...] = (
    log_of_sum_of_exponentials,
    log_of_sigmoid,
    quotient_of_exponentials,
    shift_of_exponents,
    absorb_normaliser,
    power_of_stopped,
    one_exponential,
    exponential_of_softplus,
    logistic,
    sign_of_number,
    function_of_number,
)
"""What makes an expression safe to compute, whatever it was written as."""

SUMS: tuple[Rule, ...] = (
    whole_quotient,
    joined_digits,
    certain_condition,
    same_branch,
    into_branch,
    into_branches,
    linearity,
    normalised_sum,
    merge_branches,
    negated_comparisons,
    rectified,
    complement_of_quotient,
    cleared_denominators,
)

FUNCTION: tuple[Rule, ...] = (
    sign_of_number,
    same_branch,
    certain_condition,
    merge_branches,
    common_factor_of_branches,
    named_branch,
    logistic,
    complement_of_sigmoid,
)
"""What writes the derivative of a function with functions of the table."""


def tidy_function(derivative: Expr, call: Expr, body: Expr) -> Expr:
    """A derivative in terms of the function itself, ``call``, whose definition is ``body``, and others of the table."""
    for rule in FUNCTION:
        derivative = transform(derivative, rule)
    return derivative.xreplace({body: call})
