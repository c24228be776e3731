"""The ``forward`` block: statements -> equations with every name resolved and every range known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache

from sympy import Expr

from symderive.errors import Span, SpecError
from symderive.spec import syntax as s
from symderive.spec.bounds import Budget, check_bounds
from symderive.spec.calls import Calls
from symderive.spec.format import to_text
from symderive.spec.model import Call, Equation, Input
from symderive.spec.names import Namespace
from symderive.spec.ranges import infer_ranges, letter_ranges
from symderive.spec.scope import CONDITION, INTEGER, REAL, Scope, Tensor
from symderive.spec.sizes import BATCH_SIZE

_TRUTH = ("binary", "one_hot")


class EquationReader:
    """Resolves statements one after the other; :meth:`check` then decides whether accesses stay in range."""

    def __init__(
        self,
        names: Namespace,
        inputs: Iterable[Input],
        constants: Mapping[str, Fraction],
        declared: Mapping[str, Expr],
        calls: Calls | None = None,
    ) -> None:
        self.names = names
        self.calls = calls or Calls(names, {})
        self.constants = constants
        self.declared = declared
        self.tensors = {i.name: _input_tensor(i) for i in inputs}
        self.batched = any(BATCH_SIZE in t.shape for t in self.tensors.values())
        self.equations: list[Equation] = []
        self.scopes: list[Scope] = []

    def _error(self, message: str, span: Span, hint: str | None = None) -> SpecError:
        return self.names.error(message, span, hint)

    def read(self, statements: Iterable[s.Statement]) -> tuple[Equation, ...]:
        """The equations of the block. All left sides are names from the start, so that an early use can be told."""
        statements = tuple(statements)
        later: dict[str, s.Statement] = {}
        for statement in statements:
            name = self._left_name(statement)
            self.names.declare(name, "tensor", statement.left.span)
            later[name] = statement
        shapes = {name: tensor.shape for name, tensor in self.tensors.items()}
        letters = cache(lambda: letter_ranges(statements, shapes, self.declared))
        self.calls.note(statements)
        for given in statements:
            definitions, reading = self.calls.put_out(given, self.tensors)
            for definition in definitions:
                self._equation(definition.statement, later, letters, definition.ranges)
            if reading is not None:
                self._equation(reading, later, letters, self.declared)
            del later[self._left_name(given)]
        return tuple(self.equations)

    @property
    def made(self) -> tuple[Call, ...]:
        """The calls of other specs, each with the equations that it was put out into."""
        known = {e.tensor: e for e in self.equations}
        calls = self.calls.made.values()
        return tuple(replace(c, equations=tuple(known[c.names[e.tensor]] for e in c.spec.equations)) for c in calls)

    def _left_name(self, statement: s.Statement) -> str:
        """The tensor that a statement defines."""
        left = statement.left
        if isinstance(left, s.Access):
            return left.tensor
        if isinstance(left, s.Name):
            return left.id
        hint = "the left side is name[indices], or a name for a scalar"
        raise self._error(f"'{to_text(left)[:60]}' cannot be defined", left.span, hint)

    def _equation(
        self,
        statement: s.Statement,
        later: Mapping[str, s.Statement],
        letters: Callable[[], Mapping[str, Expr]],
        declared: Mapping[str, Expr],
    ) -> None:
        """Check one statement and add its equation; ``declared`` are ranges that hold whatever it says."""
        if len(statement.sides) > 1:
            hint = "compare with ==, or write one equation a line"
            raise self._error("an equation has one '='", statement.sides[1].span, hint)
        indices = self._left_indices(statement.left)
        name = self._left_name(statement)
        scope = Scope(self.names, self.tensors, self.constants, later, list(indices), batched=self.batched)
        if indices[:1] == (s.BATCH,) and not self.batched:
            raise scope.no_batch(statement.left.span)
        kind = scope.kind(statement.right)
        places = statement.left.indices if isinstance(statement.left, s.Access) else ()
        free = ((i, place.span) for i, place in zip(indices, places, strict=True))
        bound = ((i, binder.span) for binder in scope.binders for i in binder.indices)
        ranges = infer_ranges(scope, [*free, *bound], declared, letters)
        equation = Equation(name, indices, statement.right, ranges, span=statement.span)
        right = None if kind == REAL else statement.right
        self.tensors[name] = Tensor(
            name,
            equation.shape,
            kind,
            truth=kind == CONDITION,
            right=right,
            indices=indices,
            ranges=ranges,
            span=statement.span,
        )
        self.equations.append(equation)
        self.scopes.append(scope)

    def _left_indices(self, left: s.Node) -> tuple[str, ...]:
        """The free indices: names, each once; ``...`` only first."""
        names: list[str] = []
        for n, node in enumerate(left.indices if isinstance(left, s.Access) else ()):
            if isinstance(node, s.Batch):
                if n:
                    raise self._error("'...' must stand first", node.span, "as in y[..., j]")
                names.append(s.BATCH)
                continue
            if not isinstance(node, s.Name):
                hint = "use an index there, and say on the right what holds where: where(i == 0, a, b)"
                raise self._error(f"the left side holds indices, not '{to_text(node)[:60]}'", node.span, hint)
            if node.id in names:
                hint = "use two letters, and where(i == j, ...) for a diagonal"
                raise self._error(f"the index '{node.id}' stands twice on the left side", node.span, hint)
            self.names.index(node.id, node.span)
            names.append(node.id)
        return tuple(names)

    def check(self, samples: Callable[[], list[dict[str, int]]]) -> None:
        """Raise where an unpadded access can leave its axis at one of the sizes."""
        budget = Budget()
        for scope, equation in zip(self.scopes, self.equations, strict=True):
            check_bounds(scope, equation.ranges, samples, budget)


def _input_tensor(given: Input) -> Tensor:
    kind = INTEGER if given.index is not None else CONDITION if given.boolean else REAL
    truth = given.boolean or any(a in _TRUTH for a in given.assume)
    return Tensor(given.name, given.shape, kind, given.index, truth, span=given.span)
