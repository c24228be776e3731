"""The names that gradients will take, ``d<name>``, and the names that they must not meet."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping

from symderive.errors import Span
from symderive.spec import syntax as s
from symderive.spec.model import Equation
from symderive.spec.names import FUNCTION_NAMES, Namespace, a


def differentiated(equations: Iterable[Equation], outputs: Iterable[str], wrt: Iterable[str]) -> list[str]:
    """The tensors that have a gradient: ``wrt``, the outputs, and what lies on a path between them."""
    equations = tuple(equations)
    parts = {e.tensor: set(s.names(e.right)) for e in equations}
    varying = set(wrt)
    for equation in equations:
        if parts[equation.tensor] & varying:
            varying.add(equation.tensor)
    needed = set(outputs)
    for equation in reversed(equations):
        if equation.tensor in needed:
            needed |= parts[equation.tensor]
    return [*wrt, *(e.tensor for e in equations if e.tensor in needed & varying or e.tensor in outputs)]


def check_gradient_names(names: Namespace, tensors: Iterable[str], places: Mapping[str, Span]) -> None:
    """Raise where ``d<name>`` of a differentiated tensor is a keyword, a function or another name of the spec."""
    for tensor in tensors:
        gradient = f"d{tensor}"
        if keyword.iskeyword(gradient) or gradient in FUNCTION_NAMES:
            what = "a Python keyword" if keyword.iskeyword(gradient) else "the name of a function"
            message = f"the gradient of '{tensor}' would be called '{gradient}', which is {what}"
            raise names.error(message, places[tensor], f"rename '{tensor}'")
        for taken in (gradient, f"{gradient}_total"):
            if taken in names.roles:
                role, span = names.roles[taken]
                message = f"{a(role)} cannot be called '{taken}': that is the gradient of '{tensor}'"
                raise names.error(message, span, f"rename '{taken}' or '{tensor}'")


def check_accumulated_names(
    names: Namespace,
    equations: Iterable[Equation],
    outputs: Iterable[str],
    wrt: Iterable[str],
    places: Mapping[str, Span],
) -> None:
    """Raise where what accumulates for an output that others use, ``d<output>_total``, is another tensor's gradient."""
    tensors = differentiated(equations, outputs, wrt)
    read = {name for e in equations for name in s.names(e.right)}
    for output in read.intersection(outputs):
        for other in (f"{output}_total", f"{output}_upstream"):
            if other in tensors:
                message = f"the gradient of '{other}' would be called 'd{other}', a gradient of '{output}'"
                raise names.error(message, places[other], f"rename '{other}' or '{output}'")
