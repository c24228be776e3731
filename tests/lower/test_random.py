"""Random programs: the plan computes what they say."""

from __future__ import annotations

import random

import pytest

from .helpers import agree
from .random_programs import Maker

SIZES = ({"I": 2, "J": 3, "K": 4}, {"I": 1, "J": 1, "K": 2}, {"I": 3, "J": 3, "K": 3}, {"I": 4, "J": 2, "K": 3})

FOUND = {
    43: "a gather whose index array has batch axes that the tensor has not",
    49: "the same, without batch extents",
    110: "the least of integers",
    268: "two diagonals of one access",
    725: "a delta that vanishes takes an index with it",
    7369: "two masks, one over more indices than the other, and nothing to apply them to",
    7077: "masks over different indices",
    3448: "a mean over the batch is subtracted from a batch",
}
"""Programs that were once lowered wrongly, and what was wrong."""


@pytest.mark.parametrize("seed", [*FOUND, *range(1000, 1060)])
def test_random_program(seed):
    rng = random.Random(seed)
    sizes, batch = rng.choice(SIZES), rng.choice(((2, 3), (2,), (), (1,)))
    agree(Maker(seed).program(), sizes=sizes, batch=batch, seed=seed)
