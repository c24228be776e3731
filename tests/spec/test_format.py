"""Tree -> text: what is written reads back as the same tree, with no more brackets than needed."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symderive.errors import NOWHERE
from symderive.spec import syntax as s
from symderive.spec.format import number_text, to_text
from symderive.spec.parse import parse_expression, parse_statements
from symderive.spec.reader import Scalar
from symderive.spec.shapes import exact_number
from symderive.spec.source import Origin

AS_WRITTEN = [
    "sum[k](x[i, k] * W[j, k]) + b[j]",
    "(y - t)**2",
    "x / 2",
    "-a",
    "-a**2",
    "(-a)**2",
    "-a * b",
    "-(a * b)",
    "a - (b - c)",
    "a - b - c",
    "a / (b * c)",
    "a * (b / c)",
    "a - (-b)",
    "a**b**c",
    "(a**b)**c",
    "a**-b",
    "sum[k : k <= i](x[k])",
    "sum[...](dy[..., j] * x[..., k])",
    "x[n, h + r - 1]",
    "(i + 1) % N",
    "pad(x[i - 1], -inf)",
    "not a < b and (c or d)",
    "(a < b) < c",
    "(a and b) and c",
    "dy.sum(-1, keepdim=True)",
    "x[:, None] * y[None, 1:]",
    "(softmax(z, -1) - one_hot(t, C)) / N",
    "(A + A.T) @ x",
    "X.inv().T",
    'einsum("nk,jk->nj", x, W)',
    "solve[i, j](A[i, j], b[i] - 2 * c[i])",
    "cholesky[i, j](A[i, j] + delta(i, j))",
    "x.sum((0, 1))",
    "(a,)",
    "1e-5",
    "0.5",
    "1 / 2",
]


@pytest.mark.parametrize("text", AS_WRITTEN)
def test_idiomatic_text_is_kept(text):
    assert to_text(parse_expression(text)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 100000), "1e-5"),
        (Fraction(1, 2), "0.5"),
        (Fraction(3), "3"),
        (Fraction(-3, 4), "-0.75"),
        (Fraction(1, 3), "1 / 3"),
        (Fraction(-1, 3), "-(1 / 3)"),
        (Fraction(10**20), "1e20"),
        (Fraction(1234567), "1234567"),
        (Fraction(17, 10), "1.7"),
        (Fraction(123, 10**9), "1.23e-7"),
        (Fraction(0), "0"),
    ],
)
def test_numbers(value, text):
    assert number_text(value) == text


def test_a_number_that_no_decimal_equals_keeps_its_brackets():
    third = s.Number(Fraction(1, 3))
    assert to_text(s.Binary("**", s.Name("a"), third)) == "a**(1 / 3)"
    assert to_text(s.Binary("*", s.Name("a"), third)) == "a * (1 / 3)"


def test_statements():
    text = "dW[j, k] = a = sum[i](dy[i, j] * x[i, k])"
    (statement,) = parse_statements(text)
    assert to_text(statement) == text


OPERATORS = ["+", "-", "*", "/", "**", "//", "%", "@"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]


def grow(draw: random.Random, depth: int) -> s.Node:
    """A random tree of the kind that the parser makes."""
    if depth == 0 or draw.random() < 0.15:
        number = s.Number(Fraction(draw.randint(0, 10 ** draw.randint(0, 18)), 10 ** draw.randint(0, 25)))
        return draw.choice([s.Name("a"), s.Name("y_1"), s.Name("N"), number, s.Text("nk->n"), s.Keyword(True)])
    part = lambda: grow(draw, depth - 1)  # noqa: E731
    several = lambda least=1: tuple(part() for _ in range(draw.randint(least, 3)))  # noqa: E731
    maybe = lambda: draw.choice([None, part()])  # noqa: E731
    keywords = tuple((name, part()) for name in ("dim", "keepdim") if draw.random() < 0.3)
    operands = several(2)
    makers = [
        lambda: s.Unary(draw.choice("-+"), part()),
        lambda: s.Binary(draw.choice(OPERATORS), part(), part()),
        lambda: s.Binary(draw.choice(OPERATORS), part(), part()),
        lambda: s.Compare(tuple(draw.choice(COMPARISONS) for _ in operands[1:]), operands),
        lambda: s.Logical(draw.choice(["and", "or"]), operands),
        lambda: s.Not(part()),
        lambda: s.Access("x", tuple(s.Unary("-", p) for p in operands)),
        lambda: s.Access("x", (s.Batch(), s.Name("i"))),
        lambda: s.Call(draw.choice(["exp", "max"]), operands, keywords),
        lambda: s.Method(part(), "sum", operands, keywords),
        lambda: s.Attribute(part(), "T"),
        lambda: s.Binder(draw.choice(["sum", "inv"]), ("i", "j"), maybe(), part()),
        lambda: s.Subscript(part(), (s.Slice(maybe(), maybe(), maybe()), *operands, s.Keyword(None))),
        lambda: s.Listing(draw.choice([(), operands[:1], operands])),
    ]
    return draw.choice(makers)()


@pytest.mark.parametrize("seed", range(40))
def test_text_reads_back_as_the_same_tree(seed):
    draw = random.Random(seed)
    for _ in range(40):
        tree = grow(draw, draw.randint(1, 4))
        text = to_text(tree)
        assert parse_expression(text) == tree, text
        assert to_text(parse_expression(text)) == text


@given(st.fractions())
def test_every_number_keeps_its_value(value):
    text = number_text(value)
    assert exact_number(Scalar(NOWHERE, text, Origin(source=text), True), "it") == value
