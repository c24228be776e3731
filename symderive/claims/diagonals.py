"""Explanations of claims that hold on a diagonal only: of a Jacobian, of a Hessian, or of what a class id picks."""

from __future__ import annotations

import itertools
import math

import numpy as np

from symderive.check.kept import keeping
from symderive.check.objects import from_list, objects
from symderive.claims.bench import Bench
from symderive.claims.compare import close_in_scale
from symderive.claims.desk import Desk, Finding
from symderive.claims.edit_tools import deltas
from symderive.claims.trees import product_of


def without_deltas(desk: Desk) -> Finding | None:
    """The claim has no delta, though only entries where two indices, or an index and a class id, agree are not 0."""
    if desk.line.indices is None or desk.claimed is None:
        return None
    known = list(deltas(desk, desk.node, ()))
    with keeping(desk.benches[0].interpreter, desk.node):
        for chosen in itertools.chain.from_iterable(itertools.combinations(known, count) for count in (1, 2)):
            if desk.late:
                return None
            node = product_of([("*", desk.node), *(("*", d) for d in chosen)])
            if desk.may_fit(desk.first_value(node)) and desk.fits(node):
                text = desk.text(product_of([("*", d) for d in chosen]))
                return Finding("factor", f"The factor {text} is missing: all other entries are 0.", node)
    return None


MOST_ENTRIES = 200
"""Of a tensor each of which is differentiated by each."""


def without_cross_terms(desk: Desk) -> Finding | None:
    """The claim takes each entry of an intermediate to depend on its own entry of the tensor only."""
    if desk.line.role != "gradient" or desk.claimed is None:
        return None
    x = desk.line.tensor
    shape = desk.spec.shapes[x]
    if max(true.size for true in desk.truths) > MOST_ENTRIES:
        return None
    for y in desk.spec.shapes:
        if y == x or not shape or desk.spec.shapes[y] != shape or y in {i.name for i in desk.spec.inputs}:
            continue
        if _entry_by_entry(desk, y):
            continue
        if desk.fits_truth(lambda bench, y=y: desk.laid_out(bench, _diagonal(bench, y, x))):  # type: ignore[misc]
            sentence = (
                f"Only the diagonal of the Jacobian of {y} is taken: an entry of {y} depends on other entries of {x},"
                " too, and their cross terms are missing."
            )
            return Finding("missing_cross_terms", sentence)
    return None


def _entry_by_entry(desk: Desk, y: str) -> bool:
    """Whether the diagonal is all that there is: each entry of ``y`` depends on its own entry only."""
    world = desk.benches[0].world
    shape = world.values[y].shape
    matrix = world.derivatives(y, desk.line.tensor).reshape(math.prod(shape), -1)
    return not matrix[~np.eye(len(matrix), dtype=bool)].any()


def off_diagonal(desk: Desk) -> Finding | None:
    """Of a Jacobian or a Hessian: the claim holds on a diagonal only."""
    if desk.line.role != "jacobian" or desk.line.indices is None or desk.claimed is None:
        return None
    if desk.condition is not None and not desk.condition.weak:
        return None  # the condition says more
    free = desk.free
    for a, b in itertools.combinations(range(len(free)), 2):
        if all(_on_diagonal(c, t, a, b) for c, t in zip(desk.claimed, desk.truths, strict=True)):
            sentence = f"It holds only where {free[a]} = {free[b]}: the entries off that diagonal are others."
            return Finding("missing_cross_terms", sentence)
    return None


def _on_diagonal(claimed: np.ndarray, true: np.ndarray, a: int, b: int) -> bool:
    if claimed.shape != true.shape or claimed.ndim <= b or claimed.shape[a] != claimed.shape[b]:
        return False
    return close_in_scale(np.diagonal(claimed, 0, a, b), np.diagonal(true, 0, a, b))


def _diagonal(bench: Bench, y: str, x: str) -> np.ndarray:
    world = bench.world
    upstream = objects(world.gradient(y))
    matrix = world.derivatives(y, x).reshape(upstream.size, -1)
    flat = [world.base.mul(g, matrix[n, n]) for n, g in enumerate(upstream.flat)]
    return from_list(flat, upstream.shape)
