"""Sides of borders that no point has are not looked for; those that some point has, are."""

from __future__ import annotations

import pytest

from symderive import spec as specs
from symderive.claims import judge_text, resizing
from symderive.claims.borders import borders, together
from symderive.claims.climbing import Climber
from symderive.claims.court import Court
from symderive.claims.crossing import _is_empty
from symderive.claims.signs import Signs
from symderive.claims.trial import Trial
from symderive.spec.claims import parse_lines
from symderive.spec.format import to_text

SPEC = specs.loads(
    "name: op\nsizes: {N: 3}\nconstants: {eps: 0.001, low: -2}\n"
    "inputs: {x: [N], p: {shape: [N], assume: positive}, q: {shape: [N], range: [-1, 2]}, "
    "t: {shape: [N], bool: true}}\n"
    "forward: |\n  v[n] = x[n]**2\n  y[n] = v[n] * p[n] + x[n] * t[n] * q[n]\n"
)


def trial_of(claim):
    (statement,), _ = parse_lines(claim)
    court = Court(SPEC, [statement], claim)
    return Trial(court, court.lines[0], statement.sides[0])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("v + eps", True), ("v + low", False), ("v - eps", False), ("-v", False), ("y", False), ("dv", False),
        ("x**2", True), ("x**3", False), ("v**3", True), ("x*x", True), ("x*p", False), ("p/v", True), ("x/x", False),
        ("x.sum()", False), ("v.sum()", True), ("abs(x).mean()", True), ("v.sum() - v.max()", False),
        ("where(x > 0, x, 1)", False), ("where(x > 0, v, 1)", True), ("(x > 0) * t", True), ("q", False),
        ("max(v, x)", False), ("max(v, p)", True), ("v[:, None].T", True), ("exp(x)", True), ("log(p)", False),
        ("sum[n](v[n])", True), ("sum[n](x[n])", False), ("max[n](v[n])", True), ("max[n : x[n] > 0](v[n])", False),
    ],
)  # fmt: skip
def test_what_cannot_be_negative_is_told(expression, expected):
    trial = trial_of(f"dx = {expression}")
    assert Signs(trial).nonnegative(trial.node) is expected


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("dx = clamp(x, -1, 1)", 1),
        ("dx = clamp(x, low, eps)", 1),
        ("dx = clamp(x, x + low, eps)", 0),
        ("dx = clamp(x, -1, 1) + clamp(p, -1, 1)", 1 + 2),  # of the first three, with either sign of the third
        ("dx = where(x > 1, 1, 0) * where(p < -1, 1, 0)", 0),
    ],
)
def test_what_is_above_a_number_is_not_below_a_smaller_one(claim, expected):
    """Of the four ways in which two borders of one thing may be passed, one."""
    found = [_is_empty(b, SPEC.constants) for b in together(borders(trial_of(claim)))]
    assert sum(found) == expected


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("dx = where(x > 1, 2, 1)*where(x*p > 3, 2, 1)", {("x - 1", "x * p - 3")}),
        ("dx = where(x > 1 and p > 2, 2, 1)", {("x - 1", "p - 2")}),
        ("dx = where(not (x > 1 or p > 2), 2, 1)", {("x - 1", "p - 2")}),
        ("dx[n] = where(all[m](x[m] <= x[n]), 2, 1)", set()),
    ],
)
def test_borders_are_passed_together_where_that_says_something_new(claim, expected):
    """Not with what is one of several that must hold, nor with what stands under an index of another."""
    found = together(borders(trial_of(claim)))
    assert {tuple(to_text(part.node) for part, _ in b.parts) for b in found} == expected


@pytest.mark.parametrize(
    ("claim", "climbs"),
    [
        ("dx = dy*(2*x*p + t*q)*sqrt(v + eps)/sqrt(v + eps)", False),
        ("dx = dy*(2*x*p + t*q)*sqrt(v - low)/sqrt(v - low)", True),  # nor may this be, but that is not told
        ("dx = dy*(2*x*p + t*q) + clamp(x, -1, 1)*0", False),
    ],
)
def test_only_sides_that_there_may_be_are_looked_for(claim, climbs, monkeypatch):
    real, sought = Climber.reach, []
    monkeypatch.setattr(Climber, "reach", lambda *given: sought.append(given[1]) or real(*given))
    trial_of(claim).tried()
    assert bool(sought) is climbs


PAIRS = specs.loads("name: op\nsizes: {N: 3}\ninputs: {x: [N, 2]}\nforward: 'y[n, k] = x[n, k]**2'\n")


@pytest.mark.parametrize(
    ("condition", "scans"),
    [("k > 1", False), ("k >= 0", False), ("k > 0", False), ("n > 40", True), ("k*N > 90", True), ("n >= 0", False)],
)
def test_sizes_are_looked_for_where_they_matter(condition, scans, monkeypatch):
    """An index of an axis of 2 is below 2 at all sizes, and none is below 0."""
    real, sought = resizing._where, []
    monkeypatch.setattr(resizing, "_where", lambda *given: sought.append(given) or real(*given))
    assert judge_text(PAIRS, f"dx[n, k] = 2*x[n, k]*where({condition}, dy[n, k], dy[n, k])")[0].verdict == "right"
    assert bool(sought) is scans
