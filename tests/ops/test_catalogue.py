"""The checks of emitted ops over a few specs that have little in common; ``symderive check`` runs them over all."""

from __future__ import annotations

import pytest

from symderive.check.ops_kinds import CHECKS
from symderive.check.runner import check

LIGHT = tuple(k for k in CHECKS if k != "compile")


@pytest.mark.parametrize("name", ["dropout", "embedding", "max", "norm"])
def test_both_kinds_of_op_pass(name: str):
    result = check(name, kinds=LIGHT, devices=["cpu"])
    assert result.status == "pass", [c.detail for c in result.checks if c.status == "fail"]
    assert {(c.check, c.target) for c in result.checks} == {(k, t) for k in LIGHT for t in ("autograd", "custom_op")}


@pytest.mark.slow
@pytest.mark.usefixtures("inductor")
def test_both_kinds_of_op_compile():
    result = check("relu", kinds=["compile"], devices=["cpu"])
    assert result.status == "pass", [c.detail for c in result.checks if c.status == "fail"]
    assert [c.target for c in result.checks] == ["autograd", "custom_op"]
