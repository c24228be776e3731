"""What an op keeps so that it can be differentiated again, and that nothing which is derived of it reads more."""

from __future__ import annotations

import pytest

import symderive
from symderive.algebra.closure import reads_only
from symderive.algebra.second_order import Differentiable, differentiable
from symderive.api import loads


def op(forward: str) -> Differentiable:
    equations = "".join(f"  {e}\n" for e in forward.split("; "))
    return differentiable(
        loads(f"name: op\nsizes: {{N: 4, D: 3}}\ninputs: {{x: [N, D]}}\nforward: |\n{equations}", "op")
    )


@pytest.mark.parametrize(
    ("forward", "saved"),
    [
        # the norm's own gradient is the row that has been divided by it
        ("r[n] = sqrt(sum[d](x[n, d]**2)); y[n, d] = x[n, d] / r[n]", ("r", "y")),
        # relu's derivative needs y, of which m is a cheap function
        ("y[n] = sum[d](x[n, d]); m[n] = relu(1 - y[n]); L = sum[n](m[n]**2)", ("y",)),
        ("y[n, d] = exp(x[n, d])", ("y",)),
    ],
)
def test_no_more_is_saved_than_what_second_derivatives_need(forward, saved):
    assert op(forward).saved == saved


@pytest.mark.parametrize("name", ["l2_normalize", "squared_hinge", "triplet", "weight_norm", "lstm_cell"])
def test_every_program_reads_upstreams_tangents_and_what_is_saved(name):
    made = differentiable(symderive.load(name))
    programs = [made.backward, made.tangents.program, *([made.through] if made.through else [])]
    for program in programs:
        read = {i.name for i in program.inputs} & made.derivation.forward.shapes.keys()
        assert read <= {*made.saved}


def test_a_program_that_reads_what_is_neither_saved_nor_cheap_is_told():
    made = op("r[n] = sum[d](exp(x[n, d])); y[n] = r[n]**2")
    forward = made.derivation.forward
    assert not reads_only(made.backward, forward, ())
    assert reads_only(made.backward, forward, tuple(forward.shapes))
