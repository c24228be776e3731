"""``D(y[i], x[k])`` as an entry of an array of derivatives, which has a name of its own."""

from __future__ import annotations

from symderive.claims.lines import ClaimError
from symderive.claims.trees import tensor_of
from symderive.claims.world import is_jacobian
from symderive.spec import syntax

JACOBIAN = "D:"
"""How such names begin."""


def name_of(node: syntax.Call) -> str:
    """The name of the array of which it is an entry. Raises :class:`ClaimError` where it is of no two entries."""
    y, x = node.arguments
    if not all(isinstance(part, syntax.Access | syntax.Name) for part in (y, x)):
        raise ClaimError("form", "D takes two entries, as in D(y[i], x[k])", node.span)
    return f"{JACOBIAN}{tensor_of(y)}:{tensor_of(x)}"


def as_access(node: syntax.Node) -> syntax.Node:
    """A derivative as the access to that entry; any other expression as it is."""
    if not is_jacobian(node):
        return node
    name, indices = name_of(node), tuple(i for part in node.arguments for i in positions_of(part))
    return syntax.Access(name, indices, span=node.span) if indices else syntax.Name(name, span=node.span)


def positions_of(node: syntax.Node) -> tuple[syntax.Node, ...]:
    """The index positions of an access."""
    return node.indices if isinstance(node, syntax.Access) else ()
