"""From the syntax of a resolved spec to the index algebra, in core form.

Core form has no mean, no softmax and no conditional reduction: a mean is a sum over a number of entries,
``softmax[k](z) = exp(z - logsumexp[k](z))``, and a condition stands inside the body as a ``Where`` whose other branch
is the reduction's neutral element.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import singledispatch

import sympy
from sympy import Expr, Integer, Rational, S, Symbol, oo

from symderive.algebra import nodes
from symderive.algebra.bounds import in_range
from symderive.algebra.nodes import Index
from symderive.algebra.program import Equation, Program
from symderive.errors import InternalError, Location, Span, SpecError
from symderive.spec import model, syntax
from symderive.spec.functions import FUNCTIONS
from symderive.spec.sizes import size

_INLINE: dict[str, Callable[[Expr], Expr]] = {
    "square": lambda x: x**2,
    "rsqrt": lambda x: x ** Rational(-1, 2),
    "sqrt": lambda x: x ** Rational(1, 2),
    "log1p": lambda x: sympy.log(1 + x),
    "expm1": lambda x: sympy.exp(x) - 1,
    "erfc": lambda x: 1 - sympy.erf(x),
}
"""Functions that are plain algebra of others; lowering finds their accurate kernels again."""

_NEUTRAL = {
    "sum": (nodes.Sum, S.Zero),
    "prod": (nodes.Prod, S.One),
    "max": (nodes.Max, -oo),
    "min": (nodes.Min, oo),
    "logsumexp": (nodes.LogSumExp, -oo),
    "any": (nodes.Any, S.Zero),
    "all": (nodes.All, S.One),
    "argmax": (nodes.ArgMax, -oo),
    "argmin": (nodes.ArgMin, oo),
}
"""The binder of a reduction and what an entry counts as that its condition leaves out."""


class Scope:
    """What the names of one equation stand for."""

    def __init__(  # noqa: PLR0917
        self,
        names: Mapping[str, Expr],
        ranges: Mapping[str, Expr],
        numbers: Mapping[str, int],
        shapes: Mapping[str, model.Shape],
        location: Callable[[Span], Location] = lambda span: Location("", span),
        whole: Collection[str] = (),
    ) -> None:
        """``whole`` names the tensors of integers and truth values."""
        self.location = location
        self.names = names
        self.ranges = ranges
        self.numbers = numbers
        self.shapes = shapes
        self.whole = whole

    def error(self, message: str, node: syntax.Node) -> SpecError:
        """The error about a part of the equation."""
        return SpecError(message, self.location(node.span))

    def index(self, name: str) -> Index:
        """The index of that name with the range that it has in this equation."""
        return Index(name, self.ranges[name])

    def lookup(self, name: str, position: bool) -> Expr:
        """The expression of a name; in an index position an integer constant is its value."""
        if name in self.ranges:
            return self.index(name)
        if position and name in self.numbers:
            return Integer(self.numbers[name])
        if name in self.names:
            return self.names[name]
        return nodes.Access(name)


def constant_symbol(name: str, value: Rational) -> Symbol:
    """The symbol of a named constant, with what its value says of its sign."""
    if value > 0:
        return Symbol(name, positive=True)
    return Symbol(name, negative=True) if value < 0 else Symbol(name, zero=True)


def build_program(spec: model.Spec) -> Program:
    """The spec's forward equations over the index algebra."""
    constants = _constants(spec)
    equations = tuple(built_equation(e, spec) for e in spec.equations)
    return Program(spec.name, spec.inputs, equations, spec.outputs, spec.sizes, constants)


def _constants(spec: model.Spec) -> dict[str, Rational]:
    return {name: Rational(value.numerator, value.denominator) for name, value in spec.constants.items()}


def built_equation(equation: model.Equation, spec: model.Spec) -> Equation:
    """An equation over the tensors, sizes and constants of a spec."""
    constants = _constants(spec)
    names: dict[str, Expr] = {name: size(name) for name in spec.sizes if name != syntax.BATCH}
    names |= {name: constant_symbol(name, value) for name, value in constants.items()}
    names |= {"pi": sympy.pi, "inf": oo}
    numbers = {name: int(value) for name, value in constants.items() if value.is_integer}
    scope = Scope(names, equation.ranges, numbers, spec.shapes, spec.location, _whole(spec))
    indices = tuple(scope.index(i) for i in equation.indices)
    return Equation(equation.tensor, indices, build(equation.right, scope))


def _whole(spec: model.Spec) -> set[str]:
    """The tensors of integers and truth values: inputs that say so, and what is made of them and of indices alone."""
    found = {i.name for i in spec.inputs if not i.is_real}
    for equation in spec.equations:
        if _is_whole(equation.right, found | {*equation.ranges, *spec.sizes}):
            found.add(equation.tensor)
    return found


def _is_whole(node: syntax.Node, known: Collection[str]) -> bool:
    if isinstance(node, syntax.Binder):
        return node.op in ("argmax", "argmin", "any", "all")
    if isinstance(node, syntax.Access | syntax.Name):
        return (node.tensor if isinstance(node, syntax.Access) else node.id) in known
    if isinstance(node, syntax.Binary):
        return node.op in ("+", "-", "*", "//", "%") and all(_is_whole(n, known) for n in (node.left, node.right))
    if isinstance(node, syntax.Unary):
        return _is_whole(node.operand, known)
    if isinstance(node, syntax.Number):
        return node.value.denominator == 1
    return isinstance(node, syntax.Compare | syntax.Logical | syntax.Not)


@singledispatch
def build(node: syntax.Node, scope: Scope, position: bool = False) -> Expr:
    """The algebra's expression of a syntax tree; ``position`` says that it stands in an index position."""
    raise InternalError(f"no index form for {type(node).__name__}: add a case to algebra/build.py")


@build.register
def _number(node: syntax.Number, scope: Scope, position: bool = False) -> Expr:
    return Rational(node.value.numerator, node.value.denominator)


@build.register
def _name(node: syntax.Name, scope: Scope, position: bool = False) -> Expr:
    return scope.lookup(node.id, position)


@build.register
def _batch(node: syntax.Batch, scope: Scope, position: bool = False) -> Expr:
    return scope.index(syntax.BATCH)


@build.register
def _access(node: syntax.Access, scope: Scope, position: bool = False) -> Expr:
    return nodes.Access(node.tensor, *(build(i, scope, True) for i in node.indices))


@build.register
def _unary(node: syntax.Unary, scope: Scope, position: bool = False) -> Expr:
    operand = build(node.operand, scope, position)
    return -operand if node.op == "-" else operand


_BINARY: dict[str, Callable[[Expr, Expr], Expr]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
    "//": nodes.FloorDiv,
    "%": nodes.Mod,
}


@build.register
def _binary(node: syntax.Binary, scope: Scope, position: bool = False) -> Expr:
    position = position or node.op in ("//", "%")
    left, right = build(node.left, scope, position), build(node.right, scope, position)
    if node.op == "/" and right.is_zero:
        raise scope.error("a division by zero", node)
    return _with_value(_BINARY[node.op](left, right), (left, right), node, scope)


def _with_value(value: Expr, arguments: Sequence[Expr], node: syntax.Node, scope: Scope) -> Expr:
    """``value``, made of ``arguments``. Raises :class:`SpecError` where those are numbers and it is not a real one."""
    if all(a.is_number for a in arguments) and value.has(sympy.zoo, sympy.nan, sympy.I):
        raise scope.error("this has no real value", node)
    return value


_COMPARE: dict[str, Callable[[Expr, Expr], Expr]] = {
    "<": nodes.Lt,
    "<=": nodes.Le,
    ">": lambda a, b: nodes.Lt(b, a),
    ">=": lambda a, b: nodes.Le(b, a),
    "==": nodes.Eq,
    "!=": lambda a, b: nodes.Not(nodes.Eq(a, b)),
}


@build.register
def _compare(node: syntax.Compare, scope: Scope, position: bool = False) -> Expr:
    operands = [build(o, scope, True) for o in node.operands]
    if not position and not all(o.is_integer for o in operands):
        operands = [build(o, scope, False) for o in node.operands]  # else of indices, where constants are numbers
    links = [_link(op, a, b, scope) for op, a, b in zip(node.ops, operands, operands[1:], strict=False)]
    return nodes.And(*links)


def _link(op: str, a: Expr, b: Expr, scope: Scope) -> Expr:
    """``a op b``. A real number that equals an index is none of the index's values before it has been compared with
    them all: it does not pick one, as an integer tensor would, so no Kronecker delta is made of it."""
    read = {access.tensor for access in a.atoms(nodes.Access) | b.atoms(nodes.Access)}
    if op in ("==", "!=") and not read.issubset(scope.whole) and (_counts(a) or _counts(b)):
        equal = nodes.And(nodes.Le(a, b), nodes.Le(b, a))
        return equal if op == "==" else nodes.Not(equal)
    return _COMPARE[op](a, b)


def _counts(expression: Expr) -> bool:
    """Whether an index stands in it as a number."""
    if isinstance(expression, nodes.Access | nodes.Binder):
        return False
    return isinstance(expression, Index) or any(_counts(a) for a in expression.args if isinstance(a, Expr))


@build.register
def _logical(node: syntax.Logical, scope: Scope, position: bool = False) -> Expr:
    join = nodes.And if node.op == "and" else nodes.Or
    return join(*(build(o, scope, position) for o in node.operands))


@build.register
def _not(node: syntax.Not, scope: Scope, position: bool = False) -> Expr:
    return nodes.Not(build(node.operand, scope, position))


_CALLS: dict[str, Callable[..., Expr]] = {
    "where": nodes.Where,
    "max": nodes.Maximum,
    "min": nodes.Minimum,
    "clamp": nodes.Clamp,
    "delta": nodes.Eq,
    "stop": nodes.Stop,
    "pad": nodes.Pad,
}


@build.register
def _call(node: syntax.Call, scope: Scope, position: bool = False) -> Expr:
    position = position or node.function == "delta"
    arguments = [build(a, scope, position) for a in node.arguments]
    if node.function == "pad" and len(arguments) > 1 and arguments[1].atoms(nodes.Access):
        return _padded(arguments[0], arguments[1], scope)
    if node.function in _CALLS:
        return _CALLS[node.function](*arguments)
    return _with_value(apply_function(node.function, arguments), arguments, node, scope)


def _padded(access: Expr, value: Expr, scope: Scope) -> Expr:
    """``pad(x[f], v)`` with a v that is computed, and so has a gradient: ``where(f in range, pad(x[f]), v)``."""
    shape = scope.shapes[access.tensor]
    inside = (c for p, extent in zip(access.indices, shape, strict=True) for c in in_range(p, extent))
    return nodes.Where(nodes.And(*inside), nodes.Pad(access), value)


def apply_function(name: str, arguments: list[Expr]) -> Expr:
    """An element-wise function of the table; missing arguments take their defaults."""
    if name in _INLINE:
        return _INLINE[name](*arguments)
    row = FUNCTIONS[name]
    if row.sympy:
        return getattr(sympy, row.sympy)(*arguments)
    missing = len(row.parameters) - len(arguments)
    defaults = [Rational(d) for d in row.defaults[len(row.defaults) - missing :]] if missing else []
    return nodes.Apply(name, *arguments, *defaults)


@build.register
def _binder(node: syntax.Binder, scope: Scope, position: bool = False) -> Expr:
    indices = [scope.index(i) for i in node.indices]
    body = build(node.body, scope)
    condition = None if node.condition is None else build(node.condition, scope)
    if node.op in _MATRIX:
        return _MATRIX[node.op](body, indices, *(build(operand, scope) for operand in node.more))
    return _BINDERS[node.op](body, indices, condition)


def _reduction(op: str) -> Callable[[Expr, list[Index], Expr | None], Expr]:
    binder, neutral = _NEUTRAL[op]

    def reduce(body: Expr, indices: list[Index], condition: Expr | None) -> Expr:
        return binder.over(body if condition is None else nodes.Where(condition, body, neutral), indices)

    return reduce


def _mean(body: Expr, indices: list[Index], condition: Expr | None) -> Expr:
    if condition is None:
        return nodes.Sum.over(body, indices) / sympy.Mul(*(i.extent for i in indices))
    return nodes.Sum.over(nodes.Where(condition, body, S.Zero), indices) / nodes.Sum.over(condition, indices)


def _log_softmax(body: Expr, indices: list[Index], condition: Expr | None) -> Expr:
    if condition is None:
        return body - nodes.LogSumExp.over(body, indices)
    masked = nodes.Where(condition, body, -oo)
    return nodes.Where(condition, body - nodes.LogSumExp.over(masked, indices), -oo)


def _softmax(body: Expr, indices: list[Index], condition: Expr | None) -> Expr:
    if condition is None:
        return sympy.exp(_log_softmax(body, indices, None))
    masked = nodes.Where(condition, body, -oo)
    return nodes.Where(condition, sympy.exp(body - nodes.LogSumExp.over(masked, indices)), S.Zero)


def _solution(body: Expr, indices: list[Index], right: Expr) -> Expr:
    """A system of equations is an inverse times its right side, for which lowering and printing look out again."""
    row, column = indices
    return nodes.Sum.over(nodes.Inverse.over(body, indices, (column, row)) * right, [row])


_MATRIX: dict[str, Callable[..., Expr]] = {
    "inv": lambda body, indices: nodes.Inverse.over(body, indices, indices),
    "det": nodes.Det.over,
    "logdet": nodes.LogDet.over,
    "solve": _solution,
    "cholesky": lambda body, indices: nodes.Cholesky.over(body, indices, indices),
}

_BINDERS: dict[str, Callable[[Expr, list[Index], Expr | None], Expr]] = {
    **{op: _reduction(op) for op in _NEUTRAL},
    "mean": _mean,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
}
