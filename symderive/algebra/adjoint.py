"""Reverse mode through one equation: what each occurrence of a tensor receives from the adjoint of the left side.

The adjoint is pushed down the expression tree. A rule per node type gives, for every argument, its adjoint in terms
of the adjoint of the node (Griewank and Walther, Evaluating Derivatives, ch. 3); the partial derivatives of
element-wise functions are SymPy's or derived from their definitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, singledispatch

from sympy import Add, Expr, Function, Mul, Pow, Rational, S, log
from sympy.functions.elementary.exponential import exp as Exp

from symderive.algebra import nodes
from symderive.algebra.build import Scope, build
from symderive.algebra.nodes import Access, And, Eq, Index, Le, Lt, Not, Or, Where
from symderive.algebra.program import Equation
from symderive.errors import UnsupportedError
from symderive.record import record
from symderive.spec.functions import FUNCTIONS
from symderive.spec.parse import parse_expression

HALF = Rational(1, 2)


@record
class Part:
    """An argument of a node, its adjoint, and the indices that were opened on the way to it."""

    argument: Expr
    adjoint: Expr
    opened: tuple[Index, ...] = ()


@record
class Occurrence:
    """One place where a tensor is read: ``tensor[positions]`` receives ``adjoint``, summed over ``summed``."""

    tensor: str
    positions: tuple[Expr, ...]
    adjoint: Expr
    summed: tuple[Index, ...]


def occurrences(equation: Equation, adjoint: Expr) -> tuple[tuple[Index, ...], list[Occurrence]]:
    """Every access in the equation's right side with what it receives.

    ``adjoint`` is that of the left side, in the equation's own indices. The result speaks of fresh copies of them,
    which are the first of each occurrence's ``summed``.
    """
    fresh = {i: i.fresh() for i in equation.indices}
    own = tuple(fresh.values())
    found = list(_descend(equation.right.xreplace(fresh), adjoint.xreplace(fresh), own))
    return own, found


def _descend(expression: Expr, adjoint: Expr, summed: tuple[Index, ...]) -> Iterator[Occurrence]:
    if adjoint is S.Zero or not expression.atoms(Access):
        return
    if isinstance(expression, Access):
        yield Occurrence(expression.tensor, expression.indices, adjoint, summed)
        return
    for part in parts(expression, adjoint):
        yield from _descend(part.argument, part.adjoint, (*summed, *part.opened))


def times(adjoint: Expr, factor: Expr) -> Expr:
    """The product, inside the branch where the adjoint is a ``where``: a branch not taken never contributes."""
    if isinstance(adjoint, Where) and adjoint.args[2] is S.Zero:
        return Where(adjoint.args[0], times(adjoint.args[1], factor), S.Zero)
    if isinstance(factor, Where) and factor.args[2] is S.Zero:
        return Where(factor.args[0], times(adjoint, factor.args[1]), S.Zero)
    return adjoint * factor


@singledispatch
def parts(expression: Expr, adjoint: Expr) -> list[Part]:
    """The arguments of a node with their adjoints."""
    raise UnsupportedError(
        f"the derivative of {type(expression).__name__} is not known",
        hint="add a rule for it to symderive/algebra/adjoint.py",
    )


@parts.register
def sum_rule_of_terms(expression: Add, adjoint: Expr) -> list[Part]:
    """``d(a + b) = da + db``."""
    return [Part(a, adjoint) for a in expression.args]


@parts.register
def product_rule(expression: Mul, adjoint: Expr) -> list[Part]:
    """``d(a b) = b da + a db``."""
    args = expression.args
    return [Part(a, times(adjoint, Mul(*args[:n], *args[n + 1 :]))) for n, a in enumerate(args) if a.atoms(Access)]


@parts.register
def power_rule(expression: Pow, adjoint: Expr) -> list[Part]:
    """``d(a**n) = n a**(n - 1) da``, and ``d(a**b) = a**b log(a) db``."""
    base, exponent = expression.args
    found = [Part(base, times(adjoint, exponent * base ** (exponent - 1)))]
    if exponent.atoms(Access):
        found.append(Part(exponent, times(adjoint, log(base) * expression)))
    return found


@parts.register
def chain_rule_exp(expression: Exp, adjoint: Expr) -> list[Part]:
    """``d exp(a) = exp(a) da``."""
    return [Part(expression.args[0], times(adjoint, expression))]


@parts.register
def chain_rule(expression: Function, adjoint: Expr) -> list[Part]:
    """``d f(a) = f'(a) da``, with f' by SymPy."""
    return [Part(a, times(adjoint, expression.fdiff(n))) for n, a in enumerate(expression.args, 1)]


@parts.register
def definition_rule(expression: nodes.Apply, adjoint: Expr) -> list[Part]:
    """``d f(a) = f'(a) da``, with f' derived from the definition of f."""
    row = FUNCTIONS[expression.function]
    if not row.definition:
        return []
    found = []
    for parameter, argument in zip(row.parameters, expression.arguments, strict=True):
        if argument.atoms(Access):
            template = derivative(expression.function, parameter)
            mapping = {Access(p): a for p, a in zip(row.parameters, expression.arguments, strict=True)}
            found.append(Part(argument, template.xreplace(mapping | {Access(ADJOINT): adjoint})))
    return found


ADJOINT = "@adjoint"


@lru_cache(maxsize=256)
def derivative(function: str, parameter: str) -> Expr:
    """The adjoint of a parameter of a function of the table, in its parameters and ``Access(ADJOINT)``.

    Derived from the definition by the rules of this module, then written with the function itself and others of the
    table where they can be recognised.
    """
    from symderive.algebra.rules import tidy_function

    row = FUNCTIONS[function]
    body = definition(function)
    received = [o.adjoint for o in _descend(body, Access(ADJOINT), ()) if o.tensor == parameter]
    return tidy_function(Add(*received), nodes.Apply(function, *map(Access, row.parameters)), body)


@lru_cache(maxsize=256)
def definition(function: str) -> Expr:
    """The definition of a function of the table, its parameters as scalar accesses; other functions stay calls."""
    row = FUNCTIONS[function]
    if row.definition is None:
        raise UnsupportedError(f"{function} has no definition to derive from")
    import sympy

    return build(parse_expression(row.definition), Scope({"pi": sympy.pi}, {}, {}, {}))


@parts.register
def where_rule(expression: Where, adjoint: Expr) -> list[Part]:
    """``d where(c, a, b) = where(c, da, 0) + where(c, 0, db)``."""
    condition, a, b = expression.args
    return [Part(a, Where(condition, adjoint, S.Zero)), Part(b, Where(Not(condition), adjoint, S.Zero))]


@parts.register
def pad_rule(expression: nodes.Pad, adjoint: Expr) -> list[Part]:
    """Entries out of range belong to no tensor: the delta of the access is 0 there."""
    return [Part(expression.args[0], adjoint)]


@parts.register
def stop_rule(expression: nodes.Stop, adjoint: Expr) -> list[Part]:
    """``d stop(a) = 0``."""
    return []


@parts.register
def condition_rule(expression: nodes.Condition, adjoint: Expr) -> list[Part]:
    """A condition is constant almost everywhere; its derivative is taken to be 0."""
    return []


@parts.register(nodes.ArgMax)
@parts.register(nodes.ArgMin)
@parts.register(nodes.Any)
@parts.register(nodes.All)
@parts.register(nodes.FloorDiv)
@parts.register(nodes.Mod)
def integer_rule(expression: Expr, adjoint: Expr) -> list[Part]:
    """Integers and truth values have no derivative."""
    return []


@parts.register(nodes.Maximum)
@parts.register(nodes.Minimum)
def extremum_rule(expression: Expr, adjoint: Expr) -> list[Part]:
    """``d max(a, b)`` goes to the larger side, and half to each at a tie."""
    a, b = expression.args
    order = (lambda p, q: Lt(q, p)) if isinstance(expression, nodes.Maximum) else Lt
    tie = Where(Eq(a, b), adjoint * HALF, S.Zero)
    return [Part(p, Where(order(p, q), adjoint, tie)) for p, q in ((a, b), (b, a)) if p.atoms(Access)]


@parts.register
def clamp_rule(expression: nodes.Clamp, adjoint: Expr) -> list[Part]:
    """``d clamp(x, lo, hi)`` is dx where lo <= x <= hi, else that of the bound that holds."""
    x, lo, hi = expression.args
    inside = And(Le(lo, x), Le(x, hi))
    return [
        Part(x, Where(inside, adjoint, S.Zero)),
        Part(lo, Where(And(Lt(x, lo), Lt(lo, hi)), adjoint, S.Zero)),
        Part(hi, Where(Or(Lt(hi, x), Lt(hi, lo)), adjoint, S.Zero)),
    ]


@parts.register
def sum_rule(expression: nodes.Sum, adjoint: Expr) -> list[Part]:
    """``d sum_k a_k = sum_k da_k``: every entry receives the adjoint."""
    body, opened = expression.open()
    return [Part(body, adjoint, opened)]


@parts.register
def log_sum_exp_rule(expression: nodes.LogSumExp, adjoint: Expr) -> list[Part]:
    """``d logsumexp_k a_k = sum_k exp(a_k - logsumexp a) da_k``; entries masked by -inf receive nothing."""
    body, opened = expression.open()
    if isinstance(body, Where) and body.args[2] is S.NegativeInfinity:
        condition, value, _ = body.args
        return [Part(value, Where(condition, times(adjoint, Exp(value - expression)), S.Zero), opened)]
    return [Part(body, times(adjoint, Exp(body - expression)), opened)]


@parts.register
def product_of_entries_rule(expression: nodes.Prod, adjoint: Expr) -> list[Part]:
    """``d prod_k a_k = sum_k (prod_{l != k} a_l) da_k``, without a division."""
    body, opened = expression.open()
    other = {i: i.fresh() for i in opened}
    same = And(*(Eq(i, j) for i, j in other.items()))
    others = nodes.Prod.over(Where(same, S.One, body.xreplace(other)), other.values())
    return [Part(body, times(adjoint, others), opened)]


@parts.register(nodes.Max)
@parts.register(nodes.Min)
def largest_entry_rule(expression: nodes.Binder, adjoint: Expr) -> list[Part]:
    """``d max_k a_k`` is shared evenly by the entries that attain it; a masked entry is none of them."""
    body, opened = expression.open()
    attains: Expr = Eq(body, expression)
    if isinstance(body, Where) and body.args[2].is_infinite:
        condition, body, _ = body.args
        attains = And(condition, Eq(body, expression))
    ties = nodes.Sum.over(attains, opened)
    return [Part(body, Where(attains, adjoint / ties, S.Zero), opened)]


@parts.register
def inverse_rule(expression: nodes.Inverse, adjoint: Expr) -> list[Part]:
    """From ``V M = I``: ``dV = -V dM V``, so that ``M[p, q]`` receives ``-V[a, p] V[q, b]`` of ``V[a, b]``."""
    body, (p, q) = expression.open()
    a, b = expression.at
    bound = expression.bound
    left = nodes.Inverse(expression.body, *bound, a, p)
    right = nodes.Inverse(expression.body, *bound, q, b)
    return [Part(body, times(adjoint, -left * right), (p, q))]


@parts.register
def cholesky_rule(expression: nodes.Cholesky, adjoint: Expr) -> list[Part]:
    """From ``L L^T = M``: ``dL = L Phi(V dM V^T)`` with ``V = L^-1``; Phi keeps the lower triangle, half the diagonal.

    So M[p, q] receives ``sum_m L[a, m] Phi(m, b) V[m, p] V[b, q]`` of L[a, b], and as M stands for its symmetric part,
    each of M[p, q] and M[q, p] half of it (Murray, Differentiation of the Cholesky decomposition, 2016).
    """
    body, (p, q) = expression.open()
    m = p.fresh()
    a, b = expression.at
    factor = nodes.Cholesky(expression.body, *expression.bound, a, m)
    half = Where(Lt(b, m), S.One, Where(Lt(m, b), S.Zero, HALF))

    def inverse(row: Expr, column: Expr) -> Expr:
        i, j = p.fresh(), q.fresh()
        return nodes.Inverse.over(nodes.Cholesky(expression.body, *expression.bound, i, j), (i, j), (row, column))

    both = inverse(m, p) * inverse(b, q) + inverse(m, q) * inverse(b, p)
    return [Part(body, times(adjoint, term * factor * half * HALF), (p, q, m)) for term in both.args]


@parts.register
def determinant_rule(expression: nodes.Det, adjoint: Expr) -> list[Part]:
    """Jacobi's formula: ``d det M = det M sum_{p,q} inv(M)[q, p] dM[p, q]``."""
    body, (p, q) = expression.open()
    cofactor = expression * nodes.Inverse(expression.body, *expression.bound, q, p)
    return [Part(body, times(adjoint, cofactor), (p, q))]


@parts.register
def log_determinant_rule(expression: nodes.LogDet, adjoint: Expr) -> list[Part]:
    """``d log det M = sum_{p,q} inv(M)[q, p] dM[p, q]``."""
    body, (p, q) = expression.open()
    return [Part(body, times(adjoint, nodes.Inverse(expression.body, *expression.bound, q, p)), (p, q))]
