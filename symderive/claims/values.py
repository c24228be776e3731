"""Explanations that the numbers alone give: a factor, a transpose, a sum too many or too few, another gradient."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from symderive.claims.compare import close_floats, close_in_scale
from symderive.claims.desk import Desk, Finding
from symderive.claims.edit_tools import counts, first_that_fits
from symderive.claims.edits_axes import means
from symderive.claims.edits_conditions import superfluous
from symderive.claims.edits_functions import roots
from symderive.claims.edits_numbers import constants, numbers
from symderive.claims.edits_operands import comparisons
from symderive.claims.edits_terms import complements, factors_dropped, factors_turned, signs, terms_dropped
from symderive.claims.factors import factor_words, scaled, takes
from symderive.claims.lines import ClaimError, names_in
from symderive.claims.mistakes import gives, line_of
from symderive.claims.ratios import Ratio, constant_ratio
from symderive.claims.trees import (
    axis,
    constant,
    factors_of,
    method,
    negated,
    number,
    product_of,
    rename,
    sum_of,
    terms_of,
    transpose,
)
from symderive.claims.world import gradient_names
from symderive.errors import SymderiveError
from symderive.spec import syntax


def whole_factor(desk: Desk, mixed: bool = False) -> Finding | None:
    """The claim is the gradient times a number, a ``mixed`` one only if that is asked for."""
    ratio = _ratio(desk)
    if ratio is None:
        return _other_number(desk)
    if ratio.is_one or (ratio.is_mixed and not mixed):
        return None
    if ratio.number == -1 and not ratio.powers:
        corrected = negated(desk.node)
        if desk.fits(corrected):
            return Finding("sign", f"The sign is wrong: the claim is minus {subject(desk)}.", corrected)
        return None
    kind, words = factor_words(ratio, desk)
    if (found := averaged(desk)) is not None:
        return replace(found, sentence=words) if kind == found.kind else found
    other = (
        first_that_fits(desk, factors_dropped, factors_turned, complements, roots)
        if kind == "factor" and ratio.powers
        else None
    )
    if other is not None:
        return other
    corrected = scaled(ratio, desk.node)
    return Finding(kind, words, corrected) if desk.fits(corrected) else _other_number(desk)


def mixed_factor(desk: Desk) -> Finding | None:
    """The claim is the gradient times a number that a constant and what it leaves of 1 make together."""
    return whole_factor(desk, mixed=True)


def averaged(desk: Desk) -> Finding | None:
    """The claim has a mean for a sum, or the reverse."""
    return first_that_fits(desk, means)


def sign_or_number(desk: Desk) -> Finding | None:
    """A sign, a condition or a number is wrong somewhere inside."""
    return first_that_fits(desk, signs, superfluous, terms_dropped, comparisons, numbers)


def _ratio(desk: Desk) -> Ratio | None:
    values = _ratios(desk)
    return desk.named(values) if len(values) >= len(desk.benches) else None


def _ratios(desk: Desk) -> list[float]:
    """What the claim must be multiplied by on each of the ratio benches, up to the first that has none."""
    values: list[float] = []
    for bench in desk.ratio_benches if desk.claimed is not None else ():
        value = constant_ratio(desk.truth(bench), desk.value(bench, desk.node))
        if value is None:
            break
        values.append(value)
    return values


def _other_number(desk: Desk) -> Finding | None:
    """The claim is off by a number of no simple name: a size less 1, or what the forward makes of sizes alone."""
    values = _ratios(desk)
    if len(values) < len(desk.benches):
        return None
    if (found := first_that_fits(desk, signs, terms_dropped, numbers, constants)) is not None:
        return found
    for part in dict.fromkeys(_numbers_made(desk)):
        sizes = [float(b.plain_array(part)) for b in desk.ratio_benches[: len(values)]]
        for op, power in (("*", 1), ("/", -1)):
            rest = desk.named([v / s**power for v, s in zip(values, sizes, strict=True)])
            if rest is None:
                continue
            corrected = scaled(rest, product_of([*factors_of(part), *factors_of(desk.node)]))
            if op == "/":
                corrected = scaled(rest, syntax.Binary("/", desk.node, part))
            if desk.fits(corrected):
                what = f"factor {desk.text(part)}" if op == "*" else f"division by {desk.text(part)}"
                return Finding("factor", f"The {what} is missing.", corrected)
    return None


def _numbers_made(desk: Desk) -> Iterator[syntax.Node]:
    """What the forward makes of sizes and constants alone: ``sqrt(2 / F)``."""
    for equation in desk.spec.equations:
        for node in equation.right.walk():
            made = isinstance(node, syntax.Call | syntax.Binary) and names_in(node)
            if made and counts(desk.spec, node):
                yield node


def subject(desk: Desk) -> str:
    """What the claim is about."""
    if desk.line.role == "gradient":
        return f"the gradient with respect to {desk.line.tensor}"
    return desk.line.name


def transposed(desk: Desk) -> Finding | None:
    """The claim is the gradient with its axes in another order."""
    if desk.line.indices is not None:
        return _left_permuted(desk)
    if desk.claimed is None:
        return None
    rank = desk.claimed[0].ndim
    for order in list(itertools.permutations(range(rank)))[1:]:
        if all(close_floats(c.transpose(order), t) for c, t in zip(desk.claimed, desk.truths, strict=True)):
            corrected = _transpose_node(desk.node, order)
            if desk.fits(corrected):
                sentence = f"The claim is the transpose of {subject(desk)}: swap the operands, or transpose it."
                return Finding("transpose", sentence, corrected)
    return None


def _transpose_node(node: syntax.Node, order: tuple[int, ...]) -> syntax.Node:
    if len(order) == 2:
        if isinstance(node, syntax.Binary) and node.op == "@":
            if isinstance(node.left, syntax.Binary):
                return transpose(node)
            return syntax.Binary("@", transpose(node.right), transpose(node.left))
        if isinstance(node, syntax.Call) and node.function == "outer":
            return syntax.Call("outer", node.arguments[::-1])
        if isinstance(node, syntax.Unary):
            return replace(node, operand=_transpose_node(node.operand, order))
        if isinstance(node, syntax.Binary) and node.op == "/" and not _is_matrix(node.right):
            return replace(node, left=_transpose_node(node.left, order))
        if isinstance(node, syntax.Binary) and node.op == "*" and not _is_matrix(node.left):
            return replace(node, right=_transpose_node(node.right, order))
        return transpose(node)
    return method(node, "permute", *(number(x) for x in order))


def _is_matrix(node: syntax.Node) -> bool:
    """Whether an operand may have axes: it is no number, and no product or power of numbers."""
    if isinstance(node, syntax.Binary):
        return _is_matrix(node.left) or _is_matrix(node.right)
    return not isinstance(node, syntax.Number)


def _left_permuted(desk: Desk) -> Finding | None:
    """In index form: the indices of the left side stand in another order."""
    assert desk.line.indices is not None
    for order in _orders(desk, len(desk.line.indices)):
        if desk.late:
            return None
        line = desk.left_permuted(order)
        if desk.fits(desk.node, line):
            left = _permuted_left(desk, order)
            sentence = f"The claim is the transpose of {subject(desk)}: what is written is {left}."
            return Finding("transpose", sentence, desk.node, left)
    return None


def _orders(desk: Desk, rank: int) -> Iterator[tuple[int, ...]]:
    """The orders in which the axes of the truth may be the claim: at the first point they are, or their inverses."""
    claimed, true = desk.claimed[0] if desk.claimed is not None else None, desk.truths[0]
    if claimed is None or {claimed.ndim, true.ndim} != {rank}:
        yield from itertools.islice(itertools.permutations(range(rank)), 1, None)
        return
    fitting = [o for o in _permutations(true.shape, claimed.shape) if close_floats(claimed, true.transpose(o))]
    inverses = [tuple(map(int, np.argsort(o))) for o in fitting]
    yield from sorted({*fitting, *inverses} - {tuple(range(rank))})


def _permutations(shape: tuple[int, ...], wanted: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The orders of the axes of a shape that make another of it."""
    orders: list[tuple[int, ...]] = [()]
    for extent in wanted:
        axes = [axis for axis, own in enumerate(shape) if own == extent]
        orders = [(*order, axis) for order in orders for axis in axes if axis not in order]
    yield from orders


def _permuted_left(desk: Desk, order: Sequence[int]) -> str:
    """The left side that the right one belongs to: ``dW[k, j]`` for ``dW[j, k]``, ``D(y[j], x[i])`` likewise."""
    indices = desk.line.indices
    assert indices is not None
    if desk.line.role != "jacobian":
        return f"{desk.line.name}[{', '.join(desk.text(indices[i]) for i in order)}]"
    names = {desk.text(indices[a]): desk.text(indices[b]) for a, b in enumerate(order)}
    return desk.text(rename(desk.line.statement.left, names))


def summed(desk: Desk) -> Finding | None:
    """The gradient is the claim summed over axes, or the claim is the gradient summed."""
    if desk.claimed is None or desk.line.indices is not None:
        return None
    rank = desk.claimed[0].ndim
    pairs = list(zip(desk.claimed, desk.truths, strict=True))
    for axes, keep in itertools.product(_subsets(rank), (False, True)):
        for name, reduce in (("sum", np.sum), ("mean", np.mean)):
            if all(close_floats(reduce(c, axis=axes, keepdims=keep), t) for c, t in pairs):
                corrected = _with_axes(desk, name, axes, rank) or method(
                    desk.node, name, *_axes_node(desk, axes, rank), keepdim=keep
                )
                if desk.fits(corrected):
                    which = f"axis {axes[0]}" if len(axes) == 1 else f"the axes {', '.join(map(str, axes))}"
                    what = "sum" if name == "sum" else "mean"
                    sentence = f"The claim is {subject(desk)} before the {what} over {which}."
                    return Finding("missing_sum", sentence, corrected)
    return _oversummed(desk)


def summed_out(desk: Desk) -> Finding | None:
    """The claim, which sums, is the gradient summed over indices of its left side that its right one has not at all."""
    if desk.line.role != "gradient" or not _reduces(desk):
        return None
    inside = {desk.text(n) for n in desk.node.walk() if isinstance(n, syntax.Name | syntax.Batch)}
    return summed_away(desk, but=inside)


def _reduces(desk: Desk) -> bool:
    """Whether there is a sum or a mean in a claim, or in a helper that it may use."""
    nodes = [desk.node, *(h.statement.sides[0] for h in desk.court.helpers)]
    return any(takes(n, "sum") or takes(n, "mean") for n in nodes)


def summed_away(desk: Desk, but: Collection[str] = ()) -> Finding | None:
    """In index form: the claim is the gradient summed over some of the indices on its left side, ``but`` for some."""
    if desk.line.indices is None or desk.claimed is None or desk.vanishes:
        return None
    names = [desk.text(i) for i in desk.line.indices]
    pairs = [*zip(desk.claimed, desk.truths, strict=True)]
    pairs += [(desk.value(b, desk.node), desk.truth(b)) for b in desk.elsewhere]
    if any(c.shape != t.shape for c, t in pairs):
        return None
    for axes in _subsets(len(names)):
        if any(names[a] in but for a in axes):
            continue
        for reduce, what in ((np.sum, "sum"), (np.mean, "mean")):
            if all(close_in_scale(np.broadcast_to(reduce(t, axis=axes, keepdims=True), t.shape), c) for c, t in pairs):
                over = ", ".join(names[a] for a in axes)
                own = f"which has an entry of its own for each {over}"
                words = f"The claim is the {what} over {over} of {subject(desk)}, {own}."
                return Finding("extra_sum", words)
    return None


def _with_axes(desk: Desk, name: str, axes: tuple[int, ...], rank: int) -> syntax.Node | None:
    """``dy.sum((0, 2))`` for ``dy.sum(0).sum(1)``; None where the claim is no sum over one axis that goes."""
    node = desk.node
    if not isinstance(node, syntax.Method) or node.name != name or node.keywords or len(node.arguments) != 1:
        return None
    first = constant(node.arguments[0])
    if first is None:
        return None
    gone = int(first) % (rank + 1)
    both = tuple(sorted((gone, *(a + (a >= gone) for a in axes))))
    return method(node.value, name, *_axes_node(desk, both, rank + 1))


def _axes_node(desk: Desk, axes: tuple[int, ...], rank: int) -> tuple[syntax.Node, ...]:
    """The axes as an argument: none for all of them, ``...`` for the batch axes."""
    batch = desk.benches[0].world.batch if syntax.BATCH in desk.points[0].sizes else 0
    if batch and axes == tuple(range(batch)):
        return (syntax.Batch(),)
    if len(axes) == rank:
        return ()
    return (axis(axes[0]),) if len(axes) == 1 else (syntax.Listing(tuple(map(axis, axes))),)


def _oversummed(desk: Desk) -> Finding | None:
    assert desk.claimed is not None
    rank = desk.truths[0].ndim
    for axes in _subsets(rank):
        for keep in (False, True):
            for reduce in (np.sum, np.mean):
                made = [reduce(t, axis=axes, keepdims=keep) for t in desk.truths]
                if made[0].shape == desk.claimed[0].shape and all(map(close_in_scale, desk.claimed, made)):
                    which = f"axis {axes[0]}" if len(axes) == 1 else f"the axes {', '.join(map(str, axes))}"
                    if reduce is np.mean and not takes(desk.node, "mean"):
                        if not all(np.allclose(t, np.mean(t, axes, keepdims=True)) for t in desk.truths):
                            continue  # a mean by chance: the terms of a gradient that depend on an axis sum to 0
                        along = f"along {which}, where the gradient is the same all over"
                        return Finding("shape", f"The claim has one entry {along}; nothing is broadcast to fit.")
                    what = "sum" if reduce is np.sum and not _only_means(desk.node) else "mean"
                    return Finding("extra_sum", f"The claim takes a {what} over {which} too many.")
    if rank == 2 and desk.claimed[0].ndim == 0 and all(
        close_in_scale(c, np.trace(t)) for c, t in zip(desk.claimed, desk.truths, strict=True)
    ):  # fmt: skip
        return Finding("extra_sum", f"The claim is the trace of {subject(desk)}, a scalar, not the gradient itself.")
    return None


def _only_means(node: syntax.Node) -> bool:
    return takes(node, "mean") and not takes(node, "sum")


def _subsets(rank: int) -> Iterator[tuple[int, ...]]:
    for count in range(1, rank + 1):
        yield from itertools.combinations(range(rank), count)


def reshaped(desk: Desk) -> Finding | None:
    """The claim has the right entries in another shape."""
    if desk.claimed is None or desk.claimed[0].shape == desk.truths[0].shape:
        return None
    for claimed, true in zip(desk.claimed, desk.truths, strict=True):
        if claimed.size != true.size or not close_floats(claimed.reshape(true.shape), true):
            return None
    shapes = f"{list(desk.claimed[0].shape)}, not {list(desk.truths[0].shape)}"
    return Finding("shape", f"The entries are right, but the claim has the shape {shapes}.")


def of_ones(desk: Desk) -> Finding | None:
    """The claim is the gradient for an upstream of ones."""
    if desk.condition is None or desk.condition.kind != "ones" or desk.condition.weak:
        return None
    return Finding("missing_upstream", f"The upstream {desk.condition.about} is missing.")


def _is_a_term(desk: Desk) -> bool:
    """Whether the claim is one of several terms of the gradient that is claimed: the others are missing."""
    if desk.stated is None or desk.claimed is None or len(terms := terms_of(desk.stated.right)) < 2:
        return False
    line = line_of(desk, desk.stated)
    return any(gives(desk, sum_of([t]), line, desk.claimed) for t in terms)


def _nearest_first(desk: Desk) -> list[str]:
    """The tensors with a gradient: first those that depend on the claim's own, in the order of the forward."""
    known = gradient_names(desk.spec)
    found = [n for n in desk.spec.shapes if n != desk.line.tensor and f"d{n}" in known]
    return [n for n in found if n in desk.followers] + [n for n in found if n not in desk.followers]


def other_gradient(desk: Desk) -> Finding | None:
    """The claim is the gradient of another tensor."""
    if desk.line.role != "gradient" or desk.vanishes:
        return None
    for tensor in _nearest_first(desk):
        if tensor in desk.spec.outputs and not desk.spec.shapes[tensor]:
            continue
        if desk.outcome.error is None and desk.spec.shapes[tensor] != desk.spec.shapes[desk.line.tensor or ""]:
            continue  # the claim has a value over the axes of its own tensor
        line = desk.retargeted(tensor)
        if line is None:
            continue
        try:
            if all(not np.any(desk.value(b, desk.node, line)) for b in desk.benches):
                continue
        except (ClaimError, SymderiveError):
            continue
        if desk.fits(desk.node, line):
            if _is_a_term(desk):
                return None
            sentence = f"This is the gradient with respect to {tensor}, not {desk.line.tensor}."
            if tensor in {e.tensor for e in desk.spec.equations}:
                sentence += f" The chain rule's last step, from {tensor} to {desk.line.tensor}, is missing."
            return Finding("other_variable", sentence)
    return None
