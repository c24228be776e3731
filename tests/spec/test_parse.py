"""Text -> tree: precedence as in Python, both forms in one grammar, exact numbers, true positions, bounds."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest

from symderive.errors import Span, SpecError
from symderive.spec import syntax as s
from symderive.spec.claims import parse_lines
from symderive.spec.parse import MAX_DEPTH, parse_expression, parse_statements
from symderive.spec.source import Origin


def n(value: int | str) -> s.Number:
    return s.Number(Fraction(value))


a, b, c, x = (s.Name(i) for i in "abcx")

TREES = [
    ("-a**2", s.Unary("-", s.Binary("**", a, n(2)))),
    ("a**-b", s.Binary("**", a, s.Unary("-", b))),
    ("a**b**c", s.Binary("**", a, s.Binary("**", b, c))),
    ("-a * b", s.Binary("*", s.Unary("-", a), b)),
    ("a - b - c", s.Binary("-", s.Binary("-", a, b), c)),
    ("a / b * c", s.Binary("*", s.Binary("/", a, b), c)),
    ("a @ b * c", s.Binary("*", s.Binary("@", a, b), c)),
    ("a + b // c % 2", s.Binary("+", a, s.Binary("%", s.Binary("//", b, c), n(2)))),
    ("a < b <= c", s.Compare(("<", "<="), (a, b, c))),
    ("not a == b", s.Not(s.Compare(("==",), (a, b)))),
    ("a or b and not c", s.Logical("or", (a, s.Logical("and", (b, s.Not(c)))))),
    ("a and b and c", s.Logical("and", (a, b, c))),
    ("a + 1 < b", s.Compare(("<",), (s.Binary("+", a, n(1)), b))),
    ("x[a, b + 1]", s.Access("x", (a, s.Binary("+", b, n(1))))),
    ("x[..., a]", s.Access("x", (s.Batch(), a))),
    ("x[-1]", s.Access("x", (s.Unary("-", n(1)),))),
    ("x[:, None]", s.Subscript(x, (s.Slice(None, None, None), s.Keyword(None)))),
    ("x[..., None]", s.Subscript(x, (s.Batch(), s.Keyword(None)))),
    ("x[1:, ::2, :b]", s.Subscript(x, (s.Slice(n(1), None, None), s.Slice(None, None, n(2)), s.Slice(None, b, None)))),
    ("(a @ x)[0]", s.Subscript(s.Binary("@", a, x), (n(0),))),
    ("sum[a](x[a])", s.Binder("sum", ("a",), None, s.Access("x", (a,)))),
    ("sum[a, b : a != b](1)", s.Binder("sum", ("a", "b"), s.Compare(("!=",), (a, b)), n(1))),
    ("sum[...](x[...])", s.Binder("sum", ("...",), None, s.Access("x", (s.Batch(),)))),
    ("softmax(x, -1)", s.Call("softmax", (x, s.Unary("-", n(1))))),
    ("x.sum((0, 1), keepdim=True)", s.Method(x, "sum", (s.Listing((n(0), n(1))),), (("keepdim", s.Keyword(True)),))),
    ("x.T.sum()", s.Method(s.Attribute(x, "T"), "sum", ())),
    ("F.linear(x, a)", s.Method(s.Name("F"), "linear", (x, a))),
    ("cell(x).h[a]", s.Subscript(s.Attribute(s.Call("cell", (x,)), "h"), (a,))),
    ('einsum("nk,jk->nj", x)', s.Call("einsum", (s.Text("nk,jk->nj"), x))),
    ("max(a, b)", s.Call("max", (a, b))),
    ("max[a](b)", s.Binder("max", ("a",), None, b)),
    ("[0, 1]", s.Listing((n(0), n(1)))),
    ("(a)", a),
    ("D(a[b], x[c])", s.Call("D", (s.Access("a", (b,)), s.Access("x", (c,))))),
]


@pytest.mark.parametrize(("text", "tree"), TREES, ids=[t for t, _ in TREES])
def test_trees(text, tree):
    assert parse_expression(text) == tree


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-5", Fraction(1, 100000)),
        ("0.1", Fraction(1, 10)),
        (".5", Fraction(1, 2)),
        ("2.", Fraction(2)),
        ("1.5E3", Fraction(1500)),
        ("1_000", Fraction(1000)),
        ("1.e2", Fraction(100)),
        ("0", Fraction(0)),
        ("0.30000000000000004", Fraction(30000000000000004, 10**17)),
    ],
)
def test_numbers_are_exact(text, value):
    assert parse_expression(text) == s.Number(value)


@pytest.mark.parametrize("text", ["007", "1__0", "1_", "1_.5", "0x10", "1e", "1.2.3"])
def test_what_is_no_number(text):
    with pytest.raises(SpecError):
        parse_expression(text)


def test_one_half_stays_a_division():
    assert parse_expression("1/2") == s.Binary("/", n(1), n(2))


def test_statements_continue_inside_brackets_and_skip_comments():
    text = "# first\ny[a] = sum[b](\n    x[a, b])  # done\n\nL = c = a == b\n"
    first, second = parse_statements(text)
    assert first.left == s.Access("y", (a,))
    assert second == s.Statement(s.Name("L"), (c, s.Compare(("==",), (a, b))))


def test_positions_are_those_of_the_file():
    origin = Origin("f.yaml", "", line=10, column=3)
    first, second = parse_statements("y = a +\\\n"[:7] + " b\nzz = (a\n  * b)", origin)
    assert first.span == Span(10, 3, 10, 12)
    assert second.left.span == Span(11, 3, 11, 5)
    assert second.right.span == Span(11, 8, 12, 9)
    assert second.right.right.span == Span(12, 7, 12, 8)


def test_a_bracket_belongs_to_the_span_of_what_it_holds():
    tree = parse_expression("(a + b) * c")
    assert tree.left.span == Span(1, 1, 1, 8)


DEEP = {
    "brackets": "(" * 10_000 + "x" + ")" * 10_000,
    "open brackets": "(" * 10_000,
    "square brackets": "[" * 10_000 + "]" * 10_000,
    "minuses": "-" * 10_000 + "x",
    "nots": "not " * 10_000 + "x",
    "powers": "2**" * 10_000 + "2",
    "terms": "+".join(["x"] * 100_000),
    "a thousand terms": "+".join(["x"] * 1_000),
    "factors": "*".join(["x"] * 10_000),
    "calls": "f(" * 9_000 + "x" + ")" * 9_000,
    "attributes": "x" + ".T" * 9_000,
    "subscripts": "x" + "[0]" * 9_000,
    "reductions": "sum[i](" * 5_000 + "1" + ")" * 5_000,
    "exponent": "1e999999999",
    "digits": "9" * 100_000,
    "name": "x" * 100_000,
    "text": "x " * 300_000,
    "comparisons": "(x<" * 5000 + "x" + ")" * 5000,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
def test_what_is_too_deep_or_long_ends_in_a_clean_error(text):
    start = time.process_time()
    with pytest.raises(SpecError):
        parse_expression(text)
    assert time.process_time() - start < 2


def test_a_tree_may_be_as_deep_as_the_bound():
    assert parse_expression("+".join(["x"] * MAX_DEPTH))
    with pytest.raises(SpecError, match="more than 200 operations"):
        parse_expression("+".join(["x"] * (MAX_DEPTH + 1)))
    assert parse_expression("(" * 100 + "x" + ")" * 100) == x


MESSAGES = [
    ("a b", "expected an operator or the end of the line, not 'b'", "a product is written *"),
    ("a ^ b", "the character '^' has no meaning here", "a power is written **"),
    ("a +", "the line ends where a name, a number or a bracket should stand", None),
    ("x[", "this '[' is never closed", None),
    ("x)", "this ')' closes nothing", None),
    ("(x]", "']' closes the '(' of line 1, column 1; expected ')'", None),
    ("x[]", "no index between the brackets", "a scalar is written x"),
    ("summ[k](x)", "'summ' is not a reduction", "did you mean 'sum'?"),
    ("sum[k]", "the line ends where '(' after sum[k] should stand", None),
    ("sum[2](x)", "expected the name of an index in sum[...], not '2'", None),
    ("2(x)", "this cannot be called", "a product is written *"),
    ("a if b else c", "expected an operator or the end of the line, not 'if'", "write where(condition, a, b)"),
    ("lambda", "'lambda' cannot stand here", "'lambda' is a Python keyword; call it lam"),
    ("a + not b", "'not' stands behind an operator", "put it in brackets: (not a)"),
    ("f(a=1, a=2)", "the argument 'a' is given twice", None),
    ("f(a=1, b)", "a positional argument stands behind a named one", None),
    (
        "σ",
        "the character 'σ' has no meaning here",
        "names are made of ASCII letters, digits and _: write alpha, sigma, x_hat",
    ),
    ("a && b", "'&&' is not an operator", "write 'and'"),
    ("a ≤ b", "the character '≤' has no meaning here", "write <="),
    ("...", "'...' can only stand first in an index list", "as in x[..., k]"),
    ("x.", "the line ends where a name after '.' should stand", None),
    ("'a", "the character ''' has no meaning here", None),
]


@pytest.mark.parametrize(("text", "message", "hint"), MESSAGES, ids=[m[0] for m in MESSAGES])
def test_messages(text, message, hint):
    with pytest.raises(SpecError) as caught:
        parse_expression(text)
    assert caught.value.message == message
    if hint is not None:
        assert caught.value.hint == hint


def test_a_line_without_an_equals_sign():
    with pytest.raises(SpecError, match="this line has no '='") as caught:
        parse_statements("y == x")
    assert caught.value.hint == "a definition is written with one ="


def test_a_bad_line_leaves_the_others_alone():
    text = "dW = dy.T @\ndb = dy.sum(0)\n\nnonsense\ndx = (dy @ W\ndz = a\nlast = f(\n  a,\n  b)\n"
    good, bad = parse_lines(text, Origin(line=5, column=3))
    assert [g.left.id for g in good] == ["db", "dz", "last"]
    assert [(line.line, line.text) for line in bad] == [(5, "dW = dy.T @"), (8, "nonsense"), (9, "dx = (dy @ W")]
    assert bad[0].span == Span(5, 14, 5, 15)
    assert good[2].span == Span(11, 3, 13, 7)


def test_a_bad_statement_of_several_lines_is_one_bad_line():
    good, bad = parse_lines("dx = f(a,\n   b c,\n   keepdim=True)\ndy = a\n")
    assert [g.left.id for g in good] == ["dy"]
    assert [line.text for line in bad] == ["dx = f(a,\n   b c,\n   keepdim=True)"]


def test_a_block_of_nothing_but_bad_lines_ends():
    start = time.process_time()
    with pytest.raises(SpecError, match="more than 200 lines cannot be read"):
        parse_lines("(\n" * 90_000)
    assert time.process_time() - start < 2
