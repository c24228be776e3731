"""Every check of emitted ops rejects an op that is wrong in just the way that the check is there for."""

from __future__ import annotations

import pytest
import torch

from symderive import api
from symderive.check.matrix import OP_KINDS
from symderive.check.ops_emitted import KINDS, EmittedOp
from symderive.check.ops_kinds import CHECKS, Point
from symderive.emit.autograd import autograd_module

torch.manual_seed(0)


def module(name: str, *edits: tuple[str, str]) -> dict:
    """The emitted module with faults planted in its text."""
    text = autograd_module(api.load(name))
    for old, new in edits:
        assert old in text, f"the module has no {old!r} to break"
        text = text.replace(old, new)
    scope: dict = {"__name__": name}
    exec(compile(text, name, "exec"), scope)
    return scope


def softmax_with(*edits: tuple[str, str]) -> EmittedOp:
    return EmittedOp("autograd", module("softmax", *edits)["softmax"])


def softmax_point() -> Point:
    z = torch.randn(2, 3, dtype=torch.float64)
    return Point((z,), (torch.randn(2, 3, dtype=torch.float64),), (0,), (torch.randn(4, 5, dtype=torch.float64),))


def linear_with(*edits: tuple[str, str]) -> EmittedOp:
    return EmittedOp("autograd", module("linear", *edits)["linear"])


def linear_point() -> Point:
    shapes = ((2, 3), (4, 3), (4,))
    inputs = tuple(torch.randn(s, dtype=torch.float64) for s in shapes)
    return Point(inputs, (torch.randn(2, 4, dtype=torch.float64),), (0, 1, 2))


def rejected(kind: str, op: EmittedOp, point: Point) -> str:
    with pytest.raises(Exception) as caught:
        CHECKS[kind](op, point)
    return str(caught.value)


def test_sound_ops_pass():
    for kind in ("gradgradcheck", "jvp", "vmap", "opcheck"):
        CHECKS[kind](softmax_with(), softmax_point())
        CHECKS[kind](linear_with(), linear_point())


def test_a_saved_tensor_taken_for_a_constant_passes_gradcheck_and_fails_gradgradcheck():
    text = autograd_module(api.load("softmax"))
    call = next(line.strip() for line in text.splitlines() if "SoftmaxBackward.apply(" in line)
    op = softmax_with((call, call.replace("(y, dy)", "(y.detach(), dy)")))
    (z,) = softmax_point().leaves()
    assert torch.autograd.gradcheck(op.function, (z,))
    assert "Jacobian mismatch" in rejected("gradgradcheck", op, softmax_point())


def test_a_second_derivative_with_a_sign_flipped_fails_gradgradcheck():
    op = linear_with(("dW = grad_y.T @ dgrad_x", "dW = -grad_y.T @ dgrad_x"))
    assert "Jacobian mismatch" in rejected("gradgradcheck", op, linear_point())


def test_a_tangent_with_a_factor_fails_jvp():
    op = linear_with(("y_t = x_t @ W.T", "y_t = 1.001 * x_t @ W.T"))
    assert "jacrev against jacfwd: off by" in rejected("jvp", op, linear_point())


def test_forward_over_forward_that_gives_a_result_fails_jvp():
    op = softmax_with((") > 1:\n        raise", ") > 9:\n        raise"))
    assert "forward mode over forward mode gives a result" in rejected("jvp", op, softmax_point())


def test_a_function_without_a_rule_for_batches_fails_vmap():
    op = softmax_with(("generate_vmap_rule = True", "generate_vmap_rule = False"))
    assert "does not have vmap support" in rejected("vmap", op, softmax_point())


def test_a_gradient_that_mixes_the_batch_fails_vmap():
    op = softmax_with()
    wrong = EmittedOp("autograd", lambda z: op.function(z) * (1 + torch._C._functorch.is_batchedtensor(z)))
    assert "vmap of outputs: off by" in rejected("vmap", wrong, softmax_point())


def test_an_op_that_changes_its_input_fails_opcheck():
    op = linear_with(("    # y[i, j] =", "    x.data.add_(0.5)\n    # y[i, j] ="))
    assert "an input was modified" in rejected("opcheck", op, linear_point())


def test_an_input_kept_beside_autograd_fails_opcheck():
    """What is saved as an attribute of ``ctx`` may be changed in place, and nobody notices."""
    op = linear_with(
        ("        ctx.save_for_backward(x, W)\n        ctx.save_for_forward(x, W)", "        ctx.kept = (x, W)"),
        ("x, W = ctx.saved_tensors\n        needs_x", "x, W = ctx.kept\n        needs_x"),
    )
    assert "changed in place" in rejected("opcheck", op, linear_point())


def test_an_op_that_knows_nothing_of_autocast_fails_opcheck():
    op = linear_with(("    x, W, b = _cast(x, W, b)\n", ""))
    assert "dtype" in rejected("opcheck", op, linear_point())


def test_a_backward_that_changes_what_was_saved_fails_opcheck():
    op = softmax_with(("        dz = None\n", "        y.data.mul_(2)\n        dz = None\n"))
    assert "off by" in rejected("opcheck", op, softmax_point())


def test_work_that_ignores_expanded_upstreams_fails_opcheck():
    op = softmax_with(("    return dz\n", "    return dz * dy.is_contiguous()\n"))
    assert "strided upstreams: off by" in rejected("opcheck", op, softmax_point())


@pytest.mark.slow
def test_an_op_that_is_another_when_compiled_fails_compile():
    good = softmax_with().function
    op = EmittedOp("custom_op", lambda z: good(z) if not torch.compiler.is_compiling() else torch.softmax(2 * z, -1), 1)
    assert "off by" in rejected("compile", op, softmax_point())


@pytest.mark.slow
def test_a_graph_break_fails_compile():
    def broken(z):
        torch._dynamo.graph_break()
        return torch.softmax(z, -1)

    assert "graph break" in rejected("compile", EmittedOp("custom_op", broken, 1), softmax_point()).lower()


def test_every_kind_is_in_the_matrix():
    assert [k.name for k in OP_KINDS] == list(CHECKS)
    assert list(KINDS) == ["autograd", "custom_op"]
