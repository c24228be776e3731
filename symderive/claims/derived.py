"""The derived formulas: what a correction says, and how far a letter runs that nothing else gives a range.

No verdict depends on them otherwise: verdicts come from numbers alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from symderive.claims.inline import written_out
from symderive.claims.lines import Line, names_in
from symderive.claims.trees import in_letters, rename, sum_of, tensor_of, terms_of, times, without_minus
from symderive.claims.world import gradient_names, sole_scalar, with_input
from symderive.errors import SymderiveError
from symderive.spec import model, syntax
from symderive.spec.format import to_text

if TYPE_CHECKING:
    from sympy import Expr

    from symderive.algebra.derive import Formulas
    from symderive.algebra.program import Derivation, Program


class Derived:
    """The formulas of a spec's gradients, derived when they are first asked for; none where that fails."""

    def __init__(
        self, spec: model.Spec, derivation: Any = None, reserved: Iterable[str] = (), ties: bool = False
    ) -> None:
        """``reserved`` are names that mean something else where the formulas are to stand.

        With ``ties`` they say what holds where two numbers tie.
        """
        self.spec = spec
        self.ties = ties
        self.reserved = {*reserved}
        self._given = getattr(derivation, "core", derivation)
        self._jacobians: dict[str, syntax.Statement | None] = {}
        self._intermediate: dict[str, Derived] = {}

    @cached_property
    def derivation(self) -> Derivation | Formulas | None:
        """The derivation."""
        if self._given is not None:
            return self._given  # type: ignore[no-any-return]
        from symderive.algebra.derive import formulas

        try:
            return formulas(self.spec)
        except Exception:  # a formula is a help; a verdict does not wait for it
            return None

    @cached_property
    def display(self) -> Program:
        """The equations of the gradients as formulas print them, without the values at kinks, which seldom matter."""
        from symderive.algebra.terms import transform_opened

        assert self.derivation is not None
        if self.ties:
            return self.derivation.display
        equations = tuple(
            replace(e, right=transform_opened(e.right, _without_tie)) for e in self.derivation.display.equations
        )
        return replace(self.derivation.display, equations=equations)

    @cached_property
    def has_ties(self) -> bool:
        """Whether the formulas leave out what holds where two numbers tie: it matters where those are one number."""
        return self.derivation is not None and self.display.equations != self.derivation.display.equations

    @cached_property
    def with_ties(self) -> Derived:
        """The same, where numbers tie, too."""
        return Derived(self.spec, self.derivation, self.reserved, ties=True)

    @cached_property
    def statements(self) -> dict[str, syntax.Statement]:
        """The equation of each gradient in index form, as formulas print it."""
        if self.derivation is None:
            return {}
        from symderive.algebra.derive import spec_letters
        from symderive.algebra.unbuild import statement

        try:
            letters = spec_letters(self.spec, self.derivation.forward)
            found = {e.tensor: statement(e, letters) for e in self.display.equations}
        except SymderiveError:
            return {}
        unnamed = {n: as_helper(s) for n, s in found.items() if n not in self.nameable}
        return {n: _without(s, unnamed) for n, s in found.items() if n in self.nameable}

    @cached_property
    def equations(self) -> tuple[model.Equation, ...]:
        """The same with the range of each letter, and with what deriving has introduced."""
        if self.derivation is None:
            return ()
        from symderive.algebra.derive import spec_letters
        from symderive.algebra.unbuild import resolved

        try:
            letters = spec_letters(self.spec, self.derivation.forward)
            return tuple(resolved(e, letters) for e in self.display.equations)
        except SymderiveError:
            return ()

    @cached_property
    def nameable(self) -> set[str]:
        """What a claim may name: the tensors of the spec and their gradients, not what deriving has introduced."""
        return {*self.spec.shapes, *gradient_names(self.spec)}

    @cached_property
    def arrays(self) -> dict[str, str]:
        """The array form of each gradient that has one of a single line."""
        if self.derivation is None:
            return {}
        from symderive.emit.arrays import array_forms
        from symderive.lower import lower

        try:
            tensors = [e.tensor for e in self.display.equations if e.tensor in self.nameable]
            taken = (*self.display.reserved, *self.reserved)
            return array_forms(lower(replace(self.display, reserved=taken)), tensors)
        except Exception:  # as above
            return {}

    def of(self, name: str) -> Derived:
        """Where the formula of a gradient is looked up: what the derivation does not name needs one of its own."""
        tensor = name.removeprefix("d")
        real = {i.name for i in self.spec.inputs if i.is_real} | {e.tensor for e in self.spec.equations}
        other = tensor in real - {*self.spec.outputs} and name not in self.spec.shapes
        if name in self.statements or not other or self.spec.wrt == (tensor,):
            return self
        if name not in self._intermediate:
            readers = [e for e in self.spec.equations if tensor in names_in(e.right)]
            if len(readers) == 1 and self.spec.shapes[readers[0].tensor]:
                spec = self._alone(tensor, readers[0])
            else:
                spec = replace(with_input(self.spec, tensor), wrt=(tensor,))
            self._intermediate[name] = Derived(spec, reserved=self.reserved, ties=self.ties)
        return self._intermediate[name]

    def stated(self, line: Line) -> syntax.Statement | None:
        """The formula of what a line claims, in index form and the letters of the line."""
        if line.role == "jacobian":
            return self.jacobian(line)
        found = self.of(line.name).statements.get(line.name) if line.role == "gradient" else None
        return found if found is None or line.indices is None else self._in_letters(found, line)

    def step(self, line: Line) -> syntax.Statement | None:
        """The gradient as one step of the chain rule, from those of the tensors that read it; None where it has none.

        It is a sum over the equations that read the tensor, each derived by itself.
        """
        readers = [e for e in self.spec.equations if line.tensor in names_in(e.right)]
        if not readers or any(r.tensor in self.spec.outputs for r in readers[:-1]):
            return None
        parts = [self._through(line.tensor, reader) for reader in readers]
        if any(p is None for p in parts):
            return None
        left = parts[0].left  # type: ignore[union-attr]
        letters = [i.id for i in getattr(left, "indices", ()) if isinstance(i, syntax.Name)]
        rights = [relabelled(p, letters, self.known).right for p in parts]  # type: ignore[arg-type]
        terms = [(s, t, without_minus(t)) for r in rights for s, t in terms_of(r)]
        right = sum_of([(s, t) if positive is None else (-s, positive) for s, t, positive in terms])
        statement = syntax.Statement(left, (right,))
        return statement if line.indices is None else self._in_letters(statement, line)

    def _alone(self, tensor: str, reader: model.Equation) -> model.Spec:
        """The step from a tensor to what one equation makes of it, as a spec."""
        own = {i.name: i for i in self.spec.inputs}
        read = [n for n in self.spec.shapes if n in names_in(reader.right)]
        inputs = tuple(own.get(n) or model.Input(n, self.spec.shapes[n]) for n in read)
        return replace(
            self.spec, inputs=inputs, equations=(reader,), outputs=(reader.tensor,), wrt=(tensor,), calls=(),
        )  # fmt: skip

    def _through(self, tensor: str, reader: model.Equation) -> syntax.Statement | None:
        """What flows to a tensor through one equation that reads it, by the gradient of what the equation defines."""
        found = Derived(self._alone(tensor, reader), ties=self.ties).statements.get(f"d{tensor}")
        if found is None:
            return None
        if self.spec.shapes[reader.tensor] or (sole_scalar(self.spec) and reader.tensor in self.spec.outputs):
            return found
        upstream = syntax.Name(f"d{reader.tensor}")
        return replace(found, sides=(times(upstream, found.right),))

    def _in_letters(self, statement: syntax.Statement, line: Line) -> syntax.Statement:
        """A formula in the letters of a claim, where they are different ones that may stand there."""
        new = [i.id for i in line.indices or () if isinstance(i, syntax.Name)]
        shape = self.spec.shapes[line.tensor]
        if len(new) != len(shape) or len(set(new)) != len(new):
            return statement
        ranges = self.spec.indices
        if any(ranges.get(n, extent) != extent for n, extent in zip(new, shape, strict=True)):
            return statement
        return relabelled(statement, new, self.known)

    @cached_property
    def known(self) -> set[str]:
        """The names that no index can have."""
        return {*self.nameable, *self.spec.sizes, *self.spec.constants}

    def jacobian(self, line: Line) -> syntax.Statement | None:
        """The formula of a left side ``D(y[i], x[k])``; None where there is none."""
        if line.name not in self._jacobians:
            self._jacobians[line.name] = self._jacobian(line)
        return self._jacobians[line.name]

    def _jacobian(self, line: Line) -> syntax.Statement | None:
        from symderive.claims.jacobians import jacobian_statement

        if self.derivation is None:
            return None
        try:
            return jacobian_statement(self.spec, self.derivation, line)
        except Exception:  # as above
            return None

    def formula(self, line: Line) -> str | None:
        """The right formula of a gradient in the style of a line: in array form or in its letters, where possible."""
        name, array = line.name, line.indices is None
        statement = self.statements.get(name)
        other = "" if statement is None else tensor_of(statement.right)
        if statement is not None and other in self.statements and other != name:  # dy[i] = de[i]: say what de is
            left, right = self.statements[other].left, statement.right
            if left == right:
                statement = replace(self.statements[other], left=statement.left)
                if array and other in self.arrays:
                    return re.sub(rf"^{other}\b", name, self.arrays[other], flags=re.MULTILINE)
        if array and name in self.arrays:
            return self.arrays[name]
        return None if statement is None else to_text(statement if array else self._in_letters(statement, line))


def derived_equations(spec: model.Spec) -> tuple[model.Equation, ...]:
    """The equations of a spec's gradients as formulas print them, derived once for each spec that is asked for."""
    found: tuple[model.Equation, ...] | None = spec.__dict__.get("derived_equations")
    if found is None:
        found = spec.__dict__["derived_equations"] = Derived(spec).equations
    return found


def relabelled(statement: syntax.Statement, new: Sequence[str], known: Collection[str]) -> syntax.Statement:
    """A statement with other letters on its left side, where those it has are letters, too."""
    left = statement.left
    old = [i.id for i in left.indices if isinstance(i, syntax.Name)] if isinstance(left, syntax.Access) else []
    if len(old) != len(new):
        return statement
    names = dict(zip(old, new, strict=True))
    return replace(statement, left=rename(left, names), sides=(in_letters(statement.right, names, known),))


def _without_tie(node: Expr) -> Expr:
    """``where(x > 0, a, b)`` for ``where(x > 0, a, where(x == 0, (a + b) / 2, b))``."""
    from symderive.algebra.nodes import Eq, Where

    if not isinstance(node, Where) or not isinstance(node.args[2], Where):
        return node
    condition, a, (tie, both, b) = node.args[0], node.args[1], node.args[2].args
    return Where(condition, a, b) if isinstance(tie, Eq) and (2 * both - a - b).expand() == 0 else node


def as_helper(statement: syntax.Statement) -> Line:
    """A formula as a helper of claims."""
    left = statement.left
    indices = left.indices if isinstance(left, syntax.Access) else None
    return Line(statement, to_text(statement), "helper", tensor_of(left), indices)


def _without(statement: syntax.Statement, unnamed: Mapping[str, Line]) -> syntax.Statement:
    """A statement with what has no name in the spec written out."""
    if not names_in(statement.right) & set(unnamed):
        return statement
    left = statement.left
    taken = {i.id for i in getattr(left, "indices", ()) if isinstance(i, syntax.Name)}
    return replace(statement, sides=(written_out(statement.right, unnamed, taken),))
