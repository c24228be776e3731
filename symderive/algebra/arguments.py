"""What goes into a function gets a name of its own where it is costly: ``h_in`` in ``h = relu(h_in)``.

Someone who writes ``h[n, j] = relu(sum[k](x[n, k] * W[j, k]))`` on one line means two steps, and derives them as two:
the gradient of the matrix product's result is computed once and read by those of both its factors, and what the
function's slope is taken at is not computed again. So before it is differentiated, a contraction that a function of
numbers is applied to becomes an equation, and so does a normaliser's result that is a factor of a contraction, as the
softmax in ``sum[u](softmax[u](s[t, u]) * v[u, e])``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from sympy import Add, Expr, Function, Mul, Pow, S
from sympy.functions.elementary.exponential import exp as Exp

from symderive.algebra import nodes
from symderive.algebra.inline import is_contraction
from symderive.algebra.letters import Letters
from symderive.algebra.nodes import Access, Binder, Index, LogSumExp, Pad, Sum, Where, free_indices
from symderive.algebra.program import Equation, Program
from symderive.algebra.recognise import Definition
from symderive.algebra.terms import factors, tensors, transform_opened
from symderive.spec.sizes import BATCH_SIZE

_FUNCTIONS = (
    nodes.Apply,
    nodes.Max,
    nodes.Min,
    nodes.Maximum,
    nodes.Minimum,
    nodes.Clamp,
    nodes.MatrixBinder,
    LogSumExp,
    Function,
    Pow,
)
"""Nodes that are not linear in their arguments."""

_OPAQUE = (Access, Pad, Index, nodes.Stop, nodes.Condition, nodes.ArgMax, nodes.ArgMin, nodes.Any, nodes.All)
"""Nodes that nothing is differentiated through."""


def with_named_arguments(program: Program, letters: Letters, inner: Collection[str]) -> Program:
    """The program with such arguments as equations before those that read them, in equations of ``inner`` tensors."""
    namer = _Namer(letters, {*letters.taken, *program.shapes}, program.shapes)
    made: list[Equation] = []
    for equation in program.equations:
        made += namer.split(equation) if equation.tensor in inner else [equation]
    return replace(program, equations=tuple(made))


@dataclass
class _Namer:
    """Gives names to arguments."""

    letters: Letters
    taken: set[str]
    shapes: Mapping[str, tuple[Expr, ...]]

    def split(self, equation: Equation) -> list[Equation]:
        """An equation after those of its arguments."""
        made: list[Equation] = []
        equation = replace(equation, right=transform_opened(equation.right, masked_softmax_apart))
        while (argument := next(_costly(equation.right), None)) is not None:
            named = self._define(equation, argument)
            definition = Definition(frozenset(named.indices), named.right, Access(named.tensor, *named.indices))
            changed = replace(equation, right=_put(equation.right, definition))
            if changed == equation:
                break  # what was found is written otherwise where it stands
            made.append(named)
            equation = changed
        return [*made, equation]

    def _define(self, equation: Equation, argument: Expr) -> Equation:
        first = self._first_reads(argument)
        places = sorted(free_indices(argument), key=lambda i: _place(i, equation, first))
        used: dict[str, Expr] = {i.name: i.extent for i in places if i in equation.indices}
        named: dict[Index, Index] = {}
        for index in places:
            if index in equation.indices:
                named[index] = index
                continue
            letter = self.letters.choose(index.extent, used)
            used[letter] = index.extent
            named[index] = Index(letter, index.extent)
        tensor = self._name(equation.tensor)
        return Equation(tensor, tuple(named[i] for i in places), argument.xreplace(named))

    def _first_reads(self, argument: Expr) -> dict[Index, tuple[int, int]]:
        """Which tensor of the program, and which axis of it, reads an index first."""
        order = {name: n for n, name in enumerate(self.shapes)}
        reads = [
            (index, (order.get(access.tensor, len(order)), axis))
            for access in argument.atoms(Access)
            for axis, position in enumerate(access.indices)
            for index in position.atoms(Index)
        ]
        return dict(sorted(reads, key=lambda read: read[1], reverse=True))

    def _name(self, tensor: str) -> str:
        names = (f"{tensor}_in{n}" for n in ("", *range(2, 99)))
        name = next(n for n in names if not {n, f"d{n}", f"d{n}_total"} & self.taken)
        self.taken |= {name, f"d{name}"}
        return name


def _place(index: Index, equation: Equation, first: Mapping[Index, tuple[int, int]]) -> tuple[int, int, int]:
    """Batch axes first, then those of the left side in its order, then those that are bound as tensors have them."""
    if index.extent == BATCH_SIZE:
        return -1, 0, 0
    if index in equation.indices:
        return equation.indices.index(index), 0, 0
    return len(equation.indices), *first[index]


def _put(expression: Expr, definition: Definition) -> Expr:
    def rule(node: Expr) -> Expr:
        if type(node) is not type(definition.pattern):
            return node
        for sign in (S.One, S.NegativeOne) if isinstance(node, Add) else (S.One,):
            if (found := definition.match(sign * node)) is not None:
                return sign * found
        return node

    return transform_opened(expression, rule)


def _costly(expression: Expr) -> Iterator[Expr]:
    """The arguments to be named, the innermost first, with the indices that are bound around them opened."""
    if isinstance(expression, _OPAQUE) or not any(is_contraction(s) for s in expression.atoms(Sum)):
        return
    if isinstance(expression, Binder):
        body, _ = expression.open()
        parts: tuple[Expr, ...] = (body,)
    else:
        parts = tuple(a for a in expression.args if isinstance(a, Expr))
    for part in parts:
        yield from _costly(part)
    if isinstance(expression, _FUNCTIONS):
        for part in parts:
            yield from (a for a in _values(part) if _is_costly(a))
    elif isinstance(expression, Sum) and is_contraction(expression):
        yield from (f for f in factors(parts[0]) if _is_normalised(f))


def masked_softmax_apart(expression: Expr) -> Expr:
    """``sum_k where(c, p f, 0) = sum_k where(c, p, 0) f`` where p is normalised under the mask c."""
    if not isinstance(expression, Sum):
        return expression
    body, opened = expression.open()
    if not isinstance(body, Where) or body.args[2] is not S.Zero:
        return expression
    condition, value, _ = body.args
    own = [f for f in factors(value) if _is_normalised(f) and f.atoms(Where)]
    if len(own) != 1 or value == own[0]:
        return expression
    return Sum.over(Mul(Where(condition, own[0], S.Zero), value / own[0]), opened)


def _is_normalised(factor: Expr) -> bool:
    """Whether it is an entry of a softmax, masked or not."""
    if isinstance(factor, Where):
        return factor.args[2] is S.Zero and _is_normalised(factor.args[1])
    return isinstance(factor, Exp) and bool(factor.atoms(LogSumExp))


def _values(argument: Expr) -> Iterator[Expr]:
    """What is costly about an argument: under a mask, the entries that it leaves; beside a normaliser, the rest."""
    if isinstance(argument, Where):
        for branch in argument.args[1:]:
            yield from _values(branch)
    elif isinstance(argument, Add) and any(t.atoms(LogSumExp) for t in argument.args):
        yield from (t for t in argument.args if not t.atoms(LogSumExp))
    else:
        yield _unscaled(argument)


def _unscaled(argument: Expr) -> Expr:
    """What is named of an argument: without a number before it, so that ``-a`` and ``2 a`` are read off ``a``."""
    if isinstance(argument, Add):
        return -argument if all(t.could_extract_minus_sign() for t in argument.args) else argument
    return argument.as_coeff_Mul()[1]


def _is_costly(argument: Expr) -> bool:
    """Whether it has a contraction in it, and is more than a number."""
    if not free_indices(argument) or isinstance(argument, Access):
        return False
    return any(is_contraction(s) for s in argument.atoms(Sum)) and bool(tensors(argument))
