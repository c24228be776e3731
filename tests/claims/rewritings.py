"""Claims written in another way: the same number at every point where the forward has a derivative."""

from __future__ import annotations

from dataclasses import replace

from symderive.claims.trees import bound_in, negated, number, places, put, rename, substitute, tensor_of
from symderive.spec import syntax


def rewritten(spec, statement, rng, steps=3):
    """The statement after some random steps that change nothing."""
    node = statement.right
    for _ in range(steps):
        node = rng.choice(STEPS)(spec, statement, node, rng)
    return replace(statement, sides=(node,))


def _spots(node, kinds, test=lambda n: True):
    return [
        (p, n)
        for p, n in places(node)
        if isinstance(n, kinds) and test(n) and not any(part in ("indices", "condition") for part, _ in p)
    ]


def _at_random(node, rng, kinds, test, change):
    spots = _spots(node, kinds, test)
    if not spots:
        return node
    place, inner = rng.choice(spots)
    return put(node, place, change(inner))


def commute(spec, statement, node, rng):
    """a * b = b * a."""
    return _at_random(
        node, rng, syntax.Binary, lambda n: n.op in ("+", "*"), lambda n: replace(n, left=n.right, right=n.left)
    )


def distribute(spec, statement, node, rng):
    """a * (b + c) = a * b + a * c."""

    def test(n):
        return n.op == "*" and isinstance(n.right, syntax.Binary) and n.right.op in ("+", "-")

    def change(n):
        parts = n.right
        return replace(parts, left=replace(n, right=parts.left), right=replace(n, right=parts.right))

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
    return syntax.Binary("/", syntax.Binary("*", number(2), node), number(2))


def negate_twice(spec, statement, node, rng):
    """a = -(-a)."""
    return syntax.Unary("-", syntax.Unary("-", node))


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


def split_sum(spec, statement, node, rng):
    """The sum of a sum is the sum of the sums."""

    def test(n):
        return n.op == "sum" and isinstance(n.body, syntax.Binary) and n.body.op in ("+", "-")

    def change(n):
        return replace(n.body, left=replace(n, body=n.body.left), right=replace(n, body=n.body.right))

    return _at_random(node, rng, syntax.Binder, test, change)


def mean_as_sum(spec, statement, node, rng):
    """A mean is a sum divided by how many there are."""

    def change(n):
        return syntax.Binary("/", replace(n, op="sum"), replace(n, op="sum", body=number(1)))

    return _at_random(node, rng, syntax.Binder, lambda n: n.op == "mean", change)


def rename_bound(spec, statement, node, rng):
    """The name of a bound index means nothing."""

    def change(n):
        return rename(n, {i: f"{i}{i}{rng.randrange(100)}" for i in n.indices if i != syntax.BATCH})

    return _at_random(node, rng, syntax.Binder, lambda n: n.op in ("sum", "mean"), change)


def inline(spec, statement, node, rng):
    """A tensor of the forward is what its equation says."""
    equations = {e.tensor: e for e in spec.equations}

    def change(n):
        equation = equations[n.tensor]
        names = {i: f"{i}_{rng.randrange(1000)}" for i in bound_in(equation.right) if i not in equation.indices}
        body = rename(equation.right, {k: v for k, v in names.items() if k != syntax.BATCH})
        return substitute(body, dict(zip(equation.indices, n.indices, strict=True)))

    def test(n):
        simple = all(isinstance(i, syntax.Name | syntax.Batch) for i in n.indices)
        return n.tensor in equations and simple and not bound_in(equations[n.tensor].right) & {syntax.BATCH}

    if not isinstance(statement.left, syntax.Access):
        return node
    return _at_random(node, rng, syntax.Access, test, change)


STEPS = (
    commute, distribute, add_zero, halve_and_double, negate_twice, subtract, divide, square, split_sum, mean_as_sum,
    rename_bound, inline,
)  # fmt: skip
