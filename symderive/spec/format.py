"""Syntax tree -> text, with no more brackets than the grammar needs: what it writes reads back as the same tree."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import singledispatch

from symderive.spec import syntax as s
from symderive.spec.parse import AND, COMPARE, LEFT_ASSOCIATIVE, NOT, OR, POWER, PRODUCT, SUM, UNARY

ATOM = POWER + 1
_LOGICAL = {"or": OR, "and": AND}


def to_text(node: s.Node) -> str:
    """The text of an expression or a statement."""
    return _text(node)[0]


def number_text(value: Fraction) -> str:
    """A number as it is written: ``3``, ``0.5``, ``1e-5``; ``1 / 3`` where no decimal is exact."""
    return _number(abs(value))[0] if value >= 0 else f"-{_at(s.Number(-value), UNARY)}"


def _at(node: s.Node, level: int) -> str:
    """The text of ``node`` where operators of ``level`` or looser need brackets."""
    text, binds = _text(node)
    return text if binds >= level else f"({text})"


def _list(nodes: Iterable[s.Node]) -> str:
    return ", ".join(to_text(n) for n in nodes)


@singledispatch
def _text(node: s.Node) -> tuple[str, int]:
    """The text of a node and how tightly its outermost operator binds."""
    raise TypeError(f"no text form for {type(node).__name__}: add one to symderive.spec.format")


@_text.register
def _text_number(node: s.Number) -> tuple[str, int]:
    if node.value < 0:
        return number_text(node.value), UNARY
    return _number(node.value)


def _number(value: Fraction) -> tuple[str, int]:
    twos = fives = 0
    rest = value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return f"{value.numerator} / {value.denominator}", PRODUCT
    places = max(twos, fives)
    return _decimal(value.numerator * 10**places // value.denominator, places), ATOM


def _decimal(digits: int, places: int) -> str:
    """``digits * 10**-places``, plainly or with an exponent, whichever a person would write."""
    text = str(digits)
    significant = text.rstrip("0") or "0"
    exponent = len(text) - 1 - places
    if -5 < exponent < 16 or digits == 0:
        if places == 0:
            return text
        padded = text.rjust(places + 1, "0")
        return f"{padded[:-places]}.{padded[-places:]}"
    mantissa = significant[0] + ("." + significant[1:] if len(significant) > 1 else "")
    return f"{mantissa}e{exponent}"


@_text.register
def _text_name(node: s.Name) -> tuple[str, int]:
    return node.id, ATOM


@_text.register
def _text_batch(node: s.Batch) -> tuple[str, int]:
    return "...", ATOM


@_text.register
def _text_access(node: s.Access) -> tuple[str, int]:
    return f"{node.tensor}[{_list(node.indices)}]", ATOM


@_text.register
def _text_unary(node: s.Unary) -> tuple[str, int]:
    return f"{node.op}{_at(node.operand, UNARY)}", UNARY


@_text.register
def _text_binary(node: s.Binary) -> tuple[str, int]:
    if node.op == "**":
        return f"{_at(node.left, POWER + 1)}**{_at(node.right, UNARY)}", POWER
    level = LEFT_ASSOCIATIVE[node.op]
    right = _at(node.right, level + 1)
    if level == SUM and right.startswith(("-", "+")):
        right = f"({right})"
    return f"{_at(node.left, level)} {node.op} {right}", level


@_text.register
def _text_compare(node: s.Compare) -> tuple[str, int]:
    parts = [_at(node.operands[0], COMPARE + 1)]
    for op, operand in zip(node.ops, node.operands[1:], strict=True):
        parts += [op, _at(operand, COMPARE + 1)]
    return " ".join(parts), COMPARE


@_text.register
def _text_logical(node: s.Logical) -> tuple[str, int]:
    level = _LOGICAL[node.op]
    return f" {node.op} ".join(_at(o, level + 1) for o in node.operands), level


@_text.register
def _text_not(node: s.Not) -> tuple[str, int]:
    return f"not {_at(node.operand, NOT)}", NOT


def _arguments(node: s.Call | s.Method) -> str:
    named = (f"{name}={to_text(value)}" for name, value in node.keywords)
    return ", ".join([*(to_text(a) for a in node.arguments), *named])


@_text.register
def _text_call(node: s.Call) -> tuple[str, int]:
    return f"{node.function}({_arguments(node)})", ATOM


@_text.register
def _text_binder(node: s.Binder) -> tuple[str, int]:
    condition = f" : {to_text(node.condition)}" if node.condition is not None else ""
    operands = ", ".join(to_text(e) for e in (node.body, *node.more))
    return f"{node.op}[{', '.join(node.indices)}{condition}]({operands})", ATOM


def _value(node: s.Node) -> str:
    """What stands before a dot or a bracket."""
    return f"({to_text(node)})" if isinstance(node, s.Number) else _at(node, ATOM)


@_text.register
def _text_attribute(node: s.Attribute) -> tuple[str, int]:
    return f"{_value(node.value)}.{node.name}", ATOM


@_text.register
def _text_method(node: s.Method) -> tuple[str, int]:
    return f"{_value(node.value)}.{node.name}({_arguments(node)})", ATOM


@_text.register
def _text_subscript(node: s.Subscript) -> tuple[str, int]:
    return f"{_value(node.value)}[{_list(node.items)}]", ATOM


@_text.register
def _text_slice(node: s.Slice) -> tuple[str, int]:
    start, stop, step = ("" if p is None else to_text(p) for p in (node.start, node.stop, node.step))
    return f"{start}:{stop}" + (f":{step}" if step else ""), 0


@_text.register
def _text_keyword(node: s.Keyword) -> tuple[str, int]:
    return str(node.value), ATOM


@_text.register
def _text_text(node: s.Text) -> tuple[str, int]:
    quote = "'" if '"' in node.value else '"'
    return f"{quote}{node.value}{quote}", ATOM


@_text.register
def _text_listing(node: s.Listing) -> tuple[str, int]:
    return f"({_list(node.items)}{',' if len(node.items) == 1 else ''})", ATOM


@_text.register
def _text_statement(node: s.Statement) -> tuple[str, int]:
    return " = ".join(to_text(part) for part in (node.left, *node.sides)), 0
