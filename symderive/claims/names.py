"""Names that people give to gradients: which gradient of a spec is meant."""

from __future__ import annotations

import re
from collections.abc import Iterable

from symderive.claims.world import gradient_names
from symderive.spec import model, syntax
from symderive.wording import listed

_OF = re.compile(
    r"(?:grad(?:ient)?_?(?:of_|wrt_)?|d_|d[A-Za-z]\w*_d_?|d(?:L|l|J|E|loss|Loss)_?d_?|d_?)(?P<after>\w+)"
    r"|(?P<before>\w+?)_?(?:grad(?:ient)?|bar|adj(?:oint)?)"
)
"""``grad_W``, ``d_W``, ``dL_dW``, ``dLdW``, ``W_grad``, ``W_bar``."""

_UPSTREAM = re.compile(
    r"(?:d|d_|grad_?|gradient_?|upstream_?|g|d?L_?d)?(?:out(?:put)?s?|upstream|grad(?:ient)?s?|top|next)|g|delta|cotangent"
)
"""``dout``, ``grad_output``, ``upstream``, ``delta``."""


def gradient_meant(spec: model.Spec, name: str) -> str | None:
    """The gradient of which ``name`` is another spelling: of the spec's, the one of the tensor that it names."""
    gradients = {n: t for n, t in gradient_names(spec).items() if n == f"d{t}"}
    match = _OF.fullmatch(name)
    of = (match["after"] or match["before"]) if match else ""
    for alike in (str, str.lower):
        found = [n for n, tensor in gradients.items() if alike(of) == alike(tensor) or alike(name) == alike(n)]
        if len(found) == 1:
            return found[0]
    return None


def upstream_meant(spec: model.Spec, name: str) -> str:
    """What the upstream gradient is called, where ``name`` is what others call it; else nothing."""
    if not _UPSTREAM.fullmatch(name):
        return ""
    names = [f"d{output}" for output in spec.outputs]
    return f"the upstream gradient{'s are' if len(names) > 1 else ' is'} called {listed(names)}"


def left_side_meant(spec: model.Spec, left: syntax.Node, right: Iterable[syntax.Node]) -> str:
    """What to write for a left side that code has and a claim has not; nothing where that is not known."""
    from symderive.spec.format import to_text

    if isinstance(left, syntax.Binary) and left.op == "/" and isinstance(left.right, syntax.Name | syntax.Access):
        name = left.right.id if isinstance(left.right, syntax.Name) else left.right.tensor
        if meant := gradient_meant(spec, name):
            return f"the left side of a claim is d<name>: write {meant}{to_text(left.right)[len(name) :]} = ..."
    of = left.value.id if isinstance(left, syntax.Attribute) and isinstance(left.value, syntax.Name) else ""
    if of and left.name == "grad" and (meant := gradient_meant(spec, f"d{of}")):  # type: ignore[attr-defined]
        return f"the left side of a claim is d<name>: write {meant} = ..."
    if isinstance(left, syntax.Access) and any(isinstance(i, _CONDITIONS) for i in left.indices):
        value = next(iter(right))
        test = to_text(left.indices[0]) if len(left.indices) == 1 else "condition"
        return f"a line defines a whole tensor: write where({test}, {to_text(value)}, {left.tensor}) for it"
    return ""


_CONDITIONS = (syntax.Compare, syntax.Logical, syntax.Not)
