"""Of what rounding leaves no bound for, a check of emitted ops says that it cannot judge, not that the op is wrong."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from symderive.check.cells import Cell
from symderive.check.ops_behaviour import WrongError, same
from symderive.check.ops_kinds import judged

CELL = Cell("vmap", "float64", "cpu", {"N": 2}, "", 0)
TIGHT, NONE = np.zeros(2), np.full(2, np.inf)


def row(*comparisons):
    def check(op, point):
        """Batches."""
        for what, got, bound in comparisons:
            same(what, torch.tensor(got), torch.ones(2), [bound])

    return judged(CELL, "op", check, None, None)


def test_what_has_no_bound_at_all_is_skipped_and_says_why():
    found = row(("outputs", [1.0, 1.0], NONE), ("gradients", [3.0, 1.0], NONE))
    assert found.status == "skip"
    assert "no bound" in found.detail
    assert "outputs, gradients" in found.detail


def test_what_is_judged_besides_counts():
    found = row(("outputs", [1.0, 1.0], TIGHT), ("gradients", [1.0, 1.0], NONE))
    assert found.status == "pass"
    assert found.detail.startswith("Batches. Not judged")
    assert row(("outputs", [1.0, 1.0], TIGHT)).detail == "Batches."
    assert row(("gradients", [1.0, 1.0], NONE), ("outputs", [2.0, 1.0], TIGHT)).status == "fail"


def test_outside_of_a_check_what_is_wrong_is_wrong():
    with pytest.raises(WrongError, match="off by"):
        same("outputs", torch.zeros(2), torch.ones(2), [TIGHT])
    with pytest.raises(WrongError, match="nothing can be said"):
        same("outputs", torch.ones(2), torch.ones(2), [NONE])
