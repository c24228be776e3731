"""Size expressions and exact numbers as a spec writes them: syntax -> SymPy, and which sizes the inputs determine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import cast

from sympy import Expr, Integer, Mod, Symbol, expand, floor

from symderive.errors import Span, SpecError
from symderive.spec import syntax as s
from symderive.spec.format import to_text
from symderive.spec.names import Namespace
from symderive.spec.parse import parse_expression
from symderive.spec.reader import Scalar
from symderive.spec.sizes import BATCH_SIZE, size

MAX_DIGITS = 1000
MAX_TERMS = 64
MAX_INTEGER = 10**12


def exact_number(scalar: Scalar, what: str) -> Fraction:
    """The exact value of a number such as ``3``, ``1e-5``, ``-0.5`` or ``1/3``."""
    node = parse_expression(scalar.text, scalar.origin)
    value = _fold(node, scalar, what)
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 4 * MAX_DIGITS:
        raise scalar.origin.error(f"{what} has more than {MAX_DIGITS} digits", node.span)
    return value


def _fold(node: s.Node, scalar: Scalar, what: str) -> Fraction:
    if isinstance(node, s.Number):
        return node.value
    if isinstance(node, s.Unary):
        value = _fold(node.operand, scalar, what)
        return -value if node.op == "-" else value
    if isinstance(node, s.Binary) and node.op in ("+", "-", "*", "/", "**"):
        left, right = _fold(node.left, scalar, what), _fold(node.right, scalar, what)
        return _operate(node, left, right, scalar)
    hint = "a number such as 3, 0.5, 1e-5 or 1/3"
    raise scalar.origin.error(f"{what} must be a number, not '{to_text(node)[:60]}'", node.span, hint)


def _operate(node: s.Binary, left: Fraction, right: Fraction, scalar: Scalar) -> Fraction:
    if node.op == "+":
        return left + right
    if node.op == "-":
        return left - right
    if node.op == "*":
        return left * right
    if node.op == "/":
        if right == 0:
            raise scalar.origin.error("a division by zero", node.span)
        return left / right
    if right.denominator != 1 or abs(right) > MAX_DIGITS or (left == 0 and right < 0):
        raise scalar.origin.error("this power is not a rational number of reasonable length", node.span)
    if max(left.numerator.bit_length(), left.denominator.bit_length()) * abs(right) > 4 * MAX_DIGITS:
        raise scalar.origin.error(f"a number of more than {MAX_DIGITS} digits", node.span)
    return left ** int(right)


class SizeReader:
    """Size expressions over the sizes and integer constants of one spec."""

    def __init__(self, names: Namespace, constants: Mapping[str, Fraction]) -> None:
        self.names = names
        self.constants = constants

    def _error(self, message: str, span: Span, hint: str | None = None) -> SpecError:
        return self.names.error(message, span, hint)

    def read(self, scalar: Scalar) -> Expr:
        """The size expression that a scalar writes."""
        node = parse_expression(scalar.text, scalar.origin)
        self._bounded(node)
        return self._expression(node)

    def _bounded(self, node: s.Node) -> None:
        """Refuse what multiplies out to more than MAX_TERMS terms, or has large numbers."""
        if _terms(node) > MAX_TERMS:
            raise self._error("this size expression is too large", node.span, f"at most {MAX_TERMS} terms")
        for part in node.walk():
            if isinstance(part, s.Number) and part.value > MAX_INTEGER:
                raise self._error("this number is too large for a size", part.span, f"at most {MAX_INTEGER:,}")

    def _expression(self, node: s.Node) -> Expr:
        """A size expression: integers, sizes, integer constants, ``+ - * // %``."""
        if isinstance(node, s.Number):
            if node.value.denominator != 1:
                raise self._error(f"a size is an integer, not {to_text(node)}", node.span)
            return Integer(node.value.numerator)
        if isinstance(node, s.Name):
            return self._name(node)
        if isinstance(node, s.Unary):
            value = self._expression(node.operand)
            return -value if node.op == "-" else value
        if isinstance(node, s.Binary):
            return self._binary(node)
        hint = "a size is an integer expression of sizes, such as N, H - R + 1 or D // 2"
        raise self._error(f"'{to_text(node)[:60]}' is not a size expression", node.span, hint)

    def _name(self, node: s.Name) -> Expr:
        role = self.names.role(node.id)
        if role == "size":
            return size(node.id)
        if role == "constant":
            value = self.constants[node.id]
            if value.denominator != 1:
                raise self._error(f"the constant '{node.id}' is not an integer, so it cannot be a size", node.span)
            return Integer(value.numerator)
        if role is not None:
            raise self._error(f"'{node.id}' is {role}, not a size", node.span)
        hint = self.names.like(node.id, ("size", "constant")) or f"add it to `sizes`, as in `sizes: {{{node.id}: 4}}`"
        raise self._error(f"unknown size '{node.id}'", node.span, hint)

    def _binary(self, node: s.Binary) -> Expr:
        if node.op in ("/", "@") or (node.op == "**" and not isinstance(node.right, s.Number)):
            hint = "write // for a quotient that is rounded down" if node.op == "/" else None
            raise self._error(f"'{node.op}' cannot stand in a size expression", node.span, hint)
        left, right = self._expression(node.left), self._expression(node.right)
        if node.op in ("//", "%") and right == 0:
            raise self._error("a division by zero", node.span)
        if node.op == "+":
            return left + right
        if node.op == "-":
            return left - right
        if node.op == "*":
            return left * right
        if node.op == "//":
            return floor(left / right)
        if node.op == "%":
            return Mod(left, right)
        return left**right


def _terms(node: s.Node) -> int:
    """How many terms a size expression has at most when it is multiplied out."""
    if isinstance(node, s.Binary):
        left, right = _terms(node.left), _terms(node.right)
        if node.op == "*":
            return min(left * right, MAX_TERMS + 1) if max(left, right) > 1 else _factors(node)
        if node.op == "**":
            power = int(node.right.value) if isinstance(node.right, s.Number) else MAX_TERMS
            return MAX_TERMS + 1 if power > 8 or not isinstance(node.left, s.Name | s.Number) else 1
        return left + right
    return sum(_terms(child) for child in node.children()) or 1


def _factors(node: s.Node) -> int:
    """1, or too many where a product has more factors than a size needs."""
    return 1 if sum(1 for _ in node.walk()) < MAX_TERMS else MAX_TERMS + 1


def solvable_sizes(extents: Iterable[Expr]) -> set[str]:
    """The sizes that the extents of the inputs' axes determine, solving one linear equation after another."""
    known: set[Symbol] = set()
    waiting = [e for e in extents if e != BATCH_SIZE]
    while True:
        later = []
        for extent in waiting:
            unknown = extent.free_symbols - known
            if len(unknown) == 1 and _is_linear(extent, cast(Symbol, next(iter(unknown)))):
                known |= unknown
            elif unknown:
                later.append(extent)
        if len(later) == len(waiting):
            return {symbol.name for symbol in known}
        waiting = later


def _is_linear(extent: Expr, symbol: Symbol) -> bool:
    if extent == symbol:
        return True
    slope = expand(extent).coeff(symbol, 1)
    rest = expand(extent - slope * symbol)
    return slope != 0 and symbol not in slope.free_symbols | rest.free_symbols
