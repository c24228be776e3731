"""Operands of products in array form: what an einsum's letters can say, they need not say themselves."""

from __future__ import annotations

from symderive.lower import plan as p
from symderive.lower.shapes import ROWS


def two_letters(shape: p.Shape) -> tuple[str, str]:
    """Two letters for the axes of a matrix: those of their sizes where these are different letters."""
    rows, columns = (str(e).lower() for e in shape)
    fitting = rows != columns and all(len(c) == 1 and c.isalpha() and c != "s" for c in (rows, columns))
    return (rows, columns) if fitting else ("i", "j")


def is_flat(node: p.Reshape) -> bool:
    """Whether a reshape does nothing but make one axis of the batch axes."""
    return node.value.has_batch and node.shape == (ROWS, *node.value.shape[1:])


def peeled(node: p.Node, letters: str) -> tuple[str, p.Node]:
    """An operand of an einsum without the transposes and the flattening that its letters can say."""
    if isinstance(node, p.Permute) and not node.has_batch:
        inner = [""] * len(letters)
        for letter, axis in zip(letters, node.order, strict=True):
            inner[axis] = letter
        found = peeled(node.value, "".join(inner))
        return found if "..." in found[0] else (letters, node)
    if isinstance(node, p.Reshape) and is_flat(node):
        return f"...{letters[1:]}", node.value
    return letters, node
