"""Sides of borders that no point has are not looked for; those that some point has, are."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from symderive import spec as specs
from symderive.claims import judge_text, resizing
from symderive.claims.borders import borders, together
from symderive.claims.climbing import Climber
from symderive.claims.court import Court
from symderive.claims.crossing import _is_empty
from symderive.claims.lines import read_lines
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
        ("max(v, x)", True), ("min(v, x)", False), ("max(v, p)", True), ("v[:, None].T", True),
        ("exp(x)", True), ("log(p)", False),
        ("sum[n](v[n])", True), ("sum[n](x[n])", False), ("max[n](v[n])", True), ("max[n : x[n] > 0](v[n])", False),
    ],
)  # fmt: skip
def test_what_cannot_be_negative_is_told(expression, expected):
    trial = trial_of(f"dx = {expression}")
    assert (Signs(trial).bounds(trial.node)[0] >= 0) is expected


INF = math.inf


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x", (-INF, INF)), ("q", (-1, 2)), ("t - 1", (-1, 0)), ("N - 1", (0, INF)), ("pi", (0, INF)),
        ("v - low", (2, INF)), ("low - v", (-INF, -2)), ("q*q", (0, INF)), ("q*low", (-4, 2)), ("-2*v", (-INF, 0)),
        ("1 - exp(x)", (-INF, 1)), ("-abs(x)*(v + 1)", (-INF, 0)), ("1/(v + eps)", (0, 1000)), ("1/x", (-INF, INF)),
        ("sqrt(N)", (1, INF)), ("sqrt(t)", (0, 1)), ("(v + eps).sqrt()", (Fraction(1, 1000), INF)),
        ("t/(low - v)", (Fraction(-1, 2), 0)), ("0/v", (0, 0)), ("v/0", (-INF, INF)), ("sigmoid(x)**2", (0, 1)),
        ("min(-abs(x), p - 70)", (-INF, 0)), ("max(x, q)", (-1, INF)), ("clamp(x, low, eps)", (-2, Fraction(1, 1000))),
        ("where(x > 0, q, low)", (-2, 2)), ("F.relu(q)", (0, 2)), ("q.sum()", (-INF, INF)), ("t.prod()", (0, 1)),
        ("(-v).sum()", (-INF, 0)), ("q.mean()", (-1, 2)), ("(-v).amax()", (-INF, 0)), ("t @ v", (0, INF)),
        ("q.amax(0, keepdim=True) - q", (0, 3)), ("q - q.amax(0, keepdim=True)", (-3, 0)), ("q.amax(0) - q", (-3, 3)),
        ("x.amin(0, keepdim=True) - x", (-INF, 0)), ("prod[n](q[n])", (-INF, INF)),
        ("min[n : x[n] > 0](t[n])", (0, INF)),
        ("10**400*v - 1", (-1, INF)), ("x.view(-1)", (-INF, INF)), ("log_softmax(x)", (-INF, 0)),
    ],
)  # fmt: skip
def test_an_expression_lies_between_its_bounds(expression, expected):
    trial = trial_of(f"dx = {expression}")
    assert Signs(trial).bounds(trial.node) == expected


def test_a_tensor_named_as_a_library_is_no_library():
    spec = specs.loads("name: op\nsizes: {N: 3}\ninputs: {F: [N, N]}\nforward: 'y[n] = F[n, n]'\n")
    (statement,), _ = parse_lines("dF = F.sum(0)")
    trial = Trial(Court(spec, [statement], ""), read_lines(spec, [statement], "")[0], statement.sides[0])
    assert Signs(trial).bounds(trial.node) == (-INF, INF)


EXTREMA = specs.loads(
    "name: op\nsizes: {N: 3}\ninputs: {x: [N, 4], e: [N]}\nindices: {r: 2}\n"
    "forward: |\n  m[n] = max[k](x[n, k])\n  s[n] = min[k](x[n, k] + e[n])\n  a[n] = max[r](x[n, r])\n"
    "  y[n] = m[n] + s[n] + a[n]\n"
)


@pytest.mark.parametrize(
    ("expression", "bounds"),
    [
        ("m[i] - x[i, j]", (0, INF)), ("x[i, j] - m[i]", (-INF, 0)), ("m[i] - x[i, 1]", (0, INF)),
        ("x[n, k] + e[n] - s[n]", (0, INF)), ("max[j](x[i, j]) - x[i, k]", (0, INF)),
        ("m[j] - x[i, j]", (-INF, INF)), ("s[i] - x[i, j]", (-INF, INF)), ("x[i, j] + e[j] - s[i]", (-INF, INF)),
        ("a[i] - x[i, j]", (-INF, INF)), ("max[j : j > 0](x[i, j]) - x[i, k]", (-INF, INF)),
        ("min[j](x[i, j]) - x[i, k]", (-INF, 0)), ("max[r](x[i, r]) - x[i, k]", (-INF, INF)),
    ],
)  # fmt: skip
def test_an_extremum_is_on_one_side_of_what_it_is_taken_of(expression, bounds):
    (statement,), _ = parse_lines(f"dx[i, j] = {expression}")
    court = Court(EXTREMA, [statement], "")
    assert Signs(Trial(court, court.lines[0], statement.sides[0])).bounds(statement.sides[0]) == bounds


def test_what_a_helper_defines_anew_is_not_what_the_forward_says():
    lines, _ = parse_lines("m[n] = e[n]\ndx[i, j] = m[i] - x[i, j]")
    court = Court(EXTREMA, lines, "")
    court.helpers = [court.lines[0]]
    trial = Trial(court, court.lines[1], lines[1].sides[0])
    assert Signs(trial).bounds(trial.node) == (-INF, INF)


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
        ("dx = dy*(2*x*p + t*q)*sqrt(v + x + 9)/sqrt(v + x + 9)", True),  # nor may this be, but that is not told
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
    [
        ("k > 1", False),
        ("k >= 0", False),
        ("k > 0", False),
        ("n > 40", True),
        ("k*N > 90", True),
        ("n >= 0", False),
        ("N > 0", False),
        ("3/pi > 0", False),
        ("1/sqrt(N) > 2", False),
    ],
)
def test_sizes_are_looked_for_where_they_matter(condition, scans, monkeypatch):
    """An index of an axis of 2 is below 2 at all sizes, and none is below 0."""
    real, sought = resizing._where, []
    monkeypatch.setattr(resizing, "_where", lambda *given: sought.append(given) or real(*given))
    assert judge_text(PAIRS, f"dx[n, k] = 2*x[n, k]*where({condition}, dy[n, k], dy[n, k])")[0].verdict == "right"
    assert bool(sought) is scans
