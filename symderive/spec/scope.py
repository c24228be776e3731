"""Checks one equation in index form: names, ranks, bound indices, integer positions; notes where indices are used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sympy import Expr

from symderive.errors import NOWHERE, Span, SpecError
from symderive.record import record
from symderive.spec import syntax as s
from symderive.spec.folding import fold
from symderive.spec.format import to_text
from symderive.spec.functions import BINDERS, FUNCTIONS, MATRIX, REDUCTIONS, STRUCTURAL, counted, kept
from symderive.spec.model import Shape
from symderive.spec.names import FUNCTION_NAMES, NUMBER_NAMES, Namespace, a
from symderive.spec.order import too_early
from symderive.spec.reader import suggestion
from symderive.spec.size_text import shape_text
from symderive.spec.sizes import BATCH_SIZE

REAL, INTEGER, CONDITION = "real", "integer", "condition"
_KEEP_INTEGER = ("abs", "square", "sign", "floor", "round")
_CONDITIONS = ("any", "all")
_POSITIONS = ("argmax", "argmin")


@record
class Tensor:
    """What is known of a tensor: its shape, the kind of its entries, and for integers where their values lie.

    ``upper`` is the size C of class ids in 0..C-1; ``right``, ``indices`` and ``ranges`` are those of the equation
    that defines an integer tensor.
    """

    name: str
    shape: Shape
    kind: str = REAL
    upper: Expr | None = None
    truth: bool = False
    right: s.Node | None = None
    indices: tuple[str, ...] = ()
    ranges: Mapping[str, Expr] = field(default_factory=dict)
    span: Span = NOWHERE


@record
class Use:
    """An index that stands alone in a position of an access, and the extent of that axis."""

    index: str
    extent: Expr
    access: s.Access
    span: Span
    padded: bool


@dataclass
class Scope:
    """The names that one equation can see, and what is found in it."""

    names: Namespace
    tensors: Mapping[str, Tensor]
    constants: Mapping[str, Fraction]
    later: Mapping[str, s.Statement] = field(default_factory=dict)
    visible: list[str] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    accesses: list[tuple[s.Access, bool]] = field(default_factory=list)
    binders: list[s.Binder] = field(default_factory=list)
    batched: bool = False

    def error(self, message: str, span: Span, hint: str | None = None) -> SpecError:
        """The error to raise about a place in the equation."""
        return self.names.error(message, span, hint)

    def no_batch(self, span: Span) -> SpecError:
        """The error about ``...`` in a spec without batch axes."""
        hint = "an input that has them says so in its shape: `x: [..., K]`"
        return self.error("no input has batch axes, so '...' has no meaning", span, hint)

    # -- the kinds of expressions ------------------------------------------------------------------------------

    def kind(self, node: s.Node) -> str:
        """Check ``node`` and return the kind of its values: real, integer or condition."""
        visit = _VISITORS.get(type(node))
        if visit is None:
            raise self._array_form(node)
        return visit(self, node)

    def _array_form(self, node: s.Node) -> SpecError:
        hint = "equations name every entry: y[i, j] = sum[k](x[i, k] * W[j, k])"
        return self.error(f"'{to_text(node)[:60]}' is array form, which cannot stand here", node.span, hint)

    def _number(self, node: s.Number) -> str:
        return INTEGER if node.value.denominator == 1 else REAL

    def _name(self, node: s.Name) -> str:
        if node.id in self.visible or self.names.role(node.id) == "size":
            return INTEGER
        if node.id in NUMBER_NAMES:
            return REAL
        if node.id in self.constants:
            return INTEGER if self.constants[node.id].denominator == 1 else REAL
        if node.id in self.tensors:
            tensor = self.tensors[node.id]
            if tensor.shape:
                raise self._rank(node.id, tensor, 0, node.span)
            return tensor.kind
        raise self._unknown(node.id, node.span)

    def _unknown(self, name: str, span: Span, position: bool = False) -> SpecError:
        """The error about a name that stands for nothing here."""
        if name in self.later:
            message, advice = too_early(name, self.later)
            return self.error(message, span, advice)
        if name in FUNCTION_NAMES:
            what = f"{name}[k](...)" if name in BINDERS else f"{name}(...)"
            return self.error(f"'{name}' is the name of a function", span, f"write {what}")
        if position or self.names.role(name) == "index":
            message = f"the index '{name}' is not bound: it stands neither on the left side nor under a reduction"
            return self.error(message, span, f"sum over it, sum[{name}](...), or put it on the left side")
        hint = self.names.like(name, ("tensor", "constant", "size", "index"))
        return self.error(
            f"unknown name '{name}'", span, hint or "define it above, or add it to the inputs or constants"
        )

    def _rank(self, name: str, tensor: Tensor, given: int, span: Span) -> SpecError:
        """The error about an access with the wrong number of indices."""
        axes = f"{len(tensor.shape)} {'axis' if len(tensor.shape) == 1 else 'axes'}"
        if not tensor.shape:
            return self.error(f"'{name}' is a scalar, but has {given} {_indices(given)} here", span, f"write {name}")
        message = f"'{name}' has {axes}, {shape_text(tensor.shape)}, but {given or 'no'} {_indices(given)} here"
        hint = f"give it {len(tensor.shape)} {_indices(len(tensor.shape))}"
        if tensor.shape[0] == BATCH_SIZE:
            hint += ", the first of them '...'"
        return self.error(message, span, hint)

    def _access(self, node: s.Access, padded: bool = False) -> str:
        tensor = self.tensors.get(node.tensor)
        if tensor is None:
            role = self.names.role(node.tensor)
            if role and role != "tensor":
                raise self.error(f"'{node.tensor}' is {a(role)}, not a tensor", node.span)
            if node.tensor in self.later or node.tensor in FUNCTION_NAMES:
                raise self._unknown(node.tensor, node.span)
            hint = self.names.like(node.tensor, ("tensor",)) or "define it above, or add it to the inputs"
            raise self.error(f"unknown tensor '{node.tensor}'", node.span, hint)
        self._batch(node, tensor)
        if len(node.indices) != len(tensor.shape):
            raise self._rank(node.tensor, tensor, len(node.indices), node.span)
        for index, extent in zip(node.indices, tensor.shape, strict=True):
            if extent == BATCH_SIZE:
                if s.BATCH not in self.visible:
                    raise self._unknown(s.BATCH, index.span, position=True)
            else:
                self._position(index)
                if isinstance(index, s.Name) and index.id in self.visible:
                    self.uses.append(Use(index.id, extent, node, index.span, padded))
        self.accesses.append((node, padded))
        return tensor.kind

    def _batch(self, node: s.Access, tensor: Tensor) -> None:
        """Check that ``...`` stands first, and where the tensor has batch axes."""
        has = bool(tensor.shape) and tensor.shape[0] == BATCH_SIZE
        for n, index in enumerate(node.indices):
            if isinstance(index, s.Batch) and n:
                raise self.error("'...' must stand first", index.span, f"as in {node.tensor}[..., k]")
            if isinstance(index, s.Batch) and not has:
                raise self.error(f"'{node.tensor}' has no batch axes", index.span, "remove the '...'")
        if has and not isinstance(node.indices[0], s.Batch):
            raise self.error(f"'{node.tensor}' has batch axes: '...' must stand first", node.span)

    def _position(self, node: s.Node) -> None:
        """Check what stands in an index position."""
        role = self.names.role(node.id) if isinstance(node, s.Name) else "expression"
        if isinstance(node, s.Name) and node.id not in self.visible and role in (None, "index"):
            raise self._unknown(node.id, node.span, position=True)
        if self.kind(node) != INTEGER:
            message = f"an index position holds an integer expression, not '{to_text(node)[:60]}'"
            raise self.error(message, node.span, self._position_hint(node))

    def _position_hint(self, node: s.Node) -> str:
        if isinstance(node, s.Binary) and node.op == "/":
            return "write // for a quotient"
        if isinstance(node, s.Access | s.Name):
            name = node.tensor if isinstance(node, s.Access) else node.id
            if name in self.tensors and self.tensors[name].right is None:
                return f"where '{name}' holds integers, say so: `{name}: {{shape: ..., index: C}}`"
        return "such as i, i + 1, N - 1 - i or an integer tensor t[n]"

    def _unary(self, node: s.Unary) -> str:
        return REAL if self.kind(node.operand) == REAL else INTEGER

    def _binary(self, node: s.Binary) -> str:
        if node.op == "@":
            raise self._array_form(node)
        left, right = self.kind(node.left), self.kind(node.right)
        try:
            fold(node)
        except ValueError as error:
            raise self.error(str(error), node.span) from None
        if node.op in ("//", "%"):
            for side, kind in ((node.left, left), (node.right, right)):
                if kind == REAL:
                    message = f"'{node.op}' is for integers, and '{to_text(side)[:60]}' is not one"
                    raise self.error(message, side.span, "write floor(a / b) for real numbers")
            return INTEGER
        if node.op == "*" and left == right == CONDITION:
            return CONDITION
        if node.op == "/" or REAL in (left, right):
            return REAL
        return REAL if node.op == "**" and not isinstance(node.right, s.Number) else INTEGER

    def _compare(self, node: s.Compare) -> str:
        for operand in node.operands:
            self.kind(operand)
        return CONDITION

    def _logical(self, node: s.Logical) -> str:
        for operand in node.operands:
            self._condition(operand)
        return CONDITION

    def _negation(self, node: s.Not) -> str:
        self._condition(node.operand)
        return CONDITION

    def _condition(self, node: s.Node) -> None:
        """Check what stands where a condition must."""
        if self.kind(node) == CONDITION or (isinstance(node, s.Number) and node.value in (0, 1)):
            return
        name = node.tensor if isinstance(node, s.Access) else node.id if isinstance(node, s.Name) else ""
        if name not in self.tensors or not self.tensors[name].truth:
            hint = f"compare it with something, as in {to_text(node)[:40]} != 0"
            raise self.error(f"'{to_text(node)[:60]}' is a number, not a condition", node.span, hint)

    # -- calls -------------------------------------------------------------------------------------------------

    def _call(self, node: s.Call) -> str:
        name = node.function
        if node.keywords:
            raise self._array_form(node)
        if name == "pad":
            return self._pad(node)
        if name not in STRUCTURAL and name not in FUNCTIONS:
            raise self._not_a_function(node)
        arity = range(STRUCTURAL[name], STRUCTURAL[name] + 1) if name in STRUCTURAL else FUNCTIONS[name].arity
        if len(node.arguments) not in arity:
            raise self._arity(node, arity)
        if name in FUNCTIONS:
            kinds = [self.kind(x) for x in node.arguments]
            return INTEGER if name in _KEEP_INTEGER and kinds[0] != REAL else REAL
        if name == "where":
            self._condition(node.arguments[0])
            return _join(self.kind(x) for x in node.arguments[1:])
        if name == "delta":
            return self._delta(node)
        return _join([self.kind(x) for x in node.arguments])

    def _delta(self, node: s.Call) -> str:
        for argument in node.arguments:
            if isinstance(argument, s.Name) and self.names.role(argument.id) is None:
                self._position(argument)
            elif self.kind(argument) == REAL:
                hint = "write where(a == b, 1, 0) for real numbers"
                raise self.error("delta compares integers", argument.span, hint)
        return CONDITION

    def _pad(self, node: s.Call) -> str:
        if not node.arguments or len(node.arguments) > 2:
            raise self._arity(node, range(1, 3))
        access = node.arguments[0]
        if not isinstance(access, s.Access):
            hint = "write pad(x[i - 1]) + ..., not pad(x[i - 1] + ...)"
            raise self.error("'pad' holds exactly one access", access.span, hint)
        kind = self._access(access, padded=True)
        others = [self.kind(x) for x in node.arguments[1:]]
        if others:
            return _join([kind, *others])
        return INTEGER if kind == INTEGER else kind

    def _arity(self, node: s.Call, arity: range) -> SpecError:
        hint = None
        if node.function in BINDERS and len(node.arguments) == 1:
            hint = f"over an index: {node.function}[k](...)"
        elif node.function in ("max", "min"):
            hint = f"nest them: {node.function}(a, {node.function}(b, c))"
        message = f"'{node.function}' takes {counted(arity)}, not {len(node.arguments)}"
        return self.error(message, node.span, hint)

    def _not_a_function(self, node: s.Call) -> SpecError:
        name = node.function
        if name in BINDERS:
            hint = f"name the index: {name}[{'i, j' if name in MATRIX else 'k'}](...)"
            return self.error(f"'{name}' needs its indices in brackets", node.span, hint)
        if name in self.tensors:
            hint = f"an entry is written {name}[...], a product with *"
            return self.error(f"'{name}' is a tensor, not a function", node.span, hint)
        known = sorted(FUNCTION_NAMES)
        hint = suggestion(name, known) or f"the functions are {', '.join(known)}"
        return self.error(f"unknown function '{name}'", node.span, hint)

    # -- binders -----------------------------------------------------------------------------------------------

    def _binder(self, node: s.Binder) -> str:
        self._binder_indices(node)
        hidden = [i for i in node.indices if i in self.visible]
        free = kept(node.op, node.indices)
        for index in node.indices:
            if index in free and index not in self.visible:
                raise self._unknown(index, node.span, position=True)
            if index not in free and index in hidden:
                message = f"the index '{index}' is already in use here, so '{node.op}[{index}]' cannot bind it again"
                raise self.error(message, node.span, "give it another letter")
        self.binders.append(node)
        before = self.visible
        self.visible = [*before, *(i for i in node.indices if i not in hidden)]
        if node.condition is not None:
            self._condition(node.condition)
        if node.op in _CONDITIONS:
            self._condition(node.body)
            kind = CONDITION
        else:
            kind = self.kind(node.body)
        for operand in node.more:
            self._right_side(node, operand)
        self.visible = before
        return _BINDER_KINDS.get(node.op, lambda _: REAL)(kind)

    def _right_side(self, node: s.Binder, operand: s.Node) -> None:
        """The right side of a system is named by the row index alone."""
        row, column = node.indices
        if any(isinstance(n, s.Name) and n.id == column for n in operand.walk()):
            message = f"the right side of '{node.op}[{row}, {column}]' names '{column}', the index of the solution"
            raise self.error(message, operand.span, f"name its entries by '{row}', as in b[{row}]")
        self.kind(operand)

    def _binder_indices(self, node: s.Binder) -> None:
        for n, index in enumerate(node.indices):
            if index in node.indices[:n]:
                raise self.error(f"'{node.op}' names the index '{index}' twice", node.span)
            if index != s.BATCH:
                self.names.index(index, node.span)
            elif not self.batched:
                raise self.no_batch(node.span)
        wanted = 1 if node.op in _POSITIONS else 2 if node.op in MATRIX else None
        if wanted and len(node.indices) != wanted:
            message = f"'{node.op}' takes {wanted} {_indices(wanted)}, not {len(node.indices)}"
            raise self.error(message, node.span)
        if wanted and s.BATCH in node.indices:
            raise self.error(f"'{node.op}' cannot run over '...'", node.span)
        if node.op in MATRIX and node.condition is not None:
            raise self.error(f"'{node.op}' takes no condition", node.condition.span)


def _join(kinds: Iterable[str]) -> str:
    """The kind of a value that is one of several: real if any is, else integer if they differ."""
    found = set(kinds)
    if len(found) == 1:
        return str(found.pop())
    return REAL if REAL in found else INTEGER


def _counts(kind: str) -> str:
    return REAL if kind == REAL else INTEGER


_BINDER_KINDS: dict[str, Callable[[str], str]] = {
    "sum": _counts,
    "prod": _counts,
    "max": lambda kind: kind,
    "min": lambda kind: kind,
    "any": lambda _: CONDITION,
    "all": lambda _: CONDITION,
    "argmax": lambda _: INTEGER,
    "argmin": lambda _: INTEGER,
}
assert set(_BINDER_KINDS) <= set(REDUCTIONS)

_VISITORS: dict[type[s.Node], Callable[[Scope, Any], str]] = {
    s.Number: Scope._number,
    s.Name: Scope._name,
    s.Access: Scope._access,
    s.Unary: Scope._unary,
    s.Binary: Scope._binary,
    s.Compare: Scope._compare,
    s.Logical: Scope._logical,
    s.Not: Scope._negation,
    s.Call: Scope._call,
    s.Binder: Scope._binder,
}


def _indices(count: int) -> str:
    return "index" if count == 1 else "indices"
