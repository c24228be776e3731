"""Claims written in another way: the same number at every point where the forward has a derivative."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from symderive.claims.trees import (
    bound_in,
    factors_of,
    get,
    negated,
    number,
    places,
    product_of,
    put,
    rename,
    substitute,
    sum_of,
    tensor_of,
    terms_of,
)
from symderive.spec import syntax
from symderive.spec.parse import parse_expression
from symderive.spec.sizes import BATCH_SIZE

ADDITIVE, MULTIPLICATIVE = ("+", "-"), ("*", "/")


def rewritten(spec, statement, rng, steps=3):
    """The statement after some random steps that change nothing."""
    node = statement.right
    table = INDEX_STEPS if isinstance(statement.left, syntax.Access) or not spec.shapes[_tensor(statement)] else STEPS
    for _ in range(steps):
        node = rng.choice(table)(spec, statement, node, rng)
    return replace(statement, sides=(node,))


def with_helper(spec, statement, rng):
    """The statement with a part of it defined on a line of its own, in index form."""
    spots = [
        (place, node)
        for place, node in _spots(statement.right, (syntax.Binary, syntax.Binder, syntax.Call))
        if place and not _has_binder_above(statement.right, place) and not _scalar_numbers(node)
    ]
    if not spots:
        return [statement]
    place, node = rng.choice(spots)
    indices = tuple(statement.left.indices) if isinstance(statement.left, syntax.Access) else ()
    if not all(isinstance(i, syntax.Name | syntax.Batch) for i in indices):
        return [statement]
    used = _names(node)
    kept = tuple(i for i in indices if (syntax.BATCH if isinstance(i, syntax.Batch) else i.id) in used)
    letters = tuple(i.id for i in kept if isinstance(i, syntax.Name))
    if not ranged(replace(_ANY, indices=letters, body=node)):
        return [statement]
    name = "helper_1"
    left = syntax.Access(name, kept) if kept else syntax.Name(name)
    helper = syntax.Statement(left, (node,))
    return [helper, replace(statement, sides=(put(statement.right, place, left),))]


def _names(node):
    found = {n.id for n in node.walk() if isinstance(n, syntax.Name)}
    return found | {syntax.BATCH for n in node.walk() if isinstance(n, syntax.Batch)}


def _scalar_numbers(node):
    return not any(isinstance(n, syntax.Access) for n in node.walk())


def _has_binder_above(root, place):
    """Whether something around a place binds indices, reads at it, or decides whether it has a value."""
    above = [get(root, place[:n]) for n in range(len(place))]
    return any(
        isinstance(a, syntax.Binder | syntax.Access) or (isinstance(a, syntax.Call) and a.function in ("where", "pad"))
        for a in above
    )


def _tensor(statement):
    return tensor_of(statement.left)[1:]


def _spots(node, kinds, test=lambda n: True):
    return [
        (p, n)
        for p, n in places(node)
        if isinstance(n, kinds)
        and test(n)
        and not any(part in ("indices", "condition", "items", "keywords") for part, _ in p)
        and not any(_closed(get(node, p[:m])) for m in range(len(p)))
    ]


def _compared(root, place):
    """Whether a place is inside of a comparison, where numbers of many digits are equal or not by their last one."""
    return any(isinstance(get(root, place[:n]), syntax.Compare) for n in range(len(place)))


def _closed(node):
    """Whether what stands inside is no number to be computed with: axes, shapes, a padded access."""
    if isinstance(node, syntax.Call):
        return node.function in ("pad", "delta", "D", "one_hot", "ones", "zeros", "eye", "arange")
    return isinstance(node, syntax.Slice | syntax.Subscript | syntax.Listing)


def _at_random(node, rng, kinds, test, change):
    spots = [(p, n) for p, n in _spots(node, kinds, test) if kinds is not syntax.Call or not _compared(node, p)]
    if not spots:
        return node
    place, inner = rng.choice(spots)
    return put(node, place, change(inner))


def _values(node):
    """The places of expressions that are numbers, not arguments of a method."""
    return [
        (p, n)
        for p, n in _spots(node, (syntax.Binary, syntax.Access, syntax.Binder, syntax.Call))
        if not any(part == "arguments" and isinstance(get(node, p[:m]), syntax.Method) for m, (part, _) in enumerate(p))
        and not (isinstance(n, syntax.Binary) and n.op in ("//", "%"))
    ]


def _change_value(node, rng, change):
    spots = _values(node)
    if not spots:
        return node
    place, inner = rng.choice(spots)
    return put(node, place, change(inner))


# Sums and products


def commute(spec, statement, node, rng):
    """a * b = b * a."""
    return _at_random(
        node, rng, syntax.Binary, lambda n: n.op in ("+", "*"), lambda n: replace(n, left=n.right, right=n.left)
    )


def reassociate(spec, statement, node, rng):
    """(a + b) + c = a + (b + c)."""

    def test(n):
        return n.op in ("+", "*") and isinstance(n.left, syntax.Binary) and n.left.op == n.op

    def change(n):
        return replace(n.left, right=replace(n, left=n.left.right))

    return _at_random(node, rng, syntax.Binary, test, change)


def shuffle(spec, statement, node, rng):
    """The terms of a sum, or the factors of a product, in any order."""

    def change(n):
        if n.op in ADDITIVE:
            terms = terms_of(n)
            rng.shuffle(terms)
            return sum_of(terms)
        factors = factors_of(n)
        rng.shuffle(factors)
        return product_of(factors)

    return _at_random(node, rng, syntax.Binary, lambda n: n.op in (*ADDITIVE, *MULTIPLICATIVE), change)


def expand(spec, statement, node, rng):
    """a * (b + c) = a * b + a * c, from either side."""

    def is_sum(n):
        return isinstance(n, syntax.Binary) and n.op in ADDITIVE

    def test(n):
        return (n.op == "*" and (is_sum(n.right) or is_sum(n.left))) or (n.op == "/" and is_sum(n.left))

    def change(n):
        if is_sum(n.right) and n.op == "*":
            parts = n.right
            return replace(parts, left=replace(n, right=parts.left), right=replace(n, right=parts.right))
        parts = n.left
        return replace(parts, left=replace(n, left=parts.left), right=replace(n, left=parts.right))

    return _at_random(node, rng, syntax.Binary, test, change)


def factor(spec, statement, node, rng):
    """a * b + a * c = a * (b + c)."""

    def shared(n):
        left, right = factors_of(n.left), factors_of(n.right)
        return next((f for f in left if f[0] == "*" and f in right), None)

    def test(n):
        return n.op in ADDITIVE and shared(n) is not None

    def change(n):
        common = shared(n)
        left, right = list(factors_of(n.left)), list(factors_of(n.right))
        left.remove(common)
        right.remove(common)
        return syntax.Binary("*", common[1], replace(n, left=product_of(left), right=product_of(right)))

    return _at_random(node, rng, syntax.Binary, test, change)


def add_zero(spec, statement, node, rng):
    """a = a + (t - t)."""
    left = statement.left
    name = tensor_of(left)[1:]
    tensor = replace(left, tensor=name) if isinstance(left, syntax.Access) else syntax.Name(name)
    zero = syntax.Binary("-", tensor, tensor)
    return syntax.Binary("+", node, zero) if rng.random() < 0.5 else syntax.Binary("+", zero, node)


def halve_and_double(spec, statement, node, rng):
    """a = 2 * a / 2."""
    return _change_value(node, rng, lambda n: syntax.Binary("/", syntax.Binary("*", number(2), n), number(2)))


def negate_twice(spec, statement, node, rng):
    """a = -(-a)."""
    return _change_value(node, rng, lambda n: syntax.Unary("-", syntax.Unary("-", n)))


def subtract(spec, statement, node, rng):
    """a - b = a + -b."""
    return _at_random(
        node, rng, syntax.Binary, lambda n: n.op == "-", lambda n: replace(n, op="+", right=negated(n.right))
    )


def divide(spec, statement, node, rng):
    """a / b = a * (1 / b)."""
    return _at_random(
        node, rng, syntax.Binary, lambda n: n.op == "/",
        lambda n: replace(n, op="*", right=syntax.Binary("/", number(1), n.right)),
    )  # fmt: skip


def square(spec, statement, node, rng):
    """a**2 = a * a."""

    def test(n):
        return n.op == "**" and isinstance(n.right, syntax.Number) and n.right.value == 2

    return _at_random(node, rng, syntax.Binary, test, lambda n: syntax.Binary("*", n.left, n.left))


def other_constant(spec, statement, node, rng):
    """2 = 4 / 2, 1 = 1/3 + 2/3."""

    def change(n):
        if rng.random() < 0.5:
            return syntax.Binary("/", number(n.value * 6), number(6))
        return syntax.Binary("+", number(n.value / 4), number(n.value * Fraction(3, 4)))

    spots = [
        (p, n)
        for p, n in _spots(node, syntax.Number)
        if not p or (isinstance(above := get(node, p[:-1]), syntax.Binary) and above.op in (*ADDITIVE, *MULTIPLICATIVE))
    ]
    if not spots:
        return node
    place, inner = rng.choice(spots)
    return put(node, place, change(inner))


# Functions


def sigmoid_of_exp(spec, statement, node, rng):
    """exp(x) = sigmoid(x) / sigmoid(-x)."""

    def change(n):
        (x,) = n.arguments
        minus = syntax.Call("sigmoid", (syntax.Unary("-", x),))
        return syntax.Binary("/", syntax.Call("sigmoid", (x,)), minus)

    return _at_random(node, rng, syntax.Call, lambda n: n.function == "exp", change)


_SAME = {
    "sigmoid": ("1 / (1 + exp(-x))", "1 - sigmoid(-x)", "(tanh(x / 2) + 1) / 2"),
    "tanh": ("2 * sigmoid(2 * x) - 1", "(exp(x) - exp(-x)) / (exp(x) + exp(-x))", "sinh(x) / cosh(x)"),
    "sqrt": ("x ** (1/2)",),
    "rsqrt": ("1 / sqrt(x)", "x ** (-1/2)"),
    "log1p": ("log(1 + x)",),
    "expm1": ("exp(x) - 1",),
    "abs": ("max(x, -x)", "sqrt(x ** 2)", "x * sign(x)"),
    "sign": ("where(x > 0, 1, -1)",),
    "relu": ("max(x, 0)", "where(x > 0, x, 0)", "(x + abs(x)) / 2"),
    "softplus": ("log(1 + exp(x))", "x - logsigmoid(x)"),
    "square": ("x * x", "x ** 2"),
    "erfc": ("1 - erf(x)",),
    "cosh": ("(exp(x) + exp(-x)) / 2",),
    "sinh": ("(exp(x) - exp(-x)) / 2",),
}
"""Other ways to write a function, as they are found in derivations; at a kink they may have no value."""


def other_function(spec, statement, node, rng):
    """tanh(x) = 2 sigmoid(2 x) - 1, and the like."""

    def change(n):
        text = rng.choice(_SAME[n.function])
        return substitute(parse_expression(text), {"x": n.arguments[0]})

    return _at_random(node, rng, syntax.Call, lambda n: n.function in _SAME and len(n.arguments) == 1, change)


def sines_and_cosines(spec, statement, node, rng):
    """a = a * (sin(t)**2 + cos(t)**2)."""
    spots = _spots(node, (syntax.Access, syntax.Name), lambda n: tensor_of(n) in spec.shapes)
    real = {i.name for i in spec.inputs if i.is_real} | {e.tensor for e in spec.equations}
    spots = [(p, n) for p, n in spots if tensor_of(n) in real and not _compared(node, p)]
    if not spots or not isinstance(statement.left, syntax.Access):
        return node
    place, inner = rng.choice(spots)
    one = substitute(parse_expression("sin(t)**2 + cos(t)**2"), {"t": inner})
    return put(node, place, syntax.Binary("*", inner, one))


def split_cases(spec, statement, node, rng):
    """a = where(c, a, 0) + where(not c, a, 0)."""
    spots = [(p, n) for p, n in _values(node) if tensor_of(n) in spec.shapes]
    real = {i.name for i in spec.inputs if i.is_real} | {e.tensor for e in spec.equations}
    spots = [(p, n) for p, n in spots if tensor_of(n) in real]
    if not spots or not isinstance(statement.left, syntax.Access):
        return node
    place, inner = rng.choice(spots)
    condition = syntax.Compare((rng.choice(("<", ">", ">=")),), (inner, number(rng.choice((0, 1, 7)))))
    if rng.random() < 0.5:
        first = syntax.Call("where", (condition, inner, number(0)))
        second = syntax.Call("where", (syntax.Not(condition), inner, number(0)))
        return put(node, place, syntax.Binary("+", first, second))
    return put(node, place, syntax.Call("where", (condition, inner, inner)))


# Binders


def split_sum(spec, statement, node, rng):
    """The sum of a sum is the sum of the sums."""

    def test(n):
        return n.op == "sum" and isinstance(n.body, syntax.Binary) and n.body.op in ADDITIVE

    def change(n):
        return replace(n.body, left=replace(n, body=n.body.left), right=replace(n, body=n.body.right))

    return _at_random(node, rng, syntax.Binder, test, change)


def pull_out(spec, statement, node, rng):
    """The sum over k of a * b is a times the sum of b, where a does not depend on k."""

    def outside(n):
        return next((f for f in factors_of(n.body) if f[0] == "*" and not _names(f[1]) & set(n.indices)), None)

    def test(n):
        return n.op in ("sum", "mean") and len(factors_of(n.body)) > 1 and outside(n) is not None

    def change(n):
        own = outside(n)
        rest = list(factors_of(n.body))
        rest.remove(own)
        return syntax.Binary("*", own[1], replace(n, body=product_of(rest)))

    return _at_random(node, rng, syntax.Binder, test, change)


def push_in(spec, statement, node, rng):
    """a times the sum over k of b is the sum of a * b."""

    def test(n):
        right = n.right
        return (
            n.op == "*" and isinstance(right, syntax.Binder) and right.op in ("sum", "mean")
            and not _names(n.left) & set(right.indices) and not bound_in(n.left) & set(right.indices)
        )  # fmt: skip

    def change(n):
        return replace(n.right, body=syntax.Binary("*", n.left, n.right.body))

    return _at_random(node, rng, syntax.Binary, test, change)


def swap_sums(spec, statement, node, rng):
    """The order of summation means nothing; two sums may be one, and one two."""

    def test(n):
        return n.op == "sum" and len(n.indices) > 1

    def change(n):
        if n.condition is None and rng.random() < 0.5:
            return replace(n, indices=n.indices[:1], body=replace(n, indices=n.indices[1:]))
        return replace(n, indices=n.indices[::-1])

    return _at_random(node, rng, syntax.Binder, test, change)


def condition_as_where(spec, statement, node, rng):
    """A condition on a sum is a case in its body."""

    def test(n):
        reads = any(isinstance(i, syntax.Access) for i in n.body.walk())
        return n.op == "sum" and n.condition is not None and reads

    def change(n):
        return replace(n, condition=None, body=syntax.Call("where", (n.condition, n.body, number(0))))

    return _at_random(node, rng, syntax.Binder, test, change)


def mean_as_sum(spec, statement, node, rng):
    """A mean is a sum divided by how many there are: a sum of ones, in which the index still runs over an axis."""

    def change(n):
        one = syntax.Binary("+", number(1), syntax.Binary("*", number(0), n.body))
        return syntax.Binary("/", replace(n, op="sum"), replace(n, op="sum", body=one))

    return _at_random(node, rng, syntax.Binder, lambda n: n.op == "mean", change)


def rename_bound(spec, statement, node, rng):
    """The name of a bound index means nothing."""

    def change(n):
        return rename(n, {i: f"{i}{i}{rng.randrange(100)}" for i in n.indices if i != syntax.BATCH})

    def test(n):
        return n.op in ("sum", "mean") and not set(n.indices) & set(spec.indices)

    return _at_random(node, rng, syntax.Binder, lambda n: test(n) and ranged(n), change)


def ranged(node):
    """Whether every index that a binder names stands alone in a position, so that its letter gives no range."""
    alone = {
        i.id
        for a in node.walk() if isinstance(a, syntax.Access)
        for i in a.indices if isinstance(i, syntax.Name)
    }  # fmt: skip
    padded = {
        i.id
        for c in node.walk() if isinstance(c, syntax.Call) and c.function == "pad"
        for i in c.arguments[0].indices if isinstance(i, syntax.Name)
    }  # fmt: skip
    return set(node.indices) - {syntax.BATCH} <= alone - padded


# Definitions


def inline(spec, statement, node, rng):
    """A tensor of the forward is what its equation says."""
    equations = {e.tensor: e for e in spec.equations}

    def test(n):
        return n.tensor in equations and _inlinable(equations[n.tensor], n)

    if not isinstance(statement.left, syntax.Access):
        return node
    return _at_random(node, rng, syntax.Access, test, lambda n: _inlined(equations[n.tensor], n, rng))


def zero_by_definition(spec, statement, node, rng):
    """a = a + (y - what y is), for a tensor of the forward that stands in it."""
    equations = {e.tensor: e for e in spec.equations}

    def change(n):
        zero = syntax.Binary("-", n, _inlined(equations[n.tensor], n, rng))
        return syntax.Binary("+", n, zero)

    def test(n):
        return n.tensor in equations and _inlinable(equations[n.tensor], n)

    if not isinstance(statement.left, syntax.Access):
        return node
    return _at_random(node, rng, syntax.Access, test, change)


def _inlinable(equation, access):
    simple = all(isinstance(i, syntax.Name | syntax.Batch) for i in access.indices)
    letters = {i.id for i in access.indices if isinstance(i, syntax.Name)}
    bound = bound_in(equation.right)
    clear = len(letters) + any(isinstance(i, syntax.Batch) for i in access.indices) == len(access.indices)
    return simple and clear and not bound & {syntax.BATCH} and _letters_are_ranged(equation)


def _letters_are_ranged(equation):
    """Whether bound indices may be renamed: each stands alone in some position."""
    keeping = {i for n in equation.right.walk() if isinstance(n, syntax.Binder) for i in n.indices}
    whole = replace(_ANY, indices=tuple(keeping), body=equation.right)
    return ranged(whole)


_ANY = syntax.Binder("sum", (), None, number(0))


def _inlined(equation, access, rng):
    names = {i: f"{i}_{rng.randrange(1000)}" for i in bound_in(equation.right) if i not in equation.indices}
    body = rename(equation.right, {k: v for k, v in names.items() if k != syntax.BATCH})
    return substitute(body, dict(zip(equation.indices, access.indices, strict=True)))


# Array form


def transpose_product(spec, statement, node, rng):
    """A @ B = (B.T @ A.T).T, batched by .mT."""

    def change(n):
        left, right = syntax.Attribute(n.right, "mT"), syntax.Attribute(n.left, "mT")
        return syntax.Attribute(syntax.Binary("@", left, right), "mT")

    def matrix(n):
        return isinstance(n, syntax.Name | syntax.Attribute) and _rank(spec, n) >= 2

    def test(n):
        return n.op == "@" and matrix(n.left) and matrix(n.right)

    return _at_random(node, rng, syntax.Binary, test, change)


def _rank(spec, node):
    while isinstance(node, syntax.Attribute):
        node = node.value
    name = tensor_of(node)
    name = name[1:] if name not in spec.shapes and name.startswith("d") else name
    return len([n for n in spec.shapes.get(name, ()) if n != BATCH_SIZE])


def transpose_twice(spec, statement, node, rng):
    """A = A.mT.mT."""
    spots = [(p, n) for p, n in _spots(node, syntax.Name) if _rank(spec, n) >= 2 and tensor_of(n)[:1] == "d"]
    spots = [(p, n) for p, n in spots if n.id[1:] in spec.shapes and n.id not in spec.shapes]
    if not spots:
        return node
    place, inner = rng.choice(spots)
    return put(node, place, syntax.Attribute(syntax.Attribute(inner, "mT"), "mT"))


_BOTH = (
    commute, reassociate, shuffle, expand, factor, add_zero, halve_and_double, negate_twice, subtract, divide, square,
    other_constant, sigmoid_of_exp, other_function,
)  # fmt: skip
STEPS = (*_BOTH, transpose_product, transpose_twice)
INDEX_STEPS = (
    *_BOTH, split_sum, pull_out, push_in, swap_sums, condition_as_where, mean_as_sum, rename_bound, inline, inline,
    zero_by_definition, sines_and_cosines, split_cases,
)  # fmt: skip
