"""Every case of the language: the plan computes what the program says, whatever the sizes and batch axes."""

from __future__ import annotations

import functools
import itertools

import pytest

from symderive.algebra.derive import derive
from symderive.lower import plan as p
from symderive.spec import load, loads
from symderive.spec.sizes import BATCH_SIZE

from .cases import CASES, text
from .helpers import CATALOGUE, agree, number, program

NO_VALUE_OF_NOTHING = ("argmax", "argmin")


@functools.cache
def derived(name):
    derivation = derive(loads(text(name)))
    return derivation.forward, derivation.backward


def batches(name):
    return ((2, 3), (2,), ()) if "..." in text(name) else ((),)


@pytest.mark.parametrize("name", CASES)
def test_forward_agrees_with_the_naive_evaluator(name):
    source = program(text(name))
    for batch in batches(name):
        agree(source, batch=batch)


@pytest.mark.parametrize("name", CASES)
def test_gradient_agrees_with_the_naive_evaluator(name):
    for source in derived(name):
        for batch in batches(name):
            agree(source, batch=batch)


def fitting_sizes(source, start, step):
    """Sizes from ``start`` on, each ``step`` larger than the last (or the next): no axis is empty."""
    names = [n for n in source.sizes if n != "..."]
    for raised, order in itertools.product(range(9), (names, names[::-1])):
        sizes = {n: start + raised + step * i for i, n in enumerate(order)}
        extents = [e for s in source.shapes.values() for e in s if e != BATCH_SIZE]
        if all(number(e, sizes) >= 1 for e in extents):
            return sizes
    raise AssertionError(f"no sizes fit {source.name}")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("start", "step"), [(1, 0), (3, 0), (1, 2)], ids=["ones", "square", "growing"])
def test_other_sizes(name, start, step):
    forward, backward = derived(name)
    for source in (forward, backward):
        agree(source, sizes=fitting_sizes(forward, start, step), batch=(1,), seed=1)


@pytest.mark.parametrize("path", CATALOGUE, ids=lambda path: path.stem)
def test_catalogue(path):
    derivation = derive(load(path))
    sizes = fitting_sizes(derivation.forward, 2 if len(derivation.forward.sizes) > 4 else 3, 1)
    batched = any(BATCH_SIZE in shape for shape in derivation.forward.shapes.values())
    for source in (derivation.forward, derivation.backward):
        for batch in ((2, 3), ()) if batched else ((),):
            agree(source, sizes=sizes, batch=batch)


@pytest.mark.parametrize("name", ["softmax", "chain", "layer_norm", "embedding", "keepdim", "scatter", "batch_outer"])
def test_an_axis_of_extent_0(name):
    source = program(text(name))
    first = next(n for n in source.sizes if n not in ("...", "C", "V", "K"))
    agree(source, sizes=dict(source.sizes) | {first: 0}, batch=(0,))


def test_the_comparison_catches_a_wrong_plan():
    source = program(text("chain"))
    plan = agree(source)
    last = plan.assignments[-1]
    wrong = p.Assign(last.name, p.Map("neg", (last.value,)))
    with pytest.raises(AssertionError):
        agree(source, p.replace(plan, assignments=(*plan.assignments[:-1], wrong)))
