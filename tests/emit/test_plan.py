"""Plans refuse what does not fit, before anything is printed or run."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Integer, Rational, S, floor

from symderive.algebra.nodes import FloorDiv
from symderive.errors import InternalError
from symderive.lower import plan as p
from symderive.lower import shapes
from symderive.lower.execute import execute
from symderive.lower.plan import BATCH_SIZE, ROWS
from symderive.lower.sizes import solve, values
from symderive.spec.sizes import size

N, K, J = map(size, "NKJ")
x, v, b = p.Ref("x", (N, K)), p.Ref("v", (K,)), p.Ref("b", (BATCH_SIZE, K))
t, flag = p.Ref("t", (N,), "integer"), p.Ref("flag", (N, K), "boolean")
half = p.Scalar(Rational(1, 2))

WRONG = {
    "shapes do not broadcast": lambda: p.Map("add", (x, p.Ref("w", (N, J)))),
    "batch axes do not line up": lambda: p.Map("add", (b, x)),
    "batch axes of unequal rank": lambda: p.Map("add", (b, p.Ref("c", (BATCH_SIZE,)))),
    "unknown function": lambda: p.Map("exq", (x,)),
    "too many arguments": lambda: p.Map("exp", (x, x)),
    "and of numbers": lambda: p.Map("and", (x, x)),
    "sum of truth values": lambda: p.Reduce("sum", flag, (-1,)),
    "difference of truth values": lambda: p.Map("sub", (flag, half)),
    "half an integer": lambda: p.Map("mul", (t, half)),
    "exp of integers": lambda: p.Map("exp", (t,)),
    "quotient of integers": lambda: p.Map("div", (t, p.Scalar(N))),
    "axis from the front": lambda: p.Reduce("sum", x, (0,)),
    "axis that is not there": lambda: p.Reduce("sum", x, (-3,)),
    "axis twice": lambda: p.Reduce("sum", x, (-1, -1)),
    "softmax over the batch": lambda: p.Normalise("softmax", b, -2),
    "batch axes kept": lambda: p.Reduce("sum", b, (-2,), keepdim=True),
    "argmax of two axes": lambda: p.Reduce("argmax", x, (-1, -2)),
    "unknown reduction": lambda: p.Reduce("total", x, (-1,)),
    "part of a permutation": lambda: p.Permute(x, (-1,)),
    "reshape to another count": lambda: p.Reshape(x, (N, J)),
    "broadcast to a smaller shape": lambda: p.BroadcastTo(x, (K,)),
    "inner extents differ": lambda: p.MatMul(x, x),
    "matrix product of batches of rows": lambda: p.MatMul(b, b),
    "matrix product of integers": lambda: p.MatMul(t, p.Ref("y", (N, K))),
    "einsum with two extents": lambda: p.Einsum("ij,ij->i", (x, p.Ref("w", (N, J)))),
    "einsum over the batch": lambda: p.Einsum("...k->k", (b,)),
    "einsum of too few": lambda: p.Einsum("ij,jk->ik", (x,)),
    "index of reals": lambda: p.Take(x, (p.Ref("r", (N,)), None)),
    "index arrays apart": lambda: p.Take(p.Ref("c", (N, K, J)), (t, None, t)),
    "gather of another rank": lambda: p.Gather(x, t, -1),
    "scatter of another shape": lambda: p.IndexAdd(x, (J, J), (t, None)),
    "place of another shape": lambda: p.Place(v, (N, K), (None, p.At(S.Zero))),
    "slice of another rank": lambda: p.Slice(x, (None,)),
    "diagonal of a rectangle": lambda: p.Diagonal(x),
    "inverse of a rectangle": lambda: p.Matrix("inv", x),
    "systems stacked differently": lambda: p.Solve(p.Expand(p.Eye(x.shape[0]), (-3,)), x),
    "convolution of matrices": lambda: p.Conv(x, x, p.Window.plain()),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_does_not_fit_is_refused(what):
    with pytest.raises(InternalError):
        WRONG[what]()


SHAPES = {
    "matmul": (p.MatMul(x, p.Permute(x, (-1, -2))), (N, N)),
    "rows": (p.MatMul(b, p.Permute(x, (-1, -2))), (BATCH_SIZE, N)),
    "row": (p.MatMul(b, v), (BATCH_SIZE,)),
    "sum": (p.Reduce("sum", x, (-2,)), (K,)),
    "sum over the batch": (p.Reduce("sum", b, (-2,)), (K,)),
    "keepdim": (p.Reduce("sum", b, (-1,), True), (BATCH_SIZE, S.One)),
    "flat": (p.Reshape(b, (ROWS, K)), (ROWS, K)),
    "expand": (p.Expand(b, (-1, -3)), (BATCH_SIZE, S.One, K, S.One)),
    "take": (p.Take(x, (None, p.Ref("u", (J,), "integer"))), (N, J)),
    "step": (p.Slice(x, (p.At(S.Zero), p.Span(S.Zero, K - 1))), (K - 1,)),
    "unfold": (p.Unfold(x, -1, Integer(3), Integer(2)), (N, floor((K - 3) / 2) + 1, Integer(3))),
}


@pytest.mark.parametrize("what", SHAPES)
def test_shapes_follow(what):
    node, expected = SHAPES[what]
    assert shapes.same_shape(node.shape, expected)


@pytest.mark.parametrize(
    ("node", "kind"),
    [
        (p.Map("lt", (x, v)), "boolean"),
        (p.Map("add", (t, p.Scalar(N))), "integer"),
        (p.Map("mul", (flag, x)), "real"),
        (p.Map("where", (flag, p.Scalar(S.One), x)), "real"),
        (p.Reduce("argmax", x, (-1,)), "integer"),
        (p.Cast(flag), "real"),
    ],
)
def test_kinds_follow(node, kind):
    assert node.kind == kind


def test_a_plan_reads_only_what_is_defined():
    with pytest.raises(InternalError, match="'y'"):
        p.Plan("bad", (x,), (p.Assign("z", p.Ref("y", (N, K))),), ("z",))
    with pytest.raises(InternalError, match="'x'"):
        p.Plan("bad", (x,), (p.Assign("z", p.Ref("x", (K, N))),), ("z",))
    with pytest.raises(InternalError, match="twice"):
        p.Plan("bad", (x,), (p.Assign("z", x), p.Assign("z", x)), ("z",))
    with pytest.raises(InternalError, match="outputs"):
        p.Plan("bad", (x,), (), ("z",))


def test_equal_sizes_are_seen_as_equal():
    assert shapes.same_size(FloorDiv(N - 1, Integer(2)) + 1, floor((N + 1) / 2))
    assert shapes.same_size((N + 1) ** 2, N**2 + 2 * N + 1)
    assert not shapes.same_size(2 * FloorDiv(N, Integer(2)), N)
    assert not shapes.same_size(N, K)


def test_sizes_are_solved_from_shapes():
    declared = {"x": (BATCH_SIZE, N + K, N), "y": (2 * J - N,)}
    assert values(declared, {"x": (4, 5, 7, 3), "y": (9,)}) == {BATCH_SIZE: (4, 5), N: 3, K: 4, J: 6}
    assert J not in solve({"y": (J**2,)})


def test_rebuild_keeps_what_does_not_change():
    node = p.Map("add", (x, p.Map("exp", (v,))))
    assert p.rebuild(node, lambda child: child) is node
    changed = p.rebuild(node, lambda child: p.Ref("w", child.shape) if child == x else child)
    assert changed == p.Map("add", (p.Ref("w", (N, K)), p.Map("exp", (v,))))
    assert [type(n).__name__ for n in p.walk(node)] == ["Map", "Ref", "Map", "Ref"]


def test_the_interpreter_says_where_a_shape_is_not_what_it_should_be():
    plan = p.Plan("one", (p.Ref("x", (N, N)),), (p.Assign("y", p.Ref("x", (N, N))),), ("y",))
    with pytest.raises(InternalError, match="made"):
        execute(plan, {"x": np.zeros((2, 3))})
