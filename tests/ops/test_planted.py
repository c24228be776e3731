"""Every check of emitted ops rejects an op that is wrong in just the way that the check is there for."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import count

import pytest
import torch

from symderive import api
from symderive.algebra.second_order import differentiable
from symderive.check import ops_behaviour, ops_tracing
from symderive.check.matrix import OP_KINDS
from symderive.check.ops import load_text
from symderive.check.ops_emitted import KINDS, EmittedOp
from symderive.check.ops_kinds import CHECKS
from symderive.check.ops_point import Point
from symderive.check.runner import check
from symderive.emit.autograd import autograd_module
from symderive.emit.autograd_op import KernelSet
from symderive.emit.custom_op import custom_op_module

torch.manual_seed(0)
COUNT = count()
OUTSIDE = "if torch._C._functorch.maybe_current_level() is None:"
"""How an op knows that no transform of torch.func is at work."""


def module(name: str, *edits: tuple[str, str]) -> dict:
    """The emitted module with faults planted in its text."""
    text = autograd_module(api.load(name))
    for old, new in edits:
        assert old in text, f"the module has no {old!r} to break"
        text = text.replace(old, new)
    scope: dict = {"__name__": name}
    exec(compile(text, name, "exec"), scope)
    return scope


@cache
def formulas(name: str) -> KernelSet:
    """What an emitted op of this spec computes."""
    return KernelSet(differentiable(api.load(name)))


def softmax_with(*edits: tuple[str, str]) -> EmittedOp:
    return EmittedOp("autograd", module("softmax", *edits)["softmax"])


def softmax_point() -> Point:
    z = torch.randn(2, 3, dtype=torch.float64)
    up, other = torch.randn(2, 3, dtype=torch.float64), torch.randn(4, 5, dtype=torch.float64)
    return Point(formulas("softmax"), (z,), (up,), (0,), (other,))


def linear_with(*edits: tuple[str, str]) -> EmittedOp:
    return EmittedOp("autograd", module("linear", *edits)["linear"])


def linear_point() -> Point:
    shapes = ((2, 3), (4, 3), (4,))
    inputs = tuple(torch.randn(s, dtype=torch.float64) for s in shapes)
    return Point(formulas("linear"), inputs, (torch.randn(2, 4, dtype=torch.float64),), (0, 1, 2))


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
    op = softmax_with(("if forward[1:]:", "if forward[9:]:"))
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
    call = "            dz = SoftmaxBackward"
    op = softmax_with((call, f"            y.data.mul_(2)\n{call}"))
    assert "off by" in rejected("opcheck", op, softmax_point())


def test_work_that_ignores_expanded_upstreams_fails_opcheck():
    op = softmax_with(("    return dz\n", "    return dz * dy.is_contiguous()\n"))
    assert "strided upstreams: off by" in rejected("opcheck", op, softmax_point())


@pytest.mark.slow
@pytest.mark.usefixtures("inductor")
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


def lstm_with(*edits: tuple[str, str]) -> EmittedOp:
    return EmittedOp("autograd", module("lstm_cell", *edits)["lstm_cell"])


def lstm_point() -> Point:
    inputs = tuple(torch.randn(2, 3, dtype=torch.float64) for _ in range(5))
    ups = tuple(torch.randn(2, 3, dtype=torch.float64) for _ in range(2))
    return Point(formulas("lstm_cell"), inputs, ups, (0, 1, 2, 3, 4))


def custom_with(*edits: tuple[str, str]) -> EmittedOp:
    """A registered softmax; every one has a namespace of its own."""
    text = custom_op_module(api.load("softmax"), f"planted_{next(COUNT)}")
    for old, new in edits:
        assert old in text, f"the module has no {old!r} to break"
        text = text.replace(old, new)
    loaded = load_text(text, "softmax")
    return EmittedOp("custom_op", loaded.softmax, loaded._op)


FORWARD = "y = torch.softmax(z, -1)"
RETURN = "C]\n    return dz\n"


def test_one_wrong_entry_fails_gradgradcheck():
    """The fast mode of ``gradcheck`` passes this one."""
    op = softmax_with((RETURN, "C]\n    dz[0, 0] *= -1\n    return dz\n"))
    assert "Jacobian mismatch" in rejected("gradgradcheck", op, softmax_point())


def test_gradients_that_cannot_be_batched_fail_gradgradcheck():
    op = softmax_with((RETURN, "C]\n    return dz if float(dy.sum()) else 0 * dz\n"))
    assert "batched gradients" in rejected("gradgradcheck", op, softmax_point())


INSIDE = "(torch._C._functorch.peek_interpreter_stack() is not None)"


def test_another_gradient_under_torch_func_fails_jvp():
    op = softmax_with(("            dz = SoftmaxBackward", f"            dz = (1 + {INSIDE}) * SoftmaxBackward"))
    assert "torch.func.grad: off by" in rejected("jvp", op, softmax_point())


def test_another_jacobian_under_torch_func_fails_jvp():
    op = softmax_with((RETURN, f"C]\n    return dz * (1 + {INSIDE})\n"))
    assert "jacrev against jacfwd: off by" in rejected("jvp", op, softmax_point())


def test_a_hessian_that_is_off_fails_jvp():
    op = softmax_with(("grad_z_t = torch.addcmul(", "grad_z_t = 1.001 * torch.addcmul("))
    assert "hessian: off by" in rejected("jvp", op, softmax_point())


def test_forward_mode_through_the_registered_op_fails_jvp():
    op = custom_with(("_is_fwd_grad_enabled() and any(", "_is_fwd_grad_enabled() and not any("))
    assert "which torch makes zeros" in rejected("jvp", op, softmax_point())


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("dz + 1", "upstreams of zeros"),
        ("dz * (dy.stride(-1) != 2)", "strided upstreams"),
        ("dz * (dy.stride(0) != 0)", "expanded upstreams"),
    ],
)
def test_upstreams_that_are_met_wrongly_fail_opcheck(broken: str, message: str):
    assert message in rejected("opcheck", softmax_with((RETURN, f"C]\n    return {broken}\n")), softmax_point())


def test_an_upstream_that_is_not_there_fails_opcheck():
    line = "ds = like.new_zeros(N, H) if ds is None else ds"
    op = lstm_with((line, line.replace("zeros", "ones")))
    assert "an output that does not reach the loss: off by" in rejected("opcheck", op, lstm_point())


def test_a_forward_for_contiguous_inputs_only_fails_opcheck():
    op = softmax_with((FORWARD, "y = torch.softmax(z * z.stride(-1), -1)"))
    assert "strided inputs: off by" in rejected("opcheck", op, softmax_point())


def test_a_forward_that_needs_entries_fails_opcheck():
    rows = "z.reshape(-1, z.shape[-1])"
    op = softmax_with((FORWARD, f"y = torch.softmax({rows}, -1).reshape(z.shape)"))
    point = replace(softmax_point(), empty={"C=0": (torch.zeros(2, 0, dtype=torch.float64),)})
    assert "0 elements" in rejected("opcheck", op, point)


def test_work_that_depends_on_what_else_is_wanted_fails_opcheck():
    op = linear_with(("    if needs_W:\n", "    if needs_W and needs_x:\n"))
    assert "one gradient by itself" in rejected("opcheck", op, linear_point())


def test_code_that_reads_a_value_fails_opcheck_and_compile():
    op = softmax_with((FORWARD, f"{FORWARD} * (2 if float(z.sum()) > 1e9 else 1)"))
    assert "_local_scalar_dense" in rejected("opcheck", op, softmax_point())
    with pytest.raises(Exception, match=r"(?i)data.dependent"):
        ops_tracing.exported(op, softmax_point())


def test_a_dtype_that_only_real_tensors_have_fails_opcheck():
    fake = "isinstance(z, torch._subclasses.FakeTensor)"
    op = softmax_with(("    return y\n", f"    return y.float() if {fake} else y\n"))
    assert "of tensors without values, torch.float32" in rejected("opcheck", op, softmax_point())


def test_a_fake_kernel_of_another_shape_fails_opcheck():
    op = custom_with(('formulas say it."""\n    return _forward(z)', 'formulas say it."""\n    return _forward(z).mT'))
    assert "test_faketensor failed" in rejected("opcheck", op, softmax_point())


def test_an_op_that_gives_its_strided_input_back_fails_opcheck():
    """The other inputs of ``opcheck`` are contiguous."""
    edit = ('instead."""\n    return _forward(z)', 'instead."""\n    return _forward(z) if z.is_contiguous() else z')
    assert "alias" in rejected("opcheck", custom_with(edit), softmax_point()).lower()


@pytest.mark.slow
def test_a_function_with_a_forward_mode_fails_compile():
    op = softmax_with(("return SoftmaxReverse.apply(z)", "return Softmax.apply(z)"))
    assert "jvp" in rejected("compile", op, softmax_point())


@pytest.mark.slow
@pytest.mark.usefixtures("inductor")
def test_a_compiled_backward_that_is_another_fails_compile():
    op = softmax_with(("            dz = _backward(y, dy)", "            dz = 2 * _backward(y, dy)"))
    assert "off by" in rejected("compile", op, softmax_point())


@pytest.mark.slow
@pytest.mark.usefixtures("inductor")
def test_an_op_for_one_size_only_fails_compile():
    def one_size(z):
        if torch.compiler.is_compiling() and z.shape[0] != 2:
            return 2 * torch.softmax(z, -1)
        return torch.softmax(z, -1)

    assert "off by" in rejected("compile", EmittedOp("autograd", one_size), softmax_point())


def test_a_gradient_that_a_graph_of_torch_func_loses_fails_compile():
    """torch.compile differentiates a Function's forward there, and knows nothing of its backward."""
    point = replace(softmax_point(), kernels=formulas("straight_through"))
    sound, lost = (module("straight_through", *edits) for edits in ((), ((OUTSIDE, "if True:"),)))
    ops_tracing.transformed(EmittedOp("autograd", sound["straight_through"]), point)
    with pytest.raises(ops_behaviour.WrongError, match=r"torch.func.grad, compiled: off by"):
        ops_tracing.transformed(EmittedOp("autograd", lost["straight_through"]), point)


@pytest.mark.slow
def test_a_program_that_is_another_when_exported_fails_compile():
    def other(z):
        return torch.softmax(z * (1 + torch.compiler.is_exporting()), -1)

    with pytest.raises(ops_behaviour.WrongError, match="the exported program: off by"):
        ops_tracing.exported(EmittedOp("autograd", other), softmax_point())


def test_every_kind_is_in_the_matrix():
    assert [k.name for k in OP_KINDS] == list(CHECKS)
    assert list(KINDS) == ["autograd", "custom_op"]


@pytest.mark.slow
@pytest.mark.usefixtures("inductor")
def test_compile_is_skipped_with_a_reason_where_inductor_compiles_nothing(monkeypatch):
    def refused(*_, **__):
        raise ops_tracing.InductorError(RuntimeError("no such compiler"), None)

    monkeypatch.setattr(ops_tracing, "_compiled", refused)
    assert check("relu", kinds=["compile"], devices=["cpu"]).status == "fail"
    monkeypatch.setattr(torch, "compile", refused)
    with pytest.raises(ops_tracing.CannotCompileError, match="no such compiler"):
        ops_tracing.compiled(softmax_with(), softmax_point())


def test_no_graph_is_taken_from_a_cache():
    """An op that is emitted anew keeps its name, by which PyTorch would find the graph of the one before."""
    seen = []

    def backend(graph, inputs):
        configs = torch._functorch.config, torch._inductor.config
        seen.append((configs[0].enable_autograd_cache, configs[1].fx_graph_cache))
        return graph.forward

    ops_tracing._compiled(softmax_with(), softmax_point(), {"backend": backend})
    assert set(seen) == {(False, False)}
