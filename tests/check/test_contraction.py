"""Contractions in integers give what entry by entry gives, and say as much of it: exact, or of many digits."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from symderive.check.contraction import contracted, summed
from symderive.check.exact import EXACT
from symderive.check.grid_numbers import GridNumbers, numbers_over
from symderive.claims.compare import same

NUMBERS = numbers_over(EXACT)


def entry(kind, rng):
    match kind:
        case "rational":
            return Fraction(rng.randint(-9, 9), rng.choice([1, 2, 3, 7, 8]))
        case "digits":
            return EXACT.functions["exp"](Fraction(rng.randint(-90, 9), 4))
        case "masked":
            return rng.choice([0, entry("digits", rng)])
        case "infinite":
            return rng.choice([EXACT.inf, EXACT.nan, Fraction(1, 2)])
    return entry(rng.choice(["rational", "digits"]), rng)


def array(shape, kind, rng):
    found = np.empty(shape, dtype=object)
    for at in np.ndindex(*shape):
        found[at] = entry(kind, rng)
    return found


KINDS = ("rational", "digits", "masked", "infinite", "mixed")


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_sum_of_the_products(seed):
    rng = random.Random(seed)
    shape = [rng.randint(1, 3) for _ in range(rng.randint(1, 3))]
    factors = [array([rng.choice([1, n]) for n in shape], rng.choice(KINDS), rng) for _ in range(rng.randint(1, 3))]
    axes = [x for x in range(len(shape)) if rng.random() < 0.5]
    found, expected = NUMBERS.contract(factors, shape, axes), GridNumbers.contract(NUMBERS, factors, shape, axes)
    assert found.shape == expected.shape
    for a, b in zip(found.flat, expected.flat, strict=True):
        assert same(a, b)
        assert isinstance(a, int | Fraction) == isinstance(b, int | Fraction)


@pytest.mark.parametrize("seed", range(30))
def test_an_adjoint_flows_through_the_other_factors(seed):
    rng = random.Random(seed)
    shape = [rng.randint(1, 3) for _ in range(2)]
    adjoint = array(shape, rng.choice(KINDS), rng)
    others = [array([rng.choice([1, n]) for n in shape], rng.choice(KINDS), rng) for _ in range(rng.randint(1, 2))]
    target = [rng.choice([1, n]) for n in shape]
    found = NUMBERS.flow_through(adjoint, others, target)
    expected = GridNumbers.flow_through(NUMBERS, adjoint, others, target)
    assert all(same(a, b) for a, b in zip(found.flat, expected.flat, strict=True))


@pytest.mark.parametrize("seed", range(30))
def test_products_are_added_at_indices(seed):
    rng = random.Random(seed)
    full = [rng.randint(1, 4) for _ in range(2)]
    factors = [array([rng.choice([1, n]) for n in full], rng.choice(KINDS), rng) for _ in range(rng.randint(1, 3))]
    shape = (3, 2)
    at = tuple(np.array([rng.randrange(n) for _ in range(full[0] * full[1])]).reshape(full) for n in shape)
    found = NUMBERS.scatter_product(factors, full, at, shape)
    expected = GridNumbers.scatter_product(NUMBERS, factors, full, at, shape)
    for a, b in zip(found.flat, expected.flat, strict=True):
        assert same(a, b)
        assert isinstance(a, int | Fraction) == isinstance(b, int | Fraction)


def test_what_was_rounded_to_0_is_not_called_exact():
    tiny = EXACT.sub(1, EXACT.functions["tanh"](Fraction(1000)))
    assert tiny == 0
    found = contracted(EXACT, [np.array([tiny, 0], dtype=object)], summed((2,), (0,)))
    assert not isinstance(found[0], int | Fraction)
    assert contracted(EXACT, [np.array([0, 0], dtype=object)], summed((2,), (0,)))[0] == 0


def test_numbers_too_far_apart_go_entry_by_entry():
    far = np.array([EXACT.functions["exp"](Fraction(n)) for n in (-9000, 9000)], dtype=object)
    assert contracted(EXACT, [far], summed((2,), (0,))) is None
    assert same(NUMBERS.contract([far], (2,), (0,))[0], far[1])
