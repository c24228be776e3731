"""Products of matrices that have no value: their operands in the wrong order, or the wrong ones transposed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from symderive.claims.desk import Desk, Finding
from symderive.claims.lines import ClaimError
from symderive.claims.trees import Place, factors_of, get, places, product_of, put, tensor_of, transpose
from symderive.claims.world import shape_named
from symderive.errors import SymderiveError
from symderive.record import record
from symderive.spec import syntax

MOST_MENDED = 64
"""Claims with values that are made of one that has none, before the search for a right one is given up."""

MOST_OPERANDS = 4


def reordered(desk: Desk) -> Finding | None:
    """The products that have no value, with their operands in another order and transposed so that they have one."""
    if not desk.misshapen or desk.line.indices is not None or desk.claimed is not None:
        return None
    for node, words in itertools.islice(_mended(desk, desk.node, ()), MOST_MENDED):
        if desk.late:
            return None
        value = desk.first_value(node)
        if value is not None and value.shape == desk.truths[0].shape and desk.may_fit(value) and desk.fits(node):
            return Finding("transpose", " ".join(dict.fromkeys(words)), node)
    return None


@record
class Operand:
    """A matrix or a vector in a product, and its shape without its transpose."""

    node: syntax.Node
    turned: bool
    shape: tuple[int, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """Its shape as it stands there."""
        return self.shape[::-1] if self.turned else self.shape

    @property
    def written(self) -> syntax.Node:
        """It as it stands there."""
        return transpose(self.node) if self.turned else self.node


def _mended(desk: Desk, node: syntax.Node, words: tuple[str, ...]) -> Iterator[tuple[syntax.Node, tuple[str, ...]]]:
    """The claim with each of its products that has no value replaced by one that has, innermost first; words for it."""
    broken = next(((p, found) for p in _products(node) if (found := _broken(desk, get(node, p)))), None)
    if broken is None:
        if words:
            yield node, words
        return
    place, (front, operands) = broken
    inner = get(node, place)
    for order in _fitting(operands):
        new = _with_front(front, order)
        why = _why(desk, operands) if not words else ""
        said = f"{desk.text(inner)} should be {desk.text(new)}{why}."
        yield from _mended(desk, put(node, place, new), (*words, said))


def _products(node: syntax.Node) -> Iterator[Place]:
    """The places of the products of matrices that are not operands of another one."""
    for place, inner in places(node):
        if _is_product(inner) and not (place and _is_product(get(node, place[:-1]))):
            yield place


def _is_product(node: syntax.Node) -> bool:
    return isinstance(node, syntax.Binary) and node.op == "@"


def _broken(desk: Desk, node: syntax.Node) -> tuple[list[tuple[str, syntax.Node]], list[Operand]] | None:
    """The factors in front of a product that has no value, and its operands; None where these have none, either."""
    chain = list(syntax.operands(node, "@"))
    if len(chain) > MOST_OPERANDS or _shape(desk, node) is not None:
        return None
    front: list[tuple[str, syntax.Node]] = []
    factors = factors_of(chain[0])
    while len(factors) > 1 and _shape(desk, factors[0][1]) == ():
        front.append(factors.pop(0))
    if factors[0][0] == "/":
        return None
    chain[0] = product_of(factors)
    operands = []
    for part in chain:
        shape = _shape(desk, part)
        if shape is None or len(shape) not in (1, 2):
            return None
        turned = isinstance(part, syntax.Attribute) and part.name == "T"
        bare = part.value if isinstance(part, syntax.Attribute) and turned else part
        operands.append(Operand(bare, turned and len(shape) == 2, shape[::-1] if turned else shape))
    return front, operands


def _shape(desk: Desk, node: syntax.Node) -> tuple[int, ...] | None:
    """The shape of an expression; None where it has no value."""
    desk.spend(node)
    try:
        return np.shape(desk.benches[0].plain_array(node))
    except (ClaimError, SymderiveError, ValueError):
        return None


def _fitting(operands: Sequence[Operand]) -> Iterator[list[Operand]]:
    """The orders and transposes in which the operands fit, those first that change the least."""
    found = []
    for order in itertools.permutations(range(len(operands))):
        free = [n for n in order if len(operands[n].shape) == 2]
        for turned in itertools.product((False, True), repeat=len(free)):
            flipped = {n for n, t in zip(free, turned, strict=True) if t}
            made = [_turned(operands[n]) if n in flipped else operands[n] for n in order]
            if _fits([o.extents for o in made]):
                found.append((len(flipped) + (list(order) != sorted(order)), made))
    found.sort(key=lambda pair: pair[0])
    yield from (made for _, made in found)


def _turned(operand: Operand) -> Operand:
    return Operand(operand.node, not operand.turned, operand.shape)


def _fits(shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether a product of operands of these shapes has a value."""
    before = shapes[0]
    for shape in shapes[1:]:
        if not before or before[-1] != shape[0]:
            return False
        before = (*before[:-1], *shape[1:])
    return True


def _with_front(front: Sequence[tuple[str, syntax.Node]], operands: Sequence[Operand]) -> syntax.Node:
    """The product with the factors in front of it: ``2 * A @ x``."""
    first = product_of([*front, ("*", operands[0].written)])
    for operand in operands[1:]:
        first = syntax.Binary("@", first, operand.written)
    return first


def _why(desk: Desk, operands: Sequence[Operand]) -> str:
    """Which extents do not fit in the product as it was written, where they have names."""
    for left, right in itertools.pairwise(operands):
        if left.extents[-1] == right.extents[0]:
            continue
        ends = _named(desk, left), _named(desk, right)
        if ends[0] is None or ends[1] is None:
            return ""
        across = "columns" if len(ends[0]) == 2 else "entries"
        down = "rows" if len(ends[1]) == 2 else "entries"
        texts = desk.text(left.written), desk.text(right.written)
        return f": {texts[0]} has {ends[0][-1]} {across}, and {texts[1]} has {ends[1][0]} {down}"
    return ""


def _named(desk: Desk, operand: Operand) -> tuple[str, ...] | None:
    """The shape of a tensor, or of a gradient, by names."""
    name = tensor_of(operand.node)
    extents = shape_named(desk.spec, name)
    if extents is None or len(extents) != len(operand.shape):
        return None
    names = tuple(str(e) for e in extents)
    return names[::-1] if operand.turned else names
