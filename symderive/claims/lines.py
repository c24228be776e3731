"""The lines of a claims block: what each is about, or which helper it defines."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Literal

from symderive.claims.names import gradient_meant, left_side_meant
from symderive.claims.world import gradient_names, is_jacobian, sole_scalar
from symderive.errors import Span, SymderiveError
from symderive.record import record
from symderive.spec import model, syntax
from symderive.spec.format import to_text
from symderive.wording import listed

Role = Literal["gradient", "tensor", "jacobian", "helper"]


class ClaimError(Exception):
    """A claim that cannot be right whatever the numbers are. ``reason`` sorts it: name, index, range, shape, form."""

    def __init__(self, reason: str, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.span = span


class NotJudged(Exception):
    """A claim that cannot be judged, and why."""


FAULTS = (
    SymderiveError, ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError,
    ValueError,
)  # fmt: skip
"""What may go wrong in arithmetic that no one has tried: the claim is then not judged, and never passes."""


@record
class Line:
    """One statement. ``indices`` are None where the left side is a bare name; ``tensor`` is what ``d<name>`` is of."""

    statement: syntax.Statement
    text: str
    role: Role
    name: str
    indices: tuple[syntax.Node, ...] | None
    tensor: str = ""

    @property
    def number(self) -> int:
        """Its line in the file."""
        return self.statement.span.line

    @property
    def target(self) -> str:
        """What it is about, as it is written: ``dx``, ``D(L, x[0])``."""
        left = self.statement.left
        return to_text(left) if isinstance(left, syntax.Call) else self.name

    def mentions(self) -> set[str]:
        """The names on its right sides."""
        return set().union(*(names_in(side) for side in self.statement.sides))

    def denominators(self) -> set[str]:
        """The tensors by which the left side is a derivative."""
        left = self.statement.left
        if self.role != "jacobian" or not isinstance(left, syntax.Call):
            return {self.tensor} if self.role == "gradient" else set()
        upper, lower = (names_in(a) for a in left.arguments[:2])
        return lower | {n[1:] for n in upper if n.startswith("d")}


def names_in(node: syntax.Node) -> set[str]:
    """The tensors and other names that an expression mentions."""
    return set(syntax.names(node))


def read_lines(spec: model.Spec, statements: Sequence[syntax.Statement], source: str) -> list[Line | ClaimError]:
    """What each statement is; a :class:`ClaimError` for one whose left side means nothing."""
    return [_read(spec, statement, _text(statement, source)) for statement in statements]


def _text(statement: syntax.Statement, source: str) -> str:
    """The statement as it is written, on one line; without a source, as it would be printed."""
    span, rows = statement.span, source.splitlines()
    if not 1 <= span.line <= span.end_line <= len(rows):
        return to_text(statement)
    part = rows[span.line - 1 : span.end_line]
    part[-1] = part[-1][: span.end_column - 1]
    part[0] = part[0][span.column - 1 :]
    return " ".join(piece.strip() for piece in part)


def _read(spec: model.Spec, statement: syntax.Statement, text: str) -> Line | ClaimError:
    left = statement.left
    if is_jacobian(left):
        return _jacobian(spec, statement, text)
    if meant := left_side_meant(spec, left, statement.sides):
        return ClaimError("form", meant, left.span)
    if isinstance(left, syntax.Access):
        name, indices = left.tensor, left.indices
    elif isinstance(left, syntax.Name):
        name, indices = left.id, None
    else:
        return ClaimError("form", "the left side of a claim is d<name>, d<name>[indices] or D(...)", left.span)
    if name in spec.shapes:
        return Line(statement, text, "tensor", name, indices, name)
    gradients = gradient_names(spec)
    if name in gradients:
        return Line(statement, text, "gradient", name, indices, gradients[name])
    if fault := _not_definable(spec, name):
        return ClaimError("name", fault, left.span)
    return Line(statement, text, "helper", name, indices)


def _jacobian(spec: model.Spec, statement: syntax.Statement, text: str) -> Line | ClaimError:
    left = statement.left
    assert isinstance(left, syntax.Call)
    if len(left.arguments) != 2 or not all(isinstance(a, syntax.Access | syntax.Name) for a in left.arguments):
        return ClaimError("form", "D takes two entries, as in D(y[i], x[k])", left.span)
    indices = tuple(i for a in left.arguments if isinstance(a, syntax.Access) for i in a.indices)
    bare = not any(isinstance(a, syntax.Access) for a in left.arguments)
    upper, lower = (a.tensor if isinstance(a, syntax.Access) else a.id for a in left.arguments)  # type: ignore[attr-defined]
    gradients = gradient_names(spec)
    if sole_scalar(spec) and upper == spec.outputs[0] != lower and gradients.get(f"d{lower}") == lower:
        return Line(statement, text, "gradient", f"d{lower}", None if bare else indices, lower)  # which it is
    return Line(statement, text, "jacobian", to_text(left), None if bare else indices)


def _not_definable(spec: model.Spec, name: str) -> str | None:
    """Why a name can be neither a gradient nor a helper."""
    for tensor in spec.inputs:
        if name in (f"d{tensor.name}", f"d{tensor.name}_total"):
            what = "truth values" if tensor.boolean else "class ids"
            return f"{tensor.name} holds {what}, so it has no gradient"
    if name in spec.sizes:
        return f"{name} is a size, and no claim can be made about it"
    if name in spec.constants:
        return f"{name} is a constant, and no claim can be made about it"
    return None


def unused_helper(spec: model.Spec, line: Line) -> str:
    """What to say of a helper that no later line uses, with the gradient that may have been meant."""
    near = nearest(line.name, [n for n in gradient_names(spec) if not n.endswith("_total")])
    meant = gradient_meant(spec, line.name) or near
    hint = f"; did you mean {meant}?" if meant else f"; the gradients are {listed(f'd{n}' for n in spec.wrt)}"
    return f"{line.name} is no gradient and no tensor of the forward, and no later line uses it{hint}"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that looks most like another, whatever its case."""
    names = sorted(names)
    lower = {n.lower(): n for n in reversed(names)}
    close = difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=0.6)
    return lower[close[0]] if close else None
