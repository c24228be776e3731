"""Two expressions of different value never print alike: a bracket too few would make them."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from symderive.emit.code_math import code_latex
from symderive.emit.latex import IndexPrinter, array_latex, expression_latex
from symderive.emit.latex_names import Notation
from symderive.emit.latex_tex import Level
from symderive.spec.format import to_text
from symderive.spec.parse import parse_expression
from symderive.spec.sizes import size
from symderive.spec.syntax import (
    Access,
    Attribute,
    Binary,
    Binder,
    Call,
    Compare,
    Method,
    Name,
    Node,
    Number,
    Statement,
    Subscript,
    Unary,
)

ZERO, ONE = Number(Fraction(0)), Number(Fraction(1))
ENTRY = Access("x", (Name("k"),))
LEAVES = (Name("a"), Name("b"), Number(Fraction(3)), ENTRY)
VALUES = {"a": Fraction(3, 7), "b": Fraction(-5, 11)}
ROW = (Fraction(2, 13), Fraction(17, 3), Fraction(-1, 5))


def value(node: Node, k: int) -> Fraction:
    """The value of an index expression at k, exactly; a test of its own, that knows no LaTeX."""
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Name):
        return VALUES[node.id]
    if isinstance(node, Access):
        return ROW[k]
    if isinstance(node, Unary):
        return -value(node.operand, k)
    if isinstance(node, Binder):
        return OVER[node.op]([value(node.body, n) for n in range(3)])
    if isinstance(node, Compare):
        return Fraction(value(node.operands[0], k) < value(node.operands[1], k))
    if isinstance(node, Call):
        test, first, second = node.arguments
        return value(first, k) if value(test, k) else value(second, k)
    assert isinstance(node, Binary)
    left, right = value(node.left, k), value(node.right, k)
    return OPERATIONS[node.op](left, right)


OVER = {"sum": sum, "max": max, "mean": lambda row: sum(row) / 3}
OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b else Fraction(10**9),
    "%": lambda a, b: a % b if b else Fraction(10**9),
    "**": lambda a, b: a**2,
}


def bigger(draw: random.Random, parts: list[Node]) -> Node:
    """A random expression whose parts are given ones."""
    kind = draw.choice("+-*/+-*/%^n sxm cw".replace(" ", ""))
    left, right = draw.choice(parts), draw.choice(parts)
    if kind in "+-*/%":
        return Binary(kind, left, right)
    if kind == "^":
        return Binary("**", left, Number(Fraction(2)))
    if kind == "n":
        return Unary("-", left)
    if kind in "sxm":
        return Binder({"s": "sum", "x": "max", "m": "mean"}[kind], ("k",), None, left)
    test = Compare(("<",), (left, right))
    return test if kind == "c" else Call("where", (test, draw.choice((left, ZERO)), draw.choice((right, ZERO, ONE))))


def expressions(seed: int, count: int) -> list[Node]:
    draw = random.Random(seed)
    pool: list[Node] = list(LEAVES)
    for size_of_pool in (60, 400, count):
        pool = [*LEAVES, *(bigger(draw, pool) for _ in range(size_of_pool))]
    return pool


NUMBERS = Notation(shapes={"x": (size("K"),)}, numbers=frozenset(("a", "b")))


def alike(nodes: list[Node], least: Level) -> list[str]:
    """Expressions that print as others of another value do."""
    printer, known, found = IndexPrinter(NUMBERS), {}, []
    for node in nodes:
        latex = printer.text(node, least)
        first = known.setdefault(latex, node)
        if any(value(first, k) != value(node, k) for k in range(3)):
            found.append(f"{to_text(first)} and {to_text(node)}: {latex}")
    return found


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("least", [Level.ANY, Level.SUM, Level.PRODUCT, Level.ATOM], ids=lambda level: level.name)
def test_index_form(seed, least):
    assert alike(expressions(seed, 1200), least) == []


def test_the_search_sees_a_missing_bracket(monkeypatch):
    monkeypatch.setattr("symderive.emit.latex_tex.parentheses", lambda text: text)
    assert alike(expressions(0, 2000), Level.ANY)


MATRICES = {
    "A": np.array([[1.0, 2.5], [-0.5, 3.0]]),
    "B": np.array([[0.3, -1.0], [2.0, 0.7]]),
    "v": np.array([1.5, -2.0]),
    "s": np.array(1.7),
}
SQUARE = Notation(
    shapes={"A": (size("N"), size("N")), "B": (size("N"), size("N")), "v": (size("N"),), "s": ()},
)


def array_value(node: Node) -> np.ndarray:
    """The value of an expression of array form."""
    if isinstance(node, Number):
        return np.array(float(node.value))
    if isinstance(node, Name):
        return MATRICES[node.id]
    if isinstance(node, Unary):
        return -array_value(node.operand)
    if isinstance(node, Attribute):
        return array_value(node.value).T
    if isinstance(node, Method):
        whole = array_value(node.value)
        keep = bool(node.keywords)
        return {"sum": np.sum, "amax": np.max}[node.name](whole, axis=0 if node.arguments else None, keepdims=keep)
    if isinstance(node, Subscript):
        return array_value(node.value)[0]
    if isinstance(node, Call):
        return np.exp(array_value(node.arguments[0]) / 100)
    assert isinstance(node, Binary)
    left, right = np.asarray(array_value(node.left)), np.asarray(array_value(node.right))
    if node.op == "@":
        return left @ right
    return {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[node.op](left, right)


def array_expressions(seed: int, count: int) -> list[Node]:
    draw = random.Random(seed)
    leaves: list[Node] = [Name(name) for name in MATRICES]
    pool = list(leaves)
    for size_of_pool in (60, 400, count):
        pool = [*leaves, *(_bigger_array(draw, pool) for _ in range(size_of_pool))]
    return [node for node in pool if _is_sound(node)]


def _bigger_array(draw: random.Random, parts: list[Node]) -> Node:
    kind = draw.choice("+-*/@+-*@tsn0em")
    left, right = draw.choice(parts), draw.choice(parts)
    if kind in "+-*/@":
        return Binary(kind, left, right)
    if kind == "t":
        return Attribute(left, "T")
    if kind == "n":
        return Unary("-", left)
    if kind == "e":
        return Call("exp", (left,))
    name = "amax" if kind == "m" else "sum"
    return Method(left, name, () if kind == "s" else (ZERO,))


def _is_sound(node: Node) -> bool:
    try:
        with np.errstate(all="ignore"):
            return bool(np.isfinite(array_value(node)).all())
    except (ValueError, IndexError, np.exceptions.AxisError):
        return False


def arrays_alike(nodes: list[Node], latex_of) -> list[str]:
    known, found = {}, []
    for node in nodes:
        latex = latex_of(node)
        first = known.setdefault(latex, node)
        one, other = array_value(first), array_value(node)
        if one.shape != other.shape or not np.allclose(one, other, rtol=1e-9, atol=1e-12):
            found.append(f"{to_text(first)} and {to_text(node)}: {latex}")
    return found


@pytest.mark.parametrize("seed", range(2))
def test_array_form(seed):
    nodes = array_expressions(seed, 2000)
    assert len(nodes) > 800
    assert arrays_alike(nodes, lambda node: array_latex([Statement(Name("y"), (node,))], SQUARE)) == []


@pytest.mark.parametrize("seed", range(2))
def test_code(seed):
    nodes = array_expressions(seed, 1000)
    assert arrays_alike(nodes, lambda node: code_latex(_torch(node), SQUARE)) == []


def test_the_search_sees_a_missing_bracket_in_arrays(monkeypatch):
    monkeypatch.setattr("symderive.emit.latex_tex.parentheses", lambda text: text)
    nodes = array_expressions(0, 2000)
    assert arrays_alike(nodes, lambda node: array_latex([Statement(Name("y"), (node,))], SQUARE))


def test_the_search_sees_a_missing_bracket_in_code(monkeypatch):
    monkeypatch.setattr("symderive.emit.code_expressions.parentheses", lambda text: text)
    assert arrays_alike(array_expressions(0, 1000), lambda node: code_latex(_torch(node), SQUARE))


def _torch(node: Node) -> str:
    return "y = " + to_text(node).replace("exp(", "torch.exp(")


def test_expressions_that_are_equal_may_print_alike():
    same = [expression_latex(parse_expression(text), NUMBERS) for text in ("a + (b - a)", "a + b - a")]
    assert same[0] == same[1]
