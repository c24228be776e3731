"""Small tools for syntax trees: places in them, replacements, sums and products as lists, builders."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any, TypeGuard

from symderive.spec import syntax

Place = tuple[tuple[str, int | None], ...]
"""The way from the root to a node: a field, and a position in it if it is a tuple."""


def places(node: syntax.Node, here: Place = ()) -> Iterator[tuple[Place, syntax.Node]]:
    """Every node with its place, parents first."""
    yield here, node
    for part in fields(node):
        value = getattr(node, part.name)
        if isinstance(value, syntax.Node):
            yield from places(value, (*here, (part.name, None)))
        elif isinstance(value, tuple):
            for position, item in enumerate(value):
                if isinstance(item, syntax.Node):
                    yield from places(item, (*here, (part.name, position)))


def put(node: syntax.Node, place: Place, new: syntax.Node) -> syntax.Node:
    """The tree with the node at ``place`` replaced."""
    if not place:
        return new
    (name, position), rest = place[0], place[1:]
    value = getattr(node, name)
    if position is None:
        single: dict[str, Any] = {name: put(value, rest, new)}
        return replace(node, **single)
    items = list(value)
    items[position] = put(items[position], rest, new)
    changes: dict[str, Any] = {name: tuple(items)}
    return replace(node, **changes)


def get(node: syntax.Node, place: Place) -> syntax.Node:
    """The node at a place."""
    for name, position in place:
        value = getattr(node, name)
        node = value if position is None else value[position]
    return node


def terms_of(node: syntax.Node) -> list[tuple[int, syntax.Node]]:
    """A chain of ``+`` and ``-`` as signs and terms."""
    if isinstance(node, syntax.Binary) and node.op in ("+", "-"):
        sign = 1 if node.op == "+" else -1
        return [*terms_of(node.left), *((sign * s, t) for s, t in terms_of(node.right))]
    if isinstance(node, syntax.Unary):
        sign = -1 if node.op == "-" else 1
        return [(sign * s, t) for s, t in terms_of(node.operand)]
    return [(1, node)]


def without_minus(product: syntax.Node) -> syntax.Node | None:
    """``a * b`` of ``-a * b``, whose minus Python gives to the first factor; None where there is none."""
    match product:
        case syntax.Unary(op="-", operand=operand):
            return operand
        case syntax.Binary(op="*" | "/", left=left) if (positive := without_minus(left)) is not None:
            return replace(product, left=positive)
    return None


def sum_of(terms: Sequence[tuple[int, syntax.Node]]) -> syntax.Node:
    """The chain of signed terms."""
    if not terms:
        return number(0)
    ordered = [t for t in terms if t[0] > 0][:1]
    rest = [t for t in terms if not ordered or t is not ordered[0]]
    if ordered:
        result = ordered[0][1]
    else:
        result, rest = negated(terms[0][1]), list(terms[1:])
    for sign, term in rest:
        result = syntax.Binary("+" if sign > 0 else "-", result, term)
    return result


def factors_of(node: syntax.Node) -> list[tuple[str, syntax.Node]]:
    """A chain of ``*`` and ``/`` as factors, each with the operator before it."""
    if isinstance(node, syntax.Binary) and node.op in ("*", "/"):
        return [*factors_of(node.left), (node.op, node.right)]
    return [("*", node)]


def product_of(factors: Sequence[tuple[str, syntax.Node]]) -> syntax.Node:
    """The chain of factors."""
    result: syntax.Node | None = None
    for op, factor in factors:
        if result is None:
            result = factor if op == "*" else syntax.Binary("/", number(1), factor)
        else:
            result = syntax.Binary(op, result, factor)
    return number(1) if result is None else result


def lowered(power: syntax.Binary, by: int = 1) -> syntax.Node:
    """``x**(p - 1)`` of ``x**p``."""
    if (exponent := constant(power.right)) is not None:
        left = exponent - by
        if left == 1:
            return power.left
        if left.denominator == 1 or isinstance(power.right, syntax.Number):
            return replace(power, right=number(left))
        return replace(power, right=syntax.Binary("/", number(left.numerator), number(left.denominator)))
    return replace(power, right=syntax.Binary("-" if by > 0 else "+", power.right, number(abs(by))))


def constant(node: syntax.Node) -> Fraction | None:
    """The number that an expression of numbers is: ``-3/2``; None for others."""
    match node:
        case syntax.Number(value=value):
            return value
        case syntax.Unary("-", inner) if (negative := constant(inner)) is not None:
            return -negative
        case syntax.Binary("/", a, b) if (top := constant(a)) is not None and (bottom := constant(b)):
            return top / bottom
    return None


def number(value: Fraction | int) -> syntax.Node:
    """A number as it is written."""
    value = Fraction(value)
    if value < 0:
        return syntax.Unary("-", number(-value))
    if value.denominator == 1 or _decimal(value):
        return syntax.Number(value)
    return syntax.Binary("/", number(value.numerator), number(value.denominator))


def _decimal(value: Fraction) -> bool:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1 and value.denominator <= 1000


def times(factor: syntax.Node, node: syntax.Node) -> syntax.Node:
    """``factor * node``; a factor that is the number 1 is left out."""
    if isinstance(factor, syntax.Number) and factor.value == 1:
        return node
    return syntax.Binary("*", factor, node)


def negated(node: syntax.Node) -> syntax.Node:
    """``-node``, without a double sign and in few signs: ``x * (t - y)`` of ``x * (y - t)``, ``-2 * x`` of ``2 * x``.

    Sums and means of differences are negated inside.
    """
    if isinstance(node, syntax.Unary) and node.op == "-":
        return node.operand
    if _is_difference(node):
        assert isinstance(node, syntax.Binary)
        return replace(node, left=node.right, right=node.left)
    if (turned := _turned(node)) is not None:
        return turned
    if isinstance(node, syntax.Binary) and node.op in ("*", "/", "@"):
        first = node
        while isinstance(first.left, syntax.Binary) and first.left.op in ("*", "/", "@"):
            first = first.left
        return _with_first(node, negated(first.left))
    if isinstance(node, syntax.Number):
        return number(-node.value)
    return syntax.Unary("-", node)


def multiplied(node: syntax.Node, factor: syntax.Node) -> syntax.Node:
    """``node * factor``, where what is divided by is not multiplied by first, nor the other way round."""
    factors = factors_of(node)
    for op, part in factors_of(factor):
        inverse = ("/" if op == "*" else "*"), part
        if inverse in factors:
            factors.remove(inverse)
        elif part != number(1):
            factors.append((op, part))
    return product_of(factors)


def tidied(node: syntax.Node) -> syntax.Node:
    """``x`` for ``-(-x)``, ``1 * x``, ``x / 1``, ``0 + x`` and ``2 * (x / 2)``, ``-x`` for ``-1 * x``, 0 for ``-0``."""
    match node:
        case syntax.Binary("+", syntax.Number(value=0), inner) | syntax.Binary(
            "+" | "-", inner, syntax.Number(value=0)
        ):
            return inner
        case syntax.Unary("-", syntax.Number(value=0)):
            return node.operand
        case syntax.Binary("*", syntax.Number() as by, syntax.Binary("/", inner, syntax.Number() as other)) if (
            by == other
        ):
            return inner
        case syntax.Binary("*" | "/", inner, syntax.Number(value=1)) | syntax.Binary(
            "*", syntax.Number(value=1), inner
        ):
            return inner
        case syntax.Binary("*", syntax.Unary("-", syntax.Number(value=1)), inner):
            return negated(inner)
        case syntax.Unary("-", syntax.Unary("-", inner)):
            return inner
        case syntax.Binary("*", syntax.Unary("-", factor), syntax.Unary("-", inner)):
            return times(factor, inner)
    return node


def _turned(node: syntax.Node) -> syntax.Node | None:
    """A product or a sum with a difference in it the other way round; None where there is none."""
    if _is_difference(node):
        return negated(node)
    if isinstance(node, syntax.Unary) and node.op == "-":
        return node.operand
    parts: tuple[str, ...] = ()
    if isinstance(node, syntax.Binary) and node.op in ("*", "/", "@"):
        parts = ("left",) if node.op == "/" else ("left", "right")
    elif isinstance(node, syntax.Binder) and node.op in ("sum", "mean"):
        parts = ("body",)
    elif isinstance(node, syntax.Method) and node.name in ("sum", "mean"):
        parts = ("value",)
    for name in parts:
        if (turned := _turned(getattr(node, name))) is not None:
            changes: dict[str, Any] = {name: turned}
            return replace(node, **changes)
    return None


def _is_difference(node: syntax.Node) -> bool:
    """Whether a node is ``a - b`` of two terms."""
    if not isinstance(node, syntax.Binary) or node.op != "-":
        return False
    parts = (node.left, node.right)
    return not any(isinstance(p, syntax.Unary) or (isinstance(p, syntax.Binary) and p.op in ("+", "-")) for p in parts)


def _with_first(node: syntax.Node, new: syntax.Node) -> syntax.Node:
    """A chain of products with another first operand."""
    if isinstance(node, syntax.Binary) and node.op in ("*", "/", "@"):
        return replace(node, left=_with_first(node.left, new))
    return new


def method(node: syntax.Node, name: str, *arguments: syntax.Node, keepdim: bool = False) -> syntax.Method:
    """``node.name(arguments)``."""
    keywords: tuple[tuple[str, syntax.Node], ...] = (("keepdim", syntax.Keyword(True)),) if keepdim else ()
    return syntax.Method(node, name, tuple(arguments), keywords)


def column(node: syntax.Node) -> syntax.Node:
    """``v[:, None]``."""
    return syntax.Subscript(node, (syntax.Slice(None, None, None), syntax.Keyword(None)))


def axis(value: int) -> syntax.Node:
    """An axis as an argument."""
    return number(value)


def transpose(node: syntax.Node) -> syntax.Node:
    """``A.T``, ``A`` of ``A.T``, ``-A.T`` of ``-A``."""
    if isinstance(node, syntax.Attribute) and node.name == "T":
        return node.value
    if isinstance(node, syntax.Unary):
        return replace(node, operand=transpose(node.operand))
    return syntax.Attribute(node, "T")


def rename(node: syntax.Node, names: dict[str, str]) -> syntax.Node:
    """The expression with indices renamed, bound ones too."""
    if isinstance(node, syntax.Name):
        return replace(node, id=names.get(node.id, node.id))
    changes: dict[str, Any] = {}
    if isinstance(node, syntax.Binder):
        changes["indices"] = tuple(names.get(i, i) for i in node.indices)
    for part in fields(node):
        value = getattr(node, part.name)
        if isinstance(value, syntax.Node) and part.name != "span":
            changes[part.name] = rename(value, names)
        elif isinstance(value, tuple) and any(isinstance(v, syntax.Node) for v in value):
            changes[part.name] = tuple(rename(v, names) if isinstance(v, syntax.Node) else v for v in value)
    return replace(node, **changes) if changes else node


def in_letters(right: syntax.Node, names: Mapping[str, str], known: Collection[str]) -> syntax.Node:
    """The expression with its free indices renamed; bound ones in the way get letters that are not ``known`` names."""
    bound = bound_in(right) - set(names)
    taken = {n.id for n in right.walk() if isinstance(n, syntax.Name)} | bound | {*names.values(), *known}
    spare = (f"{c}{n}" for n in ("", "_") for c in "klmnpqrsuvwabcdefghijotxyz" if f"{c}{n}" not in taken)
    moved = {i: next(spare) for i in sorted(bound) if i in names.values()}
    return rename(right, {**moved, **names})


def substitute(node: syntax.Node, indices: dict[str, syntax.Node]) -> syntax.Node:
    """The expression with free indices replaced by index expressions; bound ones must have other names."""
    if isinstance(node, syntax.Name):
        return indices.get(node.id, node)
    if isinstance(node, syntax.Batch):
        return indices.get(syntax.BATCH, node)
    changes: dict[str, Any] = {}
    if isinstance(node, syntax.Binder) and set(node.indices) & set(indices):
        # softmax[k](...) keeps k free: the index must stay an index, so only a new name can be put in
        names = {i: n.id for i, n in indices.items() if isinstance(n, syntax.Name)}
        changes["indices"] = tuple(names.get(i, i) for i in node.indices)
    for part in fields(node):
        value = getattr(node, part.name)
        if isinstance(value, syntax.Node):
            changes[part.name] = substitute(value, indices)
        elif isinstance(value, tuple) and any(isinstance(v, syntax.Node) for v in value):
            changes[part.name] = tuple(substitute(v, indices) if isinstance(v, syntax.Node) else v for v in value)
    return replace(node, **changes) if changes else node


def is_access(node: syntax.Node) -> TypeGuard[syntax.Access]:
    """Whether a node reads an entry of a tensor."""
    return isinstance(node, syntax.Access)


def tensor_of(node: syntax.Node) -> str:
    """The name of a tensor that an access or a bare name may be, else nothing."""
    return node.tensor if isinstance(node, syntax.Access) else node.id if isinstance(node, syntax.Name) else ""


def bound_in(node: syntax.Node) -> set[str]:
    """The indices that binders of an expression name."""
    return {i for n in node.walk() if isinstance(n, syntax.Binder) for i in n.indices}


def binders_above(node: syntax.Node, place: Place) -> list[str]:
    """The indices that are bound at a place."""
    found: list[str] = []
    for depth in range(len(place)):
        above = get(node, place[:depth])
        if isinstance(above, syntax.Binder) and place[depth][0] in ("body", "condition", "more"):
            found.extend(i for i in above.indices if i not in found)
    return found


def map_nodes(node: syntax.Node, change: Any) -> syntax.Node:
    """The tree with ``change`` applied to every node, innermost first."""
    parts = {}
    for part in fields(node):
        value = getattr(node, part.name)
        mapped = _map_value(value, change)
        if mapped is not value:
            parts[part.name] = mapped
    return change(replace(node, **parts) if parts else node)  # type: ignore[no-any-return]


def _map_value(value: Any, change: Any) -> Any:
    if isinstance(value, syntax.Node):
        return map_nodes(value, change)
    if isinstance(value, tuple):
        mapped = tuple(_map_value(v, change) for v in value)
        return mapped if any(a is not b for a, b in zip(mapped, value, strict=True)) else value
    return value
