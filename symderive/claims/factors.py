"""Missing and superfluous factors that are numbers, sizes and constants: words for them, and claims with them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from fractions import Fraction

from symderive.claims.desk import Desk
from symderive.claims.lines import names_in
from symderive.claims.ratios import Ratio
from symderive.claims.trees import factors_of, negated, number, product_of, times
from symderive.spec import syntax
from symderive.spec.format import number_text


def scaled(ratio: Ratio, node: syntax.Node) -> syntax.Node:
    """The expression times a ratio: ``node / N`` where it is one over a size; ``2 * x`` is half of ``4 * x``."""
    if ratio.is_one:
        return node
    for name, power in ratio.powers:
        if power == 1 and (freed := _undivided(node, name)) is not None:
            return scaled(_without(ratio, name), freed)
        if power == -1 and ("*", syntax.Name(name)) in (factors := factors_of(node)):
            factors.remove(("*", syntax.Name(name)))
            return scaled(_without(ratio, name), product_of(factors))
    for change in (_number_changed, _divisor_changed):
        if ratio.number != 1 and (changed := change(node, ratio.number)) is not None:
            return scaled(Ratio(Fraction(1), ratio.powers), changed)
    if ratio.number != 1 and (lead := _lead(node)) is not None and node != number(lead):
        value = lead * ratio.number
        if (changed := _number_changed(node, value.numerator / lead)) is not None:
            return scaled(Ratio(Fraction(1), ratio.powers), _divided(changed, value.denominator))
    if ratio.number.numerator == 1 and ratio.number != 1 and not ratio.powers:
        return _divided(node, ratio.number.denominator)
    if ratio.number == 1 and ratio.powers and all(p < 0 for _, p in ratio.powers):
        for factor in factors_of(Ratio(Fraction(1), tuple((n, -p) for n, p in ratio.powers)).node):
            node = syntax.Binary("/", node, factor[1])
        return node
    return _before(ratio.node, node)


def _without(ratio: Ratio, name: str) -> Ratio:
    return Ratio(ratio.number, tuple(p for p in ratio.powers if p[0] != name))


def _before(factor: syntax.Node, node: syntax.Node) -> syntax.Node:
    """The factor in front of a product, without brackets: ``2 * X.T @ r``."""
    if isinstance(node, syntax.Unary) and node.op == "-":
        return times(negated(factor), node.operand)
    if isinstance(node, syntax.Binary) and node.op in ("*", "/", "@") and isinstance(factor, _ATOMS):
        return replace(node, left=_before(factor, node.left))
    if isinstance(node, syntax.Number) and not isinstance(factor, syntax.Number) and node != number(1):
        return syntax.Binary("*", node, factor)  # 2 * N
    return factor if node == number(1) else times(factor, node)


_ATOMS = (syntax.Number, syntax.Name, syntax.Call)


def _undivided(node: syntax.Node, name: str) -> syntax.Node | None:
    """The product without a division by a name; None where there is none."""
    if not isinstance(node, syntax.Binary) or node.op not in ("*", "/", "@"):
        return None
    if node.op == "/" and ("*", syntax.Name(name)) in (divisors := factors_of(node.right)):
        divisors.remove(("*", syntax.Name(name)))
        return replace(node, right=product_of(divisors)) if divisors else node.left
    left = _undivided(node.left, name)
    return None if left is None else replace(node, left=left)


def _lead(node: syntax.Node) -> Fraction | None:
    """The number that a product starts with."""
    while isinstance(node, syntax.Binary) and node.op in ("*", "/", "@"):
        node = node.left
    return node.value if isinstance(node, syntax.Number) and node.value else None


def _number_changed(node: syntax.Node, by: Fraction) -> syntax.Node | None:
    """The expression with the number that it starts with multiplied; None where it starts with none."""
    if isinstance(node, syntax.Number):
        value = node.value * by
        return number(value) if value.denominator == 1 or node.value.denominator != 1 else None
    if isinstance(node, syntax.Unary) and node.op == "-":
        inner = _number_changed(node.operand, by)
        return None if inner is None else negated(inner)
    if not isinstance(node, syntax.Binary) or node.op not in ("*", "/", "@"):
        return None
    left = _number_changed(node.left, by)
    if left is None:
        return None
    if node.op == "*" and left in (number(1), number(-1)):
        return node.right if left == number(1) else negated(node.right)
    return replace(node, left=left)


def _divided(node: syntax.Node, by: int) -> syntax.Node:
    """The expression divided by a number: ``a / (2 * N)`` where it is ``a / N``, ``a / 2`` where it is ``a``."""
    if isinstance(node, syntax.Binary) and node.op == "/":
        first = factors_of(node.right)[0][1]
        if not isinstance(first, syntax.Number):
            return replace(node, right=times(number(by), node.right))
    return syntax.Binary("/", node, number(by))


def _divisor_changed(node: syntax.Node, by: Fraction) -> syntax.Node | None:
    """The expression with a whole number by which it is divided multiplied the other way; None where there is none."""
    if not isinstance(node, syntax.Binary) or node.op not in ("*", "/"):
        return None
    if node.op == "/":
        divisors = factors_of(node.right)
        for n, (op, divisor) in enumerate(divisors):
            if op != "*" or not isinstance(divisor, syntax.Number) or (divisor.value / by).denominator != 1:
                continue
            changed = [] if divisor.value == by else [(op, number(divisor.value / by))]
            rest = [*divisors[:n], *changed, *divisors[n + 1 :]]
            return replace(node, right=product_of(rest)) if rest else node.left
    left = _divisor_changed(node.left, by)
    return None if left is None else replace(node, left=left)


def factor_words(ratio: Ratio, desk: Desk, where: str = "the claim", count: int = 1) -> tuple[str, str]:
    """The kind and the sentence for a missing or superfluous factor, of one or of several things."""
    s = "s" if count == 1 else ""
    names = [n for n, _ in ratio.powers]
    if names and abs(ratio.number) == 1 and set(names) <= set(desk.sizes) and len({p for _, p in ratio.powers}) == 1:
        name, power = " * ".join(names), ratio.powers[0][1]
        if power == -1 and not _takes_root(desk, names):
            sentence = f"A mean over {name} entries is taken, but {where} sum{s}: divide by {name}."
            return "mean_vs_sum", sentence
        if power == 1 and _averages(desk, names):
            sentence = f"{_upper(where)} take{s} a mean over {name} entries where a sum is meant: multiply by {name}."
            return "mean_vs_sum", sentence
    inverse = Ratio(1 / ratio.number, tuple((n, -p) for n, p in ratio.powers))
    has = "has" if count == 1 else "have"
    if abs(ratio.number) < 1 and not ratio.powers:
        sign = " and the wrong sign" if ratio.number < 0 else ""
        return "factor", f"{_upper(where)} {has} the factor {number_text(abs(inverse.number))} too much{sign}."
    sign = " and the sign is wrong" if ratio.number < 0 else ""
    if abs(ratio.number.numerator) == 1 and ratio.powers and all(p < 0 for _, p in ratio.powers):
        divisor = Ratio(abs(inverse.number), inverse.powers).node
        by = desk.text(divisor)
        if divisor == desk.node or divisor in _multiplied(desk.node):
            return "factor", f"{_upper(where)} {has} the factor {by} too much{sign}."
        place = "" if where == "the claim" else f" of {where}"
        return "factor", f"The division{place} by {by} is missing{sign}."
    place = "" if where == "the claim" else f" in {where}"
    text = desk.text(Ratio(abs(ratio.number), ratio.powers).node)
    return "factor", f"The factor {text} is missing{place}{sign}."


def _multiplied(node: syntax.Node) -> Iterator[syntax.Node]:
    """What something in an expression is multiplied by."""
    return (f for n in node.walk() for op, f in factors_of(n) if op == "*" and f != n)


def _averages(desk: Desk, names: Collection[str]) -> bool:
    """Whether a claim takes a mean, or divides by one of these sizes."""
    nodes = [desk.node, *(h.statement.sides[0] for h in desk.court.helpers if h.name in names_in(desk.node))]
    return any(takes(n, "mean") or any(_divides(inner, names) for inner in n.walk()) for n in nodes)


def _takes_root(desk: Desk, names: Collection[str]) -> bool:
    """Whether a claim has the root of one of these sizes, which belongs to no mean."""
    calls = (n for n in desk.node.walk() if isinstance(n, syntax.Call) and n.function in ("sqrt", "rsqrt"))
    return any(names_in(c) & set(names) for c in calls)


def _divides(node: syntax.Node, names: Collection[str]) -> bool:
    return isinstance(node, syntax.Binary) and node.op == "/" and bool(names_in(node.right) & set(names))


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def takes(node: syntax.Node, reduction: str) -> bool:
    """Whether an expression takes a sum or a mean somewhere."""
    return any(
        (isinstance(n, syntax.Method) and n.name == reduction) or (isinstance(n, syntax.Binder) and n.op == reduction)
        for n in node.walk()
    )
