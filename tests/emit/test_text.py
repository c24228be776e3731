"""Pieces of text: precedences, numbers, names, comments, and long lines."""

from __future__ import annotations

import itertools
import math

import pytest
import sympy
from sympy import Rational, S

from symderive.algebra.nodes import FloorDiv, Mod
from symderive.emit.arrays import array_form
from symderive.emit.module import Op, write_module
from symderive.emit.names import identifiers
from symderive.emit.numbers import Numbers, add, negate, reciprocal, shape_text, subtract
from symderive.emit.precedence import Text, fill, hug_powers, template
from symderive.emit.share import Namer, Sharer
from symderive.emit.statements import broken, comment
from symderive.emit.tidy import inlined, tidied
from symderive.errors import InternalError
from symderive.lower import plan as p
from symderive.spec.sizes import BATCH_SIZE, size
from tests.emit.running import module_of

N, K, T, R = map(size, "NKTR")

OPERATORS = ["{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "{0} ** {1}", "-{0}", "f({0}, {1})", "{0}.g({1})"]
OPERATORS += ["{0} < {1}", "{0}[{1}]", "{0} % {1}", "{0} and {1}", "not {0}", "{0} if {1} else 0"]


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product(OPERATORS, OPERATORS)))
def test_pieces_stay_whole_with_the_fewest_parentheses(outer, inner):
    import ast

    a, b, c = Text("a"), Text("b"), Text("c")
    for pieces in ((fill(inner, a, b), c), (c, fill(inner, a, b))):
        got = fill(outer, *pieces).text
        safe = outer.format(*(f"({piece.text})" for piece in pieces))
        assert ast.dump(ast.parse(got)) == ast.dump(ast.parse(safe))
        assert len(got) <= len(ast.unparse(ast.parse(safe)))


def test_a_spelling_that_is_no_expression_is_refused():
    with pytest.raises(InternalError, match="no expression"):
        template("{0} +")


@pytest.mark.parametrize(
    ("line", "hugged"),
    [
        ("x ** 2 + y", "x**2 + y"),
        ("(x + 1) ** 2", "(x + 1) ** 2"),
        ("f(x) ** 2", "f(x) ** 2"),
        ("x ** -0.5", "x**-0.5"),
        ("a[0] ** 2", "a[0] ** 2"),
        ("x ** f(y)", "x ** f(y)"),
    ],
)
def test_powers_of_simple_operands_have_no_spaces(line, hugged):
    assert hug_powers(line) == hugged


NUMBERS = {
    N - 1: "N - 1",
    K - N: "K - N",
    -N / 2: "-N / 2",
    1 / (N * K): "1 / (K * N)",
    1 / sympy.sqrt(K): "1 / math.sqrt(K)",
    sympy.sqrt(2) / 2: "1 / math.sqrt(2)",
    sympy.sqrt(2 / sympy.pi): "math.sqrt(2 / math.pi)",
    sympy.sqrt(2) / (2 * sympy.sqrt(sympy.pi)): "1 / math.sqrt(2 * math.pi)",
    Rational(1, 3): "1 / 3",
    Rational(1, 100000): "1e-5",
    Rational(-3, 8): "-0.375",
    S(10) ** 12: "1000000000000",
    sympy.floor((T - 3) / 2) + 1: "(T - 3) // 2 + 1",
    T - 3 * FloorDiv(T - R, S(3)): "T - 3 * ((T - R) // 3)",
    Mod(T + 1, S(3)): "(T + 1) % 3",
    -sympy.oo: "-math.inf",
    2 * sympy.pi / N: "2 * math.pi / N",
    (N + 1) ** 2: "(N + 1) ** 2",
    sympy.exp(S(1)): "math.exp(1)",
    sympy.log(N): "(math.log(N) if N else -math.inf)",
}


@pytest.mark.parametrize("value", NUMBERS, ids=str)
def test_numbers_are_written_as_people_write_them(value):
    text = Numbers(lambda s: s.name).text(value).text
    assert text == NUMBERS[value]
    at = {N: 5, K: 7, T: 11, R: 2}
    assert eval(text, {"math": math, **{s.name: v for s, v in at.items()}}) == pytest.approx(
        float(value.xreplace({s: S(v) for s, v in at.items()})), rel=1e-12
    )


def test_a_number_without_spelling_says_so():
    with pytest.raises(InternalError, match="no spelling"):
        Numbers(str).text(sympy.zeta(3))


def test_signs_go_into_operators():
    a, b, c = Text("a"), Text("b"), Text("c")
    product = fill("{0} * {1}", b, c)
    assert add(a, negate(product)).text == "a - b * c"
    assert add(negate(a), b).text == "b - a"
    assert subtract(a, negate(b)).text == "a + b"
    assert negate(negate(a)).text == "a"
    assert negate(fill("{0} // {1}", a, b)).text == "-(a // b)"
    assert negate(fill("{0} * {1}", a, fill("{0} // {1}", b, c))).text == "-a * (b // c)"
    assert negate(fill("{0} - {1}", a, b)).text == "-(a - b)"


def test_reciprocals():
    assert reciprocal(1 / N) == N
    assert reciprocal(Rational(1, 2)) == 2
    assert reciprocal(Rational(2, 3)) is None
    assert reciprocal(N) is None


def test_shapes_in_comments():
    assert shape_text((BATCH_SIZE, N, FloorDiv(K, S(2)))) == "[..., N, K // 2]"
    assert shape_text(()) == "[]"


def test_names_that_the_code_needs_give_way():
    names = identifiers(["x", "F", "F_", "torch", "saved"])
    assert names == {"x": "x", "F": "F__", "F_": "F_", "torch": "torch_", "saved": "saved_"}


def test_clashing_names_still_make_a_module_that_runs():
    given = [p.Ref(n, (N,)) for n in ("F", "torch", "ctx", "np", "math", "saved", "backward", "batch", "WRT")]
    product = given[0]
    for ref in given[1:]:
        product = p.Map("mul", (product, p.Map("softplus", (ref,))))
    forward = p.Plan("clash", tuple(given), (p.Assign("rows", product),), ("rows",))
    upstream = p.Ref("drows", (N,))
    gradient = p.Assign("dF", p.Map("mul", (upstream, p.Map("exp", (given[1],)))))
    backward = p.Plan("clash", (upstream, given[1]), (gradient,), ("dF",))
    op = Op("clash", 'a "title" \\ """', ("rows",), ("F",), ("drows",), forward, backward)
    for library in ("torch", "numpy"):
        module = module_of(write_module(op, library))
        assert module["INPUTS"] == tuple(r.name for r in given)
    import numpy as np

    ones = [np.ones(3)] * len(given)
    output, saved = module["forward"](*ones)
    np.testing.assert_allclose(output, math.log(1 + math.e) ** 8)
    np.testing.assert_allclose(module["backward"](saved, np.ones(3))[0], math.e)


def test_long_lines_are_broken_inside_brackets():
    line = "y = f(" + ", ".join(["argument"] * 12) + ")"
    assert broken(line, 200) == [line]
    assert broken(line, 100)[0] == "y = f("
    assert all(len(part) <= 100 for part in broken(line, 100))
    import ast

    assert ast.dump(ast.parse("\n".join(broken(line, 60)))) == ast.dump(ast.parse(line))


def test_comments_break_outside_of_indices():
    text = "dx[n, d] = " + " + ".join(f"y[n, d, {i}]" for i in range(20))
    lines = comment(text, 60)
    assert len(lines) > 1
    assert all(line.startswith("# ") and len(line) <= 60 for line in lines)
    assert all(line.count("[") == line.count("]") for line in lines)


def test_a_quantity_used_twice_is_computed_once():
    x = p.Ref("x", (N,))
    e = p.Map("exp", (x,))
    plan = p.Plan("twice", (x,), (p.Assign("y", p.Map("add", (e, p.Map("mul", (e, e))))),), ("y",))
    (group,) = Sharer(plan, Namer({"x", "y"}), lambda node: []).groups()
    assert [a.name for a in group.assigns] == ["exp_x", "y"]
    assert sum(isinstance(n, p.Map) and n.function == "exp" for a in group.assigns for n in p.walk(a.value)) == 1


def test_views_of_names_get_no_name():
    x = p.Ref("x", (N,))
    column = p.Expand(x, (-1,))
    plan = p.Plan("views", (x,), (p.Assign("y", p.Map("mul", (column, p.Map("exp", (column,))))),), ("y",))
    (group,) = Sharer(plan, Namer({"x", "y"}), lambda node: []).groups()
    assert [a.name for a in group.assigns] == ["y"]


def test_scalar_factors_move_into_scatters_only_where_they_may():
    z, t, s = p.Ref("z", (N, K)), p.Ref("t", (N, S.One), "integer"), p.Ref("s", ())
    scatter = p.ScatterAdd(p.Full((N, 1), S.NegativeOne), (N, K), t, -1, base=p.Normalise("softmax", z, -1))
    moved = tidied(p.Map("mul", (scatter, s)))
    assert isinstance(moved, p.ScatterAdd)
    assert isinstance(moved.base, p.Map)
    uneven = p.Map("mul", (scatter, z))
    assert tidied(uneven) == uneven
    divided = p.Map("div", (s, scatter))
    assert tidied(divided) == divided


def test_helpers_that_are_views_are_written_where_they_are_used():
    x, y = p.Ref("x", (N, K)), p.Ref("y", (N, K))
    flipped = p.Assign("h", p.Permute(x, (-1, -2)))
    product = p.Assign("z", p.MatMul(flipped.ref, y))
    plan = p.Plan("views", (x, y), (flipped, product), ("z",))
    assert [a.name for a in inlined(plan, ()).assignments] == ["z"]
    assert [a.name for a in inlined(plan, ("h",)).assignments] == ["h", "z"]
    assert array_form(plan) == "z = x.T @ y"
