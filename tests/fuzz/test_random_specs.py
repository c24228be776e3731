"""A hundred random specs: derived, and compared with the true gradients, with autograd and with the emitted code."""

from __future__ import annotations

import pytest

from tests.fuzz import judge
from tests.fuzz.generate import random_spec


@pytest.mark.parametrize("seed", range(100))
def test_a_random_spec_is_derived_right(seed):
    assert judge.faults(seed) == [], random_spec(seed)


def test_a_wrong_gradient_is_found(monkeypatch):
    right = judge.gradients

    def wrong(*given):
        return {name: value * 1.001 for name, value in right(*given).items()}

    monkeypatch.setattr(judge, "gradients", wrong)
    assert any(fault.startswith("index form") for fault in judge.faults(0))


def test_the_same_seed_gives_the_same_spec():
    assert random_spec(7) == random_spec(7) != random_spec(8)
