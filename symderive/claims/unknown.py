"""Functions that a claim calls and the language does not have: what to write in their place."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from symderive.claims.derived import Derived, as_helper
from symderive.claims.inline import written_out
from symderive.claims.lines import nearest
from symderive.spec import model, syntax
from symderive.spec.format import to_text
from symderive.spec.functions import BINDERS, FUNCTIONS, STRUCTURAL
from symderive.spec.libraries import instead

if TYPE_CHECKING:
    from symderive.claims.bench import Bench

_OTHERS = ("pad", "D")

_DERIVATIVE = re.compile(r"(?:d_?)?(\w+?)(?:_?prime|_?deriv(?:ative)?|_?grad(?:ient)?|_?backward)?")
"""What people call the derivative of a function, with the function."""


def unknown_function(bench: Bench, node: syntax.Node) -> str:
    """What to say of a function that an expression calls and no form of claims has; nothing where there is none."""
    known = {*FUNCTIONS, *STRUCTURAL, *BINDERS, *_OTHERS, *bench.interpreter.backend.known("function")}
    for inner in node.walk():
        if isinstance(inner, syntax.Call) and inner.function not in known:
            return _said(bench.world.spec, inner, known, set(bench.tensors))
    return ""


def _said(spec: model.Spec, call: syntax.Call, known: set[str], tensors: set[str]) -> str:
    name = call.function
    if name in tensors:
        return f"{name} is a tensor, not a function: an entry of it is written {name}[...], a product with *"
    match = _DERIVATIVE.fullmatch(name)
    of = match[1] if match else ""
    if of in FUNCTIONS:
        formula = _derivative(spec, of)
        written = f"that of {of}(x) is {formula}" if formula else f"that of {of} must be written out"
        return f"there is no function {name}: a claim has no names for derivatives, and {written}"
    if hint := instead(name, call.arguments):
        return f"there is no function {name}: {hint}"
    close = nearest(name, known)
    meant = f"; did you mean {close}?" if close else ""
    other = f"write it out, or give its value a name in a line above, {name} = ..., and write {name} without brackets"
    return f"there is no function {name}: {other}{meant}"


def _derivative(spec: model.Spec, function: str) -> str:
    """The derivative of a function of ``x`` as it would be written."""
    call = syntax.Call(function, (syntax.Name("x"),))
    alone = replace(
        spec, inputs=(model.Input("x", ()),), equations=(model.Equation("y", (), call, {}),), outputs=("y",),
        wrt=("x",), calls=(), constants={}, sizes={},
    )  # fmt: skip
    found = Derived(alone).statements.get("dx")
    if found is None:
        return ""
    value = as_helper(syntax.Statement(syntax.Name("y"), (call,)))
    return to_text(written_out(found.right, {"y": value}, ()))
