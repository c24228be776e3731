"""How numbers, names, entries and operators print as LaTeX."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

from symderive.emit.latex_lines import measure
from symderive.emit.latex_printer import Handler, Printer
from symderive.emit.latex_signs import is_number, without_minus
from symderive.emit.latex_tail import Hole
from symderive.emit.latex_tex import Level, Tex, is_tall, negative, product, subscript, with_foot
from symderive.errors import UnsupportedError
from symderive.spec import syntax
from symderive.spec.syntax import Access, Binary, Binder, Call, Compare, Logical, Name, Node, Not, Number, Unary

RELATIONS = {"<": "<", "<=": r"\le", ">": ">", ">=": r"\ge", "==": "=", "!=": r"\neq"}
SHORT, LONG = 8.0, 30.0
"""The widths of a denominator up to which, and of a numerator from which, it is better written behind the fraction."""

CONNECTIVES = {"and": (r"\land", Level.AND, Level.NOT), "or": (r"\lor", Level.OR, Level.AND)}


def _number(printer: Printer, node: Number) -> Tex:
    value = node.value
    if value.denominator == 1:
        return Tex(str(value.numerator))
    if value.denominator > 8 and (decimal := _decimal(value)) is not None:
        return decimal
    if printer.small:
        return Tex(f"{value.numerator} / {value.denominator}", Level.PRODUCT)
    return Tex(rf"\frac{{{value.numerator}}}{{{value.denominator}}}", Level.FRACTION)


def _decimal(value: Fraction) -> Tex | None:
    """A number with few decimals in decimals, or as a multiple of a power of ten where it is tiny."""
    places = next((n for n in range(1, 40) if (value * 10**n).denominator == 1), None)
    if places is None or len(digits := str((value * 10**places).numerator)) > 12:
        return None
    if value >= Fraction(1, 1000):
        whole = digits.rjust(places + 1, "0")
        return Tex(f"{whole[:-places]}.{whole[-places:]}")
    exponent = len(digits) - 1 - places
    head = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    power = rf"10^{{{exponent}}}"
    return Tex(power, Level.POWER) if head == "1" else Tex(rf"{head} \cdot {power}", Level.PRODUCT)


def _name(printer: Printer, node: Name) -> Tex:
    if node.id in printer.notation.gradients or node.id in printer.notation.totals:
        return printer.whole(node.id) if printer.notation.rank(node.id) else printer.entry(node.id, ())
    return printer.entry(node.id, ())


def _batch(printer: Printer, node: syntax.Batch) -> Tex:
    return Tex(r"\ldots")


def _access(printer: Printer, node: Access) -> Tex:
    return printer.entry(node.tensor, [printer.index(item) for item in node.indices])


def _subscript(printer: Printer, node: syntax.Subscript) -> Tex:
    value = printer.text(node.value, Level.APPLY)
    return Tex(with_foot(value, subscript([printer.index(item) for item in node.items])), Level.POWER)


def _output(printer: Printer, node: syntax.Attribute) -> Tex:
    """One output of a called spec."""
    return Tex(rf"{printer.text(node.value, Level.APPLY)}^{{({printer.notation.text(node.name)})}}", Level.APPLY)


def _unary(printer: Printer, node: Unary) -> Tex:
    operand = printer.number(node.operand, Level.PRODUCT)
    return negative(operand) if node.op == "-" else operand


def _add(printer: Printer, node: Binary) -> Tex:
    terms = printer.terms(node)
    return Tex(" ".join(terms), Level.SUM)


def _multiply(printer: Printer, node: Binary) -> Tex:
    factors = [printer.number(factor, Level.PRODUCT) for factor in factors_of(node, "*")]
    reaching = [factor for factor in factors if factor.open]
    if len(reaching) == 1:
        factors = [factor for factor in factors if not factor.open] + reaching
    return product(factors)


def factors_of(node: Node, op: str) -> list[Node]:
    """The factors of a product, left to right."""
    if isinstance(node, Binary) and node.op == op:
        return [*factors_of(node.left, op), *factors_of(node.right, op)]
    return [node]


def _divide(printer: Printer, node: Binary) -> Tex:
    """A fraction; what is large stands behind it, and a minus in front."""
    if (minus_and_rest := without_minus(node))[0]:
        return negative(printer.number(minus_and_rest[1], Level.PRODUCT))
    if isinstance(node.left, Binary) and node.left.op == "/":
        inner = node.left
        return _divide(printer, Binary("/", inner.left, Binary("*", inner.right, node.right)))
    if printer.small:
        above, below = printer.text(node.left, Level.PRODUCT), printer.text(node.right, Level.APPLY)
        return Tex(f"{above} / {below}", Level.PRODUCT)
    above, below = printer.text(node.left), printer.text(node.right)
    if not _is_large(node.left) and (measure(below) > SHORT or (not is_tall(above) and measure(above) <= LONG)):
        return Tex(rf"\frac{{{above}}}{{{below}}}", Level.FRACTION)
    factors = factors_of(node.left, "*")
    count = 1 if isinstance(factors[0], Number) and len(factors) > 1 else 0
    share = Tex(rf"\frac{{{printer.text(factors[0]) if count else 1}}}{{{below}}}", Level.FRACTION)
    rest = reduce(lambda left, right: Binary("*", left, right), factors[count:])
    return product([share, printer.number(rest, Level.PRODUCT)])


def _is_large(node: Node) -> bool:
    """Whether a numerator has a big operator or cases, and stands better behind its fraction."""
    if isinstance(node, Binary) and node.op in "+-*":
        return _is_large(node.left) or _is_large(node.right)
    if isinstance(node, Call) and node.function == "where":
        return True
    if isinstance(node, Unary):
        return _is_large(node.operand)
    if isinstance(node, Hole):
        return True
    return isinstance(node, Binder) and node.op in ("sum", "prod", "mean", "logsumexp")


def _floor_divide(printer: Printer, node: Binary) -> Tex:
    quotient = (printer if not printer.small else printer.script).text(Binary("/", node.left, node.right))
    return Tex(rf"\left\lfloor {quotient} \right\rfloor")


def _modulo(printer: Printer, node: Binary) -> Tex:
    left, right = printer.text(node.left, Level.PRODUCT), printer.text(node.right, Level.FRACTION)
    return Tex(rf"{left} \bmod {right}", Level.MODULO)


def _power(printer: Printer, node: Binary) -> Tex:
    if _is_half(node.right):
        return Tex(rf"\sqrt{{{printer.text(node.left)}}}")
    exponent = printer.script.text(node.right)
    return Tex(rf"{printer.text(node.left, Level.ATOM)}^{{{exponent}}}", Level.POWER)


def _is_half(node: Node) -> bool:
    if isinstance(node, Binary) and node.op == "/":
        return is_number(node.left, 1) and is_number(node.right, 2)
    return isinstance(node, Number) and node.value == Fraction(1, 2)


OPERATORS: dict[str, Handler] = {
    "+": _add,
    "-": _add,
    "*": _multiply,
    "/": _divide,
    "//": _floor_divide,
    "%": _modulo,
    "**": _power,
}


def _binary(printer: Printer, node: Binary) -> Tex:
    if node.op not in OPERATORS:
        raise UnsupportedError(f"{node.op} has no LaTeX in index form")
    return OPERATORS[node.op](printer, node)


def _compare(printer: Printer, node: Compare) -> Tex:
    texts = [printer.text(operand, Level.SUM) for operand in node.operands]
    for op, text in zip(node.ops, texts[1:], strict=True):
        texts[0] += f" {RELATIONS[op]} {text}"
    return Tex(texts[0], Level.COMPARE)


def _logical(printer: Printer, node: Logical) -> Tex:
    sign, level, least = CONNECTIVES[node.op]
    return Tex(f" {sign} ".join(printer.condition(operand, least) for operand in node.operands), level)


def _not(printer: Printer, node: Not) -> Tex:
    return Tex(rf"\lnot {printer.condition(node.operand, Level.APPLY)}", Level.NOT)


NODES: dict[type[Node], Handler] = {
    Number: _number,
    Name: _name,
    syntax.Batch: _batch,
    Access: _access,
    syntax.Subscript: _subscript,
    syntax.Attribute: _output,
    Unary: _unary,
    Binary: _binary,
    Compare: _compare,
    Logical: _logical,
    Not: _not,
}
