"""What a claim is told: the thing that is wrong by its name, and what to write where a name means nothing."""

from __future__ import annotations

import pytest
import yaml

from symderive import spec as specs
from symderive.claims import check_text, judge_text


def spec(*, forward, claims="", **parts):
    head = yaml.safe_dump({"name": "op", "sizes": {"N": 3, "M": 2}, **parts})
    blocks = {"forward": forward, "claims": claims}
    lines = (f"{key}: |\n" + "\n".join(f"  {row}" for row in text.split("\n")) for key, text in blocks.items() if text)
    return specs.loads(head + "\n".join(lines))


ACTIVATION = spec(
    inputs={"x": ["N"]}, forward="y[n] = gelu(x[n])", claims="twice = 2 * dy\nonce = twice / 2\ndx = once"
)
RECTIFIED = spec(inputs={"x": ["N"]}, forward="y[n] = relu(x[n])")
MATRICES = spec(
    inputs={"A": ["N", "N"], "B": ["N", "N"]},
    forward="V[i, j] = inv[i, j](A[i, j])\nY[i, j] = sum[k](V[i, k] * B[k, j])",
)
LENGTHS = spec(
    inputs={"x": ["N", "M"], "n": {"shape": ["N"], "index": "M + 1"}},
    forward="y[b] = sum[t : t < n[b]](x[b, t]**2)",
)
ROUNDS = spec(
    inputs={"W": ["N", "N"], "h0": ["N"]},
    forward="h1[i] = sum[j](W[i, j] * h0[j])\nh2[i] = sum[j](W[i, j] * h1[j])",
)
SLOPE = spec(inputs={"x": ["N"], "b": ["N"], "t": []}, forward="s[n] = t * (x[n] - b[n])\ny[n] = tanh(s[n])")
MASKED = spec(
    inputs={"z": ["N", "M"], "m": {"shape": ["N", "M"], "bool": True}},
    forward="p[i, j] = softmax[j : m[i, j]](z[i, j])",
)


@pytest.mark.parametrize(
    ("op", "claim", "kind", "words"),
    [
        (ACTIVATION, "dx = dy * gelu_prime(x)", "unknown", "that of gelu(x) is (erf("),
        (ACTIVATION, "dx[n] = dy[n] * dgelu(x[n])", "unknown", "There is no function dgelu"),
        (ACTIVATION, "dx = dy * Phi(x)", "unknown", "in a line above, Phi = ..., and write Phi without brackets"),
        (ACTIVATION, "dx = dy * sigmod(x)", "unknown", "did you mean sigmoid?"),
        (ACTIVATION, "dx = y(x)", "unknown", "y is a tensor, not a function"),
        (RECTIFIED, "dx = dy * y", "factor", "y should be its derivative, where(x > 0, 1, 0)"),
        (MATRICES, "dB = (A**-1).T @ dY", "wrong_operand", "where that of a matrix is needed: A.inv()"),
        (MATRICES, "dB = V.T * dY", "wrong_operand", "where a product of matrices is needed: V.T @ dY"),
        (MATRICES, "dB = (1 / A).T @ dY", "wrong_operand", "where the inverse of a matrix is needed: A.inv()"),
        (MATRICES, "dV = dY * B.T", "wrong_operand", "where a product of matrices is needed: dY @ B.T"),
        (LENGTHS, "dx[b, t] = 2 * dy[b] * x[b, t]", "factor", "The condition t < n[b] is missing"),
        (ROUNDS, "dW = outer(dh2, h2) + outer(dh1, h1)", "wrong_operand", "h2 should be h1 and h1 should be h0"),
        (SLOPE, "dt = (ds * s).sum()", "wrong_operand", "s should be x - b"),
        (
            MASKED,
            "dz[i, j] = softmax[j](z[i, j]) * (dp[i, j] - sum[k](softmax[k](z[i, k]) * dp[i, k]))",
            "wrong_operand",
            "Each softmax should be p",
        ),
    ],
)
def test_the_mistake_is_named(op, claim, kind, words):
    (result,) = judge_text(op, claim)
    assert (result.diagnosis.kind, words in result.diagnosis.sentence) == (kind, True), result
    for line in (result.diagnosis.correction or "").split("\n"):
        assert "there is no function" not in line


def test_a_claim_given_as_text_uses_the_helpers_of_the_spec():
    (result,) = judge_text(ACTIVATION, "dx = once * 3")
    assert result.verdict == "wrong"
    (row,) = check_text(ACTIVATION, "dx = twice")
    assert (row.status, row.verdict, row.target) == ("fail", "wrong", "dx")
    own = judge_text(ACTIVATION, "once = x\ndx = once")
    assert [r.text for r in own] == ["dx = once"]
    (unknown,) = judge_text(ACTIVATION, "dx = never")
    assert unknown.verdict == "invalid"


def test_a_right_claim_says_where_nothing_was_decided():
    for claim in ("dx = dy * where(x >= 0, 1, 0)", "dx = where(x > 0, dy, 0)"):
        (result,) = judge_text(RECTIFIED, claim)
        assert result.verdict == "right"
        assert result.detail == "where x is 0 the forward has a kink, and nothing was decided"
    (plain,) = judge_text(SLOPE, "ds = dy * (1 - y**2)")
    assert plain.detail == ""


BUMPS = spec(inputs={"x": ["N"], "c": ["M"]}, forward="y[n, m] = exp(-4 * (x[n] - c[m])**2)")


@pytest.mark.parametrize(
    "claim", ["dc = (4 * (x[:, None] - c) * y * dy).sum(0)", "dx[n] = 8 * sum[m](y[n, m] * dy[n, m])"]
)
def test_a_counterexample_is_of_ordinary_numbers(claim):
    """At the points that are tried first, entries are as small as 1e-60."""
    (result,) = judge_text(BUMPS, claim)
    example = result.diagnosis.counterexample
    assert all(0.01 < abs(example[side]) < 1000 for side in ("claimed", "true"))
    assert abs(example["claimed"] - example["true"]) > 0.01


TWICE = spec(
    inputs={"X": ["N", "M"], "W": ["M", "M"], "t": {"shape": ["N", "M"], "grad": False}},
    forward="e[n, j] = sum[k](X[n, k] * W[k, j]) - t[n, j]\nL = mean[n](sum[j](e[n, j]**2))",
)


@pytest.mark.parametrize(
    ("claim", "kind", "first", "second"),
    [
        ("dW = -2 * e.T @ X / N", "transpose", "e.T @ X should be", "The sign of the whole is wrong"),
        ("dX = 2 * e @ W / N + X", "transpose", "W should be W.T", "There is a term too many: X"),
        ("dW[k, j] = 2 * X[n, k] * t[n, j] / N", "missing_sum", "The sum over n is missing", "t should be e"),
    ],
)
def test_both_of_two_mistakes_are_told(claim, kind, first, second):
    (result,) = judge_text(TWICE, claim)
    said = result.diagnosis.sentence
    assert (result.diagnosis.kind, first in said, second in said) == (kind, True, True), said


LINEAR = spec(inputs={"x": ["N", "M"], "W": ["M", "M"]}, forward="y[n, j] = sum[k](x[n, k] * W[k, j])")
TWO_LAYERS = spec(
    sizes={"N": 3, "K": 4, "H": 2, "J": 5},
    inputs={"x": ["N", "K"], "U": ["H", "K"], "V": ["J", "H"]},
    forward="z[n, h] = tanh(sum[k](x[n, k] * U[h, k]))\ny[n, j] = sum[h](z[n, h] * V[j, h])",
)
SPLIT = spec(inputs={"x": ["N"]}, forward="a[n] = 2 * x[n]\nb[n] = x[n]**2", output=["a", "b"])


@pytest.mark.parametrize(
    ("op", "claim", "words"),
    [
        (LINEAR, "dx = dout @ W.T", "the upstream gradient is called dy"),
        (LINEAR, "dx = grad_output @ W.T", "the upstream gradient is called dy"),
        (LINEAR, "dx[n, k] = sum[j](delta_out[n, j] * W[k, j])", "There is nothing called delta_out."),
        (LINEAR, "dx[n, k] = sum[j](dout[n, j] * W[k, j])", "the upstream gradient is called dy"),
        (SPLIT, "dx = 2 * dout", "the upstream gradients are called da and db"),
        (LINEAR, "dx = grad_y @ W.T", "did you mean dy?"),
        (LINEAR, "dx = dL_dy @ W.T", "did you mean dy?"),
        (LINEAR, "dx = dY @ W.T", "did you mean dy?"),
        (LINEAR, "dx = y.grad @ W.T", "the gradient with respect to y is called dy"),
        (LINEAR, "grad_W = x.T @ dy", "did you mean dW?"),
        (LINEAR, "W_grad = x.T @ dy", "did you mean dW?"),
        (LINEAR, "dLdW = x.T @ dy", "did you mean dW?"),
        (LINEAR, "dL / dW = x.T @ dy", "The left side of a claim is d<name>: write dW = ..."),
        (LINEAR, "dL / dW[k, j] = sum[n](x[n, k] * dy[n, j])", "write dW[k, j] = ..."),
        (LINEAR, "W.grad = x.T @ dy", "The left side of a claim is d<name>: write dW = ..."),
        (LINEAR, "dL / V = x.T @ dy", "The left side of a claim is d<name>, d<name>[indices] or D(...)."),
        (LINEAR, "grad_weight = x.T @ dy", "the gradients are dW and dx"),
        (LINEAR, "dy[y <= 0] = 0", "A line defines a whole tensor: write where(y <= 0, 0, dy) for it."),
        (LINEAR, "∇W = x.T @ dy", "write d<name> for a gradient"),
        (LINEAR, "dx = np.maximum(0, dy) @ W.T", "np.maximum is not array form; write max(0, dy)."),
        (LINEAR, "dx = dy.mm(W.T)", ".mm() is not allowed here; write dy @ W.T."),
        (LINEAR, "dx = np.multiply(dy, y + 1)", "write dy * (y + 1)."),
        (LINEAR, "dx = multiply(dy, y)", "There is no function multiply: write dy * y."),
        (LINEAR, "dx = dy * (y > 0).float()", "leave it out: numbers have no types here, and a comparison counts"),
        (LINEAR, "dx = (y > 0).astype(float) * dy", ".astype() is not allowed here; leave it out"),
        (LINEAR, "dx = dy.masked_fill(y <= 0, 0)", "write where(y <= 0, 0, dy)."),
        (LINEAR, "dx = torch.addmm(x, dy)", "write a + b @ c."),
        (LINEAR, "dx = clip(dy, 0, 1) @ W.T", "There is no function clip: write clamp(dy, 0, 1)."),
        (LINEAR, "dx = atanh(dy)", "write log((1 + dy) / (1 - dy)) / 2."),
        (LINEAR, "dx = gather(dy, x)", "write x[arange(N), t] for the entry of each row"),
        (LINEAR, "dx = dy / dy.numel()", "write the product of the sizes"),
        (LINEAR, "dx = dy / dy.norm(dim=0)", "write sqrt((dy**2).sum()), with the dims in sum(...)"),
        (
            LINEAR,
            "dx = one_hot(dy)",
            "one_hot is called with other arguments than it takes; write one_hot(t, num_classes).",
        ),
        (LINEAR, "dx = where(dy)", "write where(condition, a, b)."),
        (LINEAR, "dx = dy.roll(1)", "write x.roll(shift, dim)."),
        (LINEAR, "dx = eye(N, M, 3)", "write eye(n, m=None)."),
        (LINEAR, "dx = exp(dy, 2)", "exp takes 1 argument, not 2."),
        (LINEAR, "dx = einsum(dy, 'ij->ji')", "einsum begins with its subscripts"),
    ],
)
def test_what_people_paste_is_told_how_to_write_it(op, claim, words):
    (result,) = judge_text(op, claim)
    assert (result.verdict, words in result.diagnosis.sentence) == ("invalid", True), result.diagnosis.sentence


def test_a_correction_has_no_helper_of_a_name_that_the_claims_define():
    op = spec(inputs={"x": ["N"]}, forward="y[n] = sin(x[n]**2) * exp(x[n]**2)")

    def helpers(claims):
        return [line.partition(" = ")[0] for line in judge_text(op, claims)[0].diagnosis.correction.split("\n")[:-1]]

    (name,) = helpers("dx = never(x)")
    (other,) = helpers(f"{name} = 2 * y\ndx = never({name})")
    assert other != name


@pytest.mark.parametrize(
    ("claim", "words", "correction"),
    [
        ("dV = dy @ z.T", "dy @ z.T should be dy.T @ z: dy has J columns, and z.T has H rows.", "dV = dy.T @ z"),
        ("dV = z @ dy", "z @ dy should be dy.T @ z: z has H columns, and dy has N rows.", "dV = dy.T @ z"),
        ("dz = 3 * V.T @ dy - 2 * dy @ V", "V.T @ dy should be 3 * dy @ V: V.T has J", "dz = 3 * dy @ V - 2 * dy @ V"),
        ("dx = U.T @ (V.T @ dy * (1 - z**2))", "V.T @ dy should be dy @ V", "dx = dy @ V * (1 - z**2) @ U"),
        ("dx = U.T @ (dz * (1 - z**2))", "should be dz * (1 - z**2) @ U.", "dx = dz * (1 - z**2) @ U"),
    ],
)
def test_a_product_with_its_operands_in_the_wrong_order_is_told_the_one_that_fits(claim, words, correction):
    (result,) = judge_text(TWO_LAYERS, claim)
    said = result.diagnosis
    assert (result.verdict, said.kind, words in said.sentence) == ("invalid", "transpose", True), said
    assert said.correction.replace("(", "").replace(")", "") == correction.replace("(", "").replace(")", "")


def test_no_order_of_operands_is_offered_that_is_not_right():
    (result,) = judge_text(TWO_LAYERS, "dz = 2 * V.T @ dy")
    assert result.diagnosis.kind != "transpose" or "dy @ V" in result.diagnosis.correction
    assert result.diagnosis.correction != "dz = 2 * dy @ V"


def test_where_a_claim_is_a_step_from_gradients_its_terms_are_told_in_them():
    spec = specs.loads(
        "name: ratio\nsizes: {N: 2, M: 3}\nconstants: {al: 3/10, be: 7/10, ep: 1/1000}\n"
        "inputs: {p: [N, M], g: {shape: [N, M], assume: binary, grad: false}, w: {shape: [N], grad: false}}\n"
        "forward: |\n  a[n] = sum[i](p[n, i]*g[n, i])\n  b[n] = sum[i](p[n, i]*(1 - g[n, i]))\n"
        "  c[n] = sum[i]((1 - p[n, i])*g[n, i])\n  T[n] = (a[n] + ep)/(a[n] + al*b[n] + be*c[n] + ep)\n"
        "  L = sum[n](w[n]*T[n])\n"
    )
    (result,) = judge_text(spec, "dp[n, i] = g[n, i]*da[n] + (1 - g[n, i])*db[n]")
    assert result.diagnosis.sentence.startswith("A term is missing: - dc[n] * g[n, i]")
    (result,) = judge_text(spec, "da[n] = dT[n]")
    assert result.diagnosis.correction.count("dT[n]") == 1


def test_a_tie_that_stays_one_is_part_of_the_right_formula():
    """Inside of the clip the two branches are one number, of which each has half of the derivative."""
    spec = specs.loads(
        "name: clip\nsizes: {N: 3}\nconstants: {eps: 0.2}\ninputs: {r: [N], A: {shape: [N], grad: false}}\n"
        "forward: 'L = sum[n](min(r[n]*A[n], clamp(r[n], 1 - eps, 1 + eps)*A[n]))'\n"
    )
    (result,) = judge_text(spec, "dr = A")
    assert all(r.verdict == "right" for r in judge_text(spec, result.diagnosis.correction))
    spec = specs.loads("name: larger\nsizes: {N: 3}\ninputs: {x: [N], y: [N]}\nforward: 'z[n] = max(x[n], y[n])'\n")
    (result,) = judge_text(spec, "dx[n] = dz[n]")
    assert "==" not in result.diagnosis.correction


def test_what_fits_the_constants_of_two_looks_by_accident_explains_nothing():
    """``80 * (1 - a)**2`` is ``2 * a - 1`` at 9/10 and at 9/8, and nowhere else."""
    spec = specs.loads(
        "name: f\nsizes: {N: 2, D: 3}\nconstants: {a: 0.9}\ninputs: {x: [N, D], m: [D]}\n"
        "forward: 'y[d] = a*m[d] + (1 - a)*mean[n](x[n, d])'\n"
    )
    (result,) = judge_text(spec, "dm = (1 - a)*dy")
    assert (result.diagnosis.kind, result.diagnosis.sentence) == ("wrong_operand", "1 - a should be a.")
