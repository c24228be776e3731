"""Conditions: under one that is named a claim is right, and without it is not; an accident is not named.

Each defect that is planted in the search makes it name a false one, or miss a true one.
"""

from __future__ import annotations

from itertools import islice

import pytest

from symderive import spec as specs
from symderive.claims import (
    candidates,
    conditions,
    constants,
    crossing,
    judge_text,
    moves,
    needed,
    sizing,
    zeros,
)
from symderive.claims.court import Court
from symderive.claims.trial import Trial
from symderive.spec.claims import parse_lines


def spec_of(forward, inputs, constants="", sizes="N: 3"):
    rows = "".join(f"  {row}\n" for row in forward.splitlines())
    constants = f"constants: {{{constants}}}\n" if constants else ""
    text = f"name: op\nsizes: {{{sizes}}}\n{constants}inputs: {{{inputs}}}\nforward: |\n{rows}"
    return specs.loads(text)


MARGIN = "L = sum[n](relu(m - y[n]*(a[n] - b[n])))"
CROSS = "p[n] = sigmoid(x[n])\nL = -sum[n](t[n]*log(p[n]) + (1 - t[n])*log(1 - p[n]))"
SPECS = {
    "mask": spec_of("L = sum[n](m[n]*x[n]**2)", "x: [N], m: [N]"),
    "error": spec_of("L = sum[n](m[n]*(x[n] - t[n])**2)", "x: [N], t: [N], m: {shape: [N], grad: false}"),
    "clip": spec_of("y[n] = clamp(x[n], -c, c)", "x: [N]", "c: 1"),
    "idle": spec_of("y[n] = x[n]**2", "x: [N]", "c: 1/3"),
    "margin": spec_of(MARGIN, "a: [N], b: [N], y: [N]", "m: 0.4"),
    "signed": spec_of(MARGIN, "a: [N], b: [N], y: {shape: [N], assume: binary}", "m: 0.4"),
    "form": spec_of("L = sum[i, j](x[i]*A[i, j]*x[j])", "x: [N], A: [N, N]"),
    "rows": spec_of("L = sum[i](relu(sum[j](A[i, j]*x[j])))", "x: [N], A: [N, N]"),
    "cell": spec_of(
        "h[i] = tanh(sum[d](U[i, d]*x[d]))\nL = sum[i](tanh(sum[j](W[i, j]*h[j])))",
        "W: [N, N], U: [N, K], x: [K]",
        sizes="N: 2, K: 3",
    ),
    "cross": spec_of(CROSS, "x: [N], t: [N]"),
    "mean": spec_of("s = sum[n](w[n])\ny = sum[n](w[n]*x[n])/s", "x: [N], w: {shape: [N], grad: false}"),
    "blend": spec_of("y[n] = w*x[n]**2 + (1 - w)*x[n]**3", "x: [N], w: {shape: [], grad: false}"),
    "rate": spec_of("y[n] = w*x[n]**2 + (1 - w)*x[n]**3", "x: [N], w: []"),
    "gate": spec_of("y[n] = where(w > 0.5, x[n]**2, w*x[n])", "x: [N], w: []"),
    "sided": spec_of(
        "L = sum[i, j](t[i]*A[i, j]*x[j])", "t: {shape: [N], grad: false}, A: {shape: [N, N], grad: false}, x: [N]"
    ),
    "gram": spec_of(
        "M[a, b] = sum[i](X[i, a]*X[i, b])\nG[a, b] = inv[a, b](M[a, b])\nf = sum[a, b](B[a, b]*G[a, b])",
        "X: [N, K], B: {shape: [K, K], grad: false}",
        sizes="N: 4, K: 2",
    ),
    "range": spec_of("L = sum[n](w[n]*x[n]**2)", "x: [N], w: {shape: [N], range: [-2, 3]}"),
    "unit": spec_of("L = sum[n](x[n]**2/(1 - p[n]))", "x: [N], p: {shape: [N], assume: unit}"),
    "symmetric": spec_of("L = sum[i, j](x[i]*A[i, j]*x[j])", "x: [N], A: {shape: [N, N], assume: symmetric}"),
    "volume": spec_of(
        "M[i, j] = A[i, j]*d[j]\nD = det[i, j](M[i, j])\nL = D**2/2", "A: [N, N], d: {shape: [N], grad: false}"
    ),
    "column": spec_of("y[n, d] = x[n, 0]*w[d]", "x: [N, 1], w: [D]", sizes="N: 3, D: 2"),
    "power": spec_of("y[n] = exp(p[n]*log(x[n]))", "x: {shape: [N], assume: positive}, p: {shape: [N], grad: false}"),
    "mapped": spec_of("y[i] = sum[j](A[i, j]*x[j])", "A: [N, N], x: [N]"),
    "root": spec_of("b[n] = sqrt(w[n]**2 + 1)*x[n]**2 + w[n]*x[n]", "w: [N], x: [N]"),
    "skew": spec_of("A[i, j] = B[i, j] - B[j, i]\ny[i] = x[i] + sum[j](A[i, j]*x[j])", "B: [N, N], x: [N]"),
    "level": spec_of(
        "u[n] = y[n] - q[n]\nL = sum[n](abs(tau - (u[n] < 0))*u[n]**2)",
        "q: [N], y: {shape: [N], grad: false}",
        "tau: 0.3",
    ),
    "groups": spec_of("y[n] = x[n // q] + z[n]", "x: [N], z: [N]", "q: 2"),
    "inverse": spec_of(
        "G[i, j] = sum[m](W[m, i]*W[m, j])\nS[i, j] = inv[i, j](G[i, j])", "W: [M, N]", sizes="M: 4, N: 3"
    ),
    "square": spec_of("y[n] = w[n]*x[n]**2", "x: [N], w: [N]"),
    "two": specs.loads(
        "name: op\nsizes: {N: 3}\ninputs: {x: [N]}\noutput: [y, z]\nforward: |\n  y[n] = x[n]**2\n  z[n] = x[n]**3\n"
    ),
    "mean22": spec_of("L = mean[n, k](x[n, k]**2)", "x: [N, K]", sizes="N: 2, K: 2"),
    "targets": spec_of("L = -sum[n, c](Y[n, c]*log_softmax[c](z[n, c]))", "z: [N, C], Y: [N, C]", sizes="N: 2, C: 3"),
}


def found(name, claim, seed=0):
    """The condition, or the verdict, whatever else explains a claim."""
    (statement,), _ = parse_lines(claim)
    court = Court(SPECS[name], [statement], claim, seed=seed)
    trial = Trial(court, court.lines[0], statement.sides[0])
    failed = trial.tried()[1]
    if failed is None:
        return "right"
    if not failed.failed:
        return trial.undefined(failed)[1].condition
    condition = candidates.find_condition(trial, failed.point)
    return condition.text if condition else "wrong"


def verdict(name, claim):
    """The verdict, and the condition."""
    result = judge_text(SPECS[name], claim)[-1]
    return result.verdict, result.diagnosis and result.diagnosis.condition


@pytest.mark.parametrize(
    ("name", "claim", "expected"),
    [
        # right in an open set around each point of the condition, or on one side of it
        ("mask", "dx = 2*abs(m)*x", "wrong"),
        ("mask", "dx = 2*clamp(m, 0, 1)*x", "wrong"),
        ("mask", "dx = 2*m*x*where(m > 1, 2, 1)", "wrong"),
        # right at some, and not at all, zeros and ones
        ("mask", "dx = 2*m**2*x*where(m.sum() == N, 2, 1)", "wrong"),
        ("mask", "dx = 2*m**2*x + where(m.sum() == 0, 1, 0)", "wrong"),
        ("mask", "dx[n] = 2*m[n]**2*x[n]*where(n == 25, 2, 1)", "wrong"),
        # needed by some entries only
        ("margin", "da = where(a - b < m, -y, 0)", "y binary"),
        ("margin", "da = where(a - b < m*y, -y, 0)", "y binary"),
        ("margin", "da = where(a - b < m + 1e-6, -y, 0)", "wrong"),
        # what the claim differentiates by is no mask
        ("square", "dx = 2*dy*w*x**2", "wrong"),
        # with a zero all is 0, and what has none is 1
        ("volume", "dA = dM", "wrong"),
        ("column", "dw = dy.sum(0)", "wrong"),
        # what is wrong is not there at all where the condition holds
        ("skew", "dx = dy + A@dy", "wrong"),
        # needed at points that are rare themselves
        ("blend", "dx = dy*(2*w*x + 3*(1 - w)*x**2) + w*(1 - w)*relu(x - 50)", "w binary"),
        ("blend", "dx = dy*(2*w**2*x + 3*(1 - w)*x**2) + w*relu(x - 50)", "wrong"),
        # a scalar that has a gradient, and is not compared, is no switch
        ("blend", "dx = dy*(2*w**2*x + 3*(1 - w)*x**2)", "w binary"),
        ("rate", "dx = dy*(2*w**2*x + 3*(1 - w)*x**2)", "wrong"),
        ("gate", "dx = 2*dy*where(w > 0.5, w*x, 0)", "w binary"),
        # one-hot is what one says last
        ("sided", "dx = t@A + ((A - A.T)*(outer(t, t) - diag(t))).sum(0)", "A symmetric"),
        ("sided", "dx = t@A + (A*(outer(t, t) - diag(t))).sum(0)", "t one-hot"),
        # of two upstreams, one is not needed
        ("two", "dx = 2*x + 3*x**2*dz*where(dz > 50, 2, 1)", "wrong"),
        ("two", "dx = 2*x + 3*x**2*dz", "dy = 1"),
        ("two", "dx = 2*x*dz + 3*x**2*dz", "dy = dz = 1"),
        # a number for a constant, where what is derived has one, too, is no second condition
        ("groups", "dx[k] = sum[n : n // 2 == k](1)", "dy = 1"),
        # a size, and two that are equal
        ("mean22", "dx = x/K", "N = 2"),
        ("mean22", "dx = 2*x/N**2", "N = K"),
        ("mean22", "dx = x/K*where(x > 70, 2, 1)", "wrong"),
        ("targets", "dz = softmax(z, 1) - Y*Y.sum(1, keepdim=True)", "rows of Y summing to 1"),
        ("targets", "dz = softmax(z, 1) - Y + where(z > 30, 1e-3, 0)", "wrong"),
    ],
)
def test_the_condition_is_the_one_that_a_claim_needs(name, claim, expected):
    assert found(name, claim) == expected


@pytest.mark.parametrize("seed", range(6))
def test_a_condition_is_found_whatever_numbers_are_drawn(seed):
    """Where ``tanh`` saturates, so that little moves."""
    assert found("cell", "dU = outer(W@(1 - tanh(W@tanh(U@x))**2) * (1 - tanh(U@x)**2), x)", seed) == "W symmetric"


# What it takes


def anything_goes(patch):
    patch.setattr(conditions, "is_right", lambda trial: True)


def all_is_needed(patch):
    patch.setattr(conditions, "is_needed", lambda *a: True)


def nothing_beside(patch):
    patch.setattr(conditions, "MOST_BESIDE", 0)


def multiples_by_one(patch):
    real = candidates.is_multiple
    patch.setattr(candidates, "is_multiple", lambda trial: conditions.rarely_wrong(trial) or real(trial))


def more_ones_are_not_tried(patch):
    patch.setattr(needed, "_holds_with_more_ones", lambda *a: False)


def any_zeros_and_ones(patch):
    patch.setattr(crossing.Seeker, "ends", lambda self, border, values: islice(crossing.two_sides(values), 1))
    patch.setattr(crossing.Seeker, "_on", lambda *a: iter(()))  # which comes upon some at larger sizes


def only_free_numbers_move(patch):
    real = moves._Movable.of.__func__

    def of(cls, tensor):
        return real(cls, tensor) if not tensor.assume and not tensor.range else cls(tensor.name, False, False, False)

    patch.setattr(moves._Movable, "of", classmethod(of))


def sizes_without_values(patch):
    patch.setattr(sizing.SizeChooser, "regular", lambda self, sizes: True)


def any_subject(patch):
    patch.setattr(zeros, "_is_right_without", lambda *a: True)


def nothing_is_degenerate(patch):
    patch.setattr(conditions, "_is_degenerate", lambda *a: False)


DEFECTS = [
    (nothing_is_degenerate, "skew", "dx = dy + A@dy", "wrong", "B symmetric"),
    (anything_goes, "mask", "dx = 2*m**2*x*where(x > 99, 2, 1)", "wrong", "m binary"),
    (all_is_needed, "mask", "dx = 2*m*x*where(m > 40, 2, 1)", "wrong", "m binary"),
    (nothing_beside, "rows", "dx = A.T@(A.T@x > 0)", "A symmetric", "wrong"),
    (multiples_by_one, "blend", "dx = dy*(2*w*x + 3*(1 - w)*x**2) + w*(1 - w)*relu(x - 50)", "w binary", "wrong"),
    (more_ones_are_not_tried, "error", "dx = 2*m**2*(x - t)*where(m.sum() == N, 2, 1)", "wrong", "m one-hot"),
    (any_zeros_and_ones, "signed", "da = where(y*(a - b) < m + 1e-6, -y, 0)", "wrong", "right"),
    (only_free_numbers_move, "range", "dx = 2*w*x*where(w > 2.99999, 2, 1)", "wrong", "right"),
    (only_free_numbers_move, "unit", "dx = 2*x/where(p < 0.9999999, 1 - p, 1)", "wrong", "right"),
    (only_free_numbers_move, "symmetric", "dx = 2*A@x*where(A[0, 1] > 300*abs(A[0, 0]) + 70, 2, 1)", "wrong", "right"),
    (sizes_without_values, "gram", "dX = -2*X@G@B@G", "B symmetric", "wrong"),
    (any_subject, "square", "dx = 2*dy*y/x*(w - 3)/(w - 3)", "wherever the claim has a value", "x without zeros"),
]


@pytest.mark.parametrize(
    ("plant", "name", "claim", "expected", "mistaken"), DEFECTS, ids=lambda f: getattr(f, "__name__", "")
)
def test_a_defect_in_the_search_is_seen(plant, name, claim, expected, mistaken, monkeypatch):
    assert found(name, claim) == expected
    plant(monkeypatch)
    assert found(name, claim) == mistaken


def test_a_claim_without_a_value_somewhere_may_be_wrong_elsewhere():
    assert found("square", "dx = 2*dy*y/x") == "x without zeros"
    assert found("root", "dw = db*(w*w/(w*sqrt(w**2 + 1))*x**2 + x)") == "w without zeros"
    assert found("square", "dx = 2*dy*y/x + relu(x - 900)") == "wrong"


def test_a_claim_that_varies_with_a_constant_need_not_be_right_at_all_its_values(monkeypatch):
    """A level beyond 1 makes another forward; a number in its place is wrong at all others."""
    assert verdict("level", "dq = -2*where(u < 0, 1 - tau, tau)*u") == ("right", None)
    assert verdict("level", "dq = -2*where(u < 0, 0.7, 0.3)*u") == ("conditional", "tau = 0.3")
    assert verdict("level", "dq = -2*abs(tau - (u < 0))*u + where(tau > 0.3001, u, 0)") == ("conditional", "tau = 0.3")
    monkeypatch.setattr(constants, "_holds_nearby", lambda *a: False)
    assert verdict("level", "dq = -2*where(u < 0, 1 - tau, tau)*u") == ("conditional", "tau = 0.3")


def test_a_constant_is_varied_far_where_it_draws_a_border(monkeypatch):
    """At 1, 2 and 3 the bound of 5 is never reached."""
    claim = "dx = dy*where(abs(x) <= min(c, 5), 1, 0)"
    assert verdict("clip", claim) == ("conditional", "c = 1")
    monkeypatch.setattr(constants, "_drawing_borders", lambda *given: set())
    assert verdict("clip", claim) == ("right", None)


def test_what_has_no_axis_has_no_rows():
    """Without batch axes ``x`` is a number, which is neither one-hot nor sums to 1."""
    spec = specs.loads("name: f\ninputs: {x: ['...'], z: []}\nforward: 'y[...] = z*x[...]**2'\n")
    for seed in range(4):
        (result,) = judge_text(spec, "dx[...] = x[...]", seed=seed)
        assert result.verdict == "wrong", result.detail


def test_a_constant_is_varied_where_the_forward_or_the_claim_mentions_it(monkeypatch):
    """In a forward without it, ``3*c`` may still be an accident of its value."""
    assert verdict("idle", "dx = 6*c*dy*x") == ("conditional", "c = 1 / 3")
    looked = []
    real = constants._at_constant
    monkeypatch.setattr(constants, "_at_constant", lambda *given: looked.append(given) or real(*given))
    assert verdict("idle", "dx = 2*dy*x") == ("right", None)
    assert not looked
    assert verdict("margin", "da[n] = -y[n]*where(0.4 > y[n]*(a[n] - b[n]), 1, 0)") == ("conditional", "m = 0.4")
    assert looked


def test_what_has_a_wrong_sign_would_have_to_be_0():
    assert found("power", "dx = dy*p*exp((1 - p)*log(x))") == "p binary"
    assert verdict("power", "dx = dy*p*exp((1 - p)*log(x))") == ("wrong", None)


@pytest.mark.parametrize("lines", ["", "hh = N - 1\n"])
def test_a_name_hides_no_pole(lines):
    rest = "hh" if lines else "(N - 1)"
    claim = f"{lines}dx = 2*x/(N*K)*(N*N - N)/(N*{rest})"
    assert verdict("mean22", claim) == ("conditional", "wherever the claim has a value")


@pytest.mark.parametrize("claim", ["dA = outer(dy, A.inv() @ y)", "V = A.inv()\ndA = outer(dy, V @ y)"])
def test_a_matrix_without_an_inverse_is_told(claim, monkeypatch):
    assert verdict("mapped", claim) == ("conditional", "A invertible")
    monkeypatch.setattr(Trial, "inverted", lambda self: [])
    assert verdict("mapped", claim) != ("conditional", "A invertible")


def test_a_singular_inverse_has_no_derivative():
    """With fewer rows than columns, W.T @ W is singular, whatever W is."""
    assert found("inverse", "dG = -S @ dS @ S") == "right"
    assert found("inverse", "dG = -S.T @ dS.T @ S.T") != "right"


def test_constants_are_varied_all_at_once(monkeypatch):
    """One look at all of them tells as much as one at each; what holds for one value only is still named."""
    spec = specs.loads(
        "name: f\nconstants: {a: 1/2, b: 1/3, c: 2}\nsizes: {N: 2}\ninputs: {x: [N]}\n"
        "forward: 'y[n] = a*x[n]**2 + b*x[n]**3 + c*x[n]'\n"
    )
    looked = []
    real = constants._at_constant
    monkeypatch.setattr(constants, "_at_constant", lambda *given: looked.append(given) or real(*given))
    assert [r.verdict for r in judge_text(spec, "dx = dy*(2*a*x + 3*b*x**2 + c)")] == ["right"]
    assert len(looked) == 2
    for claim, condition in (
        ("dx = dy*(x + 3*b*x**2 + c)", "a = 0.5"),
        ("dx = dy*(2*a*x + x**2 + c)", "b = 1 / 3"),
        ("dx = dy*(2*a*x + 3*b*x**2 + 2)", "c = 2"),
        ("dx = dy*(2*a*x + 3*b*x**2 + 1/a)", "a = 0.5"),
    ):
        (result,) = judge_text(spec, claim)
        assert (result.verdict, result.diagnosis.condition) == ("conditional", condition)


def test_equal_constants_do_not_stay_equal():
    spec = specs.loads(
        "name: f\nconstants: {a: 1, b: 1}\nsizes: {N: 2}\ninputs: {x: [N]}\nforward: 'y[n] = a*x[n]**2 + b*x[n]'\n"
    )
    (result,) = judge_text(spec, "dx = dy*(2*b*x + a)")
    assert result.verdict == "conditional"


def test_what_is_rare_at_a_size_makes_no_condition_of_it():
    """A row that keeps one entry makes the claim wrong at any length; few random rows of 16 do."""
    spec = specs.loads(
        "name: f\nsizes: {N: 3, T: 16}\ninputs: {x: [N, T], m: {shape: [N, T], assume: binary, grad: false}}\n"
        "forward: 'y[n] = sum[t](m[n, t]*x[n, t]**2) / max(2, sum[t](m[n, t]))'\n"
    )
    (result,) = judge_text(spec, "dx[n, t] = 2*dy[n]*m[n, t]*x[n, t] / max(1, sum[s](m[n, s]))")
    assert result.verdict == "wrong"
    assert "T = 16" not in str(result.diagnosis)
