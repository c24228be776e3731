"""Explanations that the numbers alone give: a factor, a transpose, a sum too many or too few, another gradient."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from symderive.claims.compare import close_floats
from symderive.claims.desk import Desk, Finding
from symderive.claims.edits_axes import means
from symderive.claims.lines import ClaimError, names_in
from symderive.claims.ratios import Ratio, constant_ratio
from symderive.claims.trees import axis, factors_of, method, negated, number, product_of, rename, times
from symderive.claims.world import gradient_names
from symderive.errors import SymderiveError
from symderive.spec import syntax


def whole_factor(desk: Desk) -> Finding | None:
    """The claim is the gradient times a number."""
    ratio = _ratio(desk)
    if ratio is None or ratio.is_one:
        return None
    if ratio.number == -1 and not ratio.powers:
        corrected = negated(desk.node)
        if desk.fits(corrected):
            return Finding("sign", f"The sign is wrong: the claim is minus {subject(desk)}.", corrected)
        return None
    kind, words = factor_words(ratio, desk)
    if kind == "mean_vs_sum":
        for edit in means(desk, desk.node):
            if desk.fits(edit.node):
                return Finding(kind, words, edit.node)
    corrected = scaled(ratio, desk.node)
    return Finding(kind, words, corrected) if desk.fits(corrected) else None


def _ratio(desk: Desk) -> Ratio | None:
    if desk.claimed is None:
        return None
    values: list[float] = []
    for bench in desk.ratio_benches:
        value = constant_ratio(desk.truth(bench), desk.value(bench, desk.node))
        if value is None:
            break
        values.append(value)
    return desk.named(values) if len(values) >= len(desk.benches) else None


def scaled(ratio: Ratio, node: syntax.Node) -> syntax.Node:
    """The expression times a ratio: ``node / N`` where it is one over a size; ``2 * x`` is half of ``4 * x``."""
    if ratio.is_one:
        return node
    for name, power in ratio.powers:
        if power == 1 and (freed := _undivided(node, name)) is not None:
            rest = tuple(p for p in ratio.powers if p[0] != name)
            return scaled(Ratio(ratio.number, rest), freed)
    for change in (_number_changed, _divisor_changed):
        if ratio.number != 1 and (changed := change(node, ratio.number)) is not None:
            return scaled(Ratio(Fraction(1), ratio.powers), changed)
    if ratio.number.numerator == 1 and ratio.number != 1 and not ratio.powers:
        return syntax.Binary("/", node, number(ratio.number.denominator))
    if ratio.number == 1 and ratio.powers and all(p < 0 for _, p in ratio.powers):
        for factor in factors_of(Ratio(Fraction(1), tuple((n, -p) for n, p in ratio.powers)).node):
            node = syntax.Binary("/", node, factor[1])
        return node
    return _before(ratio.node, node)


def _before(factor: syntax.Node, node: syntax.Node) -> syntax.Node:
    """The factor in front of a product, without brackets: ``2 * X.T @ r``."""
    if isinstance(node, syntax.Unary) and node.op == "-" and isinstance(factor, syntax.Number):
        return times(number(-factor.value), node.operand)
    if isinstance(node, syntax.Binary) and node.op in ("*", "/", "@") and isinstance(factor, _ATOMS):
        return replace(node, left=_before(factor, node.left))
    return factor if node == number(1) else times(factor, node)


_ATOMS = (syntax.Number, syntax.Name, syntax.Call)


def _undivided(node: syntax.Node, name: str) -> syntax.Node | None:
    """The product without a division by a name; None where there is none."""
    if not isinstance(node, syntax.Binary) or node.op not in ("*", "/", "@"):
        return None
    if node.op == "/" and node.right == syntax.Name(name):
        return node.left
    left = _undivided(node.left, name)
    return None if left is None else replace(node, left=left)


def _number_changed(node: syntax.Node, by: Fraction) -> syntax.Node | None:
    """The expression with the number that it starts with multiplied; None where it starts with none."""
    if isinstance(node, syntax.Number):
        return number(node.value * by)
    if not isinstance(node, syntax.Binary) or node.op not in ("*", "/", "@"):
        return None
    left = _number_changed(node.left, by)
    if left is None:
        return None
    return node.right if left == number(1) and node.op == "*" else replace(node, left=left)


def _divisor_changed(node: syntax.Node, by: Fraction) -> syntax.Node | None:
    """The expression with a whole number by which it is divided multiplied the other way; None where there is none."""
    if not isinstance(node, syntax.Binary) or node.op not in ("*", "/"):
        return None
    if node.op == "/":
        divisors = factors_of(node.right)
        for n, (op, divisor) in enumerate(divisors):
            if op != "*" or not isinstance(divisor, syntax.Number) or (divisor.value / by).denominator != 1:
                continue
            changed = [] if divisor.value == by else [(op, number(divisor.value / by))]
            rest = [*divisors[:n], *changed, *divisors[n + 1 :]]
            return replace(node, right=product_of(rest)) if rest else node.left
    left = _divisor_changed(node.left, by)
    return None if left is None else replace(node, left=left)


def factor_words(ratio: Ratio, desk: Desk, where: str = "the claim", count: int = 1) -> tuple[str, str]:
    """The kind and the sentence for a missing or superfluous factor, of one or of several things."""
    s = "s" if count == 1 else ""
    text = desk.text(ratio.node)
    names = [n for n, _ in ratio.powers]
    if names and abs(ratio.number) == 1 and set(names) <= set(desk.sizes) and len({p for _, p in ratio.powers}) == 1:
        name, power = " * ".join(names), ratio.powers[0][1]
        if power == -1:
            sentence = f"A mean over {name} entries is taken, but {where} sum{s}: divide by {name}."
            return "mean_vs_sum", sentence
        if power == 1 and _averages(desk, names):
            sentence = f"{_upper(where)} take{s} a mean over {name} entries where a sum is meant: multiply by {name}."
            return "mean_vs_sum", sentence
    inverse = Ratio(1 / ratio.number, tuple((n, -p) for n, p in ratio.powers))
    if abs(ratio.number) < 1 and not ratio.powers:
        has = "has" if count == 1 else "have"
        return "factor", f"{_upper(where)} {has} the factor {desk.text(inverse.node)} too much."
    sign = " and the sign is wrong" if ratio.number < 0 else ""
    place = "" if where == "the claim" else f" in {where}"
    return "factor", f"The factor {text.removeprefix('-')} is missing{place}{sign}."


def _averages(desk: Desk, names: Collection[str]) -> bool:
    """Whether a claim takes a mean, or divides by one of these sizes."""
    nodes = [desk.node, *(h.statement.sides[0] for h in desk.court.helpers if h.name in names_in(desk.node))]
    return any(_takes(n, "mean") or any(_divides(inner, names) for inner in n.walk()) for n in nodes)


def _divides(node: syntax.Node, names: Collection[str]) -> bool:
    return isinstance(node, syntax.Binary) and node.op == "/" and bool(names_in(node.right) & set(names))


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def subject(desk: Desk) -> str:
    """What the claim is about."""
    if desk.line.role == "gradient":
        return f"the gradient of {desk.line.tensor}"
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
            return syntax.Binary("@", _flip(node.right), _flip(node.left))
        if isinstance(node, syntax.Call) and node.function == "outer":
            return syntax.Call("outer", node.arguments[::-1])
        if isinstance(node, syntax.Unary):
            return replace(node, operand=_transpose_node(node.operand, order))
        if isinstance(node, syntax.Binary) and node.op == "/" and not _is_matrix(node.right):
            return replace(node, left=_transpose_node(node.left, order))
        if isinstance(node, syntax.Binary) and node.op == "*" and not _is_matrix(node.left):
            return replace(node, right=_transpose_node(node.right, order))
        return _flip(node)
    return method(node, "permute", *(number(x) for x in order))


def _is_matrix(node: syntax.Node) -> bool:
    """Whether an operand may have axes: it is no number, and no product or power of numbers."""
    if isinstance(node, syntax.Binary):
        return _is_matrix(node.left) or _is_matrix(node.right)
    return not isinstance(node, syntax.Number)


def _flip(node: syntax.Node) -> syntax.Node:
    if isinstance(node, syntax.Attribute) and node.name == "T":
        return node.value
    return syntax.Attribute(node, "T")


def _left_permuted(desk: Desk) -> Finding | None:
    """In index form: the indices of the left side stand in another order."""
    assert desk.line.indices is not None
    for order in list(itertools.permutations(range(len(desk.line.indices))))[1:]:
        line = desk.left_permuted(order)
        if desk.fits(desk.node, line):
            left = _permuted_left(desk, order)
            sentence = f"The claim is the transpose of {subject(desk)}: what is written is {left}."
            return Finding("transpose", sentence, desk.node, left)
    return None


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
    for axes in _subsets(rank):
        for name, reduce in (("sum", np.sum), ("mean", np.mean)):
            if all(close_floats(reduce(c, axis=axes), t) for c, t in zip(desk.claimed, desk.truths, strict=True)):
                corrected = method(desk.node, name, *_axes_node(desk, axes, rank))
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
    return any(_takes(n, "sum") or _takes(n, "mean") for n in nodes)


def summed_away(desk: Desk, but: Collection[str] = ()) -> Finding | None:
    """In index form: the claim is the gradient summed over some of the indices on its left side, ``but`` for some."""
    if desk.line.indices is None or desk.claimed is None:
        return None
    names = [desk.text(i) for i in desk.line.indices]
    pairs = list(zip(desk.claimed, desk.truths, strict=True))
    if any(c.shape != t.shape for c, t in pairs):
        return None
    for axes in _subsets(len(names)):
        if any(names[a] in but for a in axes):
            continue
        for reduce, what in ((np.sum, "sum"), (np.mean, "mean")):
            if all(close_floats(c, np.broadcast_to(reduce(t, axis=axes, keepdims=True), t.shape)) for c, t in pairs):
                over = ", ".join(names[a] for a in axes)
                own = f"which has an entry of its own for each {over}"
                words = f"The claim is the {what} over {over} of {subject(desk)}, {own}."
                return Finding("extra_sum", words)
    return None


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
                if made[0].shape == desk.claimed[0].shape and all(map(close_floats, desk.claimed, made)):
                    which = f"axis {axes[0]}" if len(axes) == 1 else f"the axes {', '.join(map(str, axes))}"
                    if reduce is np.mean and not _takes(desk.node, "mean"):
                        along = f"along {which}, where the gradient is the same all over"
                        return Finding("shape", f"The claim has one entry {along}; nothing is broadcast to fit.")
                    what = "sum" if reduce is np.sum and not _only_means(desk.node) else "mean"
                    return Finding("extra_sum", f"The claim takes a {what} over {which} too many.")
    if rank == 2 and desk.claimed[0].ndim == 0 and all(
        close_floats(c, np.trace(t)) for c, t in zip(desk.claimed, desk.truths, strict=True)
    ):  # fmt: skip
        return Finding("extra_sum", f"The claim is the trace of {subject(desk)}, a scalar, not the gradient itself.")
    return None


def _takes(node: syntax.Node, reduction: str) -> bool:
    """Whether an expression takes a sum or a mean somewhere."""
    return any(
        (isinstance(n, syntax.Method) and n.name == reduction) or (isinstance(n, syntax.Binder) and n.op == reduction)
        for n in node.walk()
    )


def _only_means(node: syntax.Node) -> bool:
    return _takes(node, "mean") and not _takes(node, "sum")


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


def _nearest_first(desk: Desk) -> list[str]:
    """The tensors with a gradient: first those that depend on the claim's own, in the order of the forward."""
    known = gradient_names(desk.spec)
    found = [n for n in desk.spec.shapes if n != desk.line.tensor and f"d{n}" in known]
    return [n for n in found if n in desk.followers] + [n for n in found if n not in desk.followers]


def other_gradient(desk: Desk) -> Finding | None:
    """The claim is the gradient of another tensor."""
    if desk.line.role != "gradient":
        return None
    for tensor in _nearest_first(desk):
        if tensor in desk.spec.outputs and not desk.spec.shapes[tensor]:
            continue
        line = desk.retargeted(tensor)
        if line is None:
            continue
        try:
            if all(not np.any(desk.value(b, desk.node, line)) for b in desk.benches):
                continue
        except (ClaimError, SymderiveError):
            continue
        if desk.fits(desk.node, line):
            sentence = f"This is the gradient of {tensor}, not of {desk.line.tensor}."
            if tensor in {e.tensor for e in desk.spec.equations}:
                sentence += f" The chain rule's last step, from {tensor} to {desk.line.tensor}, is missing."
            return Finding("other_variable", sentence)
    return None
