"""An entry that float64 leaves in doubt is settled by exact numbers; one that is wrong stays wrong."""

from __future__ import annotations

from symderive.check.runner import check
from symderive.spec import loads

TEXT = """
name: op
sizes: {N: 400}
inputs:
  x: {shape: [N], range: [3, 30]}
forward: |
  y[n] = 1 - sigmoid(x[n])
"""


def oracle(op=None):
    found = check(loads(TEXT), dtypes=["float64"], op=op, kinds=["oracle"])
    return {row.target: row.status for row in found.checks}


def test_a_formula_may_cancel_where_its_code_does_not():
    assert set(oracle().values()) == {"pass"}


class Op:
    """The op by itself, with a gradient that is off by one part in 1e12."""

    INPUTS, OUTPUTS, WRT = ("x",), ("y",), ("x",)

    @staticmethod
    def forward(x):
        return (-x).sigmoid(), (x,)

    @staticmethod
    def backward(saved, dy):
        (x,) = saved
        return (-dy * x.sigmoid() * (-x).sigmoid() * (1 + 1e-12),)


def test_what_is_wrong_stays_wrong():
    assert oracle(Op) == {"y": "pass", "dx": "fail"}


STOPPED = """
name: op
sizes: {N: 5}
inputs: {x: [N], s: {shape: [], assume: positive}}
forward: |
  y[n] = s * (x[n] + stop(x[n]**2 - x[n]))
claims: |
  dx[n] = s * dy[n]
"""


class Unstopped(Op):
    """The derivative of the value, through the stop."""

    INPUTS, WRT = ("x", "s"), ("x", "s")

    @staticmethod
    def forward(x, s):
        return s * x**2, (x, s)

    @staticmethod
    def backward(saved, dy):
        x, s = saved
        return dy * s * 2 * x, (dy * x**2).sum()


def stopped(op=None):
    found = check(loads(STOPPED), dtypes=["float64"], devices=["cpu"], op=op, kinds=["gradcheck", "claim"])
    return {(row.check, row.target): row.status for row in found.checks}


def test_what_a_stop_hides_is_no_fault_of_the_gradient():
    assert set(stopped().values()) <= {"pass", "skip"}
    assert stopped()["gradcheck", "dx"] == "pass"


def test_a_gradient_through_a_stop_is_one():
    statuses = stopped(Unstopped)
    assert (statuses["gradcheck", "dx"], statuses["gradcheck", "ds"]) == ("fail", "pass")
