"""Products, powers and inverses entry by entry where those of matrices are needed, or the other way round.

And inverses that are missing, or one too many: a covariance for a precision; vectors for diagonal matrices.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from symderive.claims.desk import Desk
from symderive.claims.edit_tools import Edit, axes_of, reduction, under_transpose
from symderive.claims.lines import ClaimError
from symderive.claims.trees import get, map_nodes, negated, number, places, put, transpose
from symderive.claims.world import shape_named
from symderive.errors import SymderiveError
from symderive.spec import syntax

Change = Callable[[Desk, syntax.Node], Iterator[syntax.Node]]


def sums_joined(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A product of two sums for the sum of the products, or the reverse; likewise of two means."""
    for place, inner in places(node):
        if _is_product(inner) and (new := _joined(inner)) is not None:
            op, text = reduction(new), desk.text(new)
            words = f"{desk.text(inner)} is a product of two {op}s: it should be that of the products, {text}."
            yield Edit("extra_sum", put(node, place, new), words)
        for apart in _split(inner):
            op, text = reduction(inner), desk.text(apart)
            words = f"{desk.text(inner)} is a {op} of products: it should be a product of {op}s, {text}."
            yield Edit("missing_sum", put(node, place, apart), words)


def _joined(node: syntax.Node) -> syntax.Node | None:
    """The sum of the products for two sums over the same indices or axes."""
    left, right = node.left, node.right  # type: ignore[attr-defined]
    if reduction(left) != reduction(right) or reduction(left) not in ("sum", "mean"):
        return None
    match left, right:
        case syntax.Binder(condition=None), syntax.Binder(condition=None):
            if left.indices == right.indices:
                return replace(left, body=syntax.Binary("*", left.body, right.body))
        case syntax.Method(), syntax.Method():
            if (left.arguments, left.keywords) == (right.arguments, right.keywords):
                return replace(left, value=syntax.Binary("*", left.value, right.value))
    return None


def _split(node: syntax.Node) -> Iterator[syntax.Node]:
    if reduction(node) not in ("sum", "mean"):
        return
    if isinstance(node, syntax.Binder) and node.condition is None and _is_product(node.body):
        yield syntax.Binary("*", replace(node, body=node.body.left), replace(node, body=node.body.right))  # type: ignore[attr-defined]
    elif isinstance(node, syntax.Method) and _is_product(node.value):
        yield syntax.Binary("*", replace(node, value=node.value.left), replace(node, value=node.value.right))  # type: ignore[attr-defined]


def _is_product(node: syntax.Node) -> bool:
    return isinstance(node, syntax.Binary) and node.op == "*"


def diagonals(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A vector where a diagonal matrix is meant: ``d - A`` for ``diag(d) - A``."""
    for place, inner in places(node):
        above = get(node, place[:-1]) if place else None
        if isinstance(above, syntax.Binary) and above.op in ("+", "-") and not desk.by_index:
            other = above.right if place[-1][0] == "left" else above.left
            if axes_of(desk, inner) == 1 and axes_of(desk, other) == 2:
                new = syntax.Call("diag", (inner,))
                words = f"{desk.text(inner)} should be {desk.text(new)}: a vector is added to every row."
                yield Edit("wrong_operand", put(node, place, new), words)


def symmetrised(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """A matrix that is taken for a symmetric one: ``(A + A.T) / 2`` for ``A``."""
    for place, inner in places(node):
        flipped: syntax.Node | None = None
        if isinstance(inner, syntax.Access) and len(inner.indices) == 2 and _is_quadratic(desk, inner.tensor):
            flipped = replace(inner, indices=inner.indices[::-1])
        elif isinstance(inner, syntax.Name) and _is_quadratic(desk, inner.id) and not under_transpose(node, place):
            flipped = syntax.Attribute(inner, "T")
        if flipped is not None and flipped != inner:
            both = syntax.Binary("/", syntax.Binary("+", inner, flipped), number(2))
            words = f"{desk.text(inner)} is not symmetric: it should be {desk.text(both)}."
            yield Edit("transpose", put(node, place, both), words)


def _is_quadratic(desk: Desk, name: str) -> bool:
    """Whether a tensor or a gradient of the spec is a matrix with as many rows as columns."""
    shape = shape_named(desk.spec, name) or ()
    return len(shape) == 2 and shape[0] == shape[1]


def matrix_products(desk: Desk, node: syntax.Node) -> Iterator[Edit]:
    """``S.inv()`` for ``S**-1`` and ``1 / S``, ``A @ A`` for ``A**2``, ``A @ B`` for ``A * B`` and the reverse."""
    if desk.by_index:
        return
    kind = "shape" if desk.misshapen else "wrong_operand"
    for change, words in _CHANGES:
        found = [(p, n, new) for p, n in places(node) for new in change(desk, n)]
        for place, inner, new in found:
            said = words.format(desk.text(inner), desk.text(new))
            yield Edit(kind, put(node, place, new), said)
        if len({p for p, _, _ in found}) > 1:
            first = found[0]
            everywhere = map_nodes(node, lambda n, c=change: next(c(desk, n), n))  # type: ignore[misc]
            said = words.format(desk.text(first[1]), desk.text(first[2]))
            yield Edit(kind, everywhere, f"{said} So are the others like it.")
    for place, inner in places(node):
        if isinstance(inner, syntax.Binary) and inner.op == "@":
            for gone, rest in ((inner.right, inner.left), (inner.left, inner.right)):
                yield Edit("factor", put(node, place, rest), f"The product with {desk.text(gone)} is one too many.")
        for new in _inverted(desk, inner):
            yield Edit("wrong_operand", put(node, place, new), f"{desk.text(inner)} should be {desk.text(new)}.")


def _inverted(desk: Desk, node: syntax.Node) -> Iterator[syntax.Node]:
    """A matrix for its inverse, an inverse for the matrix."""
    if isinstance(node, syntax.Method) and node.name in ("inv", "inverse"):
        yield node.value
    elif isinstance(node, syntax.Name) and _is_square(desk, node):
        yield syntax.Method(node, "inv", (), ())


def _is_square(desk: Desk, node: syntax.Node) -> bool:
    """Whether an expression is a matrix with as many rows as columns, at both points."""
    try:
        shapes = [b.plain_array(node).shape for b in desk.benches]
    except (ClaimError, SymderiveError, ValueError):
        return False
    return all(len(s) == 2 and s[0] == s[1] for s in shapes)


def _powers(desk: Desk, node: syntax.Node) -> Iterator[syntax.Node]:
    """A power of a matrix as a product, or of its inverse."""
    if not isinstance(node, syntax.Binary) or node.op != "**" or axes_of(desk, node.left) != 2:
        return
    power = _whole(node.right)
    if power is None or power in (0, 1) or abs(power) > MOST_FACTORS:
        return
    matrix = node.left if power > 0 else syntax.Method(node.left, "inv", (), ())
    result: syntax.Node = matrix
    for _ in range(abs(power) - 1):
        result = syntax.Binary("@", result, matrix)
    yield result


MOST_FACTORS = 4


def _whole(node: syntax.Node) -> int | None:
    if isinstance(node, syntax.Unary) and node.op == "-":
        inner = _whole(node.operand)
        return None if inner is None else -inner
    return int(node.value) if isinstance(node, syntax.Number) and node.value.denominator == 1 else None


def _quotients(desk: Desk, node: syntax.Node) -> Iterator[syntax.Node]:
    """A division by a matrix as a product with its inverse."""
    if not isinstance(node, syntax.Binary) or node.op != "/" or axes_of(desk, node.right) != 2:
        return
    inverse = syntax.Method(node.right, "inv", (), ())
    if node.left == number(1):
        yield inverse
    elif node.left == number(-1):
        yield negated(inverse)
    elif axes_of(desk, node.left) == 0:
        yield syntax.Binary("*", node.left, inverse)
    else:
        yield syntax.Binary("@", node.left, inverse)
        yield syntax.Binary("@", inverse, node.left)


def _matrix_products(desk: Desk, node: syntax.Node) -> Iterator[syntax.Node]:
    """A product entry by entry as one of matrices, in both orders and with either operand transposed."""
    if not isinstance(node, syntax.Binary) or node.op != "*":
        return
    ranks = [axes_of(desk, n) for n in (node.left, node.right)]
    if not all(ranks) or 2 not in ranks:
        return
    yield replace(node, op="@")
    if isinstance(node.left, syntax.Binary) and node.left.op == "@":  # A @ C @ B for A @ B * C
        yield replace(node.left, left=syntax.Binary("@", node.left.left, node.right))
    for swapped, (turn_left, turn_right) in itertools.product(
        (False, True), itertools.product((False, True), repeat=2)
    ):
        left, right = _turned(node.left, turn_left), _turned(node.right, turn_right)
        yield syntax.Binary("@", right, left) if swapped else syntax.Binary("@", left, right)


def _entry_products(desk: Desk, node: syntax.Node) -> Iterator[syntax.Node]:
    """A product of matrices as one entry by entry, without transposes, too."""
    if not isinstance(node, syntax.Binary) or node.op != "@":
        return
    yield replace(node, op="*")
    plain: dict[str, Any] = {
        side: bare for side in ("left", "right") if (bare := _bare(operand := getattr(node, side))) is not operand
    }
    for side, operand in plain.items():
        yield replace(node, op="*", **{side: operand})


def _bare(node: syntax.Node) -> syntax.Node:
    """``A`` of ``A.T``, ``2 * A`` of ``2 * A.T``."""
    if isinstance(node, syntax.Attribute) and node.name == "T":
        return node.value
    if isinstance(node, syntax.Binary) and node.op == "*" and (bare := _bare(node.right)) is not node.right:
        return replace(node, right=bare)
    return node


def _turned(node: syntax.Node, turned: bool) -> syntax.Node:
    return transpose(node) if turned else node


_CHANGES: tuple[tuple[Change, str], ...] = (
    (_powers, "{0} is a power entry by entry, where that of a matrix is needed: {1}."),
    (_quotients, "{0} divides entry by entry, where the inverse of a matrix is needed: {1}."),
    (_matrix_products, "{0} multiplies entry by entry, where a product of matrices is needed: {1}."),
    (_entry_products, "{0} is a product of matrices, where one entry by entry is needed: {1}."),
)
"""What is changed, and words for what is written and what is needed."""
